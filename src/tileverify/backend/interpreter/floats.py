"""Float ops and conversions.  Exact where NumPy's arithmetic is IEEE's or `rounding` is; else marked approximate.

To nearest even, a narrow format is computed in float32 and rounded once more, which equals rounding once for + - * /
and sqrt because float32 has more than twice its precision plus two bits (Figueroa, "When is double rounding
innocuous?").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ...frontend.bytecode.model import Op, ScalarType
from ...results.codes import TV
from .integers import COMPARISONS, bits_of
from .rounding import (
    DIRECTED,
    MINIFLOATS,
    NEAREST,
    Exact,
    exact_fused,
    exact_integer,
    exact_product,
    exact_quotient,
    exact_root,
    exact_sum,
    exact_value,
    from_bits,
    largest_finite,
    round_to,
    rounded,
    to_bits,
    to_odd_f64,
)
from .tiles import scalar_type
from .values import APPROXIMATE, UNSPECIFIED, Array, Tile, as_signed, joint_taint, storage, with_taint, wrapped

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule

EXACT_ROUNDING: Final = "nearest_even"


def flushed(op: Op, data: Array) -> Array:
    """Subnormal f32 values as zeros of their sign, if the op flushes."""
    if "ftz" not in op.flags or data.dtype != np.float32:
        return data
    small = np.abs(data) < np.finfo(np.float32).smallest_normal
    return np.asarray(np.where(small, np.copysign(np.float32(0), data), data))


def _finish(op: Op, data: Array, element: ScalarType, taint: Array | None, exact: bool) -> Tile:
    result = Tile(flushed(op, np.asarray(round_to(np.asarray(data), element))), taint)
    return result if exact else result.tainted(APPROXIMATE)


def _needs_exact(op: Op) -> bool:
    return op.attributes["rnd"] in DIRECTED or ("ftz" in op.flags and op.attributes["rnd"] == EXACT_ROUNDING)


def _exactly(op: Op, exact: Exact, element: ScalarType, taint: Array | None) -> Tile:
    """What a flushing op flushes is subnormal before it is rounded (seen on an H100)."""
    result = rounded(exact, element, op.attributes["rnd"])
    if "ftz" in op.flags:
        small = exact.below(float(np.finfo(np.float32).smallest_normal))
        result = np.where(small, np.copysign(np.float32(0), result), result)
    return Tile(result, taint)


# ------------------------------------------------------------------------------------------------- rules
def _arithmetic(nearest: Callable[[Array, Array], Array], exact: Callable[[Array, Array], Exact]) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
        a, b, taint = flushed(op, lhs.data), flushed(op, rhs.data), joint_taint(lhs, rhs)
        element = scalar_type(op.result)
        if _needs_exact(op):
            return _exactly(op, exact(a, b), element, taint)
        return _finish(op, nearest(a, b), element, taint, op.attributes["rnd"] == EXACT_ROUNDING)

    return rule


def lanes_of(op: Op) -> Callable[[Array, Array], Array] | None:
    """What a sum, product or extreme does to lanes, whatever their taint; None where that takes more than NumPy."""
    if "ftz" in op.flags:
        return None
    if op.name in _EXTREMES:
        return partial(extreme, *_EXTREMES[op.name], "nan" in op.flags)
    if op.name not in _NEAREST or op.attributes["rnd"] != EXACT_ROUNDING:
        return None
    nearest, element = _NEAREST[op.name], scalar_type(op.result)
    return lambda a, b: round_to(nearest(a, b), element)


_NEAREST: Final[dict[str, Callable[[Array, Array], Array]]] = {"addf": np.add, "mulf": np.multiply}


def _difference(a: Array, b: Array) -> Exact:
    return exact_sum(a, -b)


def _fma(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs, acc = run.tile(op, "lhs"), run.tile(op, "rhs"), run.tile(op, "acc")
    a, b, c = (flushed(op, tile.data) for tile in (lhs, rhs, acc))
    element, taint = scalar_type(op.result), joint_taint(lhs, rhs, acc)
    if _needs_exact(op) or element.bits == 64:
        return _exactly(op, exact_fused(a, b, c), element, taint)
    return _finish(op, fused(a, b, c), element, taint, op.attributes["rnd"] == EXACT_ROUNDING)


def fused(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` for carriers up to f32, rounded to odd into f64, so that rounding to nearest equals rounding once.

    The f64 product of two f32 values is exact.
    """
    return to_odd_f64(a.astype(np.float64) * b, c.astype(np.float64))


def _root(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    data, element = flushed(op, source.data), scalar_type(op.result)
    if _needs_exact(op):
        return _exactly(op, exact_root(data), element, source.taint)
    return _finish(op, np.sqrt(data), element, source.taint, op.attributes["rnd"] == EXACT_ROUNDING)


def _remainder(run: BlockInterpreter, op: Op) -> Tile:
    """A remainder is a number of the format: nothing is rounded."""
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    return _finish(op, np.fmod(lhs.data, rhs.data), scalar_type(op.result), joint_taint(lhs, rhs), True)


def _unary(compute: Callable[[Array], Array], exact: bool) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        source = run.tile(op, "s")
        return _finish(op, compute(flushed(op, source.data)), scalar_type(op.result), source.taint, exact)

    return rule


def _approximate(compute: Callable[[Array, Array], Array]) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
        return _finish(op, compute(lhs.data, rhs.data), scalar_type(op.result), joint_taint(lhs, rhs), False)

    return rule


def _integer_power(run: BlockInterpreter, op: Op) -> Tile:
    base, exponent = run.tile(op, "lhs"), run.tile(op, "rhs")
    power = np.asarray(as_signed(exponent.data, bits_of(op.value("rhs"))))
    data = np.power(base.data.astype(np.float64), power.astype(np.float64))
    return _finish(op, data, scalar_type(op.result), joint_taint(base, exponent), False)


def extreme(pick: _Pick, spread: _Pick, zero_sign: int, nan_wins: bool, a: Array, b: Array) -> Array:
    """maxf/minf: the other operand wins over a NaN unless that is propagated; +0 is above -0."""
    data = spread(a, b) if nan_wins else pick(a, b)
    zeros = (a == 0) & (b == 0)
    if zeros.any():
        sign = a.dtype.type(zero_sign)
        data = np.where(zeros, sign * (sign * a + sign * b), data)
    return np.asarray(data)


_Pick: TypeAlias = Callable[[Array, Array], Array]
_EXTREMES: Final[dict[str, tuple[_Pick, _Pick, int]]] = {
    "maxf": (np.fmax, np.maximum, 1),
    "minf": (np.fmin, np.minimum, -1),
}


def _extreme(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    a, b = flushed(op, lhs.data), flushed(op, rhs.data)
    return Tile(extreme(*_EXTREMES[op.name], "nan" in op.flags, a, b), joint_taint(lhs, rhs))


def _compare(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    result = COMPARISONS[op.attributes["pred"]](lhs.data, rhs.data)
    unordered = np.isnan(lhs.data) | np.isnan(rhs.data)
    result = result & ~unordered if op.attributes["fcmp"] == "ordered" else result | unordered
    return Tile(np.asarray(result), joint_taint(lhs, rhs))


def _reciprocal_root(data: Array) -> Array:
    return np.asarray(1 / np.sqrt(data))


RULES: Final[dict[str, Rule]] = {
    "addf": _arithmetic(np.add, exact_sum),
    "subf": _arithmetic(np.subtract, _difference),
    "mulf": _arithmetic(np.multiply, exact_product),
    "divf": _arithmetic(np.divide, exact_quotient),
    "fma": _fma,
    "maxf": _extreme,
    "minf": _extreme,
    "cmpf": _compare,
    "remf": _remainder,
    "fpowf": _approximate(np.power),
    "atan2": _approximate(np.arctan2),
    "fpowi": _integer_power,
    "absf": _unary(np.abs, True),
    "negf": _unary(np.negative, True),
    "ceil": _unary(np.ceil, True),
    "floor": _unary(np.floor, True),
    "sqrt": _root,
    "rsqrt": _unary(_reciprocal_root, False),
    "exp": _unary(np.exp, False),
    "exp2": _unary(np.exp2, False),
    "log": _unary(np.log, False),
    "log2": _unary(np.log2, False),
    "sin": _unary(np.sin, False),
    "cos": _unary(np.cos, False),
    "tan": _unary(np.tan, False),
    "sinh": _unary(np.sinh, False),
    "cosh": _unary(np.cosh, False),
    "tanh": _unary(np.tanh, False),
}


# ---------------------------------------------------------------------------------------------------------- conversions
# Conversions between widths and kinds of elements.


EXACT_MODES: Final = NEAREST | DIRECTED


def _extend(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    data = source.data
    if op.attributes["sgn"] == "signed":
        data = as_signed(data, bits_of(op.value("s"))).astype(np.int64)
    return Tile(wrapped(np.asarray(data.astype(np.uint64)), bits_of(op.result)), source.taint)


def _truncate(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    wide, bits = bits_of(op.value("s")), bits_of(op.result)
    result = wrapped(source.data, bits)
    promise = op.attributes["ovf"]
    if promise in ("nsw", "nw"):
        kept = as_signed(result, bits).astype(np.int64) == as_signed(source.data, wide).astype(np.int64)
        run.require(op, np.asarray(kept), source.taint, TV.ARITHMETIC_UNDEFINED, f"trunci nsw to i{bits} loses bits")
    if promise in ("nuw", "nw"):
        kept = result.astype(np.uint64) == source.data.astype(np.uint64)
        run.require(op, np.asarray(kept), source.taint, TV.ARITHMETIC_UNDEFINED, f"trunci nuw to i{bits} loses bits")
    return Tile(result, source.taint)


def _bitcast(run: BlockInterpreter, op: Op) -> Tile:
    source, old, new = run.tile(op, "s"), scalar_type(op.value("s")), scalar_type(op.result)
    if old.is_integer and new.is_integer:
        return source
    raw = np.asarray(to_bits(source.data, old))
    if new.bits >= 8:
        raw = raw.astype(storage(new.bytes), copy=False)
    return Tile(from_bits(raw, new), source.taint)


def _integer_to_float(run: BlockInterpreter, op: Op) -> Tile:
    source, element = run.tile(op, "s"), scalar_type(op.result)
    number = source.data.view(np.uint8) if source.data.dtype == np.bool_ else source.data
    if op.attributes["sgn"] == "signed":
        number = np.asarray(as_signed(source.data, bits_of(op.value("s"))))
    exact, mode = exact_integer(number), op.attributes["rnd"]
    return Tile(rounded(exact, element, mode), _doubtful(source.taint, exact.nearest, element, mode))


def _float_to_float(run: BlockInterpreter, op: Op) -> Tile:
    source, element, mode = run.tile(op, "s"), scalar_type(op.result), op.attributes["rnd"]
    if mode == EXACT_ROUNDING:
        result = np.asarray(round_to(source.data, element))
    else:
        result = rounded(exact_value(source.data), element, mode)
    return Tile(result, _doubtful(source.taint, source.data, element, mode))


def _doubtful(taint: Array | None, data: Array, element: ScalarType, mode: str) -> Array | None:
    """The taint of a conversion: no rule says what becomes of values that a small format does not reach."""
    if element.name not in MINIFLOATS:
        return taint if mode in EXACT_MODES else with_taint(taint, np.ones(data.shape, np.bool_), APPROXIMATE)
    beyond = np.abs(data) > largest_finite(element)
    if element.name == "f4E2M1FN":
        beyond = beyond | np.isnan(data)
    elif element.name == "f8E8M0FNU":
        beyond = beyond | ~(data >= 2.0**-127)
    return with_taint(taint, np.asarray(beyond), APPROXIMATE)


def _float_to_integer(run: BlockInterpreter, op: Op) -> Tile:
    """Toward zero; out of range and NaN are unspecified, or clamp (NaN to 0) with the saturating flag."""
    source, bits = run.tile(op, "s"), bits_of(op.result)
    signed = op.attributes["sgn"] == "signed"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    whole = np.trunc(source.data.astype(np.float64))
    below, above, invalid = whole < low, whole >= float(high + 1), np.isnan(whole)
    inside = np.where(below | above | invalid, 0.0, whole)
    wide = inside.astype(np.int64).view(np.uint64) if signed else inside.astype(np.uint64)
    result = wrapped(np.asarray(wide), bits)
    if "sat" not in op.flags:
        return Tile(result, with_taint(source.taint, np.asarray(below | above | invalid), UNSPECIFIED))
    ends = wrapped(np.array([low & ((1 << bits) - 1), high], np.uint64), bits)
    return Tile(np.where(below, ends[0], np.where(above, ends[1], result)), source.taint)


CONVERSION_RULES: Final[dict[str, Rule]] = {
    "exti": _extend,
    "trunci": _truncate,
    "bitcast": _bitcast,
    "itof": _integer_to_float,
    "ftof": _float_to_float,
    "ftoi": _float_to_integer,
}
