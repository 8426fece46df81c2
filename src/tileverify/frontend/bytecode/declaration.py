"""How one operation is declared: its place in the bytecode, its operands and attributes, its effect.

A declaration is written as a few short specifications, so that the tables read like the format's own documentation:

* flags ``"mask token sat>=4"``: bit k of the flag word is the k-th name; ``>=4`` means "exists since 13.4";
* attributes ``"ord:memory_ordering scope?:memory_scope inbounds:bools>=4"``: ``name:kind`` in stream order, ``?`` for
  "present when the flag of the same name is set", ``=value`` for its usual value;
* operands ``"view [index] token?"``: ``name`` one value, ``[name]`` a counted group, ``name?`` present when the flag of
  the same name is set; ``"{lower upper step inits*}"`` is one counted list over all of them, where ``name*`` takes the
  rest and ``name?`` is present when the list is long enough;
* assembly ``"{lhs}, {rhs} {rnd}{ftz} : {types}"``: what NVIDIA's ``tileirdisasm`` prints behind the op's name.  Fields
  are the declared operands, flags and attributes, ``type_x`` for the type of operand x, ``types`` for the result types,
  and a few combinations that `printer` lists; a field of something absent is empty.  Without ``assembly`` an op prints
  its operands and its result types.

Beside its place in the file, a declaration states what the specification says of the op and several rooms ask: its
algebra, its address, what it brings to memory.  It never says what an op computes: that stands in the rules of each
room, which share nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

Version: TypeAlias = tuple[int, int]
OperandKind: TypeAlias = Literal["single", "group", "optional", "rest"]
Effect: TypeAlias = Literal["none", "read", "write", "read_write", "order", "host"]
Body: TypeAlias = Literal["none", "loop", "branch", "combination"]
"""What the regions of an op are: rounds of a loop, two branches, a function of two lanes of each input."""
Algebra: TypeAlias = Literal[
    "sum", "difference", "product", "quotient", "remainder", "fused", "negation", "magnitude", "maximum", "minimum",
    "and", "or", "xor", "shift", "comparison", "choice",
]  # fmt: skip
"""The function of numbers, or of bits, that an op computes on each lane: of integers modulo 2**bits, of floats but for
rounding.  ``fused`` is a product and a sum.  A sum that saturates is no ``sum``."""
Identity: TypeAlias = Literal["zero", "one", "ones", "least", "greatest"]
"""``ones``: all bits set; ``least`` and ``greatest``: of the numbers that the type holds, infinities included."""

COUNT: Final = "count"

_IDENTITIES: Final[Mapping[Algebra, Identity]] = {
    "sum": "zero", "product": "one", "and": "ones", "or": "zero", "xor": "zero", "maximum": "least",
    "minimum": "greatest",
}  # fmt: skip
_REGIONS: Final[Mapping[Body, int]] = {"none": 0, "loop": 1, "combination": 1, "branch": 2}


@dataclass(frozen=True, slots=True)
class FlagDeclaration:
    name: str
    since: Version
    bit: int


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """``kind`` is an enum of `enums.ENUMS` or one of the encodings that `body` reads.

    ``flag`` is set for an attribute that is present only with that flag; ``usual`` is its value in files older
    than ``since``, and where a builder is given none.
    """

    name: str
    kind: str
    since: Version
    flag: str | None = None
    usual: Any = None


@dataclass(frozen=True, slots=True)
class OperandDeclaration:
    """``single`` and ``group`` are always present; ``optional`` follows the flag of the same name.

    In an operand list that is counted as a whole, ``rest`` takes what is left, and ``optional`` follows the count.
    """

    name: str
    kind: OperandKind


@dataclass(frozen=True, slots=True)
class OpDeclaration:
    """One operation of Tile IR.

    ``results`` is a number, or ``"count"`` where the stream gives it; ``counted`` says that the operands are one list
    with one count; ``typing`` names the rule of a module ``rules_*`` that its types must obey; ``result_names`` is what
    assembly calls its results.

    ``address`` and ``brought`` are operands of an access: where it goes, and what it brings to memory.  ``partial`` is
    an operand for which the op is not defined whatever number it is.
    """

    name: str
    opcode: int
    since: Version
    results: int | Literal["count"]
    flags: tuple[FlagDeclaration, ...]
    attributes: tuple[AttributeDeclaration, ...]
    operands: tuple[OperandDeclaration, ...]
    counted: bool
    body: Body
    terminator: bool
    effect: Effect
    typing: str
    assembly: str
    result_names: tuple[str, ...]
    algebra: Algebra | None
    partial: str | None
    address: str | None
    brought: tuple[str, ...]

    def flag_mask(self, version: Version) -> int:
        """The flag bits that a file of ``version`` may set; without any the op has no flag word at all."""
        return sum(1 << flag.bit for flag in self.flags if flag.since <= version)

    def attribute(self, name: str) -> AttributeDeclaration:
        return next(attribute for attribute in self.attributes if attribute.name == name)

    @property
    def regions(self) -> int:
        """The number of regions."""
        return _REGIONS[self.body]

    @property
    def identity(self) -> Identity | None:
        """The identity of an op that is associative and commutative, of floats but for its rounding."""
        return None if self.algebra is None else _IDENTITIES.get(self.algebra)

    @property
    def preview(self) -> bool:
        """Has no stable meaning: a file with such an op says so in its version tag."""
        return self.opcode in range(0x4000, 0x7F00)

    @property
    def touches_memory(self) -> bool:
        return self.effect in ("read", "write", "read_write")

    @property
    def loads(self) -> bool:
        """Whether it reads memory of this device, and nothing else."""
        return self.effect == "read" and not self.multimem

    @property
    def stores(self) -> bool:
        """Whether it writes memory of this device, and nothing else."""
        return self.effect == "write" and not self.multimem

    @property
    def multimem(self) -> bool:
        """Whether it touches the memory of several devices at a time."""
        return self.name.startswith("multimem")


_FLAG = re.compile(r"(\w+)(?:>=(\d+))?")
_ATTRIBUTE = re.compile(r"(\w+)(\?)?:(\w+)(?:>=(\d+))?(?:=(\w+))?")


def declare(
    opcode: int,
    name: str,
    operands: str = "",
    attributes: str = "",
    *,
    typing: str,
    flags: str = "",
    results: int | Literal["count"] = 1,
    since: int = 1,
    body: Body = "none",
    terminator: bool = False,
    effect: Effect = "none",
    assembly: str | None = None,
    result_names: str = "",
    algebra: Algebra | None = None,
    partial: str | None = None,
    address: str | None = None,
    brought: str = "",
) -> OpDeclaration:
    """The declaration of one op from the short specifications described at the top of this module."""
    version = (13, since)
    declared = tuple(_operand(text) for text in operands.strip("{}").split())
    return OpDeclaration(
        name=name,
        opcode=opcode,
        since=version,
        results=results,
        flags=tuple(_flag(text, bit, version) for bit, text in enumerate(flags.split())),
        attributes=tuple(_attribute(text, version) for text in attributes.split()),
        operands=declared,
        counted=operands.startswith("{"),
        body=body,
        terminator=terminator,
        effect=effect,
        typing=typing,
        assembly=_plain_assembly(declared) if assembly is None else assembly,
        result_names=tuple(result_names.split()),
        algebra=algebra,
        partial=partial,
        address=address,
        brought=tuple(brought.split()),
    )


def _plain_assembly(operands: tuple[OperandDeclaration, ...]) -> str:
    return f"{', '.join(f'{{{operand.name}}}' for operand in operands)} : {{types}}".lstrip()


def _flag(text: str, bit: int, version: Version) -> FlagDeclaration:
    match = _FLAG.fullmatch(text)
    assert match, f"flag specification {text!r}"
    return FlagDeclaration(match[1], (13, int(match[2])) if match[2] else version, bit)


def _attribute(text: str, version: Version) -> AttributeDeclaration:
    match = _ATTRIBUTE.fullmatch(text)
    assert match, f"attribute specification {text!r}"
    name, optional, kind, since, usual = match.groups()
    return AttributeDeclaration(
        name,
        kind,
        (13, int(since)) if since else version,
        flag=name if optional else None,
        usual=() if kind == "bools" else usual,
    )


def _operand(text: str) -> OperandDeclaration:
    if text[0] == "[":
        return OperandDeclaration(text[1:-1], "group")
    if text[-1] == "*":
        return OperandDeclaration(text[:-1], "rest")
    if text[-1] == "?":
        return OperandDeclaration(text[:-1], "optional")
    return OperandDeclaration(text, "single")
