"""From a verdict `proved` to its certificate: proves everything once more and records the proof.

`prove_again` does the same proof for a bundle whose certificate is not trusted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.launch import KernelUnit, LaunchSpec
from ...contract.terms import Term, TermKind
from ...frontend.bytecode.decoder import semantic_sha256
from ...frontend.symbolic.summary import AccessSummary
from ...results import KernelResult
from ...results.codes import Tier
from ...system.errors import SpecError, TileVerifyError, UnsupportedOperation
from ...system.version import __version__
from ..budgets import CERTIFICATE_UNITS
from ..obligations.answers import Answer, Limits, Proof
from ..obligations.derivation import Derivation, Underivable, beyond_linear, derive
from ..obligations.lemmas import Lemma as SolverLemma
from ..obligations.lemmas import bound_lemmas, shift_lemmas
from ..obligations.limits import clause_terms
from ..obligations.smtlib import Vocabulary, needed_names, script
from ..smt import Solver, core_of_last, solver_version
from .launches import essence, launch_from_json, launch_to_json
from .model import Certificate, CertificateError, CertifiedLemma, Equality, FoundBy, Question
from .reread import check_entry, summary_of
from .scripts import Statement, lemma_assertion, statement, tier_of
from .stated_accesses import reading_document, reading_of


def certify(unit: KernelUnit, summary: AccessSummary, result: KernelResult) -> Certificate:
    """The certificate of ``result``, whose verdict on ``unit`` is `proved`.

    Raises `CertificateError` if the second proof fails.
    """
    if count := result.obligations.enumerated:
        raise CertificateError(
            f"{count} of {result.obligations.total} obligations were enumerated in the reference interpreter, and a"
            " certificate holds proofs by formulas alone",
            result.file,
            result.line,
        )
    try:
        derivation = _proved(summary, unit.launch, result.clauses)
    except (SpecError, Underivable) as error:
        raise CertificateError(f"the proof could not be written down: {error}", result.file, result.line) from None
    if len(derivation.steps) != result.obligations.total:
        raise CertificateError(
            f"the proof has {len(derivation.steps)} obligations, but {result.obligations.total} were checked",
            result.file,
            result.line,
        )
    launch = launch_from_json(launch_to_json(unit.launch))
    if essence(launch) != essence(unit.launch):
        raise CertificateError("the launch contract has no words that read back as the same contract", result.file)
    stated = statement(derivation)
    vocabulary, of_questions = stated.vocabulary, len(stated.vocabulary.definitions)
    lemmas = _Lemmas(vocabulary)
    questions = tuple(
        _Argument(question, proof, derivation, stated, lemmas).complete()
        for question, proof in zip(stated.questions, derivation.questions, strict=True)
    )
    return Certificate(
        tool=FoundBy(__version__, solver_version()),
        file=result.file,
        kernel=result.kernel,
        symbol=unit.symbol,
        bytecode_sha256=hashlib.sha256(unit.bytecode).hexdigest(),
        semantic_sha256=semantic_sha256(unit.bytecode),
        launch=launch,
        parameters=unit.parameters,
        requires=result.clauses,
        symbols=vocabulary.symbols,
        definitions=_without_unused(vocabulary.definitions, of_questions, lemmas.found),
        facts=stated.facts,
        questions=questions,
        lemmas=tuple(lemmas.found),
        places=stated.places,
        obligations=tuple(
            replace(each, tier=tier_of(questions[each.question], structural=each.tier == Tier.STRUCTURAL))
            for each in stated.obligations
        ),
        reading=_reading(summary),
        compared_code=result.compared_code,
    )


def _reading(summary: AccessSummary) -> AccessSummary | None:
    """The summary as a reader of the certificate gets it; ``None`` if reading would change it."""
    document = reading_document(summary)
    again = reading_of(document, summary.entry)
    return again if reading_document(again) == document else None


def _without_unused(definitions: Mapping[str, str], kept: int, lemmas: Iterable[CertifiedLemma]) -> dict[str, str]:
    """The first ``kept`` definitions, and the others that lemmas need."""
    needed = needed_names((arg for lemma in lemmas for arg in lemma.args if isinstance(arg, str)), definitions)
    return {name: text for i, (name, text) in enumerate(definitions.items()) if i < kept or name in needed}


@dataclass
class _Lemmas:
    """The lemmas of all questions, each recorded once."""

    vocabulary: Vocabulary
    found: dict[CertifiedLemma, int] = field(default_factory=dict)

    def stated(self, lemma: SolverLemma) -> CertifiedLemma:
        args = (arg if isinstance(arg, int) else self.vocabulary.write(arg) for arg in lemma.args)
        return CertifiedLemma(lemma.schema, tuple(args))

    def number(self, lemma: CertifiedLemma) -> int:
        return self.found.setdefault(lemma, len(self.found))


class _Needed(NamedTuple):
    """Positions of needed assertions in ``given``, and of needed lemmas in the certificate."""

    given: tuple[int, ...]
    lemmas: tuple[int, ...]


@dataclass
class _Argument:
    """Finds the facts and lemmas that a question needs: for each equality of twins, and for the contradiction."""

    question: Question
    proof: Proof
    derivation: Derivation
    stated: Statement
    lemmas: _Lemmas

    def complete(self) -> Question:
        given = [*self.stated.facts, *self.question.conditions]
        equal: list[Equality] = []
        for stated, merge in zip(self.question.equal, self.proof.merges, strict=True):
            needed = self._needed(given, merge.lemmas, f"(not (= {stated.first} {stated.second}))")
            if needed is None:
                break
            equal.append(replace(stated, lemmas=needed.lemmas, needs=needed.given))
            given.append(f"(= {stated.first} {stated.second})")
        if self.question.tier != Tier.LINEAR:
            return replace(self.question, equal=tuple(equal))
        complete = len(equal) == len(self.question.equal)
        needed = self._needed(given, self.proof.lemmas) if complete else None
        if needed is None:
            return replace(self.question, equal=tuple(equal), tier=self._otherwise())
        return replace(self.question, equal=tuple(equal), lemmas=needed.lemmas, needs=needed.given)

    def _otherwise(self) -> Tier:
        """The theory for the question if the known lemmas do not suffice."""
        return beyond_linear([*self.derivation.facts, *self.proof.conditions])

    def _needed(self, given: Sequence[str], lemmas: Sequence[SolverLemma], denied: str = "") -> _Needed | None:
        """An unsat core of ``given``, ``denied`` and lemmas; the proof's lemmas first, then bound lemmas as well."""
        always = [denied] if denied else []
        for offered in (lemmas, (*lemmas, *bound_lemmas(self._arithmetic(lemmas)))):
            known = {self.lemmas.stated(lemma): lemma for lemma in offered}
            stated = list(known)
            text = script(
                self.stated.vocabulary.symbols,
                self.stated.vocabulary.definitions,
                [*always, *given, *map(lemma_assertion, stated)],
                exact=False,
            )
            core = core_of_last(text, len(given) + len(stated), linear=True, limit=CERTIFICATE_UNITS)
            if core is not None:
                needs = tuple(position for position in core if position < len(given))
                of_proof = [stated[position - len(given)] for position in core if position >= len(given)]
                spoken = self._spoken(known[lemma] for lemma in of_proof)
                shifts = map(self.lemmas.stated, shift_lemmas(spoken))
                return _Needed(needs, tuple(map(self.lemmas.number, dict.fromkeys((*of_proof, *shifts)))))
        return None

    def _spoken(self, lemmas: Iterable[SolverLemma]) -> Iterator[Term]:
        """The terms of the question and its lemmas, without the contract's facts."""
        args = (arg for lemma in lemmas for arg in lemma.args if isinstance(arg, Term))
        for term in (*self.proof.conditions, *args):
            yield from t.postorder(term)

    def _arithmetic(self, lemmas: Iterable[SolverLemma]) -> Iterator[Term]:
        """The products and quotients of the question, its lemmas and the facts."""
        merged = (t.eq(merge.first, merge.second) for merge in self.proof.merges)
        args = (arg for lemma in lemmas for arg in lemma.args if isinstance(arg, Term))
        spoken = (*self.derivation.facts, *self.proof.conditions, *merged, *args)
        seen: dict[Term, None] = {}
        for term in spoken:
            seen.update(dict.fromkeys(s for s in t.postorder(term) if s.kind in (TermKind.PRODUCT, TermKind.DIV)))
        yield from seen


# ---------------------------------------------------------------------------------------------------------- the proof
def _proved(summary: AccessSummary, launch: LaunchSpec, clauses: Sequence[str]) -> Derivation:
    """Every question of the proof, answered by Z3; raises `Underivable`."""
    terms = clause_terms(clauses, summary, launch)
    return derive(summary, build_contract(launch), terms, lambda facts: Solver(facts, Limits(), explain=True))


def prove_again(certificate: Certificate, bytecode: bytes, file: str) -> None:
    """Prove every obligation of the bytecode for all launches of the certificate's contract under its clauses.

    Uses nothing else of the certificate.  Raises `CertificateError` if the proof fails, or no launch satisfies the
    contract.
    """
    try:
        check_entry(certificate, file)
        derivation = _proved(summary_of(certificate, bytecode), certificate.launch, certificate.requires)
    except Underivable as error:
        code = error.obligation.code
        raise CertificateError(f"the kernel is not proved under the contract ({code})", file) from None
    except UnsupportedOperation as error:
        raise CertificateError(f"the kernel has an operation without a rule: {error}", file) from None
    except CertificateError:
        raise
    except TileVerifyError as error:
        raise CertificateError(f"the kernel could not be proved again: {error.message}", file) from None
    if Solver(derivation.facts, Limits()).decide(()).answer is Answer.UNSATISFIABLE:
        raise CertificateError("no launch satisfies the contract", file)
