"""From an access summary and a launch contract to a verdict.

Every obligation goes up the ladder until it is decided: structural simplification, linear integers with lemmas,
non-linear integers.  What the solver believes broken is replayed on a small concrete launch; only what the replay
saw is `refuted`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..contract import terms as t
from ..contract.as_terms import build_contract
from ..contract.launch import DataFact, EntryParameter, LaunchSpec
from ..frontend.symbolic.summary import AccessSummary
from ..results import Finding, Verdict
from ..results.claim import Confirm
from ..results.codes import TV
from . import messages
from .budgets import GENERALISED_LIMITS, HOPELESS, LACKING_SHARE, SOON_SHARE, WIDER_SHARE
from .case import Case, Open, Outcome, VerifyOptions
from .contradiction import emptied, idle, no_launch, no_work
from .determined import Determined
from .effort import Effort
from .large_arrays import LargeArrays
from .obligations.answers import Answer, Limits
from .obligations.consistency import elements, promises
from .obligations.fact_instances import loaded_values
from .obligations.obligations import Obligation, within_index_spaces
from .obligations.prepare import launch_facts
from .refute.loop_exits import left_behind
from .refute.shown_witness import describe
from .refute.unsynchronised import why_open
from .refute.witness import FoundWitness
from .refute.witness_search import WitnessSearch
from .search.clauses import Clause
from .search.fact_candidates import candidates
from .search.fact_choice import FactChoice
from .search.fact_trial import FactTrial, Key, key_of, with_terms
from .search.generalising import is_asked_first
from .search.limit_proof import WithinLimits
from .search.narrow_proof import Narrowing
from .search.of_recording import as_recorded
from .search.offered_facts import Groups, OfferedFacts
from .search.shortest import shortest
from .search.wider_proofs import Wider
from .smt import Session

__all__ = ["Outcome", "VerifyOptions", "verify"]


def verify(
    summary: AccessSummary,
    launch: LaunchSpec,
    parameters: Sequence[EntryParameter],
    *,
    options: VerifyOptions | None = None,
    confirm: Confirm,
) -> Outcome:
    """Decide every obligation of ``summary`` for all launches of ``launch``.

    Raises `SpecError` when the spec speaks of names that it does not define.
    """
    options, started = options or VerifyOptions(), time.monotonic()
    session = Session(options.seed, effort=Effort(options.effort))
    if options.watch is not None:
        options.watch(session.effort)
    if is_asked_first(launch, parameters):
        own = _Verification(Case(summary, launch, build_contract(launch), options, session, started=started), confirm)
        if own.vacuous is not None:
            return own.vacuous
    outcome, launch, clauses = _decided(summary, launch, parameters, options, session, started, confirm)
    if not outcome.open_uses:
        return outcome
    case = Case(summary, launch, build_contract(launch), options, session, clauses=clauses, started=started)
    return Determined(case, confirm).told(outcome)


def _decided(
    summary: AccessSummary,
    launch: LaunchSpec,
    parameters: Sequence[EntryParameter],
    options: VerifyOptions,
    session: Session,
    started: float,
    confirm: Confirm,
) -> tuple[Outcome, LaunchSpec, list[Clause]]:
    """The verdict; the launch, with the facts on data that were chosen for it; the clauses that its own proof added."""

    def own(launch: LaunchSpec, hasty: Limits | None = None) -> _Verification:
        chosen = options if hasty is None else replace(options, limits=hasty, hasty=True)
        return _Verification(Case(summary, launch, build_contract(launch), chosen, session, started=started), confirm)

    wider = Wider(summary, parameters, replace(options, limits=GENERALISED_LIMITS), session, started)
    outcome: Outcome | None = None
    facts: tuple[DataFact, ...] = ()
    clauses: Sequence[Clause] = ()
    if launch.observed:
        outcome, facts, clauses = as_recorded(own, summary, launch)
        if outcome is not None and outcome.verdict is Verdict.REFUTED:
            return outcome, launch, []
        launch = replace(launch, data=(*launch.data, *facts))
    observed = tuple(fact.text for fact in facts)
    # The widest contract holds the launch itself.
    hopeful = bool(facts or outcome or not launch.observed)
    if hopeful and (found := wider.proved(launch, slice(1))) is not None:
        return replace(found, observed=observed), launch, []
    # Nobody waits for the launch's own proof where it adds nothing.  Where no facts were chosen by it, it is not known
    # to work out: a fault is not to be long in coming.
    early = hopeful and outcome is None
    found = wider.proved(launch, slice(1, None), WIDER_SHARE if facts else SOON_SHARE) if early else None
    if found is not None and not found.open_uses:
        return replace(found, observed=observed), launch, []
    if outcome is None:
        look = own(launch)
        outcome = look.attempt() or look.explained()
        if options.witnesses and outcome.verdict is Verdict.UNDECIDED:
            outcome = look.with_suggestions(outcome, candidates(summary, launch))
        if options.witnesses and outcome.verdict in (Verdict.REFUTED, Verdict.UNDECIDED):
            return look.with_lacking_clauses(outcome), launch, []
        clauses = look.case.clauses
    if outcome.verdict is not Verdict.PROVED or session.effort.is_spent:
        return outcome, launch, list(clauses) if outcome.verdict is Verdict.PROVED else []
    if not early or (wider.ran_out and not facts):
        found = wider.proved(launch, slice(1, None))
    return replace(found or outcome, observed=observed), launch, list(clauses)


@dataclass
class _Verification:
    """The user's own contract: proved, narrowed by clauses, or refuted by a witness that ``confirm`` saw."""

    case: Case
    confirm: Confirm
    left: list[Open] = field(default_factory=list)
    _reasons: dict[Key, Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.narrowing = Narrowing(self.case, freely=self.case.launch.origin != "written")

    @property
    def _effort(self) -> Effort:
        return self.case.session.effort

    def attempt(self) -> Outcome | None:
        """The verdict, where it takes no witness: ``None`` if obligations stay open."""
        if self.vacuous is not None:
            return self.vacuous
        with self._effort.at("the proof"):
            self.left = self._decide(self.case.obligations(), hasty=self.case.options.hasty)
        if not self.case.options.deny_requires:
            self.left = self.narrowing.ignoring_axes(self.left)
        within = WithinLimits(self.case)
        with self._effort.at("limits for the contract"):
            self.left = within.close(self.left)
        if not self.case.options.deny_requires:
            with self._effort.at("clauses for the contract"):
                self.left = self.narrowing.narrow(self.left)
        if self.left:
            return None
        return self.case.outcome(Verdict.PROVED, LargeArrays(self.case).findings(within.needed))

    @cached_property
    def vacuous(self) -> Outcome | None:
        """That the contract has no launch, or none in which anything is written; ``None`` if it may have some."""
        with self._effort.at("the contract"):
            return self._vacuous()

    def _vacuous(self) -> Outcome | None:
        self.case.assume(launch_facts(self.case.contract))
        some_launch = self.case.decider.decide(promises(self.case.contract)).answer
        if some_launch is Answer.UNSATISFIABLE:
            return self._nothing_to_verify(no_launch(self.case.launch, self.case.session.anew()))
        if some_launch is Answer.UNKNOWN:
            self.case.notes.append("whether any launch satisfies the contract is out of the solver's reach")
        if self.case.launch.data and (reason := self._emptied()) is not None:
            return self._nothing_to_verify(reason)
        self.case.prepare()
        if (self.case.launch.requires or self.case.launch.data) and idle(
            self.case.sites, self.case.use, self.case.origins, self.case.decider
        ):
            reason = no_work(self.case.summary, self.case.launch, self.case.session.anew())
            if reason is not None:
                return self._at_fault(reason) or self._nothing_to_verify(reason)
        return None

    def _at_fault(self, idle: str) -> Outcome | None:
        """What blocks do that never get to a write may be at fault, and comes before that they are ``idle``."""
        self.left = self._decide(self.case.obligations())
        if not self.left:
            return None
        self.case.notes.append(idle)
        return self.explained()

    def _emptied(self) -> str | None:
        """Why an array that facts speak of is always empty; a look at a launch at hand mostly tells that it is not."""
        promised = promises(self.case.contract)
        filled = [(*promised, t.le(t.ONE, count)) for count in elements(self.case.contract).values()]
        if all(self.case.decider.decide(asked).answer is not Answer.UNSATISFIABLE for asked in filled):
            return None
        return emptied(self.case.launch, self.case.session.anew())

    def _nothing_to_verify(self, reason: str) -> Outcome:
        return self.case.outcome(Verdict.ERROR, (Finding(TV.CONTRADICTORY_CONTRACT, reason),))

    def explained(self) -> Outcome:
        """What stayed open, refuted by a witness or with the reason why it is undecided."""
        if not self.case.options.witnesses:
            return self.case.outcome(Verdict.UNDECIDED, ())
        with self._effort.at("a witness"):
            findings = self._explain(self.left)
        refuted = any(finding.witness for finding in findings)
        return self.case.outcome(Verdict.REFUTED if refuted else Verdict.UNDECIDED, findings)

    def _decide(self, obligations: Iterator[Obligation], *, hasty: bool = False) -> list[Open]:
        """The obligations that were not proved; ``hasty``: little is asked of data behind one that is open."""
        left: list[Open] = []
        hopeless = False
        for obligation in obligations:
            of_data = hasty and bool(loaded_values(obligation.conditions))
            opened = self.case.decide_one(obligation, HOPELESS if of_data and hopeless else None)
            if opened is None:
                self.case.tally.codes.add(obligation.code)
            else:
                left.append(opened)
                hopeless |= of_data
        return left

    # ---------------------------------------------------------------------------------------- findings
    def _explain(self, left: list[Open]) -> tuple[Finding, ...]:
        """A confirmed witness or a reason for every open obligation, one finding per code and place: the smallest."""
        # A session of its own: what was asked before does not change the models that witnesses are made from.
        search = WitnessSearch(self.case, self.confirm, self.case.aside(self.case.session.anew(models=True)))
        confirmed: dict[Key, tuple[Obligation, FoundWitness]] = {}
        reasons = self._reasons
        shown: set[object] = set()
        unexplained: dict[Key, Open] = {}
        for opened in left:
            obligation = opened.obligation
            key = key_of(obligation)
            if key not in confirmed and len(confirmed) >= self.case.options.refutations:
                self.case.cut_short = True
                continue
            with self._effort.about(obligation):
                found = None if obligation.blocked or self.case.at_its_end() else search.of(opened)
            if found is None and key not in confirmed:
                known = self._known_reason(opened)
                finding = messages.undecided(obligation, opened.conditions, unknown=opened.unknown, known=known)
                reasons.setdefault(key, finding)
                unexplained.setdefault(key, opened)
            if found is None or (key in confirmed and confirmed[key][1].size <= found.size):
                continue
            reasons.pop(key, None)
            place = (obligation.code, found.ops)
            if place in shown and not found.as_claimed:
                continue  # the fault of another finding, which comes before this one
            shown.add(place)
            confirmed[key] = obligation, found
        if not confirmed:
            self.case.finder = self.case.aside(
                self.case.session
            )  # what is suggested is looked for with resources of its own
        for key in list(reasons):
            if self._only_outside(unexplained[key], [obligation for obligation, _ in confirmed.values()]):
                del reasons[key]
            elif (
                not confirmed
                and reasons[key].code == TV.ARITHMETIC_OUT_OF_REACH
                and (clauses := Narrowing(self.case, freely=True).would_do(unexplained[key]))
            ):
                reasons[key] = messages.with_clauses(reasons[key], clauses)
        return (*(self._finding(*each) for each in confirmed.values()), *reasons.values())

    def _only_outside(self, opened: Open, confirmed: Sequence[Obligation]) -> bool:
        """Whether two accesses meet nowhere but outside their index spaces, which is a fault that was shown already."""
        sides = {site.number for site in (opened.obligation.first, opened.obligation.second) if site is not None}
        outside = {
            each.first.number
            for each in confirmed
            if each.code == TV.TILE_OUT_OF_INDEX_SPACE and each.first is not None
        }
        if opened.obligation.second is None or not sides & outside:
            return False
        inside = (
            t.substitute(c, opened.eliminated) for c in within_index_spaces(opened.obligation, self.case.by_number)
        )
        return self.case.decider.decide([*opened.conditions, *inside]).answer is Answer.UNSATISFIABLE

    def choose(self, groups: Sequence[Sequence[DataFact]], clauses: Sequence[Clause] = ()) -> tuple[DataFact, ...]:
        """As few of the facts, which hold together, as close what this left open; none if that stays open."""
        choice = FactChoice(self._anew(clauses=clauses), self.case)
        with self._effort.at("a choice of facts"):
            return choice.choose(groups, {key_of(opened.obligation) for opened in self.left})

    def _anew(self, offered: Groups = (), clauses: Sequence[Clause] = ()) -> Case:
        """Another attempt under the same contract and more clauses, with a solver of its own; ``offered``: facts."""
        own = self.case
        return Case(
            own.summary, own.launch, own.contract, own.options, own.session,
            clauses=list(dict.fromkeys((*own.clauses, *clauses))), started=own.started,
            choose=OfferedFacts(offered) if offered else None,
        )  # fmt: skip

    def with_suggestions(self, outcome: Outcome, groups: Iterable[Sequence[DataFact]]) -> Outcome:
        """The outcome with the facts that would decide what is open, where the prover succeeds under them."""
        trial = FactTrial(self._anew(with_terms(groups, self.case.launch)), self.case)
        with self._effort.at("facts to suggest"):
            facts = trial.run(self._reasons.keys())
        if not facts:
            return outcome
        whole = facts if trial.needed.keys() == self._reasons.keys() else ()
        told = {
            key: messages.with_facts(finding, trial.needed[key], whole) if trial.needed.get(key) else finding
            for key, finding in self._reasons.items()
        }
        findings = (*(f for f in outcome.findings if f not in self._reasons.values()), *told.values())
        return replace(outcome, findings=findings)

    def with_lacking_clauses(self, outcome: Outcome) -> Outcome:
        """The outcome with the clauses that would prove the kernel, where the tool may not add them itself."""
        if not outcome.findings or (self.narrowing.freely and not self.case.options.deny_requires):
            return outcome
        known = list(self.case.clauses)
        freely = Narrowing(self.case, freely=True)
        with self._effort.at("clauses that are lacking"), self._effort.share(LACKING_SHARE):
            left = freely.narrow(freely.ignoring_axes(self.left))
            lacking = [clause for clause in self.case.clauses if clause not in known]
            advised = [] if left or not lacking else [clause.text for clause in self._as_people_write(lacking)]
        if not advised or not messages.is_readable(advised):
            return outcome
        first, *others = outcome.findings
        hint = messages.would_be_proved(advised)
        return replace(outcome, findings=(replace(first, hints=(*first.hints, hint)), *others))

    def _as_people_write(self, lacking: list[Clause]) -> list[Clause]:
        """The clauses in the fewest words under which the kernel is proved, too."""
        parts, facts = self.case.parts, launch_facts(self.case.contract)
        found = shortest(lacking, parts.implies, parts.filled, facts)
        return found if found == lacking or self._is_proved_under(found) else lacking

    def _is_proved_under(self, clauses: Iterable[Clause]) -> bool:
        """Whether the kernel is proved once its contract says this, too."""
        own = self.case
        contract = replace(own.contract, facts=(*own.contract.facts, *(clause.condition for clause in clauses)))
        quick = replace(own.options, witnesses=False)
        again = Case(own.summary, own.launch, contract, quick, own.session, started=own.started)
        found = _Verification(again, self.confirm).attempt()
        return found is not None and found.verdict is Verdict.PROVED

    def _known_reason(self, opened: Open) -> messages.OpenReason | None:
        """TV907 for a token that a loop left behind, TV905 for a protocol between blocks."""
        obligation = opened.obligation
        if obligation.blocked is not None:
            return None
        if opened.unknown and self._effort.is_spent:
            return messages.OpenReason(TV.BUDGET, self.case.end())
        if (name := self.case.unsized(obligation)) and not loaded_values(opened.conditions):
            return messages.OpenReason(TV.UNKNOWN_POINTER, messages.SIZE_UNKNOWN.format(name))
        if obligation.code == TV.UNORDERED_IN_BLOCK and obligation.first is not None and obligation.second is not None:
            pair = (self.case.by_number[site.number] for site in (obligation.first, obligation.second))
            behind = left_behind(*pair)
            conditions = (*obligation.conditions, t.not_(behind))
            if behind is not t.FALSE and self.case.decider.decide(conditions).answer is Answer.UNSATISFIABLE:
                return messages.LEFT_BEHIND
        return why_open(self.case.protocols, obligation)

    def _finding(self, obligation: Obligation, found: FoundWitness) -> Finding:
        """About the accesses that the replay saw at fault, which need not be those that the solver meant."""
        if not found.as_claimed:
            obligation = self._as_seen(obligation, found)
        return Finding(
            obligation.code,
            messages.broken(obligation),
            messages.sites(obligation),
            describe(found, obligation, self.case.contract, self.case.by_number),
        )

    def _as_seen(self, obligation: Obligation, found: FoundWitness) -> Obligation:
        seen = (found.confirmation.first, found.confirmation.second)
        by_offset = {each.site.offset: each.site for each in self.case.sites}
        sites = [None if touch is None else by_offset.get(touch.offset) for touch in seen]
        if obligation.first is None or sites[0] is None or (obligation.second is None) != (sites[1] is None):
            return obligation
        return replace(obligation, first=sites[0], second=sites[1], detail="")
