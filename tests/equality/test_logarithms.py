"""Kernels with logarithms beside references that write them in another way."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.contract.launch import KernelUnit
from tileverify.equality.answer_text import sentence
from tileverify.equality.deciding import ENOUGH_BITS, Decision, ExactAnswer, decide
from tileverify.equality.points import Options
from tileverify.equality.reference_runs import loaded, other_of
from tileverify.equality.targets import kernel_of, written_by
from tileverify.frontend.sources.discover import discover

HERE = Path(__file__).parent


@cache
def _units() -> dict[str, KernelUnit]:
    return {unit.kernel: unit for unit in discover([str(HERE / "log_kernels.py")]) if isinstance(unit, KernelUnit)}


def _answer(kernel: str, reference: str, **values: int) -> ExactAnswer:
    pytest.importorskip("torch")
    unit = _units()[kernel]
    other = other_of(loaded(f"{HERE / 'log_references.py'}::{reference}"), written_by(unit))
    return decide(unit, kernel_of(unit), ContractInNumbers(unit.launch), other, Options(values=values))


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        ("log_softmax", "log_softmax"),
        ("log_softmax", "log_of_softmax"),
        ("log_softmax", "without_logsumexp"),
        ("log_of_softmax", "log_softmax"),
        ("log2_softmax", "log_softmax"),
        ("cross_entropy", "cross_entropy"),
        ("cross_entropy_smooth", "cross_entropy_smooth"),
        ("kl", "kl"),
        ("log_sums", "log_sums"),
        ("log_sums", "log_of_product"),
    ],
)
def test_rows_with_logarithms_are_equal(kernel: str, reference: str) -> None:
    found = _answer(kernel, reference, M=5, N=33)
    assert found.answer is Decision.EQUAL, sentence(found)
    assert found.bits >= ENOUGH_BITS


@pytest.mark.parametrize("reference", ["softplus", "softplus_by_log1p", "softplus_by_logaddexp"])
@pytest.mark.parametrize("kernel", ["softplus", "softplus_stable"])
def test_both_ways_to_write_softplus_are_equal(kernel: str, reference: str) -> None:
    found = _answer(kernel, reference, N=130)
    assert found.answer is Decision.EQUAL, sentence(found)


def test_powers_by_logarithms_are_powers() -> None:
    assert _answer("power", "power", N=130).answer is Decision.EQUAL


@pytest.mark.parametrize(
    ("kernel", "reference", "sizes"),
    [
        ("log_softmax_wrong", "log_softmax", {"M": 3, "N": 9}),
        ("softplus", "power_of_softplus", {"N": 20}),
        ("cross_entropy_smooth", "cross_entropy", {"M": 3, "N": 9}),
        ("kl", "kl_swapped", {"M": 3, "N": 9}),
    ],
)
def test_other_functions_with_logarithms_are_different(kernel: str, reference: str, sizes: dict[str, int]) -> None:
    found = _answer(kernel, reference, **sizes)
    assert found.answer is Decision.DIFFERENT, sentence(found)


def test_where_logarithms_are_so_many_that_a_wrong_yes_is_likely_nothing_is_decided() -> None:
    found = _answer("log_sums", "log_sums", M=1, N=256)
    assert found.answer is Decision.EQUAL
    few = _answer("log_sums_of_powers", "log_sums_of_powers", M=1, N=256)
    assert few.answer is Decision.NOT_DECIDED
    assert few.reason.startswith("with so many logarithms in one element a wrong yes is as likely as 2^-")
