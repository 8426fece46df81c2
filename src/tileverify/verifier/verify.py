"""From an access summary and a launch contract to a verdict.

Every obligation goes up the ladder until it is decided: structural simplification, linear integers with lemmas,
non-linear integers.  What the solver believes broken is replayed on a small concrete launch; only what the replay
saw is `refuted`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..frontend.sources.launch import EntryParameter, LaunchSpec, Number
from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import GRID, AccessSummary
from ..frontend.symbolic.terms import Term
from ..results import Finding, ObligationCount, Verdict
from . import messages
from .claim import Confirm
from .clauses import (
    Clause,
    all_grid_clauses,
    fitting_clauses,
    grid_clauses,
    ignored_axes,
    index_space_clauses,
    last_block_clauses,
    launch_clause,
    spoken,
)
from .contract import Contract, build_contract
from .data import WIDE_SPACING, computed_addresses, data_facts, ordinary_data
from .obligations import Obligation, every_obligation, place_terms, promise, within_index_spaces
from .prepare import Preparer, contract_values, launch_facts
from .simplify import plainly_satisfiable, simplify
from .smt import Answer, Decider, Limits
from .widening import Level, fewest, free_text, holds, levels, mined
from .witness import Found, Search, describe

Propose: TypeAlias = Callable[[Obligation, tuple[Term, ...]], Iterable[Clause]]

CLAUSE_LIMITS = Limits(linear=150_000, nonlinear=150_000, rounds=12, total=200_000)
"""For the search of clauses: what does not help soon is not the natural one."""

WIDE_LIMITS = Limits(linear=400_000, nonlinear=300_000, rounds=60, total=800_000)
"""For a contract wider than the user's; what it cannot prove soon, the user's own numbers may."""

WIDE_TOTAL = 3_000_000
"""Resource units for one wider contract, as far as the search of clauses goes."""

_RACES = ("TV101", "TV102", "TV103", "TV201", "TV202")

MAX_FINDINGS = 4
"""After so many confirmed faults the rest of a kernel is not searched for more witnesses."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """``timeout_s``: seconds of proving after which open obligations are TV903; ``deny_requires``: no clause of
    the tool's own may be added to the contract."""

    timeout_s: float | None = None
    deny_requires: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of one kernel under one contract; fields as in `tileverify.results.KernelResult`."""

    verdict: Verdict
    holds_for: str | None = None
    deterministic: bool | None = None
    requires: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    obligations: ObligationCount = field(default_factory=ObligationCount)
    proved_codes: tuple[str, ...] = ()
    contract: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    launch: LaunchSpec | None = None  # the contract that `requires` adds to


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
    contract = build_contract(launch)
    outcome = _Verification(summary, launch, contract, options, confirm, _started=started).run()
    if outcome.verdict is not Verdict.PROVED:
        return outcome
    quick = replace(options, limits=WIDE_LIMITS)
    for level in levels(launch, parameters):
        wider = build_contract(level.launch)
        found = _Verification(summary, level.launch, wider, quick, confirm, _started=started).attempt(level)
        if found is not None:
            return found
    return outcome


@dataclass
class _Open:
    """An obligation that was not proved."""

    obligation: Obligation
    conditions: tuple[Term, ...]
    unknown: bool
    eliminated: Mapping[Term, Term] = field(default_factory=dict)


@dataclass
class _Verification:
    summary: AccessSummary
    launch: LaunchSpec
    contract: Contract
    options: VerifyOptions
    confirm: Confirm
    clauses: list[Clause] = field(default_factory=list)
    holds_for: str | None = None
    structural: int = 0
    by_solver: int = 0
    proved: set[str] = field(default_factory=set)
    _cache: dict[frozenset[Term], Answer] = field(default_factory=dict)
    _started: float = field(default_factory=time.monotonic)

    def run(self) -> Outcome:
        self._assume(launch_facts(self.contract))
        if not plainly_satisfiable(self._decider.facts) and self._decider.decide([]).answer is Answer.UNSATISFIABLE:
            return self._outcome(
                Verdict.ERROR,
                (Finding("TV004", "the launch contract contradicts itself: no launch satisfies it"),),
            )
        self._prepare()
        open_now = self._decide(self._obligations())
        if not self.options.deny_requires:
            open_now = self._add_clauses(open_now, launch_clause)
            if not self.contract.grid_given:
                open_now = self._add_clauses(open_now, grid_clauses)
                open_now = self._add_clauses(open_now, all_grid_clauses)
        findings = self._explain(open_now)
        if any(f.witness for f in findings):
            return self._outcome(Verdict.REFUTED, findings)
        return self._outcome(Verdict.UNDECIDED if findings else Verdict.PROVED, findings)

    def attempt(self, level: Level) -> Outcome | None:
        """The kernel proved under clauses that the level's own launch keeps; ``None`` if that does not work out.

        No contract is vacuous then: the launch satisfies it.
        """
        if not all(holds(fact, level.own) for fact in self.contract.facts):
            return None
        self.holds_for = level.holds_for
        self._assume(launch_facts(self.contract))
        level = level.aligned(self.summary.origins.values())
        if not self.options.deny_requires:
            self._adopt(clause for clause in self._necessary() if holds(clause.condition, level.own))
        self._prepare()
        for obligation in self._obligations():
            if self._out_of_time() or self._decider.spent > WIDE_TOTAL:
                return None
            opened = self._decide_one(obligation)
            if opened is None or self._close(opened, level):
                self.proved.add(obligation.code)
            else:
                return None
        if all(level.own[axis] == 1 for axis in GRID):
            two_blocks = t.or_(*(t.lt(t.ONE, axis) for axis in GRID))
            if self._decider.decide([two_blocks]).answer is not Answer.SATISFIABLE:
                return None
        return self._outcome(Verdict.PROVED, ())

    def _necessary(self) -> Iterator[Clause]:
        """Clauses that no wider contract can do without, or that only keep absurd sizes out."""
        plain = Preparer(self.summary, self.contract, self._decider, keep_wraps=True)
        sites = [plain.site(site) for site in self.summary.sites]
        asked = [promise(plain.promise(item)) for item in self.summary.promises]
        for each in asked:
            yield from launch_clause(each, each.conditions)
        terms = [term for site in sites for term in (site.guard, *place_terms(site.place))]
        yield from ignored_axes(sites, terms)
        yield from last_block_clauses(sites)
        for clause in fitting_clauses([*terms, *(part for each in asked for part in each.conditions)]):
            if self._decider.decide([t.not_(clause.condition)]).answer is not Answer.UNSATISFIABLE:
                yield clause

    def _close(self, opened: _Open, level: Level) -> bool:
        """Find clauses under which the obligation holds, and assume them from now on."""
        if opened.obligation.blocked is not None or self.options.deny_requires:
            return False

        def closes(clauses: Sequence[Term]) -> bool:
            question = [*opened.conditions, *clauses]
            found = self._decider.decide(question, twins=opened.obligation.twins, limits=CLAUSE_LIMITS)
            return found.answer is Answer.UNSATISFIABLE

        own = [clause.condition for clause in launch_clause(opened.obligation, opened.conditions)]
        own += [clause.condition for clause in index_space_clauses(opened.obligation)]
        offered: list[Term] = []
        for group in (own, *mined(level, self._lane_counts(), opened.conditions)):
            kept = [term for term in group if term not in offered and holds(term, level.own)]
            offered += kept
            if self._out_of_time() or self._decider.spent > WIDE_TOTAL:
                return False
            if kept and closes(offered):
                break
        else:
            return False
        self._adopt(clause for term in fewest(offered, closes) for clause in spoken(term))
        return self._decide_one(opened.obligation) is None

    def _adopt(self, clauses: Iterable[Clause]) -> None:
        """Make clauses part of the contract."""
        new = [clause for clause in dict.fromkeys(clauses) if clause not in self.clauses]
        self.clauses += new
        self._decider.assume([clause.condition for clause in new])
        self._facts |= {clause.condition for clause in new}
        self._cache = {key: answer for key, answer in self._cache.items() if answer is Answer.UNSATISFIABLE}

    def _lane_counts(self) -> set[int]:
        """Tile sizes that the kernel works with."""
        tiles = {size for prepared in self._sites for size in getattr(prepared.site.footprint, "tile", ())}
        return tiles | {lane.size for prepared in self._sites for lane in prepared.site.lanes}

    def _assume(self, facts: tuple[Term, ...]) -> None:
        limit = self.options.timeout_s
        deadline = None if limit is None else self._started + limit
        self._decider = Decider(facts, self.options.limits, deadline)
        self._facts = frozenset(part for fact in facts for part in (fact.args if fact.kind is t.Kind.AND else (fact,)))
        self._cache.clear()

    # ------------------------------------------------------------------------------------ preparation
    def _prepare(self) -> None:
        preparer = Preparer(self.summary, self.contract, self._decider)
        self._sites = [preparer.site(site) for site in self.summary.sites]
        self._by_number = {prepared.site.number: prepared for prepared in self._sites}
        self._promises = [preparer.promise(item) for item in self.summary.promises]
        self._origins = preparer.origins

    def _obligations(self) -> Iterator[Obligation]:
        return every_obligation(self._sites, self._promises, self.contract)

    # ------------------------------------------------------------------------------------------ ladder
    def _decide(self, obligations: Iterator[Obligation]) -> list[_Open]:
        """The obligations that were not proved."""
        left: list[_Open] = []
        for obligation in obligations:
            opened = self._decide_one(obligation)
            if opened is None:
                self.proved.add(obligation.code)
            else:
                left.append(opened)
        return left

    def _decide_one(self, obligation: Obligation) -> _Open | None:
        if obligation.blocked is not None:
            return _Open(obligation, (), unknown=True)
        simple = simplify(obligation.conditions, self._facts)
        if simple is None:
            self.structural += 1
            return None
        conditions = simple.conditions
        conditions = (*conditions, *data_facts(conditions, self.contract, self._origins))
        if self._out_of_time():
            late = ("TV903", "the time limit for this kernel was reached")
            return _Open(_blocked(obligation, late), conditions, unknown=True)
        key = frozenset(conditions)
        answer = self._cache.get(key)
        if answer is None:
            answer = self._decider.decide(conditions, twins=obligation.twins).answer
            self._cache[key] = answer
        if answer is Answer.UNSATISFIABLE:
            self.by_solver += 1
            return None
        return _Open(obligation, conditions, answer is Answer.UNKNOWN, simple.eliminated)

    def _out_of_time(self) -> bool:
        limit = self.options.timeout_s
        return limit is not None and time.monotonic() - self._started > limit

    # ----------------------------------------------------------------------------------------- clauses
    def _add_clauses(self, left: list[_Open], propose: Propose) -> list[_Open]:
        """Clauses about launch-known quantities that close what is open; sound because each is proved under them."""
        chosen: list[Clause] = []
        for opened in left:
            if opened.obligation.blocked is None:
                proposed = list(propose(opened.obligation, opened.conditions))
                closing = self._closing(opened, proposed, chosen)
                if closing and self._admits_launches([*chosen, *closing]):
                    chosen += closing
        if not chosen:
            return left
        self.clauses += chosen
        touched = {leaf for clause in chosen for leaf in clause.condition.free}
        self._assume((*launch_facts(self.contract), *(clause.condition for clause in self.clauses)))
        still: list[_Open] = []
        for opened in left:
            # What does not speak of a clause's variables cannot have been decided by it.
            related = touched & set(GRID) or any(touched & condition.free for condition in opened.conditions)
            again = self._decide_one(opened.obligation) if related else opened
            if again is None:
                self.proved.add(opened.obligation.code)
            else:
                still.append(again)
        return still

    def _closing(self, opened: _Open, proposed: list[Clause], chosen: list[Clause]) -> list[Clause]:
        """The fewest candidates, weakest first, that prove ``opened`` beside those already chosen; none if none do."""

        def closes(clauses: list[Clause]) -> bool:
            conditions = [*opened.conditions, *(c.condition for c in (*chosen, *clauses))]
            return self._decider.decide(conditions, twins=opened.obligation.twins).answer is Answer.UNSATISFIABLE

        candidates = [c for c in proposed if c not in chosen]
        if not candidates or closes([]):
            return []
        taken: list[Clause] = []
        for clause in candidates:
            taken.append(clause)
            if closes(taken):
                break
        else:
            return []
        for clause in list(taken):
            without = [c for c in taken if c is not clause]
            if closes(without):
                taken = without
        return taken

    def _admits_launches(self, chosen: list[Clause]) -> bool:
        """A contract that excludes every launch, or every launch of two blocks, would be vacuous."""
        conditions = [clause.condition for clause in chosen]
        if self._decider.decide(conditions).answer is not Answer.SATISFIABLE:
            return False
        values = contract_values(self.contract)
        two = t.or_(*(t.lt(t.ONE, values.get(g, g)) for g in GRID))
        was_possible = self._decider.decide([two]).answer is Answer.SATISFIABLE
        return not was_possible or self._decider.decide([*conditions, two]).answer is Answer.SATISFIABLE

    # ---------------------------------------------------------------------------------------- findings
    def _explain(self, left: list[_Open]) -> tuple[Finding, ...]:
        """A confirmed witness or a reason for every open obligation, one finding per code and place: the smallest."""
        confirmed: dict[object, tuple[Obligation, Found]] = {}
        reasons: dict[object, Finding] = {}
        shown: set[object] = set()
        for opened in left:
            obligation = opened.obligation
            key = (obligation.code, *(s.offset for s in (obligation.first, obligation.second, obligation.promise) if s))
            if key not in confirmed and len(confirmed) >= MAX_FINDINGS:
                continue
            found = None if obligation.blocked or self._out_of_time() else self._search(opened)
            if found is None and key not in confirmed:
                reasons.setdefault(key, messages.undecided(obligation, opened.conditions, unknown=opened.unknown))
            if found is None or (key in confirmed and confirmed[key][1].size <= found.size):
                continue
            reasons.pop(key, None)
            place = (obligation.code, found.ops)
            if place in shown and not found.as_claimed:
                continue  # the fault of another finding, which comes before this one
            shown.add(place)
            confirmed[key] = obligation, found
        return (*(self._finding(*each) for each in confirmed.values()), *reasons.values())

    def _finding(self, obligation: Obligation, found: Found) -> Finding:
        return Finding(
            obligation.code,
            messages.broken(obligation),
            messages.sites(obligation),
            describe(found, obligation, self.contract, self._by_number),
        )

    def _search(self, opened: _Open) -> Found | None:
        """A confirmed witness, for ordinary data if the contents of arrays matter.

        Faults that odd contents cause are no refutation: a data fact, which only the user can add, may exclude them.
        """
        data = tuple(ordinary_data(opened.conditions, self._origins))
        race = opened.obligation.code in _RACES
        if data and not (race and self._decidable_with_far_data(opened)):
            return None
        if race and computed_addresses(self._addresses(opened.obligation)):
            return None
        sound = within_index_spaces(opened.obligation, self._by_number)
        conditions = (*opened.conditions, *data, *(t.substitute(c, opened.eliminated) for c in sound))
        search = Search(
            opened.obligation, conditions, opened.eliminated, self.contract, self.launch, self._origins, self._decider
        )
        found = search.run(self.confirm)
        opened.unknown = opened.unknown and not search.candidate
        return found

    def _decidable_with_far_data(self, opened: _Open) -> bool:
        far = ordinary_data(opened.conditions, self._origins, WIDE_SPACING)
        return self._decider.decide([*opened.conditions, *far]).answer is Answer.SATISFIABLE

    def _addresses(self, obligation: Obligation) -> Iterator[Term]:
        for site in (obligation.first, obligation.second):
            if site is not None:
                yield from place_terms(self._by_number[site.number].place)

    def _outcome(self, verdict: Verdict, findings: tuple[Finding, ...]) -> Outcome:
        open_count = len(findings)
        return Outcome(
            verdict=verdict,
            holds_for=self._holds_for() if verdict is Verdict.PROVED else None,
            deterministic=self._deterministic() if verdict is Verdict.PROVED else None,
            requires=tuple(clause.text for clause in self.clauses),
            assumes=tuple(data.fact.text for data in self.contract.data),
            findings=findings,
            obligations=ObligationCount(self.structural + self.by_solver + open_count, self.structural, self.by_solver),
            proved_codes=tuple(sorted(self.proved)) if verdict is Verdict.PROVED else (),
            contract=(*self.contract.text, *(free_text(self.launch) if self.holds_for == "any" else ())),
            notes=(*self.launch.notes, *self.summary.notes),
            launch=self.launch,
        )

    def _holds_for(self) -> str:
        """``any``: every launch of the contract; a contract of numbers is only about these sizes, or this launch."""
        if self.holds_for is not None:
            return self.holds_for
        if not self.contract.literal_sizes or not self.contract.arrays:
            return "any"
        grid = self.launch.grid
        return "launch" if grid is not None and all(isinstance(g, Number) for g in grid) else "sizes"

    def _deterministic(self) -> bool | None:
        """Without atomics a race-free kernel has one result; with them the tool does not say yet."""
        return None if any(site.atomic for site in self.summary.sites) else True


def _blocked(obligation: Obligation, reason: tuple[str, str]) -> Obligation:
    return replace(obligation, blocked=reason)
