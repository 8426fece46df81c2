"""What confirms each obligation, and what a certificate says that its proofs take."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.verifier.certificate import recheck as module
from tileverify.verifier.certificate.model import CertificateError, read_certificate
from tileverify.verifier.certificate.recheck import Means, Rechecked, Rechecking, recheck
from tileverify.verifier.certificate.scripts import question_scripts
from tileverify.verifier.certificate.second_solver import LARGEST_DIVISOR, MOST, Opinion, SecondSolver, remainder_cases

from .proofs import Json, Written, certificates_of, forged

SWIZZLE = "showcase/matmul_swizzled.py"
DECLARED = "(set-logic ALL)\n(declare-const $x Int)\n(declare-const $y Int)\n"


def checked(written: Written, text: str, limit: int = 2_000_000, *, bytecode: bool = True) -> Rechecked:
    return recheck(text, "it", bytecode=written.unit.bytecode if bytecode else None, solver=SecondSolver(limit))


# --------------------------------------------------------------------------------------------- by what
def test_rules_solver_and_lemmas_are_told_apart() -> None:
    for target, lemmas in ((SWIZZLE, True), ("showcase/vector_add.py", False)):
        (written,) = certificates_of(target)
        found = checked(written, written.text)
        counted = Counter(each for means in found.means for each in means)
        assert counted[Means.CVC5] == len(found.means)
        assert bool(counted[Means.LEMMAS]) is lemmas
        assert counted[Means.STRUCTURAL] == written.result.obligations.structural
        assert not counted[Means.FIRST_ONLY]


def test_without_an_answer_only_rules_and_the_first_solver_are_left() -> None:
    (written,) = certificates_of(SWIZZLE)
    found = checked(written, written.text, limit=1)
    open_ = [means for means, answer in zip(found.means, found.answers, strict=True) if answer is Rechecking.OPEN]
    assert (Means.FIRST_ONLY,) in open_
    assert {Means.CVC5, Means.LEMMAS}.isdisjoint(each for means in open_ for each in means)


def test_a_rule_counts_only_where_it_was_used_again() -> None:
    (written,) = certificates_of(SWIZZLE)
    found = checked(written, written.text, bytecode=False)
    assert not any(Means.STRUCTURAL in means for means in found.means)


def test_it_is_told_in_text_and_in_json(tileverify: CommandLine) -> None:
    (written,) = certificates_of(SWIZZLE)
    Path("it").write_text(written.text)
    plain, verbose = tileverify("recheck", "it"), tileverify("recheck", "it", "--verbose")
    assert " by cvc5" not in plain.out
    assert "cvc5 and lemmas: TV101" in verbose.out
    assert " by cvc5 and lemmas\n" in verbose.out
    ((document,),) = (json.loads(tileverify("recheck", "it", "--format", "json").out)["certificates"],)
    assert ["cvc5", "lemmas"] in [each["confirmed_by"] for each in document["obligations"]]


# ------------------------------------------------------------------------------------------- what it takes
def test_proofs_take_little_of_what_is_known() -> None:
    (written,) = certificates_of("showcase/permute.py")
    certificate = read_certificate(written.text, "it")
    named = [each for each in certificate.questions if each.needs is not None]
    assert named
    known = sum(len(certificate.facts) + len(each.conditions) for each in named)
    assert sum(len(each.needs or ()) for each in named) < known / 2


def test_a_certificate_that_says_nothing_of_it_is_confirmed_too() -> None:
    def without(document: Json) -> None:
        for question in document["questions"]:
            del question["needs"]
            question["equal"] = [each[:4] for each in question["equal"]]

    (written,) = certificates_of(SWIZZLE)
    assert checked(written, forged(written.text, without)).answer is Rechecking.CONFIRMED


def test_one_that_names_too_little_is_asked_as_a_whole() -> None:
    def nothing(document: Json) -> None:
        for question in document["questions"]:
            question["needs"] = []

    (written,) = certificates_of("showcase/vector_add.py")
    assert checked(written, forged(written.text, nothing)).answer is Rechecking.CONFIRMED


def test_what_is_not_there_cannot_be_needed() -> None:
    def beyond(document: Json) -> None:
        question = document["questions"][0]
        question["needs"] = [len(document["facts"]) + len(question["conditions"]) + len(question["equal"])]

    (written,) = certificates_of("showcase/vector_add.py")
    with pytest.raises(CertificateError, match="a condition that is not there"):
        read_certificate(forged(written.text, beyond), "it")


# -------------------------------------------------------------------------------------------------- cases
def test_every_remainder_is_a_case() -> None:
    script = f"{DECLARED}(assert (< (mod (+ $x 1) 2) (mod $y 3)))\n"
    found = remainder_cases(script)
    assert len(found) == 6
    assert found[0] == f"{script}(assert (= (mod (+ $x 1) 2) 0))\n(assert (= (mod $y 3) 0))\n"
    assert len(set(found)) == 6


@pytest.mark.parametrize("number", ["1", str(LARGEST_DIVISOR + 1), "$y"])
def test_other_remainders_are_not_split(number: str) -> None:
    assert not remainder_cases(f"{DECLARED}(assert (= (mod $x {number}) 0))\n")


def test_there_are_never_many_cases() -> None:
    script = DECLARED + "".join(f"(assert (= (mod (+ $x {n}) {LARGEST_DIVISOR}) 0))\n" for n in range(9))
    assert 0 < len(remainder_cases(script)) <= MOST


def test_a_satisfiable_script_has_a_satisfiable_case() -> None:
    script = f"{DECLARED}(assert (= (mod $x 4) 3))\n"
    opinions = [SecondSolver().opinion(each) for each in remainder_cases(script)]
    assert opinions == [Opinion.CONTRADICTION] * 3 + [Opinion.MODEL]


def test_an_exchange_of_neighbours_is_confirmed_case_by_case(monkeypatch: pytest.MonkeyPatch) -> None:
    written = next(each for each in certificates_of("integers/bit_patterns.py") if each.unit.kernel == "exchange")
    found = checked(written, written.text, 200_000)
    assert found.answer is Rechecking.CONFIRMED
    assert [Means.CVC5, Means.CASES] in [list(means) for means in found.means]
    monkeypatch.setattr(module, "contradicted_in_cases", lambda script, solver: False)
    assert checked(written, written.text, 200_000).answer is Rechecking.OPEN


def test_small_contradictions_are_asked_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    (written,) = certificates_of("showcase/vector_add.py")
    asked: list[str] = []
    opinion = SecondSolver.opinion

    def counted(self: SecondSolver, script: str, *, part: int = 1) -> Opinion:
        asked.append(script)
        return opinion(self, script, part=part)

    monkeypatch.setattr(SecondSolver, "opinion", counted)
    assert checked(written, written.text).answer is Rechecking.CONFIRMED
    assert len(asked) == 2


def test_what_is_no_contradiction_together_is_asked_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One question that a solver leaves open leaves the others confirmed."""
    (written,) = certificates_of("showcase/vector_add.py")
    (first, *_) = question_scripts(read_certificate(written.text, "it"), 0)
    opinion = SecondSolver.opinion

    def forgetful(self: SecondSolver, script: str, *, part: int = 1) -> Opinion:
        if "(assert (or false " in script or script == first.text:
            return Opinion.NONE
        return opinion(self, script, part=part)

    monkeypatch.setattr(SecondSolver, "opinion", forgetful)
    monkeypatch.setattr(module._Opinions, "_ask", lambda self, script: Rechecking.OPEN)
    answers = checked(written, written.text).answers
    assert Rechecking.OPEN in answers
    assert Rechecking.CONFIRMED in answers
