"""One launch on the machine: its threads, memory, barriers and vector clocks, and what its accesses were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np

from ....contract.launch import Block
from ..ptx import Instruction, Operand, PtxAddress, PtxEntry, PtxSymbol, Register
from .storage import (
    ALL,
    BLOCK_START,
    LOCAL_START,
    RACY,
    RANK_BITS,
    SHARED_START,
    UNKNOWN,
    WARP,
    Array,
    GlobalMemory,
    Lanes,
    Outside,
    Space,
    ThreadAccess,
    Threads,
    Windows,
)

_HIDDEN_START, _HIDDEN_STEP = 0x7F00_0000_0000, 1 << 16
"""Where hidden parameters lie, of which the addresses are taken."""

Step: TypeAlias = "Callable[[ThreadMachine, Lanes], None]"


class Unfollowed(Exception):
    """The run ends: an instruction is not known, or a value that is not known decides about an access."""

    def __init__(self, why: str, instruction: Instruction | None = None) -> None:
        super().__init__(why)
        self.why, self.instruction = why, instruction


@dataclass(frozen=True, slots=True)
class Sink:
    """A value read too early, or too late, decides something: in ``thread`` at ``instruction``."""

    instruction: Instruction
    number: int
    thread: int
    what: str


@dataclass
class ThreadMachine:
    """``racy``: by the time of a load, its threads whose values are marked (`thread_races`).  ``skipped``: what was
    executed without being followed, by opcode.  ``groups``: of copies, how many each thread has committed.  ``maps``:
    by its place in the memory of blocks, the warps that acquired a tensor map, each with its time.  ``unmade``: uses of
    barriers and tensor maps that a thread does not know to be made."""

    entry: PtxEntry
    grid: Block
    blocks: Sequence[Block]
    memory: GlobalMemory
    parameters: Mapping[str, bytes]
    symbols: Mapping[str, int]
    racy: Mapping[int, Array] = field(default_factory=dict)
    time: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    sinks: list[Sink] = field(default_factory=list)
    mbarriers: dict[int, Mbarrier] = field(default_factory=dict)
    unmade: list[Sink] = field(default_factory=list)
    groups: Counter[int] = field(default_factory=Counter)
    maps: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    clusters: list[Mbarrier] = field(init=False)
    _hidden: dict[int, str] = field(default_factory=dict)
    threads: Threads = field(init=False)
    shared: Windows = field(init=False)
    local: Windows = field(init=False)
    own: Windows = field(init=False)
    clocks: Clocks = field(init=False)

    def __post_init__(self) -> None:
        places, at = dict(self.symbols), {"shared": SHARED_START, "local": LOCAL_START}
        for variable in self.entry.variables:
            start = -(-at[variable.space] // variable.align) * variable.align
            places[variable.name], at[variable.space] = start, start + variable.size
        for number, parameter in enumerate(each for each in self.entry.parameters if each.hidden):
            places[parameter.name] = _HIDDEN_START + number * _HIDDEN_STEP
            self._hidden[places[parameter.name]] = parameter.name
        self.threads = Threads(self.entry, self.grid, self.blocks, places)
        self.shared = Windows(
            "shared", len(self.blocks) * self.entry.cluster, at["shared"] - SHARED_START, SHARED_START
        )
        self.clusters = [Mbarrier(self.threads.size) for _ in self.blocks]
        self.local = Windows("local", self.threads.count, at["local"] - LOCAL_START, LOCAL_START)
        blocks = len(self.blocks) * self.entry.cluster
        self.own = Windows("block", blocks, self.entry.block_memory, BLOCK_START, exact=True)
        self.threads.own_memory = self.own.size
        copies = any("bulk" in each.opcode or "mbarrier_init" in each.opcode for each in self.entry.instructions)
        self.clocks = Clocks(len(self.blocks), self.threads.size // WARP, copies=copies)

    @cached_property
    def by_block(self) -> Sequence[Sequence[tuple[ThreadAccess, Array]]]:
        """Of each block, when the run is over, its accesses to global memory, and the places that its threads touch."""
        found: list[list[tuple[ThreadAccess, Array]]] = [[] for _ in self.blocks]
        for access in self.memory.log:
            blocks = self.threads.block[access.threads]
            if (blocks == blocks[0]).all():
                found[blocks[0]].append((access, access.places))
                continue
            for block in np.unique(blocks):
                found[block].append((access, access.places[blocks == block]))
        return found

    # --------------------------------------------------------------------------------------- marks
    def marks_of(self, operands: Sequence[Operand], lanes: Lanes) -> Array | None:
        """What the registers among ``operands`` are marked with, together; ``None`` where they are not."""
        held = self.threads.marks
        found: Array | None = None
        for operand in operands:
            name = operand.name if isinstance(operand, Register) else None
            if name in held:
                found = held[name][lanes] if found is None else found | held[name][lanes]
        return found

    def mark(self, operand: Operand | None, marks: Array | None, lanes: Lanes) -> None:
        if not isinstance(operand, Register):
            return
        held = self.threads.marks.get(operand.name)
        if held is None:
            if marks is None or not marks.any():
                return
            held = self.threads.marks[operand.name] = np.zeros(self.threads.count, "u1")
        held[lanes] = 0 if marks is None else marks
        if not held.any():
            del self.threads.marks[operand.name]

    def decides(self, instruction: Instruction, number: int, marks: Array | None, lanes: Lanes, what: str) -> None:
        """``marks`` of what decides about an access: unknown values end the run, racy ones are noted."""
        if marks is None:
            return
        if (marks & UNKNOWN).any():
            raise Unfollowed(f"{what} hangs on a value that is not followed", instruction)
        racy = np.flatnonzero(marks & RACY)
        if len(racy):
            thread = int(self.threads.numbers[lanes][racy[0]])
            self.sinks.append(Sink(instruction, number, thread, what))

    # --------------------------------------------------------------------------------------- barriers
    def barrier_at(self, place: int, warps: Array, instruction: Instruction, number: int) -> Mbarrier:
        """The barrier that these warps use, noted in ``unmade`` where one does not know that it is made."""
        found = self.mbarriers.get(place)
        if found is None:
            raise Unfollowed("a barrier is used that nobody made", instruction)
        for warp in np.unique(warps):
            if warp != found.maker and not self.clocks.knows_maker(int(warp), found.maker, found.made):
                self.unmade.append(Sink(instruction, number, int(warp) * WARP, "a barrier"))
        return found

    # --------------------------------------------------------------------------------------- memory
    def address(self, operand: PtxAddress, lanes: Lanes, count: int) -> Array:
        """One address for each thread."""
        base = operand.base
        if isinstance(base, PtxSymbol):
            start = self.threads.place(base.name, lanes).view("i8") + operand.offset
            return np.ascontiguousarray(np.broadcast_to(start, (count,))).view("u8")
        if not isinstance(base, Register):
            return np.full(count, base.bits + operand.offset, "i8").view("u8")
        held = self.threads.register(base.name)[lanes]
        if held.dtype.itemsize < 8:  # an address of shared memory
            return (held.astype("i8") + operand.offset).view("u8")
        return held + np.uint64(operand.offset & 0xFFFF_FFFF_FFFF_FFFF)

    def hidden(self, address: int) -> bytes | None:
        """The hidden parameter at an address, ``None`` where none begins there or nobody filled it."""
        return self.parameters.get(self._hidden.get(address, ""))

    def places(self, space: str, addresses: Array, width: int, numbers: Array) -> tuple[Space, Array]:
        if space == "generic":
            space = self._space_at(addresses)
        if space == "shared":
            owners, within = self._windows(addresses, width, numbers)
            return self.shared, self.shared.places(within, width, owners, numbers)
        if space == "local":
            return self.local, self.local.places(addresses, width, numbers, numbers)
        if self.entry.block_memory and (mine := addresses >= BLOCK_START).any():
            if not mine.all():
                raise Unfollowed("an instruction reaches memory of two kinds")
            owners = self.threads.cta[numbers]
            within = addresses - (owners * self.own.size).astype("u8")
            return self.own, self.own.places(within, width, owners, numbers)
        return self.memory, self.memory.places(addresses, width, numbers)

    def _windows(self, addresses: Array, width: int, numbers: Array) -> tuple[Array, Array]:
        """Whose shared memory is reached, and the address in it."""
        owners = self.threads.cta[numbers]
        ranks = (addresses >> np.uint64(RANK_BITS)).astype("i8")
        wrong = (ranks < 0) | (ranks >= self.entry.cluster)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise Outside("shared", int(numbers[first]), int(addresses[first]), width)
        return owners - self.threads.rank[numbers] + ranks, addresses & np.uint64((1 << RANK_BITS) - 1)

    def _space_at(self, addresses: Array) -> str:
        """Where generic addresses lie: shared memory is before all arrays, local memory behind them."""
        local = (addresses >= LOCAL_START) & (addresses < LOCAL_START + self.local.size)
        shared = addresses < self.entry.cluster << RANK_BITS
        if local.all():
            return "local"
        if shared.all():
            return "shared"
        if local.any() or shared.any():
            raise Unfollowed("an instruction reaches memory of two kinds")
        return "global"

    def logged(
        self, space: Space, number: int, numbers: Array, places: Array, width: int, *, reads: bool = False,
        writes: bool = False, atomic: bool = False, scoped: bool = False, values: Array | None = None,
    ) -> int:  # fmt: skip
        """The time of the access."""
        self.time += 1
        if space is not self.local:
            warps = self.threads.warp[numbers]
            clocks = self.clocks
            clocks.touch(numbers, warps)
            known = clocks.row[warps], clocks.own[warps], clocks.met[warps]
            access = (number, self.time, numbers, places, width, reads, writes, *known, atomic, scoped, values)
            space.log.append(ThreadAccess(*access))
        return self.time

    def numbers(self, lanes: Lanes) -> Array:
        return self.threads.numbers if lanes is ALL else self.threads.numbers[lanes]


# ------------------------------------------------------------------------------------------------------------- barriers
# Barriers in shared memory (``mbarrier``): arrivals and bytes that are awaited, phase by phase.


@dataclass
class Mbarrier:
    """``count`` arrivals end a phase, once all bytes that were announced have come.  ``known``: what those that arrived
    in the phase knew (`clocks`), ``over``: in the one before.  ``column``: of the copies that complete here, whose time
    is the phase.  ``maker``: the warp that made it, by its ``thread``, at ``made`` of its time."""

    count: int
    pending: int = field(init=False)
    bytes: int = 0
    phase: int = 0
    known: Array | None = None
    over: Array | None = None
    column: int = -1
    maker: int = -1
    thread: int = -1
    made: int = -1

    def __post_init__(self) -> None:
        self.pending = self.count

    def arrive(self, times: int, known: Array) -> None:
        self.pending -= times
        self.known = known if self.known is None else np.maximum(self.known, known)
        self._turn()

    def expect(self, bytes_: int) -> None:
        self.bytes += bytes_

    def complete(self, bytes_: int) -> None:
        self.bytes -= bytes_
        self._turn()

    def _turn(self) -> None:
        if self.pending <= 0 and not self.bytes:
            if self.column >= 0 and self.known is not None:
                self.known[self.column] = self.phase
            self.phase += 1
            self.pending, self.over, self.known = self.count, self.known, None


# --------------------------------------------------------------------------------------------------------------- clocks
# What warps know of each other: vector clocks, by which two accesses are ordered or not.
#
# Each warp of a block counts its own time, and knows the time of every warp up to which that one's accesses are over
# for it.  A barrier makes all that arrive know what any of them knows, and begins a new time for each.  An instruction
# that waits for all threads of a warp (``shfl.sync``, ``bar.warp.sync``) begins a new time, too: the warp has *met*.
#
#     ordered(a, b)  <=>  same thread, or knowledge_b[warp of a] >= time_a, or
#                         a's warp is b's, and had met at b for the last time at the end of time_a or later
#
# A copy that the hardware makes by itself knows what its warp knows where it is issued, and nobody knows of it but who
# waits for it.  So it has a *column* of its own in all knowledge: one for each barrier at which copies complete, whose
# time is the barrier's phase, and two for the groups of copies of each thread (read, and written), whose time is the
# number of the group.  It reads and writes through another proxy, too: what threads wrote before is there for it only
# once ``fence.proxy.async`` stands in between.  What has passed such a fence is known in two more columns for each
# warp. A last one for each warp says up to when it is known which barriers the warp has made: ``fence.mbarrier_init``
# lets an arrival that releases nothing else (``relaxed``) tell that.
#
#     columns  =  warps, warps as fenced for shared memory, warps as fenced for global memory, warps as makers, copies


_MADE: Final = 3
"""Which of the columns of a warp says what barriers it has made."""
COPIES: Final = 96
"""Columns of copies, in kernels that have any."""
FENCED: Final = {"shared": 1, "global": 2, "block": 0}
"""Which of the columns of a warp.  Memory of a block has none: what is written there has a fence of its own
(`bulk_copies`)."""


class TooManyCopies(Exception):
    """A block has more barriers and groups than there are columns."""


class Clocks:
    """Of ``blocks`` blocks with ``warps`` warps each; warps have numbers through all blocks."""

    def __init__(self, blocks: int, warps: int, *, copies: bool = False) -> None:
        self.warps = warps
        self.copies = copies
        self.width = (_MADE + 1) * warps + COPIES if copies else warps
        count = blocks * warps
        self.rows: list[Array] = [np.full(self.width, -1, "i4")]
        self.own = np.zeros(count, "i4")
        self.met = np.full(count, -1, "i4")
        self.row = np.zeros(count, "i4")
        self._touched = np.full((3, count), -2, "i8")  # since which meeting, by which thread first and last
        self._columns: dict[tuple[int, Hashable], int] = {}
        self._used = [0] * blocks

    def meet(self, warps: Array) -> None:
        """All threads of these warps wait for each other."""
        self.met[warps] = self.own[warps]
        self.own[warps] += 1

    def barrier(self, warps: Iterable[int]) -> None:
        """These warps of one block know what any of them knows, and all that they did."""
        found = np.fromiter(warps, "i8")
        self.acquire(found, self.release(found))

    def release(self, warps: Array) -> Array:
        """What these warps know, themselves included; a new time begins for each."""
        known: Array = np.max([self.rows[self.row[warp]] for warp in warps], axis=0)
        for warp in warps:
            place = warp % self.warps
            known[place] = max(known[place], self.own[warp])
        self.own[warps] += 1
        return known

    def acquire(self, warps: Array, known: Array) -> None:
        for warp in warps:
            mine = self.rows[self.row[warp]]
            if (known > mine).any():
                self.rows.append(np.maximum(known, mine))
                self.row[warp] = len(self.rows) - 1

    def table(self) -> Array:
        return np.array(self.rows)

    # --------------------------------------------------------------------------------------- copies
    def fence(self, warps: Array, spaces: Iterable[str]) -> None:
        """What these warps know, and what their threads did, is there for copies of who hears of it."""
        if not self.copies:
            return
        for warp in warps:
            row = self.rows[self.row[warp]].copy()
            for space in spaces:
                start = FENCED[space] * self.warps
                row[start : start + self.warps] = np.maximum(row[start : start + self.warps], row[: self.warps])
                row[start + warp % self.warps] = self.own[warp]
            self.rows.append(row)
            self.row[warp] = len(self.rows) - 1
        self.own[warps] += 1

    def touch(self, threads: Array, warps: Array) -> None:
        """These threads access memory."""
        if not self.copies:
            return
        time, first, last = self._touched
        new = warps[time[warps] != self.met[warps]]
        first[new], last[new] = np.iinfo("i8").max, -1
        time[warps] = self.met[warps]
        np.minimum.at(first, warps, threads)
        np.maximum.at(last, warps, threads)

    def issued(self, thread: int, warp: int) -> int:
        """The row of a copy that a thread issues.  What other threads of its warp did since the warp met is not before
        it."""
        time, first, last = self._touched[:, warp]
        alone = time != self.met[warp] or first == last == thread
        row = self.rows[self.row[warp]].copy()
        row[warp % self.warps] = max(row[warp % self.warps], self.own[warp] if alone else self.met[warp])
        self.rows.append(row)
        self.own[warp] += 1
        return len(self.rows) - 1

    def column(self, block: int, whose: Hashable) -> int:
        """Of copies that complete at one barrier, or in the groups of one thread; raises `TooManyCopies`."""
        found = self._columns.get((block, whose))
        if found is None:
            if self._used[block] == COPIES:
                raise TooManyCopies
            found = self._columns[block, whose] = (_MADE + 1) * self.warps + self._used[block]
            self._used[block] += 1
        return found

    def done(self, block: int, whose: Hashable, warps: Array, time: int) -> None:
        """These warps know that such copies are over, up to a time, if there were any."""
        column = self._columns.get((block, whose))
        if column is not None:
            known = self.rows[0].copy()
            known[column] = time
            self.acquire(warps, known)

    # --------------------------------------------------------------------------------------- barriers made
    def tell_made(self, warps: Array) -> None:
        """Relaxed arrivals of these warps say from now on which barriers each of them has made."""
        if self.copies:
            for warp in warps:
                row = self.rows[self.row[warp]].copy()
                row[_MADE * self.warps + warp % self.warps] = self.own[warp]
                self.rows.append(row)
                self.row[warp] = len(self.rows) - 1
            self.own[warps] += 1

    def relaxed(self, warps: Array) -> Array:
        """What an arrival of these warps says that releases nothing."""
        known = self.rows[0].copy()
        if self.copies:
            makers = slice(_MADE * self.warps, (_MADE + 1) * self.warps)
            known[makers] = np.max([self.rows[self.row[warp]][makers] for warp in warps], axis=0)
        return known

    def knows_maker(self, warp: int, maker: int, time: int) -> bool:
        """Whether a warp knows the barriers that another one had made at a time."""
        row, place = self.rows[self.row[warp]], maker % self.warps
        return bool(row[place] >= time or (self.copies and row[_MADE * self.warps + place] >= time))
