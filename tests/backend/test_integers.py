"""Integer ops: results worked out by hand, and the undefined behaviour they record."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.profiles import tries

from tileverify.frontend.bytecode.builder import I1, I8, I16, I32, I64, BodyBuilder, tile
from tileverify.frontend.bytecode.model import ScalarType, Value

from ..tiles import Parts
from .helpers import lanes, run_ops

MIN32, MAX32, MIN64 = -(1 << 31), (1 << 31) - 1, -(1 << 63)

Case = tuple[str, ScalarType, Parts, int, int, int]

# op, type, attributes, lhs, rhs, result (each modulo 2^N)
CASES: list[Case] = [
    ("addi", I32, {}, MAX32, 1, MIN32),
    ("addi", I8, {}, 200, 100, 44),
    ("addi", I64, {}, -1, 1, 0),
    ("addi", I1, {}, 1, 1, 0),
    ("subi", I32, {}, 0, 1, -1),
    ("subi", I32, {}, MIN32, 1, MAX32),
    ("muli", I32, {}, 65536, 65536, 0),
    ("muli", I32, {}, 46341, 46341, 46341 * 46341 - (1 << 32)),
    ("muli", I64, {}, 1 << 62, 4, 0),
    ("muli", I16, {}, -3, 5, -15),
    ("mulhii", I32, {}, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE),
    ("mulhii", I64, {}, -1, -1, -2),
    ("mulhii", I64, {}, 1 << 63, 6, 3),
    ("mulhii", I8, {}, 16, 17, 1),
    ("shli", I32, {}, 1, 31, MIN32),
    ("shli", I32, {}, 3, 31, MIN32),
    ("shli", I64, {}, 1, 63, MIN64),
    ("shri", I32, {"sgn": "signed"}, -8, 1, -4),
    ("shri", I32, {"sgn": "signed"}, -1, 31, -1),
    ("shri", I32, {"sgn": "unsigned"}, -8, 1, 0x7FFFFFFC),
    ("shri", I64, {"sgn": "signed"}, MIN64, 63, -1),
    ("andi", I32, {}, 12, 10, 8),
    ("ori", I32, {}, 12, 10, 14),
    ("xori", I32, {}, -1, 10, -11),
    ("xori", I1, {}, 1, 1, 0),
    ("maxi", I32, {"sgn": "signed"}, -1, 3, 3),
    ("maxi", I32, {"sgn": "unsigned"}, -1, 3, -1),
    ("mini", I32, {"sgn": "signed"}, -1, 3, -1),
    ("mini", I32, {"sgn": "unsigned"}, -1, 3, 3),
    ("divi", I32, {"sgn": "signed", "rnd": "zero"}, -7, 2, -3),
    ("divi", I32, {"sgn": "signed", "rnd": "negative_inf"}, -7, 2, -4),
    ("divi", I32, {"sgn": "signed", "rnd": "positive_inf"}, -7, 2, -3),
    ("divi", I32, {"sgn": "signed", "rnd": "zero"}, 7, -2, -3),
    ("divi", I32, {"sgn": "signed", "rnd": "negative_inf"}, 7, -2, -4),
    ("divi", I32, {"sgn": "signed", "rnd": "positive_inf"}, 7, -2, -3),
    ("divi", I32, {"sgn": "signed", "rnd": "positive_inf"}, 7, 2, 4),
    ("divi", I32, {"sgn": "signed", "rnd": "positive_inf"}, -7, -2, 4),
    ("divi", I32, {"sgn": "signed", "rnd": "negative_inf"}, -8, 2, -4),
    ("divi", I32, {"sgn": "unsigned", "rnd": "zero"}, -7, 2, 0x7FFFFFFC),
    ("divi", I32, {"sgn": "unsigned", "rnd": "positive_inf"}, -1, 2, MIN32),
    ("divi", I64, {"sgn": "signed", "rnd": "negative_inf"}, MIN64, 3, -3074457345618258603),
    ("divi", I32, {"sgn": "signed", "rnd": "zero"}, MIN32, 1, MIN32),
    ("remi", I32, {"sgn": "signed"}, -7, 2, -1),
    ("remi", I32, {"sgn": "signed"}, 7, -2, 1),
    ("remi", I32, {"sgn": "unsigned"}, -7, 4, 1),
    ("remi", I64, {"sgn": "signed"}, MIN64, 10, -8),
]


def _binary(case: Case) -> tuple[list[int], list[str]]:
    name, element, attributes, lhs, rhs, _ = case

    def build(f: BodyBuilder) -> Value:
        kind = tile(element, 2)
        value: Value = f.op(name, lhs=f.constant(kind, lhs), rhs=f.constant(kind, rhs), **attributes)
        return value

    run, (result,) = run_ops(build)
    return [int(lane) for lane in result.data], [event.code for event in run.log.events]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1].name}-{'-'.join(c[2].values())}-{c[3]}-{c[4]}")
def test_binary(case: Case) -> None:
    expected = case[5] & ((1 << case[1].bits) - 1)
    assert _binary(case) == ([expected, expected], [])


@pytest.mark.parametrize(
    ("name", "element", "attributes", "lhs", "rhs"),
    [
        ("addi", I32, {"ovf": "nsw"}, MAX32, 1),
        ("addi", I32, {"ovf": "nuw"}, -1, 1),
        ("addi", I64, {"ovf": "nw"}, MIN64, -1),
        ("subi", I32, {"ovf": "nsw"}, MIN32, 1),
        ("subi", I32, {"ovf": "nuw"}, 0, 1),
        ("muli", I32, {"ovf": "nsw"}, 65536, 32768),
        ("muli", I32, {"ovf": "nuw"}, 65536, 65536),
        ("muli", I64, {"ovf": "nsw"}, 1 << 62, 2),
        ("muli", I64, {"ovf": "nsw"}, -1, MIN64),
        ("muli", I64, {"ovf": "nuw"}, 1 << 63, 2),
        ("shli", I32, {"ovf": "nsw"}, 1, 31),
        ("shli", I32, {"ovf": "nuw"}, 3, 31),
        ("shli", I32, {}, 1, 32),
        ("shri", I32, {}, 1, -1),
        ("divi", I32, {"sgn": "signed"}, 1, 0),
        ("divi", I32, {"sgn": "unsigned"}, 1, 0),
        ("divi", I32, {"sgn": "signed"}, MIN32, -1),
        ("remi", I64, {"sgn": "signed"}, MIN64, -1),
        ("remi", I64, {"sgn": "unsigned"}, 5, 0),
    ],
)
def test_undefined(name: str, element: ScalarType, attributes: Parts, lhs: int, rhs: int) -> None:
    assert "TV402" in _binary((name, element, attributes, lhs, rhs, 0))[1]


@pytest.mark.parametrize(
    ("name", "element", "attributes", "lhs", "rhs"),
    [
        ("addi", I32, {"ovf": "nsw"}, -1, 1),
        ("addi", I32, {"ovf": "nuw"}, MAX32, 1),
        ("subi", I32, {"ovf": "nuw"}, -1, 1),
        ("muli", I32, {"ovf": "nsw"}, -65536, 32768),
        ("muli", I32, {"ovf": "nuw"}, 65536, 65535),
        ("muli", I64, {"ovf": "nsw"}, -(1 << 31), 1 << 32),
        ("muli", I64, {"ovf": "nsw"}, -3, 7),
        ("shli", I32, {"ovf": "nsw"}, -1, 31),
        ("shli", I32, {"ovf": "nuw"}, 1, 31),
        ("divi", I32, {"sgn": "unsigned"}, MIN32, -1),
    ],
)
def test_defined(name: str, element: ScalarType, attributes: Parts, lhs: int, rhs: int) -> None:
    assert _binary((name, element, attributes, lhs, rhs, 0))[1] == []


@pytest.mark.parametrize(
    ("predicate", "signed", "unsigned"),
    [
        ("equal", [0, 1], [0, 1]),
        ("not_equal", [1, 0], [1, 0]),
        ("less_than", [1, 0], [0, 0]),
        ("less_than_or_equal", [1, 1], [0, 1]),
        ("greater_than", [0, 0], [1, 0]),
        ("greater_than_or_equal", [0, 1], [1, 1]),
    ],
)
def test_comparison(predicate: str, signed: list[int], unsigned: list[int]) -> None:
    left, right = (-1, 5), (3, 5)
    for sign, expected in (("signed", signed), ("unsigned", unsigned)):

        def build(f: BodyBuilder, sign: str = sign) -> Value:
            lhs, rhs = f.constant(tile(I32, 2), *left), f.constant(tile(I32, 2), *right)
            value: Value = f.op("cmpi", lhs=lhs, rhs=rhs, pred=predicate, sgn=sign)
            return value

        assert lanes(build) == [bool(lane) for lane in expected]


def test_unary() -> None:
    assert lanes(lambda f: f.op("negi", s=f.constant(tile(I32, 2), 5, MIN32))) == [(1 << 32) - 5, 1 << 31]
    assert lanes(lambda f: f.op("absi", s=f.constant(tile(I32, 2), -5, MIN32))) == [5, 1 << 31]
    run, _ = run_ops(lambda f: f.op("negi", s=f.constant(tile(I32, 2), 5, MIN32), ovf="nsw"))
    assert [event.code for event in run.log.events] == ["TV402"]


def test_widths() -> None:
    def extend(source: ScalarType, target: ScalarType, sign: str, value: int) -> list[int]:
        return lanes(lambda f: f.op("exti", s=f.constant(tile(source, 1), value), sgn=sign, results=[tile(target, 1)]))

    assert extend(I8, I32, "signed", -1) == [0xFFFFFFFF]
    assert extend(I8, I32, "unsigned", -1) == [0xFF]
    assert extend(I1, I8, "unsigned", 1) == [1]
    assert extend(I1, I32, "signed", 1) == [0xFFFFFFFF]
    assert extend(I32, I64, "signed", MIN32) == [0xFFFFFFFF80000000]

    def truncate(value: int, promise: str, target: ScalarType = I8) -> tuple[int, int]:
        run, (result,) = run_ops(
            lambda f: f.op("trunci", s=f.constant(tile(I32, 1), value), ovf=promise, results=[tile(target, 1)])
        )
        return int(result.data[0]), len(run.log.events)

    assert truncate(0x1FF, "none") == (0xFF, 0)
    assert truncate(-1, "nsw") == (0xFF, 0)
    assert truncate(0xFF, "nsw") == (0xFF, 1)
    assert truncate(0xFF, "nuw") == (0xFF, 0)
    assert truncate(-1, "nuw") == (0xFF, 1)
    assert truncate(2, "none", I1) == (0, 0)


def test_scalars_are_0d_tiles() -> None:
    run, (result,) = run_ops(lambda f: f.op("muli", lhs=f.constant(tile(I32), 65537), rhs=f.constant(tile(I32), 65537)))
    assert (result.data.shape, int(result.data)) == ((), 131073)
    assert run.log.events == []


# --------------------------------------------------------------------- every op against unbounded integers
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "zero": math.trunc, "negative_inf": math.floor, "positive_inf": math.ceil,
}  # fmt: skip


def _round(quotient: Fraction, rounding: str) -> int:
    return ROUNDINGS[rounding](quotient)


def _reading(raw: int, bits: int, sign: str) -> int:
    return raw - (1 << bits) if sign == "signed" and raw >> (bits - 1) else raw


def _mathematical(name: str, sign: str, rounding: str, a: int, b: int, bits: int) -> int:
    """The result before it is taken modulo 2^N; ``a`` and ``b`` are raw."""
    x, y = _reading(a, bits, sign), _reading(b, bits, sign)
    match name:
        case "addi":
            return x + y
        case "subi":
            return x - y
        case "muli":
            return x * y
        case "mulhii":
            return (a * b) >> bits
        case "divi":
            return _round(Fraction(x, y), rounding)
        case "remi":
            return x - y * _round(Fraction(x, y), "zero")
        case "maxi":
            return max(x, y)
        case "mini":
            return min(x, y)
        case "shli":
            return a << (b % bits)
        case "shri":
            return x >> (b % bits)
    raise AssertionError(name)


SIGNED_OPS = ("divi", "remi", "maxi", "mini", "shri")
WRAPPING_OPS = ("addi", "subi", "muli")
WORDS = st.one_of(
    st.integers(0, (1 << 64) - 1), st.sampled_from([0, 1, 2, 3, 7, -1, -2, -3]), st.sampled_from([MIN32, MAX32, MIN64])
)


@given(
    name=st.sampled_from([*SIGNED_OPS, *WRAPPING_OPS, "mulhii", "shli"]),
    element=st.sampled_from([I8, I16, I32, I64]),
    sign=st.sampled_from(["signed", "unsigned"]),
    rounding=st.sampled_from(["zero", "negative_inf", "positive_inf"]),
    lhs=WORDS,
    rhs=WORDS,
)
@settings(max_examples=tries(short=200, long=4000), deadline=None)
def test_against_unbounded_integers(
    name: str, element: ScalarType, sign: str, rounding: str, lhs: int, rhs: int
) -> None:
    bits = element.bits
    modulus = 1 << bits
    a, b = lhs % modulus, rhs % modulus
    if name in ("divi", "remi"):
        assume(b != 0 and not (sign == "signed" and a == modulus // 2 and b == modulus - 1))
        assume(name == "remi" or sign == "signed" or rounding != "negative_inf")
    if name in ("shli", "shri"):
        b %= bits
    attributes = {"sgn": sign} if name in SIGNED_OPS else {}
    if name == "divi":
        attributes["rnd"] = rounding
    result, events = _binary((name, element, attributes, a, b, 0))
    assert result == [_mathematical(name, sign, rounding, a, b, bits) % modulus] * 2
    assert events == []


@given(
    name=st.sampled_from([*WRAPPING_OPS, "shli"]), element=st.sampled_from([I8, I16, I32, I64]), lhs=WORDS, rhs=WORDS
)
@settings(max_examples=tries(short=200, long=4000), deadline=None)
def test_promises_are_broken_exactly_where_the_result_does_not_fit(
    name: str, element: ScalarType, lhs: int, rhs: int
) -> None:
    bits = element.bits
    modulus = 1 << bits
    a, b = lhs % modulus, rhs % modulus
    if name == "shli":
        b %= bits
    for promise, sign in (("nsw", "signed"), ("nuw", "unsigned")):
        exact = _reading(a, bits, sign) << b if name == "shli" else _mathematical(name, sign, "", a, b, bits)
        low, high = (-modulus // 2, modulus // 2 - 1) if sign == "signed" else (0, modulus - 1)
        _, events = _binary((name, element, {"ovf": promise}, a, b, 0))
        assert events == ([] if low <= exact <= high else ["TV402"])
