"""Write modules by hand: values are numbered, flags set and simple result types inferred as ops are added.

module = ModuleBuilder((13, 4))
with module.entry("copy", [tile(pointer(F32)), tile(pointer(F32))]) as f:
    source, target = f.parameters
    value, token = f.op("load_ptr_tko", ptr=source, results=[tile(F32), TOKEN])
    f.op("store_ptr_tko", ptr=target, val=value, token=token)
    f.op("return")
data = encode(module.build())
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ...system.errors import EncodeError
from .declaration import OpDeclaration
from .enums import ENUMS
from .location import Location
from .model import (
    Block,
    Constant,
    Entry,
    Global,
    Module,
    Op,
    Operand,
    PointerType,
    Region,
    ScalarType,
    TileType,
    TokenType,
    Type,
    Value,
)
from .optable import BY_NAME, Version
from .tables import SCALARS
from .typing_rules import RegionScope, check_op, check_terminator, enclose
from .wellformed import IllFormed, view_of

_SCALARS: Final = {scalar.name: scalar for scalar, _ in SCALARS.values()}
I1, I8, I16, I32, I64 = (_SCALARS[name] for name in ("i1", "i8", "i16", "i32", "i64"))
F16, BF16, F32, F64 = (_SCALARS[name] for name in ("f16", "bf16", "f32", "f64"))
TOKEN: Final = TokenType()

_DEFAULTS: Final[Mapping[str, Any]] = {"dim": 0, "reverse": False, "ident": (), "num_elem": 1, "align": 1}


def scalar(name: str) -> ScalarType:
    """The element type that Tile IR text calls ``name``."""
    return _SCALARS[name]


def pointer(pointee: ScalarType, attribute: str | None = None) -> PointerType:
    return PointerType(pointee, attribute)


def tile(element: ScalarType | PointerType, *shape: int) -> TileType:
    return TileType(element, shape)


def constant(type: TileType, *values: int) -> Constant:
    """A tile constant; one value is a splat.  Floats are given as bit patterns."""
    element = type.element
    if not isinstance(element, ScalarType) or len(values) not in (1, type.size):
        raise EncodeError(f"{len(values)} values for a constant of {type.size} elements")
    if element.bits == 1:
        if len(values) == 1:
            return Constant(type, b"\xff" if values[0] else b"\x00")
        packed = sum((value & 1) << position for position, value in enumerate(values))
        return Constant(type, packed.to_bytes(element.stored_bytes(type.size), "little"))
    width = element.stored_bytes(1)
    mask = (1 << element.bits) - 1
    return Constant(type, b"".join((value & mask).to_bytes(width, "little") for value in values))


class ModuleBuilder:
    """Collects entries and globals of one module."""

    def __init__(self, version: Version = (13, 4), *, producer: str | None = None) -> None:
        self.version = version
        self._producer = producer
        self._entries: list[Entry] = []
        self._globals: list[Global] = []

    def add_global(
        self, name: str, value: Constant, alignment: int = 1, *, private: bool = False, constant: bool = False
    ) -> None:
        self._globals.append(Global(name, value.type, value, alignment, private, constant))

    @contextmanager
    def entry(
        self,
        name: str,
        parameters: Sequence[Type],
        *,
        hints: Mapping[str, object] | None = None,
        location: Location | None = None,
    ) -> Iterator[BodyBuilder]:
        """Add an entry; its ops are those added to the yielded builder, which must end in ``return``."""
        body = BodyBuilder(self.version, parameters)
        body.location = location
        yield body
        block = body.close()
        self._entries.append(Entry(name, block.arguments, block, location, dict(hints or {})))

    def build(self) -> Module:
        return Module(self.version, tuple(self._entries), tuple(self._globals), self._producer)


class BodyBuilder:
    """The op list under construction; ``location`` is given to every op added from now on."""

    def __init__(self, version: Version, parameters: Sequence[Type], *, first: int = 0) -> None:
        self.version = version
        self.location: Location | None = None
        self._next = first
        self._blocks: list[list[Op]] = [[]]
        self._scopes: list[RegionScope] = []
        self._definitions: dict[Value, Op] = {}
        self.parameters = self._define(parameters)

    def close(self) -> Block:
        return Block(self.parameters, self._finished(self._blocks.pop()))

    @property
    def ops(self) -> Sequence[Op]:
        """The ops of the block under construction so far."""
        return self._blocks[-1]

    @property
    def ended(self) -> bool:
        """Whether the block under construction has its terminator."""
        ops = self._blocks[-1]
        return bool(ops) and ops[-1].declaration.terminator

    def _define(self, types: Sequence[Type]) -> tuple[Value, ...]:
        made = tuple(Value(self._next + position, type) for position, type in enumerate(types))
        self._next += len(made)
        return made

    def _finished(self, ops: list[Op]) -> tuple[Op, ...]:
        if not ops or not ops[-1].declaration.terminator:
            raise EncodeError("a block must end in break, continue, return or yield")
        return tuple(ops)

    # ----------------------------------------------------------------------------------------------- ops
    def op(
        self, name: str, /, *, results: Sequence[Type] | None = None, flags: Sequence[str] = (), **parts: Any
    ) -> Any:
        """Add op ``name``; ``parts`` are its operands and attributes by their declared names.

        Returns its result: one value, a tuple of values, or ``None``.  Absent optional parts are left out; attributes
        have the usual defaults.  ``results`` may be left out where they follow from the operands.
        """
        declaration = BY_NAME[name]
        if declaration.regions:
            raise EncodeError(f"{name} has regions: use the method of its name")
        made = self._add(declaration, results, flags, parts, ())
        return None if not made else made[0] if len(made) == 1 else made

    def constant(self, type: TileType, *values: int) -> Value:
        made: Value = self.op("constant", results=[type], value=constant(type, *values))
        return made

    def _add(
        self,
        declaration: OpDeclaration,
        results: Sequence[Type] | None,
        flags: Sequence[str],
        parts: dict[str, Any],
        regions: tuple[Region, ...],
    ) -> tuple[Value, ...]:
        operands = _operands(declaration, parts)
        attributes = _attributes(declaration, parts, operands, self.version)
        if parts:
            raise EncodeError(f"{declaration.name} has no {', '.join(parts)}")
        present = {flag.name for flag in declaration.flags if operands.get(flag.name, attributes.get(flag.name))}
        types = _infer(declaration, operands, self.version) if results is None else results
        op = Op(
            declaration, self._define(types), operands, attributes, frozenset(flags) | present, regions, self.location
        )
        try:
            check_op(op)
            if declaration.terminator:
                check_terminator(op, self._scopes)
        except IllFormed as problem:
            raise EncodeError(f"{declaration.name}: {problem}") from problem
        self._blocks[-1].append(op)
        self._definitions.update(dict.fromkeys(op.results, op))
        return op.results

    def definition(self, value: Value) -> Op | None:
        """The op that gives ``value``; ``None`` for a parameter or an argument of a region."""
        return self._definitions.get(value)

    # -------------------------------------------------------------------------------------- control flow
    @contextmanager
    def for_(
        self, lower: Value, upper: Value, step: Value, inits: Sequence[Value] = (), *, unsigned: bool = False
    ) -> Iterator[RegionBuilder]:
        """A counted loop; the region's arguments are the counter and the carried values."""
        parts: dict[str, Any] = {"lower": lower, "upper": upper, "step": step, "inits": tuple(inits)}
        types = [value.type for value in inits]
        yield from self._single("for", parts, types, [lower.type, *types], ("unsignedCmp",) if unsigned else ())

    @contextmanager
    def loop(self, inits: Sequence[Value] = (), *, results: Sequence[Type] | None = None) -> Iterator[RegionBuilder]:
        """An endless loop, left by ``break``; ``results`` default to the types of the carried values."""
        types = [value.type for value in inits]
        yield from self._single("loop", {"inits": tuple(inits)}, types if results is None else results, types, ())

    @contextmanager
    def reduce(self, inputs: Sequence[Value], dim: int, ident: Sequence[Any]) -> Iterator[RegionBuilder]:
        types = [_without(value.type, dim) for value in inputs]
        parts: dict[str, Any] = {"inputs": tuple(inputs), "dim": dim, "ident": tuple(ident)}
        yield from self._single("reduce", parts, types, _pairs(inputs), ())

    @contextmanager
    def scan(
        self, inputs: Sequence[Value], dim: int, ident: Sequence[Any], *, reverse: bool = False
    ) -> Iterator[RegionBuilder]:
        parts: dict[str, Any] = {"inputs": tuple(inputs), "dim": dim, "ident": tuple(ident), "reverse": reverse}
        yield from self._single("scan", parts, [value.type for value in inputs], _pairs(inputs), ())

    @contextmanager
    def if_(self, condition: Value, results: Sequence[Type] = ()) -> Iterator[IfBuilder]:
        """A branch: fill ``then`` and, unless it is empty, ``otherwise`` of the yielded builder."""
        branch = IfBuilder(self, condition, tuple(results))
        yield branch
        branch.results = self._add(
            BY_NAME["if"], results, (), {"c": condition}, (branch.then_region, branch.else_region)
        )

    def _single(
        self, name: str, parts: dict[str, Any], results: Sequence[Type], arguments: Sequence[Type], flags: Sequence[str]
    ) -> Iterator[RegionBuilder]:
        declaration = BY_NAME[name]
        made = RegionBuilder()
        scope = enclose(declaration, _operands(declaration, dict(parts)), tuple(results))
        with self.region(scope, arguments) as region:
            made.arguments = region.arguments
            yield made
        assert region.made is not None
        made.results = self._add(declaration, results, flags, parts, (region.made,))

    @contextmanager
    def region(self, scope: RegionScope, arguments: Sequence[Type]) -> Iterator[RegionBuilder]:
        """A block inside ``scope``; value numbers are given back at its end."""
        mark = self._next
        made = RegionBuilder()
        made.arguments = self._define(arguments)
        self._blocks.append([])
        self._scopes.append(scope)
        yield made
        self._scopes.pop()
        made.made = Region((Block(made.arguments, self._finished(self._blocks.pop())),))
        self._next = mark


class RegionBuilder:
    """``arguments`` while the region is open, ``results`` of its op once it is closed."""

    def __init__(self) -> None:
        self.arguments: tuple[Value, ...] = ()
        self.results: tuple[Value, ...] = ()
        self.made: Region | None = None


class IfBuilder:
    """The two regions of an ``if``; ``results`` once it is closed."""

    def __init__(self, body: BodyBuilder, condition: Value, results: tuple[Type, ...]) -> None:
        self._body = body
        self._scope = enclose(BY_NAME["if"], {"c": condition}, results)
        self.results: tuple[Value, ...] = ()
        self.then_region = Region(())
        self.else_region = Region(())

    @contextmanager
    def then(self) -> Iterator[None]:
        with self._body.region(self._scope, ()) as region:
            yield
        assert region.made is not None
        self.then_region = region.made

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        with self._body.region(self._scope, ()) as region:
            yield
        assert region.made is not None
        self.else_region = region.made


def _operands(declaration: OpDeclaration, parts: dict[str, Any]) -> dict[str, Operand]:
    """Take the operands of ``declaration`` out of ``parts``."""
    made: dict[str, Operand] = {}
    for operand in declaration.operands:
        if operand.kind in ("group", "rest"):
            made[operand.name] = tuple(parts.pop(operand.name, ()))
        elif operand.kind == "optional":
            made[operand.name] = parts.pop(operand.name, None)
        elif operand.name in parts:
            made[operand.name] = parts.pop(operand.name)
        else:
            raise EncodeError(f"{declaration.name} needs an operand {operand.name}")
    return made


def _attributes(
    declaration: OpDeclaration, parts: dict[str, Any], operands: Mapping[str, Operand], version: Version
) -> dict[str, Any]:
    """Take the attributes of ``declaration`` out of ``parts``; what is missing gets its usual value."""
    made: dict[str, Any] = {}
    for attribute in declaration.attributes:
        name = attribute.name
        if name in parts:
            made[name] = parts.pop(name)
        elif attribute.since > version:
            made[name] = attribute.usual
        elif attribute.flag:
            made[name] = None
        elif name == "inbounds":
            indices = operands["index"]
            made[name] = (False,) * len(indices) if isinstance(indices, tuple) else ()
        elif attribute.usual is not None:
            made[name] = attribute.usual
        elif name in _DEFAULTS:
            made[name] = _DEFAULTS[name]
        elif attribute.kind in ENUMS:
            made[name] = ENUMS[attribute.kind][0]
        else:
            raise EncodeError(f"{declaration.name} needs an attribute {name}")
    return made


def _infer(declaration: OpDeclaration, operands: Mapping[str, Operand], version: Version) -> tuple[Type, ...]:
    """The result types that follow from the operands."""
    name = declaration.name
    if declaration.results == 0 or declaration.terminator:
        return ()
    if _gives_token_alone(declaration):
        return (TOKEN,)
    if name == "print_tko":
        return (TOKEN,) if version >= (13, 2) else ()
    if name in ("get_tile_block_id", "get_num_tile_blocks"):
        return (tile(I32),) * 3
    if declaration.typing in ("compare_integer", "compare_float"):
        return (TileType(I1, _tile_of(operands["lhs"]).shape),)
    if declaration.typing in ("load_pointer", "atomic_cas", "atomic_rmw"):
        pointers = _tile_of(operands["ptr"])
        if isinstance(pointers.element, PointerType):
            return (TileType(pointers.element.pointee, pointers.shape), TOKEN)
    if declaration.typing in ("load_view", "multimem_load_reduce") and isinstance(operands["view"], Value):
        view = view_of(operands["view"])
        return (TileType(view.tensor.element, view.tile), TOKEN)
    same = {"select": "t", "offset": "ptr", "mmaf": "acc", "mmai": "acc", "mmaf_scaled": "acc", "insert": "dest"}
    alike = (
        "same_float",
        "same_float_approximate",
        "same_integer",
        "integer_division",
        "float_to_integer_power",
        "assume",
    )
    if name in same or declaration.typing in alike:
        return (_type_of(operands[same.get(name, declaration.operands[0].name)]),)
    raise EncodeError(f"the results of {name} do not follow from its operands: give them")


def _gives_token_alone(declaration: OpDeclaration) -> bool:
    """Stores, reductions into views, and ops that order others."""
    into_view = declaration.effect == "read_write" and declaration.address == "view"
    return declaration.effect in ("write", "order") or into_view


def _type_of(operand: Operand) -> Type:
    if not isinstance(operand, Value):
        raise EncodeError("a single value is needed to infer a result")
    return operand.type


def _tile_of(operand: Operand) -> TileType:
    type = _type_of(operand)
    if not isinstance(type, TileType):
        raise EncodeError("a tile is needed to infer a result")
    return type


def _without(type: Type, dim: int) -> Type:
    if not isinstance(type, TileType):
        raise EncodeError("only tiles can be reduced")
    return TileType(type.element, type.shape[:dim] + type.shape[dim + 1 :])


def _pairs(inputs: Sequence[Value]) -> list[Type]:
    return [TileType(_tile_of(value).element) for value in inputs for _ in range(2)]


__all__ = [
    "BF16",
    "F16",
    "F32",
    "F64",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "TOKEN",
    "BodyBuilder",
    "IfBuilder",
    "ModuleBuilder",
    "RegionBuilder",
    "constant",
    "pointer",
    "scalar",
    "tile",
]
