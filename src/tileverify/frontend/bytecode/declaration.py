"""How one operation is declared: its place in the bytecode, its operands and attributes, its effect.

A declaration is written as a few short specifications, so that the tables read like the format's own documentation:

* flags ``"mask token sat>=4"``: bit k of the flag word is the k-th name; ``>=4`` means "exists since 13.4";
* attributes ``"ord:memory_ordering scope?:memory_scope inbounds:bools>=4"``: ``name:kind`` in stream order, ``?`` for
  "present when the flag of the same name is set", ``=value`` for what an older file means by leaving it out;
* operands ``"view [index] token?"``: ``name`` one value, ``[name]`` a counted group, ``name?`` present when the flag of
  the same name is set; ``"{lower upper step inits*}"`` is one counted list over all of them, where ``name*`` takes the
  rest and ``name?`` is present when the list is long enough.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

Version: TypeAlias = tuple[int, int]
OperandKind: TypeAlias = Literal["single", "group", "optional", "rest"]
Effect: TypeAlias = Literal["none", "read", "write", "read_write", "order", "host"]

COUNT: Final = "count"


@dataclass(frozen=True, slots=True)
class FlagDeclaration:
    name: str
    since: Version
    bit: int


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """``kind`` is an enum of `enums.ENUMS` or one of the encodings that `attributes` and `body` read.

    ``flag`` is set for an attribute that is present only with that flag; ``absent`` is its value in files older
    than ``since``.
    """

    name: str
    kind: str
    since: Version
    flag: str | None = None
    absent: Any = None


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

    ``results`` is a number, or ``"count"`` where the stream gives it; ``regions`` is the number of regions (0: none);
    ``counted`` says that the operands are one list with one count; ``typing`` names the rule of a
    module ``rules_*`` that its types must obey.
    """

    name: str
    opcode: int
    since: Version
    results: int | Literal["count"]
    flags: tuple[FlagDeclaration, ...]
    attributes: tuple[AttributeDeclaration, ...]
    operands: tuple[OperandDeclaration, ...]
    counted: bool
    regions: int
    terminator: bool
    effect: Effect
    typing: str

    def flag_mask(self, version: Version) -> int:
        """The flag bits that a file of ``version`` may set; without any the op has no flag word at all."""
        return sum(1 << flag.bit for flag in self.flags if flag.since <= version)


_FLAG = re.compile(r"(\w+)(?:>=(\d+))?")
_ATTRIBUTE = re.compile(r"(\w+)(\?)?:(\w+)(?:>=(\d+)(?:=(\w+))?)?")


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
    regions: int = 0,
    terminator: bool = False,
    effect: Effect = "none",
) -> OpDeclaration:
    """The declaration of one op from the short specifications described at the top of this module."""
    version = (13, since)
    return OpDeclaration(
        name=name,
        opcode=opcode,
        since=version,
        results=results,
        flags=tuple(_flag(text, bit, version) for bit, text in enumerate(flags.split())),
        attributes=tuple(_attribute(text, version) for text in attributes.split()),
        operands=tuple(_operand(text) for text in operands.strip("{}").split()),
        counted=operands.startswith("{"),
        regions=regions,
        terminator=terminator,
        effect=effect,
        typing=typing,
    )


def _flag(text: str, bit: int, version: Version) -> FlagDeclaration:
    match = _FLAG.fullmatch(text)
    assert match, f"flag specification {text!r}"
    return FlagDeclaration(match[1], (13, int(match[2])) if match[2] else version, bit)


def _attribute(text: str, version: Version) -> AttributeDeclaration:
    match = _ATTRIBUTE.fullmatch(text)
    assert match, f"attribute specification {text!r}"
    name, optional, kind, since, absent = match.groups()
    return AttributeDeclaration(
        name,
        kind,
        (13, int(since)) if since else version,
        flag=name if optional else None,
        absent=() if kind == "bools" else absent,
    )


def _operand(text: str) -> OperandDeclaration:
    if text[0] == "[":
        return OperandDeclaration(text[1:-1], "group")
    if text[-1] == "*":
        return OperandDeclaration(text[:-1], "rest")
    if text[-1] == "?":
        return OperandDeclaration(text[:-1], "optional")
    return OperandDeclaration(text, "single")
