"""One wider contract: the kernel proved under clauses that its recorded launch satisfies.

A clause for an obligation between blocks must leave work here, too (`nonvacuity`).  Example: the launch has one block
along y, and several would race.  Then ``grid.y == 1`` is the user's choice: it never becomes a clause of a contract for
``any`` launch, and only the launch itself is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ...contract import terms as t
from ...contract.launch import EntryParameter, LaunchSpec
from ...contract.terms import Term
from ...contract.variables import GRID
from ...frontend.symbolic.summary import AccessSummary
from ...results import Verdict
from .. import messages
from ..attempt import Attempt, Closed, Open, Outcome, VerifyOptions
from ..budgets import (
    CLOSING_LIMITS,
    FIRST_LIMITS,
    LAST_LIMITS,
    PREPARING_TOTAL,
    SEARCH_IN_VAIN,
    SEARCH_TOTAL,
    WIDER_FIT_LIMITS,
    WIDER_SHARE,
    WIDEST_AHEAD,
    WIDEST_TOTAL,
)
from ..obligations.answers import Answer
from ..obligations.footprint_overlap import CopyLevel, place_terms
from ..obligations.obligations import Obligation, promise
from ..obligations.prepare import Preparer
from ..outcome import outcome_of
from ..prover import AdaptiveBudget, Prover
from ..smt import SolverContext
from .abduce import abduce
from .clauses import (
    Clause,
    as_equalities,
    fitting_clauses,
    ignored_axes,
    index_space_clauses,
    last_block_clauses,
    launch_clause,
    spoken,
    writes_for_all,
)
from .generalising import Level, Miner, holds, levels, weaker
from .mining import fitting_bounds
from .near_launches import NearLaunches
from .nonvacuity import Demand, Nonvacuity, two_blocks


@dataclass
class GeneralisedProof:
    prover: Prover
    _is_last: bool = field(default=False, init=False)  # of the present obligation
    _near: NearLaunches | None = field(default=None, init=False)  # where sizes are free
    _first: Obligation | None = field(default=None, init=False)  # that needs the solver

    def __post_init__(self) -> None:
        self.nonvacuity = Nonvacuity(self.prover)

    def attempt(self, level: Level) -> Outcome | None:
        """The kernel proved under clauses that the level's own launch satisfies; ``None`` if the proof fails.

        The contract is not vacuous, because the launch satisfies it.
        """
        level = level.aligned(self.prover.summary.origins.values())
        if not all(holds(fact, level.own) for fact in self.prover.contract.facts):
            return None
        self.prover.search_afresh()
        if not self.prover.options.deny_requires:
            self.prover.adopt(clause for clause in self._necessary() if holds(clause.condition, level.own))
        several = _SeveralBlocks(self.prover, level)
        if several.are_excluded():
            return None
        patience = AdaptiveBudget(
            self.prover.solver, WIDER_FIT_LIMITS, PREPARING_TOTAL if level.holds_for == "any" else None
        )

        def made_fit(wrap: Term, outside: Term, guard: Term) -> bool:
            return self._made_fit(patience, wrap, (outside, guard), level.own)

        preparer = Preparer(self.prover.summary, self.prover.contract, patience)
        # The questions whether integers fit repeat.
        with self.prover.solver.remembering(), preparer.narrowing(made_fit):
            self.prover.prepare(preparer)
        if patience.is_over():
            return None
        self._near = NearLaunches(self.prover, level.own) if level.holds_for == "any" else None
        miner = Miner(level, self.prover.lane_counts())
        obligations = list(self.prover.kernel.obligations())
        for number, obligation in enumerate(obligations, 1):
            if self._exhausted() or self._is_behind((number - 1) / len(obligations)) or several.are_excluded():
                return None
            self._is_last = number == len(obligations)
            with self.prover.effort.about(obligation):
                proved = self._proved(obligation, miner)
            if not proved:
                return None
        if not several.are_possible():
            return None
        self.prover.drop_implied(level.own)
        return outcome_of(self.prover, Verdict.PROVED)

    def _proved(self, obligation: Obligation, miner: Miner) -> bool:
        if self._is_soon_hopeless(obligation, miner):
            return False
        answer = self.prover.prove(obligation, FIRST_LIMITS)
        if isinstance(answer, Closed) or self._close(answer, miner):
            return True
        if self.prover.attempt.holds_for == "any" or self._in_vain():
            return False
        return isinstance(self.prover.prove(obligation, LAST_LIMITS), Closed)

    def _is_soon_hopeless(self, obligation: Obligation, miner: Miner) -> bool:
        """`_is_hopeless` for the first obligation that needs the solver, before the solver reads the whole contract:
        of contracts that fail, most fail there."""
        if self._near is None or self._first is not None or obligation.blocked is not None:
            return False
        opened = self.prover.unsolved(obligation)
        if isinstance(opened, Closed) or self.prover.solver.plainly_refuted(opened.conditions):
            return False
        self._first = obligation
        return self._is_hopeless(opened, self._offered(opened, miner))

    def _is_hopeless(self, opened: Open, offered: Sequence[Sequence[Term]]) -> bool:
        """Whether no choice of the offered clauses closes the obligation."""
        return self._near is not None and self._near.refute(opened.conditions, [*chain(*offered)])

    def _offered(self, opened: Open, miner: Miner) -> list[list[Term]]:
        """Groups of clauses that may close the obligation, and that the level's own launch satisfies."""
        own = [clause.condition for clause in launch_clause(opened.obligation, opened.conditions, self.prover.use)]
        own += [clause.condition for clause in index_space_clauses(opened.obligation)]
        groups = chain([own], miner.groups(opened.conditions))
        return [[term for term in group if holds(term, miner.level.own)] for group in groups]

    def _exhausted(self) -> bool:
        total = WIDEST_TOTAL if self.prover.attempt.holds_for == "any" else SEARCH_TOTAL
        return self.prover.at_its_end() or self.prover.solver.spent > total

    def _is_behind(self, proved: float) -> bool:
        """Whether the proof has spent too much for its share of ``proved`` obligations, by measurement."""
        due = WIDEST_AHEAD + proved * (WIDEST_TOTAL - WIDEST_AHEAD)
        return self.prover.attempt.holds_for == "any" and self.prover.solver.spent > due

    def _in_vain(self) -> bool:
        """Whether the budget is spent before the last obligation: then the present one does not matter either."""
        return not self._is_last and self._exhausted()

    def _necessary(self) -> Iterator[Clause]:
        """Clauses that every wider contract needs, or that exclude only absurd sizes."""
        plain = Preparer(self.prover.summary, self.prover.contract, self.prover.solver, keep_wraps=True)
        sites = [plain.site(site) for site in self.prover.summary.sites]
        asked = [promise(plain.promise(item)) for item in self.prover.summary.promises]
        for each in asked:
            yield from launch_clause(each, each.conditions, self.prover.use)
        terms = [term for site in sites for term in (site.guard, *place_terms(site.place))]
        yield from ignored_axes(self.prover.summary.read_axes) if writes_for_all(sites) else ()
        yield from last_block_clauses(sites)
        for clause in fitting_clauses([*terms, *(part for each in asked for part in each.conditions)]):
            if self.prover.solver.decide([t.not_(clause.condition)]).answer is not Answer.UNSATISFIABLE:
                yield clause

    def _close(self, opened: Open, miner: Miner) -> bool:
        """Find clauses under which the obligation holds and that the level's own launch satisfies; adopt them."""
        if opened.obligation.blocked is not None or self.prover.options.deny_requires:
            return False
        offered = self._offered(opened, miner)
        if opened.obligation is not self._first and self._is_hopeless(opened, offered):
            return False
        wanted: list[Demand] | None = None

        def leaves_work(chosen: Sequence[Term]) -> bool:
            nonlocal wanted
            if opened.obligation.level == CopyLevel.BLOCK:
                wanted = self.nonvacuity.demands(opened.obligation) if wanted is None else wanted
            return self.nonvacuity.leaves(wanted or [], chosen)

        closed, end = False, self.prover.solver.spent + SEARCH_IN_VAIN

        def is_hopeless() -> bool:
            return not closed and self.prover.solver.spent > end

        with self.prover.question(opened, CLOSING_LIMITS) as closes:

            def tried(clauses: Sequence[Term]) -> bool:
                nonlocal closed
                closes_it = not (self._in_vain() or is_hopeless()) and closes(clauses)
                closed |= closes_it
                return closes_it

            chosen = abduce(
                offered,
                tried,
                accepted=leaves_work,
                stop=lambda: self._exhausted() or is_hopeless(),
                weaker=lambda clause: weaker(clause, miner.tiles),
            )
            found = self.prover.worded(as_equalities(chosen), closes, multiply=False)
        self.prover.adopt(found)
        return bool(chosen) and isinstance(self.prover.prove(opened.obligation), Closed)

    def _made_fit(
        self, patience: AdaptiveBudget, wrap: Term, outside: tuple[Term, ...], own: Mapping[Term, int]
    ) -> bool:
        """Adopt a clause that makes ``wrap`` fit and that the level's own launch satisfies; whether there is one."""
        if self.prover.options.deny_requires:
            return False
        for candidates in fitting_bounds(wrap):
            clauses = [clause for term in candidates for clause in spoken(term)]
            conditions = [clause.condition for clause in clauses]
            kept = len(clauses) == len(candidates) and all(holds(condition, own) for condition in conditions)
            if kept and patience.decide([*outside, *conditions]).answer is Answer.UNSATISFIABLE:
                self.prover.adopt(clauses)
                return True
        return False


@dataclass
class _SeveralBlocks:
    """Tests whether the clauses so far leave launches of several blocks, if the level's own launch has one.

    Clauses only grow: once they exclude such launches, the contract cannot become a wider one.
    """

    prover: Prover
    level: Level
    _seen: int = field(default=-1, init=False)  # number of clauses known not to exclude them

    def _answer(self) -> Answer:
        if any(self.level.own[axis] != 1 for axis in GRID):
            return Answer.SATISFIABLE
        return self.prover.solver.decide(two_blocks(self.prover.contract, range(len(GRID)))).answer

    def are_excluded(self) -> bool:
        if self._seen != len(self.prover.clauses) and self._answer() is Answer.UNSATISFIABLE:
            return True
        self._seen = len(self.prover.clauses)
        return False

    def are_possible(self) -> bool:
        return self._answer() is Answer.SATISFIABLE


# --------------------------------------------------------------------------------------------------------- wider proofs
# Proofs of a kernel for more launches than the recorded one: widest first, each for a part of the budget.
#
# If they fail, the launch's own proof may still succeed.


@dataclass
class GeneralizationLoop:
    """Proofs under contracts wider than the user's, with ``options`` of their own."""

    summary: AccessSummary
    parameters: Sequence[EntryParameter]
    options: VerifyOptions
    solver_context: SolverContext
    started: float

    def proved(self, launch: LaunchSpec, numbers: slice, share: int = WIDER_SHARE) -> tuple[Outcome | None, bool]:
        """The kernel proved under a contract wider than ``launch``, or ``None``; and whether a failed try ran out of
        budget, so that more may help.

        ``numbers``: which contracts to try, counted from the widest.  Each gets one of ``share`` parts of the budget.
        """
        ran_out, effort = False, self.solver_context.effort
        for level in list(levels(launch, self.parameters))[numbers]:
            attempt = Attempt.of(self.summary, level.launch, self.options, self.started)
            prover = Prover.of(replace(attempt, holds_for=level.holds_for), self.solver_context)
            with effort.share(share), effort.at(messages.WIDER[level.holds_for]):
                found = GeneralisedProof(prover).attempt(level)
                spent = effort.is_spent
            if found is not None:
                return found, ran_out
            ran_out |= spent
        return None, ran_out
