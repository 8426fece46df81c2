"""Blocks of one small launch in the interpreter and on the machine, and the words for where they differ."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

import numpy as np

from ...contract.launch import Block, EntryParameter, every_block
from ...frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ...frontend.bytecode.location import user_frame
from ...frontend.bytecode.model import Entry, Module, Op
from ...frontend.bytecode.traverse import walk
from ..assembler import WAIT_BY_ATOMIC, is_split_load
from ..interpreter import BlockLog, BoundLaunch, Budget, Memory, bind_launch, run_block
from ..interpreter.access_log import DynamicAccess
from ..interpreter.memory import Allocation
from ..interpreter.values import KEEP_GOING, Tile
from ..numbers.inputs import Inputs
from .hidden_parameters import HostSide, NoHiddenParameters
from .machine.machine import ThreadMachine, Unfollowed
from .machine.storage import Array, GlobalMemory, ThreadAccess
from .ptx import Instruction, Operand, Pair, PtxEntry, PtxModule, PtxSymbol, Vector

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
    tileiras is known to split (`assembler`); the others as they say."""

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


# -------------------------------------------------------------------------------------------------------- memory orders
# The orders of memory: whether scoped accesses of the code hand over as much, to as many, as the bytecode's.
#
# One thread makes the atomic for the whole block.  So what tokens order before a release has to be over for that
# thread, whichever thread did it, and what they order behind an acquire has to know of it (`machine`):
#
#     released   a write of the block, to a byte that the bytecode writes before the release:
#                ordered(write, release), and none is made at a later time, where the bytecode writes it no more
#     acquired   an access of the block, to a byte that the bytecode touches behind the acquire alone:
#                ordered(acquire, access), and none is made at an earlier time
#
# Bytes that other accesses of the block touch, which tokens leave beside the release or acquire, are left out.


# -------------------------------------------------------------------------------------------------------- memory orders
# Whether scoped accesses of the code order as much, and among as many, as the bytecode's that they stand for.
#
#     wanted    acquire: the instruction has it, or a fence stands behind it;  release: it has it, or a fence before it
#     scope     cta < cluster < gpu < sys;  an atomic without a scope has gpu
#
# An element's accesses are taken in their order, the n-th of the code beside the n-th of the bytecode: `_times` of
# `beside_bytecode` has found as many of both.


_SCOPES: Final = ("cta", "cluster", "gpu", "sys")
_OF_BYTECODE: Final = {MemoryScope.BLOCK: "cta", MemoryScope.DEVICE: "gpu", MemoryScope.SYSTEM: "sys"}
ORDERS: Final = {
    "acquire": frozenset({MemoryOrdering.ACQUIRE, MemoryOrdering.ACQ_REL}),
    "release": frozenset({MemoryOrdering.RELEASE, MemoryOrdering.ACQ_REL}),
}
_NEAR: Final = 8
"""Instructions between an access and its fence at most."""
_ACCESSES: Final = frozenset({"ld", "st", "atom", "red", "cp", "multimem", "ldu", "call"})
_BARRIERS: Final = frozenset({"bar", "barrier", "mbarrier"})
_LEAVES: Final = frozenset({"bra", "brx", "ret", "exit", "trap"})


def weaker_orders(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    """The first access of each block that orders less than the bytecode's."""
    for number, log in enumerate(reference.logs):
        for mine, _, theirs in scoped_pairs(machine, number, log):
            missing = _missing(machine.entry, mine.number, theirs)
            if missing:
                text = f"a scoped access of block {log.block} is no {missing}, as it is in the bytecode"
                line = machine.entry.instructions[mine.number].line
                yield CodeDifference(DifferenceKind.ORDER, text, (theirs.op,), (line,))
                break


def scoped_pairs(
    machine: ThreadMachine, number: int, log: BlockLog
) -> Iterator[tuple[ThreadAccess, int, DynamicAccess]]:
    """Scoped accesses and atomics of the ``number``-th block, by place: the code's, and the bytecode's."""
    wanted = _of_bytecode(machine, log)
    found: dict[tuple[bool, int], list[ThreadAccess]] = defaultdict(list)
    for access, places in machine.by_block[number]:
        if access.atomic or access.scoped:
            for place in np.unique(places).tolist():
                found[access.atomic, place].append(access)
    for key in sorted(wanted.keys() & found.keys()):
        for mine, theirs in zip(found[key], wanted[key], strict=False):
            yield mine, key[1], theirs


def _of_bytecode(machine: ThreadMachine, log: BlockLog) -> dict[tuple[bool, int], list[DynamicAccess]]:
    """The scoped accesses and atomics of each place, in their order."""
    found: dict[tuple[bool, int], list[DynamicAccess]] = defaultdict(list)
    for access in log.accesses:
        if not access.weak:
            addresses = np.concatenate([each.addresses() for each in access.footprints[:1]]).astype("u8")
            for place in np.unique(machine.memory.places(addresses, 1, addresses)).tolist():
                found[access.kind == "atomic", place].append(access)
    return found


def _missing(entry: PtxEntry, number: int, wanted: DynamicAccess) -> str:
    """What of ``wanted`` the instruction lacks, in words; empty where it lacks nothing."""
    least = _SCOPES.index("cta" if wanted.scope is None else _OF_BYTECODE[wanted.scope])
    instruction = entry.instructions[number]
    for name, orders in ORDERS.items():
        if wanted.ordering not in orders:
            continue
        own = {name, "acq_rel"} & {*instruction.opcode} and _scope(instruction) >= least
        beside = _behind(entry, number) if name == "acquire" else _before(entry, number)
        if not own and not any(_fences(each, name) and _scope(each) >= least for each in beside):
            return name
    return "" if _scope(instruction) >= least else f"access among {_SCOPES[least]}"


def _behind(entry: PtxEntry, number: int) -> Iterator[Instruction]:
    """What every thread that executes the instruction executes next, before it accesses memory again.

    A thread that goes back to the instruction, as in a loop that waits, executes it again.
    """
    for place in range(number + 1, min(number + 1 + _NEAR, len(entry.instructions))):
        each = entry.instructions[place]
        if (each.opcode[0] in _LEAVES and not _goes_back(entry, each, number)) or _parts(each):
            return
        if _is_made_with(entry, place, number):
            yield each


def _goes_back(entry: PtxEntry, branch: Instruction, number: int) -> bool:
    """Whether threads that take the branch come to the instruction again before they access other memory."""
    target = branch.operands[0] if branch.opcode[0] == "bra" and branch.guard is not None else None
    place = entry.labels.get(target.name) if isinstance(target, PtxSymbol) else None
    if place is None or place > number:
        return False
    return not any(each.opcode[0] in _LEAVES or _parts(each) for each in entry.instructions[place:number])


def _before(entry: PtxEntry, number: int) -> Iterator[Instruction]:
    """What every thread that executes the instruction has executed before, after it accessed memory.

    Threads may leave in between, and none comes from elsewhere.
    """
    for place in range(number - 1, max(number - _NEAR, 0) - 1, -1):
        each = entry.instructions[place]
        if place + 1 in entry.targets or _parts(each):
            return
        if _is_made_with(entry, place, number):
            yield each


def _parts(instruction: Instruction) -> bool:
    """Whether a fence orders nothing across it: an access, or a barrier.

    What others did before a barrier came after the fence, so a release does not hand it on; and so the other way round.
    """
    return instruction.opcode[0] in _BARRIERS or _accesses(instruction)


def _accesses(instruction: Instruction) -> bool:
    """Whether it accesses memory that other blocks see."""
    own = {"shared", "local", "param", "const"} & {part.split("::")[0] for part in instruction.opcode}
    return instruction.opcode[0] in _ACCESSES and (not own or instruction.has("global"))


def _is_made_with(entry: PtxEntry, fence: int, access: int) -> bool:
    """Whether the fence has no guard, or that of the access, which nothing between them changes."""
    first, last = entry.instructions[fence], entry.instructions[access]
    if first.guard is None:
        return True
    between = entry.instructions[min(fence, access) + 1 : max(fence, access)]
    same = (first.guard, first.negated) == (last.guard, last.negated)
    return same and not any(first.guard in _results(each) for each in between)


def _results(instruction: Instruction) -> tuple[Operand | None, ...]:
    match instruction.operands:
        case (Pair(first, second), *_):
            return first, second
        case (Vector(elements), *_):
            return elements
    return instruction.operands[:1]


def _scope(instruction: Instruction) -> int:
    return next((_SCOPES.index(part) for part in instruction.opcode if part in _SCOPES), _SCOPES.index("gpu"))


def _fences(instruction: Instruction, name: str) -> bool:
    """Whether it orders all accesses of a thread, and not those of a proxy or to shared memory alone."""
    kind, *parts = instruction.opcode
    if {"proxy", "mbarrier_init"}.intersection(parts) or any(part.startswith("sync_restrict") for part in parts):
        return False
    return kind == "membar" or (kind == "fence" and bool({name, "acq_rel", "sc"}.intersection(parts)))


# ----------------------------------------------------------------------------------------------------------- hand overs


_RELEASES, _ACQUIRES = ORDERS["release"], ORDERS["acquire"]


@dataclass(frozen=True, slots=True)
class _Events:
    """Of one block: one for each byte that a thread touches by an access that is not scoped."""

    place: Array
    time: Array
    warp: Array
    own: Array
    clock: Array
    column: Array
    writes: Array
    number: Array


def broken_hand_overs(machine: ThreadMachine, reference: Reference) -> Iterator[CodeDifference]:
    """The first one, if there is any."""
    for number, log in enumerate(reference.logs):
        pairs = [(mine, place, theirs) for mine, place, theirs in scoped_pairs(machine, number, log)
                 if theirs.ordering in _RELEASES | _ACQUIRES]  # fmt: skip
        if not pairs:
            continue
        events = _events(machine, number)
        for mine, place, theirs in pairs:
            (row, *_) = np.flatnonzero((mine.places == place) & (machine.threads.block[mine.threads] == number))
            for orders, find in ((_RELEASES, _unreleased), (_ACQUIRES, _unacquired)):
                found = find(machine, events, mine, int(row), log, theirs) if theirs.ordering in orders else None
                if found is not None:
                    what, other = found
                    lines = [machine.entry.instructions[each].line for each in (other, mine.number)]
                    lines = lines if find is _unreleased else lines[::-1]
                    text = f"block {log.block} {what}"
                    yield CodeDifference(DifferenceKind.ORDER, text, (theirs.op,), tuple(lines))
                    return


def _events(machine: ThreadMachine, block: int) -> _Events:
    columns: dict[str, list[Array]] = {name: [] for name in _Events.__slots__}
    warps = machine.clocks.warps
    for access in machine.memory.log:
        kept = np.flatnonzero(machine.threads.block[access.threads] == block)
        if access.atomic or access.scoped or not len(kept):
            continue
        rows = np.repeat(kept, access.bytes)
        columns["place"].append((access.places[kept][:, None] + np.arange(access.bytes)).ravel())
        columns["time"].append(np.full(len(rows), access.time))
        columns["warp"].append(machine.threads.warp[access.threads[rows]] % warps)
        columns["own"].append(access.own[rows])
        columns["clock"].append(access.clock[rows])
        columns["column"].append(np.full(len(rows), access.copies))
        columns["writes"].append(np.full(len(rows), access.writes))
        columns["number"].append(np.full(len(rows), access.number))
    return _Events(**{name: np.concatenate(each) if each else np.zeros(0, "i8") for name, each in columns.items()})


def _unreleased(
    machine: ThreadMachine, events: _Events, mine: ThreadAccess, row: int, log: BlockLog, theirs: DynamicAccess
) -> tuple[str, int] | None:  # fmt: skip
    """What is wrong with a write that is not over for the thread that releases, and its instruction."""
    places = _only(
        machine, log, theirs, [each for each in log.accesses if each.weak and each.orders(theirs)], writes=True
    )
    again = [each for each in log.accesses if each.weak and each.writes is not None and theirs.orders(each)]
    late = events.writes.astype("?") & (events.time > mine.time)
    late &= np.isin(events.place, np.setdiff1d(places, _bytes(machine, again)))
    if late.any():
        return "stores behind its release what it releases", int(events.number[np.argmax(late)])
    about = np.flatnonzero(events.writes.astype("?") & (events.time < mine.time) & np.isin(events.place, places))
    known = machine.clocks.rows[int(mine.clock[row])]
    warp = int(machine.threads.warp[mine.threads[row]]) % machine.clocks.warps
    column = np.where(events.column[about] >= 0, events.column[about], events.warp[about])
    over = known[column] >= events.own[about]
    over |= (events.column[about] < 0) & (events.warp[about] == warp)
    if over.all():
        return None
    what = "releases what another thread of its block may not have stored yet, as no barrier is between"
    return what, int(events.number[about[np.argmin(over)]])


def _unacquired(
    machine: ThreadMachine, events: _Events, mine: ThreadAccess, row: int, log: BlockLog, theirs: DynamicAccess
) -> tuple[str, int] | None:  # fmt: skip
    """What is wrong with an access that does not know of the acquire, and its instruction."""
    behind = [each for each in log.accesses if each.weak and theirs.orders(each)]
    places = _only(machine, log, theirs, behind, writes=False)
    early = (events.time < mine.time) & np.isin(events.place, places)
    if early.any():
        return "takes before its acquire what it acquires", int(events.number[np.argmax(early)])
    about = np.flatnonzero((events.time > mine.time) & np.isin(events.place, places))
    warp = int(machine.threads.warp[mine.threads[row]]) % machine.clocks.warps
    rows = np.array([machine.clocks.rows[int(each)][warp] for each in np.unique(events.clock[about])])
    knows = rows[np.searchsorted(np.unique(events.clock[about]), events.clock[about])] if len(about) else np.zeros(0)
    after = (knows >= mine.own[row]) | (events.warp[about] == warp)
    if after.all():
        return None
    what = "acquires what another thread of its block may have taken before, as no barrier is between"
    return what, int(events.number[about[np.argmin(after)]])


def _only(
    machine: ThreadMachine, log: BlockLog, theirs: DynamicAccess, wanted: Sequence[DynamicAccess], *, writes: bool
) -> Array:  # fmt: skip
    """The bytes of ``wanted`` that no access touches which stands beside ``theirs``."""
    beside = [each for each in log.accesses if each.weak and not each.orders(theirs) and not theirs.orders(each)]
    if not writes:  # an access before the acquire may touch it, too, at any time
        beside += [each for each in log.accesses if each.weak and each.orders(theirs)]
    mine = _bytes(machine, [each for each in wanted if each.writes is not None or not writes])
    return np.setdiff1d(mine, _bytes(machine, beside))


def _bytes(machine: ThreadMachine, accesses: Sequence[DynamicAccess]) -> Array:
    parts = []
    for access in accesses:
        for footprint in access.footprints:
            starts, ends = footprint.runs
            places = machine.memory.places(starts.astype("u8"), 1, starts)
            parts += [np.arange(place, place + length) for place, length in zip(places, ends - starts, strict=True)]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, "i8")
