"""Checks a certificate: its texts and hashes, its questions against the bytecode, its proofs by a second solver."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...frontend.bytecode.decoder import semantic_sha256
from ...frontend.symbolic.summary import AccessSummary
from ...results.codes import Tier
from ...system.errors import DecodeError, SpecError, TileVerifyError, UnsupportedOperation
from ..obligations.consistency import elements, promises
from ..obligations.derivation import Answered, Underivable, Witnessed, derive
from ..obligations.limits import clause_terms
from ..obligations.prepare import launch_facts
from ..obligations.smtlib import Vocabulary
from .model import Certificate, CertificateError, Place, Question, read_certificate
from .reread import By, Reread, check_entry, check_name, summary_read_again
from .scripts import (
    Script,
    Statement,
    any_script,
    check_texts,
    lemma_script,
    possibility_script,
    question_scripts,
    stated_facts,
    statement,
)
from .second_solver import PART, Opinion, SecondSolver, contradicted_in_cases


class Rechecking(enum.Enum):
    """The second solver's verdict on a proof."""

    CONFIRMED = "confirmed"
    OPEN = "not confirmed"
    REJECTED = "rejected"


class Means(enum.Enum):
    """The means that confirm an obligation.

    ``STRUCTURAL``: tileverify's own simplification, repeated in the derivation from the bytecode, refutes it.
    ``CVC5``: the second solver confirms the obligation and its side questions; ``LEMMAS``: with instances of schemas
    that are proved in Coq; ``CASES``: case by case.  ``FIRST_ONLY``: none of these; only the first solver's answer.
    """

    STRUCTURAL = "structural rule"
    CVC5 = "cvc5"
    LEMMAS = "lemmas"
    CASES = "cases"
    FIRST_ONLY = "z3 only"


@dataclass(frozen=True, slots=True)
class Rechecked:
    """``bytecode_sha256``: of the bytecode that yields the same questions; ``None`` if it was missing or not read.

    ``answers`` and ``means``: one for each obligation of the certificate.  ``reread``: the reader of the bytecode.
    """

    certificate: Certificate
    bytecode_sha256: str | None
    answers: tuple[Rechecking, ...]
    means: tuple[tuple[Means, ...], ...]
    reread: Reread | None = None

    @property
    def derived(self) -> bool:
        return self.bytecode_sha256 is not None

    @property
    def answer(self) -> Rechecking:
        """The worst answer; at best `OPEN` without bytecode or without obligations, as then nothing is proved."""
        if self.count(Rechecking.REJECTED):
            return Rechecking.REJECTED
        whole = self.derived and self.answers and not self.count(Rechecking.OPEN)
        return Rechecking.CONFIRMED if whole else Rechecking.OPEN

    def count(self, answer: Rechecking, *tiers: Tier) -> int:
        """How many obligations (of ``tiers``, if any are named) have this answer."""
        pairs = zip(self.certificate.obligations, self.answers, strict=True)
        return sum(each is answer and (not tiers or proved.tier in tiers) for proved, each in pairs)


def recheck(text: str, file: str, *, bytecode: bytes | None, solver: SecondSolver, executor: bool = True) -> Rechecked:
    """Check the certificate in ``text``; with ``bytecode``, also against its kernel.

    ``executor``: the prover's executor reads bytecode that the checker cannot follow.

    Raises `CertificateError` if the certificate is damaged, or differs from a new derivation.
    """
    certificate = read_certificate(text, file)
    check_texts(certificate, file)
    _check_contract(certificate, file)
    check_entry(certificate, file)
    check_name(certificate, file)
    reread = None
    if bytecode is not None:
        check_bytecode(certificate, bytecode, file)
        reread = check_derivation(certificate, bytecode, file, solver, executor=executor)
    _check_possible(certificate, solver, file)
    derived = bytecode is not None and reread is not None and reread.by is not By.NOBODY
    seen = hashlib.sha256(bytecode).hexdigest() if bytecode is not None and derived else None
    opinions = _Opinions(certificate, solver)
    answers = tuple(opinions.answers())
    return Rechecked(certificate, seen, answers, tuple(opinions.means(derived=derived)), reread)


# -------------------------------------------------------------------------------------- without a solver
def _check_contract(certificate: Certificate, file: str) -> None:
    """Check that the facts are those of the launch contract, plus at most one for each clause."""
    try:
        vocabulary = Vocabulary()
        facts = stated_facts(launch_facts(build_contract(certificate.launch)), vocabulary)
    except SpecError as error:
        raise CertificateError(f"the certificate's launch contract means nothing: {error.message}", file) from None
    definitions = list(certificate.definitions.items())[: len(vocabulary.definitions)]
    symbols = {name: certificate.symbols.get(name) for name in vocabulary.symbols}
    same = definitions == list(vocabulary.definitions.items()) and symbols == vocabulary.symbols
    if not same or certificate.facts[: len(facts)] != facts:
        raise CertificateError("the facts of the certificate are not those of its launch contract", file)
    if len(certificate.facts) > len(facts) + len(certificate.requires):
        raise CertificateError("the certificate assumes more than its launch contract and its clauses say", file)


def check_bytecode(certificate: Certificate, bytecode: bytes, file: str) -> None:
    """Check that the certificate is about these bytes; only debug and producer information may differ."""
    if hashlib.sha256(bytecode).hexdigest() == certificate.bytecode_sha256:
        return
    try:
        same = semantic_sha256(bytecode) == certificate.semantic_sha256
    except DecodeError as error:
        raise CertificateError(f"the bytecode cannot be read: {error}", file) from None
    if not same:
        raise CertificateError("the bytecode is not what the certificate speaks of: its hash differs", file)


def check_derivation(
    certificate: Certificate, bytecode: bytes, file: str, solver: SecondSolver, *, executor: bool = True
) -> Reread:
    """Check the certificate's summary against the bytecode, derive every question again, and compare."""
    try:
        summary, reread = summary_read_again(certificate, bytecode, file, solver, executor=executor)
        if summary is None:
            return reread
        found = _derived(certificate, summary)
    except CertificateError:
        raise
    except Underivable as error:
        code = error.obligation.code
        raise CertificateError(f"the certificate has no proof for an obligation of the kernel ({code})", file) from None
    except UnsupportedOperation as error:
        raise CertificateError(f"the kernel has an operation without a rule: {error}", file) from None
    except TileVerifyError as error:
        raise CertificateError(f"the questions could not be derived again: {error.message}", file) from None
    for what, same in _compared(certificate, found):
        if not same:
            raise CertificateError(f"the {what} of the certificate are not those that the bytecode leads to", file)
    return reread


def _derived(certificate: Certificate, summary: AccessSummary) -> Statement:
    answers = {
        question.id: Answered(tuple(each.twin for each in question.equal), question.tier)
        for question in certificate.questions
    }
    clauses = clause_terms(certificate.requires, summary, certificate.launch)
    return statement(derive(summary, build_contract(certificate.launch), clauses, lambda facts: Witnessed(answers)))


def _compared(certificate: Certificate, found: Statement) -> Iterator[tuple[str, bool]]:
    definitions = found.vocabulary.definitions
    yield "symbols", dict(certificate.symbols) == found.vocabulary.symbols
    yield "definitions", list(certificate.definitions.items())[: len(definitions)] == list(definitions.items())
    yield "facts", certificate.facts == found.facts
    yield "questions", tuple(map(_without_lemmas, certificate.questions)) == found.questions
    yield "obligations", certificate.obligations == found.obligations
    yield "places", tuple(map(_without_position, certificate.places)) == tuple(map(_without_position, found.places))


def _without_lemmas(question: Question) -> Question:
    equal = tuple(replace(each, lemmas=(), needs=None) for each in question.equal)
    return replace(question, lemmas=(), needs=None, equal=equal)


def _without_position(place: Place) -> Place:
    """The place without its line number: the certificate guarantees no debug information."""
    return replace(place, at="")


# ----------------------------------------------------------------------------------- with a second solver
def _check_possible(certificate: Certificate, solver: SecondSolver, file: str) -> None:
    """Reject a contract that no launch satisfies, or facts that no contents satisfy: they would prove everything.

    Without an answer within a part of the limit the contract passes: if it is contradictory, no launch can use it.
    """
    contract = build_contract(certificate.launch)
    vocabulary = Vocabulary()
    stated_facts(launch_facts(contract), vocabulary)
    known = len(vocabulary.definitions)
    promised = stated_facts(promises(contract), vocabulary)
    # Facts on an array that is always empty mean nothing; an array described as empty is intended.
    some = {
        name: stated_facts([t.le(t.ONE, count)], vocabulary)
        for name, count in elements(contract).items()
        if count is not t.ZERO
    }
    whole = [*promised, *(text for stated in some.values() for text in stated)]
    if solver.opinion(possibility_script(certificate, vocabulary, known, whole), part=_FEW) is Opinion.MODEL:
        return  # one launch without empty arrays shows everything at once; if products hide it, ask one by one
    script = possibility_script(certificate, vocabulary, known, promised)
    if solver.opinion(script, part=PART) is Opinion.CONTRADICTION:
        raise CertificateError("no launch satisfies the contract of the certificate", file)
    for name, stated in some.items():
        script = possibility_script(certificate, vocabulary, known, (*promised, *stated))
        if solver.opinion(script, part=PART) is Opinion.CONTRADICTION:
            raise CertificateError(f"`{name}` is empty in every launch of the certificate's contract", file)


@dataclass
class _Opinions:
    certificate: Certificate
    solver: SecondSolver
    _lemmas: dict[int, Rechecking] = field(default_factory=dict)

    _questions: dict[int, Rechecking] = field(default_factory=dict)
    _split: set[int] = field(default_factory=set)  # questions that were answered case by case

    _together: set[str] = field(default_factory=set)  # scripts that are contradictions, by name

    def answers(self) -> Iterator[Rechecking]:
        questions = range(len(self.certificate.questions))
        short = [tuple(question_scripts(self.certificate, number)) for number in questions]
        self._ask_together([script for scripts in short for script in scripts], exact=False)
        used = sorted(set().union(*map(self._lemmas_of, questions)))
        self._ask_together([lemma_script(self.certificate, number) for number in used], exact=True)
        for number in questions:
            self._questions[number] = self._question(number, short[number])
        for proved in self.certificate.obligations:
            yield _worst(self._questions[number] for number in (proved.question, *proved.wraps))

    def means(self, *, derived: bool) -> Iterator[tuple[Means, ...]]:
        """The means that confirm each obligation; call `answers` first."""
        for proved in self.certificate.obligations:
            used = (proved.question, *proved.wraps)
            open_ = {number for number in used if self._questions[number] is not Rechecking.CONFIRMED}
            found = [Means.STRUCTURAL] if derived and proved.tier == Tier.STRUCTURAL else []
            if not open_:
                found.append(Means.CVC5)
                found += [Means.LEMMAS] if any(map(self._lemmas_of, used)) else []
                found += [Means.CASES] if self._split.intersection(used) else []
            elif open_ != {proved.question}:
                found = []  # the rule decides the obligation, but not its side questions
            yield tuple(found) or (Means.FIRST_ONLY,)

    def _lemmas_of(self, number: int) -> set[int]:
        question = self.certificate.questions[number]
        return {*question.lemmas, *(lemma for each in question.equal for lemma in each.lemmas)}

    def _ask_together(self, scripts: Sequence[Script], *, exact: bool) -> None:
        """Ask for many small contradictions in one script, because setting up a script takes longer than the answer.

        Without a contradiction nothing is known, and each is asked alone.
        """
        fit = [each for each in scripts if each.asserted is not None and each.exact == exact]
        for start in range(0, len(fit), _TOGETHER):
            some = fit[start : start + _TOGETHER]
            text = any_script(self.certificate, some, exact=exact)
            if len(some) > 1 and self.solver.opinion(text, part=_FEW) is Opinion.CONTRADICTION:
                self._together.update(each.name for each in some)

    def _question(self, number: int, short: Sequence[Script]) -> Rechecking:
        proofs = [self._script(number, position, script) for position, script in enumerate(short)]
        return _worst((*proofs, *map(self._lemma, sorted(self._lemmas_of(number)))))

    def _script(self, number: int, position: int, short: Script) -> Rechecking:
        """Ask first with the certificate's needed facts alone, then in cases, then with everything and the whole limit.

        Only the last question can reject.
        """
        if short.name in self._together or self.solver.opinion(short.text, part=PART) is Opinion.CONTRADICTION:
            return Rechecking.CONFIRMED
        if contradicted_in_cases(short, self.solver):
            self._split.add(number)
            return Rechecking.CONFIRMED
        return self._ask(next(islice(question_scripts(self.certificate, number, whole=True), position, None)))

    def _lemma(self, number: int) -> Rechecking:
        """Whether the schema applies: its product and quotient arguments really are products and quotients."""
        if number not in self._lemmas:
            script = lemma_script(self.certificate, number)
            known = script.name in self._together
            self._lemmas[number] = Rechecking.CONFIRMED if known else self._ask(script)
        return self._lemmas[number]

    def _ask(self, script: Script) -> Rechecking:
        answer = _ANSWERS[self.solver.opinion(script.text)]
        return Rechecking.OPEN if answer is Rechecking.REJECTED and not script.complete else answer


_TOGETHER: Final = 32
"""The most contradictions in one script."""

_FEW: Final = 50
"""A script that is only a short cut gets one of so many parts of the limit."""

_ANSWERS: Final = {
    Opinion.CONTRADICTION: Rechecking.CONFIRMED,
    Opinion.NONE: Rechecking.OPEN,
    Opinion.MODEL: Rechecking.REJECTED,
}


def _worst(answers: Iterable[Rechecking]) -> Rechecking:
    found = set(answers)
    return next((answer for answer in (Rechecking.REJECTED, Rechecking.OPEN) if answer in found), Rechecking.CONFIRMED)
