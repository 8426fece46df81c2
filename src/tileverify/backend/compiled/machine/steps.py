"""What each instruction does, as a function of the machine and the threads that execute it together."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from ..ptx.model import Instruction, Operand, Pair, PtxEntry, PtxSymbol, Register, Vector
from . import bulk_copies, map_updates, transfers, warps
from .computed import rule_of
from .machine import Step, ThreadMachine, Unfollowed
from .threads import Lanes, reader
from .types import Array, width
from .value_rule import UnknownInstruction


class StepKind(enum.Enum):
    PLAIN = enum.auto()
    TOGETHER = enum.auto()
    """Waits for all threads of a warp."""
    BRANCH = enum.auto()
    EXIT = enum.auto()
    BARRIER = enum.auto()
    """Waits for other warps."""
    COMPLETES = enum.auto()
    """May end a phase for which others wait."""


@dataclass(frozen=True, slots=True)
class Compiled:
    kind: StepKind
    instruction: Instruction
    number: int
    step: Step
    target: int = -1
    """Of a branch, the number of the instruction."""


class ThreadProgram:
    """An entry's instructions, each compiled when it is reached first.

    ``guarded``: numbers of instructions with a guard that held for some thread.
    """

    def __init__(self, entry: PtxEntry) -> None:
        self._entry = entry
        self.steps: list[Compiled | None] = [None] * len(entry.instructions)
        self.guarded: set[int] = set()

    def compile(self, number: int) -> Compiled:
        """Raises `Unfollowed` for an instruction that is not known."""
        found = self.steps[number] = _compiled(self._entry.instructions[number], number, self._entry)
        return found

    def is_executed(self, number: int) -> bool:
        """Whether some thread has executed the instruction."""
        if self._entry.instructions[number].guard is not None:
            return number in self.guarded
        return self.steps[number] is not None


@lru_cache(maxsize=2)
def program_of(entry: PtxEntry) -> ThreadProgram:
    """One for all launches of an entry."""
    return ThreadProgram(entry)


def _compiled(instruction: Instruction, number: int, entry: PtxEntry) -> Compiled:
    base = instruction.opcode[0]
    if base in ("bra", "ret", "exit", "trap"):
        if base != "bra":
            return Compiled(StepKind.EXIT, instruction, number, _nothing)
        label = instruction.operands[0]
        assert isinstance(label, PtxSymbol)
        return Compiled(StepKind.BRANCH, instruction, number, _nothing, entry.labels[label.name])
    if base == "barrier" and instruction.has("cluster"):
        return Compiled(StepKind.BARRIER, instruction, number, _nothing)
    if base in ("bar", "barrier") and not instruction.has("warp"):
        if instruction.opcode[1] not in ("sync", "arrive"):
            raise Unfollowed(f"{instruction.name} is not known", instruction)
        return Compiled(StepKind.BARRIER, instruction, number, _nothing)
    if "mbarrier" in instruction.opcode[:3]:
        return Compiled(StepKind.BARRIER, instruction, number, _nothing)
    make = _MAKE.get(base)
    step = _computed(instruction, entry) if make is None else make(instruction, number)
    if base in ("cp", "tcgen05") and "mbarrier" in instruction.name:
        return Compiled(StepKind.COMPLETES, instruction, number, step)
    together = base in _TOGETHER or "sync" in instruction.opcode
    return Compiled(StepKind.TOGETHER if together else StepKind.PLAIN, instruction, number, step)


def _nothing(machine: ThreadMachine, lanes: Lanes) -> None:
    return


# ------------------------------------------------------------------------------------------- values
def _computed(instruction: Instruction, entry: PtxEntry) -> Step:
    if instruction.opcode[0] == "mov" and any(isinstance(each, Vector) for each in instruction.operands):
        return _packed(instruction)
    try:
        rule = rule_of(instruction)
    except UnknownInstruction:
        raise Unfollowed(f"{instruction.name} is not known", instruction) from None
    target, *sources = instruction.operands
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    if len(sources) != len(rule.sources):
        raise Unfollowed(f"{instruction.name} with {len(sources)} operands is not known", instruction)
    reads = [reader(each, type_, entry) for each, type_ in zip(sources, rule.sources, strict=True)]
    function, chooses = rule.function, instruction.opcode[0] == "selp"

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        threads = machine.threads
        found = function(*[read(threads, lanes) for read in reads])
        threads.write(first, found, lanes)
        if second is not None:
            threads.write(second, ~found, lanes)
        if threads.marks:
            marks = _chosen(machine, sources, lanes) if chooses else machine.marks_of(sources, lanes)
            machine.mark(first, marks, lanes)
            machine.mark(second, marks, lanes)

    return step


def _chosen(machine: ThreadMachine, sources: list[Operand], lanes: Lanes) -> Array | None:
    """Of a selection the marks of what was chosen, and of what chose."""
    a, b, by = (machine.marks_of([each], lanes) for each in sources)
    if a is None and b is None:
        return by
    none = np.zeros(len(machine.numbers(lanes)), "u1")
    picked = np.where(
        machine.threads.read(sources[2], "pred", lanes), none if a is None else a, none if b is None else b
    )
    return picked if by is None else picked | by


def _packed(instruction: Instruction) -> Step:
    """``mov.b32 %r1, {%rs1, %rs2}`` and the other way, the first element in the low bits."""
    target, source = instruction.operands
    whole = width(instruction.type)
    if isinstance(target, Vector) and isinstance(source, Vector):
        raise Unfollowed(f"{instruction.name} of two vectors is not known", instruction)
    if isinstance(source, Vector):
        parts = [each for each in source.elements if each is not None]
        bits = 8 * whole // len(parts)

        def pack(machine: ThreadMachine, lanes: Lanes) -> None:
            found = np.zeros(1, f"u{whole}")
            for place, part in enumerate(parts):
                held = machine.threads.read(part, f"b{bits}", lanes).astype(f"u{whole}")
                found = found | (held << found.dtype.type(bits * place))
            machine.threads.write(target, found, lanes)
            if machine.threads.marks:
                machine.mark(target, machine.marks_of(parts, lanes), lanes)

        return pack
    assert isinstance(target, Vector)
    elements = target.elements
    bits = 8 * whole // len(elements)

    def unpack(machine: ThreadMachine, lanes: Lanes) -> None:
        held = machine.threads.read(source, f"b{8 * whole}", lanes)
        for place, element in enumerate(elements):
            machine.threads.write(element, (held >> held.dtype.type(bits * place)).astype(f"u{bits // 8}"), lanes)
        if machine.threads.marks:
            marks = machine.marks_of([source], lanes)
            for element in elements:
                machine.mark(element, marks, lanes)

    return unpack


# ------------------------------------------------------------------------------------------- by opcode
Make = Callable[[Instruction, int], Step]


def _asynchronous(instruction: Instruction, number: int) -> Step:
    if instruction.has("bulk"):
        return bulk_copies.bulk(instruction, number)
    if {"commit_group", "wait_group", "wait_all"} & set(instruction.opcode):
        return _nothing
    return transfers.copy(instruction, number)


def _fence(instruction: Instruction, number: int) -> Step:
    if instruction.opcode[1:3] == ("proxy", "async"):
        return bulk_copies.proxy_fence(instruction, number)
    if instruction.has("mbarrier_init"):
        return bulk_copies.made_fence(instruction, number)
    if instruction.opcode[1:3] == ("proxy", "tensormap::generic"):
        return map_updates.acquire_map(instruction, number)
    return warps.nothing(instruction, number)


def _warpgroup(instruction: Instruction, number: int) -> Step:
    return warps.unknown_result(instruction, number) if instruction.has("mma_async") else _nothing


def _tensor_memory(instruction: Instruction, number: int) -> Step:
    if instruction.opcode[1] == "commit":
        return bulk_copies.tensor_commit(instruction, number)
    return warps.unknown_result(instruction, number) if instruction.opcode[1] == "ld" else _nothing


_MAKE: Final[dict[str, Make]] = {
    "ld": transfers.load, "st": transfers.store, "atom": transfers.atomic, "red": transfers.atomic,
    "cp": _asynchronous, "shfl": warps.shuffle, "redux": warps.reduction, "vote": warps.vote, "elect": warps.elect,
    "ldmatrix": warps.load_matrix, "stmatrix": warps.store_matrix, "mma": warps.multiply, "wgmma": _warpgroup,
    "tcgen05": _tensor_memory, "createpolicy": warps.zero, "fence": _fence,
    "tensormap": map_updates.copy_map,
    **dict.fromkeys(
        ("membar", "griddepcontrol", "prefetch", "prefetchu", "setmaxnreg", "bar", "barrier", "nanosleep",
         "call", "discard", "applypriority", "pmevent", "call"),
        warps.nothing,
    ),
}  # fmt: skip
_TOGETHER: Final = frozenset({"shfl", "redux", "vote", "elect", "ldmatrix", "stmatrix", "mma", "wgmma", "tensormap"})


def registers(operand: Operand) -> list[Register]:
    """All that stand in it."""
    if isinstance(operand, Vector):
        return [found for each in operand.elements if each is not None for found in registers(each)]
    return [operand] if isinstance(operand, Register) else []
