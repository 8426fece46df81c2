"""Float formats and ops: exact where they claim to be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter.rounding import MINIFLOATS, from_bits, round_to, to_bits
from tileverify.backend.interpreter.values import APPROXIMATE, UNSPECIFIED, Tile
from tileverify.frontend.bytecode.builder import BF16, F16, F32, F64, I8, I32, I64, BodyBuilder, scalar, tile
from tileverify.frontend.bytecode.model import ScalarType, Value

from .helpers import lanes, run_ops

TF32 = scalar("tf32")


def bits32(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def f32(f: BodyBuilder, *values: float) -> Value:
    return f.constant(tile(F32, len(values)), *(bits32(value) for value in values))


@pytest.mark.parametrize("name", sorted(MINIFLOATS))
def test_every_code_of_a_small_format_survives(name: str) -> None:
    element = scalar(name)
    codes = np.arange(1 << element.bits, dtype=np.uint8)
    values = from_bits(codes, element)
    again = from_bits(to_bits(values, element), element)
    np.testing.assert_array_equal(values, again)


def test_small_formats_by_their_tables() -> None:
    def value(name: str, code: int) -> float:
        return float(from_bits(np.array([code], np.uint8), scalar(name))[0])

    assert value("f8E4M3FN", 0x7E) == 448
    assert math.isnan(value("f8E4M3FN", 0x7F))
    assert value("f8E4M3FN", 0x01) == 2.0**-9
    assert value("f8E5M2", 0x7B) == 57344
    assert math.isinf(value("f8E5M2", 0x7C))
    assert value("f8E8M0FNU", 127) == 1
    assert [value("f4E2M1FN", code) for code in range(8)] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]


@pytest.mark.parametrize(
    ("element", "given", "rounded"),
    [
        (BF16, 1 + 2**-8, 1.0),
        (BF16, 1 + 3 * 2**-8, 1 + 2**-6),
        (BF16, 1 + 2**-8 + 2**-20, 1 + 2**-7),
        (TF32, 1 + 2**-11, 1.0),
        (TF32, 1 + 2**-11 + 2**-20, 1 + 2**-10),
        (F16, 65519.0, 65504.0),
        (F16, 65520.0, math.inf),
        (scalar("f8E4M3FN"), 17.0, 16.0),
        (scalar("f8E4M3FN"), 19.0, 20.0),
        (scalar("f8E5M2"), 1.125, 1.0),
        (scalar("f8E5M2"), 1.375, 1.5),
    ],
)
def test_rounding_to_nearest_even(element: ScalarType, given: float, rounded: float) -> None:
    with np.errstate(over="ignore"):
        assert float(round_to(np.array([given], np.float32), element)[0]) == rounded


def test_no_double_rounding_from_f64() -> None:
    value = np.array([1 + 2**-8 + 2**-40])
    assert float(round_to(value, BF16)[0]) == 1 + 2**-7


def test_minimum_and_maximum() -> None:
    nan = math.nan

    def extreme(name: str, *flags: str) -> list[float]:
        return lanes(lambda f: f.op(name, lhs=f32(f, 1, nan, -0.0, 0.0), rhs=f32(f, 2, 5, 0.0, -0.0), flags=flags))

    assert [math.copysign(1, x) for x in extreme("maxf")[2:]] == [1, 1]
    assert [math.copysign(1, x) for x in extreme("minf")[2:]] == [-1, -1]
    assert extreme("maxf")[:2] == [2, 5]
    assert extreme("minf")[:2] == [1, 5]
    assert math.isnan(extreme("maxf", "nan")[1])


def test_comparison_with_nan() -> None:
    def compare(predicate: str, order: str) -> list[bool]:
        return lanes(lambda f: f.op("cmpf", lhs=f32(f, 1, math.nan), rhs=f32(f, 2, 2), pred=predicate, fcmp=order))

    assert compare("less_than", "ordered") == [True, False]
    assert compare("less_than", "unordered") == [True, True]
    assert compare("not_equal", "ordered") == [True, False]
    assert compare("greater_than", "unordered") == [False, True]


def test_conversions_to_integers() -> None:
    def convert(element: ScalarType, *values: float, flags: tuple[str, ...] = (), sign: str = "signed") -> Tile:
        _, (result,) = run_ops(
            lambda f: f.op("ftoi", s=f32(f, *values), sgn=sign, flags=flags, results=[tile(element, len(values))])
        )
        return result

    exact = convert(I32, 1.9, -1.9, 2.0**31 - 128, -(2.0**31))
    assert exact.data.astype(np.int32).tolist() == [1, -1, 2**31 - 128, -(2**31)]
    assert exact.taint is None
    open_ = convert(I32, 2.0**31, math.nan, 5.0, -math.inf)
    assert open_.taint is not None
    assert open_.taint.tolist() == [UNSPECIFIED, UNSPECIFIED, 0, UNSPECIFIED]
    clamped = convert(I8, 300.0, -300.0, math.nan, 7.0, flags=("sat",))
    assert clamped.data.tolist() == [127, 128, 0, 7]
    unsigned = convert(I8, 300.0, -3.0, flags=("sat",), sign="unsigned")
    assert unsigned.data.tolist() == [255, 0]


def test_conversions_from_integers_and_bits() -> None:
    def convert(value: int, sign: str, target: ScalarType) -> list[float]:
        return lanes(lambda f: f.op("itof", s=f.constant(tile(I64, 1), value), sgn=sign, results=[tile(target, 1)]))

    assert convert(-1, "signed", F32) == [-1.0]
    assert convert(-1, "unsigned", F64) == [2.0**64]
    assert convert((1 << 24) + 1, "signed", F32) == [2.0**24]
    assert lanes(lambda f: f.op("bitcast", s=f32(f, 1.0), results=[tile(I32, 1)])) == [0x3F800000]
    assert lanes(lambda f: f.op("bitcast", s=f.constant(tile(I32, 1), 0x40000000), results=[tile(F32, 1)])) == [2.0]


def test_what_is_not_exact_says_so() -> None:
    def taints(name: str, **attributes: Any) -> bool:
        _, (result,) = run_ops(lambda f: f.op(name, lhs=f32(f, 1, 3), rhs=f32(f, 3, 1), **attributes))
        return result.taint is not None and bool((result.taint & APPROXIMATE).any())

    assert not any(taints(name) for name in ("addf", "subf", "mulf", "divf"))
    assert taints("divf", rnd="approx")
    assert not any(taints("addf", rnd=mode) for mode in ("zero", "negative_inf", "positive_inf"))
    _, (exponential,) = run_ops(lambda f: f.op("exp", s=f32(f, 1.0)))
    assert exponential.taint is not None


def test_flush_to_zero() -> None:
    tiny = 2.0**-149
    assert lanes(lambda f: f.op("addf", lhs=f32(f, tiny), rhs=f32(f, 0.0))) == [tiny]
    assert lanes(lambda f: f.op("addf", lhs=f32(f, tiny), rhs=f32(f, 0.0), flags=["ftz"])) == [0.0]
