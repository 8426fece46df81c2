"""Guard, prover, `run` and packer mean the same launches by a contract; a flaw in one of them shows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

import tileverify.backend.guard.guard as guard
import tileverify.backend.numbers.choose as conditions
import tileverify.contract.as_terms as contract
import tileverify.contract.contract as standing
from tileverify.backend.guard.arguments import ArrayValue, LaunchRefused
from tileverify.backend.guard.guard import Check
from tileverify.contract import expressions as operators
from tileverify.contract import terms as t
from tileverify.contract.contract import NumberRange
from tileverify.contract.launch import ArrayArgument, LaunchSpec, Name
from tileverify.results.codes import TV

from ..readings import campaign, readings

SEED = 1
LAUNCHES = 1000
LAUNCHES_UNTIL_FOUND = 5000


def test_nobody_reads_a_contract_otherwise() -> None:
    tally = campaign.run(LAUNCHES, SEED)
    assert tally.differences == [], tally.differences[0]
    assert tally.launches == LAUNCHES
    # It is about something: there are launches that are legal, and such that are not for every reason there is.
    assert tally.legal > LAUNCHES // 10
    assert set(tally.illegal) == {"numbers", "memory", "data"}


def test_the_summary_is_the_same_again() -> None:
    first, again = (campaign.summary(campaign.run(200, SEED), SEED) for _ in range(2))
    assert first == again


def wider_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a narrow ABI would be: the guard admits sizes that the proof is not about."""
    _with_largest(monkeypatch, 2**63 - 1, guard)


def wider_sizes_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standing facts themselves are wrong, for guard and prover alike: the printed contract says what was meant."""
    _with_largest(monkeypatch, 2**63 - 1, guard, contract, conditions)


def _with_largest(monkeypatch: pytest.MonkeyPatch, most: int, *readers: ModuleType) -> None:
    true = standing.array_ranges

    def ranges(array: ArrayArgument) -> Iterator[tuple[NumberRange, NumberRange]]:
        return ((replace(size, high=most), replace(stride, high=most)) for size, stride in true(array))

    for reader in readers:
        monkeypatch.setattr(reader, "array_ranges", ranges)


def negative_names(monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, lambda check: "is negative" in check.text and "stride" not in check.text)


def any_scalar(monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, lambda check: "does not fit" in check.text and "size" not in check.text)


def overlapping_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "apart", lambda shape, strides: True)


def strides_as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stride of a dimension with one element is passed as a framework left it."""
    monkeypatch.setattr(readings.Read, "described", lambda self, given: given)


def prover_bounds_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "INDEX_MAX", {32: 2**24, 64: 2**24})


def remainders_towards_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    _another_term(monkeypatch, "%", t.truncmod)


def products_as_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    _another_term(monkeypatch, "*", t.add)


def _another_term(monkeypatch: pytest.MonkeyPatch, word: str, term: Callable[..., t.Term]) -> None:
    table = {**operators.OPERATORS, word: replace(operators.OPERATORS[word], term=term)}
    monkeypatch.setattr(operators, "OPERATORS", table)


def masked_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packer cuts off what does not fit, and the guard lets it through."""
    wider_sizes(monkeypatch)
    monkeypatch.setattr(readings, "packed", lambda *_: (_ for _ in ()).throw(LaunchRefused("cut off")))


def _without(monkeypatch: pytest.MonkeyPatch, left_out: Callable[[Check], bool]) -> None:
    def check(source: str, text: str, code: TV = TV.LAUNCH_CONTRACT) -> Check:
        made = Check(source, text, code)
        return replace(made, source="True") if left_out(made) else made

    monkeypatch.setattr(guard, "Check", check)


FLAWS: list[Any] = [
    wider_sizes, wider_sizes_for_all, negative_names, any_scalar, overlapping_elements, strides_as_given,
    prover_bounds_too_much, remainders_towards_zero, products_as_sums, masked_numbers,
]  # fmt: skip


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_shows(flaw: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    flaw(monkeypatch)
    assert campaign.run(LAUNCHES_UNTIL_FOUND, SEED, first=True).differences


def test_a_stride_of_one_element_is_passed_as_described() -> None:
    """What a framework puts there reaches no element, but the kernel may read it."""
    spec = LaunchSpec("k", "0", (ArrayArgument("x", "f32", (Name("M"), Name("N"))),))
    made = guard.compile_guard(spec, (), frozenset({"x"}))
    for shape, given, passed in (
        ((1, 5), (77, 1), (5, 1)),
        ((1, 5), (-3, 1), (5, 1)),
        ((0, 5), (2**40, 9), (5, 1)),
        ((3, 1), (1, 99), (1, 1)),
        ((3, 5), (5, 1), (5, 1)),
        ((3, 5), (7, 1), (7, 1)),
    ):
        (value,) = made.passed([ArrayValue(4096, shape, given, "f32")])
        assert isinstance(value, ArrayValue)
        assert value.strides == passed
