"""The proof of a kernel under the user's own contract, and the findings for what it leaves open.

vacuity        the contract has a launch, and blocks of some launch write
the proof      every obligation, under the contract as written
ignored axes   one block along each axis that the kernel does not read, where the grid is open
limits         sizes below 2**31 and the like, for obligations still open
clauses        conditions on open parts of the contract, for obligations still open
needless       clauses and limits without which everything is proved are left out
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
from . import messages
from .abduction.clauses import Clause
from .abduction.fact_choice import FactChoice, Key, key_of
from .abduction.narrow_proof import Narrowing, WithinLimits
from .abduction.weaker_proof import weakened
from .attempt import Attempt, Open, Outcome
from .budgets import QUICK_REST
from .large_arrays import LargeArrays
from .obligations.answers import Answer
from .obligations.consistency import elements, promises
from .obligations.fact_use import loaded_values
from .obligations.obligations import Obligation, within_index_spaces
from .outcome import outcome_of
from .prover import Prover
from .refute.missing_orders import left_behind, why_open
from .refute.shown_witness import describe, wrapped_index
from .refute.witness import FoundWitness
from .refute.witness_search import WitnessSearch
from .smt import SolverContext
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
    def of(cls, attempt: Attempt, solver_context: SolverContext, confirm: Confirm) -> OwnProof:
        return cls(Prover.of(attempt, solver_context), confirm)

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
            self.left = self._prove(own.kernel.obligations(), quick=own.options.quick)
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
        with at("needless clauses"):
            self.prover = own = weakened(own, freely=self.freely and may_narrow)
        findings, notes = LargeArrays(own).findings([each for each in within.needed if each.clause in own.clauses])
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
        choice = FactChoice(Prover.of(own.attempt.under(clauses), own.solver_context), own)
        with own.effort.at("a choice of facts"):
            return choice.choose(groups, {key_of(opened.obligation) for opened in self.left})

    def is_proved_under(self, clauses: Iterable[Clause]) -> bool:
        """Whether the kernel is proved under a contract with these clauses added."""
        own = self.prover.attempt
        contract = replace(own.contract, facts=(*own.contract.facts, *(clause.condition for clause in clauses)))
        quick = replace(own, contract=contract, clauses=(), options=replace(own.options, witnesses=False))
        found = OwnProof.of(quick, self.prover.solver_context, self.confirm).attempt()
        return found is not None and found.verdict is Verdict.PROVED

    def _prove(self, obligations: Iterable[Obligation], *, quick: bool = False) -> list[Open]:
        """The unproved obligations.

        ``quick``: after one data obligation stays open, the following ones get small limits.
        """
        left: list[Open] = []
        hopeless = False
        for obligation in obligations:
            of_data = quick and bool(loaded_values(obligation.conditions))
            answer = self.prover.prove(obligation, QUICK_REST if of_data and hopeless else None)
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
        some_launch = own.solver.decide(promises(own.contract)).answer
        if some_launch is Answer.UNSATISFIABLE:
            return self._nothing_to_verify(no_launch(launch, own.solver_context.fresh()))
        if some_launch is Answer.UNKNOWN:
            self.notes.append("whether any launch satisfies the contract is out of the solver's reach")
        if launch.data and (reason := self._emptied()) is not None:
            return self._nothing_to_verify(reason)
        own.prepare()
        if (launch.requires or launch.data) and idle(own.kernel.sites, own.use, own.kernel.origins, own.solver):
            reason = no_work(own.summary, launch, own.solver_context.fresh())
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
        if all(own.solver.decide(asked).answer is not Answer.UNSATISFIABLE for asked in filled):
            return None
        return emptied(own.launch, own.solver_context.fresh())

    def _nothing_to_verify(self, reason: str) -> Outcome:
        return outcome_of(self.prover, Verdict.ERROR, [Finding(TV.CONTRADICTORY_CONTRACT, reason)], self.notes)


# ------------------------------------------------------------------------------------------------------------- unproved
# The findings for open obligations: a witness that the interpreter confirmed, or the reason for `undecided`.
#
# A report has each fault once: at the accesses that the interpreter saw at fault, with its smallest witness.


@dataclass
class Explanation:
    """``confirmed`` witnesses and ``reasons``, by code and place.

    ``cut_short``: the limit of refutations was reached before all open obligations were examined.
    """

    prover: Prover
    confirmed: dict[Key, tuple[Obligation, FoundWitness]] = field(default_factory=dict)
    reasons: dict[Key, Finding] = field(default_factory=dict)
    cut_short: bool = False
    _unexplained: dict[Key, Open] = field(default_factory=dict)

    @classmethod
    def of(cls, left: Sequence[Open], prover: Prover, confirm: Confirm) -> Explanation:
        """Explain the obligations that ``prover`` left open; ``confirm`` replays a witness."""
        found = cls(prover)
        found._look_for_witnesses(left, confirm)
        if not found.confirmed:
            prover.search_afresh()  # the search for suggestions has resources of its own
        for key in list(found.reasons):
            found._improve(key)
        return found

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*(self._finding(*each) for each in self.confirmed.values()), *self.reasons.values())

    @property
    def is_refuted(self) -> bool:
        return bool(self.confirmed)

    def add(self, obligation: Obligation, found: FoundWitness) -> None:
        """A witness from elsewhere, in place of the reason that stood for it."""
        key = key_of(obligation)
        self.reasons.pop(key, None)
        self.confirmed[key] = obligation, found

    def _look_for_witnesses(self, left: Sequence[Open], confirm: Confirm) -> None:
        """Find a confirmed witness or a reason for each code and place; keep the smallest witness."""
        own = self.prover
        # A solver context of its own: earlier questions must not change the models that become witnesses.
        search = WitnessSearch(own, confirm, own.solver.fork(own.solver_context.fresh(models=True)))
        shown: set[object] = set()
        for opened in left:
            obligation = opened.obligation
            key = key_of(obligation)
            if key not in self.confirmed and len(self.confirmed) >= own.options.refutations:
                self.cut_short = True
                continue
            found = None
            with own.effort.about(obligation):
                if not obligation.blocked and not own.at_its_end():
                    found, opened = search.of(opened)
            if found is None and key not in self.confirmed:
                self._give_reason(key, opened)
            if found is None or (key in self.confirmed and self.confirmed[key][1].size <= found.size):
                continue
            self.reasons.pop(key, None)
            place = (obligation.code, found.ops)
            if place in shown and not found.as_claimed:
                continue  # an earlier finding reports the same fault
            shown.add(place)
            self.confirmed[key] = obligation, found

    # ----------------------------------------------------------------------------------------- reasons
    def _give_reason(self, key: Key, opened: Open) -> None:
        known = self._known_reason(opened)
        finding = messages.undecided(opened.obligation, opened.conditions, unknown=opened.unknown, known=known)
        self.reasons.setdefault(key, finding)
        self._unexplained.setdefault(key, opened)

    def _known_reason(self, opened: Open) -> messages.OpenReason | None:
        """A spent budget (TV903), an unknown size (TV906), a token left behind (TV907) or a protocol (TV905)."""
        own, obligation = self.prover, opened.obligation
        if obligation.blocked is not None:
            return None
        if opened.unknown and own.effort.is_spent:
            return messages.OpenReason(TV.BUDGET, own.end())
        array = "" if obligation.first is None else obligation.first.origin.name
        if obligation.code == TV.RACE_WRITE_WRITE and array in own.contract.equal_stores:
            return messages.OpenReason(TV.ARITHMETIC_OUT_OF_REACH, messages.NOT_EQUAL)
        if (name := own.unsized(obligation)) and not loaded_values(opened.conditions):
            return messages.OpenReason(TV.UNKNOWN_POINTER, messages.SIZE_UNKNOWN.format(name))
        if obligation.code == TV.UNORDERED_IN_BLOCK and obligation.first is not None and obligation.second is not None:
            pair = (own.kernel.by_number[site.number] for site in (obligation.first, obligation.second))
            behind = left_behind(*pair)
            conditions = (*obligation.conditions, t.not_(behind))
            if behind is not t.FALSE and own.solver.decide(conditions).answer is Answer.UNSATISFIABLE:
                return messages.LEFT_BEHIND
        if obligation.code == TV.UNFILLED_READ and not loaded_values(opened.conditions):
            return messages.FILLED_OTHERWISE
        return why_open(own.kernel.protocols, obligation)

    def _improve(self, key: Key) -> None:
        """Drop the reason if a witness already shows the fault; without any witness, add clauses that would help."""
        opened = self._unexplained[key]
        if self._is_only_outside(opened):
            del self.reasons[key]
        elif not self.confirmed and self.reasons[key].code == TV.ARITHMETIC_OUT_OF_REACH:
            clauses = Narrowing(self.prover, freely=True).would_do(opened)
            if clauses:
                self.reasons[key] = messages.with_clauses(self.reasons[key], clauses)

    def _is_only_outside(self, opened: Open) -> bool:
        """Whether two accesses overlap only outside their index spaces; a witness has shown that fault already."""
        sides = {site.number for site in (opened.obligation.first, opened.obligation.second) if site is not None}
        outside = {
            each.first.number
            for each, _ in self.confirmed.values()
            if each.code == TV.TILE_OUT_OF_INDEX_SPACE and each.first is not None
        }
        if opened.obligation.second is None or not sides & outside:
            return False
        within = within_index_spaces(opened.obligation, self.prover.kernel.by_number)
        inside = (t.substitute(each, opened.eliminated) for each in within)
        return self.prover.solver.decide([*opened.conditions, *inside]).answer is Answer.UNSATISFIABLE

    # --------------------------------------------------------------------------------------- witnesses
    def _finding(self, obligation: Obligation, found: FoundWitness) -> Finding:
        """The finding at the accesses that the replay saw at fault; they may differ from the solver's."""
        prepared = self.prover.kernel.by_number
        wrapped = wrapped_index(found, obligation, prepared)
        if not found.as_claimed:
            obligation = self._as_seen(obligation, found)
        finding = Finding(
            obligation.code,
            messages.broken(obligation),
            messages.sites(obligation),
            describe(found, obligation, self.prover.contract, prepared),
        )
        return finding if wrapped is None else messages.of_wrapped_index(finding, *wrapped)

    def _as_seen(self, obligation: Obligation, found: FoundWitness) -> Obligation:
        seen = (found.confirmation.first, found.confirmation.second)
        by_offset = {each.site.offset: each.site for each in self.prover.kernel.sites}
        sites = [None if touch is None else by_offset.get(touch.offset) for touch in seen]
        if obligation.first is None or sites[0] is None or (obligation.second is None) != (sites[1] is None):
            return obligation
        return replace(obligation, first=sites[0], second=sites[1], detail="")
