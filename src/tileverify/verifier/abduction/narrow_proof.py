"""The user's own contract narrowed: minimal clauses, in people's wording, that close open obligations.

Axes come first.  If the grid is open and blocks may conflict, each axis that the kernel does not read gets one block.
No later question and no witness then has blocks that differ in such an axis alone.  A kernel that reads no block number
gets a single block.

Clauses never narrow a written contract: they may restrict only its open parts (`limits`).  After the verdict, a search
for other clauses that would prove the kernel gives advice to people.

Clauses never stop the kernel's work (`nonvacuity`).  Each axis that the kernel reads keeps two blocks that reach the
obligation's accesses, for some loaded values, and loops keep a second iteration.  A question that only clauses against
work would close stays open: a witness refutes it, or it is undecided and the message names the clauses.  Clauses for
blocks that differ along another axis are adopted even then, so that the witness shows the axis at fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ...contract.variables import BID, GRID, list_length
from ..attempt import Closed, Open
from ..budgets import CLAUSE_LIMITS
from ..obligations.answers import Answer
from ..obligations.fact_use import loaded_values
from ..obligations.footprint_overlap import PRIME, CopyLevel, PrimedCopy
from ..obligations.limits import is_left_open
from ..obligations.prepare import contract_values
from ..prover import Prover
from .abduce import Closes, abduce
from .clause_candidates import offers
from .clause_wording import shortest
from .clauses import Clause, as_equalities, ignored_axes, launch_clause
from .implied import related
from .nonvacuity import Demand, Nonvacuity, axes_of_work

FOR_DATA = 4
"""Groups of clauses to try if the contents of arrays matter: mostly a data fact is missing there, not a clause."""


@dataclass
class Narrowing:
    """Looks for clauses that close the open obligations of ``prover``; ``freely``: they may narrow anything."""

    prover: Prover
    freely: bool = False

    def __post_init__(self) -> None:
        self.nonvacuity = Nonvacuity(self.prover)

    def narrow(self, left: list[Open]) -> list[Open]:
        """Search clauses on launch parameters that close ``left``, adopt them, and return the rest.

        Sound because each obligation is proved again under the adopted clauses.
        """
        still: list[tuple[Open, int]] = []
        for opened in left:
            with self.prover.effort.about(opened.obligation):
                narrowed = self._narrowed(opened)
            if not narrowed:
                still.append((opened, len(self.prover.clauses)))
        # A later clause may close an earlier obligation.
        again = [self._reopened(opened, self.prover.clauses[known:]) for opened, known in still]
        self.prover.drop_implied({}, last=list(ignored_axes(frozenset())))
        return [reopened for reopened in again if reopened is not None]

    def ignoring_axes(self, left: list[Open]) -> list[Open]:
        """Give axes that the kernel does not read one block, and return the obligations that stay open.

        Only if the grid is open and blocks may conflict.
        """
        meet = any(opened.obligation.level == CopyLevel.BLOCK and opened.obligation.blocked is None for opened in left)
        if self.prover.contract.grid_given or not meet:
            return left
        self.prover.search_afresh()
        found: list[Clause] = []
        for clause in ignored_axes(self.prover.summary.read_axes):
            more = self.prover.searcher.decide([t.not_(clause.condition)], limits=CLAUSE_LIMITS).answer
            if more is Answer.UNSATISFIABLE:
                continue  # the contract says so already
            if self.nonvacuity.possible([clause.condition, *(other.condition for other in found)]):
                found.append(clause)
        self.prover.adopt(found)
        again = (self._reopened(opened, found) for opened in left)
        return [opened for opened in again if opened is not None]

    def _narrowed(self, opened: Open) -> bool:
        obligation = opened.obligation
        if obligation.blocked is not None:
            return False
        if self._reopened(opened, self.prover.clauses) is None:
            return True
        found, wanted = self._own_clause(opened), list[Demand]()
        if not found and any(self.quantities()) and self._has_open_part(opened):
            wanted = self.nonvacuity.demands(obligation)
            self.nonvacuity.demanded.append(wanted)
            found = self.found(opened, wanted)
        self.prover.adopt(found)
        if found and isinstance(self.prover.prove(obligation), Closed):
            self.prover.note_found()
            return True
        if wanted:
            self._narrow_axes(opened, wanted)
        return False

    def _narrow_axes(self, opened: Open, wanted: Sequence[Demand]) -> None:
        """For each axis whose question is still open, adopt clauses for blocks that differ along it."""
        axes = axes_of_work(self.prover.summary.read_axes)
        if opened.obligation.level != CopyLevel.BLOCK or self.prover.contract.grid_given or len(axes) < 2:
            return
        copy = PrimedCopy(CopyLevel.BLOCK, PRIME)
        for axis in axes:
            apart = t.substitute(t.ne(BID[axis], copy(BID[axis])), opened.eliminated)
            along = replace(opened, conditions=(*opened.conditions, apart))
            with self.prover.question(along) as closes:
                needed = not closes(())
            self.prover.adopt(self.found(along, wanted) if needed else ())

    def _reopened(self, opened: Open, clauses: Sequence[Clause]) -> Open | None:
        """``opened`` if it stays open under these clauses, else ``None``.

        Clauses that share no variable with it cannot close it: then the prover is not asked.
        """
        if not related(clauses, opened.conditions, self.prover.facts):
            return opened
        answer = self.prover.prove(opened.obligation)
        return answer if isinstance(answer, Open) else None

    def _own_clause(self, opened: Open) -> list[Clause]:
        """The obligation itself as a clause, if it mentions launch parameters alone and some launches satisfy it."""
        for clause in launch_clause(opened.obligation, opened.conditions, self.prover.use):
            if not self._is_free(clause.condition):
                continue
            left = self.nonvacuity.possible([clause.condition, *self.nonvacuity.two_blocks()])
            left = left and self.nonvacuity.leaves_something(opened.obligation, [clause.condition])
            if left and self.nonvacuity.leaves_all_at_once(opened.obligation, [clause.condition]):
                with self.prover.question(opened) as closes:
                    return self.prover.worded([clause.condition], closes)
        return []

    def found(self, opened: Open, wanted: Sequence[Demand], *, idle: bool = False) -> list[Clause]:
        """Clauses that close the question and leave launches in which the kernel does its work; empty if none.

        ``idle``: the kernel need not do its work in these launches.
        """
        groups: Iterator[list[Term]] = offers(
            opened.obligation,
            opened.conditions,
            self.prover.decider.facts,
            self.prover.contract,
            self.prover.lane_counts(),
            sized=not self.prover.launch.unsized,
        )

        def accepted(chosen: Sequence[Term], closes: Closes) -> bool:
            left = bool(self.prover.worded(chosen, closes)) and self.nonvacuity.leaves_launches(chosen)
            return left and (idle or self.nonvacuity.leaves_others(opened.obligation, chosen))

        with self.prover.question(opened) as closes:
            chosen = abduce(
                islice(groups, FOR_DATA) if loaded_values(opened.conditions) else groups,
                closes,
                admitted=lambda offered, group: self._admitted(wanted, offered, group),
                accepted=lambda chosen: accepted(chosen, closes),
                stop=self.prover.exhausted,
            )
            return self.prover.worded(as_equalities(chosen), closes)

    def _has_open_part(self, opened: Open) -> bool:
        """Whether the tool may add some clause on the variables of the question."""
        named = {leaf for condition in opened.conditions for leaf in condition.free}
        return self.freely or not self.prover.contract.grid_given or any(map(is_left_open, named))

    def _is_free(self, clause: Term) -> bool:
        """Whether the tool may add the clause: it narrows nothing that a person wrote."""
        return self.freely or self.prover.parts.is_admissible(clause)

    def would_do(self, opened: Open) -> list[str]:
        """Clauses that close ``opened`` but shut out part of the work: advice to people.

        Under them some launch of several blocks still reaches the accesses.
        """
        if opened.obligation.blocked is not None or not any(self.quantities()):
            return []
        found = self.found(opened, self.nonvacuity.demands(opened.obligation)[:1], idle=True)
        return [clause.text for clause in shortest(found, self.prover.parts.implies, facts=self.prover.contract.facts)]

    def quantities(self) -> Iterator[Term]:
        """The quantities that a launch of the contract chooses; empty if all are numbers."""
        values = contract_values(self.prover.contract)
        yield from (axis for axis in GRID if values.get(axis, axis).kind is not TermKind.CONST)
        yield from self.prover.contract.variables
        yield from (list_length(name) for name in self.prover.contract.lists)

    def _admitted(self, wanted: Sequence[Demand], offered: Sequence[Term], group: Sequence[Term]) -> list[Term]:
        """The part of ``group`` under which, with ``offered``, the kernel still does its work.

        The whole group if possible, else its terms one by one.
        """
        group = list(filter(self._is_free, group))
        if not group or self.nonvacuity.leaves(wanted, [*offered, *group]):
            return group
        kept: list[Term] = []
        for term in group if len(group) > 1 else ():
            if self.nonvacuity.leaves(wanted, [*offered, *kept, term]):
                kept.append(term)
        return kept
