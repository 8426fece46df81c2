"""One launch on the machine: threads, memory, clocks, and what its accesses were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ....contract.concrete import Block
from ..ptx.model import Instruction, Operand, PtxAddress, PtxEntry, PtxSymbol, Register
from .barriers import Mbarrier
from .clocks import Clocks
from .memory import (
    BLOCK_START,
    LOCAL_START,
    RANK_BITS,
    SHARED_START,
    GlobalMemory,
    Outside,
    Space,
    ThreadAccess,
    Windows,
)
from .threads import ALL, RACY, UNKNOWN, WARP, Lanes, Threads
from .types import Array

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
