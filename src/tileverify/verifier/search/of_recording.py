"""Kernels whose launch was recorded: which of the facts that held of its arrays a verdict needs.

Nobody vouches for what was observed, so a proof takes up as little of it as it can, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from ...contract.data_facts import arrays_of
from ...contract.launch import DataFact, LaunchSpec
from ...frontend.symbolic.summary import AccessSummary
from ...results import Verdict
from .. import messages
from ..attempt import Open, Outcome
from ..budgets import FIRST_LOOK
from ..obligations.answers import Limits
from ..obligations.fact_instances import loaded_values
from ..obligations.footprint_overlap import place_terms
from ..prover import Prover
from .clauses import Clause
from .fact_candidates import candidates
from .seen_facts import divided_by, first_contents, follow_from_observed, starts_of_counters

MOST_RELATED: Final = 2
"""Arrays that one fact can speak of."""


class Look(Protocol):
    """One verification of the kernel under a contract."""

    @property
    def prover(self) -> Prover:
        """Of the attempt, with the clauses that it added."""

    @property
    def left(self) -> Sequence[Open]:
        """The obligations that the attempt did not prove."""

    def attempt(self) -> Outcome | None:
        """The verdict, where it takes no witness: ``None`` if obligations stay open."""

    def explained(self) -> Outcome:
        """What stayed open, refuted by a witness or with the reason why it is undecided."""

    def choose(self, groups: Sequence[Sequence[DataFact]], clauses: Sequence[Clause] = ()) -> tuple[DataFact, ...]:
        """As few of the facts as close what stayed open, under more ``clauses``; none if that stays open."""


class Own(Protocol):
    """Verifications of the kernel under the launch's own contract."""

    def __call__(self, launch: LaunchSpec, hasty: Limits | None = None) -> Look:
        """``hasty``: limits of a look that need not be thorough, as more was recorded."""


class FirstSeen(NamedTuple):
    """``outcome``: the verdict, unless more is to be asked under ``facts``, some of those observed; ``clauses``: those
    that a proof added."""

    outcome: Outcome | None
    facts: tuple[DataFact, ...] = ()
    clauses: Sequence[Clause] = ()


def as_recorded(own: Own, summary: AccessSummary, launch: LaunchSpec) -> FirstSeen:
    """The verdict of a launch whose arrays were observed, or the facts that it takes.

    Without any of them, if that will do; else what counters began with, and, where that helps, what arrays held at
    first that the kernel stores to and loads from; else that, and as few others as close what is open, the weaker ones
    that follow from them first.  Where no choice does, contents that keep all of them may show a fault.
    """
    # What a recording saw is at hand: then a look without it need not be thorough.
    look, starts = own(launch, FIRST_LOOK), starts_of_counters(summary.sites, launch)
    if (outcome := look.attempt()) is not None:
        return FirstSeen(outcome, (), look.prover.clauses)
    if starts:
        look = own(_with(launch, starts), FIRST_LOOK)
        if (outcome := look.attempt()) is not None:
            return FirstSeen(outcome, starts, look.prover.clauses)
    if contents := first_contents(summary, launch):
        contents = tuple(dict.fromkeys((*starts, *contents)))
        filled = own(_with(launch, contents), FIRST_LOOK)
        if (outcome := filled.attempt()) is not None:
            return FirstSeen(outcome, contents, filled.prover.clauses)
        if len(filled.left) < len(look.left):
            look, starts = filled, contents
    weaker = [divided_by(summary, launch), *follow_from_observed(candidates(summary, launch), launch)]
    # What was observed itself speaks of numbers, so that a proof from it holds for fewer launches.
    facts = look.choose(weaker) or look.choose([launch.observed])
    if facts:
        return FirstSeen(None, (*starts, *facts))
    informed = own(_with(launch, launch.observed))
    found = informed.attempt() or informed.explained()
    if found.verdict is Verdict.PROVED:
        # It takes clauses that are found once facts are known.
        clauses = informed.prover.clauses
        facts = look.choose(weaker, clauses) or look.choose([launch.observed], clauses) or launch.observed
        return FirstSeen(None, tuple(dict.fromkeys((*starts, *facts))))
    if found.verdict is not Verdict.REFUTED or _of_three_arrays(informed.prover, found):
        return FirstSeen(None)
    return FirstSeen(_without_bystanders(informed.prover, found, launch))


def _of_three_arrays(prover: Prover, found: Outcome) -> bool:
    """Whether an address at fault is made of the contents of three arrays or more.

    Facts speak of one array, or of two: what was observed does not tell contents of three that belong together (ranks,
    counts and keys of a routing) from others, so that a fault in others shows nothing against the launch.
    """
    at_fault = _at_fault(found)
    addresses = (place_terms(each.place) for each in prover.kernel.sites if each.origin.name in at_fault)
    return any(len(loaded_values(terms)) > MOST_RELATED for terms in addresses)


def _without_bystanders(prover: Prover, found: Outcome, launch: LaunchSpec) -> Outcome:
    """The refutation with those observations alone whose arrays decide where, or whether, what is at fault goes."""
    at_fault = _at_fault(found)
    sites = [each for each in prover.kernel.sites if each.origin.name in at_fault]
    deciding = loaded_values(term for each in sites for term in (*place_terms(each.place), each.guard))
    kept = tuple(fact.text for fact in launch.observed if not deciding.keys().isdisjoint(arrays_of(fact)))
    left_out = {fact.text for fact in launch.observed}.difference(kept, (fact.text for fact in launch.data))
    return replace(
        found,
        assumes=tuple(text for text in found.assumes if text not in left_out),
        contract=tuple(text for text in found.contract if text not in left_out),
        observed=kept,
        notes=(*found.notes, messages.AS_OBSERVED),
    )


def _at_fault(found: Outcome) -> set[str]:
    return {site.array for finding in found.findings if finding.witness is not None for site in finding.sites}


def _with(launch: LaunchSpec, facts: Sequence[DataFact]) -> LaunchSpec:
    return replace(launch, data=(*launch.data, *facts))
