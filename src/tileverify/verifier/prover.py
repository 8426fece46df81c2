"""The prover of one attempt: it decides obligations under a contract and the clauses added so far.

It keeps its solver, the adopted clauses (`Prover.adopt`) and the answers: each fact goes to the solver once.
Searches ask a prover and add clauses to it; nothing else changes it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..contract import terms as t
from ..contract.contract import Contract
from ..contract.launch import LaunchSpec
from ..contract.terms import Term, TermKind
from ..frontend.symbolic.summary import AccessSummary, Origin, PointerFootprint, Promise, Site
from ..results import ObligationCount
from ..results.codes import TV, Tier
from . import messages
from .abduction.abduce import Closes, OfferedFacts
from .abduction.clause_wording import plain
from .abduction.clauses import Clause, fixed, joined, launch_only, related, spoken, without_implied
from .attempt import Attempt, Closed, Open, VerifyOptions
from .budgets import (
    CLAUSE_LIMITS,
    FIT_LEAST,
    FIT_LEAST_AT_FIRST,
    FIT_SHARES,
    MOST_UNFIT,
    QUICK_PASS,
    SEARCH_TOTAL,
    STRUCTURAL,
    WORDING_LIMITS,
)
from .effort import ResourceBudget
from .obligations.answers import Answer, Limits, Result, SolverProtocol
from .obligations.fact_use import FactUse
from .obligations.footprint_overlap import PreparedSite
from .obligations.limits import ContractParts
from .obligations.obligations import Obligation, before_start, every_obligation
from .obligations.prepare import FitWrap, Preparer, launch_facts, terms_of
from .obligations.protocols import Protocols
from .obligations.simplify import simplify
from .smt import Solver, SolverContext

TIME_IS_UP = "the time limit for this kernel was reached"


@dataclass
class Prover:
    """``attempt``: with the clauses adopted so far.

    ``solver`` answers the proof.  ``searcher`` answers searches: the same solver until `search_afresh` replaces it.
    ``use``: the data facts that questions may assume.  ``closed``: the proved obligations, in proof order.
    """

    attempt: Attempt
    solver_context: SolverContext
    solver: Solver
    use: FactUse
    facts: frozenset[Term]
    closed: list[Closed] = field(default_factory=list)
    _answers: dict[frozenset[Term], Result] = field(default_factory=dict)
    _fixed: dict[Term, Term] = field(default_factory=dict)  # variables that the clauses make constants
    _found_at: int = 0  # units that the search for clauses had spent at its last success
    _kernel: PreparedKernel | None = None

    def __post_init__(self) -> None:
        self.searcher = self.solver

    @classmethod
    def of(cls, attempt: Attempt, solver_context: SolverContext) -> Prover:
        """The prover of a new attempt.

        It gets its own solver context: in a shared one, earlier attempts would influence the solver's heuristics.
        ``solver_context``: the kernel's; its budget pays.
        """
        solver_context, conditions = solver_context.fresh(), attempt.conditions
        facts = (*launch_facts(attempt.contract), *conditions)
        use = FactUse(attempt.contract, OfferedFacts(attempt.offered) if attempt.offered else None, clauses=conditions)
        solver = Solver(facts, attempt.options.limits, attempt.deadline, solver_context=solver_context)
        return cls(attempt, solver_context, solver, use, frozenset(t.conjuncts(*facts)))

    @property
    def contract(self) -> Contract:
        return self.attempt.contract

    @property
    def summary(self) -> AccessSummary:
        return self.attempt.summary

    @property
    def launch(self) -> LaunchSpec:
        return self.attempt.launch

    @property
    def options(self) -> VerifyOptions:
        return self.attempt.options

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses that the tool added to the contract so far."""
        return self.attempt.clauses

    @property
    def effort(self) -> ResourceBudget:
        """The budget of all proofs of this kernel."""
        return self.solver_context.effort

    @property
    def kernel(self) -> PreparedKernel:
        """The kernel's accesses and promises under the attempt's contract; call a ``prepare`` method first."""
        assert self._kernel is not None
        return self._kernel

    @cached_property
    def parts(self) -> ContractParts:
        """The parts of the contract that clauses may narrow.  Its solver knows the contract and no clause."""
        facts = launch_facts(self.contract)
        alone = Solver(facts, CLAUSE_LIMITS, self.solver.deadline, solver_context=self.solver_context)

        def asked(conditions: Sequence[Term]) -> Answer:
            return alone.decide(conditions).answer

        lanes = (lane.size for site in self.summary.sites for lane in site.lanes)
        unsized = self.launch.unsized
        strides = strides_of(self.summary) if unsized else frozenset()
        return ContractParts(self.contract, asked, max(lanes, default=1), unsized, strides)

    # ---------------------------------------------------------------------------------------- the kernel
    def prepare(self, preparer: Preparer | None = None) -> None:
        """Read the kernel under the contract; ``preparer`` replaces the usual one."""
        if preparer is None:
            options, solver = self.options, self.solver
            asked = AdaptiveBudget(solver, options.limits, QUICK_PASS, most_open=None) if options.quick else solver
            preparer = Preparer(self.summary, self.contract, asked, use=self.use)
        self._kernel = PreparedKernel.of(preparer, self.solver)

    def prepare_nothing(self) -> None:
        """Read no access: for questions that need none."""
        preparer = Preparer(self.summary, self.contract, self.solver, use=self.use)
        self._kernel = PreparedKernel.nothing(preparer, self.solver)

    def prepare_like(self, other: Prover, use: FactUse | None = None) -> None:
        """Take over the prepared kernel of ``other``, which has the same contract.

        Read again only the doubtful places that share variables with this prover's clauses.
        ``use``: the data facts to assume meanwhile, in place of this prover's.
        """
        assert other.contract is self.contract
        preparer = other.kernel.preparer.informed_otherwise(self.contract, self.solver, use or self.use)
        kernel = replace(other.kernel, preparer=preparer)
        doubtful = (item.offset for item, terms in kernel.doubts() if related(self.clauses, terms, self.facts))
        kernel = kernel.again(preparer, set(doubtful) if self.clauses else ())
        self._kernel = kernel.by(preparer, self.solver)

    def prepare_again(self, offsets: Container[int]) -> None:
        """Read the accesses and promises at ``offsets`` again, under the present facts and clauses."""
        self._kernel = self.kernel.again(self._informed(), offsets)

    def prepare_fitting(self, offsets: Container[int], fit: FitWrap) -> None:
        """`prepare_again`; ``fit`` may add clauses under which machine integers do not wrap."""
        preparer = self._informed()
        with preparer.narrowing(fit):
            self._kernel = self.kernel.again(preparer, offsets)

    def _informed(self, solver: SolverProtocol | None = None) -> Preparer:
        return self.kernel.preparer.informed_otherwise(self.contract, solver or self.solver, self.use)

    def with_facts(self, contract: Contract, offsets: Container[int], solver: SolverProtocol | None = None) -> Prover:
        """A prover with this one's solver, for a contract that differs only in its data facts.

        It reads the accesses at ``offsets`` again; ``solver`` answers meanwhile in place of its own.
        """
        use = FactUse(contract, said=self.use.said, clauses=self.attempt.conditions)
        other = replace(self, attempt=replace(self.attempt, contract=contract), use=use, closed=[])
        other._kernel = self.kernel.again(other._informed(solver), offsets)
        return other

    # ------------------------------------------------------------------------------------- obligations
    def prove(self, obligation: Obligation, limits: Limits | None = None) -> Closed | Open:
        """Prove the obligation and record it for the verdict, or return what is open.

        ``limits``: of the solver for this question, in place of the usual ones.
        """
        answer = self.answer(obligation, limits)
        if isinstance(answer, Closed):
            self.closed.append(answer)
        return answer

    def answer(self, obligation: Obligation, limits: Limits | None = None) -> Closed | Open:
        """`prove` without recording it for the verdict."""
        if obligation.blocked is not None:
            return Open(obligation, (), unknown=True)
        with self.effort.about(obligation):
            return self._answered(obligation, limits)

    def _answered(self, obligation: Obligation, limits: Limits | None) -> Closed | Open:
        started = time.perf_counter()
        found = self.unsolved(obligation)
        if isinstance(found, Closed):
            return found
        conditions = found.conditions
        if self.at_its_end():
            return replace(found, obligation=replace(obligation, blocked=(TV.BUDGET, self.end())), eliminated={})
        key = frozenset(conditions)
        result = self._answers.get(key)
        if result is None:
            twins = [tuple(self.simplified(pair)) for pair in obligation.twins]
            result = self.solver.decide(conditions, twins=[(a, b) for a, b in twins], limits=limits)
            if limits is None or result.answer is not Answer.UNKNOWN:
                self._answers[key] = result
        if result.answer is Answer.UNSATISFIABLE:
            return Closed(obligation, result.tier, time.perf_counter() - started, result.lemmas)
        return replace(found, unknown=result.answer is Answer.UNKNOWN)

    def unsolved(self, obligation: Obligation) -> Closed | Open:
        """The obligation closed by its structure, or the conditions that the solver gets."""
        started = time.perf_counter()
        self.effort.charge(STRUCTURAL)
        simple = simplify(self.simplified(obligation.conditions), self.facts)
        if simple is None:
            return Closed(obligation, Tier.STRUCTURAL, time.perf_counter() - started)
        conditions = (*simple.conditions, *self.use.known(simple.conditions, self.kernel.origins))
        return Open(obligation, conditions, unknown=True, eliminated=simple.eliminated)

    def simplified(self, conditions: Iterable[Term]) -> list[Term]:
        """The conditions with variables replaced by the constants that clauses give them."""
        return [t.substitute(each, self._fixed) for each in conditions]

    def count(self, left_open: int) -> ObligationCount:
        """The numbers of obligations, by the way each was decided; ``left_open`` were not."""
        by = Counter(each.tier for each in self.closed)
        apart = by[Tier.STRUCTURAL], by[Tier.ENUMERATED]
        return ObligationCount(len(self.closed) + left_open, apart[0], len(self.closed) - sum(apart), apart[1])

    def at_its_end(self) -> bool:
        """Whether budget or time is spent."""
        return self.effort.is_spent or self.is_late()

    def is_late(self) -> bool:
        """Whether the user's time is up."""
        limit = self.options.timeout_s
        return limit is not None and time.monotonic() - self.attempt.started > limit

    def end(self) -> str:
        """The reason why proving stopped."""
        return messages.spent(self.effort) if self.effort.is_spent else TIME_IS_UP

    def limit(self, limits: Limits) -> None:
        """Set the limits of later questions, and forget the `UNKNOWN` answers of other limits."""
        if self.solver.limit(limits) != limits:
            for key in [key for key, known in self._answers.items() if known.answer is Answer.UNKNOWN]:
                del self._answers[key]

    # ----------------------------------------------------------------------------------------- clauses
    def adopt(self, clauses: Iterable[Clause]) -> None:
        """Add clauses to the attempt."""
        new = [clause for clause in dict.fromkeys(clauses) if clause not in self.clauses]
        self.attempt = self.attempt.under(new)
        conditions = [clause.condition for clause in new]
        for solver in {id(each): each for each in (self.solver, self.searcher)}.values():
            solver.assume(conditions)
        self._fixed |= {variable: value for clause in new for variable, value in fixed(clause)}
        self.facts |= {*conditions}
        self.use.adopt(conditions)
        self._answers = {key: known for key, known in self._answers.items() if known.answer is Answer.UNSATISFIABLE}

    def drop_implied(self, own: Mapping[Term, int], last: Container[Clause] = ()) -> None:
        """Drop clauses that follow from others.

        ``own``: numbers of a launch that satisfies all clauses.  Drop clauses in ``last`` first.
        """
        facts = launch_facts(self.contract)
        alone = Solver(facts, WORDING_LIMITS, self.solver.deadline, solver_context=self.solver_context)
        clauses = sorted(self.clauses, key=lambda clause: clause in last)
        kept = joined(without_implied(clauses, facts, alone, own))
        self.attempt = replace(self.attempt, clauses=tuple(kept))

    def search_afresh(self) -> None:
        """Give searches a fresh solver with resources of its own."""
        self.searcher = self.solver.fork(self.solver_context)

    @contextmanager
    def question(self, opened: Open, limits: Limits = CLAUSE_LIMITS) -> Iterator[Closes]:
        """A test of which clauses close ``opened``; inside the block, ask only the searcher."""
        with self.solver.selection(opened.conditions, limits, twins=opened.obligation.twins) as selection:
            yield selection.closes

    def worded(self, chosen: Sequence[Term], closes: Closes, *, multiply: bool = True) -> list[Clause]:
        """The clauses as people write them, or unchanged if that wording does not close the question; none if one
        clause has no wording."""
        for wording in ([plain(term, self._implies, multiply=multiply) for term in chosen], chosen):
            clauses = [list(spoken(term)) for term in wording if term is not t.TRUE]
            if all(clauses) and (wording == list(chosen) or closes(wording)):
                return [clause for each in clauses for clause in each]
        return []

    def _implies(self, given: Sequence[Term], conclusion: Term) -> bool:
        found = self.searcher.decide([*given, t.not_(conclusion)], limits=WORDING_LIMITS)
        return found.answer is Answer.UNSATISFIABLE

    def note_found(self) -> None:
        """Reset the search budget: a search found clauses."""
        self._found_at = self.searcher.spent

    def exhausted(self) -> bool:
        """Whether the search for clauses has spent its budget without a success."""
        return self.at_its_end() or self.searcher.spent - self._found_at > SEARCH_TOTAL

    # ---------------------------------------------------------------------------------------- the contract
    def unsized(self, obligation: Obligation) -> str | None:
        """The name of the array, if this is a bounds obligation and the contract gives that array no size."""
        asked = obligation.first if obligation.code == TV.POINTER_OUT_OF_ALLOCATION else None
        unsized = self.launch.unsized
        return asked.origin.name if asked is not None and asked.origin.name in unsized else None

    def before_start(self, opened: Open) -> Open:
        """``opened`` for accesses that begin before the start of their array: a fault for every size."""
        assert opened.obligation.first is not None
        before = before_start(self.kernel.by_number[opened.obligation.first.number].place)
        return replace(opened, conditions=(*opened.conditions, t.substitute(before, opened.eliminated)))

    def lane_counts(self) -> set[int]:
        """The tile sizes and lane counts of the kernel."""
        sites = [prepared.site for prepared in self.kernel.sites]
        tiles = {size for site in sites for size in getattr(site.footprint, "tile", ())}
        return tiles | {lane.size for site in sites for lane in site.lanes}


def strides_of(summary: AccessSummary) -> frozenset[Term]:
    """The scalars that addresses are multiplied by, and that no guard compares with anything."""
    offsets = (each.footprint.offset for each in summary.sites if isinstance(each.footprint, PointerFootprint))
    products = (part for offset in offsets for part in t.postorder(offset) if part.kind is TermKind.PRODUCT)
    scalars = {each for part in products for each in part.args if each.kind is TermKind.VAR and launch_only(each)}
    return frozenset(scalars.difference(*(site.guard.free for site in summary.sites)))


# ------------------------------------------------------------------------------------------------------------- prepared
# The accesses and promises of a kernel under one contract, in the form that questions use.


@dataclass(frozen=True)
class PreparedKernel:
    """``sites`` and ``promises``: in the order of the summary, or empty.

    ``protocols``: the protocols between blocks, computed from the sites as first prepared.
    """

    preparer: Preparer
    sites: Sequence[PreparedSite]
    promises: Sequence[Promise]
    protocols: Protocols

    @classmethod
    def of(cls, preparer: Preparer, solver: SolverProtocol) -> PreparedKernel:
        """The whole kernel; ``solver`` answers the questions of protocols."""
        sites = tuple(map(preparer.site, preparer.summary.sites))
        promises = tuple(map(preparer.promise, preparer.summary.promises))
        return cls(
            preparer,
            sites,
            promises,
            Protocols(sites, preparer.contract, solver, preparer.origins, preparer.loop_values),
        )

    @classmethod
    def nothing(cls, preparer: Preparer, solver: SolverProtocol) -> PreparedKernel:
        """No access and no promise: for questions that need none."""
        return cls(preparer, (), (), Protocols((), preparer.contract, solver, preparer.origins, preparer.loop_values))

    @property
    def origins(self) -> Mapping[str, Origin]:
        """The origins of pointers, in terms of the contract."""
        return self.preparer.origins

    @cached_property
    def by_number(self) -> dict[int, PreparedSite]:
        return {prepared.site.number: prepared for prepared in self.sites}

    def obligations(self) -> Iterator[Obligation]:
        """All obligations, with the values that protocols add to them."""
        return map(self.protocols.explained, every_obligation(self.sites, self.promises, self.preparer.contract))

    def doubts(self) -> Iterator[tuple[Site | Promise, list[Term]]]:
        """Accesses and promises that more facts may change, with the terms that decide it."""
        asked: list[tuple[Site | Promise, Term, list[Term]]] = []
        asked += [(each.site, each.guard, terms_of(each)) for each in self.sites]
        asked += [(each, each.guard, [each.condition]) for each in self.promises]
        for item, guard, terms in asked:
            if doubt := self.preparer.doubts([guard, *terms]):
                yield item, [guard, *doubt]

    def again(self, preparer: Preparer, offsets: Container[int]) -> PreparedKernel:
        """A copy in which ``preparer`` has read the accesses and promises at ``offsets`` (bytecode places) again."""
        summary = preparer.summary
        pairs = zip(summary.sites, self.sites, strict=True)
        sites = tuple(preparer.site(new) if new.offset in offsets else old for new, old in pairs)
        promised = zip(summary.promises, self.promises, strict=True)
        promises = tuple(preparer.promise(new) if new.offset in offsets else old for new, old in promised)
        return replace(self, sites=sites, promises=promises)

    def by(self, preparer: Preparer, solver: SolverProtocol) -> PreparedKernel:
        """A copy for another attempt, with its ``preparer`` and ``solver``."""
        protocols = Protocols(self.sites, preparer.contract, solver, preparer.origins, preparer.loop_values)
        return replace(self, preparer=preparer, protocols=protocols)


# ------------------------------------------------------------------------------------------------------------- patience
# The budget for questions whether machine integers fit, in a contract wider than the launch.
#
# Answers come soon or never.  An integer that stays open under one guard mostly stays open under the next, and others
# follow it.  So a question gets a share of the units that are left.  The share halves with each failed question on the
# same integer, and with each other open integer.  A missed answer costs a wider contract or a quick pass, never a
# proof.


@dataclass
class AdaptiveBudget:
    """Asks ``solver`` within ``limits`` until most of ``account`` (resource units) is spent or ``most_open`` integers
    stay open.

    No ``account``: no end.  The first condition of a question says that an integer does not fit; the others say where.
    """

    solver: Solver
    limits: Limits
    account: int | None
    most_open: int | None = MOST_UNFIT
    _in_vain: Counter[Term] = field(default_factory=Counter)

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        """The answer; `UNKNOWN` once `is_over`."""
        conditions = tuple(conditions)
        if self.is_over():
            return Result(Answer.UNKNOWN, None)
        limits, about = self.limits, conditions[0]
        if self.account is not None:
            share = (self.account - self.solver.spent) // FIT_SHARES
            vain, others = self._in_vain[about], len(self._in_vain.keys() - {about})
            least = FIT_LEAST if vain else FIT_LEAST_AT_FIRST
            linear, total = (max(min(most, share) >> vain + others, least) for most in (limits.linear, limits.total))
            limits = replace(limits, linear=linear, total=total)
        result = self.solver.decide(conditions, twins=twins, limits=limits)
        if result.answer is Answer.UNKNOWN:
            self._in_vain[about] += 1
        return result

    def is_over(self) -> bool:
        """Whether every further question gets `UNKNOWN`."""
        if self.account is None:
            return False
        too_many = self.most_open is not None and len(self._in_vain) >= self.most_open
        return self.account - self.solver.spent < FIT_LEAST * FIT_SHARES or too_many
