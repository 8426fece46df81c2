"""PTX as data: a module of entries, parameters and instructions, and the reader that makes it of text.  PTX ISA 9.x."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Final, TypeAlias

from ...system.errors import TileVerifyError

# ---------------------------------------------------------------------------------------------------------------- model
# A module of PTX: entries, their parameters and shared memory, and instructions with operands.


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
    """A kernel.  ``labels``: the number of the instruction that each stands before.  ``block_memory``: bytes of global
    memory that each block has for itself (``.minperctamemory``).

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
    block_memory: int = 0

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


# ----------------------------------------------------------------------------------------------------------- ptx reader
# PTX text to a `PtxModule`.
#
#     module      ::= directive* (variable | entry)*
#     entry       ::= ".entry" name "(" parameter,* ")" directive* "{" statement* "}"
#     statement   ::= variable ";" | label ":" | guard? opcode operand,* ";" | "{" statement* "}"
#
# Names of an inner scope (inline assembly has such) are the outer ones' where they are alike: tileiras assigns before
# it reads in each of them.


class PtxError(TileVerifyError):
    """Text that is no PTX, or that this reader does not know."""


_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_ENTRY: Final = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{;]*)\{")
_PARAMETER: Final = re.compile(
    r"(?P<hidden>\.hidden)?\s*\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s*"
    r"(?:\.ptr(?:\s+\.\w+)*(?:\s+\.align\s+\d+)?)?\s*(?P<name>[\w$]+)\s*(?:\[(?P<count>\d+)\])?\s*$"
)
_VARIABLE: Final = re.compile(
    r"\.(?P<space>shared|local|global|const)\s+(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s+)?"
    r"\.(?P<type>\w+)\s+(?P<name>[\w$]+)\s*(?:\[(?P<count>\d*)\])?\s*(?:=\s*(?P<value>.*))?$",
    re.DOTALL,
)
_GUARD: Final = re.compile(r"@(!?)([%\w$.]+)\s+")
_LABEL: Final = re.compile(r"\s*([$\w]+):(?!:)")
_OPCODE: Final = re.compile(r"[\w.:]+")
_OFFSET: Final = re.compile(r"^([%$\w.]+)\s*\+?\s*(-?\w+)?$")
_FLOAT: Final = {"f": 32, "d": 64}
_REGISTERS: Final = re.compile(r"\.reg\s+\.(\w+)\s+(.*)$", re.DOTALL)
_DIRECTIVES: Final = frozenset({".param", ".pragma", ".loc", ".branchtargets", ".callprototype"})


@lru_cache(maxsize=2)
def read(text: str) -> PtxModule:
    """Raises `PtxError` for what is no PTX of the kind that tileiras writes."""
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    version, target = re.search(r"\.version\s+(\S+)", text), re.search(r"\.target\s+([\w]+)", text)
    if version is None or target is None:
        raise PtxError("the text has no .version and .target, so it is no PTX")
    entries, outside, place = [], [], 0
    for found in _ENTRY.finditer(text):
        outside.append(text[place : found.start()])
        place = _matching(text, found.end() - 1)
        line = text.count("\n", 0, found.end()) + 1
        entries.append(_entry(found, text[found.end() : place - 1], line))
    outside.append(text[place:])
    variables = [variable for part in outside for variable in _module_variables(part)]
    return PtxModule(version[1], target[1], tuple(variables), tuple(entries))


def _matching(text: str, start: int) -> int:
    """Behind the brace that closes the one at ``start``."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.end()
    raise PtxError("a brace is not closed")


def _module_variables(text: str) -> list[Variable]:
    found = []
    for statement in text.split(";"):
        start = re.search(r"\.(?:global|const|shared)\b", statement)
        if start is not None and (variable := _variable(statement[start.start() :].strip())) is not None:
            found.append(variable)
    return found


def _variable(text: str) -> Variable | None:
    found = _VARIABLE.match(text)
    if found is None:
        return None
    width = _bits(found["type"]) // 8
    count = 1 if found["count"] is None else int(found["count"] or 0)
    data = b""
    if found["value"]:
        numbers = [int(each, 0) for each in re.findall(r"-?\w+", found["value"])]
        data = b"".join((number & ((1 << 8 * width) - 1)).to_bytes(width, "little") for number in numbers)
    return Variable(found["name"], found["space"], width * count, int(found["align"] or width), data)


def _bits(type_: str) -> int:
    digits = re.search(r"\d+$", type_)
    if digits is None:
        raise PtxError(f"the type .{type_} has no width")
    return int(digits[0])


def _entry(found: re.Match[str], body: str, line: int) -> PtxEntry:
    parameters = tuple(_parameter(text) for text in found[2].split(",") if text.strip())
    directives = found[3]
    threads = [int(each) for each in re.findall(r"\d+", _directive(directives, "reqntid") or "")]
    cluster = [int(each) for each in re.findall(r"\d+", _directive(directives, "reqnctapercluster") or "1")]
    if not threads:
        raise PtxError(f"{found[1]} does not say how many threads a block has (.reqntid)")
    if prod(threads[1:]) != 1 or prod(cluster[1:]) != 1:
        raise PtxError(f"{found[1]} has threads or clusters in several directions, which this reader does not know")
    variables: list[Variable] = []
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    registers: dict[str, str] = {}
    for statement, at in _statements(body, line):
        rest, at = statement, at
        while (label := _LABEL.match(rest)) is not None:
            labels[label[1]] = len(instructions)
            rest = rest[label.end() :]
        rest = rest.strip()
        if not rest:
            continue
        if rest.startswith("."):
            if (declared := _REGISTERS.match(rest)) is not None:
                for name in declared[2].split(","):
                    registers[re.sub(r"<\d+>", "", name).strip()] = declared[1]
                continue
            if rest.split(None, 1)[0] in _DIRECTIVES:
                continue
            if (variable := _variable(rest)) is not None:
                variables.append(variable)
                continue
            raise PtxError(f"line {at}: the directive '{rest.split(None, 1)[0]}' is not known")
        instructions.append(_instruction(rest, at, registers))
    return PtxEntry(
        found[1], parameters, threads[0], prod(cluster), tuple(variables), tuple(instructions), labels, registers,
        int(_directive(directives, "minperctamemory") or 0),
    )  # fmt: skip


def _directive(text: str, name: str) -> str | None:
    found = re.search(rf"\.{name}\s+([\d, ]+)", text)
    return None if found is None else found[1]


def _parameter(text: str) -> Parameter:
    found = _PARAMETER.match(text.strip())
    if found is None:
        raise PtxError(f"the parameter '{text.strip()}' is not understood")
    width = _bits(found["type"]) // 8
    count = int(found["count"] or 1)
    return Parameter(found["name"], width * count, found["hidden"] is not None, int(found["align"] or width))


_BORDER: Final = re.compile(r"[;{}\n]")


def _statements(body: str, line: int) -> list[tuple[str, int]]:
    """With the line in which each ends its first word.  Braces are scopes where a statement may begin."""
    found = []
    start, at, depth, first = 0, line, 0, line
    for border in _BORDER.finditer(body):
        place, mark = border.start(), border[0]
        if mark == "\n":
            at += 1
            if not body[start:place].strip():
                start, first = place, at
        elif mark == ";":
            found.append((body[start:place], first))
            start, first = place + 1, at
        elif depth or not _begins(body[start:place]):
            depth += 1 if mark == "{" else -1
        else:
            if body[start:place].strip():
                found.append((body[start:place], first))  # labels before a scope
            start, first = place + 1, at
    if body[start:].strip():
        found.append((body[start:], first))
    return found


def _begins(text: str) -> bool:
    """Whether nothing of a statement but labels stands there."""
    while (label := _LABEL.match(text)) is not None:
        text = text[label.end() :]
    return not text.strip()


def _instruction(text: str, line: int, registers: Container[str]) -> Instruction:
    """``registers``: those that are declared, as names of inner scopes look like symbols."""
    guard, negated = None, False
    found = _GUARD.match(text)
    if found is not None:
        guard, negated = Register(found[2]), found[1] == "!"
        text = text[found.end() :]
    opcode = _OPCODE.match(text)
    if opcode is None:
        raise PtxError(f"line {line}: '{text[:40]}' is no instruction")
    try:
        operands = tuple(_declared(_operand(each), registers) for each in _split(text[opcode.end() :].strip()))
    except (PtxError, ValueError):
        raise PtxError(f"line {line}: the operands of '{' '.join(text.split())[:80]}' are not understood") from None
    return Instruction(_parts(opcode[0]), operands, line, guard, negated)


def _declared(operand: Operand, registers: Container[str]) -> Operand:
    """The operand with names that are registers as such, also inside of braces."""
    if isinstance(operand, PtxSymbol) and operand.name in registers:
        return Register(operand.name)
    if isinstance(operand, Vector) and any(isinstance(each, PtxSymbol) for each in operand.elements):
        return Vector(tuple(None if each is None else _declared(each, registers) for each in operand.elements))
    return operand


@lru_cache(maxsize=4096)
def _parts(opcode: str) -> tuple[str, ...]:
    return tuple(opcode.split("."))


def _split(text: str) -> list[str]:
    """At the commas outside of brackets."""
    if not text:
        return []
    if not any(mark in text for mark in "[{("):
        return [each.strip() for each in text.split(",")]
    parts, depth, start = [], 0, 0
    for place, mark in enumerate(text):
        if mark in "[{(":
            depth += 1
        elif mark in "]})":
            depth -= 1
        elif mark == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


@lru_cache(maxsize=1 << 16)
def _operand(text: str) -> Operand:
    first = text[0]
    if first == "{" or first == "(":
        inner = _split(text[1:-1].strip())
        return Vector(tuple(None if each == "_" else _operand(each) for each in inner))
    if first == "[":
        return _address(text[1:-1].strip())
    if first == "!":
        return Negated(Register(text[1:].strip()))
    if "|" in text:
        one, other = text.split("|")
        return Pair(_operand(one.strip()), _operand(other.strip()))
    if first == "%":
        return Register(text)
    if first.isdigit() or first == "-":
        return _number(text)
    if re.fullmatch(r"[\w$]+", text):
        return PtxSymbol(text)
    raise PtxError(text)


def _number(text: str) -> Immediate:
    found = re.fullmatch(r"0([fd])([0-9a-fA-F]+)", text)
    if found is not None:
        return Immediate(int(found[2], 16), _FLOAT[found[1]])
    return Immediate(int(text.rstrip("U"), 0))


def _address(text: str) -> PtxAddress:
    base, *coordinates = _split(text)
    found = _OFFSET.match(base)
    if found is None:
        raise PtxError(text)
    inner: list[Operand] = []
    for each in coordinates:
        operand = _operand(each)
        inner += [one for one in operand.elements if one is not None] if isinstance(operand, Vector) else [operand]
    start = _operand(found[1])
    if not isinstance(start, Register | PtxSymbol | Immediate):
        raise PtxError(text)
    return PtxAddress(start, int(found[2], 0) if found[2] else 0, tuple(inner))
