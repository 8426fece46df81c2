"""What is proved, is written, read, derived again and confirmed by the second solver."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.corpus.compiled import corpus_kernels

from tileverify.corpus import ROOT
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results.codes import THEORIES, Tier
from tileverify.verifier.certificate.launches import essence, launch_from_json, launch_to_json
from tileverify.verifier.certificate.model import certificate_text, read_certificate
from tileverify.verifier.certificate.recheck import Rechecking, recheck
from tileverify.verifier.certificate.second_solver import SecondSolver

from .proofs import certificates_of

SHOWCASE = sorted(f"showcase/{path.name}" for path in (ROOT / "showcase").glob("*.py"))
OTHERS = [
    "contract/any_grid.py",  # clauses of the tool's own
    "contract/unchecked_position.py",  # a clause about a scalar
    "race_free/scatter_permutation.py",  # facts about data
    "race_free/axpy.py",  # a launch of numbers, whose proof holds for more
    "race_free/split_k_atomic.py",
    "order/loop_carried.py",  # iterations
    pytest.param("twins/contiguous_shares.py", marks=pytest.mark.slow),  # non-linear integers
    "twins/runtime_step.py",
]


@pytest.mark.parametrize("target", [*SHOWCASE, *OTHERS])
def test_every_obligation_is_confirmed(target: str) -> None:
    for unit, result, text in certificates_of(target):
        found = recheck(text, target, bytecode=unit.bytecode, solver=SecondSolver())
        assert found.derived
        assert set(found.answers) == {Rechecking.CONFIRMED}, Counter(found.answers)
        assert len(found.answers) == result.obligations.total
        certificate = found.certificate
        assert certificate.requires == result.requires
        assert certificate.bytecode_sha256 == result.bytecode_sha256
        assert {proved.code for proved in certificate.obligations} == set(result.proved_codes)


@pytest.mark.parametrize("target", ["showcase/matmul_swizzled.py", "contract/any_grid.py"])
def test_a_certificate_reads_back_and_is_written_the_same_again(target: str) -> None:
    for unit, *_ in certificates_of(target):
        first, again = (check_unit(unit, CheckOptions(certificate=True)).certificate for _ in range(2))
        assert first is not None
        assert first == again
        assert certificate_text(read_certificate(first.text, target)) == first.text


def test_every_tier_occurs() -> None:
    tiers = {
        proved.tier
        for target in ("showcase/matmul_swizzled.py", "twins/contiguous_shares.py", "integers/bit_patterns.py")
        for each in certificates_of(target)
        for proved in read_certificate(each.text, target).obligations
    }
    assert tiers == {Tier.STRUCTURAL, *THEORIES}


def test_words_of_bits_are_confirmed() -> None:
    confirmed = 0
    # Words are confirmed at once; one question of integers is left open at any limit, and is no word.
    solver = SecondSolver(limit=200_000)
    for unit, _, text in certificates_of("integers/bit_patterns.py"):
        found = recheck(text, "", bytecode=unit.bytecode, solver=solver)
        assert not found.count(Rechecking.REJECTED)
        assert not found.count(Rechecking.OPEN, Tier.BIT_VECTORS)
        confirmed += found.count(Rechecking.CONFIRMED, Tier.BIT_VECTORS)
    assert confirmed >= 6


def test_the_swizzle_is_confirmed_by_lemmas_and_equal_twins() -> None:
    (written,) = certificates_of("showcase/matmul_swizzled.py")
    certificate = read_certificate(written.text, "")
    assert any(question.equal for question in certificate.questions)
    assert {lemma.schema for lemma in certificate.lemmas} >= {"quotient", "order"}
    assert len(written.text) < 16_000


def test_without_the_bytecode_the_proofs_are_still_confirmed() -> None:
    (written,) = certificates_of("showcase/transpose.py")
    found = recheck(written.text, "", bytecode=None, solver=SecondSolver())
    assert not found.derived
    assert set(found.answers) == {Rechecking.CONFIRMED}


def test_a_solver_that_gives_up_confirms_nothing() -> None:
    (written,) = certificates_of("showcase/matmul_swizzled.py")
    found = recheck(written.text, "", bytecode=written.unit.bytecode, solver=SecondSolver(limit=1))
    assert found.count(Rechecking.OPEN)
    assert not found.count(Rechecking.REJECTED)


def test_every_launch_of_the_corpus_has_words_that_read_back() -> None:
    seen = 0
    for unit in corpus_kernels():
        assert essence(launch_from_json(launch_to_json(unit.launch))) == essence(unit.launch)
        seen += 1
    assert seen > 90
