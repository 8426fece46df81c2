"""Loads that tileiras does not compile to what Tile IR means by them.

A load op has one value.  Seen with tileiras 13.4.92 and 13.5 for sm_90: every warp of a tile block makes a scoped load
(relaxed or acquire) of a small tile for itself and goes on with what it read, so that warps see different values where
another block writes meanwhile.  They leave a waiting loop in different rounds, the barriers behind it no longer pair,
and what follows is done twice, or the block hangs: on an H200 the corpus' `turns.py` and `ticket_lock.py`, right in
Tile IR, gave wrong sums in 4 to 7 % of the launches.  Atomic operations are made by one thread, which tells the
others.  Weak loads are no matter: where no race is, all warps read the same.

The comparison of compiled code with its bytecode (`compiled.cubin_look`) finds that by itself where it can follow the
launch.  Where it cannot, and where few launches compare equal, this rule refuses: equal bytes do not show that all
threads see one value, nor that what is behind an acquire waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..frontend.bytecode import decode
from ..frontend.bytecode.enums import MemoryOrdering
from ..frontend.bytecode.location import user_frame
from ..frontend.bytecode.model import Entry, Op
from ..frontend.bytecode.traverse import walk
from ..system.errors import TileVerifyError
from .assembler import AssemblyError

_WHY = (
    "tileiras makes this {ordering} load once in each warp, and the warps may see different values (seen with 13.4 and "
    "13.5), so that its machine code does not do what the bytecode says"
)
WAIT_BY_ATOMIC = "wait with an atomic operation, as `atomic_add(flag, 0)`"


def split_loads(entry: Entry) -> Iterator[Op]:
    """The scoped loads of an entry."""
    return (op for op in walk(entry.body) if is_split_load(op))


def is_split_load(op: Op) -> bool:
    return op.declaration.loads and op.attributes["ord"] != MemoryOrdering.WEAK


def notes_on_split_loads(entry: Entry) -> tuple[str, ...]:
    """What a report says of them: once for each line."""
    return tuple(dict.fromkeys(f"{_place(op)}{why_split(op)}, and it is not run on a GPU" for op in split_loads(entry)))


def refuse_split_loads(bytecode: bytes) -> None:
    """Raises `AssemblyError` (TV503) for a module with such a load, if it can be read: for code that is not compared
    before it runs."""
    try:
        entries = decode(bytecode).entries
    except TileVerifyError:
        return  # tileiras says better what it does not take
    for entry in entries:
        for op in split_loads(entry):
            frame = user_frame(op.location)
            file, line = (frame.file, frame.line) if frame else (None, None)
            raise AssemblyError(f"{why_split(op)} (TV503); {WAIT_BY_ATOMIC}", file, line)


def why_split(op: Op) -> str:
    return _WHY.format(ordering=op.attributes["ord"])


def _place(op: Op) -> str:
    frame = user_frame(op.location)
    return f"line {frame.line}: " if frame else ""
