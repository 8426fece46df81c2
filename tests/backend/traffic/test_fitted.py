"""Expressions that fit what was counted: found where there is one, and none that only nearly fits."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tileverify.backend.traffic.measured import Fitting, Formula, constant
from tileverify.contract.expression_parser import parse_size
from tileverify.contract.expressions import evaluate

LAUNCHES = [{"M": 7 * n * n % 900 + 1, "N": 13 * n % 777 + 2} for n in range(1, 20)]
ATOMS = ["M", "N", "cdiv(M, 64)", "cdiv(N, 64)"]
FITTING = Fitting(LAUNCHES, ATOMS)


def counts(text: str) -> list[int]:
    return [evaluate(parse_size(text), values) for values in LAUNCHES]


def test_a_product_is_found_and_written_in_the_order_of_sizes() -> None:
    found = FITTING.fit(counts("6 * M * N * cdiv(N, 64)"))
    assert found is not None
    assert found.text(["M", "N"]) == "6 * M * N * cdiv(N, 64)"


def test_a_sum_of_squares_is_found() -> None:
    found = FITTING.fit(counts("64 * cdiv(N, 64) * (cdiv(N, 64) - 1) // 2 + N"))
    assert found is not None
    assert found.text(["M", "N"]) == "32 * cdiv(N, 64)**2 + N - 32 * cdiv(N, 64)"


def test_nothing_is_found_that_is_wrong_in_one_launch() -> None:
    wrong = counts("2 * M * N")
    wrong[11] += 1
    assert FITTING.fit(wrong) is None


def test_few_launches_show_nothing() -> None:
    assert Fitting(LAUNCHES[:5], ATOMS).fit(counts("M")[:5]) is None


def test_halves_are_written_as_one_division() -> None:
    text = Formula({("N", "N"): Fraction(1, 2), ("N",): Fraction(1, 2)}).text(["N"])
    assert text == "(N**2 + N) // 2"


@given(st.integers(1, 9), st.lists(st.sampled_from(ATOMS), max_size=3))
@settings(max_examples=30, deadline=None)
def test_what_is_written_means_what_is_meant(scale: int, factors: list[str]) -> None:
    formula = constant(scale)
    for each in factors:
        formula = formula.times(Formula({(each,): Fraction(1), (): Fraction(2)}))
    for values in LAUNCHES[:4]:
        assert evaluate(parse_size(formula.text(["M", "N"])), values) == formula.value(values)
