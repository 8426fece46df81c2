"""Functions of numbers: each with its rule for residues, and the float64 function for the shadow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from . import exact, field
from .exact import NUMBER, Parts, built, packed, parts, unpacked
from .field import LEVELS, SLOTS, Array, NearTie, Undecided, logarithm
from .reference_code import note_rounding

VANISHING: Final = -3000.0
"""``exp`` of what lies below it is 0: so masks of -1e4, -1e9 or -3e38 do what -inf does, as they do in floats.  No
number that float64 holds is reached from there by three powers that it holds."""
_SMALLEST: Final = float(np.finfo(np.float64).tiny)
"""Below it float64 loses digits, then all: a power between is lost."""
_NEAR_ZERO: Final = 1e-12
_EXPONENTS: Final = 16
"""Different ones of a power, each of which is a product of its own."""
_FIRST: Final = field.level(0)
_LAST: Final = field.level(LEVELS - 1)
_LAST_DEAD: Final = np.uint16(sum(1 << slot for slot in range(SLOTS)[_LAST]))


def integers(value: int) -> Array:
    return exact.of_integers(np.asarray(value))


ONE: Final = integers(1)
TWO: Final = integers(2)
HALF: Final = exact.numbers_of(np.asarray(0.5))


# -------------------------------------------------------------------------------------------- powers of e
def exp2(x: Array) -> Array:
    return _power(x, np.exp2, exp2_vanishes(x))


def exp_vanishes(x: Array) -> Array:
    """Where a power of e is 0: what goes there, and what does not, is asked by every power."""
    return np.asarray(x["s"] < VANISHING)


def exp2_vanishes(x: Array) -> Array:
    return np.asarray(x["s"] < VANISHING / math.log(2))


def _power(x: Array, shadow: Callable[[Array], Array], vanishes: Array) -> Array:
    """2 to the power of the residues; ``shadow`` of the shadows, and 0 where it ``vanishes``."""
    a = parts(x)
    lanes = unpacked(a.dead)
    exponent = a.r.copy()
    dead = np.zeros(a.s.shape, np.uint16)
    for number in range(LEVELS - 1):
        above, below = field.level(number), field.level(number + 1)
        lost = lanes[below]
        if (
            lost.any()
        ):  # a power on top of a power: a function without laws of the highest residue, where laws hold for it
            exponent[below] = np.where(
                lost & ~lanes[field.level(0)],
                field.keyed(a.r, 7)[field.level(0)] % np.uint64(field.SMALLEST),
                a.r[below],
            )
            moved = np.zeros(lanes.shape, np.bool_)
            moved[above] = lost
            dead = np.asarray(dead | packed(moved))
    s = shadow(a.s)
    dead = np.asarray(dead | _LAST_DEAD | (a.dead & exact.LOST))
    beyond = np.isfinite(a.s) & ((s < _SMALLEST) | np.isposinf(s))
    result = built(Parts(field.exponential(exponent), s, dead, a.n + a.d + 1, a.d), a.s, lost=beyond)
    zero = vanishes & ~exact.is_lost(x)
    if zero.any():
        result[zero] = integers(0)
    return result


def exp(x: Array) -> Array:
    scaled = exact.multiply(x, exact.log2e())
    scaled["s"] = x["s"]
    return _power(scaled, np.exp, exp_vanishes(x))


def expm1(x: Array) -> Array:
    return _reshadowed(exact.subtract(exp(x), ONE), np.expm1(x["s"]), x["s"])


def sigmoid(x: Array) -> Array:
    return exact.divide(ONE, exact.add(ONE, exp(exact.negative(x))))


def _reshadowed(found: Array, shadow: Array, operand: Array) -> Array:
    """``found`` with another shadow; what was not finite has no residues, so it is lost where the shadow is."""
    p = parts(found)
    return built(
        Parts(p.r, np.asarray(shadow), p.dead, p.n, p.d), operand, lost=np.isfinite(shadow) & ~np.isfinite(p.s)
    )


def tanh(x: Array) -> Array:
    """(e - 1) / (e + 1) of e = exp(2x)."""
    near = exact.copied(x)
    near["s"] = np.clip(np.nan_to_num(x["s"]), -300, 300)  # or the shadow of the power overflows
    power = exp(exact.add(near, near))
    found = exact.divide(exact.subtract(power, ONE), exact.add(power, ONE))
    return _reshadowed(found, np.tanh(x["s"]), x["s"])


def sinh(x: Array) -> Array:
    both = exact.subtract(exp(x), exp(exact.negative(x)))
    return _reshadowed(exact.multiply(both, HALF), np.sinh(x["s"]), x["s"])


def cosh(x: Array) -> Array:
    both = exact.add(exp(x), exp(exact.negative(x)))
    return _reshadowed(exact.multiply(both, HALF), np.cosh(x["s"]), x["s"])


# -------------------------------------------------------------------------------------------- logarithms
def log2(x: Array) -> Array:
    """The exponents of powers of 2, which inverts `exp2` and takes products to sums; modulo the first prime, a function
    without laws.  The logarithm of a residue that is no power of 2 is that of its opposite, and dead.

    Sums of logarithms with any factors take one value at a share of at most D / sqrt(p) of all points (Weil), D the
    degrees of what they are of: so one counts as a fraction of degree D * sqrt(p).
    """
    a = parts(x)
    lanes = unpacked(a.dead)
    r, powers = logarithm(a.r)
    r[_FIRST] = field.keyed(a.r, 11)[_FIRST]
    for number in range(1, LEVELS):
        lanes[field.level(number)] = lanes[field.level(number - 1)] | ~powers[field.level(number)]
    lanes[_FIRST] = True
    dead = packed(lanes) | (a.dead & exact.LOST) | np.where(_sign_unknown(x), exact.LOST, np.uint16(0))
    degree = (a.n + a.d) * np.float32(math.sqrt(field.SMALLEST))
    found = built(Parts(r, np.log2(x["s"]), np.asarray(dead), np.zeros_like(degree), degree), a.s)
    ones = exact.same(x, ONE)
    if ones.any():
        found[ones] = integers(0)
    return found


def log(x: Array) -> Array:
    return _reshadowed(exact.multiply(log2(x), exact.ln(2)), np.log(x["s"]), x["s"])


def log10(x: Array) -> Array:
    return _reshadowed(exact.divide(log(x), exact.ln(10)), np.log10(x["s"]), x["s"])


def log1p(x: Array) -> Array:
    return _reshadowed(log(exact.add(ONE, x)), np.log1p(x["s"]), x["s"])


def arcsinh(x: Array) -> Array:
    """log(x + sqrt(x^2 + 1))"""
    root = sqrt(exact.add(exact.multiply(x, x), ONE))
    return _reshadowed(log(exact.add(x, root)), np.arcsinh(x["s"]), x["s"])


def arccosh(x: Array) -> Array:
    """log(x + sqrt(x^2 - 1))"""
    root = sqrt(exact.subtract(exact.multiply(x, x), ONE))
    return _reshadowed(log(exact.add(x, root)), np.arccosh(x["s"]), x["s"])


def arctanh(x: Array) -> Array:
    """log((1 + x) / (1 - x)) / 2"""
    quotient = exact.divide(exact.add(ONE, x), exact.subtract(ONE, x))
    return _reshadowed(exact.multiply(HALF, log(quotient)), np.arctanh(x["s"]), x["s"])


# ------------------------------------------------------------------------------------- without laws of their own
def _keyed(x: Array, key: int, shadow: Array) -> Array:
    a = parts(x)
    return built(Parts(field.keyed(a.r, key), shadow, a.dead, a.n + 1, a.d), a.s)


def _odd(key: int, shadow: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function with f(-x) = -f(x), and no other law."""

    def function(x: Array) -> Array:
        found = exact.multiply(x, _keyed(exact.multiply(x, x), key, np.ones(x.shape)))
        return _reshadowed(found, shadow(x["s"]), x["s"])

    return function


def cos(x: Array) -> Array:
    square = exact.multiply(x, x)
    found = _keyed(square, 14, np.cos(x["s"]))
    zero = exact.is_zero(x)
    if zero.any():
        found[zero] = integers(1)
    return found


sin: Final = _odd(13, np.sin)
erf: Final = _odd(12, np.vectorize(math.erf, otypes=[np.float64]))
arctan: Final = _odd(15, np.arctan)
arcsin: Final = _odd(16, np.arcsin)


def tan(x: Array) -> Array:
    return exact.divide(sin(x), cos(x))


def erfc(x: Array) -> Array:
    return exact.subtract(ONE, erf(x))


def _sign_unknown(x: Array) -> Array:
    """Where rounding may have decided on which side of 0 a shadow lies: functions end there."""
    s = x["s"]
    return np.asarray(np.where(exact.is_zero(x), s != 0, (s <= 0) & (s > -_NEAR_ZERO)))


# ------------------------------------------------------------------------------------------------- roots
def sqrt(x: Array) -> Array:
    """Multiplicative; for residues that are no squares its square is not the number, so these are dead."""
    a = parts(x)
    r, squares = field.root(a.r)
    dead = a.dead if squares.all() else np.asarray(a.dead | packed(~squares))
    zero = exact.is_zero(x)
    s = np.sqrt(np.where(zero, 0, a.s))
    return built(Parts(r, s, dead, (a.n + 1) / 2, a.d / 2), a.s, lost=_sign_unknown(x) & ~zero)


def rsqrt(x: Array) -> Array:
    return exact.divide(ONE, sqrt(x))


# ------------------------------------------------------------------------------- what the shadow decides
def absolute(x: Array) -> Array:
    return np.where(exact.order(x, integers(0)) == -1, exact.negative(x), x)


def maximum(x: Array, y: Array, nan_wins: bool = True) -> Array:
    return np.where(is_extreme(x, y, 1, nan_wins), x, y)


def minimum(x: Array, y: Array, nan_wins: bool = True) -> Array:
    return np.where(is_extreme(x, y, -1, nan_wins), x, y)


def is_extreme(x: Array, y: Array, wanted: int, nan_wins: bool) -> Array:
    """Where ``x`` is the larger (``wanted`` 1) or smaller (-1) of the two."""
    order = exact.order(x, y)
    first = (order == wanted) | (order == 0)
    unordered = order == 2
    if unordered.any():
        is_nan = np.isnan(np.broadcast_to(x["s"], order.shape))
        first = np.where(unordered, is_nan if nan_wins else ~is_nan, first)
    return np.asarray(first)


def logaddexp(x: Array, y: Array) -> Array:
    """``log(exp(x) + exp(y))``"""
    apart = absolute(exact.subtract(x, y))
    return exact.add(maximum(x, y), log1p(exp(exact.negative(apart))))


def sign(x: Array) -> Array:
    found = exact.order(x, integers(0))
    result = exact.of_integers(np.where(found == 2, 0, found))
    result["s"] = np.where(found == 2, np.nan, result["s"])
    return result


def to_whole(x: Array, rounding: Callable[[Array], Array]) -> Array:
    """``rounding`` (floor, ceil, trunc, rint) of the shadow, as float64.

    :raises NearTie: the number may lie on either side of where the rounding jumps.
    """
    note_rounding()
    s = exact.certain(x)
    whole = rounding(s)
    finite = np.isfinite(s)
    for moved in (s * (1 + exact.CLOSE) + exact.CLOSEST, s * (1 - exact.CLOSE) - exact.CLOSEST):
        doubtful = finite & (rounding(moved) != whole)
        if doubtful.any():
            nearest = exact.of_integers(np.where(doubtful & (np.abs(s) < 2**53), np.rint(s), 0).astype(np.int64))
            halves = exact.add(x, x)
            twice = exact.of_integers(np.where(doubtful & (np.abs(s) < 2**52), np.rint(2 * s), 0).astype(np.int64))
            known = exact.same(x, nearest) | exact.same(halves, twice)
            if (doubtful & ~known).any():
                raise NearTie("a number is rounded to an integer that is as good as between two in float64")
            whole = np.where(doubtful & known, rounding(np.where(known, np.rint(2 * s) / 2, s)), whole)
    return np.asarray(whole)


def rounded(x: Array, rounding: Callable[[Array], Array]) -> Array:
    whole = to_whole(x, rounding)
    finite = np.isfinite(whole)
    if (np.abs(whole[finite]) >= 2**63).any():
        raise Undecided("a number beyond 2^63 is rounded to an integer")
    result = exact.of_integers(np.where(finite, whole, 0).astype(np.int64))
    result["s"] = whole
    return result


def remainder(x: Array, y: Array, rounding: Callable[[Array], Array]) -> Array:
    """``x - y * rounding(x / y)``"""
    require_finite(x, y, "a remainder")
    return exact.subtract(x, exact.multiply(y, rounded(exact.divide(x, y), rounding)))


def floor_quotient(x: Array, y: Array) -> Array:
    """``floor(x / y)``"""
    require_finite(x, y, "a quotient that is rounded down")
    return rounded(exact.divide(x, y), np.floor)


def require_finite(x: Array, y: Array, what: str) -> None:
    """:raises Undecided: an operand is infinite, for which IEEE and the formula say different things."""
    if np.isinf(exact.certain(x)).any() or np.isinf(exact.certain(y)).any():
        raise Undecided(f"{what} of infinite numbers")


def power(x: Array, y: Array) -> Array:
    """``x ** y``: for whole and half exponents by products and a root, else ``exp(y * log(x))``."""
    exponents = np.unique(exact.certain(y))
    if len(exponents) > _EXPONENTS or not (np.isfinite(exponents).all() and (exponents * 2 % 1 == 0).all()):
        return _reshadowed(exp(exact.multiply(y, log(x))), np.power(x["s"], y["s"]), x["s"])
    x, y = np.broadcast_arrays(x, y)
    if len(exponents) == 1:
        return _half_power(x, int(exponents[0] * 2))
    found = zeros(x.shape)
    for exponent in exponents.tolist():
        lanes = y["s"] == exponent
        found[lanes] = _half_power(x[lanes], int(exponent * 2))
    return found


def _half_power(x: Array, twice: int) -> Array:
    if twice % 2 and np.isneginf(exact.certain(x)).any():
        raise Undecided("a half power of -inf")
    found = _whole_power(x, abs(twice) // 2)
    if twice % 2:
        found = exact.multiply(found, sqrt(x))
    return found if twice >= 0 else exact.divide(ONE, found)


def _whole_power(x: Array, exponent: int) -> Array:
    if exponent > 1 << 12:
        raise Undecided(f"a power with the exponent {exponent}")
    result = np.broadcast_to(ONE, x.shape)
    base = x
    while exponent:
        if exponent & 1:
            result = exact.multiply(result, base)
        exponent >>= 1
        if exponent:
            base = exact.multiply(base, base)
    return result


def zeros(shape: tuple[int, ...]) -> Array:
    return np.zeros(shape, NUMBER)
