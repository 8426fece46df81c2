"""The x86-64 instructions of host code, executed one by one on memory of their own.

What tileiras emits to fill tensor maps calls nothing, reads the parameter block and its stack, and computes with
integers: 20 instructions (`mov add and lea sub shl shr imul cmp test jcc setcc` and such) in the 42 kernels of the
library that have such code.  So it is executed here, and not loaded into this process: that needs no x86-64 machine, no
process of its own and no time limit of the system, and it cannot touch anything.  An instruction that is not known, an
address outside the block and the stack, and too many steps end it with `HostFault`; then nothing is said of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

MOST_STEPS: Final = 100_000
_STACK, _STACK_BYTES = 0x7FFF_0000_0000, 1 << 16
_RETURN: Final = 0x7EEE_0000_0000
_BITS64: Final = (1 << 64) - 1
_RAX, _RCX, _RDX, _RSP, _RBP, _R12, _R13 = 0, 1, 2, 4, 5, 12, 13
_SHORT: Final = frozenset({4, 5, 6, 7})
"""Registers of 8 bits that are other ones (``ah``) without a REX prefix."""


class HostFault(Exception):
    """Host code does something that this machine does not know, or must not do."""


@dataclass(frozen=True, slots=True)
class _Place:
    """An operand in memory, or a register where ``register`` is not negative."""

    register: int
    address: int = 0


Flag = Callable[[], bool]
"""Computed when somebody asks, as arguments that are no numbers (`host_terms`) decide no jump."""


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass
class HostMachine:
    """``code``: of one section; ``memory``: runs of bytes by their addresses, which the code may read and write."""

    code: bytes
    memory: Mapping[int, bytearray]
    registers: list[int] = field(default_factory=lambda: [0xBAD0_BAD0_BAD0_0000 + number for number in range(16)])
    at: int = 0
    rex: int = 0
    narrow: bool = False
    result: int = 0
    """Of the last instruction that set flags: the zero and the sign flag are read off it."""
    result_bits: int = 32
    carry: Flag = field(default=lambda: False)
    overflow: Flag = field(default=lambda: False)

    def call(self, at: int, arguments: Mapping[int, int]) -> int:
        """Runs from ``at`` until it returns; what ``eax`` holds then.  ``arguments``: by the numbers of registers."""
        self.memory = {**self.memory, _STACK - _STACK_BYTES: bytearray(_STACK_BYTES)}
        for register, value in arguments.items():
            self.registers[register] = value
        self.registers[_RSP] = _STACK - 256
        self.push(_RETURN)
        self.at = at
        for _ in range(MOST_STEPS):
            self.step()
            if self.at == _RETURN:
                return self.registers[_RAX] & 0xFFFF_FFFF
        raise HostFault(f"host code takes more than {MOST_STEPS} steps")

    # --------------------------------------------------------------------------------------- memory
    def _run(self, address: int, size: int) -> tuple[bytearray, int]:
        for start, data in self.memory.items():
            if start <= address <= start + len(data) - size:
                return data, address - start
        raise HostFault(f"host code reaches {size} bytes at {address:#x}, which are not its own")

    def load(self, address: int, size: int) -> int:
        data, offset = self._run(address & _BITS64, size)
        return int.from_bytes(data[offset : offset + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        data, offset = self._run(address & _BITS64, size)
        data[offset : offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def push(self, value: int) -> None:
        self.registers[_RSP] -= 8
        self.store(self.registers[_RSP], 8, value)

    def pop(self) -> int:
        self.registers[_RSP] += 8
        return self.load(self.registers[_RSP] - 8, 8)

    # --------------------------------------------------------------------------------------- decoding
    def take(self, size: int, *, signed: bool = False) -> int:
        raw = self.code[self.at : self.at + size]
        if len(raw) < size:
            raise HostFault("host code runs past its end")
        self.at += size
        return int.from_bytes(raw, "little", signed=signed)

    @property
    def size(self) -> int:
        """Of the operands, in bytes, but for those of 8 bits."""
        return 8 if self.rex & 8 else 2 if self.narrow else 4

    def operand(self) -> tuple[_Place, int]:
        """The operand that a ModRM byte names, and the number in its middle."""
        byte = self.take(1)
        mode, middle, low = byte >> 6, (byte >> 3 & 7) | (self.rex & 4) << 1, byte & 7
        if mode == 3:
            return _Place(low | (self.rex & 1) << 3), middle
        if low == 4:
            address = self._scaled(mode)
        elif low == 5 and mode == 0:
            raise HostFault("host code reads memory beside its code")
        else:
            address = self.registers[low | (self.rex & 1) << 3]
        if mode:
            address += self.take(1 if mode == 1 else 4, signed=True)
        return _Place(-1, address & _BITS64), middle

    def _scaled(self, mode: int) -> int:
        byte = self.take(1)
        index, base = (byte >> 3 & 7) | (self.rex & 2) << 2, byte & 7
        scaled = 0 if index == _RSP else self.registers[index] << (byte >> 6)
        if base == _RBP and mode == 0:
            return scaled + self.take(4, signed=True)
        return scaled + self.registers[base | (self.rex & 1) << 3]

    def read(self, place: _Place, size: int) -> int:
        if place.register < 0:
            return self.load(place.address, size)
        if size == 1 and not self.rex and place.register in _SHORT:
            return self.registers[place.register - 4] >> 8 & 0xFF
        return self.registers[place.register] & ((1 << 8 * size) - 1)

    def write(self, place: _Place, size: int, value: int) -> None:
        """A register's upper half becomes zero where its lower one is written, and stays for less."""
        if place.register < 0:
            self.store(place.address, size, value)
            return
        number, shift = place.register, 0
        if size == 1 and not self.rex and number in _SHORT:
            number, shift = number - 4, 8
        mask = (1 << 8 * size) - 1
        kept = 0 if size >= 4 else self.registers[number] & ~(mask << shift)
        self.registers[number] = (kept | (value & mask) << shift) & _BITS64

    def step(self) -> None:
        self.rex, self.narrow = 0, False
        start, opcode = self.at, self.take(1)
        while opcode in (0x66, 0x2E):
            self.narrow = self.narrow or opcode == 0x66
            opcode = self.take(1)
        if opcode & 0xF0 == 0x40:
            self.rex, opcode = opcode | 0x100, self.take(1)
        if opcode == 0x0F:
            opcode = 0x0F00 | self.take(1)
        does = _DOES.get(opcode)
        if does is None:
            raise HostFault(f"host code has an instruction that is not known: {self.code[start : self.at].hex(' ')}")
        does(self, opcode)

    # --------------------------------------------------------------------------------------- flags
    def flags(self, result: int, size: int, *, carry: Flag = lambda: False, overflow: Flag = lambda: False) -> int:
        self.result_bits = 8 * size
        self.result = result & ((1 << self.result_bits) - 1)
        self.carry, self.overflow = carry, overflow
        return self.result

    def _less(self) -> bool:
        return bool(self.result >> (self.result_bits - 1)) != self.overflow()

    def holds(self, condition: int) -> bool:
        """Of ``jcc``, ``setcc`` and ``cmovcc``."""
        match condition >> 1:
            case 0:
                found = self.overflow()
            case 1:
                found = self.carry()
            case 2:
                found = bool(self.result == 0)
            case 3:
                found = self.carry() or bool(self.result == 0)
            case 4:
                found = bool(self.result >> (self.result_bits - 1))
            case 6:
                found = self._less()
            case 7:
                found = bool(self.result == 0) or self._less()
            case _:
                raise HostFault("host code asks for a parity")
        return found != bool(condition & 1)

    def one_if(self, condition: int) -> int:
        """1 where the condition holds, and 0 otherwise."""
        return int(self.holds(condition))

    def signed(self, value: int, bits: int) -> int:
        """``bits`` of a value with their sign."""
        return _signed(value, bits)

    def sum(self, a: int, b: int, size: int) -> int:
        bits = 8 * size

        def overflow() -> bool:
            return _signed(a, bits) + _signed(b, bits) != _signed(a + b, bits)

        return self.flags(a + b, size, carry=lambda: bool(a + b >> bits > 0), overflow=overflow)

    def difference(self, a: int, b: int, size: int) -> int:
        bits = 8 * size

        def overflow() -> bool:
            return _signed(a, bits) - _signed(b, bits) != _signed(a - b, bits)

        return self.flags(a - b, size, carry=lambda: bool(a < b), overflow=overflow)


# ------------------------------------------------------------------------------------------- instructions
Does = Callable[[HostMachine, int], None]
Combine = Callable[[HostMachine, int, int, int], int]

_ALU: Final[dict[int, Combine]] = {
    0: HostMachine.sum,
    1: lambda machine, a, b, size: machine.flags(a | b, size),
    4: lambda machine, a, b, size: machine.flags(a & b, size),
    5: HostMachine.difference,
    6: lambda machine, a, b, size: machine.flags(a ^ b, size),
    7: HostMachine.difference,
}
_COMPARES: Final = 7


def _width(machine: HostMachine, opcode: int) -> int:
    return machine.size if opcode & 1 else 1


def _two(machine: HostMachine, opcode: int) -> None:
    """``add r/m, r`` and the like, in both directions."""
    size, kind = _width(machine, opcode), opcode >> 3
    place, number = machine.operand()
    target, source = (_Place(number), place) if opcode & 2 else (place, _Place(number))
    found = _ALU[kind](machine, machine.read(target, size), machine.read(source, size), size)
    if kind != _COMPARES:
        machine.write(target, size, found)


def _with_rax(machine: HostMachine, opcode: int) -> None:
    size, kind = _width(machine, opcode), opcode >> 3
    value = machine.take(min(size, 4), signed=True) & ((1 << 8 * size) - 1)
    found = _ALU[kind](machine, machine.read(_Place(_RAX), size), value, size)
    if kind != _COMPARES:
        machine.write(_Place(_RAX), size, found)


def _with_number(machine: HostMachine, opcode: int) -> None:
    size = _width(machine, opcode)
    place, number = machine.operand()
    value = machine.take(1 if opcode in (0x80, 0x83) else min(size, 4), signed=True) & ((1 << 8 * size) - 1)
    combine = _ALU.get(number & 7)
    if combine is None:
        raise HostFault("host code adds with carry")
    found = combine(machine, machine.read(place, size), value, size)
    if number & 7 != _COMPARES:
        machine.write(place, size, found)


def _move(machine: HostMachine, opcode: int) -> None:
    size = _width(machine, opcode)
    place, number = machine.operand()
    target, source = (_Place(number), place) if opcode & 2 else (place, _Place(number))
    machine.write(target, size, machine.read(source, size))


def _move_number(machine: HostMachine, opcode: int) -> None:
    size = _width(machine, opcode)
    place, _ = machine.operand()
    machine.write(place, size, machine.take(min(size, 4), signed=True))


def _register_of(machine: HostMachine, opcode: int) -> _Place:
    return _Place(opcode & 7 | (machine.rex & 1) << 3)


def _set_register(machine: HostMachine, opcode: int) -> None:
    size = 1 if opcode < 0xB8 else machine.size
    machine.write(_register_of(machine, opcode), size, machine.take(size))


def _address(machine: HostMachine, opcode: int) -> None:
    place, number = machine.operand()
    machine.write(_Place(number), machine.size, place.address)


def _test(machine: HostMachine, opcode: int) -> None:
    size = _width(machine, opcode)
    place, number = machine.operand()
    machine.flags(machine.read(place, size) & machine.read(_Place(number), size), size)


def _exchange(machine: HostMachine, opcode: int) -> None:
    size = _width(machine, opcode)
    place, number = machine.operand()
    one, other = machine.read(place, size), machine.read(_Place(number), size)
    machine.write(place, size, other)
    machine.write(_Place(number), size, one)


def _distance(machine: HostMachine, opcode: int) -> int:
    if opcode < 0xD0:
        return machine.take(1)
    return 1 if opcode < 0xD2 else machine.registers[_RCX]


def _shift(machine: HostMachine, opcode: int) -> None:
    size = _width(machine, opcode)
    place, kind = machine.operand()
    by = _distance(machine, opcode) & (63 if size == 8 else 31)
    value = machine.read(place, size)
    match kind & 7:
        case 4 | 6:
            found = value << by
        case 5:
            found = value >> by
        case 7:
            found = machine.signed(value, 8 * size) >> by
        case _:
            raise HostFault("host code rotates")
    if by:
        machine.write(place, size, machine.flags(found, size))


def _product(machine: HostMachine, opcode: int) -> None:
    """``imul`` with two operands, or with a number; its flags are not computed further."""
    size = machine.size
    place, number = machine.operand()
    other = _Place(number)
    if opcode == 0x0FAF:
        factor = machine.read(other, size)
    else:
        factor = machine.take(1 if opcode == 0x6B else min(size, 4), signed=True)
    machine.write(other, size, machine.flags(machine.read(place, size) * factor, size))


def _group3(machine: HostMachine, opcode: int) -> None:
    size = _width(machine, opcode)
    place, kind = machine.operand()
    value = machine.read(place, size)
    match kind & 7:
        case 0 | 1:
            machine.flags(value & machine.take(min(size, 4), signed=True), size)
        case 2:
            machine.write(place, size, ~value)
        case 3:
            machine.write(place, size, machine.difference(0, value, size))
        case _:
            raise HostFault("host code multiplies or divides into two registers")


def _count(machine: HostMachine, opcode: int) -> None:
    """``inc`` and ``dec``, which leave the carry."""
    size = _width(machine, opcode)
    place, kind = machine.operand()
    if kind & 7 > 1:
        raise HostFault("host code calls what is not in it")
    carry, value = machine.carry, machine.read(place, size)
    machine.write(place, size, machine.difference(value, 1, size) if kind & 1 else machine.sum(value, 1, size))
    machine.carry = carry


def _jump(machine: HostMachine, opcode: int) -> None:
    near = opcode in (0xE9,) or opcode >> 8 == 0x0F
    by = machine.take(4 if near else 1, signed=True)
    if opcode in (0xE9, 0xEB) or machine.holds(opcode & 15):
        machine.at += by


def _set_if(machine: HostMachine, opcode: int) -> None:
    place, _ = machine.operand()
    machine.write(place, 1, machine.one_if(opcode & 15))


def _move_if(machine: HostMachine, opcode: int) -> None:
    place, number = machine.operand()
    value = machine.read(place if machine.holds(opcode & 15) else _Place(number), machine.size)
    machine.write(_Place(number), machine.size, value)


def _widened(machine: HostMachine, opcode: int) -> None:
    """``movzx`` and ``movsx``."""
    place, number = machine.operand()
    size = 4 if opcode == 0x63 else 2 if opcode & 1 else 1
    value = machine.read(place, size)
    machine.write(
        _Place(number), machine.size, value if opcode in (0x0FB6, 0x0FB7) else machine.signed(value, 8 * size)
    )


def _push(machine: HostMachine, opcode: int) -> None:
    machine.push(machine.registers[_register_of(machine, opcode).register])


def _pop(machine: HostMachine, opcode: int) -> None:
    machine.registers[_register_of(machine, opcode).register] = machine.pop()


def _return(machine: HostMachine, opcode: int) -> None:
    machine.at = machine.pop()


def _skip(machine: HostMachine, opcode: int) -> None:
    if opcode == 0x0F1F:
        machine.operand()


_DOES: Final[dict[int, Does]] = {
    **{kind << 3 | low: _two for kind in _ALU for low in range(4)},
    **{kind << 3 | low: _with_rax for kind in _ALU for low in (4, 5)},
    **dict.fromkeys(range(0x50, 0x58), _push), **dict.fromkeys(range(0x58, 0x60), _pop),
    **dict.fromkeys((0x63, 0x0FB6, 0x0FB7, 0x0FBE, 0x0FBF), _widened), **dict.fromkeys((0x69, 0x6B, 0x0FAF), _product),
    **dict.fromkeys((*range(0x70, 0x80), *range(0x0F80, 0x0F90), 0xE9, 0xEB), _jump),
    **dict.fromkeys((0x80, 0x81, 0x83), _with_number), 0x84: _test, 0x85: _test, 0x86: _exchange, 0x87: _exchange,
    **dict.fromkeys(range(0x88, 0x8C), _move), 0x8D: _address, 0x90: _skip, 0x0F1F: _skip,
    **dict.fromkeys(range(0xB0, 0xC0), _set_register), 0xC6: _move_number, 0xC7: _move_number,
    **dict.fromkeys((0xC0, 0xC1, 0xD0, 0xD1, 0xD2, 0xD3), _shift), 0xC3: _return, 0xF6: _group3, 0xF7: _group3,
    0xFE: _count, 0xFF: _count, **dict.fromkeys(range(0x0F40, 0x0F50), _move_if),
    **dict.fromkeys(range(0x0F90, 0x0FA0), _set_if),
}  # fmt: skip
