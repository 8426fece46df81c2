"""Self-describing ("tagged") attributes: assume predicates, reduction identities, hints."""

from __future__ import annotations

from typing import Any, Final

from .model import Bounded, DivBy, FloatAttribute, IntegerAttribute, SameElements, ScalarType, signed
from .reader import Reader, malformed, unzigzag
from .tables import StringTable, TypeTable

INTEGER, FLOAT, BOOL, TYPE, STRING, ARRAY, DENSE, DIV_BY, SAME_ELEMENTS, DICTIONARY, HINTS, BOUNDED = range(1, 13)
MAX_DEPTH: Final = 16
MASK64: Final = (1 << 64) - 1


class AttributeReader:
    """Reads tagged attributes of one file from any reader over it."""

    def __init__(self, strings: StringTable, types: TypeTable) -> None:
        self._strings = strings
        self._types = types

    def string(self, reader: Reader) -> str:
        at = reader.pos
        return self._strings.text(reader.varint(), at)

    def tagged(self, reader: Reader, depth: int = 0) -> Any:
        """One attribute; arrays become tuples, dictionaries stay dictionaries."""
        start = reader.pos
        if depth > MAX_DEPTH:
            malformed(start, f"attributes nest deeper than {MAX_DEPTH}")
        tag = reader.varint()
        if tag == INTEGER:
            return self._integer(reader)
        if tag == FLOAT:
            return self._float(reader)
        if tag == BOOL:
            return self._bool(reader)
        if tag == TYPE:
            return self._types.reference(reader)
        if tag == STRING:
            return self.string(reader)
        if tag == ARRAY:
            return self.array(reader, depth + 1)
        if tag == DIV_BY:
            return _div_by(reader)
        if tag == SAME_ELEMENTS:
            return _same_elements(reader)
        if tag == BOUNDED:
            return _bounded(reader)
        if tag == DICTIONARY:
            return self.dictionary(reader, depth + 1)
        names = {DENSE: "dense elements", HINTS: "optimization hints"}
        malformed(start, f"{names[tag]} are not supported here" if tag in names else f"unknown attribute tag {tag}")

    def array(self, reader: Reader, depth: int = 0) -> tuple[Any, ...]:
        return tuple(self.tagged(reader, depth) for _ in range(reader.count("attributes")))

    def dictionary(self, reader: Reader, depth: int = 0) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for _ in range(reader.count("attributes", 2)):
            at = reader.pos
            key = self.string(reader)
            if key in made:
                malformed(at, f"attribute {key!r} is given twice")
            made[key] = self.tagged(reader, depth)
        return made

    def predicate(self, reader: Reader) -> DivBy | Bounded | SameElements:
        at = reader.pos
        made = self.tagged(reader)
        if not isinstance(made, DivBy | Bounded | SameElements):
            malformed(at, "an assume needs div_by, bounded or same_elements")
        return made

    def hints(self, reader: Reader) -> dict[str, Any]:
        """The hints of an entry: tag 11, then a dictionary by architecture."""
        at = reader.pos
        if reader.varint() != HINTS:
            malformed(at, "the hints of an entry do not start with their tag")
        return self.dictionary(reader)

    def _scalar(self, reader: Reader) -> ScalarType:
        at = reader.pos
        made = self._types.reference(reader)
        if not isinstance(made, ScalarType):
            malformed(at, "an attribute value needs a scalar type")
        return made

    def _integer(self, reader: Reader) -> IntegerAttribute:
        start = reader.pos
        scalar = self._scalar(reader)
        raw = reader.byte() if scalar.bits == 1 else reader.varint()
        if not scalar.is_integer or raw >> scalar.bits:
            malformed(start, f"{raw} is no value of {scalar.name}")
        return IntegerAttribute(scalar, signed(raw, scalar.bits))

    def _float(self, reader: Reader) -> FloatAttribute:
        start = reader.pos
        scalar = self._scalar(reader)
        raw = reader.byte() if scalar.bits <= 8 else reader.overlong_varint()
        bits = raw if scalar.bits <= 8 else unzigzag(raw & MASK64) & MASK64
        overlong = raw > MASK64
        if not scalar.is_float or bits >> scalar.bits or raw >> 65:
            malformed(start, f"{bits:#x} is no bit pattern of {scalar.name}")
        return FloatAttribute(scalar, bits, overlong)

    def _bool(self, reader: Reader) -> bool:
        at = reader.pos
        value = reader.byte()
        if value > 1:
            malformed(at, f"{value} is not a truth value")
        return bool(value)


def _div_by(reader: Reader) -> DivBy:
    start = reader.pos
    divisor = reader.varint()
    flags = reader.byte()
    if divisor == 0 or divisor & (divisor - 1):
        malformed(start, f"divisor {divisor} of an assumption is not a power of two")
    if flags not in (0, 3):
        malformed(start, f"div_by flags {flags:#x}: 'every' and 'along' come together or not at all")
    if not flags:
        return DivBy(divisor)
    every, along = reader.signed_varint(), reader.signed_varint()
    if every <= 0 or along < 0:
        malformed(start, f"div_by every {every} along {along} is out of range")
    return DivBy(divisor, every, along)


def _bounded(reader: Reader) -> Bounded:
    start = reader.pos
    flags = reader.byte()
    if flags > 3:
        malformed(start, f"unknown bounded flags {flags:#x}")
    lower = reader.signed_varint() if flags & 1 else None
    upper = reader.signed_varint() if flags & 2 else None
    return Bounded(lower, upper)


def _same_elements(reader: Reader) -> SameElements:
    start = reader.pos
    groups = reader.fixed_list(8, "groups")
    if any(group <= 0 for group in groups):
        malformed(start, "same_elements needs positive group sizes")
    return SameElements(groups)
