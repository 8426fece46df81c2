"""A launch executed: threads in lockstep, as far as barriers and branches let them.

Of all threads that can go on, those of the least priority run, and of these the ones that stand first in the text: so
threads that a branch parted meet again at the first instruction that they share.  An instruction that is for whole
warps, or a barrier, holds its threads until those are there that it waits for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..ptx import Immediate, Instruction, Operand, PtxAddress
from .machine import Mbarrier, ThreadMachine, Unfollowed
from .steps import Compiled, StepKind, ThreadProgram, program_of
from .storage import ALL, WARP, Array, Lanes, Outside

MOST_STEPS: Final = 400_000
"""Instructions that are executed for one launch, each for as many threads as go along."""
_BARRIERS: Final = 16


class Hang(Exception):
    """No thread can go on, and some have not ended."""


class Stopped(Exception):
    """A thread comes to a ``trap``."""

    def __init__(self, instruction: Instruction) -> None:
        super().__init__("a trap is executed")
        self.instruction = instruction


class WentOutside(Exception):
    """An access outside all memory."""

    def __init__(self, outside: Outside, instruction: Instruction) -> None:
        super().__init__(str(outside))
        self.outside, self.instruction = outside, instruction


def run(machine: ThreadMachine, priority: Array | None = None, most: int = MOST_STEPS) -> None:
    """Executes the launch to its end.  ``priority``: of each thread, the least one first; all alike where it is not
    given.

    :raises Unfollowed: an instruction is not known, or too many are executed.
    :raises Hang: threads wait for ever.
    :raises WentOutside: an access lies outside all memory.
    :raises Stopped: the launch is ended by a trap.
    """
    with np.errstate(all="ignore"):
        _Run(machine, program_of(machine.entry), priority).to_the_end(most)


@dataclass
class _Run:
    machine: ThreadMachine
    program: ThreadProgram
    priority: Array | None

    def __post_init__(self) -> None:
        count = self.machine.threads.count
        self.pc = np.zeros(count, "i4")
        self.done = np.zeros(count, "?")
        self.held = np.zeros(count, "?")
        self.waits = np.full(count, -1, "i4")  # the barrier that a held thread waits at
        self.expected = np.zeros(count, "i4")  # and for how many threads
        self.late = np.zeros(count, "?")  # held by a phase that is not over
        self.arrivals: dict[int, tuple[int, Array]] = {}  # at barriers of blocks, by threads that do not wait
        self.arrived = np.full(count, -1, "i4")  # the phase of the cluster's barrier in which a thread arrived last
        self.steps = 0

    def to_the_end(self, most: int) -> None:
        while True:
            lanes, limit = self._next()
            if lanes is None:
                if self.done.all():
                    return
                raise Hang(f"{int((~self.done).sum())} threads wait for ever")
            self._go_on(lanes, limit, most)

    def _next(self) -> tuple[Array | None, int]:
        """The threads that go on, and the first instruction at which others wait for them."""
        able = ~(self.done | self.held)
        if not able.any():
            return None, 0
        if self.priority is not None:
            able &= self.priority == self.priority[able].min()
        pcs = self.pc[able]
        first = int(pcs.min())
        others = pcs[pcs > first]
        limit = int(others.min()) if len(others) else len(self.program.steps)
        return np.flatnonzero(able & (self.pc == first)), limit

    def _go_on(self, numbers: Array, limit: int, most: int) -> None:
        steps, count = self.program.steps, self.machine.threads.count
        lanes: Lanes = ALL if len(numbers) == count else numbers
        pc = int(self.pc[numbers[0]])
        end = len(steps)
        while pc < end:
            each = steps[pc] or self.program.compile(pc)
            self.steps += 1
            if self.steps > most:
                raise Unfollowed(f"the launch executes more than {most} instructions")
            if each.kind is StepKind.PLAIN:
                self._plain(each, lanes)
                pc += 1
            elif each.kind is StepKind.BRANCH:
                pc = self._branch(each, pc, numbers, lanes)
                if pc < 0:
                    return
            else:
                self.pc[numbers] = pc
                self._wait(each, pc, numbers)
                return
            if pc >= limit:
                break
        self.pc[numbers] = pc
        if pc >= end:
            self.done[numbers] = True
            self._release_all()

    # --------------------------------------------------------------------------------------- instructions
    def _guarded(self, each: Compiled, lanes: Lanes) -> Array:
        """The threads among ``lanes`` for which the instruction's guard holds."""
        guard = each.instruction.guard
        numbers = self.machine.numbers(lanes)
        if guard is None:
            return numbers
        marks = self.machine.marks_of([guard], lanes)
        self.machine.decides(each.instruction, each.number, marks, lanes, "whether something is done")
        holds = self.machine.threads.read(guard, "pred", lanes)
        return numbers[~holds if each.instruction.negated else holds]

    def _plain(self, each: Compiled, lanes: Lanes) -> None:
        if each.instruction.guard is not None:
            lanes = self._guarded(each, lanes)
            if not len(lanes):
                return
            self.program.guarded.add(each.number)
        try:
            each.step(self.machine, lanes)
        except Outside as outside:
            raise WentOutside(outside, each.instruction) from None

    def _branch(self, each: Compiled, pc: int, numbers: Array, lanes: Lanes) -> int:
        """Where all go on together; -1 where they part."""
        if each.instruction.guard is None:
            return each.target
        taken = self._guarded(each, lanes)
        if len(taken) == len(numbers):
            return each.target
        if not len(taken):
            return pc + 1
        self.pc[numbers] = pc + 1
        self.pc[taken] = each.target
        return -1

    # --------------------------------------------------------------------------------------- waiting
    def _wait(self, each: Compiled, pc: int, numbers: Array) -> None:
        if each.kind is StepKind.EXIT:
            leaving = self._guarded(each, numbers)
            if len(leaving) and each.instruction.opcode[0] == "trap":
                raise Stopped(each.instruction)
            self.done[leaving] = True
            self.pc[numbers] = pc + 1
            self._release_all()
            self._arrive_in_cluster(leaving)
        elif each.kind is StepKind.TOGETHER:
            self._together(each, pc)
        elif each.kind is StepKind.COMPLETES:
            self._plain(each, numbers)
            self.pc[numbers] = pc + 1
            self._wake()
        elif "mbarrier" in each.instruction.opcode[:3]:
            self._mbarrier(each, pc, numbers)
        elif each.instruction.has("cluster"):
            self._cluster(each, pc, numbers)
        else:
            self._barrier(each, pc, numbers)

    def _together(self, each: Compiled, pc: int) -> None:
        """Whole warps go on, of which no thread is elsewhere; threads of others are held."""
        here = ~self.done & (self.pc == pc) & (self.waits < 0)
        by_warp = here.reshape(-1, WARP)
        missing = (~by_warp & ~self.done.reshape(-1, WARP)).any(axis=1)
        complete = by_warp.any(axis=1) & ~missing
        ready = np.repeat(complete, WARP) & here
        self.held[here & ~ready] = True
        numbers = np.flatnonzero(ready)
        if not len(numbers):
            return
        if (self.done.reshape(-1, WARP)[complete]).any():
            raise Unfollowed("some threads of a warp have ended", each.instruction)
        self.held[numbers] = False
        self.machine.clocks.meet(np.flatnonzero(complete))
        self._plain_together(each, numbers)
        self.pc[numbers] = pc + 1

    def _plain_together(self, each: Compiled, numbers: Array) -> None:
        lanes: Lanes = ALL if len(numbers) == self.machine.threads.count else numbers
        if each.instruction.guard is not None:
            chosen = self._guarded(each, lanes)
            whole = len(chosen) % WARP == 0 and (chosen.reshape(-1, WARP) % WARP == np.arange(WARP)).all()
            if len(chosen) and not whole:
                if each.instruction.opcode[0] in ("bar", "elect"):
                    return
                raise Unfollowed("an instruction for whole warps is made by a part of one", each.instruction)
            lanes = chosen
            if not len(chosen):
                return
            self.program.guarded.add(each.number)
        try:
            each.step(self.machine, lanes)
        except Outside as outside:
            raise WentOutside(outside, each.instruction) from None

    def _barrier(self, each: Compiled, pc: int, numbers: Array) -> None:
        """``bar.sync a, b``: as many threads of a block as ``b`` says, or all of it."""
        instruction = each.instruction
        going = self._guarded(each, numbers)
        passing = numbers[~np.isin(numbers, going)] if len(going) < len(numbers) else numbers[:0]
        self.pc[passing] = pc + 1
        if not len(going):
            return
        threads = self.machine.threads
        name, *rest = instruction.operands or (Immediate(0),)
        barrier = np.broadcast_to(threads.read(name, "u32", going), going.shape).astype("i4")
        wanted = np.broadcast_to(threads.read(rest[0], "u32", going), going.shape) if rest else threads.entry.threads
        if instruction.has("arrive"):
            self._arrive_at(going, barrier)
            self.pc[going] = pc + 1
        else:
            self.held[going] = True
            self.waits[going] = barrier
            self.expected[going] = wanted
        self._release_all()

    def _arrive_at(self, going: Array, barrier: Array) -> None:
        """``bar.arrive``: counted, and not held."""
        threads, clocks = self.machine.threads, self.machine.clocks
        keys = threads.cta[going] * _BARRIERS + barrier
        for key in np.unique(keys):
            mine = going[keys == key]
            count, known = self.arrivals.get(int(key), (0, clocks.rows[0]))
            known = np.maximum(known, clocks.release(np.unique(threads.warp[mine])))
            self.arrivals[int(key)] = count + len(mine), known

    def _release_all(self) -> None:
        """Lets go of what barriers hold no longer."""
        waiting = np.flatnonzero(self.waits >= 0)
        if not len(waiting):
            return
        threads = self.machine.threads
        keys = threads.cta[waiting] * _BARRIERS + self.waits[waiting]
        ended = np.bincount(threads.cta[self.done], minlength=int(threads.cta[-1]) + 1)
        for key in np.unique(keys):
            here = waiting[keys == key]
            block, expected = int(key) // _BARRIERS, int(self.expected[here[0]])
            arrived, known = self.arrivals.get(int(key), (0, None))
            if len(here) + arrived >= expected or len(here) >= threads.entry.threads - int(ended[block]):
                warps = np.unique(threads.warp[here])
                self.machine.clocks.barrier(warps)
                if known is not None:
                    self.machine.clocks.acquire(warps, known)
                    del self.arrivals[int(key)]
                self.held[here] = False
                self.waits[here] = -1
                self.pc[here] += 1

    # --------------------------------------------------------------------------------------- clusters
    def _cluster(self, each: Compiled, pc: int, numbers: Array) -> None:
        """``barrier.cluster``: all threads of a cluster arrive, and wait for the phase in which they did."""
        going = self._guarded(each, numbers)
        self.pc[numbers] = pc + 1
        if each.instruction.has("arrive"):
            self._arrive_in_cluster(going, relaxed=each.instruction.has("relaxed"))
            return
        threads, machine = self.machine.threads, self.machine
        for block in np.unique(threads.block[going]):
            mine = going[threads.block[going] == block]
            barrier = machine.clusters[block]
            over = self.arrived[mine] < barrier.phase
            if over.any() and barrier.over is not None:
                machine.clocks.acquire(np.unique(threads.warp[mine[over]]), barrier.over)
            late = mine[~over]
            self.held[late] = True
            self.late[late] = True
            self.pc[late] = pc

    def _arrive_in_cluster(self, numbers: Array, *, relaxed: bool = False) -> None:
        threads, machine = self.machine.threads, self.machine
        if threads.entry.cluster == 1:
            return
        for block in np.unique(threads.block[numbers]):
            mine = numbers[threads.block[numbers] == block]
            barrier = machine.clusters[block]
            self.arrived[mine] = barrier.phase
            warps = np.unique(threads.warp[mine])
            barrier.arrive(len(mine), machine.clocks.relaxed(warps) if relaxed else machine.clocks.release(warps))
        self._wake()

    # --------------------------------------------------------------------------------------- mbarriers
    def _mbarrier(self, each: Compiled, pc: int, numbers: Array) -> None:
        machine, instruction = self.machine, each.instruction
        going = self._guarded(each, numbers)
        self.pc[numbers] = pc + 1
        if not len(going):
            return
        kind = instruction.opcode[instruction.opcode.index("mbarrier") + 1]
        returns = kind in ("try_wait", "test_wait", "arrive", "arrive_drop")
        target, rest = (instruction.operands[0], instruction.operands[1:]) if returns else (None, instruction.operands)
        if isinstance(target, PtxAddress):  # an arrival of which nobody wants the state
            target, rest = None, instruction.operands
        address, *given = rest
        assert isinstance(address, PtxAddress)
        marks = machine.marks_of([address.base], going)
        machine.decides(instruction, each.number, marks, going, "a barrier's address")
        _, places = machine.places("shared", machine.address(address, going, len(going)), 8, going)
        match kind:
            case "init":
                counts = np.broadcast_to(machine.threads.read(given[0], "u32", going), going.shape)
                for place, count, thread in zip(places, counts, going, strict=True):
                    warp = int(machine.threads.warp[thread])
                    made = int(machine.clocks.own[warp])
                    machine.mbarriers[int(place)] = Mbarrier(int(count), maker=warp, thread=int(thread), made=made)
            case "inval":
                for place in places:
                    machine.mbarriers.pop(int(place), None)
            case "arrive" | "expect_tx" | "arrive_drop":
                self._arrive(each, going, places, given, target)
            case "try_wait" | "test_wait":
                self._try_wait(each, pc, going, places, given, target)
            case _:
                raise Unfollowed(f"{instruction.name} is not known", instruction)

    def _arrive(
        self, each: Compiled, going: Array, places: Array, given: list[Operand], target: Operand | None
    ) -> None:  # fmt: skip
        machine, instruction = self.machine, each.instruction
        expects = instruction.has("expect_tx")
        amount = np.broadcast_to(machine.threads.read(given[0], "u32", going), going.shape) if given else None
        for place in np.unique(places):
            mine = places == place
            barrier = machine.barrier_at(int(place), machine.threads.warp[going[mine]], instruction, each.number)
            if expects and amount is not None:
                barrier.expect(int(amount[mine].sum()))
            if not instruction.has("expect_tx") or instruction.has("arrive"):
                times = int(amount[mine].sum()) if amount is not None and not expects else int(mine.sum())
                says = machine.clocks.relaxed if instruction.has("relaxed") else machine.clocks.release
                barrier.arrive(times, says(np.unique(machine.threads.warp[going[mine]])))
        if target is not None:
            machine.threads.write(target, np.zeros(len(going), "u8"), going)
        self._wake()

    def _try_wait(
        self, each: Compiled, pc: int, going: Array, places: Array, given: list[Operand],
        target: Operand | None,
    ) -> None:  # fmt: skip
        """A thread whose phase is not over waits for it, so that no loop spins."""
        machine = self.machine
        parity = np.broadcast_to(machine.threads.read(given[0], "u32", going), going.shape)
        unique, which = np.unique(places, return_inverse=True)
        warps = machine.threads.warp[going]
        phases = np.array([
            machine.barrier_at(int(place), warps[which == number], each.instruction, each.number).phase
            for number, place in enumerate(unique)
        ])  # fmt: skip
        over = phases[which] & 1 != parity.astype("i8") & 1
        assert target is not None
        ready = going[over]
        machine.threads.write(target, np.ones(len(ready), "?"), ready)
        for place in np.unique(places[over]):
            known = machine.mbarriers[int(place)].over
            if known is not None:
                machine.clocks.acquire(np.unique(machine.threads.warp[going[over & (places == place)]]), known)
        late = going[~over]
        self.held[late] = True
        self.late[late] = True
        self.pc[late] = pc

    def _wake(self) -> None:
        """Threads that wait for a phase look again."""
        self.held[self.late] = False
        self.late[:] = False
