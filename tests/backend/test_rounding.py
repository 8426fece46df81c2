"""Correct rounding in every mode, against rational arithmetic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tileverify.backend.interpreter import rounding
from tileverify.frontend.bytecode.builder import scalar

from .oracle import FORMATS, MODES, root

Array = np.ndarray[Any, Any]

MODES_INTO_F64 = tuple(mode for mode in MODES if mode != "nearest_away")
"""An inexact f64 cannot tell a tie any more; no op rounds one to nearest away."""
SPECIAL = (math.inf, -math.inf, math.nan)


def samples(name: str, count: int, seed: int) -> Array:
    """Boundary values of a format and random ones of all magnitudes, carried exactly in f64."""
    source = np.random.default_rng(seed)
    form = FORMATS[name]
    ulp = 2.0 ** (form.smallest_exponent - form.mantissa)
    edge = [0.0, ulp, 3 * ulp, 2.0**form.smallest_exponent, 2.0**form.smallest_exponent - ulp, 1.0, 1.5, 3.0]
    edge += [1 + 2.0**-form.mantissa, 2 - 2.0**-form.mantissa, 1 - 2.0 ** -(form.mantissa + 1), float(form.largest)]
    edge += [float(form.largest) / 2, 1 / 3]
    drawn = (1 + source.integers(0, 1 << form.mantissa, count) / (1 << form.mantissa)) * 2.0 ** source.integers(
        form.smallest_exponent, math.frexp(float(form.largest))[1] - 1, count
    )
    tiny = source.integers(1, 1 << form.mantissa, count // 4) * ulp
    near = 1 + source.integers(0, 1 << form.mantissa, count // 2) / (1 << form.mantissa)
    values = np.concatenate(
        [[float(form.rounded(Fraction(value), "nearest_even")) for value in edge], drawn, tiny, near]
    )
    signed = np.concatenate([values, -values])
    return source.permutation(signed)


def check(
    name: str, operation: Callable[..., rounding.Exact], truth: Callable[..., Fraction], *operands: Array
) -> None:
    """``operation`` on finite operands in all modes: value by value what the oracle says."""
    element, form = scalar(name), FORMATS[name]
    modes = MODES_INTO_F64 if name == "f64" else MODES
    with np.errstate(all="ignore"):
        exact = operation(*operands)
        found = {mode: rounding.rounded(exact, element, mode).astype(np.float64) for mode in modes}
    for lane, values in enumerate(zip(*(operand.tolist() for operand in operands), strict=True)):
        expected = truth(*map(Fraction, values))
        for mode in modes:
            seen = float(found[mode][lane])
            wanted = form.rounded(expected, mode)
            assert seen == wanted, (name, mode, values, seen, wanted)


def pairs(name: str, count: int, operands: int) -> list[Array]:
    columns = [samples(name, count, seed) for seed in range(operands)]
    edge = [value for value in columns[0] if value != 0][:9]
    crossed = np.array(list(itertools.product(edge, repeat=operands)))
    return [np.concatenate([column, crossed[:, k]]) for k, column in enumerate(columns)]


ARITHMETIC = ["f64", "f32", "bf16", "f16"]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_sums(name: str) -> None:
    a, b = pairs(name, 300, 2)
    check(name, rounding.exact_sum, lambda x, y: x + y, a, b)
    other = np.where(np.abs(a) < 1e300, np.nextafter(a, 0.0), a) if name == "f64" else a
    check(name, rounding.exact_sum, lambda x, y: x + y, a, -other)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_products(name: str) -> None:
    check(name, rounding.exact_product, lambda x, y: x * y, *pairs(name, 300, 2))


@pytest.mark.parametrize("name", ARITHMETIC)
def test_quotients(name: str) -> None:
    a, b = pairs(name, 300, 2)
    b = np.where(b == 0, 1.0, b)
    check(name, rounding.exact_quotient, lambda x, y: x / y, a, b)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_roots(name: str) -> None:
    (a,) = pairs(name, 100, 1)
    squares = np.arange(30.0) ** 2
    check(name, rounding.exact_root, root, np.concatenate([np.abs(a), squares]))


@pytest.mark.parametrize("name", ARITHMETIC)
def test_fused_products(name: str) -> None:
    a, b, c = pairs(name, 400, 3)
    check(name, rounding.exact_fused, lambda x, y, z: x * y + z, a, b, c)
    with np.errstate(all="ignore"):
        product = rounding.rounded(rounding.exact_product(a, b), scalar(name), "nearest_even").astype(np.float64)
    finite = np.isfinite(product)
    check(name, rounding.exact_fused, lambda x, y, z: x * y + z, a[finite], b[finite], -product[finite])


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("source", ["f64", "f32"])
def test_conversions(name: str, source: str) -> None:
    values = samples(source, 300, 5)
    own = samples(name, 100, 6)
    with np.errstate(over="ignore"):
        ties = own * (1 + 2.0 ** -(FORMATS[name].mantissa + 1))
        close = own * (1 + 2.0**-20)
    given = np.concatenate([values, own, ties, close])
    with np.errstate(over="ignore"):
        given = given.astype(np.float32).astype(np.float64) if source == "f32" else given
    check(name, rounding.exact_value, lambda x: x, given[np.isfinite(given)])


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32, np.uint8])
@pytest.mark.parametrize("name", ["f64", "f32", "tf32", "bf16", "f16", "f8E4M3FN"])
def test_integers(name: str, kind: type[np.int64 | np.uint64 | np.int32 | np.uint8]) -> None:
    limits = np.iinfo(kind)
    source = np.random.default_rng(1)
    drawn = source.integers(limits.min, limits.max, 200, dtype=kind, endpoint=True)
    powers = [p + d for k in range(64) for p in (1 << k, -(1 << k)) for d in (-1, 0, 1)]
    numbers = np.array([n for n in powers if limits.min <= n <= limits.max] + [limits.max, limits.min], kind)
    numbers = np.concatenate([numbers, drawn, drawn >> kind(3)])
    exact = rounding.exact_integer(numbers)
    for mode in MODES_INTO_F64 if name == "f64" else MODES:
        with np.errstate(over="ignore"):
            found = rounding.rounded(exact, scalar(name), mode)
        for number, seen in zip(numbers.tolist(), found.tolist(), strict=True):
            assert seen == FORMATS[name].rounded(Fraction(number), mode), (mode, number)


# ------------------------------------------------------------------------------------------ signs and specials
def bits(values: Array) -> list[int]:
    found: list[int] = np.asarray(values, np.float64).view(np.uint64).tolist()
    return found


@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_number_is_as_ieee_has_it(mode: str) -> None:
    values = np.array([*SPECIAL, 0.0, -0.0, 1.0, -2.0])
    a, b = (grid.reshape(-1) for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        for operation, native in (
            (rounding.exact_sum, a + b),
            (rounding.exact_product, a * b),
            (rounding.exact_quotient, a / b),
            (lambda x, y: rounding.exact_fused(x, y, np.ones_like(x)), a * b + 1.0),
            (lambda x, y: rounding.exact_root(x), np.sqrt(a)),
        ):
            found = rounding.rounded(operation(a, b), scalar("f64"), mode)
            special = ~np.isfinite(native)
            np.testing.assert_array_equal(found[special], native[special])
            assert np.isfinite(found[~special]).all()


def test_the_sign_of_a_zero() -> None:
    """A sum that cancels is +0, but -0 toward negative infinity (IEEE 754-2019, 6.3); others keep their sign."""
    a, b = np.array([1.0, -1.0, 0.0, 0.0, -0.0, -0.0]), np.array([-1.0, 1.0, -0.0, 0.0, 0.0, -0.0])
    for mode in MODES:
        minus = mode == "negative_inf"
        expected = [-0.0 if minus else 0.0] * 3 + [0.0, -0.0 if minus else 0.0, -0.0]
        found = rounding.rounded(rounding.exact_sum(a, b), scalar("f32"), mode)
        assert bits(found) == bits(np.array(expected)), mode
        found = rounding.rounded(rounding.exact_fused(a, np.ones(6), b), scalar("f32"), mode)
        assert bits(found) == bits(np.array(expected)), mode
    product = rounding.exact_product(np.array([0.0, -0.0, -1.0]), np.array([-1.0, -1.0, 0.0]))
    assert bits(rounding.rounded(product, scalar("f64"), "zero")) == bits(np.array([-0.0, 0.0, -0.0]))


def test_results_that_vanish_keep_their_sign() -> None:
    tiny = np.array([5e-324, -5e-324])
    product = rounding.exact_product(tiny, np.array([0.25, 0.25]))
    assert bits(rounding.rounded(product, scalar("f64"), "zero")) == bits(np.array([0.0, -0.0]))
    assert bits(rounding.rounded(product, scalar("f64"), "positive_inf")) == bits(np.array([5e-324, -0.0]))
    assert bits(rounding.rounded(product, scalar("f64"), "negative_inf")) == bits(np.array([0.0, -5e-324]))


def test_infinities_of_formats_without_one() -> None:
    for name, largest in (("f8E4M3FN", 448.0), ("f8E5M2", 57344.0), ("f4E2M1FN", 6.0)):
        found = rounding.rounded(rounding.exact_value(np.array([math.inf, -math.inf])), scalar(name), "nearest_even")
        assert found.tolist() == [largest, -largest]
