"""Kernels whose launch was recorded: which of the facts that held of its arrays a verdict needs.

Nobody vouches for what was observed, so a proof takes up as little of it as it can, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from ...contract import terms as t
from ...contract.data_facts import arrays_of
from ...contract.expressions import constant_value, evaluate
from ...contract.facts.form import Subject
from ...contract.facts.kinds import meaning_of, subject_of
from ...contract.facts.statements import NumberedFact
from ...contract.launch import DataFact, Expression, LaunchSpec
from ...contract.numbers import numbers_of
from ...contract.operators import Undefined
from ...contract.terms import TermKind
from ...frontend.symbolic.summary import AccessSummary, OriginKind, Site
from ...results import Verdict
from .. import messages
from ..attempt import Open, Outcome
from ..budgets import FIRST_LOOK
from ..obligations.answers import Limits
from ..obligations.fact_instances import loaded_values
from ..obligations.footprint_overlap import place_terms
from ..obligations.layout import place
from ..obligations.prepare import read_back_arrays
from ..prover import Prover
from .clauses import Clause
from .fact_candidates import candidates

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


# ----------------------------------------------------------------------------------------------------------- seen facts
# Which facts follow from what a recording saw of a launch's index arrays.
#
# A recording notes the strongest facts that held of the contents, in numbers: ``range(pos, 0, 512)``.  A proof for
# other launches needs weaker ones with names, ``range(pos, 0, cache.shape[0])``; it follows if the recorded launch had
# at least 512 rows.


_QUOTIENTS = (TermKind.DIV, TermKind.TDIV, TermKind.MOD)


def follow_from_observed(groups: Iterable[Iterable[DataFact]], launch: LaunchSpec) -> list[list[DataFact]]:
    """The facts, group by group, that follow from what was observed of ``launch``, as far as its sizes are numbers."""
    numbers = numbers_of(launch)
    return [[fact for fact in group if follows(fact, launch.observed, numbers)] for group in groups]


def starts_of_counters(sites: Iterable[Site], launch: LaunchSpec) -> tuple[DataFact, ...]:
    """What was observed of the values that counters, tickets and locks begin with: no access goes where they say, so
    that nobody finds facts about them by looking at that."""
    scoped = {site.origin.name for site in sites if site.atomic and site.origin.kind is OriginKind.PARAMETER}
    return tuple(fact for fact in launch.observed if fact.array in scoped and subject_of(fact) is Subject.LIMITS)


def first_contents(summary: AccessSummary, launch: LaunchSpec) -> tuple[DataFact, ...]:
    """What was observed of arrays that the kernel stores integers to and loads them from again: what such a load gives
    is bounded by what was there at first."""
    names = read_back_arrays(summary)
    return tuple(fact for fact in launch.observed if fact.array in names and subject_of(fact) is Subject.LIMITS)


def divided_by(summary: AccessSummary, launch: LaunchSpec) -> list[DataFact]:
    """What was observed of arrays with one element that the kernel divides by something made of.

    Such an element is a scalar of the launch, handed over by its address (how many tiles there are to share out), and
    the launch's scalars are numbers.  Facts that leave it open leave quotients by a variable.
    """
    alone = {array.name for array in launch.arrays() if all(constant_value(size) == 1 for size in array.shape)}
    fixed = [fact for fact in launch.observed if fact.array in alone and subject_of(fact) is Subject.LIMITS]
    if not fixed:
        return []
    terms = [each for site in summary.sites for each in (site.guard, *place_terms(place(site)))]
    divisors = {part.args[1] for term in terms for part in t.postorder(term) if part.kind in _QUOTIENTS}
    names = loaded_values(divisors).keys()
    return [fact for fact in fixed if fact.array in names]


def follows(fact: DataFact, observed: Iterable[DataFact], numbers: Mapping[str, int]) -> bool:
    """Whether ``fact``, with the launch's ``numbers`` for its names, says no more than one of the ``observed``."""

    def number(expression: Expression) -> int:
        return evaluate(expression, numbers)

    try:
        wanted = NumberedFact.evaluated(fact, number)
        return any(
            (seen.array, seen.other) == (fact.array, fact.other)
            and meaning_of(fact).follows(wanted, NumberedFact.evaluated(seen, number))
            for seen in observed
        )
    except (KeyError, Undefined):
        return False
