"""Instructions that the threads of a warp execute together: shuffles, votes, reductions, fragments of matrices.

They are given whole warps, in the order of their threads.  PTX ISA 9.4, sections 9.7.9.6, 9.7.13 and 9.7.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ..ptx.model import Instruction, Operand, Pair, PtxAddress, Register, Vector
from .machine import Step, ThreadMachine, Unfollowed
from .threads import RACY, UNKNOWN, WARP, Lanes
from .types import DTYPES, Array, from_bf16


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
