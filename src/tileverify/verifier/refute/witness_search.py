"""Where witnesses are looked for when the contents of arrays have a part in a fault.

What decides is a small launch in which the fault shows (`refute.witness`), with contents that say something against the
kernel and not against the data: ordinary ones, whatever the facts allow, or values that a person wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...contract import terms as t
from ...contract.facts.kept import bounded, joined, measures
from ...contract.terms import Term
from ...results.claim import Confirm
from ...results.codes import CONFLICTS
from ..case import Case, Open
from ..obligations.answers import Answer
from ..obligations.fact_instances import SPACING_TRIED, computed_addresses, data_facts, loaded_values, ordinary_data
from ..obligations.footprint_overlap import PreparedSite, place_terms
from ..obligations.obligations import Obligation, reached, within_index_spaces
from ..obligations.protocols import watched
from ..smt import Decider
from .rewritten import rewritten_arrays
from .turning_points import reaches
from .witness import FoundWitness, Search


@dataclass
class WitnessSearch:
    """Witnesses of what ``case`` left open, as ``confirm`` saw them.

    ``modeller``: a solver of its own, so that what was asked before does not change the models.
    """

    case: Case
    confirm: Confirm
    modeller: Decider

    def of(self, opened: Open) -> FoundWitness | None:
        """A confirmed witness, for ordinary data if the contents of arrays matter.

        Faults that odd contents cause are no refutation: a data fact, which only the user can add, may exclude them.
        Where ordinary data do not tell, the fault must show whatever the contract's facts let the arrays hold; unless a
        person wrote what the values lie between, and some of these values leave an array.
        """
        obligation = opened.obligation
        if self.case.unsized(obligation):
            opened = self.case.before_start(opened)
        data = tuple(ordinary_data(opened.conditions, self.case.origins))
        race = obligation.code in CONFLICTS
        varied = frozenset(loaded_values(opened.conditions))
        if race and computed_addresses(
            self._addresses(obligation), self.case.summary.loop_values, self._synchronised()
        ):
            rewritten = self._rewritten(obligation)
            if rewritten is None:
                return None
            varied |= rewritten
        elif not data or (race and self._decidable_with_far_data(opened)):
            doubted = joined(varied, self.case.launch.data) if data else frozenset()
            search = self._search_for(opened, data, frozenset(), doubted)
            found = self._run(search, opened)
            if found is not None or not data or not (search.candidate or self._idle_with_near_data(obligation)):
                return found
        if race and not self._shows_with_far_data(opened):
            return None
        if not race and data and varied <= self._promised_ranges():
            found = self._run(self._search_for(opened, (), frozenset()), opened)
            if found is not None:
                return found
        return self._run(self._search_for(opened, (), joined(varied, self.case.launch.data)), opened)

    def _run(self, search: Search, opened: Open) -> FoundWitness | None:
        found = search.run(self.confirm)
        opened.unknown = opened.unknown and not search.candidate
        return found

    def _search_for(
        self, opened: Open, data: tuple[Term, ...], varied: frozenset[str], doubted: frozenset[str] = frozenset()
    ) -> Search:
        """For a witness with ``data`` in ``doubted`` arrays, or whatever ``varied`` arrays hold."""
        obligation = opened.obligation
        sound = within_index_spaces(obligation, self.case.by_number)
        parts = self.case.parts
        conditions = (*opened.conditions, *parts.filled, *data, *(t.substitute(c, opened.eliminated) for c in sound))
        return Search(
            obligation, conditions, opened.eliminated, self.case.contract, self.case.launch, self.case.origins,
            self.modeller, varied, doubted, reaches(self._sides(obligation)), parts.limits if parts.has_limits else (),
        )  # fmt: skip

    def _promised_ranges(self) -> frozenset[str]:
        """The arrays of which a person wrote what their values lie between."""
        launch = self.case.launch
        written = tuple(fact for fact in launch.data if fact not in launch.observed)
        return frozenset(bounded(written)) if launch.origin == "written" else frozenset()

    def _synchronised(self) -> frozenset[str]:
        """The values of scoped accesses to arrays whose contents, when the launch begins, the contract gives."""
        given = {data.fact.array for data in self.case.contract.data}
        return frozenset(name for name, site in watched(self.case.sites).items() if site.origin.name in given)

    def _decidable_with_far_data(self, opened: Open) -> bool:
        far = ordinary_data(opened.conditions, self.case.origins, SPACING_TRIED)
        return self.case.decider.decide([*opened.conditions, *far]).answer is Answer.SATISFIABLE

    def _idle_with_near_data(self, obligation: Obligation) -> bool:
        """Whether nothing is learnt from values that count up: facts exclude them, or the kernel does nothing then."""
        work = [*reached(obligation, self.case.by_number, self.case.contract)]
        work += data_facts(work, self.case.contract, self.case.origins)
        near = ordinary_data(work, self.case.origins)
        return self.case.decider.decide([*work, *near]).answer is Answer.UNSATISFIABLE

    def _shows_with_far_data(self, opened: Open) -> bool:
        """Whether values that lie far apart make no difference, in those arrays whose facts let them.

        What only the sizes of this launch keep together tells nothing.
        """
        work = [*reached(opened.obligation, self.case.by_number, self.case.contract)]
        work += data_facts(work, self.case.contract, self.case.origins)
        far: set[str] = set()
        for array in sorted(loaded_values(work).keys() - measures(self.case.launch.data)):
            values = ordinary_data(work, self.case.origins, SPACING_TRIED, only=far | {array})
            if self.case.decider.decide([*work, *values]).answer is not Answer.UNSATISFIABLE:
                far.add(array)
            elif array not in bounded(self.case.launch.data):
                return False
        values = ordinary_data(opened.conditions, self.case.origins, SPACING_TRIED, only=far)
        return not far or self.case.decider.decide([*opened.conditions, *values]).answer is not Answer.UNSATISFIABLE

    def _rewritten(self, obligation: Obligation) -> frozenset[str] | None:
        """The arrays from which the addresses come through memory that the kernel writes (`rewritten`).

        Facts have to bound what they hold at first: how values far apart would do cannot be asked for these.
        """
        found = rewritten_arrays(self._addresses(obligation), [each.site for each in self.case.sites])
        if found is None or not found - self.case.summary.stable_arrays <= bounded(self.case.launch.data):
            return None
        return found

    def _sides(self, obligation: Obligation) -> Iterator[PreparedSite]:
        sites = (obligation.first, obligation.second)
        return (self.case.by_number[site.number] for site in sites if site is not None)

    def _addresses(self, obligation: Obligation) -> Iterator[Term]:
        for side in self._sides(obligation):
            yield from place_terms(side.place)
