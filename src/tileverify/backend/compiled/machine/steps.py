"""What each instruction does, as a function of the machine and the threads that execute it together."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from ..ptx import Instruction, Operand, Pair, PtxAddress, PtxEntry, PtxSymbol, Register, Vector
from . import bulk_copies, transfers
from .computed import UnknownInstruction, rule_of
from .machine import Step, ThreadMachine, Unfollowed
from .storage import DTYPES, RACY, UNKNOWN, WARP, Array, Lanes, from_bf16, reader, width

# ---------------------------------------------------------------------------------------------------------------- warps
# Instructions that the threads of a warp execute together: shuffles, votes, reductions, fragments of matrices.
#
# They are given whole warps, in the order of their threads.  PTX ISA 9.4, sections 9.7.9.6, 9.7.13 and 9.7.15.


def _by_warp(values: Array) -> Array:
    return values.reshape(-1, WARP)


# ------------------------------------------------------------------------------------------- shuffles
def shuffle(instruction: Instruction, number: int) -> Step:
    target, source, b, c, *_ = instruction.operands
    first, inside = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    mode = instruction.opcode[2]

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        threads = machine.threads
        lane = threads.lane[lanes].astype("i8")
        by, limits = (threads.read(each, "u32", lanes).astype("i8") for each in (b, c))
        mask, end = (limits >> 8) & 31, limits & 31
        least = lane & mask
        most = least | (end & ~mask & 31)
        match mode:
            case "up":
                taken = lane - (by & 31)
                valid = taken >= most
            case "down":
                taken = lane + (by & 31)
                valid = taken <= most
            case "bfly":
                taken = lane ^ (by & 31)
                valid = taken <= most
            case _:
                taken = least | (by & ~mask & 31)
                valid = taken <= most
        taken = np.where(valid, taken, lane)
        held = _by_warp(np.broadcast_to(threads.read(source, "b32", lanes), lane.shape))
        machine.threads.write(first, np.take_along_axis(held, _by_warp(taken), 1).reshape(-1), lanes)
        marks = machine.marks_of([source], lanes)
        if marks is not None:
            marks = np.take_along_axis(_by_warp(marks), _by_warp(taken), 1).reshape(-1)
        others = machine.marks_of([b, c], lanes)
        machine.mark(first, marks if others is None else others if marks is None else marks | others, lanes)
        if inside is not None:
            machine.threads.write(inside, valid, lanes)
            machine.mark(inside, others, lanes)

    return step


_REDUCE: Final[dict[str, Callable[..., Array]]] = {
    "add": np.add.reduce, "min": np.minimum.reduce, "max": np.maximum.reduce, "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
}  # fmt: skip


def _together(machine: ThreadMachine, operands: list[Operand], lanes: Lanes) -> Array | None:
    """What any thread of a warp has marked, for all of them."""
    marks = machine.marks_of(operands, lanes)
    return None if marks is None else np.repeat(np.bitwise_or.reduce(_by_warp(marks), axis=1), WARP)


def reduction(instruction: Instruction, number: int) -> Step:
    target, source, *_ = instruction.operands
    reduce, type_ = _REDUCE[instruction.opcode[2]], instruction.type
    dtype = DTYPES[type_]

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        held = _by_warp(np.broadcast_to(machine.threads.read(source, type_, lanes), machine.numbers(lanes).shape))
        machine.threads.write(target, np.repeat(reduce(held, axis=1).astype(dtype), WARP), lanes)
        machine.mark(target, _together(machine, [source], lanes), lanes)

    return step


def vote(instruction: Instruction, number: int) -> Step:
    target, source, *_ = instruction.operands
    mode = instruction.opcode[2]

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        held = _by_warp(np.broadcast_to(machine.threads.read(source, "pred", lanes), machine.numbers(lanes).shape))
        match mode:
            case "all":
                found = held.all(1)
            case "any":
                found = held.any(1)
            case "uni":
                found = held.all(1) | ~held.any(1)
            case _:
                found = (held * (np.uint64(1) << np.arange(WARP, dtype="u8"))).sum(1, dtype="u8").astype("u4")
        machine.threads.write(target, np.repeat(found, WARP), lanes)
        machine.mark(target, _together(machine, [source], lanes), lanes)

    return step


def elect(instruction: Instruction, number: int) -> Step:
    """The first thread of a warp."""
    target = instruction.operands[0]
    lane, chosen = (target.first, target.second) if isinstance(target, Pair) else (None, target)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        if lane is not None:
            machine.threads.write(lane, np.zeros(len(machine.numbers(lanes)), "u4"), lanes)
        machine.threads.write(chosen, machine.threads.lane[lanes] == 0, lanes)

    return step


# ------------------------------------------------------------------------------------------- matrices
def _rows(machine: ThreadMachine, address: PtxAddress, lanes: Lanes, count: int) -> tuple[Array, Array]:
    """Threads, and places of 8 rows of 16 bytes for each of ``count`` matrices: [warps, count, 8]."""
    numbers = machine.numbers(lanes)
    addresses = machine.address(address, lanes, len(numbers)).reshape(-1, WARP)[:, : 8 * count]
    mine = numbers.reshape(-1, WARP)[:, : 8 * count]
    _, places = machine.places("shared", addresses.reshape(-1), 16, mine.reshape(-1))
    return mine.reshape(-1), places.reshape(-1, count, 8)


_ROW, _COLUMN = np.arange(WARP) // 4, 2 * (np.arange(WARP) % 4)


def load_matrix(instruction: Instruction, number: int) -> Step:
    """``ldmatrix`` of 8 by 8 elements of 16 bits."""
    target, address = instruction.operands
    if not (isinstance(target, Vector) and isinstance(address, PtxAddress)) or "m8n8" not in instruction.opcode:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    turned = instruction.has("trans")
    elements = target.elements

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers, places = _rows(machine, address, lanes, len(elements))
        machine.decides(instruction, number, machine.marks_of([address.base], lanes), lanes, "the address of a load")
        time = machine.logged(machine.shared, number, numbers, places.reshape(-1), 16, reads=True)
        racy = machine.racy.get(time, np.zeros(places.size, "u1")).reshape(places.shape) * np.uint8(RACY)
        held = machine.shared.bytes[places[..., None] + np.arange(16)].view("u2")  # [warps, matrices, 8, 8]
        marks = machine.shared.marks
        for place, element in enumerate(elements):
            matrix = held[:, place].transpose(0, 2, 1) if turned else held[:, place]
            low, high = matrix[:, _ROW, _COLUMN], matrix[:, _ROW, _COLUMN + 1]
            machine.threads.write(element, (low.astype("u4") | (high.astype("u4") << np.uint32(16))).reshape(-1), lanes)
            found = None
            if marks is not None:
                of_row = np.bitwise_or.reduce(marks[places[:, place][..., None] + np.arange(16)], axis=(1, 2))
                found = np.repeat(of_row, WARP)
            if racy[:, place].any():
                late = np.repeat(np.bitwise_or.reduce(racy[:, place], axis=1), WARP)
                found = late if found is None else found | late
            machine.mark(element, found, lanes)

    return step


def store_matrix(instruction: Instruction, number: int) -> Step:
    """``stmatrix``, the same the other way."""
    address, source = instruction.operands
    if not (isinstance(source, Vector) and isinstance(address, PtxAddress)) or "m8n8" not in instruction.opcode:
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    turned = instruction.has("trans")
    elements = [each for each in source.elements if each is not None]

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers, places = _rows(machine, address, lanes, len(elements))
        machine.decides(instruction, number, machine.marks_of([address.base], lanes), lanes, "the address of a store")
        whole = np.empty((*places.shape, 16), "u1")
        for place, element in enumerate(elements):
            held = _by_warp(machine.threads.read(element, "b32", lanes))
            matrix = np.empty((len(held), 8, 8), "u2")
            matrix[:, _ROW, _COLUMN] = held & np.uint32(0xFFFF)
            matrix[:, _ROW, _COLUMN + 1] = held >> np.uint32(16)
            matrix = matrix.transpose(0, 2, 1) if turned else matrix
            whole[:, place] = np.ascontiguousarray(matrix).view("u1")
            machine.shared.bytes[places[:, place][..., None] + np.arange(16)] = whole[:, place]
            marks = machine.marks_of([element], lanes)
            if marks is not None or machine.shared.marks is not None:
                of_warp = np.zeros(len(held), "u1") if marks is None else np.bitwise_or.reduce(_by_warp(marks), axis=1)
                machine.shared.mark(places[:, place].reshape(-1), 16, np.repeat(of_warp, 8))
        values = whole.reshape(-1, 16)
        machine.logged(machine.shared, number, numbers, places.reshape(-1), 16, writes=True, values=values)

    return step


def multiply(instruction: Instruction, number: int) -> Step:
    """``mma.sync``: m16n8k16 of f16 or bf16 with sums in f32; the result of others is not known."""
    target, a, b, c = instruction.operands[:4]
    kinds = instruction.opcode[-4:]
    known = "m16n8k16" in instruction.opcode and kinds[0] == kinds[3] == "f32" and kinds[1] in ("f16", "bf16")
    if not known:
        return unknown_result(instruction, number)
    assert all(isinstance(each, Vector) for each in (target, a, b, c))
    group, column = _ROW, _COLUMN

    def halves(held: Array) -> tuple[Array, Array]:
        parts = (held & np.uint32(0xFFFF)).astype("u2"), (held >> np.uint32(16)).astype("u2")
        low, high = (from_bf16(each) if kinds[1] == "bf16" else each.view("f2").astype("f4") for each in parts)
        return low, high

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        def held(operand: Operand, place: int, type_: str) -> Array:
            assert isinstance(operand, Vector)
            element = operand.elements[place]
            assert element is not None
            shape = machine.numbers(lanes).shape
            return _by_warp(np.broadcast_to(machine.threads.read(element, type_, lanes), shape))

        warps = len(machine.numbers(lanes)) // WARP
        left, right = np.empty((warps, 16, 16), "f4"), np.empty((warps, 16, 8), "f4")
        total = np.empty((warps, 16, 8), "f4")
        for place in range(4):
            rows, columns = group + 8 * (place % 2), column + 8 * (place // 2)
            left[:, rows, columns], left[:, rows, columns + 1] = halves(held(a, place, "b32"))
            total[:, group + 8 * (place // 2), column + place % 2] = held(c, place, "f32")
        for place in range(2):
            ks = column + 8 * place
            right[:, ks, group], right[:, ks + 1, group] = halves(held(b, place, "b32"))
        found = (left.astype("f8") @ right.astype("f8") + total).astype("f4")
        assert isinstance(target, Vector)
        every = [each for one in (a, b, c) if isinstance(one, Vector) for each in one.elements if each is not None]
        marks = _together(machine, every, lanes)
        for place, element in enumerate(target.elements):
            value = found[:, group + 8 * (place // 2), column + place % 2]
            machine.threads.write(element, value.reshape(-1), lanes)
            machine.mark(element, marks, lanes)

    return step


# ------------------------------------------------------------------------------------------- the rest
def unknown_result(instruction: Instruction, number: int) -> Step:
    """What is written into registers is not known; reading memory for it is not looked at either."""
    first = instruction.operands[0] if instruction.operands else None
    targets = first.elements if isinstance(first, Vector) else (first,)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        machine.skipped[instruction.name] += 1
        marks = np.full(len(machine.numbers(lanes)), UNKNOWN, "u1")
        for target in targets:
            if isinstance(target, Register):
                machine.threads.register(target.name)
                machine.mark(target, marks, lanes)

    return step


def nothing(instruction: Instruction, number: int) -> Step:
    return lambda machine, lanes: None


def zero(instruction: Instruction, number: int) -> Step:
    """A value that decides nothing, as of a cache policy."""
    target = instruction.operands[0]
    assert isinstance(target, Register)
    return lambda machine, lanes: machine.threads.write(target, np.zeros(1, "u8"), lanes)


# ---------------------------------------------------------------------------------------------------------------- steps


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
        return bulk_copies.acquire_map(instruction, number)
    return nothing(instruction, number)


def _warpgroup(instruction: Instruction, number: int) -> Step:
    return unknown_result(instruction, number) if instruction.has("mma_async") else _nothing


def _tensor_memory(instruction: Instruction, number: int) -> Step:
    if instruction.opcode[1] == "commit":
        return bulk_copies.tensor_commit(instruction, number)
    return unknown_result(instruction, number) if instruction.opcode[1] == "ld" else _nothing


_MAKE: Final[dict[str, Make]] = {
    "ld": transfers.load, "st": transfers.store, "atom": transfers.atomic, "red": transfers.atomic,
    "cp": _asynchronous, "shfl": shuffle, "redux": reduction, "vote": vote, "elect": elect,
    "ldmatrix": load_matrix, "stmatrix": store_matrix, "mma": multiply, "wgmma": _warpgroup,
    "tcgen05": _tensor_memory, "createpolicy": zero, "fence": _fence,
    "tensormap": bulk_copies.copy_map,
    **dict.fromkeys(
        ("membar", "griddepcontrol", "prefetch", "prefetchu", "setmaxnreg", "bar", "barrier", "nanosleep",
         "call", "discard", "applypriority", "pmevent", "call"),
        nothing,
    ),
}  # fmt: skip
_TOGETHER: Final = frozenset({"shfl", "redux", "vote", "elect", "ldmatrix", "stmatrix", "mma", "wgmma", "tensormap"})


def registers(operand: Operand) -> list[Register]:
    """All that stand in it."""
    if isinstance(operand, Vector):
        return [found for each in operand.elements if each is not None for found in registers(each)]
    return [operand] if isinstance(operand, Register) else []
