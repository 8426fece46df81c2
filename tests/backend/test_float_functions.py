"""Float functions by hand-computed values, and matrix products of the small formats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tileverify.backend.interpreter.values import APPROXIMATE, Tile
from tileverify.frontend.bytecode.builder import BF16, F16, F32, F64, I32, BodyBuilder, scalar, tile
from tileverify.frontend.bytecode.model import ScalarType, Value

from .helpers import run_ops

BITS = {F16: np.uint16, F32: np.uint32, F64: np.uint64}
FLOATS = {F16: np.float16, F32: np.float32, F64: np.float64}
INF, NAN = math.inf, math.nan


def floats(f: BodyBuilder, element: ScalarType, *values: float) -> Value:
    raw = np.array(values, FLOATS[element]).view(BITS[element])
    return f.constant(tile(element, len(values)), *raw.tolist())


def result(build: object) -> Tile:
    return run_ops(build)[1][0]  # type: ignore[arg-type]


def approximate(found: Tile) -> bool:
    return found.taint is not None and bool((found.taint & APPROXIMATE).all())


@pytest.mark.parametrize("element", [F16, F32, F64], ids=lambda element: element.name)
@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("absf", [-1.5, -0.0, -INF, 2.0], [1.5, 0.0, INF, 2.0]),
        ("negf", [-1.5, 0.0, INF, NAN], [1.5, -0.0, -INF, NAN]),
        ("ceil", [-1.5, 1.25, -0.25, INF], [-1.0, 2.0, -0.0, INF]),
        ("floor", [-1.5, 1.25, 0.25, -INF], [-2.0, 1.0, 0.0, -INF]),
        ("sqrt", [4.0, 2.25, 0.0, -1.0], [2.0, 1.5, 0.0, NAN]),
    ],
)
def test_exact_functions(name: str, given: list[float], expected: list[float], element: ScalarType) -> None:
    found = result(lambda f: f.op(name, s=floats(f, element, *given)))
    np.testing.assert_array_equal(found.data, expected)
    np.testing.assert_array_equal(np.signbit(found.data[~np.isnan(found.data)]), np.signbit(
        np.array(expected)[~np.isnan(expected)]
    ))  # fmt: skip
    assert found.taint is None


@pytest.mark.parametrize(("element", "relative"), [(F16, 1e-3), (F32, 3e-7), (F64, 1e-15)], ids=["f16", "f32", "f64"])
@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("exp2", [3.0, -1.0, 0.5, -INF], [8.0, 0.5, math.sqrt(2), 0.0]),
        ("log", [1.0, 8.0, 0.0, -1.0], [0.0, math.log(8), -INF, NAN]),
        ("log2", [1.0, 8.0, 0.25, INF], [0.0, 3.0, -2.0, INF]),
        ("rsqrt", [4.0, 0.25, 0.0, INF], [0.5, 2.0, INF, 0.0]),
        ("sin", [0.0, 0.5, -2.0, INF], [0.0, math.sin(0.5), math.sin(-2), NAN]),
        ("cos", [0.0, 0.5, -2.0, INF], [1.0, math.cos(0.5), math.cos(-2), NAN]),
        ("tan", [0.0, 0.5, -2.0, INF], [0.0, math.tan(0.5), math.tan(-2), NAN]),
        ("sinh", [0.0, 0.5, -2.0, INF], [0.0, math.sinh(0.5), math.sinh(-2), INF]),
        ("cosh", [0.0, 0.5, -2.0, INF], [1.0, math.cosh(0.5), math.cosh(-2), INF]),
        ("tanh", [0.0, 0.5, -2.0, INF], [0.0, math.tanh(0.5), math.tanh(-2), 1.0]),
    ],
)
def test_approximate_functions(
    name: str, given: list[float], expected: list[float], element: ScalarType, relative: float
) -> None:
    found = result(lambda f: f.op(name, s=floats(f, element, *given)))
    np.testing.assert_allclose(found.data.astype(np.float64), expected, rtol=relative)
    assert approximate(found)


def test_functions_of_two_operands() -> None:
    def of(name: str, lhs: list[float], rhs: list[float]) -> Tile:
        return result(lambda f: f.op(name, lhs=floats(f, F32, *lhs), rhs=floats(f, F32, *rhs)))

    remainder = of("remf", [7.5, -7.5, 7.5, 1.0], [2.0, 2.0, -2.0, 0.0])
    np.testing.assert_array_equal(remainder.data, [1.5, -1.5, 1.5, NAN])
    assert remainder.taint is None
    power = of("fpowf", [2.0, 9.0, -2.0, -2.0], [10.0, 0.5, 3.0, 0.5])
    np.testing.assert_allclose(power.data, [1024, 3, -8, NAN], rtol=3e-7)
    angle = of("atan2", [1.0, -1.0, 0.0, 2.0], [1.0, -1.0, -1.0, 0.0])
    np.testing.assert_allclose(angle.data, [math.pi / 4, -3 * math.pi / 4, math.pi, math.pi / 2], rtol=3e-7)
    assert approximate(power)
    assert approximate(angle)


def test_integer_powers_read_the_exponent_signed() -> None:
    found = result(lambda f: f.op("fpowi", lhs=floats(f, F32, 2, 2, -3, 0), rhs=f.constant(tile(I32, 4), 10, -2, 3, 0)))
    np.testing.assert_array_equal(found.data, [1024, 0.25, -27, 1])
    assert approximate(found)


def test_conversion_between_floats() -> None:
    def to(element: ScalarType, *values: float, rnd: str = "nearest_even") -> Tile:
        return result(lambda f: f.op("ftof", s=floats(f, F32, *values), rnd=rnd, results=[tile(element, len(values))]))

    half = to(F16, 1 + 2**-11, 1 + 3 * 2**-11, 2.0**-25, 65519.0)
    assert half.data.tolist() == [1.0, 1 + 2**-9, 0.0, 65504.0]
    assert half.taint is None
    assert to(BF16, 1 + 2**-8 + 2**-20).data.tolist() == [1 + 2**-7]
    assert to(F64, 0.1).data.tolist() == [float(np.float32(0.1))]
    tiny = to(scalar("f8E4M3FN"), 17.0, 449.0)
    assert tiny.data[0] == 16
    assert tiny.taint is not None
    assert tiny.taint.tolist() == [0, APPROXIMATE]
    assert to(scalar("tf32"), 1 + 2**-11 + 2**-12, rnd="zero").data.tolist() == [1.0]
    assert to(scalar("tf32"), 1 + 2**-11, rnd="nearest_away").data.tolist() == [1 + 2**-10]


def test_products_of_scaled_small_floats() -> None:
    """Each scale (a power of two) counts for the 32 elements of its run along the contracted dimension."""
    f8, scale = scalar("f8E4M3FN"), scalar("f8E8M0FNU")
    one, two, three = 0x38, 0x40, 0x44
    left = [[one] * 32 + [two] * 32, [three] * 64]
    right = [[one, two]] * 32 + [[three, one]] * 32

    def build(f: BodyBuilder) -> Value:
        a = f.constant(tile(f8, 2, 64), *(code for row in left for code in row))
        b = f.constant(tile(f8, 64, 2), *(code for row in right for code in row))
        ls = f.constant(tile(scale, 2, 2), 127, 128, 126, 127)
        rs = f.constant(tile(scale, 2, 2), 127, 127, 129, 127)
        acc = f.constant(tile(F32, 2, 2), 0x3F800000)
        value: Value = f.op("mmaf_scaled", lhs=a, rhs=b, acc=acc, ls=ls, rs=rs)
        return value

    found = result(build)
    a = np.array([[1.0] * 32 + [2.0 * 2] * 32, [3 * 0.5] * 32 + [3.0] * 32])
    b = np.array([[1.0, 2.0]] * 32 + [[3.0 * 4, 1.0]] * 32)
    by_hand = [[1 + 32 * 1 + 32 * 4 * 12, 1 + 32 * 2 + 32 * 4], [1 + 32 * 1.5 + 32 * 36, 1 + 32 * 3 + 32 * 3]]
    assert (1 + a @ b).tolist() == by_hand
    assert found.data.tolist() == by_hand
    assert approximate(found)
