"""Loads that tileiras does not compile to what Tile IR means by them.

A load op has one value.  Seen with tileiras 13.4.92 and 13.5 for sm_90: every warp of a tile block makes a scoped load
(relaxed or acquire) of a small tile for itself and goes on with what it read, so that warps see different values where
another block writes meanwhile.  They leave a waiting loop in different rounds, the barriers behind it no longer pair,
and what follows is done twice, or the block hangs: on an H200 the corpus' `turns.py` and `ticket_lock.py`, right in
Tile IR, gave wrong sums in 4 to 7 % of the launches.  Atomic operations are made by one thread, which tells the
others.  Weak loads are no matter: where no race is, all warps read the same.

So the machine code of a kernel with such a load is not what was proved, and is not made.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..frontend.bytecode import decode
from ..frontend.bytecode.enums import MemoryOrdering
from ..frontend.bytecode.model import Entry, Op
from ..frontend.bytecode.traverse import walk
from ..frontend.symbolic.locations import user_frame
from ..system.errors import TileVerifyError

_LOADS = ("load_view_tko", "load_ptr_tko")
_WHY = (
    "tileiras makes this {ordering} load once in each warp, and the warps may see different values (seen with 13.4 and "
    "13.5), so that its machine code does not do what the bytecode says"
)
_ADVICE = "wait with an atomic operation, as `atomic_add(flag, 0)`"


def split_loads(entry: Entry) -> Iterator[Op]:
    """The scoped loads of an entry."""
    for op in walk(entry.body):
        if op.name in _LOADS and op.attributes["ord"] != MemoryOrdering.WEAK:
            yield op


def notes_on_split_loads(entry: Entry) -> tuple[str, ...]:
    """What a report says of them: once for each line."""
    return tuple(dict.fromkeys(f"{_place(op)}{_why(op)}, and it is not run on a GPU" for op in split_loads(entry)))


def why_not_assembled(bytecode: bytes) -> tuple[str, str | None, int | None] | None:
    """Message, file and line for the first such load of a module, if there is one and the module can be read."""
    try:
        entries = decode(bytecode).entries
    except TileVerifyError:
        return None  # tileiras says better what it does not take
    for entry in entries:
        for op in split_loads(entry):
            frame = user_frame(op.location)
            message = f"{_why(op)} (TV503); {_ADVICE}"
            return (message, frame.file, frame.line) if frame else (message, None, None)
    return None


def _why(op: Op) -> str:
    return _WHY.format(ordering=op.attributes["ord"])


def _place(op: Op) -> str:
    frame = user_frame(op.location)
    return f"line {frame.line}: " if frame else ""
