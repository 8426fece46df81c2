"""Float formats: every code of the small ones, every tie between neighbours, every mode of their conversions.

``observed/small_formats.json``: the 256 values of each 8-bit format as PyTorch 2.13 decodes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter.rounding import MINIFLOATS, from_bits, round_to, to_bits
from tileverify.backend.interpreter.values import APPROXIMATE, UNSPECIFIED, Tile, carrier
from tileverify.frontend.bytecode.builder import BF16, F16, F32, F64, I1, I8, I16, I32, I64, BodyBuilder, scalar, tile
from tileverify.frontend.bytecode.model import ScalarType, Value

from .helpers import run_ops
from .oracle import FORMATS

Array = np.ndarray[Any, Any]

DECODED = json.loads((Path(__file__).parent / "observed" / "small_formats.json").read_text())
TF32, E4M3, E5M2, E8M0, E2M1 = (scalar(n) for n in ("tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN"))
ROUNDED_INTO = [F64, F32, TF32, BF16, F16, E5M2, E4M3, E2M1]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As the interpreter runs: overflow is a result, not a warning."""
    with np.errstate(all="ignore"):
        yield


def name_of(element: ScalarType) -> str:
    return element.name


def result(build: Any) -> Tile:
    return run_ops(build)[1][0]


# ------------------------------------------------------------------------------------------------ encodings
@pytest.mark.parametrize("name", sorted(DECODED))
def test_every_code_of_an_8_bit_format(name: str) -> None:
    expected = np.array([float.fromhex(text) for text in DECODED[name]], np.float32)
    np.testing.assert_array_equal(from_bits(np.arange(256, dtype=np.uint8), scalar(name)), expected)


def test_every_code_of_the_4_bit_format() -> None:
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    decoded = from_bits(np.arange(16, dtype=np.uint8), E2M1)
    assert decoded.tolist() == values + [-value for value in values]
    assert np.signbit(decoded).tolist() == [False] * 8 + [True] * 8


@pytest.mark.parametrize("element", [BF16, F16, E5M2, E4M3, E2M1, E8M0], ids=name_of)
def test_every_code_survives(element: ScalarType) -> None:
    codes = np.arange(1 << element.bits, dtype=np.uint16 if element.bits == 16 else np.uint8)
    values = from_bits(codes, element)
    again = to_bits(values, element)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(again[numbers], codes[numbers])
    assert np.isnan(from_bits(again[~numbers], element)).all()


# --------------------------------------------------------------------------------------------- nearest even
def finite_values(element: ScalarType) -> Array:
    """All finite values from 0 upwards, in f64; of the wide formats some around every power of two."""
    form = FORMATS[element.name]
    if element.bits <= 16 or element is TF32:
        width = element.bits if element is not TF32 else 19
        codes = np.arange(1 << (width - 1), dtype=np.uint32)
        if element is TF32:
            values = (codes << np.uint32(13)).view(np.float32).astype(np.float64)
        else:
            values = from_bits(codes.astype(np.uint16 if width == 16 else np.uint8), element).astype(np.float64)
        return np.unique(values[np.isfinite(values)])
    exponents = np.arange(form.smallest_exponent - form.mantissa, 128 if element is F32 else 1023)
    powers = np.ldexp(1.0, exponents)
    kind = carrier(element)
    near = [powers.astype(kind)]
    for _ in range(3):
        near += [np.nextafter(near[-1], kind(np.inf))]
    return np.unique(np.concatenate(near).astype(np.float64))


@pytest.mark.parametrize("element", [F32, TF32, BF16, F16, E5M2, E4M3, E2M1], ids=name_of)
def test_every_tie_goes_to_the_even_neighbour(element: ScalarType) -> None:
    """Half way between neighbours, and next to it on both sides, all exact in f64."""
    values = finite_values(element)
    lower, upper = values[:-1], values[1:]
    if element is F32:
        adjacent = np.nextafter(lower.astype(np.float32), np.float32(np.inf)).astype(np.float64) == upper
        lower, upper = lower[adjacent], upper[adjacent]
    middle = (lower + upper) / 2
    even = (to_bits(lower.astype(carrier(element)), element) & (1 << 13 if element is TF32 else 1)) == 0
    for given, expected in (
        (middle, np.where(even, lower, upper)),
        (np.nextafter(middle, np.inf), upper),
        (np.nextafter(middle, 0.0), lower),
        (lower, lower),
    ):
        for sign in (1.0, -1.0):
            np.testing.assert_array_equal(round_to(sign * given, element).astype(np.float64), sign * expected)


@pytest.mark.parametrize("element", [BF16, F16, E5M2, E4M3, E2M1], ids=name_of)
@pytest.mark.parametrize("source", [BF16, F16], ids=name_of)
def test_all_16_bit_floats_in_the_shorter_formats(element: ScalarType, source: ScalarType) -> None:
    values = finite_values(source)
    values = values[:: 1 if element.bits <= 8 else 7]
    form = FORMATS[element.name]
    found = round_to(values.astype(np.float32), element)
    with np.errstate(over="ignore"):
        wanted = [float(form.rounded(Fraction(value), "nearest_even")) for value in values.tolist()]
    assert found.tolist() == wanted


@pytest.mark.parametrize("name", sorted(MINIFLOATS.keys() - {"f8E8M0FNU"}))
def test_minifloats_against_ml_dtypes(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f4E2M1FN": "float4_e2m1fn"}[name]
    form = FORMATS[name]
    codes = np.arange(1 << 16, dtype=np.uint16)
    values = from_bits(codes, F16)
    values = values[np.abs(values) <= float(form.largest)]
    expected = values.astype(getattr(ml_dtypes, kind)).astype(np.float32)
    np.testing.assert_array_equal(round_to(values, scalar(name)), expected)


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "bf16"])
def test_formats_against_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    kind = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2, "bf16": torch.bfloat16}[name]
    source = np.random.default_rng(3)
    drawn = source.normal(size=20000) * 2.0 ** source.integers(-40, 20, 20000)
    values = np.concatenate([from_bits(np.arange(1 << 16, dtype=np.uint16), F16), drawn.astype(np.float32)])
    values = values[np.abs(values) <= float(FORMATS[name].largest)]
    expected = torch.from_numpy(values).to(kind).to(torch.float32).numpy()
    np.testing.assert_array_equal(round_to(values, scalar(name)), expected)


# ------------------------------------------------------------------------------------------------ the ops
def bits_of(element: ScalarType, *values: float) -> list[int]:
    raw: list[int] = np.asarray(to_bits(np.array(values, np.float64).astype(carrier(element)), element)).tolist()
    return [code >> 13 for code in raw] if element is TF32 else raw


def floats(f: BodyBuilder, element: ScalarType, *values: float) -> Value:
    return f.constant(tile(element, len(values)), *bits_of(element, *values))


EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "bf16": 2.0**-7, "f16": 2.0**-10}


@pytest.mark.parametrize("element", [F64, F32, BF16, F16], ids=name_of)
def test_arithmetic_in_every_mode(element: ScalarType) -> None:
    """One plus and minus a sixteenth of a last place, a third, the root of two, and what overflows."""
    ulp, largest = EPSILON[element.name], float(FORMATS[element.name].largest)
    small = ulp / 16

    def lanes(name: str, mode: str, **operands: tuple[float, ...]) -> list[float]:
        found = result(lambda f: f.op(name, **{n: floats(f, element, *v) for n, v in operands.items()}, rnd=mode))
        assert found.taint is None
        made: list[float] = found.data.tolist()
        return made

    sums = {"nearest_even": [1, 1, -1, -1], "zero": [1, 1 - ulp / 2, -1, -1 + ulp / 2],
            "negative_inf": [1, 1 - ulp / 2, -1 - ulp, -1], "positive_inf": [1 + ulp, 1, -1, -1 + ulp / 2]}  # fmt: skip
    for mode, expected in sums.items():
        assert lanes("addf", mode, lhs=(1, 1, -1, -1), rhs=(small, -small, -small, small)) == expected
        assert lanes("subf", mode, lhs=(1, 1, -1, -1), rhs=(-small, small, small, -small)) == expected
        ones = (1, 1, -1, -1)
        assert lanes("fma", mode, lhs=ones, rhs=(1, 1, 1, 1), acc=(small, -small, -small, small)) == expected
    form, third, two = FORMATS[element.name], Fraction(1, 3), Fraction(math.isqrt(2 << 2 * 200), 1 << 200)
    for mode in sums:
        assert lanes("divf", mode, lhs=(1, -1), rhs=(3, 3)) == [form.rounded(third, mode), form.rounded(-third, mode)]
        assert lanes("sqrt", mode, s=(2, 4)) == [form.rounded(two, mode), 2]
        up, down = mode in ("nearest_even", "positive_inf"), mode in ("nearest_even", "negative_inf")
        product = [math.inf if up else largest, -math.inf if down else -largest]
        assert lanes("mulf", mode, lhs=(largest, -largest), rhs=(2, 2)) == product


def test_flushing() -> None:
    """Subnormal operands and results are zeros of their sign; what is subnormal before rounding is flushed, too."""
    least, tiny = 2.0**-126, 2.0**-149

    def bits(name: str, mode: str | None, lhs: tuple[float, ...], rhs: tuple[float, ...]) -> list[int]:
        more = {} if mode is None else {"rnd": mode}
        found = result(lambda f: f.op(name, lhs=floats(f, F32, *lhs), rhs=floats(f, F32, *rhs), flags=["ftz"], **more))
        words: list[int] = found.data.view(np.uint32).tolist()
        return words

    minus_zero, one = 0x80000000, 0x3F800000
    for mode in ("nearest_even", "zero", "negative_inf", "positive_inf"):
        assert bits("addf", mode, (tiny, -tiny, 1), (1, 1, -tiny)) == [one] * 3
        assert bits("mulf", mode, (least, -least, least), (0.5, 0.5, 1)) == [0, minus_zero, 0x00800000]
        assert bits("mulf", mode, (least,), (1 - 2.0**-24,)) == [0]
        assert bits("divf", mode, (least, -least), (2, 2)) == [0, minus_zero]
        assert bits("subf", mode, (least * 1.5,), (least,)) == [0]
    assert bits("maxf", None, (-tiny, -1), (-1, tiny)) == [minus_zero, 0]
    assert bits("minf", None, (tiny, tiny), (1, -tiny)) == [0, minus_zero]

    def fused(*values: float) -> list[int]:
        words: list[int] = result(
            lambda f: f.op("fma", **{n: floats(f, F32, v) for n, v in zip(("lhs", "rhs", "acc"), values, strict=True)},
                           flags=["ftz"])
        ).data.view(np.uint32).tolist()  # fmt: skip
        return words

    assert fused(least, 1 - 2.0**-24, 0.0) == [0]
    assert fused(least, 1.0, tiny) == [0x00800000]
    assert fused(least, 0.5, 1.0) == [one]


@pytest.mark.parametrize("element", [F64, F32, BF16, F16], ids=name_of)
@pytest.mark.parametrize(("name", "sign"), [("maxf", 1), ("minf", -1)])
def test_extremes(name: str, sign: int, element: ScalarType) -> None:
    """By IEEE 754-2019: maximumNumber, and with ``nan`` maximum; their mirror images for the minimum."""
    nan, inf = math.nan, math.inf
    cases = [(1, 2, 2, 2), (nan, 5, 5, nan), (5, nan, 5, nan), (nan, nan, nan, nan), (-0.0, 0.0, 0.0, 0.0)]
    cases += [
        (0.0, -0.0, 0.0, 0.0),
        (-0.0, -0.0, -0.0, -0.0),
        (-inf, 1, 1, 1),
        (inf, nan, inf, nan),
        (-inf, nan, -inf, nan),
    ]
    turned = [[sign * value for value in case] for case in cases]
    lhs, rhs, number, propagating = zip(*turned, strict=True)
    for flags, expected in (((), number), (("nan",), propagating)):
        build = partial(_extreme, name, element, lhs, rhs, flags)
        found = result(build)
        assert found.taint is None
        np.testing.assert_array_equal(found.data, expected)
        signs = [math.copysign(1, value) for value in expected if not math.isnan(value)]
        assert [math.copysign(1, value) for value in found.data.tolist() if not math.isnan(value)] == signs


def _extreme(name: str, element: ScalarType, lhs: Any, rhs: Any, flags: Any, f: BodyBuilder) -> Value:
    made: Value = f.op(name, lhs=floats(f, element, *lhs), rhs=floats(f, element, *rhs), flags=flags)
    return made


# --------------------------------------------------------------------------------------------- conversions
NARROWING = {F64: [F32, TF32, BF16, F16], F32: [TF32, BF16, F16], F16: [BF16, TF32], BF16: [F16]}
ACCEPTED = {"f32": ("nearest_even", "zero", "negative_inf", "positive_inf"), "f16": ("nearest_even", "zero"),
            "bf16": ("nearest_even", "zero"), "tf32": ("nearest_even", "zero", "nearest_away")}  # fmt: skip


@pytest.mark.parametrize(("source", "target"), [(s, t) for s, ts in NARROWING.items() for t in ts])
def test_float_conversions_in_every_mode_there_is(source: ScalarType, target: ScalarType) -> None:
    form = FORMATS[target.name]
    draw = np.random.default_rng(11)
    values = draw.normal(size=200) * 2.0 ** draw.integers(-20, 20, 200)
    steps = 1 + np.arange(64) / 64 * 2.0 ** (2 - form.mantissa)
    given = round_to(np.concatenate([values, steps, -steps, [1e-30, -1e-30, 1e5, -1e5, 3e38]]), source).astype(
        np.float64
    )
    given = given[np.isfinite(given)]
    for mode in ACCEPTED[target.name]:
        build = lambda f, mode=mode: f.op(  # noqa: E731
            "ftof", s=floats(f, source, *given.tolist()), rnd=mode, results=[tile(target, len(given))]
        )
        found = result(build)
        assert found.taint is None
        assert found.data.tolist() == [form.rounded(Fraction(value), mode) for value in given.tolist()]


@pytest.mark.parametrize("source", [F64, F32, F16], ids=name_of)
@pytest.mark.parametrize(("target", "largest"), [(E4M3, 448.0), (E5M2, 57344.0)])
def test_conversions_saturate_into_8_bits(source: ScalarType, target: ScalarType, largest: float) -> None:
    """What lies beyond the largest value is what an H100 makes of it, and marked: no rule says so."""
    given: tuple[float, ...] = (largest, largest + 1, -largest * 1.0625, math.inf, -math.inf, math.nan)
    given = tuple(float(v) for v in round_to(np.array(given), source))
    found = result(lambda f: f.op("ftof", s=floats(f, source, *given), results=[tile(target, len(given))]))
    assert found.data[:5].tolist() == [largest, largest, -largest, largest, -largest]
    assert math.isnan(found.data[5])
    beyond = [abs(value) > largest for value in given]
    assert found.taint is not None
    assert found.taint.tolist() == [APPROXIMATE if mark else 0 for mark in beyond]


def test_conversions_into_powers_of_two() -> None:
    """f8E8M0FNU: rounded down or up to a power of two (the only two modes), no zero, no sign."""
    given = (1.0, 1.5, 2.0, 3.99, 2.0**-127, 0.0, -1.0)
    for mode, expected in (("zero", [1, 1, 2, 2, 2.0**-127]), ("positive_inf", [1, 2, 2, 4, 2.0**-127])):
        found = result(lambda f, mode=mode: f.op("ftof", s=floats(f, F64, *given), rnd=mode, results=[tile(E8M0, 7)]))
        assert found.data[:5].tolist() == expected
        assert found.taint is not None
        assert found.taint.tolist() == [0] * 5 + [APPROXIMATE] * 2


@pytest.mark.parametrize("target", ROUNDED_INTO, ids=name_of)
@pytest.mark.parametrize("source", [I1, I8, I16, I32, I64], ids=name_of)
@pytest.mark.parametrize("sign", ["signed", "unsigned"])
def test_integers_to_floats(source: ScalarType, target: ScalarType, sign: str) -> None:
    bits = source.bits
    draw = np.random.default_rng(12)
    codes = [
        *(1 << k for k in range(bits)),
        *((1 << k) - 1 for k in range(bits + 1)),
        *((1 << k) + 1 for k in range(bits)),
    ]
    codes += [code >> shift for code, shift in zip(*draw.integers(0, [[1 << 62], [40]], (2, 60)).tolist(), strict=True)]
    codes = [code % (1 << bits) for code in codes]
    numbers = [code - (1 << bits) if sign == "signed" and code >> (bits - 1) else code for code in codes]

    def build(f: BodyBuilder) -> Value:
        given = f.constant(tile(source, len(codes)), *codes)
        made: Value = f.op("itof", s=given, sgn=sign, results=[tile(target, len(codes))])
        return made

    found, form = result(build), FORMATS[target.name]
    assert found.data.tolist() == [form.rounded(Fraction(number), "nearest_even") for number in numbers]
    inside = [abs(number) <= form.largest for number in numbers] if target.bits <= 8 else [True] * len(numbers)
    marks = np.broadcast_to(0 if found.taint is None else found.taint, found.data.shape)
    assert (marks == 0).tolist() == inside


@pytest.mark.parametrize("source", [F64, F32, BF16, F16, TF32, E5M2, E4M3, E2M1], ids=name_of)
@pytest.mark.parametrize("target", [I8, I16, I32, I64], ids=name_of)
@pytest.mark.parametrize("sign", ["signed", "unsigned"])
def test_floats_to_integers(source: ScalarType, target: ScalarType, sign: str) -> None:
    """Toward zero where the whole part fits; elsewhere poison, or with ``sat`` the nearest number there is (NaN: 0)."""
    low, high = (
        (-(1 << target.bits - 1), (1 << target.bits - 1) - 1) if sign == "signed" else (0, (1 << target.bits) - 1)
    )
    edge = [float(limit) + step for limit in (low, high, high + 1) for step in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    wide = np.array([*edge, 0.99, -0.99, 1.5, -1.5, 1e30, -1e30, math.inf, -math.inf, math.nan])
    given = round_to(wide, source).astype(np.float64)
    if source is E2M1:
        given = given[~np.isnan(given)]

    def convert(*flags: str) -> Tile:
        return result(
            lambda f: f.op("ftoi", s=floats(f, source, *given.tolist()), sgn=sign, flags=flags,
                           results=[tile(target, len(given))])
        )  # fmt: skip

    whole = [None if not math.isfinite(value) else math.trunc(Fraction(value)) for value in given.tolist()]
    fits = [number is not None and low <= number <= high for number in whole]
    plain = convert()
    marks = np.broadcast_to(0 if plain.taint is None else plain.taint, plain.data.shape)
    assert marks.tolist() == [0 if fit else UNSPECIFIED for fit in fits]
    clamped = [0 if math.isnan(value) else low if value < low else high if value > high else math.trunc(value)
               for value in given.tolist()]  # fmt: skip
    mask = (1 << target.bits) - 1
    saturated = convert("sat")
    assert saturated.data.tolist() == [number & mask for number in clamped]
    assert saturated.taint is None
    kept = [number for number, fit in zip(plain.data.tolist(), fits, strict=True) if fit]
    assert kept == [number & mask for number, fit in zip(clamped, fits, strict=True) if fit]
