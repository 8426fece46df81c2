"""Blocks of one small launch in the interpreter and on the machine, and the words for where they differ."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

import numpy as np

from ...contract.concrete import Block, every_block
from ...contract.launch import EntryParameter
from ...frontend.bytecode.enums import MemoryOrdering
from ...frontend.bytecode.location import user_frame
from ...frontend.bytecode.model import Entry, Module, Op
from ...frontend.bytecode.traverse import walk
from ..interpreter import BlockLog, BoundLaunch, Budget, Memory, bind_launch, run_block
from ..interpreter.memory import Allocation
from ..interpreter.values import KEEP_GOING, Tile
from ..numbers.inputs import Inputs
from ..split_loads import WAIT_BY_ATOMIC, is_split_load
from .hidden_parameters import HostSide, NoHiddenParameters
from .machine.machine import ThreadMachine, Unfollowed
from .machine.storage import Array, GlobalMemory
from .ptx import PtxEntry, PtxModule

STEPS: Final = 1 << 30
MOST_BLOCKS: Final = 9
MOST_TOGETHER: Final = 64
"""Blocks that are all executed because they meet, though none of them waits."""


@dataclass(frozen=True)
class Reference:
    """What Tile IR does: a log for each of ``blocks``, in order, and the memory after the last."""

    bound: BoundLaunch
    grid: Block
    blocks: tuple[Block, ...]
    logs: tuple[BlockLog, ...]
    memory: Memory
    types: Mapping[str, str]
    """Of the elements of each array."""
    host: HostSide | None = None


def border_blocks(entry: Entry, grid: Block) -> tuple[Block, ...]:
    """The blocks that are executed, x first: the first, the last and the one before it of each direction, or of many
    directions the first and the last.  All of a launch whose blocks may wait for each other, and of a small one whose
    blocks meet in atomics."""
    sizes: tuple[int, ...] = grid
    axes = [list(range(size)) for size in sizes]
    if not _meet(walk(entry.body)) or (prod(sizes) > MOST_TOGETHER and not _may_wait(entry)):
        axes = [sorted({0, size - 1, max(size - 2, 0)}) for size in sizes]
        if prod(map(len, axes)) > MOST_BLOCKS:
            axes = [sorted({0, size - 1}) for size in sizes]
    return tuple((x, y, z) for z, y, x in product(*reversed(axes)))


def _meet(ops: Iterable[Op]) -> bool:
    """Whether blocks may hand something to each other."""
    return any(
        op.name.startswith("atomic") or op.attributes.get("ord", MemoryOrdering.WEAK) != MemoryOrdering.WEAK
        for op in ops
    )


def _may_wait(entry: Entry) -> bool:
    """Whether a loop without a count may go round until another block has done something."""
    loops = (op for op in walk(entry.body) if op.name == "loop")
    return any(_meet(walk(body)) for op in loops for region in op.regions for body in region.blocks)


def reference(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], inputs: Inputs, *, whole: bool = False
) -> Reference:
    """`border_blocks`, or all of a ``whole`` launch, one after another; raises `Unfollowed` where one does not end."""
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
    bound = bind_launch(module, entry, parameters, inputs.launch, data)
    memory, budget, grid = Memory(bound.image), Budget(STEPS), inputs.launch.grid
    blocks = tuple(every_block(grid)) if whole else border_blocks(entry, grid)
    logs = []
    for block in blocks:
        log = run_block(bound.program, bound.arguments, memory, grid, block, budget, conduct=KEEP_GOING)
        if log.stopped is not None:
            raise Unfollowed(f"the interpreter stops: {log.stopped}")
        if log.events or log.left_out:
            raise Unfollowed("the launch has undefined behaviour")
        logs.append(log)
    types = {name.partition("[")[0]: array.dtype for name, array in inputs.launch.named_arrays()}
    return Reference(bound, grid, blocks, tuple(logs), memory, types)


def machine_for(ptx: PtxModule, entry: PtxEntry, against: Reference, blocks: Sequence[Block]) -> ThreadMachine:
    """The same launch on the machine, before its first instruction."""
    image = against.bound.image
    allocations = [(each.base, _initial(each)) for each in image.allocations]
    symbols: dict[str, int] = {}
    top = max((base + len(data) for base, data in allocations), default=1 << 44) + (1 << 40)
    known = {each.name: each.base for each in image.allocations}
    for variable in ptx.variables:
        if variable.name in known:  # a variable of the bytecode's module
            symbols[variable.name] = known[variable.name]
        elif variable.space in ("global", "const"):
            data = np.zeros(variable.size, "u1")
            data[: len(variable.data)] = np.frombuffer(variable.data, "u1")
            symbols[variable.name] = top
            allocations.append((top, data))
            top += 1 << 32
    return ThreadMachine(entry, against.grid, blocks, GlobalMemory(allocations), _parameters(entry, against), symbols)


def _initial(allocation: Allocation) -> Array:
    whole = allocation.image if allocation.dense else allocation.initial(np.arange(allocation.size))
    return np.array(whole[: allocation.size])


def _parameters(entry: PtxEntry, against: Reference) -> Mapping[str, bytes]:
    """The bytes of each parameter: visible parameter i of the PTX is parameter i of the bytecode's entry."""
    bound = against.bound
    values = [bound.arguments[value] for value in bound.program.entry.parameters]
    visible = [each for each in entry.parameters if not each.hidden]
    if len(visible) != len(values):
        raise Unfollowed(f"the PTX has {len(visible)} parameters, the bytecode {len(values)}")
    found = {}
    for parameter, value in zip(visible, values, strict=True):
        assert isinstance(value, Tile)
        found[parameter.name] = _bytes_of(value, parameter.size)
    if len(visible) == len(entry.parameters):
        return found
    if against.host is None:
        raise Unfollowed("the host code that fills hidden parameters was not seen")
    try:
        return against.host.filled(entry.name, entry.parameters, found, block_memory=entry.block_memory > 0)
    except NoHiddenParameters as error:
        raise Unfollowed(str(error)) from None


def _bytes_of(value: Tile, width: int) -> bytes:
    data = np.ascontiguousarray(value.data)
    if data.dtype.kind == "f" and data.dtype.itemsize != width:
        data = data.astype(f"f{width}")
    raw = data.tobytes()
    return (raw + bytes(width))[:width] if len(raw) < width else raw[:width]


# ----------------------------------------------------------------------------------------------------- code differences
# What compiled code does other than its bytecode, in words.


class DifferenceKind(enum.Enum):
    """``ORDER``: two accesses that tokens order are not ordered, or the other way; ``TIMES``: an atomic or scoped
    access is made more or less often than once; ``SPLIT_LOAD``: nothing was seen to differ, but a load is one that
    tileiras is known to split (`split_loads`); the others as they say."""

    READS = "reads"
    WRITES = "writes"
    ORDER = "order"
    TIMES = "times"
    VALUES = "values"
    OUTSIDE = "outside"
    HANGS = "hangs"
    STOPS = "stops"
    SPLIT_LOAD = "split load"


@dataclass(frozen=True, slots=True)
class CodeDifference:
    """``ops``: of the bytecode, those that touch the bytes in question; ``lines``: of the PTX.  ``copies``: a bulk copy
    takes part."""

    kind: DifferenceKind
    text: str
    ops: tuple[Op, ...] = ()
    lines: tuple[int, ...] = ()
    copies: bool = False

    @property
    def place(self) -> tuple[str, int] | None:
        """File and line of the first op whose source is known."""
        frames = (user_frame(op.location) for op in self.ops)
        return next(((frame.file, frame.line) for frame in frames if frame is not None), None)

    @property
    def advice(self) -> str:
        """What to write instead, where that is known; else empty."""
        if any(map(is_split_load, self.ops)) and self.kind in (DifferenceKind.TIMES, DifferenceKind.SPLIT_LOAD):
            return WAIT_BY_ATOMIC
        if self.copies:
            return _ADVICE_ON_COPIES
        return _ADVICE.get(self.kind, "")

    def __str__(self) -> str:
        where = (
            f" (PTX line{'s' if len(self.lines) > 1 else ''} {', '.join(map(str, self.lines))})" if self.lines else ""
        )
        return f"{self.text}{where}"


_ADVICE = {
    DifferenceKind.ORDER: "add with `atomic_add`, take another tile, or store in a second launch",
    DifferenceKind.TIMES: "hand over with an atomic operation, as `atomic_xchg(flag, ...)`",
}
_ADVICE_ON_COPIES = "pass `allow_tma=False` to the loads and stores of this array"
