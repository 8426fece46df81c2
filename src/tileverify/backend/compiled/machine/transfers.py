"""Instructions that move data: loads, stores, atomics, asynchronous copies.  PTX ISA 9.4, section 9.7.9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ..ptx import Immediate, Instruction, Operand, PtxAddress, PtxSymbol, Register, Vector
from .machine import Step, ThreadMachine, Unfollowed
from .storage import DTYPES, RACY, Array, Lanes, from_bf16, to_bf16, width

_ORDERED: Final = frozenset({"relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "sc"})


def space_of(instruction: Instruction) -> str:
    for part in instruction.opcode[1:]:
        name = part.partition("::")[0]
        if name in ("global", "shared", "local", "param", "const"):
            return name
    return "generic"


def is_scoped(instruction: Instruction) -> bool:
    return not _ORDERED.isdisjoint(instruction.opcode)


def _elements(operand: Operand) -> tuple[Operand | None, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _address_marks(machine: ThreadMachine, address: PtxAddress, lanes: Lanes) -> Array | None:
    return machine.marks_of([address.base], lanes)


# ------------------------------------------------------------------------------------------- loads, stores
def load(instruction: Instruction, number: int) -> Step:
    space = space_of(instruction)
    if space == "param":
        return _parameter(instruction)
    target, address = instruction.operands[:2]
    assert isinstance(address, PtxAddress)
    elements, type_, scoped = _elements(target), instruction.type, is_scoped(instruction)
    dtype = DTYPES["b16" if type_ == "bf16" else type_]
    whole = dtype.itemsize * len(elements)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        machine.decides(instruction, number, _address_marks(machine, address, lanes), lanes, "the address of a load")
        addresses = machine.address(address, lanes, len(numbers))
        memory, places = machine.places(space, addresses, whole, numbers)
        time = machine.logged(memory, number, numbers, places, whole, reads=True, scoped=scoped)
        racy = machine.racy.get(time)
        for place, element in enumerate(elements):
            machine.threads.write(element, memory.read(places + place * dtype.itemsize, dtype), lanes)
            marks = memory.marked(places + place * dtype.itemsize, dtype.itemsize)
            if racy is not None:
                marks = racy * np.uint8(RACY) if marks is None else marks | racy * np.uint8(RACY)
            machine.mark(element, marks, lanes)

    return step


def _parameter(instruction: Instruction) -> Step:
    target, address = instruction.operands
    assert isinstance(address, PtxAddress)
    assert isinstance(address.base, PtxSymbol)
    name, start = address.base.name, address.offset
    dtype = DTYPES[instruction.type]
    elements = _elements(target)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        data = machine.parameters.get(name)
        if data is None:
            raise Unfollowed("a parameter is read that host code fills", instruction)
        for place, element in enumerate(elements):
            value = np.frombuffer(data, dtype, 1, start + place * dtype.itemsize)
            machine.threads.write(element, value, lanes)
            machine.mark(element, None, lanes)

    return step


def store(instruction: Instruction, number: int) -> Step:
    space = space_of(instruction)
    if space == "param":
        return lambda machine, lanes: None  # of a call, which only prints
    address, source = instruction.operands[:2]
    assert isinstance(address, PtxAddress)
    elements, scoped = _elements(source), is_scoped(instruction)
    type_ = "b16" if instruction.type == "bf16" else instruction.type
    size = width(type_)
    whole = size * len(elements)

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        machine.decides(instruction, number, _address_marks(machine, address, lanes), lanes, "the address of a store")
        addresses = machine.address(address, lanes, len(numbers))
        memory, places = machine.places(space, addresses, whole, numbers)
        raw = np.empty((len(numbers), whole), "u1")
        for place, element in enumerate(elements):
            assert element is not None
            value = np.broadcast_to(machine.threads.read(element, type_, lanes), (len(numbers),))
            memory.write(places + place * size, value)
            raw[:, place * size : (place + 1) * size] = np.ascontiguousarray(value)[:, None].view("u1")
            marks = machine.marks_of([element], lanes)
            if memory is machine.memory:
                racy = None if marks is None else marks & RACY
                machine.decides(instruction, number, racy, lanes, "what is stored")
            if marks is not None or memory.marks is not None:
                memory.mark(places + place * size, size, marks)
        machine.logged(memory, number, numbers, places, whole, writes=True, scoped=scoped, values=raw)

    return step


# ------------------------------------------------------------------------------------------- atomics
def _wrapped_up(old: int, given: int) -> int:
    return 0 if old >= given else old + 1


def _wrapped_down(old: int, given: int) -> int:
    return given if old == 0 or old > given else old - 1


COMBINE: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "exch": lambda old, new: new,
}  # fmt: skip


def _of_place(places: Array, marks: Array) -> Array:
    """The marks of all threads that update a place together, for each of them."""
    unique, which = np.unique(places, return_inverse=True)
    joined = np.zeros(len(unique), marks.dtype)
    np.bitwise_or.at(joined, which, marks)
    return np.asarray(joined[which])


def atomic(instruction: Instruction, number: int) -> Step:
    """``atom`` and ``red``, one thread after another."""
    returns = instruction.opcode[0] == "atom"
    target = instruction.operands[0] if returns else None
    address, *given = instruction.operands[1:] if returns else instruction.operands
    assert isinstance(address, PtxAddress)
    space, type_ = space_of(instruction), instruction.type
    kind = next((part for part in instruction.opcode[1:] if part in COMBINE or part in ("cas", "inc", "dec")), None)
    if kind is None or isinstance(target, Vector) or (type_ not in DTYPES and type_ != "bf16"):
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    bf16 = type_ == "bf16"
    type_ = "b16" if bf16 else type_
    dtype = DTYPES[type_]

    def combined(old: Array, *values: Array) -> Array:
        if kind == "cas":
            return values[1] if old == values[0] else old
        if kind == "inc":
            return np.asarray(_wrapped_up(int(old), int(values[0])), dtype)
        if kind == "dec":
            return np.asarray(_wrapped_down(int(old), int(values[0])), dtype)
        if bf16 and kind != "exch":
            return to_bf16(COMBINE[kind](from_bf16(np.asarray(old)), from_bf16(np.asarray(values[0]))))
        return COMBINE[kind](old, values[0])

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        machine.decides(instruction, number, _address_marks(machine, address, lanes), lanes, "the address of an atomic")
        addresses = machine.address(address, lanes, len(numbers))
        memory, places = machine.places(space, addresses, dtype.itemsize, numbers)
        marks = machine.marks_of(given, lanes)
        if memory is machine.memory:
            racy = None if marks is None else marks & RACY
            machine.decides(instruction, number, racy, lanes, "what an atomic adds")
        values = [np.broadcast_to(machine.threads.read(each, type_, lanes), (len(numbers),)) for each in given]
        olds = np.empty(len(numbers), dtype)
        for thread in range(len(numbers)):
            at = places[thread : thread + 1]
            olds[thread] = memory.read(at, dtype)[0]
            memory.write(at, np.asarray([combined(olds[thread], *(each[thread] for each in values))], dtype))
        before = memory.marked(places, dtype.itemsize)
        if marks is not None or before is not None:
            none = np.zeros(len(places), "u1")
            before = _of_place(places, (none if marks is None else marks) | (none if before is None else before))
            memory.mark(places, dtype.itemsize, before)
        if returns:
            machine.threads.write(target, olds, lanes)
            machine.mark(target, before, lanes)
        machine.logged(
            memory, number, numbers, places, dtype.itemsize, reads=True, writes=True, atomic=True, scoped=True
        )  # fmt: skip

    return step


# ------------------------------------------------------------------------------------------- copies
def copy(instruction: Instruction, number: int) -> Step:
    """``cp.async`` to shared memory: done at once; who waits for it is somebody else's matter (`steps`)."""
    target, source, size, *rest = instruction.operands
    if not isinstance(target, PtxAddress) or not isinstance(source, PtxAddress) or not isinstance(size, Immediate):
        raise Unfollowed(f"{instruction.name} is not known", instruction)
    given = rest[0] if rest and isinstance(rest[0], Register | Immediate) else None

    def step(machine: ThreadMachine, lanes: Lanes) -> None:
        numbers = machine.numbers(lanes)
        for address in (target, source):
            machine.decides(
                instruction, number, _address_marks(machine, address, lanes), lanes, "the address of a copy"
            )
        count = np.full(len(numbers), size.bits)
        if given is not None:
            count = np.broadcast_to(machine.threads.read(given, "u32", lanes), (len(numbers),)).astype("i8")
        memory, places = machine.places("shared", machine.address(target, lanes, len(numbers)), size.bits, numbers)
        addresses = machine.address(source, lanes, len(numbers))
        data = np.zeros((len(numbers), size.bits), "u1")
        for bytes_ in np.unique(count):
            some = np.flatnonzero(count == bytes_)
            if bytes_:
                _, found = machine.places("global", addresses[some], int(bytes_), numbers[some])
                data[some, :bytes_] = machine.memory.bytes[found[:, None] + np.arange(bytes_)]
                machine.logged(machine.memory, number, numbers[some], found, int(bytes_), reads=True)
        memory.bytes[places[:, None] + np.arange(size.bits)] = data
        machine.logged(memory, number, numbers, places, size.bits, writes=True, values=data)

    return step
