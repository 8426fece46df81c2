"""The typing rule of every op: what a reader of the model may rely on without checking again.

Source: the verifiers of NVIDIA/cuda-tile and the per-op text of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .declaration import OpDeclaration
from .model import (
    Block,
    Bounded,
    DivBy,
    FloatAttribute,
    IntegerAttribute,
    Op,
    Operand,
    PointerType,
    SameElements,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    Value,
)
from .wellformed import (
    RULES,
    IllFormed,
    fail,
    float_tile,
    integer_tile,
    mask_for,
    one_result,
    rule,
    scalar_integer,
    scalar_of,
    tile,
    types_of,
)


def check_op(op: Op) -> None:
    """Raise `IllFormed` unless the types and attributes of ``op`` obey the rule that its declaration names."""
    RULES[op.declaration.typing](op)


# ------------------------------------------------------------------------------------------------------------ structure
# Structured control flow: which terminator may end which block, and what values it must hand on.


@dataclass(frozen=True, slots=True)
class RegionScope:
    """A region-carrying op around a block: ``results`` are its own, ``carried`` what its next round takes."""

    name: str
    results: tuple[Type, ...]
    carried: tuple[Type, ...]


def enclose(declaration: OpDeclaration, operands: Mapping[str, Operand], results: tuple[Type, ...]) -> RegionScope:
    """The scope that an op opens for its regions."""
    if declaration.body == "loop":
        inits = operands["inits"]
        assert isinstance(inits, tuple)
        return RegionScope(declaration.name, results, types_of(inits))
    if declaration.body == "combination":
        inputs = operands["inputs"]
        assert isinstance(inputs, tuple)
        return RegionScope(declaration.name, tuple(_scalar_of(value) for value in inputs), ())
    return RegionScope(declaration.name, results, ())


def _scalar_of(value: Value) -> Type:
    if not isinstance(value.type, TileType):
        fail("the inputs must be tiles")
    return TileType(value.type.element)


def check_terminator(op: Op, scopes: Sequence[RegionScope]) -> None:
    """Raise `IllFormed` unless ``op`` may end a block inside ``scopes`` (outermost first)."""
    handed = types_of(op.group("args"))
    if op.results:
        raise IllFormed("it has results")
    if op.name == "return":
        if any(scope.name not in ("if", "loop") for scope in scopes):
            fail(f"it stands inside {scopes[-1].name}")
        _expect(handed, (), "the entry returns")
        return
    target = _target(op.name, scopes)
    if op.name == "continue":
        _expect(handed, target.carried, f"the next round of {target.name} takes")
    else:
        _expect(handed, target.results, f"{target.name} gives")


def _target(name: str, scopes: Sequence[RegionScope]) -> RegionScope:
    """The op that a break, continue or yield belongs to."""
    if not scopes:
        fail("it stands outside any region")
    if name == "yield":
        if scopes[-1].name in ("for", "loop"):
            fail(f"it stands directly inside {scopes[-1].name}")
        return scopes[-1]
    for scope in reversed(scopes):
        if scope.name == "loop" or (scope.name == "for" and name == "continue"):
            return scope
        if scope.name != "if":
            break
    fail("no loop around it can take it")


def _expect(handed: tuple[Type, ...], wanted: tuple[Type, ...], reason: str) -> None:
    if handed != wanted:
        fail(f"it hands on {len(handed)} values, but {reason} {len(wanted)}, or their types differ")


# ----------------------------------------------------------------------------------------------------------- rules tile
# Typing rules: making, reshaping, combining and reducing tiles; matrix products.


@rule("constant")
def constant(op: Op) -> None:
    if op.attributes["value"].type != op.result.type:
        fail("value and result differ in type")


@rule("iota")
def iota(op: Op) -> None:
    made = integer_tile(op.result, "the result")
    bits = scalar_of(made, "the result").bits
    if len(made.shape) != 1:
        fail("the result is not one-dimensional")
    if made.shape[0] > 1 << bits:
        fail(f"{made.shape[0]} numbers do not fit {bits} bits")


@rule("assume")
def assume(op: Op) -> None:
    type = op.value("s").type
    predicate = op.attributes["pred"]
    if op.result.type != type:
        fail("operand and result differ in type")
    if isinstance(predicate, DivBy) and isinstance(type, TensorViewType):
        return
    if not isinstance(type, TileType):
        fail("only tiles and tensor views can be assumed about")
    if isinstance(type.element, PointerType):
        if isinstance(predicate, Bounded):
            fail("pointers have no bounds")
    elif not type.element.is_integer:
        fail("nothing can be assumed about floats")
    if isinstance(predicate, SameElements) and (
        len(predicate.groups) != len(type.shape)
        or any(group > extent for group, extent in zip(predicate.groups, type.shape, strict=True))
    ):
        fail("same_elements needs one group size for each dimension, at most its extent")
    if isinstance(predicate, DivBy) and predicate.along is not None and predicate.along >= len(type.shape):
        fail(f"the tile has no dimension {predicate.along}")


@rule("select")
def select(op: Op) -> None:
    made = tile(op.result, "the result")
    if op.value("t").type != made or op.value("f").type != made:
        fail("the alternatives and the result differ in type")
    mask_for(op.value("c"), made.shape, "the condition")


def _same_element(op: Op, source: TileType) -> TileType:
    made = tile(one_result(op), "the result")
    if made.element != source.element:
        fail("operand and result differ in element type")
    return made


@rule("broadcast")
def broadcast(op: Op) -> None:
    source = tile(op.value("s"), "the operand")
    made = _same_element(op, source)
    if len(made.shape) != len(source.shape) or any(
        old not in (1, new) for old, new in zip(source.shape, made.shape, strict=True)
    ):
        fail(f"shape {source.shape} cannot be stretched to {made.shape}")


@rule("reshape")
def reshape(op: Op) -> None:
    source = tile(op.value("s"), "the operand")
    if _same_element(op, source).size != source.size:
        fail("operand and result differ in the number of elements")


@rule("permute")
def permute(op: Op) -> None:
    source = tile(op.value("s"), "the operand")
    order = op.attributes["perm"]
    if sorted(order) != list(range(len(source.shape))):
        fail(f"{order} is no permutation of {len(source.shape)} dimensions")
    if _same_element(op, source).shape != tuple(source.shape[axis] for axis in order):
        fail("the result has not the permuted shape")


@rule("cat")
def cat(op: Op) -> None:
    lhs, rhs = tile(op.value("lhs"), "lhs"), tile(op.value("rhs"), "rhs")
    made = _same_element(op, lhs)
    axis = op.attributes["dim"]
    if rhs.element != lhs.element or not axis < len(lhs.shape) == len(rhs.shape) == len(made.shape):
        fail("lhs, rhs and result differ in rank or element type")
    for i, (a, b, c) in enumerate(zip(lhs.shape, rhs.shape, made.shape, strict=True)):
        if (a + b != c) if i == axis else not a == b == c:
            fail(f"shapes {lhs.shape} and {rhs.shape} do not join to {made.shape} along {axis}")


@rule("extract")
def extract(op: Op) -> None:
    source = tile(op.value("s"), "the source")
    _subtile(op, _same_element(op, source), source)


@rule("insert")
def insert(op: Op) -> None:
    destination = tile(op.value("dest"), "the destination")
    part = tile(op.value("s"), "the source")
    if one_result(op).type != destination or part.element != destination.element:
        fail("source, destination and result do not fit together")
    _subtile(op, part, destination)


def _subtile(op: Op, part: TileType, whole: TileType) -> None:
    indices = op.group("index")
    if not len(part.shape) == len(whole.shape) == len(indices):
        fail("one index for each dimension is needed")
    if any(big % small for small, big in zip(part.shape, whole.shape, strict=True)):
        fail(f"subtiles of shape {part.shape} do not tile {whole.shape}")
    for index in indices:
        scalar_integer(index, "an index")


@rule("pack")
def pack(op: Op) -> None:
    _repack(tile(op.value("s"), "the operand"), tile(op.result, "the result"))


@rule("unpack")
def unpack(op: Op) -> None:
    _repack(tile(op.result, "the result"), tile(op.value("s"), "the operand"))


def _repack(wide: TileType, narrow: TileType) -> None:
    numeric, packed = scalar_of(wide, "the tile"), scalar_of(narrow, "the tile")
    if len(wide.shape) != 1 or len(narrow.shape) != 1 or packed.name != "i8":
        fail("only one-dimensional tiles can be packed, to i8")
    if wide.shape[0] * numeric.bits != narrow.shape[0] * 8:
        fail("the packed and the unpacked tile differ in size")


# ------------------------------------------------------------------------------------------- reductions
@rule("reduce")
def reduce(op: Op) -> None:
    axis = op.attributes["dim"]
    for value, made in _inputs(op):
        if made.shape != value.shape[:axis] + value.shape[axis + 1 :]:
            fail("a result has not the shape of its input without the reduced dimension")


@rule("scan")
def scan(op: Op) -> None:
    for value, made in _inputs(op):
        if made.shape != value.shape:
            fail("a result has not the shape of its input")


def _inputs(op: Op) -> list[tuple[TileType, TileType]]:
    """The types of each input with its result; also checks identities and the body's arguments."""
    inputs = [tile(value, "an input") for value in op.group("inputs")]
    results = [tile(value, "a result") for value in op.results]
    identities = op.attributes["ident"]
    if not inputs or len(results) != len(inputs) or len(identities) != len(inputs):
        fail("inputs, results and identities differ in number")
    if any(value.shape != inputs[0].shape for value in inputs) or op.attributes["dim"] >= len(inputs[0].shape):
        fail("the inputs differ in shape or have not that dimension")
    arguments: list[Type] = []
    for value, made, identity in zip(inputs, results, identities, strict=True):
        if made.element != value.element:
            fail("a result has not the element type of its input")
        if not isinstance(identity, IntegerAttribute | FloatAttribute) or identity.type != value.element:
            fail("an identity has not the element type of its input")
        arguments += [TileType(value.element)] * 2
    body = _only_block(op)
    if types_of(body.arguments) != tuple(arguments):
        fail("the body does not take two scalars for each input")
    for inner in body.ops:
        if inner.declaration.effect != "none" or inner.regions:
            fail(f"the body contains {inner.name}; only pure ops are supported there")
    return list(zip(inputs, results, strict=True))


def _only_block(op: Op) -> Block:
    if not op.regions[0].blocks:
        fail("the body is empty")
    return op.regions[0].blocks[0]


# --------------------------------------------------------------------------------------------- own ops
@rule("opaque")
def opaque(op: Op) -> None:
    made = tile(one_result(op), "the result")
    scalar_of(made, "the result")
    if not op.attributes["callee"]:
        fail("it names no function")
    for value in op.group("args"):
        given = tile(value, "an operand")
        scalar_of(given, "an operand")
        if given.shape not in ((), made.shape):
            fail(f"an operand of shape {given.shape} does not fit the result of shape {made.shape}")


@rule("foreign_call")
def foreign_call(op: Op) -> None:
    """A preview, without a public text: tiles and at most one token go in and come out."""
    if not op.attributes["callee"]:
        fail("it names no function")
    for values, what in ((op.group("args"), "an operand"), (op.results, "a result")):
        tokens = [value for value in values if isinstance(value.type, TokenType)]
        if len(tokens) > 1:
            fail(f"{what} more than one is a token")
        for value in values:
            if value not in tokens:
                tile(value, what)


# ------------------------------------------------------------------------------------- matrix products
@rule("mmaf")
def mmaf(op: Op) -> None:
    for name in ("lhs", "rhs", "acc"):
        float_tile(op.value(name), name)
    _product(op)


@rule("mmai")
def mmai(op: Op) -> None:
    for name in ("lhs", "rhs", "acc"):
        integer_tile(op.value(name), name)
    _product(op)


@rule("mmaf_scaled")
def mmaf_scaled(op: Op) -> None:
    mmaf(op)
    for operand, scale, axis in (("lhs", "ls", -1), ("rhs", "rs", -2)):
        values, factors = float_tile(op.value(operand), operand).shape, float_tile(op.value(scale), scale).shape
        blocked = len(values) + axis
        if len(factors) != len(values) or any(
            v % f if i == blocked else v != f for i, (v, f) in enumerate(zip(values, factors, strict=True))
        ):
            fail(f"scales of shape {factors} do not fit {operand} of shape {values}")


def _product(op: Op) -> None:
    lhs, rhs, acc = (_shape(op.value(name)) for name in ("lhs", "rhs", "acc"))
    if op.result.type != op.value("acc").type:
        fail("accumulator and result differ in type")
    if not len(lhs) == len(rhs) == len(acc) or len(acc) not in (2, 3):
        fail("matrix products take two- or three-dimensional tiles of one rank")
    (m, k), (k_rhs, n) = lhs[-2:], rhs[-2:]
    if k != k_rhs or acc[-2:] != (m, n) or not lhs[:-2] == rhs[:-2] == acc[:-2]:
        fail(f"shapes {lhs} x {rhs} do not give {acc}")


def _shape(value: Value) -> tuple[int, ...]:
    return tile(value, "an operand").shape
