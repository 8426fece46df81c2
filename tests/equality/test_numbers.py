"""Laws of real numbers that exact numbers keep, and what they do not mix up."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tileverify.equality import exact, field, formulas, primitives
from tileverify.equality.exact_arrays import presented
from tileverify.equality.field import NearTie, Undecided
from tileverify.equality.launch_outcomes import compared
from tileverify.equality.points import drawn
from tileverify.equality.primitives import ELEMENTWISE

SOURCE = np.random.default_rng(5)


def some(*shape: int, positive: bool = False) -> Any:
    shadow = SOURCE.standard_normal(shape)
    return drawn(SOURCE, np.abs(shadow) + 0.25 if positive else shadow)


def agree(x: Any, y: Any) -> bool:
    close = np.allclose(x["s"], y["s"], rtol=1e-10, atol=1e-12)
    return bool(exact.same(x, y).all()) and close


add, subtract, multiply, divide = exact.add, exact.subtract, exact.multiply, exact.divide
exp, log2e = formulas.exp, exact.numbers_of(np.asarray(math.log2(math.e)))


log = formulas.log


def decimal(value: float) -> Any:
    return exact.numbers_of(np.asarray(value))


def square(x: Any) -> Any:
    return multiply(x, x)


def row_sum(x: Any) -> Any:
    return primitives.total(x, 1, keepdims=True)


LAWS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "sums": lambda x, y: (subtract(add(x, y), y), x),
    "quotients": lambda x, y: (divide(multiply(x, y), y), x),
    "powers": lambda x, y: (multiply(exp(x), exp(y)), exp(add(x, y))),
    "powers of powers": lambda x, y: (multiply(exp(exp(x)), exp(exp(y))), exp(add(exp(x), exp(y)))),
    "decimals": lambda x, y: (
        add(multiply(x, decimal(0.1)), multiply(x, decimal(0.9))),
        multiply(decimal(0.001), multiply(x, decimal(1000.0))),
    ),
    "base 2": lambda x, y: (formulas.exp2(multiply(x, log2e)), exp(x)),
    "tanh": lambda x, y: (
        formulas.tanh(x), subtract(formulas.sigmoid(add(x, x)), formulas.sigmoid(exact.negative(add(x, x)))),
    ),
    "roots": lambda x, y: (multiply(formulas.sqrt(exp(x)), formulas.sqrt(exp(y))), formulas.sqrt(exp(add(x, y)))),
    "logarithm of a power": lambda x, y: (log(exp(x)), x),
    "logarithm of a product": lambda x, y: (log(multiply(exp(x), square(y))), add(x, log(square(y)))),
    "logarithm of a quotient": lambda x, y: (
        log(divide(square(x), square(y))), subtract(log(square(x)), log(square(y))),
    ),
    "logarithm of a root": lambda x, y: (log(formulas.sqrt(square(x))), multiply(formulas.HALF, log(square(x)))),
    "power of a logarithm": lambda x, y: (exp(multiply(formulas.TWO, log(exp(x)))), exp(add(x, x))),
    "logarithms in base 2": lambda x, y: (multiply(formulas.log2(square(x)), decimal(math.log(2))), log(square(x))),
    "logarithms in base 10": lambda x, y: (multiply(formulas.log10(square(x)), decimal(math.log(10))), log(square(x))),
    "softplus": lambda x, y: (formulas.log1p(exp(x)), add(x, formulas.log1p(exp(exact.negative(x))))),
    "log of softmax": lambda x, y: (
        log(divide(exp(x), row_sum(exp(x)))),
        subtract(subtract(x, y[:, :1]), log(row_sum(exp(subtract(x, y[:, :1]))))),
    ),
    "erf is odd": lambda x, y: (formulas.erf(exact.negative(x)), exact.negative(formulas.erf(x))),
    "variance": lambda x, y: (
        primitives.variance(x, 1),
        subtract(primitives.mean(multiply(x, x), 1), multiply(primitives.mean(x, 1), primitives.mean(x, 1))),
    ),
    "products": lambda x, y: (exact.matmul(exact.matmul(x, y), x), exact.matmul(x, exact.matmul(y, x))),
    "einsum": lambda x, y: (primitives.einsum("ik,jk->ij", [x, y]), exact.matmul(x, y.T)),
}  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
def test_laws(law: str) -> None:
    x, y = LAWS[law](some(6, 6), some(6, 6))
    assert agree(x, y)


@pytest.mark.parametrize("law", LAWS)
def test_what_is_off_by_little_is_not_the_same(law: str) -> None:
    x, y = LAWS[law](some(6, 6), some(6, 6))
    assert not exact.same(x, multiply(y, exact.numbers_of(np.asarray(1 + 1e-9)))).any()


def test_the_primes_are_a_chain_in_which_small_numbers_are_squares() -> None:
    p, q, r = field.MODULI
    assert p == 2 * q + 1
    assert q == 2 * r + 1
    for prime in (2, 3, 5, 7, 11, 13):
        assert all(pow(prime, (modulus - 1) // 2, modulus) == 1 for modulus in (p, q, r))


@pytest.mark.parametrize("number", range(field.LEVELS - 1))
def test_every_small_prime_is_the_power_that_its_logarithm_says(number: int) -> None:
    modulus, primes = field.MODULI[number], field.small_primes(number).tolist()
    table, squares = field.tabulated_logarithms(number)
    assert len(table) ** 2 > modulus
    for prime in primes:
        assert pow(2, int(table[prime]), modulus) == (prime if squares[prime] else modulus - prime)


def test_logarithms_are_the_exponents_of_powers() -> None:
    x = some(500)["r"].T.astype(np.uint64)
    found, powers = field.logarithm(x)
    again = field.exponential(found)
    for number in range(field.LEVELS - 1):
        same, opposite = again == x, again == np.asarray(field.negated(x))
        slots, below = field.level(number), field.level(number + 1)
        assert (same | opposite)[slots].all()
        assert (same[slots] == powers[below]).all()
        assert 0.4 < powers[below].mean() < 0.6


def test_many_logarithms_make_a_wrong_yes_more_likely() -> None:
    def bits(count: int) -> float:
        x = square(some(count))
        left, right = exact.total(log(x), 0), log(primitives.product(x, 0))
        found = compared(np.asarray(left)[None], np.asarray(right)[None])
        assert not found.open
        assert found.different is None
        return found.bits

    one, few, many = bits(1), bits(16), bits(256)
    assert 50 > one > few > many > 0


@pytest.mark.parametrize(
    "value",
    [
        1e-5,
        0.044715,
        math.sqrt(0.5),
        math.sqrt(2 / math.pi),
        128**-0.5,
        0.125 * math.log2(math.e),
        1 / 3,
        1 / 768,
        1.702,
    ],
)
def test_a_constant_is_the_same_number_in_every_format(value: float) -> None:
    short, wide = np.float32(value), np.asarray(value)
    assert agree(exact.numbers_of(np.asarray(short), "f32"), exact.numbers_of(wide))
    moved = exact.numbers_of(np.asarray(short * np.float32(1.0001)), "f32")
    assert not exact.same(moved, exact.numbers_of(wide))


def test_a_product_of_many_terms_is_exact() -> None:
    x, y = some(2, 3000), some(3000, 2)
    whole = [sum(int(a) * int(b) for a, b in zip(x["r"][0, :, 0], y["r"][:, 1, 0], strict=True))]
    assert int(exact.matmul(x, y)["r"][0, 1, 0]) == whole[0] % field.MODULI[0]


def test_infinities_do_what_they_do_in_masks() -> None:
    x = some(4)
    x["s"][1] = -np.inf
    assert exp(x)["s"][1] == 0
    assert exact.is_zero(exp(x)).tolist() == [False, True, False, False]
    assert agree(formulas.maximum(x, x[:1]), np.where(x["s"] >= x["s"][0], x, x[0]))
    with np.errstate(invalid="ignore"):
        assert np.isnan(subtract(x, x)["s"][1])


def test_near_ties_and_unknown_functions_are_said() -> None:
    x = some(3)
    y = x.copy()
    y["r"] += 1
    with pytest.raises(NearTie):
        formulas.maximum(x, y)
    with pytest.raises(Undecided, match="svd"):
        np.linalg.svd(presented(some(3, 3)))


BEYOND = decimal(1e6)
BEYOND_FLOAT64: dict[str, Callable[[], Any]] = {
    "power": lambda: exp(BEYOND),
    "power that underflows": lambda: exp(decimal(-710.0)),
    "power of 2 that underflows": lambda: formulas.exp2(decimal(-1023.0)),
    "power in parts": lambda: multiply(exp(decimal(-800.0)), exp(decimal(700.0))),
    "product": lambda: multiply(decimal(1e200), decimal(1e200)),
    "sum": lambda: add(decimal(1.5e308), decimal(1.5e308)),
    "long sum": lambda: exact.total(np.broadcast_to(decimal(1.5e308), (3,)), 0),
    "running sum": lambda: exact.running(np.broadcast_to(decimal(1.5e308), (3,)), 0)[-1],
    "long sum with an infinity": lambda: exact.total(
        np.stack([decimal(1.5e308), decimal(1.5e308), decimal(-math.inf)]), 0
    ),
    "product of matrices": lambda: exact.matmul(
        np.broadcast_to(decimal(1e160), (2, 2)), np.broadcast_to(decimal(1e160), (2, 2))
    )[0, 0],
    "quotient": lambda: divide(decimal(1e200), decimal(1e-200)),
    "divided by what underflows": lambda: divide(formulas.ONE, multiply(decimal(1e-200), decimal(1e-200))),
    "1 / infinity": lambda: divide(formulas.ONE, exp(BEYOND)),
    "tanh": lambda: formulas.tanh(exp(BEYOND)),
    "a power of it": lambda: exp(exact.negative(exp(BEYOND))),
    "logarithm": lambda: formulas.log(exp(BEYOND)),
    "root": lambda: formulas.sqrt(exp(BEYOND)),
    "root of what rounding made negative": lambda: formulas.sqrt(subtract(decimal(0.1), decimal(0.1 + 1e-14))),
    "0 times infinity": lambda: multiply(formulas.integers(0), exp(BEYOND)),
}


@pytest.mark.parametrize("name", BEYOND_FLOAT64)
def test_what_goes_beyond_float64_is_neither_equal_nor_different(name: str) -> None:
    with np.errstate(all="ignore"):
        lost = BEYOND_FLOAT64[name]()
    for other in (formulas.ONE, formulas.integers(0), lost, decimal(math.inf), decimal(math.nan)):
        for one, two in ((lost, other), (other, lost)):
            found = compared(presented(np.asarray(one)), presented(np.asarray(two)))
            assert (found.different, found.open) == (None, "a number goes beyond float64 on the way")
    with pytest.raises(NearTie, match="beyond float64"):
        formulas.maximum(lost, formulas.ONE)
    with pytest.raises(NearTie, match="beyond float64"):
        np.isfinite(presented(np.asarray(lost)))


def test_powers_down_to_the_last_of_float64_are_compared_and_those_of_masks_are_0() -> None:
    assert agree(multiply(exp(decimal(-708.0)), exp(decimal(708.0))), formulas.ONE)
    assert agree(formulas.exp2(multiply(log2e, decimal(-600.0))), exp(decimal(-600.0)))
    for mask in (-1e4, -65504.0, -1e9, float(np.finfo(np.float32).min), -math.inf):
        assert exact.is_zero(exp(decimal(mask)))
        assert exact.is_zero(formulas.exp2(decimal(mask)))


def test_infinities_of_real_numbers_are_compared() -> None:
    with np.errstate(all="ignore"):
        zero = formulas.integers(0)
        poles = [divide(formulas.ONE, zero), formulas.log(zero), exact.negative(decimal(math.inf)), divide(zero, zero)]
        poles.append(exact.total(np.stack([formulas.ONE, decimal(-math.inf)]), 0))
        poles.append(formulas.sqrt(decimal(-2.0)))
    for each in poles:
        assert compared(presented(np.asarray(each)), presented(np.asarray(formulas.ONE))).different == 0
        assert not compared(presented(np.asarray(each)), presented(np.asarray(each))).open
    assert exp(decimal(-math.inf))["s"] == 0
    assert compared(presented(formulas.ONE), presented(exp(decimal(-math.inf)))).different == 0


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_nothing_changes_its_operands(name: str) -> None:
    """Also not where one is a single element, which shares its memory with the array that it was taken from."""
    held = exact.numbers_of(np.array([0.25, 0.5, 400.0]))
    before = held.tobytes()
    for operand in (held, held[:1], held[0], held[2], held[1, ...]):
        with contextlib.suppress(Undecided, ValueError, IndexError):  # there is no matrix product of single elements
            ELEMENTWISE[name](*[operand] * getattr(getattr(np, name, None), "nin", 1))
        assert held.tobytes() == before


@pytest.mark.parametrize("width", [0, 1, 7, 8, 9, 16, 17, 31, 100])
def test_inverses_of_so_many_residues(width: int) -> None:
    residues = SOURCE.integers(0, field.SMALLEST, (field.SLOTS, width)).astype(np.uint64)
    residues[:, :1] = 0
    found = field.multiply(residues, field.inverse(residues))
    assert (found == (residues != 0)).all()


@pytest.mark.parametrize("shape", [(1, 6), (4, 1), (1, 1)])
def test_a_quotient_by_what_is_broadcast_is_that_by_its_copies(shape: tuple[int, int]) -> None:
    numerator, denominator = some(4, 6), np.broadcast_to(some(*shape), (4, 6))
    assert agree(exact.divide(numerator, denominator), exact.divide(numerator, denominator.copy()))
    assert exact.reciprocal(denominator).shape == (4, 6)
