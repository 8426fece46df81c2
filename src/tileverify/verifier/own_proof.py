"""The proof of a kernel under the user's own contract.

vacuity        the contract has a launch, and blocks of some launch write
the proof      every obligation, under the contract as written
ignored axes   one block along each axis that the kernel does not read, where the grid is open
limits         sizes below 2**31 and the like, for obligations still open
clauses        conditions on open parts of the contract, for obligations still open
explanation    a witness or a reason for each obligation that stays open
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..contract import terms as t
from ..contract.launch import DataFact
from ..results import Finding, Verdict
from ..results.claim import Confirm
from ..results.codes import TV
from .abduction.clauses import Clause
from .abduction.fact_choice import FactChoice
from .abduction.fact_trial import key_of
from .abduction.limit_proof import WithinLimits
from .abduction.narrow_proof import Narrowing
from .attempt import Attempt, Open, Outcome
from .budgets import HOPELESS
from .large_arrays import LargeArrays
from .obligations.answers import Answer
from .obligations.consistency import elements, promises
from .obligations.fact_use import loaded_values
from .obligations.obligations import Obligation
from .outcome import outcome_of
from .prover import Prover
from .smt import Session
from .unproved import Explanation
from .vacuity import emptied, idle, no_launch, no_work


@dataclass
class OwnProof:
    """``left``: the obligations that are open so far.  ``explanation``: set by `explained`."""

    prover: Prover
    confirm: Confirm
    left: list[Open] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    explanation: Explanation | None = None

    @classmethod
    def of(cls, attempt: Attempt, session: Session, confirm: Confirm) -> OwnProof:
        return cls(Prover.of(attempt, session), confirm)

    @property
    def freely(self) -> bool:
        """Whether the tool may narrow any part of the contract, because no person wrote it."""
        return self.prover.launch.origin != "written"

    def attempt(self) -> Outcome | None:
        """The verdict, if it needs no witness; ``None`` if obligations stay open."""
        if self.vacuous is not None:
            return self.vacuous
        own, at = self.prover, self.prover.effort.at
        may_narrow, narrowing = not own.options.deny_requires, Narrowing(own, self.freely)
        with at("the proof"):
            self.left = self._prove(own.kernel.obligations(), hasty=own.options.hasty)
        if may_narrow:
            self.left = narrowing.ignoring_axes(self.left)
        with at("limits for the contract"):
            within = WithinLimits(own)
            self.left = within.close(self.left)
        if may_narrow:
            with at("clauses for the contract"):
                self.left = narrowing.narrow(self.left)
        if self.left:
            return None
        findings, notes = LargeArrays(own).findings(within.needed)
        return outcome_of(own, Verdict.PROVED, findings, (*self.notes, *notes))

    def explained(self) -> Outcome:
        """The verdict on open obligations: refuted by a witness, or undecided with a reason."""
        if not self.prover.options.witnesses:
            return outcome_of(self.prover, Verdict.UNDECIDED, (), self.notes)
        with self.prover.effort.at("a witness"):
            self.explanation = explanation = Explanation.of(self.left, self.prover, self.confirm)
            findings = explanation.findings
        verdict = Verdict.REFUTED if explanation.is_refuted else Verdict.UNDECIDED
        return outcome_of(self.prover, verdict, findings, self.notes, cut_short=explanation.cut_short)

    def choose(self, groups: Sequence[Sequence[DataFact]], clauses: Sequence[Clause] = ()) -> tuple[DataFact, ...]:
        """A minimal choice of facts that closes all of ``left``; empty if no choice does.

        The facts must hold together in one launch.
        """
        own = self.prover
        choice = FactChoice(Prover.of(own.attempt.under(clauses), own.session), own)
        with own.effort.at("a choice of facts"):
            return choice.choose(groups, {key_of(opened.obligation) for opened in self.left})

    def is_proved_under(self, clauses: Iterable[Clause]) -> bool:
        """Whether the kernel is proved under a contract with these clauses added."""
        own = self.prover.attempt
        contract = replace(own.contract, facts=(*own.contract.facts, *(clause.condition for clause in clauses)))
        quick = replace(own, contract=contract, clauses=(), options=replace(own.options, witnesses=False))
        found = OwnProof.of(quick, self.prover.session, self.confirm).attempt()
        return found is not None and found.verdict is Verdict.PROVED

    def _prove(self, obligations: Iterable[Obligation], *, hasty: bool = False) -> list[Open]:
        """The unproved obligations.

        ``hasty``: after one data obligation stays open, the following ones get small limits.
        """
        left: list[Open] = []
        hopeless = False
        for obligation in obligations:
            of_data = hasty and bool(loaded_values(obligation.conditions))
            answer = self.prover.prove(obligation, HOPELESS if of_data and hopeless else None)
            if isinstance(answer, Open):
                left.append(answer)
                hopeless |= of_data
        return left

    # ----------------------------------------------------------------------------------------- vacuity
    @cached_property
    def vacuous(self) -> Outcome | None:
        """The error that the contract has no launch, or none that writes; ``None`` if it may have some."""
        with self.prover.effort.at("the contract"):
            return self._vacuous()

    def _vacuous(self) -> Outcome | None:
        own, launch = self.prover, self.prover.launch
        some_launch = own.decider.decide(promises(own.contract)).answer
        if some_launch is Answer.UNSATISFIABLE:
            return self._nothing_to_verify(no_launch(launch, own.session.fresh()))
        if some_launch is Answer.UNKNOWN:
            self.notes.append("whether any launch satisfies the contract is out of the solver's reach")
        if launch.data and (reason := self._emptied()) is not None:
            return self._nothing_to_verify(reason)
        own.prepare()
        if (launch.requires or launch.data) and idle(own.kernel.sites, own.use, own.kernel.origins, own.decider):
            reason = no_work(own.summary, launch, own.session.fresh())
            if reason is not None:
                return self._at_fault(reason) or self._nothing_to_verify(reason)
        return None

    def _at_fault(self, idle: str) -> Outcome | None:
        """An access of a block that never writes may be at fault; report that before the ``idle`` reason."""
        self.left = self._prove(self.prover.kernel.obligations())
        if not self.left:
            return None
        self.notes.append(idle)
        return self.explained()

    def _emptied(self) -> str | None:
        """The reason why an array with data facts is always empty, or ``None``, which a known launch mostly shows."""
        own = self.prover
        promised = promises(own.contract)
        filled = [(*promised, t.le(t.ONE, count)) for count in elements(own.contract).values()]
        if all(own.decider.decide(asked).answer is not Answer.UNSATISFIABLE for asked in filled):
            return None
        return emptied(own.launch, own.session.fresh())

    def _nothing_to_verify(self, reason: str) -> Outcome:
        return outcome_of(self.prover, Verdict.ERROR, [Finding(TV.CONTRADICTORY_CONTRACT, reason)], self.notes)
