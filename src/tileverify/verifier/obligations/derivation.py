"""The derivation behind a verdict `proved`: every obligation of a kernel, and every question that its proof needs.

The same walk writes a certificate and checks it; only the source of answers differs: the solver, or the certificate.
So a certificate can neither omit a question nor replace it by a weaker one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.terms import Term
from ...frontend.symbolic.summary import AccessSummary, Promise
from ...results.codes import Tier
from .answers import Answer, Merge, Proof, Result, SolverProtocol, as_merged
from .digits import by_digits
from .fact_use import FactUse
from .obligations import Obligation, every_obligation
from .prepare import Preparer, launch_facts
from .protocols import Protocols
from .simplify import Simplified, expand, mentions_bits, simplify


@dataclass(frozen=True, slots=True)
class ProofStep:
    """An obligation and its proof: ``question`` and ``wraps`` are positions in the derivation's questions.

    ``wraps``: the side questions that justify dropping machine wraps and adding facts of synchronisation.
    ``structural``: decided without a solver; ``question`` puts the same obligation to a solver, which may fail on it.
    """

    obligation: Obligation
    structural: bool
    question: int
    wraps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """``facts``: true in every launch.  ``questions``: asked under these facts, each once."""

    contract: Contract
    facts: tuple[Term, ...]
    steps: tuple[ProofStep, ...]
    questions: tuple[Proof, ...]


class Underivable(Exception):
    """An obligation without a proof, or one that cannot be put as a question."""

    def __init__(self, obligation: Obligation) -> None:
        super().__init__(obligation.code)
        self.obligation = obligation


SolverFor: TypeAlias = Callable[[Sequence[Term]], SolverProtocol]
"""Makes the solver for questions under some facts."""


def derive(summary: AccessSummary, contract: Contract, clauses: Sequence[Term], solver: SolverFor) -> Derivation:
    """Ask all questions behind "no launch of ``contract`` under ``clauses`` is faulty"; raises `Underivable`."""
    facts = (*launch_facts(contract), *clauses)
    ledger = _Ledger(solver(facts))
    steps = _Walk(summary, contract, facts, clauses, ledger).steps()
    return Derivation(contract, facts, tuple(steps), tuple(ledger.questions))


class _Walk:
    def __init__(
        self,
        summary: AccessSummary,
        contract: Contract,
        facts: tuple[Term, ...],
        clauses: Sequence[Term],
        ledger: _Ledger,
    ) -> None:
        self.contract, self.ledger, self.use = contract, ledger, FactUse(contract, clauses=clauses)
        self.known = frozenset(t.conjuncts(*facts))
        self.wraps: dict[int, tuple[int, ...]] = {}
        self.sites = []
        for site in summary.sites:
            # A preparer for each site, so that each site records all its wrap questions.
            self.sites.append(Preparer(summary, contract, ledger, use=self.use).site(site))
            self.wraps[site.number] = ledger.taken()
        self.promises = []
        self.wraps_of_promises: list[tuple[Promise, tuple[int, ...]]] = []
        for item in summary.promises:
            self.promises.append(Preparer(summary, contract, ledger, use=self.use).promise(item))
            self.wraps_of_promises.append((self.promises[-1], ledger.taken()))
        preparer = Preparer(summary, contract, ledger, use=self.use)
        self.origins, self.loop_values = preparer.origins, preparer.loop_values

    def steps(self) -> Iterator[ProofStep]:
        protocols = Protocols(self.sites, self.contract, self.ledger, self.origins, self.loop_values)
        for obligation in map(protocols.explained, every_obligation(self.sites, self.promises, self.contract)):
            if obligation.blocked is not None:
                raise Underivable(obligation)
            self.ledger.taken()
            side_conditions = self._grounds_of(obligation)
            simple = simplify(obligation.conditions, self.known)
            # First unsimplified: then nobody must trust the simplification.  Simplified only if the solver fails.
            if not any(self._decided(each, obligation) for each in self._variants(obligation, simple)):
                if simple is not None:
                    raise Underivable(obligation)
                self.ledger.keep(self._asked(obligation.conditions))
            (question,) = self.ledger.taken()
            yield ProofStep(obligation, simple is None, question, (*self._wraps_of(obligation), *side_conditions))

    def _variants(self, obligation: Obligation, simple: Simplified | None) -> Iterator[Sequence[Term]]:
        """Digits that were put together come first: as written, products of sizes keep every solver busy."""
        if (digits := by_digits(obligation.conditions, self.known)) is not None:
            yield digits
        yield obligation.conditions
        if simple is not None:
            yield simple.conditions

    def _grounds_of(self, obligation: Obligation) -> tuple[int, ...]:
        """The side questions that justify the obligation's facts on synchronisation."""
        for ground in obligation.side_conditions:
            if self.ledger.decide(ground).answer is not Answer.UNSATISFIABLE:
                raise Underivable(obligation)
        return self.ledger.taken()

    def _decided(self, conditions: Sequence[Term], obligation: Obligation) -> bool:
        asked = self._asked(conditions)
        return self.ledger.decide(asked, twins=obligation.twins).answer is Answer.UNSATISFIABLE

    def _asked(self, conditions: Sequence[Term]) -> tuple[Term, ...]:
        return (*conditions, *self.use.known(conditions, self.origins))

    def _wraps_of(self, obligation: Obligation) -> tuple[int, ...]:
        sides = [side.number for side in (obligation.first, obligation.second) if side is not None]
        used = [self.wraps[number] for number in sides]
        used += [wraps for item, wraps in self.wraps_of_promises if item is obligation.promise]
        return tuple(dict.fromkeys(number for wraps in used for number in wraps))


@dataclass
class _Ledger:
    """Records the proved questions, each once."""

    solver: SolverProtocol
    questions: list[Proof] = field(default_factory=list)
    _known: dict[frozenset[Term], int | None] = field(default_factory=dict)
    _used: list[int] = field(default_factory=list)

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        wanted = tuple(conditions)
        key = frozenset(wanted)
        if key not in self._known:
            result = self.solver.decide(wanted, twins=twins)
            self._known[key] = None
            if result.proof is not None:
                self._note(key, result.proof)
        number = self._known[key]
        if number is None:
            return Result(Answer.UNKNOWN, None)
        self._used.append(number)
        return Result(Answer.UNSATISFIABLE, None, proof=self.questions[number])

    def keep(self, conditions: Sequence[Term]) -> None:
        """Record a question without an answer, for another solver to try."""
        self._note(frozenset(conditions), Proof(tuple(map(expand, conditions)), (), (), beyond_linear(conditions)))
        self._used.append(len(self.questions) - 1)

    def taken(self) -> tuple[int, ...]:
        """The questions used since the last call."""
        used, self._used = tuple(dict.fromkeys(self._used)), []
        return used

    def _note(self, key: frozenset[Term], proof: Proof) -> None:
        self._known[key] = len(self.questions)
        self.questions.append(proof)


def beyond_linear(conditions: Iterable[Term]) -> Tier:
    """The theory for a question that linear integers do not decide."""
    return Tier.BIT_VECTORS if mentions_bits(conditions) else Tier.NONLINEAR


def question_id(conditions: Iterable[Term]) -> str:
    """A name for a question, the same in every process: a hash of its conditions."""
    digest = hashlib.sha256()
    for one in sorted({expand(condition).digest for condition in conditions}):
        digest.update(one)
    return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Answered:
    """A certificate's answer to a question: the equal twins, and the theory of `results.codes` that contradicts it."""

    twins: tuple[int, ...]
    tier: Tier


@dataclass(frozen=True, slots=True)
class Witnessed:
    """Answers from a certificate, by `question_id`, in place of a solver's; a missing one is `UNKNOWN`.

    Its proofs have no lemmas: `recheck` checks the lemmas in the certificate.
    """

    answers: Mapping[str, Answered]

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        wanted = tuple(map(expand, conditions))
        answered = self.answers.get(question_id(wanted))
        if answered is None:
            return Result(Answer.UNKNOWN, None)
        replaced: dict[Term, Term] = {}
        merges = []
        for number in answered.twins:
            if not 0 <= number < len(twins):
                return Result(Answer.UNKNOWN, None)
            a, b = as_merged(twins[number], replaced)
            replaced[b] = a
            merges.append(Merge(number, a, b, ()))
        return Result(Answer.UNSATISFIABLE, None, proof=Proof(wanted, tuple(merges), (), answered.tier))
