"""The user's own contract narrowed: by size limits that nobody need write, and by minimal clauses in people's wording.

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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import NamedTuple

from ...contract import terms as t
from ...contract.terms import Term, TermKind, postorder
from ...contract.variables import BID, GRID, list_length
from ..attempt import Closed, Open
from ..budgets import CLAUSE_LIMITS
from ..messages import is_readable
from ..obligations.answers import Answer
from ..obligations.fact_use import about_lists, element_facts, loaded_values
from ..obligations.footprint_overlap import PRIME, CopyLevel, PrimedCopy
from ..obligations.limits import is_left_open
from ..obligations.obligations import Obligation, every_obligation
from ..obligations.prepare import contract_values
from ..prover import Prover
from .abduce import Closes, abduce, fewest
from .clause_candidates import offers
from .clause_wording import shortest
from .clauses import Clause, as_equalities, clause_text, ignored_axes, launch_clause, related
from .mining import fitting_bounds
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
        if self.freely:
            self.prover.note_found()  # what the search for limits spent is no sign that clauses are sought in vain
        alone = [opened for opened in left if opened.obligation.second is None]
        still = self._narrowed_all(alone)
        still += self._narrowed_all(self._read_again([opened for opened in left if opened.obligation.second]))
        # A later clause may close an earlier obligation.
        again = [self._reopened(opened, self.prover.clauses[known:]) for opened, known in still]
        self.prover.drop_implied({}, last=list(ignored_axes(frozenset())))
        return [reopened for reopened in again if reopened is not None]

    def _narrowed_all(self, left: Iterable[Open]) -> list[tuple[Open, int]]:
        """What stays open, with the number of clauses by then."""
        still: list[tuple[Open, int]] = []
        for opened in left:
            with self.prover.effort.about(opened.obligation):
                narrowed = self._narrowed(opened)
            if not narrowed:
                still.append((opened, len(self.prover.clauses)))
        return still

    def _read_again(self, left: list[Open]) -> list[Open]:
        """What is open of pairs of accesses, read under the clauses so far: where an access lies in its array, its
        integers fit."""
        kernel, clauses = self.prover.kernel, self.prover.clauses
        places = {_place(opened.obligation) for opened in left}
        asked = {offset for place in places for offset in place}
        doubtful = {
            item.offset
            for item, terms in (kernel.doubts() if places and clauses else ())
            if item.offset in asked and related(clauses, terms, self.prover.facts)
        }
        if not doubtful:
            return left
        self.prover.prepare_again(doubtful)
        return list(self._as_read(left, places))

    def _as_read(self, left: Sequence[Open], places: set[tuple[int, ...]]) -> Iterator[Open]:
        """What stays open of ``left`` as the kernel is read now; a question that is not asked again stays as it was."""
        kernel, answered = self.prover.kernel, set[tuple[object, ...]]()
        wanted = {_question(opened.obligation) for opened in left if opened.obligation.blocked is None}
        for obligation in every_obligation(kernel.sites, (), self.prover.contract, places):
            question = _question(obligation)
            if question in wanted:
                answered.add(question)
                answer = self.prover.prove(kernel.protocols.explained(obligation))
                if isinstance(answer, Open):
                    yield answer
        yield from (opened for opened in left if _question(opened.obligation) not in answered)

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
            self.prover.solver.facts,
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


# ---------------------------------------------------------------------------------------------------------- limit proof
# Size limits that close what is open: nobody need write them, as every launch of usual size satisfies them.
#
# What closes a question is chosen among relations that the question itself suggests, as far as every launch within
# limits satisfies them (`2 * stride < 2**31`), and after them among the limits as they stand (`M * N < 2**31`).


FIT_LIMITS = replace(CLAUSE_LIMITS, nonlinear=300_000)
"""For whether a question is closed by all limits together: products may have a part in it."""


class Needed(NamedTuple):
    """A limit that an obligation took; ``conditions`` are how it is broken beyond it."""

    clause: Clause
    obligation: Obligation
    conditions: tuple[Term, ...]


@dataclass
class WithinLimits:
    """Looks for limits that close what ``prover`` left open; ``needed`` says which closed what."""

    prover: Prover
    needed: list[Needed] = field(default_factory=list)
    _fitted: list[tuple[Term, Clause]] = field(default_factory=list)  # by the integer that was made to fit

    def close(self, left: list[Open]) -> list[Open]:
        """What stays open within limits.

        Sound because each obligation is proved again under the limits that are adopted.
        """
        parts = self.prover.parts
        if not left or parts.is_literal or not parts.has_limits:
            return left
        self.prover.search_afresh()
        still = [opened for opened in left if not self._closed(opened)]
        wrapped = [opened for opened in still if opened.obligation.blocked is None and _has_wrap(opened.conditions)]
        if wrapped:
            fresh = self._with_fitting_integers(wrapped)
            still = [opened for opened in still if opened not in wrapped]
            still += [opened for opened in fresh if not self._closed(opened)]
        self.prover.drop_implied({})
        return still

    def _closed(self, opened: Open) -> bool:
        obligation = opened.obligation
        if obligation.blocked is not None or self.prover.exhausted():
            return False
        with self.prover.effort.about(obligation):
            clauses = self._limits_for(opened)
            if not clauses:
                return False
            self.prover.adopt(clauses)
            if isinstance(self.prover.prove(obligation), Open):
                return False
        self.needed += (Needed(clause, obligation, opened.conditions) for clause in clauses)
        return True

    def _limits_for(self, opened: Open) -> list[Clause]:
        """As few limits as close what is open, the most natural ones; none if all together do not."""
        groups = offers(
            opened.obligation,
            opened.conditions,
            self.prover.solver.facts,
            self.prover.contract,
            self.prover.lane_counts(),
        )
        with self.prover.question(opened, FIT_LIMITS) as closes:
            return self._chosen(
                chain.from_iterable(groups), lambda limits: closes(self._of_arrays(limits, opened.conditions))
            )

    def _of_arrays(self, limits: Sequence[Term], conditions: Sequence[Term]) -> list[Term]:
        """The limits, and what those on the arrays of lists say of the ones that ``conditions`` mention."""
        contract = self.prover.contract
        return [*limits, *element_facts(conditions, about_lists(limits, contract.lists), contract)]

    def _chosen(self, natural: Iterable[Term], closes: Closes) -> list[Clause]:
        parts = self.prover.parts
        if not closes(parts.limits):
            return []
        limits = parts.alone if closes(parts.alone) else parts.limits
        said = (term for term in dict.fromkeys(natural) if is_readable([clause_text(term) or ""]))
        candidates = [*filter(parts.is_limit, said), *limits]
        return self.prover.worded(fewest(candidates, closes), closes)

    # ------------------------------------------------------------------------------------- machine integers
    def _with_fitting_integers(self, left: Sequence[Open]) -> list[Open]:
        """What is open of the same accesses and promises, read where their machine integers fit within limits."""
        places = {_place(opened.obligation) for opened in left}
        self.prover.prepare_fitting({offset for place in places for offset in place}, self._made_fit)
        kernel = self.prover.kernel
        found = every_obligation(kernel.sites, kernel.promises, self.prover.contract, places)
        for opened in left:
            parts = {part for condition in opened.conditions for part in postorder(condition)}
            fitted = (clause for wrap, clause in self._fitted if wrap in parts)
            self.needed += (Needed(clause, opened.obligation, opened.conditions) for clause in dict.fromkeys(fitted))
        answers = map(self.prover.prove, map(kernel.protocols.explained, found))
        return [answer for answer in answers if isinstance(answer, Open)]

    def _made_fit(self, wrap: Term, outside: Term, guard: Term) -> bool:
        """Whether limits make ``wrap`` fit, by which they are adopted."""

        def closes(limits: Sequence[Term]) -> bool:
            known = self._of_arrays(limits, [outside, guard])
            asked = self.prover.solver.decide([outside, guard, *known], limits=FIT_LIMITS)
            return asked.answer is Answer.UNSATISFIABLE

        found = self._chosen(chain.from_iterable(fitting_bounds(wrap)), closes)
        self.prover.adopt(found)
        self._fitted += ((wrap, clause) for clause in found)
        return bool(found)


def _has_wrap(conditions: Iterable[Term]) -> bool:
    return any(part.kind is TermKind.WRAP for condition in conditions for part in postorder(condition))


def _question(obligation: Obligation) -> tuple[object, ...]:
    """What an obligation asks, and of which accesses, however these are read."""
    return obligation.code, obligation.level, obligation.detail, _place(obligation)


def _place(obligation: Obligation) -> tuple[int, ...]:
    items = (obligation.promise,) if obligation.promise is not None else (obligation.first, obligation.second)
    return tuple(item.offset for item in items if item is not None)
