"""A concrete launch in simulated memory; its blocks one after the other, or interleaved under a schedule.

The calling conventions are those of cuda.tile (t1, t2): an array is pointer, sizes, strides; a list is a pointer to
(1 + 2n) 64-bit words per array (pointer, n sizes, n strides) and an i32 length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Final, TypeVar

import numpy as np

from ...contract.launch import GRID_MAX, ConcreteArray, ConcreteLaunch, EntryParameter, Role, every_block
from ...frontend.bytecode.model import Entry, Module, Op, PointerType, ScalarType, TileType, Value
from .access_log import BlockLog, Trace
from .control import block_steps, run_block
from .machine import BlockInterpreter, Budget, GridPoint, Program, Result, Rule
from .memory import Extent, Memory, MemoryImage, Provenance
from .ordering import AccessOrder, BlockOrder, OrderedMemory, Range, Schedule, TimedMemory
from .rounding import round_to, to_bits
from .tiles import constant_tile
from .values import KEEP_GOING, Array, EndlessLoop, LaunchMismatch, RuntimeValue, Tile, UnspecifiedUse, wrapped

T = TypeVar("T")

ELEMENT_BYTES: Final[dict[str, int]] = {
    "bool": 1, "i8": 1, "u8": 1, "f8e4m3": 1, "f8e5m2": 1, "f8e8m0": 1,
    "i16": 2, "u16": 2, "f16": 2, "bf16": 2,
    "i32": 4, "u32": 4, "f32": 4, "tf32": 4,
    "i64": 8, "u64": 8, "f64": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """What a run starts from."""

    program: Program
    image: MemoryImage
    arguments: Mapping[Value, RuntimeValue]


def extent_bytes(array: ConcreteArray) -> int:
    """Bytes from the array's first to the end of its last element; 0 if it has no element."""
    if 0 in array.shape:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return (last + 1) * _element_bytes(array)


def _element_bytes(array: ConcreteArray) -> int:
    if array.dtype not in ELEMENT_BYTES:
        raise LaunchMismatch(f"the element type {array.dtype} is not known")
    return ELEMENT_BYTES[array.dtype]


def _place_arrays(image: MemoryImage, launch: ConcreteLaunch, data: Mapping[str, Array]) -> dict[str, int]:
    """Allocate what the arrays live in; the origin number of every array by name."""
    shared: dict[str, list[tuple[str, ConcreteArray]]] = {}
    for name, array in launch.named_arrays():
        if min((*array.shape, *array.strides, array.byte_offset), default=0) < 0:
            raise LaunchMismatch(f"{name} has a negative size, stride or offset")
        if array.byte_offset % _element_bytes(array):
            raise LaunchMismatch(f"{name} is not aligned to its elements")
        shared.setdefault(array.allocation or name, []).append((name, array))
    origins: dict[str, int] = {}
    for allocation, members in shared.items():
        size = max(array.byte_offset + extent_bytes(array) for _, array in members)
        extents = tuple(
            Extent(a.byte_offset, _element_bytes(a), extent_bytes(a) // _element_bytes(a), a.fill, a.contents)
            for _, a in members
        )
        whole = data.get(allocation)
        if whole is not None and whole.size != size:
            raise LaunchMismatch(f"{allocation} takes {size} bytes, {whole.size} are given")
        number = image.add_allocation(allocation, size, extents, whole)
        base = image.allocations[number].base
        for name, array in members:
            place, width = base + array.byte_offset, _element_bytes(array)
            origins[name] = image.add_origin(
                Provenance(name, number, place, extent_bytes(array), width, array.shape, array.strides)
            )
    return origins


def _place_lists(
    image: MemoryImage, launch: ConcreteLaunch, origins: dict[str, int], parameters: Sequence[EntryParameter]
) -> None:
    """Descriptor buffers: the launcher's memory, one row of words per array, or one address."""
    addresses = {parameter.argument for parameter in parameters if parameter.role is Role.ADDRESSES}
    for name, elements in launch.lists.items():
        rows = []
        for number, array in enumerate(elements):
            rows.append(image.origins[origins[f"{name}[{number}]"]].base)
            rows += () if name in addresses else (*array.shape, *array.strides)
        words = np.array(rows, np.uint64).view(np.uint8)
        allocation = image.add_allocation(name, words.size, data=words)
        base = image.allocations[allocation].base
        origins[name] = image.add_origin(Provenance(name, allocation, base, words.size, 8))


def _place_globals(image: MemoryImage, module: Module) -> dict[str, int]:
    numbers = {}
    for variable in module.globals:
        scalar = variable.value.scalar
        data = np.ascontiguousarray(to_bits(constant_tile(variable.value).data, scalar)).reshape(-1).view(np.uint8)
        allocation = image.add_allocation(variable.name, data.size, data=data)
        base = image.allocations[allocation].base
        origin = Provenance(variable.name, allocation, base, data.size, scalar.bytes)
        numbers[variable.name] = image.add_origin(origin)
    return numbers


# --------------------------------------------------------------------------------------------- parameters
_POINTERS: Final = (Role.POINTER, Role.LIST_POINTER, Role.ADDRESSES)


def _number(launch: ConcreteLaunch, parameter: EntryParameter) -> int:
    name, dim = parameter.argument, parameter.dim
    if parameter.role is Role.SCALAR:
        if name not in launch.scalars:
            raise LaunchMismatch(f"the launch has no scalar {name}")
        return launch.scalars[name]
    if parameter.role is Role.LIST_LENGTH:
        return len(_member(launch.lists, name, "list"))
    assert dim is not None
    array = _member(launch.arrays, name, "array")
    if parameter.role is Role.PARTITION:  # nobody reads it; as the launcher passes it
        return parameter.static if parameter.static is not None else array.strides[dim - len(array.strides)]
    number = (array.shape if parameter.role is Role.SHAPE else array.strides)[dim]
    if parameter.static is not None and parameter.static != number:
        raise LaunchMismatch(f"{name} was compiled for {parameter.role.value} {parameter.static}, not {number}")
    return number


def _member(arguments: Mapping[str, T], name: str, kind: str) -> T:
    if name not in arguments:
        raise LaunchMismatch(f"the launch has no {kind} {name}")
    return arguments[name]


def _scalar_value(launch: ConcreteLaunch, parameter: EntryParameter, element: ScalarType) -> Tile:
    """A float scalar is rounded to its type; one that the launch does not name is 0."""
    if element.is_float:
        return Tile(round_to(np.asarray(launch.floats.get(parameter.argument, 0.0), np.float64), element))
    number, bits = _number(launch, parameter), element.bits
    unsigned_too = parameter.role is Role.SCALAR
    if not -(1 << (bits - 1)) <= number < 1 << (bits if unsigned_too or bits == 1 else bits - 1):
        raise LaunchMismatch(f"{parameter.role.value} of {parameter.argument}: {number} does not fit i{bits}")
    return Tile(wrapped(np.asarray(number & ((1 << bits) - 1), np.uint64), bits))


def bind_launch(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch,
    data: Mapping[str, Array] | None = None,
) -> BoundLaunch:  # fmt: skip
    """Lay the launch out in memory.  ``data`` gives whole allocations' bytes (uint8), by allocation name.

    :raises LaunchMismatch: the launch lacks an argument, or a number does not fit its parameter.
    """
    if not all(1 <= axis <= GRID_MAX for axis in launch.grid):
        raise LaunchMismatch(f"no launch has the grid {launch.grid}")
    if len(parameters) != len(entry.parameters):
        raise LaunchMismatch(f"{entry.name} has {len(entry.parameters)} parameters, {len(parameters)} are described")
    image = MemoryImage()
    origins = _place_arrays(image, launch, data or {})
    _place_lists(image, launch, origins, parameters)
    shared = len({origin.allocation for origin in image.origins}) < len(image.origins)
    program = Program(module, entry, _place_globals(image, module), shared=shared)
    arguments: dict[Value, RuntimeValue] = {}
    for value, parameter in zip(entry.parameters, parameters, strict=True):
        assert isinstance(value.type, TileType)
        element = value.type.element
        if isinstance(element, PointerType):
            if parameter.role not in _POINTERS:
                raise LaunchMismatch(f"{parameter.argument} is a pointer, not a {parameter.role.value}")
            number = _member(origins, parameter.argument, "array or list")
            base = np.asarray(image.origins[number].base, np.uint64)
            arguments[value] = Tile(base, None, np.asarray(number))
        else:
            if parameter.role in _POINTERS:
                raise LaunchMismatch(f"{parameter.argument} is a number, not a {parameter.role.value}")
            arguments[value] = _scalar_value(launch, parameter, element)
    return BoundLaunch(program, image, arguments)


# ----------------------------------------------------------------------------------------------------------------- grid
# A whole grid: every block in turn on one memory, with real array contents in and out.


@dataclass(frozen=True, slots=True)
class GridRun:
    """``arrays``: contents after the run, by allocation, in the type and shape they were given.  One log per block.

    ``image`` tells where the launch lay in memory, which the addresses in the logs refer to.
    """

    arrays: Mapping[str, Array]
    logs: tuple[BlockLog, ...]
    image: MemoryImage


def run_grid(
    module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch,
    contents: Mapping[str, Array], budget: Budget, blocks: Iterable[GridPoint] | None = None,
) -> GridRun:  # fmt: skip
    """Run all blocks in the order of their ids (x fastest), or only ``blocks``, in their order.

    ``contents`` gives the memory of the launch by allocation name: C-contiguous arrays of any NumPy type whose bytes
    are the allocation's.  Blocks see what earlier ones wrote; races are for the logs' reader to find.

    :raises InterpreterStop: the launch does not fit, or a block could not run to its end.
    """
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in contents.items()}
    bound = bind_launch(module, entry, parameters, launch, data)
    memory = Memory(bound.image)
    logs = []
    for block in every_block(launch.grid) if blocks is None else blocks:
        log = run_block(bound.program, bound.arguments, memory, launch.grid, block, budget)
        if log.stopped is not None:
            raise log.stopped
        if log.left_out:
            raise UnspecifiedUse(log.left_out[0])
        logs.append(log)
    after = {}
    for number, allocation in enumerate(bound.image.allocations):
        if allocation.name in contents:
            before = contents[allocation.name]
            after[allocation.name] = memory.bytes_of(number).view(before.dtype).reshape(before.shape)
    return GridRun(after, tuple(logs), bound.image)


# --------------------------------------------------------------------------------------------------------- interleaving
# All blocks of a launch on one memory, under a schedule.
#
# Every block is a generator (`control.block_steps`): control passes only where a block hands it over, so a schedule
# determines the run.  A block hands over before an access (if the schedule interleaves), when a loop of it came back to
# where it was (it waits for another block), and from time to time between scoped accesses, so that a block that counts
# its attempts to take a lock does not hold up the one that has it.  Where every block that is left waits and memory
# stands still, none of them will ever go on: each stops with `EndlessLoop`.


RESIDENT: Final = 16
"""Blocks that are interleaved at a time; the next one starts when one of them ends, or if all of them wait."""
SWITCHING: Final = 0.5
"""How often control passes on before an access, where blocks are interleaved."""
ARRIVING: Final = 0.25
"""How often, where accesses are moved at random, the delayed stores of a block that has ended land at a switch."""
PATIENCE: Final = 64
"""Scoped accesses in a row that a block makes before the others get a turn."""


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """What the blocks did, in the order of ``trace``, and the memory they left."""

    schedule: Schedule
    trace: Trace
    memory: TimedMemory


def run_schedule(
    bound: BoundLaunch, grid: GridPoint, blocks: Sequence[GridPoint], schedule: Schedule, budget: Budget,
    begins: Callable[[BlockInterpreter], None] = lambda run: None,
) -> ScheduledRun:  # fmt: skip
    """Run ``blocks`` of the launch to their ends; a block that stopped early says so in its log.

    What the launch allocates on its way joins the image of ``bound``: bind the launch anew for another run.
    ``begins`` is told of every block before its first op.
    """
    with np.errstate(all="ignore"):
        return _Scheduler(bound, grid, schedule, budget, begins).run(blocks)


class _Worker:
    """One block, which runs while it is given control.

    ``waiting``: how often memory had changed when the block last found nothing new, in the places ``watched``;
    ``loop``: where that was.
    """

    def __init__(self, scheduler: _Scheduler, block: GridPoint, memory: OrderedMemory) -> None:
        self.block = block
        self.memory = memory
        self.log: BlockLog | None = None
        self.waiting: int | None = None
        self.watched: frozenset[Range] = frozenset()
        self._scheduler = scheduler
        self._steps: Generator[None, None, BlockLog] | None = None
        self._scoped = 0
        self.loop = 0
        self._rounds: dict[Op, tuple[int, int]] = {}

    def resume(self) -> None:
        """Let the block go on until it hands control over, or ends: then it has its log."""
        if self._steps is None:
            self._steps = self._scheduler.steps_of(self)
        self.waiting = None
        try:
            next(self._steps)
        except StopIteration as end:
            self.log = end.value

    def give_up(self) -> None:
        """End the block: it will never go on."""
        assert self._steps is not None
        reason = f"the loop at {self.loop:#x} waits for a change that no block makes any more"
        try:
            self._steps.throw(EndlessLoop(reason))
        except StopIteration as end:
            self.log = end.value

    # ------------------------------------------------------------------------------- called by its block
    def passes(self, op: Op) -> bool:
        """Whether the schedule lets other blocks go on before this access."""
        self._scoped += _is_scoped(op)
        passes = self._scheduler.switches() or self._scoped >= PATIENCE
        if passes:
            self._scoped = 0
        return passes

    def perform(self, run: BlockInterpreter, op: Op, rule: Rule) -> Result:
        first = len(run.log.accesses)
        self.memory.begin(op.declaration.effect, _is_scoped(op), run.waits(op))
        result = rule(run, op)
        self.memory.end(first, len(run.log.accesses))
        return result

    def spins(self, op: Op) -> None:
        """The loop came back to where it was.

        If nothing changed for a whole round where that round looked, the next one would be the same: the block waits.
        """
        self.memory.settle()
        shared, reads = self._scheduler.memory, self.memory.reads
        changes = len(shared.changes)
        if op in self._rounds:
            before, start = self._rounds[op]
            self.watched = frozenset(reads[start:])
            if not shared.changed(before, self.watched):
                self.waiting = changes
        self._rounds[op], self.loop = (changes, len(reads)), op.offset
        self._scoped = 0

    @property
    def ready(self) -> bool:
        """It can go on: what it waits for has changed, or it does not wait."""
        shared = self._scheduler.memory
        if self.waiting is not None and shared.changed(self.waiting, self.watched):
            self.waiting = None
        elif self.waiting is not None:
            self.waiting = len(shared.changes)
        return self.waiting is None


@dataclass(slots=True)
class _Scheduler:
    bound: BoundLaunch
    grid: GridPoint
    schedule: Schedule
    budget: Budget
    begins: Callable[[BlockInterpreter], None]
    memory: TimedMemory = field(init=False)
    source: Random = field(init=False)

    def __post_init__(self) -> None:
        moved = self.schedule.accesses is not AccessOrder.PROGRAM
        self.memory = TimedMemory(self.bound.image, history=moved)
        self.source = Random(self.schedule.seed)

    @property
    def interleaves(self) -> bool:
        return self.schedule.blocks is BlockOrder.INTERLEAVED

    def switches(self) -> bool:
        return self.interleaves and self.source.random() < SWITCHING

    def steps_of(self, worker: _Worker) -> Generator[None, None, BlockLog]:
        run = BlockInterpreter(
            self.bound.program, worker.memory, self.grid, worker.block, self.budget, turn=worker, conduct=KEEP_GOING
        )
        self.begins(run)
        return block_steps(run, self.bound.arguments)

    def run(self, blocks: Sequence[GridPoint]) -> ScheduledRun:
        workers = {block: _Worker(self, block, self._window()) for block in blocks}
        queue = deque(workers[block] for block in self.schedule.arranged(blocks, self.source))
        late: list[_Worker] = []
        while queue:
            worker = self._next(queue)
            if worker is None:
                if not late:
                    break
                self._settle(late)
                continue
            if late and self.schedule.accesses is AccessOrder.RANDOM and self.source.random() < ARRIVING:
                self._settle([late.pop(self.source.randrange(len(late)))])
            worker.resume()
            if worker.log is not None:
                queue.remove(worker)
                late += [] if worker.memory.settled else [worker]
            elif not self.interleaves:
                queue.remove(worker)
                queue.append(worker)
        for worker in queue:  # each waits
            worker.give_up()
        self._settle(late)
        logs = [worker.log for worker in workers.values() if worker.log is not None]
        moments = tuple(tuple(worker.memory.moments) for worker in workers.values())
        return ScheduledRun(self.schedule, Trace.in_order_of(logs, moments), self.memory)

    def _settle(self, late: list[_Worker]) -> None:
        """What blocks left on its way when they ended lands."""
        if self.schedule.accesses is AccessOrder.RANDOM:
            self.source.shuffle(late)
        for worker in late:
            worker.memory.settle()
        late.clear()

    def _window(self) -> OrderedMemory:
        return OrderedMemory(self.memory, self.schedule.accesses, self.source)

    def _next(self, queue: Iterable[_Worker]) -> _Worker | None:
        if self.interleaves:
            resident = [worker for worker in islice(queue, RESIDENT) if worker.ready]
            if resident:
                return self.source.choice(resident)
        return next((worker for worker in queue if worker.ready), None)


def _is_scoped(op: Op) -> bool:
    return op.attributes.get("scope") is not None
