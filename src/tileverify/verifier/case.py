"""What every proof works with: one summary under one contract, its obligations, and the ladder that decides them."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..contract import terms as t
from ..contract.contract import Contract
from ..contract.expressions import constant_value
from ..contract.launch import LaunchSpec
from ..contract.terms import Term
from ..frontend.symbolic.summary import AccessSummary, Promise, Site
from ..results import MOST_REFUTATIONS, Finding, HoldsFor, ObligationCount, Verdict
from ..results.codes import TV, Tier
from . import messages
from .budgets import CLAUSE_LIMITS, HASTE, KERNEL_EFFORT, OPEN_LIMITS, SEARCH_TOTAL, STRUCTURAL, WORDING_LIMITS
from .effort import Effort
from .obligations.answers import Answer, Decides, Limits, Result
from .obligations.determinism import deterministic
from .obligations.fact_use import ChooseFacts, FactUse
from .obligations.limits import ContractParts
from .obligations.obligations import Obligation, before_start, every_obligation
from .obligations.prepare import Preparer, launch_facts, terms_of
from .obligations.protocols import Protocols
from .obligations.simplify import simplify
from .search.clause_search import Closes
from .search.clauses import Clause, fixed, spoken
from .search.generalising import free_text
from .search.implied import joined, related, without_implied
from .search.patience import Patience
from .search.plain import plain
from .smt import Decider, Limited, Session

TIME_IS_UP = "the time limit for this kernel was reached"


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """``timeout_s``: seconds of proving after which open obligations are TV903; ``deny_requires``: no clause of
    the tool's own may be added to the contract; ``seed``: the solver's, which tests vary; ``effort``: units of the
    account that pays for all of a kernel's proof, which is shown to ``watch`` first; ``witnesses``: look for what
    refutes an open obligation, and say why it is open; for those who want proofs alone, False; ``refutations``: so many
    of those are looked for; ``hasty``: nobody waits for how what is not proved stays open (`of_recording`)."""

    timeout_s: float | None = None
    deny_requires: bool = False
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    effort: int = KERNEL_EFFORT
    watch: Callable[[Effort], None] | None = None
    witnesses: bool = True
    refutations: int = MOST_REFUTATIONS
    hasty: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of one kernel under one contract; fields as in `tileverify.results.KernelResult`."""

    verdict: Verdict
    holds_for: HoldsFor | None = None
    deterministic: bool | None = None
    one_result: bool | None = None  # the same, but for what the specification leaves open
    open_uses: tuple[Open, ...] = ()  # where that may decide something (TV403)
    requires: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()  # those of `assumes` that come from a recording
    findings: tuple[Finding, ...] = ()
    obligations: ObligationCount = field(default_factory=ObligationCount)
    proved_codes: tuple[str, ...] = ()
    contract: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    launch: LaunchSpec | None = None  # the contract that `requires` adds to
    cut_short: bool = False
    decided: tuple[Decided, ...] = ()  # what was proved on the way to the verdict, in the order of obligations


@dataclass(frozen=True, slots=True)
class Decided:
    """A proved obligation: by which tier, in how many ``seconds``, with how many ``lemmas`` made for it."""

    obligation: Obligation
    tier: Tier | None
    seconds: float
    lemmas: int = 0


@dataclass
class Tally:
    """What was proved on the way to a verdict; ``codes``: those of which no obligation is open."""

    structural: int = 0
    by_solver: int = 0
    codes: set[str] = field(default_factory=set)
    decided: dict[int, Decided] = field(default_factory=dict)  # by the obligation's id, which its entry keeps alive

    def add(self, proved: Decided) -> None:
        if proved.tier == Tier.STRUCTURAL:
            self.structural += 1
        else:
            self.by_solver += 1
        self.decided[id(proved.obligation)] = proved

    def counts(self, left_open: int) -> ObligationCount:
        return ObligationCount(self.structural + self.by_solver + left_open, self.structural, self.by_solver)


@dataclass
class Open:
    """An obligation that was not proved."""

    obligation: Obligation
    conditions: tuple[Term, ...]
    unknown: bool
    eliminated: Mapping[Term, Term] = field(default_factory=dict)


@dataclass
class Case:
    """One attempt at a proof; ``clauses`` are those that it added to the contract.

    ``session``: the kernel's, of which it makes another for itself: what other attempts asked, and when they are freed,
    would decide what the solver tries first.
    """

    summary: AccessSummary
    launch: LaunchSpec
    contract: Contract
    options: VerifyOptions
    session: Session
    clauses: list[Clause] = field(default_factory=list)
    holds_for: HoldsFor | None = None
    notes: list[str] = field(default_factory=list)
    choose: ChooseFacts | None = None  # finds facts on data that a question needs
    tally: Tally = field(default_factory=Tally)
    cache: dict[frozenset[Term], Result] = field(default_factory=dict)
    fixed: dict[Term, Term] = field(default_factory=dict)  # what the clauses make constants
    started: float = field(default_factory=time.monotonic)
    found_at: int = 0  # what the search for clauses had spent when it last found one
    cut_short: bool = False  # something open was not looked at, after so many refutations

    def __post_init__(self) -> None:
        self.session = self.session.anew()

    def assume(self, facts: tuple[Term, ...]) -> None:
        limit = self.options.timeout_s
        deadline = None if limit is None else self.started + limit
        self.use = FactUse(self.contract, self.choose, clauses=[clause.condition for clause in self.clauses])
        self.decider = self.finder = Decider(facts, self.options.limits, deadline, session=self.session)
        self.facts = frozenset(t.conjuncts(*facts))
        self.cache.clear()

    @cached_property
    def parts(self) -> ContractParts:
        """What clauses may do to the contract.  What they are asked of knows the contract, and no clause."""
        facts = launch_facts(self.contract)
        alone = Decider(facts, CLAUSE_LIMITS, self.decider.deadline, session=self.session)

        def asked(conditions: Sequence[Term]) -> Answer:
            return alone.decide(conditions).answer

        lanes = (lane.size for site in self.summary.sites for lane in site.lanes)
        return ContractParts(self.contract, asked, max(lanes, default=1))

    def prepare(self, preparer: Preparer | None = None) -> None:
        if preparer is None:
            hasty, decider = self.options.hasty, self.decider
            asked = Patience(decider, self.options.limits, HASTE, most_open=None) if hasty else decider
            preparer = Preparer(self.summary, self.contract, asked, use=self.use)
        self.preparer = preparer
        self.sites = [preparer.site(site) for site in self.summary.sites]
        self.by_number = {prepared.site.number: prepared for prepared in self.sites}
        self.promises = [preparer.promise(item) for item in self.summary.promises]
        self.origins = preparer.origins
        self.protocols = Protocols(self.sites, self.contract, self.decider, self.origins)

    def prepare_like(self, other: Case) -> None:
        """As ``other``, of the same contract, was prepared: anew only what more clauses may have to do with."""
        assert other.contract is self.contract
        self.preparer = other.preparer.informed_otherwise(self.contract, self.decider, self.use)
        self.sites, self.promises, self.origins = [*other.sites], [*other.promises], self.preparer.origins
        if self.clauses:
            self._prepare_at({each.offset for each in self._in_doubt()}, self.preparer)
        self.by_number = {prepared.site.number: prepared for prepared in self.sites}
        self.protocols = Protocols(self.sites, self.contract, self.decider, self.origins)

    def _in_doubt(self) -> Iterator[Site | Promise]:
        """The accesses and promises that clauses may say more of."""
        return (item for item, terms in self.doubts() if related(self.clauses, terms, self.facts))

    def doubts(self) -> Iterator[tuple[Site | Promise, list[Term]]]:
        """What more facts could prepare otherwise: accesses and promises, with the terms that hangs on."""
        asked: list[tuple[Site | Promise, Term, list[Term]]] = []
        asked += [(each.site, each.guard, terms_of(each)) for each in self.sites]
        asked += [(each, each.guard, [each.condition]) for each in self.promises]
        for item, guard, terms in asked:
            if doubt := self.preparer.doubts([guard, *terms]):
                yield item, [guard, *doubt]

    def prepare_again(self, offsets: Container[int], decider: Decides | None = None) -> None:
        """The accesses and promises at these places of the bytecode once more, under the facts that count by now;
        ``decider``: whom to ask in place of the case's own."""
        self.prepare_by(self.preparer.informed_otherwise(self.contract, decider or self.decider, self.use), offsets)

    def prepare_by(self, preparer: Preparer, offsets: Container[int]) -> None:
        """The same as ``preparer`` reads them."""
        self._prepare_at(offsets, preparer)
        self.by_number = {prepared.site.number: prepared for prepared in self.sites}

    def _prepare_at(self, offsets: Container[int], preparer: Preparer) -> None:
        for number, site in enumerate(self.summary.sites):
            if site.offset in offsets:
                self.sites[number] = preparer.site(site)
        for number, item in enumerate(self.summary.promises):
            if item.offset in offsets:
                self.promises[number] = preparer.promise(item)

    def obligations(self) -> Iterator[Obligation]:
        return map(self.protocols.explained, every_obligation(self.sites, self.promises, self.contract))

    def decide_one(self, obligation: Obligation, limits: Limits | None = None) -> Open | None:
        """What is left open of the obligation, which counts where it is not; ``limits`` as for `_answer`."""
        answer = self.answer(obligation, limits)
        if isinstance(answer, Open):
            return answer
        self.tally.add(answer)
        return None

    def answer(self, obligation: Obligation, limits: Limits | None = None) -> Open | Decided:
        """How the obligation was proved, or what is left open; ``limits`` other than usual count for the solver
        alone."""
        if obligation.blocked is not None:
            return Open(obligation, (), unknown=True)
        with self.session.effort.about(obligation):
            return self._answered(obligation, limits)

    def _answered(self, obligation: Obligation, limits: Limits | None) -> Open | Decided:
        started = time.perf_counter()
        self.session.effort.charge(STRUCTURAL)
        simple = simplify((t.substitute(c, self.fixed) for c in obligation.conditions), self.facts)
        if simple is None:
            return Decided(obligation, Tier.STRUCTURAL, time.perf_counter() - started)
        conditions = simple.conditions
        conditions = (*conditions, *self.use.known(conditions, self.origins))
        if self.at_its_end():
            return Open(_blocked(obligation, (TV.BUDGET, self.end())), conditions, unknown=True)
        key = frozenset(conditions)
        result = self.cache.get(key)
        if result is None:
            twins = [(t.substitute(a, self.fixed), t.substitute(b, self.fixed)) for a, b in obligation.twins]
            result = self.decider.decide(conditions, twins=twins, limits=limits)
            if limits is None or result.answer is not Answer.UNKNOWN:
                self.cache[key] = result
        if result.answer is Answer.UNSATISFIABLE:
            return Decided(obligation, result.tier, time.perf_counter() - started, result.lemmas)
        return Open(obligation, conditions, result.answer is Answer.UNKNOWN, simple.eliminated)

    def open_uses(self) -> list[Open]:
        """Where something that the specification leaves open may decide something (TV403)."""
        left, exact = [], None
        for item in self.summary.open_uses:
            plain = self.preparer.term(t.and_(item.guard, t.not_(item.condition)))
            if simplify([t.substitute(plain, self.fixed)], self.facts) is None:
                continue
            # Of its own, which adds no clause to the contract.
            exact = exact or Preparer(self.summary, self.contract, Limited(self.decider, OPEN_LIMITS), use=self.use)
            reached = replace(item, guard=exact.term(item.guard))
            asked = Obligation(item.code, (exact.broken(item),), promise=reached, detail=item.text)
            answer = self.answer(asked, OPEN_LIMITS)
            if isinstance(answer, Open):
                left.append(answer)
        return left

    def at_its_end(self) -> bool:
        """Whether nothing more may be asked."""
        return self.session.effort.is_spent or self._is_late()

    def _is_late(self) -> bool:
        limit = self.options.timeout_s
        return limit is not None and time.monotonic() - self.started > limit

    def open_assertions(self) -> list[str]:
        """The assertions that may fail, as far as is known, in words; that blocks stop there is trusted."""
        left: dict[str, None] = {}
        for item in self.summary.assertions:
            exact = Preparer(self.summary, self.contract, Limited(self.decider, OPEN_LIMITS), use=self.use)
            reached = replace(item, guard=exact.term(item.guard))
            asked = Obligation(item.code, (exact.broken(item),), promise=reached, detail=item.text)
            if isinstance(self.answer(asked, OPEN_LIMITS), Open):
                left[messages.assertion(item)] = None
        return list(left)

    def end(self) -> str:
        """Why nothing more may be asked."""
        return messages.spent(self.session.effort) if self.session.effort.is_spent else TIME_IS_UP

    def adopt(self, clauses: Iterable[Clause]) -> None:
        """Make clauses part of the contract."""
        new = [clause for clause in dict.fromkeys(clauses) if clause not in self.clauses]
        self.clauses += new
        for decider in {id(each): each for each in (self.decider, self.finder)}.values():
            decider.assume([clause.condition for clause in new])
        self.fixed |= {variable: value for clause in new for variable, value in fixed(clause)}
        self.facts |= {clause.condition for clause in new}
        self.use.adopt(clause.condition for clause in new)
        self.cache = {key: known for key, known in self.cache.items() if known.answer is Answer.UNSATISFIABLE}

    @contextmanager
    def question(self, opened: Open, limits: Limits = CLAUSE_LIMITS) -> Iterator[Closes]:
        """Which clauses close what is open; meanwhile, only the other solver may be asked."""
        with self.decider.selection(opened.conditions, limits, twins=opened.obligation.twins) as selection:
            yield selection.closes

    def worded(self, chosen: Sequence[Term], closes: Closes, *, multiply: bool = True) -> list[Clause]:
        """The clauses as people write them, or as they are where that is harder to prove from; none if one of them
        cannot be said."""
        for wording in ([plain(term, self._implies, multiply=multiply) for term in chosen], chosen):
            clauses = [list(spoken(term)) for term in wording if term is not t.TRUE]
            if all(clauses) and (wording == list(chosen) or closes(wording)):
                return [clause for each in clauses for clause in each]
        return []

    def _implies(self, given: Sequence[Term], conclusion: Term) -> bool:
        found = self.finder.decide([*given, t.not_(conclusion)], limits=WORDING_LIMITS)
        return found.answer is Answer.UNSATISFIABLE

    def exhausted(self) -> bool:
        """Whether clauses were looked for in vain for long; each that is found renews the patience."""
        return self.at_its_end() or self.finder.spent - self.found_at > SEARCH_TOTAL

    def unsized(self, obligation: Obligation) -> str | None:
        """The array of which nobody said how large it is, where it is asked if an access leaves it."""
        asked = obligation.first if obligation.code == TV.POINTER_OUT_OF_ALLOCATION else None
        return asked.origin.name if asked is not None and asked.origin.name in self.launch.unsized else None

    def before_start(self, opened: Open) -> Open:
        """The same of accesses that begin in front of their array, however large that is."""
        assert opened.obligation.first is not None
        before = before_start(self.by_number[opened.obligation.first.number].place)
        return replace(opened, conditions=(*opened.conditions, t.substitute(before, opened.eliminated)))

    def lane_counts(self) -> set[int]:
        """Tile sizes that the kernel works with."""
        tiles = {size for prepared in self.sites for size in getattr(prepared.site.footprint, "tile", ())}
        return tiles | {lane.size for prepared in self.sites for lane in prepared.site.lanes}

    def drop_implied(self, own: Mapping[Term, int]) -> None:
        """Clauses that follow from the others say nothing; ``own`` are the numbers of a launch that keeps them all."""
        facts = launch_facts(self.contract)
        alone = Decider(facts, WORDING_LIMITS, self.decider.deadline, session=self.session)
        self.clauses = joined(without_implied(self.clauses, facts, alone, own))

    def aside(self, session: Session) -> Decider:
        """Another solver under the same facts."""
        return self.decider.aside(session)

    def outcome(self, verdict: Verdict, findings: tuple[Finding, ...]) -> Outcome:
        proved = verdict is Verdict.PROVED
        open_uses = tuple(self.open_uses()) if proved else ()
        may_fail = self.open_assertions() if proved else []
        added = [clause for clause in self.clauses if clause.condition not in self.contract.facts]
        limits = [clause for clause in added if self.parts.is_limit(clause.condition)]
        one_result = deterministic(self.sites, self.contract, self.decider) if proved and not may_fail else None
        return Outcome(
            verdict=verdict,
            holds_for=self._holds_for() if proved else None,
            deterministic=None if one_result and open_uses else one_result,
            one_result=one_result,
            open_uses=open_uses,
            requires=tuple(clause.text for clause in added if clause not in limits),
            limits=tuple(clause.text for clause in limits),
            assumes=tuple(data.fact.text for data in self.contract.data),
            findings=findings,
            obligations=self.tally.counts(0 if proved else len(findings)),
            proved_codes=tuple(sorted(self.tally.codes)) if proved else (),
            contract=(*self.contract.text, *(free_text(self.launch) if self.holds_for == "any" else ())),
            notes=(*self.launch.notes, *self.summary.notes, *self.notes, *may_fail),
            launch=self.launch,
            cut_short=self.cut_short,
            decided=tuple(self.tally.decided.values()),
        )

    def _holds_for(self) -> HoldsFor:
        """``any``: every launch of the contract; a contract of numbers is only about these sizes, or this launch."""
        if self.holds_for is not None:
            return self.holds_for
        if not self.contract.literal_sizes or not (self.contract.arrays or self.contract.lists):
            return "any"
        grid = self.launch.grid
        return "launch" if grid is not None and all(constant_value(axis) is not None for axis in grid) else "sizes"


def _blocked(obligation: Obligation, reason: tuple[TV, str]) -> Obligation:
    return replace(obligation, blocked=reason)
