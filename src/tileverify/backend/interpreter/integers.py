"""Integer ops on machine words: wrapping arithmetic, three division roundings, shifts, comparisons.

Semantics: Tile IR specification, integer operations (13.4); ``nsw``/``nuw`` violations, zero divisors and
``INT_MIN / -1`` are undefined behaviour and are recorded (TV402).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op, TileType, Value
from ...results.codes import TV
from .values import UNSPECIFIED, Array, NotModelled, Tile, as_signed, integer_bits, joint_taint, with_taint, wrapped

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule


def bits_of(value: Value) -> int:
    assert isinstance(value.type, TileType)
    return integer_bits(value.type.element)


def _words(data: Array) -> Array:
    """Bool lanes as bytes: NumPy's ``+`` and ``*`` on bools are logical."""
    return data.view(np.uint8) if data.dtype == np.bool_ else data


# ------------------------------------------------------------------------------------------ wide products
def high_product(a: Array, b: Array, bits: int) -> Array:
    """The high N bits of the unsigned 2N-bit product of two iN carriers."""
    if bits <= 32:
        return wrapped((a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(bits), bits)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    cross = a_high * b_low + ((a_low * b_low) >> half)
    middle = (cross & low) + a_low * b_high
    return np.asarray(a_high * b_high + (cross >> half) + (middle >> half))


def signed_high_product(a: Array, b: Array, bits: int) -> Array:
    """The high N bits of the signed 2N-bit product."""
    zero = np.zeros((), a.dtype)
    high = high_product(a, b, bits)
    return np.asarray(high - np.where(as_signed(a, bits) < 0, b, zero) - np.where(as_signed(b, bits) < 0, a, zero))


# ---------------------------------------------------------------------------------------------- overflow
def _overflow_add(a: Array, b: Array, result: Array, bits: int, signed: bool) -> Array:
    return np.asarray(as_signed((a ^ result) & (b ^ result), bits) < 0 if signed else result < a)


def _overflow_sub(a: Array, b: Array, result: Array, bits: int, signed: bool) -> Array:
    return np.asarray(as_signed((a ^ b) & (a ^ result), bits) < 0 if signed else a < b)


def _overflow_mul(a: Array, b: Array, result: Array, bits: int, signed: bool) -> Array:
    if signed:
        return np.asarray(as_signed(signed_high_product(a, b, bits), bits) != as_signed(result, bits) >> (bits - 1))
    return np.asarray(high_product(a, b, bits) != 0)


def _overflow_shl(a: Array, b: Array, result: Array, bits: int, signed: bool) -> Array:
    amount = np.minimum(b, bits - 1)
    if signed:
        return np.asarray(as_signed(result, bits) >> as_signed(amount, bits) != as_signed(a, bits))
    return np.asarray(result >> amount != a)


Overflow = Callable[[Array, Array, Array, int, bool], Array]


def _check_overflow(
    run: BlockInterpreter, op: Op, overflow: Overflow, a: Array, b: Array, result: Array, bits: int, taint: Array | None
) -> None:
    promise = op.attributes["ovf"]
    if promise == "none":
        return
    if bits < 8:
        raise NotModelled(f"{op.name} {promise} on i{bits}")
    for name, signed in (("nsw", True), ("nuw", False)):
        if promise in (name, "nw"):
            broken = np.asarray(overflow(a, b, result, bits, signed))
            run.require(op, ~broken, taint, TV.ARITHMETIC_UNDEFINED, f"{op.name} {name} overflows i{bits}")


def _wrapping(compute: Callable[[Array, Array], Array], overflow: Overflow) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
        bits = bits_of(op.result)
        taint = joint_taint(lhs, rhs)
        result = wrapped(np.asarray(compute(_words(lhs.data), _words(rhs.data))), bits)
        _check_overflow(run, op, overflow, lhs.data, rhs.data, result, bits, taint)
        return Tile(result, taint)

    return rule


# -------------------------------------------------------------------------------------------------- shifts
def _shift(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    bits = bits_of(op.result)
    taint = joint_taint(lhs, rhs)
    valid = np.asarray(rhs.data < bits)
    run.require(op, valid, taint, TV.ARITHMETIC_UNDEFINED, f"{op.name} by {bits} or more bits")
    value, amount = _words(lhs.data), np.where(valid, _words(rhs.data), np.zeros((), _words(rhs.data).dtype))
    if op.name == "shli":
        result = wrapped(np.asarray(value << amount), bits)
        _check_overflow(run, op, _overflow_shl, lhs.data, amount, result, bits, with_taint(taint, ~valid, UNSPECIFIED))
    elif op.attributes["sgn"] == "signed":
        result = wrapped(np.asarray(as_signed(lhs.data, bits) >> amount.astype(np.int8)), bits)
    else:
        result = wrapped(np.asarray(value >> amount), bits)
    return Tile(result, with_taint(taint, ~valid, UNSPECIFIED))


# ------------------------------------------------------------------------------------------------ division
def divide(a: Array, b: Array, rounding: str) -> Array:
    """The quotient of two arrays of one integer type, ``b`` non-zero, rounded as ``divi`` names it."""
    floor = np.floor_divide(a, b)
    if rounding == "negative_inf":
        return np.asarray(floor)
    inexact = np.asarray(a - floor * b) != 0
    if rounding == "positive_inf":
        return np.asarray(floor + inexact)
    if rounding == "zero":
        return np.asarray(floor + (inexact & ((a < 0) != (b < 0))))
    raise NotModelled(f"divi {rounding}")


def _division(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    bits = bits_of(op.result)
    taint = joint_taint(lhs, rhs)
    signed = op.attributes["sgn"] == "signed"
    a, b = _words(lhs.data), _words(rhs.data)
    zero = np.asarray(b == 0)
    run.require(op, ~zero, rhs.taint, TV.ARITHMETIC_UNDEFINED, f"{op.name} by zero")
    bad = zero
    if signed:
        a, b = as_signed(lhs.data, bits), as_signed(rhs.data, bits)
        extreme = np.asarray((b == -1) & (a == -(1 << (bits - 1))))
        run.require(op, ~extreme, taint, TV.ARITHMETIC_UNDEFINED, f"{op.name} of the smallest i{bits} by -1")
        bad = zero | extreme
    b = np.where(bad, np.ones((), b.dtype), b)
    quotient = divide(a, b, op.attributes["rnd"] if op.name == "divi" else "zero")
    result = quotient if op.name == "divi" else np.asarray(a - quotient * b)
    return Tile(wrapped(result, bits), with_taint(taint, bad, UNSPECIFIED))


# --------------------------------------------------------------------------------- bitwise, order, unary
def _bitwise(compute: Callable[[Array, Array], Array]) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
        taint = joint_taint(lhs, rhs)
        if taint is not None and lhs.data.dtype == np.bool_ and op.name in _DECIDING:
            taint = np.where(_decided(lhs, op) | _decided(rhs, op), np.uint8(0), taint)
        return Tile(np.asarray(compute(lhs.data, rhs.data)), taint)

    return rule


_DECIDING: Final = {"andi": False, "ori": True}
"""The boolean that decides such an op, whatever the other operand is.  The prover says so in rules of its own."""


def _decided(side: Tile, op: Op) -> Array:
    """The lanes that this side decides alone, because it is specified itself."""
    decides = np.asarray(side.data == _DECIDING[op.name])
    return decides if side.taint is None else np.asarray(decides & (side.taint == 0))


def _extreme(compute: Callable[[Array, Array], Array]) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
        bits = bits_of(op.result)
        if op.attributes["sgn"] == "signed":
            result = wrapped(np.asarray(compute(as_signed(lhs.data, bits), as_signed(rhs.data, bits))), bits)
        else:
            result = np.asarray(compute(lhs.data, rhs.data))
        return Tile(result, joint_taint(lhs, rhs))

    return rule


COMPARISONS: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less_than": np.less,
    "less_than_or_equal": np.less_equal,
    "greater_than": np.greater,
    "greater_than_or_equal": np.greater_equal,
}


def _compare(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    a, b = lhs.data, rhs.data
    if op.attributes["sgn"] == "signed":
        bits = bits_of(op.value("lhs"))
        a, b = as_signed(a, bits), as_signed(b, bits)
    return Tile(np.asarray(COMPARISONS[op.attributes["pred"]](a, b)), joint_taint(lhs, rhs))


def _high_product(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    return Tile(high_product(_words(lhs.data), _words(rhs.data), bits_of(op.result)), joint_taint(lhs, rhs))


def _negate(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    bits = bits_of(op.result)
    zero = np.zeros_like(_words(source.data))
    result = wrapped(np.asarray(zero - _words(source.data)), bits)
    _check_overflow(run, op, _overflow_sub, zero, source.data, result, bits, source.taint)
    return Tile(result, source.taint)


def _absolute(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    bits = bits_of(op.result)
    return Tile(wrapped(np.abs(np.asarray(as_signed(source.data, bits))), bits), source.taint)


RULES: Final[dict[str, Rule]] = {
    "addi": _wrapping(np.add, _overflow_add),
    "subi": _wrapping(np.subtract, _overflow_sub),
    "muli": _wrapping(np.multiply, _overflow_mul),
    "mulhii": _high_product,
    "shli": _shift,
    "shri": _shift,
    "divi": _division,
    "remi": _division,
    "andi": _bitwise(np.bitwise_and),
    "ori": _bitwise(np.bitwise_or),
    "xori": _bitwise(np.bitwise_xor),
    "maxi": _extreme(np.maximum),
    "mini": _extreme(np.minimum),
    "cmpi": _compare,
    "negi": _negate,
    "absi": _absolute,
}
