"""Op lists: the body of an entry and the regions inside it, decoded by the declarations of `optable`.

Value ids count up in stream order; at the end of a block the counter returns to where it stood at its start, so that
results of a region-carrying op are numbered after its regions and siblings reuse ids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple, NoReturn

from .container import Reader, malformed, unzigzag
from .declaration import COUNT, AttributeDeclaration, OpDeclaration
from .enums import ENUMS
from .location import Location
from .model import (
    Block,
    Bounded,
    Constant,
    DivBy,
    FloatAttribute,
    IntegerAttribute,
    Op,
    Operand,
    Region,
    SameElements,
    ScalarType,
    TileType,
    Type,
    Value,
    signed,
)
from .optable import BY_OPCODE, OPERATIONS, Version
from .tables import ConstantTable, StringTable, TypeTable
from .typing_rules import RegionScope, check_op, check_terminator, enclose
from .wellformed import IllFormed

MAX_REGION_DEPTH: Final = 128

ENUM, STRING, GLOBAL, CONSTANT, VARINT, U8, I32S, BOOLS, HINTS, ATTRIBUTES, PREDICATE = range(11)
_KINDS: Final = {
    "string": STRING,
    "global": GLOBAL,
    "constant": CONSTANT,
    "varint": VARINT,
    "u8": U8,
    "i32s": I32S,
    "bools": BOOLS,
    "hints": HINTS,
    "attributes": ATTRIBUTES,
    "predicate_attribute": PREDICATE,
}
SINGLE, GROUP, OPTIONAL = range(3)


class AttributePlan(NamedTuple):
    """``bit`` is the flag that announces the attribute, 0 for one that is always there."""

    name: str
    kind: int
    bit: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpPlan:
    """A declaration specialised to one bytecode version."""

    declaration: OpDeclaration
    results: int
    flag_mask: int
    attributes: tuple[AttributePlan, ...]
    absent: tuple[tuple[str, Any], ...]
    operands: tuple[tuple[str, int, int], ...]
    counted: bool
    regions: int
    flag_sets: dict[int, frozenset[str]]


@cache
def plans(version: Version) -> dict[int, OpPlan]:
    """The decoding plan of every opcode that a file of ``version`` may use."""
    return {op.opcode: _plan(op, version) for op in OPERATIONS if op.since <= version}


def _plan(op: OpDeclaration, version: Version) -> OpPlan:
    bits = {flag.name: 1 << flag.bit for flag in op.flags}
    present = [attribute for attribute in op.attributes if attribute.since <= version]
    kinds = {"single": SINGLE, "group": GROUP, "optional": OPTIONAL, "rest": GROUP}
    return OpPlan(
        declaration=op,
        results=-1 if op.results == COUNT else op.results,
        flag_mask=op.flag_mask(version),
        attributes=tuple(_attribute_plan(a, bits) for a in present),
        absent=tuple((a.name, a.usual) for a in op.attributes if a.since > version),
        operands=tuple((o.name, kinds[o.kind], bits.get(o.name, 0)) for o in op.operands),
        counted=op.counted,
        regions=op.regions,
        flag_sets={},
    )


def _attribute_plan(attribute: AttributeDeclaration, bits: dict[str, int]) -> AttributePlan:
    names = ENUMS.get(attribute.kind, ())
    kind = ENUM if names else _KINDS[attribute.kind]
    return AttributePlan(attribute.name, kind, bits[attribute.flag] if attribute.flag else 0, names)


@dataclass(frozen=True, slots=True)
class Tables:
    """What op lists refer to.  ``constant_index`` collects which record each constant used."""

    strings: StringTable
    types: TypeTable
    constants: ConstantTable
    attributes: AttributeReader
    globals: frozenset[str]
    constant_index: dict[Constant, int]


class BodyReader:
    """Decodes one entry's op list.  ``locate(k, offset)`` gives the location of the k-th op in pre-order, from 1."""

    def __init__(
        self, reader: Reader, tables: Tables, version: Version, locate: Callable[[int, int], Location | None]
    ) -> None:
        self._reader = reader
        self._tables = tables
        self._plans = plans(version)
        self._locate = locate
        self._values: list[Value] = []
        self._scopes: list[RegionScope] = []
        self._constants: dict[tuple[int, int], Constant] = {}
        self.ops = 0

    def entry_body(self, parameters: tuple[Type, ...]) -> Block:
        arguments = self._define(parameters)
        ops: list[Op] = []
        while self._reader.pos < self._reader.end:
            ops.append(self._op())
        return self._block(arguments, ops)

    def _define(self, types: tuple[Type, ...]) -> tuple[Value, ...]:
        values = self._values
        first = len(values)
        made = tuple([Value(first + i, type) for i, type in enumerate(types)])
        values.extend(made)
        return made

    def _types(self, count: int) -> tuple[Type, ...]:
        reader, reference = self._reader, self._tables.types.reference
        return tuple([reference(reader) for _ in range(count)])

    def _region(self) -> Region:
        reader = self._reader
        at = reader.pos
        blocks = reader.varint()
        if blocks == 0:
            return Region(())
        if blocks > 1:
            malformed(at, f"a region with {blocks} blocks; only structured control flow is supported")
        mark = len(self._values)
        arguments = self._define(self._types(reader.count("block arguments")))
        ops: list[Op] = []
        for _ in range(reader.count("ops", 2)):
            ops.append(self._op())
        del self._values[mark:]
        return Region((self._block(arguments, ops),))

    def _block(self, arguments: tuple[Value, ...], ops: list[Op]) -> Block:
        if not ops or not ops[-1].declaration.terminator:
            malformed(self._reader.pos, "a block does not end in break, continue, return or yield")
        for op in ops[:-1]:
            if op.declaration.terminator:
                malformed(op.offset, f"{op.name} stands in the middle of a block")
        return Block(arguments, tuple(ops))

    def _op(self) -> Op:
        reader = self._reader
        start = reader.pos
        opcode = reader.varint()
        plan = self._plans.get(opcode)
        if plan is None:
            _refuse(opcode, start)
        declaration = plan.declaration
        self.ops += 1
        location = self._locate(self.ops, start)
        results = self._types(reader.count("results") if plan.results < 0 else plan.results)
        word = 0
        if plan.flag_mask:
            word = reader.varint()
            if word & ~plan.flag_mask:
                malformed(start, f"{declaration.name}: unknown flags {word & ~plan.flag_mask:#x}")
        flags = plan.flag_sets.get(word)
        if flags is None:
            flags = frozenset(flag.name for flag in declaration.flags if word >> flag.bit & 1)
            plan.flag_sets[word] = flags
        attributes = self._attributes(plan, word, results, start)
        operands = self._counted(plan, start) if plan.counted else self._operands(plan, word, start)
        regions: tuple[Region, ...] = ()
        try:
            if plan.regions:
                at = reader.pos
                if reader.varint() != plan.regions:
                    malformed(at, f"{declaration.name} needs {plan.regions} regions")
                if len(self._scopes) == MAX_REGION_DEPTH:
                    malformed(at, f"regions nest deeper than {MAX_REGION_DEPTH}")
                self._scopes.append(enclose(declaration, operands, results))
                regions = (self._region(),) if plan.regions == 1 else (self._region(), self._region())
                self._scopes.pop()
            op = Op(declaration, self._define(results), operands, attributes, flags, regions, location, start)
            check_op(op)
            if declaration.terminator:
                check_terminator(op, self._scopes)
        except IllFormed as problem:
            malformed(start, f"{declaration.name}: {problem}")
        return op

    def _attributes(self, plan: OpPlan, word: int, results: tuple[Type, ...], start: int) -> dict[str, Any]:
        reader = self._reader
        made: dict[str, Any] = {}
        for name, kind, bit, names in plan.attributes:
            if bit and not word & bit:
                made[name] = None
            elif kind == ENUM:
                value = reader.varint()
                if value >= len(names):
                    malformed(start, f"{plan.declaration.name}: unknown value {value} of attribute {name}")
                made[name] = names[value]
            elif kind == CONSTANT:
                made[name] = self._constant(results, start)
            else:
                made[name] = self._payload(kind)
        for name, value in plan.absent:
            made[name] = value
        return made

    def _payload(self, kind: int) -> Any:
        reader, tables = self._reader, self._tables
        if kind == BOOLS:
            return tuple([byte != 0 for byte in reader.take(reader.count("truth values"))])
        if kind == VARINT:
            return reader.varint()
        if kind == PREDICATE:
            return tables.attributes.predicate(reader)
        if kind == STRING:
            return tables.attributes.string(reader)
        if kind == GLOBAL:
            at = reader.pos
            name = tables.attributes.string(reader)
            if name not in tables.globals:
                malformed(at, f"the module has no global {name!r}")
            return name
        if kind == I32S:
            return reader.fixed_list(4, "numbers")
        if kind == U8:
            return reader.byte() != 0
        if kind == HINTS:
            return tables.attributes.dictionary(reader)
        assert kind == ATTRIBUTES
        return tables.attributes.array(reader)

    def _constant(self, results: tuple[Type, ...], start: int) -> Constant:
        index = self._reader.varint()
        type = results[0]
        key = (index, id(type))
        made = self._constants.get(key)
        if made is None:
            if not isinstance(type, TileType):
                malformed(start, "constant: the result is not a tile")
            made = make_constant(type, self._tables.constants.bytes_of(index, start), start)
            self._constants[key] = made
            self._tables.constant_index.setdefault(made, index)
        return made

    def _operands(self, plan: OpPlan, word: int, start: int) -> dict[str, Operand]:
        reader = self._reader
        values = self._values
        made: dict[str, Operand] = {}
        for name, kind, bit in plan.operands:
            if kind == GROUP:
                made[name] = self._group(reader.count("operands"), start)
            elif kind == SINGLE or word & bit:
                number = reader.varint()
                if number >= len(values):
                    malformed(start, f"{plan.declaration.name}: operand {name} is %{number}, which is not visible here")
                made[name] = values[number]
            else:
                made[name] = None
        return made

    def _group(self, count: int, start: int) -> tuple[Value, ...]:
        reader, values = self._reader, self._values
        numbers = [reader.varint() for _ in range(count)]
        if numbers and max(numbers) >= len(values):
            malformed(start, f"an operand is %{max(numbers)}, which is not visible here")
        return tuple([values[number] for number in numbers])

    def _counted(self, plan: OpPlan, start: int) -> dict[str, Operand]:
        """One counted list over all declared operands, the last of which may be a group or optional."""
        given = self._group(self._reader.count("operands"), start)
        made: dict[str, Operand] = {}
        position = 0
        for name, kind, _ in plan.operands:
            if kind == GROUP:
                made[name] = given[position:]
                position = max(position, len(given))
                continue
            present = position < len(given)
            if kind == SINGLE and not present:
                malformed(start, f"{plan.declaration.name}: operand {name} is missing")
            made[name] = given[position] if present else None
            position += present
        if position < len(given):
            malformed(start, f"{plan.declaration.name}: {len(given)} operands are too many")
        return made


def make_constant(type: TileType, data: bytes, at: int) -> Constant:
    """A constant whose byte length fits its type: one element (a splat) or all of them."""
    element = type.element
    if not isinstance(element, ScalarType):
        malformed(at, "a constant cannot hold pointers")
    if len(data) not in (element.stored_bytes(1), element.stored_bytes(type.size)):
        malformed(at, f"a constant of {type.size} x {element.name} cannot have {len(data)} bytes")
    return Constant(type, data)


def _refuse(opcode: int, start: int) -> NoReturn:
    known = BY_OPCODE.get(opcode)
    if known is None:
        malformed(start, f"unknown opcode {opcode:#x}")
    malformed(start, f"{known.name} needs bytecode version {known.since[0]}.{known.since[1]}")


# ----------------------------------------------------------------------------------------------------------- attributes
# Self-describing ("tagged") attributes: assume predicates, reduction identities, hints.


INTEGER, FLOAT, BOOL, TYPE, STRING_TAG, ARRAY = range(1, 7)
DENSE, DIV_BY, SAME_ELEMENTS, DICTIONARY, HINTS_TAG, BOUNDED = range(7, 13)
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
        if tag == STRING_TAG:
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
        names = {DENSE: "dense elements", HINTS_TAG: "optimization hints"}
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
        if reader.varint() != HINTS_TAG:
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
