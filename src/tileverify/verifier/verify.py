"""From an access summary and a launch contract to a verdict.

Every obligation goes up the ladder until it is decided: structural simplification, linear integers with lemmas,
non-linear integers.  What the solver believes broken is replayed on a small concrete launch; only what the replay
saw is `refuted`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..frontend.sources.launch import EntryParameter, LaunchSpec, Number
from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import GRID, AccessSummary
from ..frontend.symbolic.terms import Term
from ..results import Finding, ObligationCount, Verdict
from . import messages
from .claim import Confirm
from .clause_search import search
from .clauses import (
    Clause,
    fitting_clauses,
    fixed,
    ignored_axes,
    index_space_clauses,
    last_block_clauses,
    launch_clause,
    related,
    spoken,
)
from .contract import Contract, build_contract
from .data import WIDE_SPACING, computed_addresses, data_facts, ordinary_data
from .determinism import deterministic
from .loop_exits import left_behind
from .meeting import place_terms
from .narrowing import offers
from .obligations import Obligation, every_obligation, promise, reached, within_index_spaces
from .plain import plain
from .prepare import Preparer, contract_values, launch_facts
from .protocols import Protocols, watched
from .simplify import simplify
from .smt import Answer, Decider, Limits, Session
from .widening import Level, free_text, holds, levels, mined
from .witness import Found, Search, describe

CLAUSE_LIMITS = Limits(linear=150_000, nonlinear=150_000, rounds=12, total=200_000)
"""For the search of clauses: what does not help soon is not the natural one."""

WIDE_LIMITS = Limits(linear=400_000, nonlinear=300_000, rounds=60, total=800_000)
"""For a contract wider than the user's; what it cannot prove soon, the user's own numbers may."""

SEARCH_TOTAL = 3_000_000
"""Resource units after which no further clauses are looked for, and no wider contract is tried any longer."""

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
    options, started, session = options or VerifyOptions(), time.monotonic(), Session()
    contract = build_contract(launch)
    outcome = _Verification(summary, launch, contract, options, confirm, session, _started=started).run()
    if outcome.verdict is not Verdict.PROVED:
        return outcome
    quick = replace(options, limits=WIDE_LIMITS)
    for level in levels(launch, parameters):
        wider = build_contract(level.launch)
        found = _Verification(summary, level.launch, wider, quick, confirm, session, _started=started).attempt(level)
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
    session: Session
    clauses: list[Clause] = field(default_factory=list)
    holds_for: str | None = None
    notes: list[str] = field(default_factory=list)
    structural: int = 0
    by_solver: int = 0
    proved: set[str] = field(default_factory=set)
    _cache: dict[frozenset[Term], Answer] = field(default_factory=dict)
    _fixed: dict[Term, Term] = field(default_factory=dict)  # what the clauses make constants
    _started: float = field(default_factory=time.monotonic)
    _several: tuple[Term, ...] | None = None

    def run(self) -> Outcome:
        self._assume(launch_facts(self.contract))
        some_launch = self._decider.decide([]).answer
        if some_launch is Answer.UNSATISFIABLE:
            contradiction = "the launch contract contradicts itself: no launch satisfies it"
            return self._outcome(Verdict.ERROR, (Finding("TV004", contradiction),))
        if some_launch is Answer.UNKNOWN:
            self.notes.append("whether any launch satisfies the contract is out of the solver's reach")
        self._prepare()
        open_now = self._decide(self._obligations())
        if not self.options.deny_requires:
            open_now = self._narrow(open_now)
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
            if self._out_of_time() or self._decider.spent > SEARCH_TOTAL:
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
        self._drop_implied()
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
        """Find clauses that the level's own launch keeps and under which the obligation holds, and adopt them."""
        if opened.obligation.blocked is not None or self.options.deny_requires:
            return False
        own = [clause.condition for clause in launch_clause(opened.obligation, opened.conditions)]
        own += [clause.condition for clause in index_space_clauses(opened.obligation)]
        chosen = search(
            [own, *mined(level, self._lane_counts(), opened.conditions)],
            admitted=lambda offered, group: [term for term in group if holds(term, level.own)],
            closes=self._closes(opened),
            accepted=lambda chosen: True,
            stop=self._exhausted,
        )
        self._adopt(clause for term in chosen for clause in spoken(term))
        return bool(chosen) and self._decide_one(opened.obligation) is None

    def _closes(self, opened: _Open) -> Callable[[Sequence[Term]], bool]:
        def closes(clauses: Sequence[Term]) -> bool:
            question = [*opened.conditions, *clauses]
            found = self._finder.decide(question, twins=opened.obligation.twins, limits=CLAUSE_LIMITS)
            return found.answer is Answer.UNSATISFIABLE

        return closes

    def _exhausted(self) -> bool:
        return self._out_of_time() or self._finder.spent > SEARCH_TOTAL

    def _adopt(self, clauses: Iterable[Clause]) -> None:
        """Make clauses part of the contract."""
        new = [clause for clause in dict.fromkeys(clauses) if clause not in self.clauses]
        self.clauses += new
        for decider in {id(each): each for each in (self._decider, self._finder)}.values():
            decider.assume([clause.condition for clause in new])
        self._fixed |= {variable: value for clause in new for variable, value in fixed(clause)}
        self._facts |= {clause.condition for clause in new}
        self._cache = {key: answer for key, answer in self._cache.items() if answer is Answer.UNSATISFIABLE}

    def _lane_counts(self) -> set[int]:
        """Tile sizes that the kernel works with."""
        tiles = {size for prepared in self._sites for size in getattr(prepared.site.footprint, "tile", ())}
        return tiles | {lane.size for prepared in self._sites for lane in prepared.site.lanes}

    def _assume(self, facts: tuple[Term, ...]) -> None:
        limit = self.options.timeout_s
        deadline = None if limit is None else self._started + limit
        self._decider = self._finder = Decider(facts, self.options.limits, deadline, session=self.session)
        self._facts = frozenset(part for fact in facts for part in (fact.args if fact.kind is t.Kind.AND else (fact,)))
        self._cache.clear()

    # ------------------------------------------------------------------------------------ preparation
    def _prepare(self) -> None:
        preparer = Preparer(self.summary, self.contract, self._decider)
        self._sites = [preparer.site(site) for site in self.summary.sites]
        self._by_number = {prepared.site.number: prepared for prepared in self._sites}
        self._promises = [preparer.promise(item) for item in self.summary.promises]
        self._origins = preparer.origins
        self._protocols = Protocols(self._sites, self.contract, self._decider)

    def _obligations(self) -> Iterator[Obligation]:
        return map(self._protocols.explained, every_obligation(self._sites, self._promises, self.contract))

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
        simple = simplify((t.substitute(c, self._fixed) for c in obligation.conditions), self._facts)
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
            twins = [(t.substitute(a, self._fixed), t.substitute(b, self._fixed)) for a, b in obligation.twins]
            answer = self._decider.decide(conditions, twins=twins).answer
            self._cache[key] = answer
        if answer is Answer.UNSATISFIABLE:
            self.by_solver += 1
            return None
        return _Open(obligation, conditions, answer is Answer.UNKNOWN, simple.eliminated)

    def _out_of_time(self) -> bool:
        limit = self.options.timeout_s
        return limit is not None and time.monotonic() - self._started > limit

    # ----------------------------------------------------------------------------------------- clauses
    def _narrow(self, left: list[_Open]) -> list[_Open]:
        """What is open although clauses about launch-known quantities were looked for that close it.

        Sound because each obligation is proved again under the clauses that are adopted.
        """
        self._finder = self._aside(self.session)
        still: list[_Open] = []
        for opened in left:
            if self._narrowed(opened):
                self.proved.add(opened.obligation.code)
            else:
                still.append(opened)
        if not self.clauses:
            return still
        # A clause that came later may close what came before.
        again = [(opened, self._decide_one(opened.obligation)) for opened in still]
        self.proved |= {opened.obligation.code for opened, reopened in again if reopened is None}
        self._drop_implied()
        return [reopened for _, reopened in again if reopened is not None]

    def _drop_implied(self) -> None:
        """Clauses that follow from the others say nothing."""
        facts = launch_facts(self.contract)
        alone = Decider(facts, CLAUSE_LIMITS, self._decider.deadline, session=self.session)
        for clause in tuple(self.clauses):
            others = [other for other in self.clauses if other is not clause]
            near = related(others, clause, facts)
            question = [*(other.condition for other in near), t.not_(clause.condition)]
            if near and alone.decide(question).answer is Answer.UNSATISFIABLE:
                self.clauses = others

    def _aside(self, session: Session) -> Decider:
        """Another solver under the same facts."""
        return Decider(self._decider.facts, self.options.limits, self._decider.deadline, session=session)

    def _narrowed(self, opened: _Open) -> bool:
        obligation = opened.obligation
        if obligation.blocked is not None:
            return False
        if self.clauses and self._decide_one(obligation) is None:
            return True
        work = [*reached(obligation, self._by_number, self.contract), *self._two_blocks()]
        work += data_facts(work, self.contract, self._origins)
        chosen = self._own_clause(opened) or search(
            offers(obligation, opened.conditions, self._decider.facts, self.contract, self._lane_counts()),
            admitted=lambda offered, group: self._admitted(work, offered, group),
            closes=self._closes(opened),
            accepted=lambda chosen: all(any(spoken(plain(term, self._implies))) for term in chosen),
            stop=self._exhausted,
        )
        self._adopt(clause for term in chosen for clause in spoken(plain(term, self._implies)))
        return bool(chosen) and self._decide_one(obligation) is None

    def _own_clause(self, opened: _Open) -> list[Term]:
        """The obligation itself, where it speaks of the launch alone and some launches keep it."""
        clauses = launch_clause(opened.obligation, opened.conditions)
        return [clause.condition for clause in clauses if self._possible([clause.condition, *self._two_blocks()])]

    def _admitted(self, work: Sequence[Term], offered: Sequence[Term], group: Sequence[Term]) -> list[Term]:
        """Those of ``group`` that leave launches, beside what is offered, in which the kernel does its ``work``: all
        together, or else each that can."""
        if not group or self._possible([*work, *offered, *group]):
            return list(group)
        kept: list[Term] = []
        for term in group if len(group) > 1 else ():
            if self._possible([*work, *offered, *kept, term]):
                kept.append(term)
        return kept

    def _implies(self, given: Sequence[Term], conclusion: Term) -> bool:
        found = self._finder.decide([*given, t.not_(conclusion)], limits=CLAUSE_LIMITS)
        return found.answer is Answer.UNSATISFIABLE

    def _possible(self, conditions: Sequence[Term]) -> bool:
        return self._finder.decide(conditions, limits=CLAUSE_LIMITS).answer is Answer.SATISFIABLE

    def _two_blocks(self) -> tuple[Term, ...]:
        """More than one block: a contract that excludes every such launch would be vacuous.

        Nothing where the user's own contract has no such launch.
        """
        if self._several is None:
            values = contract_values(self.contract)
            two = t.or_(*(t.lt(t.ONE, values.get(axis, axis)) for axis in GRID))
            self._several = (two,) if self._possible([two]) else ()
        return self._several

    # ---------------------------------------------------------------------------------------- findings
    def _explain(self, left: list[_Open]) -> tuple[Finding, ...]:
        """A confirmed witness or a reason for every open obligation, one finding per code and place: the smallest."""
        # A session of its own: what was asked before does not change the models that witnesses are made from.
        self._modeller = self._aside(Session())
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
                known = self._known_reason(opened)
                finding = messages.undecided(obligation, opened.conditions, unknown=opened.unknown, known=known)
                reasons.setdefault(key, finding)
            if found is None or (key in confirmed and confirmed[key][1].size <= found.size):
                continue
            reasons.pop(key, None)
            place = (obligation.code, found.ops)
            if place in shown and not found.as_claimed:
                continue  # the fault of another finding, which comes before this one
            shown.add(place)
            confirmed[key] = obligation, found
        return (*(self._finding(*each) for each in confirmed.values()), *reasons.values())

    def _known_reason(self, opened: _Open) -> messages.Reason | None:
        """TV907 for a token that a loop left behind, TV905 for a protocol between blocks."""
        obligation = opened.obligation
        if obligation.blocked is not None:
            return None
        if obligation.code == "TV201" and obligation.first is not None and obligation.second is not None:
            pair = (self._by_number[site.number] for site in (obligation.first, obligation.second))
            behind = left_behind(*pair)
            conditions = (*obligation.conditions, t.not_(behind))
            if behind is not t.FALSE and self._decider.decide(conditions).answer is Answer.UNSATISFIABLE:
                return messages.LEFT_BEHIND
        return self._protocols.why_open(obligation)

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
        if race and computed_addresses(
            self._addresses(opened.obligation), self.summary.loop_values, self._synchronised()
        ):
            return None
        sound = within_index_spaces(opened.obligation, self._by_number)
        conditions = (*opened.conditions, *data, *(t.substitute(c, opened.eliminated) for c in sound))
        search = Search(
            opened.obligation, conditions, opened.eliminated, self.contract, self.launch, self._origins, self._modeller
        )
        found = search.run(self.confirm)
        opened.unknown = opened.unknown and not search.candidate
        return found

    def _synchronised(self) -> frozenset[str]:
        """The values of scoped accesses to arrays whose contents, when the launch begins, the contract gives."""
        given = {data.fact.array for data in self.contract.data}
        return frozenset(name for name, site in watched(self._sites).items() if site.origin.name in given)

    def _decidable_with_far_data(self, opened: _Open) -> bool:
        far = ordinary_data(opened.conditions, self._origins, WIDE_SPACING)
        return self._decider.decide([*opened.conditions, *far]).answer is Answer.SATISFIABLE

    def _addresses(self, obligation: Obligation) -> Iterator[Term]:
        for site in (obligation.first, obligation.second):
            if site is not None:
                yield from place_terms(self._by_number[site.number].place)

    def _outcome(self, verdict: Verdict, findings: tuple[Finding, ...]) -> Outcome:
        open_count, proved = len(findings), verdict is Verdict.PROVED
        return Outcome(
            verdict=verdict,
            holds_for=self._holds_for() if proved else None,
            deterministic=deterministic(self._sites, self.contract, self._decider)
            if verdict is Verdict.PROVED
            else None,
            requires=tuple(clause.text for clause in self.clauses),
            assumes=tuple(data.fact.text for data in self.contract.data),
            findings=findings,
            obligations=ObligationCount(self.structural + self.by_solver + open_count, self.structural, self.by_solver),
            proved_codes=tuple(sorted(self.proved)) if proved else (),
            contract=(*self.contract.text, *(free_text(self.launch) if self.holds_for == "any" else ())),
            notes=(*self.launch.notes, *self.summary.notes, *self.notes),
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


def _blocked(obligation: Obligation, reason: tuple[str, str]) -> Obligation:
    return replace(obligation, blocked=reason)
