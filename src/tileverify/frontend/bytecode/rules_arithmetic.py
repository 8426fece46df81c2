"""Typing rules: element-wise arithmetic, comparisons and conversions."""

from __future__ import annotations

from collections.abc import Callable

from .model import Op, ScalarType, TileType, Value
from .wellformed import fail, float_tile, integer_tile, pointer_tile, rule, scalar_of, tile


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
