"""A module of PTX: entries, their parameters and shared memory, and instructions with operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Register:
    """``%r1``, or a special register: ``%tid.x``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class PtxSymbol:
    """A label, a parameter or a variable."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Immediate:
    """``bits``: two's complement of an integer, or the bits of a float; ``floating`` is 32 or 64 for those."""

    bits: int
    floating: int = 0

    def __str__(self) -> str:
        return f"0f{self.bits:08X}" if self.floating else str(self.bits)


@dataclass(frozen=True, slots=True)
class Negated:
    """``!%p1``."""

    register: Register


@dataclass(frozen=True, slots=True)
class Pair:
    """``%p1|%p2``: two results."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Vector:
    """``{%r1, %r2}``; ``None`` where a result is thrown away (``_``)."""

    elements: tuple[Operand | None, ...]


@dataclass(frozen=True, slots=True)
class PtxAddress:
    """``[%rd1+8]``; ``coordinates``: of a tensor map, ``[%rd1, {%r1, %r2}]``."""

    base: Register | PtxSymbol | Immediate
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


Operand: TypeAlias = Register | PtxSymbol | Immediate | Negated | Pair | Vector | PtxAddress


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """``opcode`` in its parts: ``("ld", "global", "b32")``.  It is executed where ``guard`` holds (``negated``: where
    it does not).  ``line``: of the text, from 1."""

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    guard: Register | None = None
    negated: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.opcode)

    @property
    def type(self) -> str:
        """The last part of the opcode: ``b32``."""
        return self.opcode[-1]

    def has(self, part: str) -> bool:
        return part in self.opcode

    @property
    def touches_global(self) -> bool:
        """Whether it loads, stores, updates or copies, and names global memory."""
        return self.opcode[0] in ("ld", "st", "atom", "red", "cp") and "global" in self.opcode


@dataclass(frozen=True, slots=True)
class Parameter:
    """``size``: bytes.  ``hidden``: filled by host code of the assembler, no parameter of the bytecode's entry."""

    name: str
    size: int
    hidden: bool
    align: int


@dataclass(frozen=True, slots=True)
class Variable:
    """``space``: ``shared``, ``local``, ``global`` or ``const``.  ``size``: bytes, 0 for extern shared memory."""

    name: str
    space: str
    size: int
    align: int
    data: bytes = b""


@dataclass(frozen=True, eq=False)
class PtxEntry:
    """A kernel.  ``labels``: the number of the instruction that each stands before.

    ``registers``: the type of each declared name, or of all names that begin with a declared prefix (``%r``).
    """

    name: str
    parameters: tuple[Parameter, ...]
    threads: int
    cluster: int
    variables: tuple[Variable, ...]
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    registers: Mapping[str, str]

    def type_of(self, register: str) -> str:
        """``b32``, ``pred``; raises `KeyError` for a name that nobody declared."""
        found = self.registers.get(register)
        return self.registers[register.rstrip("0123456789")] if found is None else found

    @cached_property
    def targets(self) -> frozenset[int]:
        """The numbers of instructions that labels stand before."""
        return frozenset(self.labels.values())


@dataclass(frozen=True)
class PtxModule:
    """``version`` of the ISA and ``target`` as the text has them: ``9.4``, ``sm_90a``."""

    version: str
    target: str
    variables: tuple[Variable, ...]
    entries: tuple[PtxEntry, ...]

    def entry(self, name: str) -> PtxEntry:
        return next(each for each in self.entries if each.name == name)

    def instructions(self) -> Iterator[Instruction]:
        for entry in self.entries:
            yield from entry.instructions
