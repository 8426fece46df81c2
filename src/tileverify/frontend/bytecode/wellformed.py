"""The vocabulary of the typing rules, and those of element-wise arithmetic, conversions and control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from .model import Op, PointerType, ScalarType, TileType, TokenType, Type, Value


class IllFormed(Exception):
    """An op whose operands, results or attributes do not fit together."""


def fail(reason: str) -> NoReturn:
    raise IllFormed(reason)


def types_of(values: Iterable[Value]) -> tuple[Type, ...]:
    return tuple([value.type for value in values])


# ------------------------------------------------------------------------------------ small vocabulary
def tile(value: Value, what: str) -> TileType:
    type = value.type
    if not isinstance(type, TileType):
        fail(f"{what} is not a tile")
    return type


def integer_tile(value: Value, what: str) -> TileType:
    type = value.type
    if not (isinstance(type, TileType) and isinstance(type.element, ScalarType) and type.element.name[0] == "i"):
        fail(f"{what} is not an integer tile")
    return type


def float_tile(value: Value, what: str) -> TileType:
    type = value.type
    if not (isinstance(type, TileType) and isinstance(type.element, ScalarType) and type.element.name[0] != "i"):
        fail(f"{what} is not a float tile")
    return type


def pointer_tile(value: Value, what: str) -> tuple[TileType, PointerType]:
    type = tile(value, what)
    if not isinstance(type.element, PointerType):
        fail(f"{what} is not a tile of pointers")
    return type, type.element


def scalar_of(type: TileType, what: str) -> ScalarType:
    if not isinstance(type.element, ScalarType):
        fail(f"{what} holds pointers")
    return type.element


def mask_for(value: Value, shape: tuple[int, ...], what: str) -> None:
    type = integer_tile(value, what)
    if scalar_of(type, what).bits != 1 or type.shape != shape:
        fail(f"{what} is not an i1 tile of shape {shape}")


def scalar_integer(value: Value, what: str) -> ScalarType:
    type = integer_tile(value, what)
    if type.shape:
        fail(f"{what} is not a scalar")
    return scalar_of(type, what)


def token(value: Value, what: str) -> None:
    if not isinstance(value.type, TokenType):
        fail(f"{what} is not a token")


def one_result(op: Op) -> Value:
    if len(op.results) != 1:
        fail(f"{len(op.results)} results, one expected")
    return op.results[0]


Rule = Callable[[Op], None]
RULES: Final[dict[str, Rule]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a typing rule under the names that declarations use."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


# ----------------------------------------------------------------------------------------------------- rules arithmetic
# Typing rules: element-wise arithmetic, comparisons and conversions.


def _all_alike(op: Op) -> None:
    type = op.results[0].type
    for name, operand in op.operands.items():
        assert isinstance(operand, Value)
        if operand.type is not type and operand.type != type:
            fail(f"operand {name} and the result differ in type")


@rule("same_float")
def same_float(op: Op) -> None:
    float_tile(op.results[0], "the result")
    _all_alike(op)


@rule("same_float_approximate")
def same_float_approximate(op: Op) -> None:
    same_float(op)
    if op.attributes["rnd"] not in ("approx", "full"):
        fail(f"rounding {op.attributes['rnd']} does not exist here")


@rule("same_integer")
def same_integer(op: Op) -> None:
    integer_tile(op.results[0], "the result")
    _all_alike(op)


@rule("integer_division")
def integer_division(op: Op) -> None:
    same_integer(op)
    rounding = op.attributes["rnd"]
    if rounding not in ("zero", "negative_inf", "positive_inf"):
        fail(f"rounding {rounding} does not exist for integers")


@rule("float_to_integer_power")
def float_to_integer_power(op: Op) -> None:
    base = float_tile(op.value("lhs"), "the base")
    if op.result.type != base or integer_tile(op.value("rhs"), "the exponent").shape != base.shape:
        fail("base, exponent and result differ in shape or type")


@rule("compare_float")
def compare_float(op: Op) -> None:
    _compare(op, float_tile(op.value("lhs"), "lhs"))


@rule("compare_integer")
def compare_integer(op: Op) -> None:
    _compare(op, integer_tile(op.value("lhs"), "lhs"))


def _compare(op: Op, type: TileType) -> None:
    if op.value("rhs").type != type:
        fail("lhs and rhs differ in type")
    _result(op, type.shape, lambda element: element.bits == 1, "an i1 tile")


def _result(op: Op, shape: tuple[int, ...], fits: Callable[[ScalarType], bool], wanted: str) -> None:
    made = tile(op.result, "the result")
    if made.shape != shape or not isinstance(made.element, ScalarType) or not fits(made.element):
        fail(f"the result is not {wanted} of the operand's shape")


@rule("bitcast")
def bitcast(op: Op) -> None:
    source = tile(op.value("s"), "the operand")
    bits = scalar_of(source, "the operand").bits
    _result(op, source.shape, lambda element: element.bits == bits, f"a tile of {bits}-bit elements")


@rule("widen_integer")
def widen_integer(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    bits = scalar_of(source, "the operand").bits
    _result(op, source.shape, lambda e: e.is_integer and e.bits > bits, "a wider integer tile")


@rule("narrow_integer")
def narrow_integer(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    bits = scalar_of(source, "the operand").bits
    _result(op, source.shape, lambda e: e.is_integer and e.bits < bits, "a narrower integer tile")


@rule("float_to_float")
def float_to_float(op: Op) -> None:
    source = float_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_float, "a float tile")


@rule("float_to_integer")
def float_to_integer(op: Op) -> None:
    source = float_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_integer, "an integer tile")


@rule("integer_to_float")
def integer_to_float(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_float, "a float tile")


@rule("integer_to_pointer")
def integer_to_pointer(op: Op) -> None:
    source = integer_tile(op.value("s"), "the operand")
    made, _ = pointer_tile(op.result, "the result")
    if made.shape != source.shape or scalar_of(source, "the operand").bits != 64:
        fail("the operand is not an i64 tile of the result's shape")


@rule("pointer_to_integer")
def pointer_to_integer(op: Op) -> None:
    source, _ = pointer_tile(op.value("s"), "the operand")
    _result(op, source.shape, lambda e: e.is_integer and e.bits == 64, "an i64 tile")


@rule("pointer_to_pointer")
def pointer_to_pointer(op: Op) -> None:
    source, _ = pointer_tile(op.value("s"), "the operand")
    made, _ = pointer_tile(op.result, "the result")
    if made.shape != source.shape:
        fail("operand and result differ in shape")


# -------------------------------------------------------------------------------------------------------- rules control
# Typing rules: structured control flow.  What terminators hand on is checked by `typing_rules`.


@rule("for")
def for_loop(op: Op) -> None:
    counter = op.value("lower").type
    scalar_integer(op.value("lower"), "the lower bound")
    if op.value("upper").type != counter or op.value("step").type != counter:
        fail("the bounds and the step differ in type")
    carried = types_of(op.group("inits"))
    _handed_on((*carried, *types_of(op.results)))
    if types_of(op.results) != carried:
        fail("results and carried values differ in type")
    _body(op, (counter, *carried))
    if op.regions[0].blocks[0].terminator.name != "continue":
        fail("the body does not end in continue")


@rule("loop")
def endless_loop(op: Op) -> None:
    _handed_on((*types_of(op.group("inits")), *types_of(op.results)))
    _body(op, types_of(op.group("inits")))
    if op.regions[0].blocks[0].terminator.name not in ("continue", "break", "return"):
        fail("the body does not end in continue, break or return")


def _handed_on(types: tuple[Type, ...]) -> None:
    """Views are known where they are used: no loop carries one, and no branch chooses one."""
    if not all(isinstance(type, TileType | TokenType) for type in types):
        fail("only tiles and tokens are handed on")


def _body(op: Op, wanted: tuple[Type, ...]) -> None:
    if not op.regions[0].blocks:
        fail("the body is empty")
    if types_of(op.regions[0].blocks[0].arguments) != wanted:
        fail("the arguments of the body do not fit the loop")


@rule("if")
def branch(op: Op) -> None:
    mask_for(op.value("c"), (), "the condition")
    _handed_on(types_of(op.results))
    then, otherwise = op.regions
    if not then.blocks:
        fail("the first region is empty")
    if not otherwise.blocks and op.results:
        fail("it has results, but no else region")
    for region in op.regions:
        if region.blocks and region.blocks[0].arguments:
            fail("its blocks take no arguments")


@rule("terminator")
def terminator(op: Op) -> None:
    if op.results:
        fail("it has results")
