"""Where witnesses are looked for when the contents of arrays have a part in a fault.

What decides is a small launch in which the fault shows (`refute.witness`), with contents that say something against the
kernel and not against the data: ordinary ones, whatever the facts allow, or values that a person wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...contract import terms as t
from ...contract.element_types import INT_BITS
from ...contract.facts.kept import bounded, joined, measures
from ...contract.terms import Function, Scope, Term, TermKind
from ...frontend.symbolic.summary import Access, Origin, OriginKind, Site
from ...results.claim import Confirm
from ...results.codes import CONFLICTS
from ..attempt import Open
from ..obligations.answers import Answer
from ..obligations.fact_use import (
    SPACING_TRIED,
    computed_addresses,
    data_facts,
    loaded_values,
    ordinary_data,
    stated_by,
)
from ..obligations.footprint_overlap import PreparedSite, place_terms
from ..obligations.obligations import Obligation, reached, within_index_spaces
from ..obligations.protocols import watched
from ..prover import Prover
from ..smt import Solver
from .sampled_contents import reaches
from .witness import FoundWitness, Search


@dataclass
class WitnessSearch:
    """Witnesses of what ``prover`` left open, as ``confirm`` saw them.

    ``modeller``: a solver of its own, so that what was asked before does not change the models.
    """

    prover: Prover
    confirm: Confirm
    modeller: Solver
    _had_model: bool = field(default=False, init=False)

    def of(self, opened: Open) -> tuple[FoundWitness | None, Open]:
        """A confirmed witness of what is open, and what is known of it by now."""
        self._had_model = False
        found = self._found(opened)
        return found, replace(opened, unknown=opened.unknown and not self._had_model)

    def _found(self, opened: Open) -> FoundWitness | None:
        """A confirmed witness, for ordinary data if the contents of arrays matter.

        Faults that odd contents cause are no refutation: a data fact, which only the user can add, may exclude them.
        Where ordinary data do not tell, the fault must show whatever the contract's facts let the arrays hold; unless a
        person wrote what the values lie between, and some of these values leave an array.
        """
        obligation = opened.obligation
        if self.prover.unsized(obligation):
            opened = self.prover.before_start(opened)
        data = tuple(ordinary_data(opened.conditions, self.prover.kernel.origins))
        race = obligation.code in CONFLICTS
        varied = frozenset(loaded_values(opened.conditions))
        if race and computed_addresses(
            self._addresses(obligation), self.prover.summary.loop_values, self._synchronised()
        ):
            rewritten = self._rewritten(obligation)
            if rewritten is None:
                return None
            varied |= rewritten
        elif not race and (behind := self._computed_from((*opened.conditions, *obligation.conditions))):
            varied |= behind
        elif not data or (race and self._decidable_with_far_data(opened)):
            doubted = joined(varied, self.prover.launch.data) if data else frozenset()
            search = self._search_for(opened, data, frozenset(), doubted)
            found = self._run(search)
            if found is not None or not data or not (search.candidate or self._idle_with_near_data(obligation)):
                return found
        if race and not self._shows_with_far_data(opened):
            return None
        if not race and varied and varied <= self._promised_ranges():
            found = self._run(self._search_for(opened, (), frozenset()))
            if found is not None:
                return found
        return self._run(self._search_for(opened, (), joined(varied, self.prover.launch.data)))

    def _run(self, search: Search) -> FoundWitness | None:
        found = search.run(self.confirm)
        self._had_model |= search.candidate
        return found

    def _search_for(
        self, opened: Open, data: tuple[Term, ...], varied: frozenset[str], doubted: frozenset[str] = frozenset()
    ) -> Search:
        """For a witness with ``data`` in ``doubted`` arrays, or whatever ``varied`` arrays hold."""
        obligation = opened.obligation
        sound = within_index_spaces(obligation, self.prover.kernel.by_number)
        parts = self.prover.parts
        conditions = (*opened.conditions, *parts.filled, *data, *(t.substitute(c, opened.eliminated) for c in sound))
        own, limits = self.prover, parts.limits if parts.has_limits else ()
        return Search(
            obligation, conditions, opened.eliminated, own.contract, own.launch, own.kernel.origins,
            self.modeller, varied, doubted, reaches(self._sides(obligation)), limits,
        )  # fmt: skip

    def _promised_ranges(self) -> frozenset[str]:
        """The arrays of which a person wrote what their values lie between."""
        launch = self.prover.launch
        written = tuple(fact for fact in launch.data if fact not in launch.observed)
        return frozenset(bounded(written)) if launch.origin == "written" else frozenset()

    def _synchronised(self) -> frozenset[str]:
        """The values of scoped accesses to arrays whose contents, when the launch begins, the contract gives."""
        given = {data.fact.array for data in self.prover.contract.data}
        return frozenset(name for name, site in watched(self.prover.kernel.sites).items() if site.origin.name in given)

    def _decidable_with_far_data(self, opened: Open) -> bool:
        far = ordinary_data(opened.conditions, self.prover.kernel.origins, SPACING_TRIED)
        return self.prover.solver.decide([*opened.conditions, *far]).answer is Answer.SATISFIABLE

    def _idle_with_near_data(self, obligation: Obligation) -> bool:
        """Whether nothing is learnt from values that count up: facts exclude them, or the kernel does nothing then."""
        work = [*reached(obligation, self.prover.kernel.by_number, self.prover.contract)]
        work += data_facts(work, self.prover.contract, self.prover.kernel.origins)
        near = ordinary_data(work, self.prover.kernel.origins)
        return self.prover.solver.decide([*work, *near]).answer is Answer.UNSATISFIABLE

    def _shows_with_far_data(self, opened: Open) -> bool:
        """Whether values that lie far apart make no difference, in those arrays whose facts let them.

        What only the sizes of this launch keep together tells nothing.  Values that facts state one by one are given as
        sizes are.
        """
        work = [*reached(opened.obligation, self.prover.kernel.by_number, self.prover.contract)]
        work += data_facts(work, self.prover.contract, self.prover.kernel.origins)
        far: set[str] = set()
        given = {data.fact.array for data in stated_by(self.prover.contract.data)}
        for array in sorted(loaded_values(work).keys() - measures(self.prover.launch.data) - given):
            values = ordinary_data(work, self.prover.kernel.origins, SPACING_TRIED, only=far | {array})
            if self.prover.solver.decide([*work, *values]).answer is not Answer.UNSATISFIABLE:
                far.add(array)
            elif array not in bounded(self.prover.launch.data):
                return False
        values = ordinary_data(opened.conditions, self.prover.kernel.origins, SPACING_TRIED, only=far)
        return not far or self.prover.solver.decide([*opened.conditions, *values]).answer is not Answer.UNSATISFIABLE

    def _computed_from(self, terms: Iterable[Term]) -> frozenset[str]:
        """The arrays of integers behind values in ``terms`` that the kernel computes from them.

        What `tl.max` of an array gives hangs on its contents as an element does.
        """
        summary, arrays = self.prover.summary, self.prover.contract.arrays
        values = {value.function: value for value in summary.loop_values}
        left, seen, found = list(terms), set[Function](), set[str]()
        while left:
            for leaf in left.pop().free:
                if leaf.kind is TermKind.APPLY and leaf.function not in seen:
                    seen.add(leaf.function)
                    found |= summary.computed_from.get(leaf.function.name, frozenset())
                    if leaf.function in values:
                        left += [values[leaf.function].init, values[leaf.function].next]
        return frozenset(name for name in found if name in arrays and arrays[name].dtype in INT_BITS)

    def _rewritten(self, obligation: Obligation) -> frozenset[str] | None:
        """The arrays from which the addresses come through memory that the kernel writes (`rewritten`).

        Facts have to bound what they hold at first: how values far apart would do cannot be asked for these.
        """
        found = rewritten_arrays(self._addresses(obligation), [each.site for each in self.prover.kernel.sites])
        if found is None or not found - self.prover.summary.stable_arrays <= bounded(self.prover.launch.data):
            return None
        return found

    def _sides(self, obligation: Obligation) -> Iterator[PreparedSite]:
        sites = (obligation.first, obligation.second)
        return (self.prover.kernel.by_number[site.number] for site in sites if site is not None)

    def _addresses(self, obligation: Obligation) -> Iterator[Term]:
        for side in self._sides(obligation):
            yield from place_terms(side.place)


# ------------------------------------------------------------------------------------------------------------ rewritten
# Addresses that come through memory which the kernel itself writes.
#
# What such a load gives is open for the prover, and known to the replay: the contents when the launch began, or what
# the kernel stored there.  Where all of that is integers of arrays, a replay with various contents tells what may
# happen; where floats or sums over tiles have a part in it, a few contents say little.


def rewritten_arrays(terms: Iterable[Term], sites: Sequence[Site]) -> frozenset[str] | None:
    """The arguments whose contents ``terms`` come from; ``None`` where something else than plain loads has a part."""
    loads = _loads(sites)
    left, seen, found = list(terms), set[Function](), set[str]()
    while left:
        for leaf in left.pop().free:
            if leaf.kind is not TermKind.APPLY or leaf.function in seen:
                continue
            seen.add(leaf.function)
            if leaf.function.array is not None:
                found.add(leaf.function.array)
            elif leaf.function in loads:
                origin = loads[leaf.function].origin
                stored = _stored(origin, sites)
                if stored is None:
                    return None
                found.add(origin.name)
                left += stored
            elif leaf.function.scope is not Scope.LAUNCH:
                return None
    return frozenset(found)


def _loads(sites: Sequence[Site]) -> dict[Function, Site]:
    """Plain loads by the functions that stand for what they gave; what their masks depend on is not of them."""
    loads: dict[Function, Site] = {}
    for site in sites:
        if site.access is Access.READ and not site.atomic and site.value is not None:
            of_mask = _functions(site.guard)
            loads |= dict.fromkeys((f for f in _functions(site.value) if f not in of_mask), site)
    return loads


def _functions(term: Term) -> set[Function]:
    return {
        leaf.function for leaf in term.free if leaf.kind is TermKind.APPLY and leaf.function.scope is not Scope.LAUNCH
    }


def _stored(origin: Origin, sites: Sequence[Site]) -> list[Term] | None:
    """What plain stores write to the argument; ``None`` where the array is none, or the values are not known."""
    if origin.kind is not OriginKind.PARAMETER:
        return None
    values: list[Term] = []
    for site in sites:
        if site.writes and (site.origin.kind is not OriginKind.PARAMETER or site.origin.name == origin.name):
            if site.access is not Access.WRITE or site.atomic or site.argument is None:
                return None
            values.append(site.argument)
    return values
