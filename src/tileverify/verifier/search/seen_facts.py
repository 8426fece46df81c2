"""Which facts follow from what a recording saw of a launch's index arrays.

A recording notes the strongest facts that held of the contents, in numbers: ``range(pos, 0, 512)``.  A proof for other
launches needs weaker ones with names, ``range(pos, 0, cache.shape[0])``; it follows if the recorded launch had at least
512 rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...contract import terms as t
from ...contract.expressions import constant_value, evaluate
from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.facts.statements import NumberedFact
from ...contract.facts.weaker import follows as says_no_more
from ...contract.launch import DataFact, Expression, LaunchSpec
from ...contract.numbers import numbers_of
from ...contract.operators import Undefined
from ...contract.terms import TermKind
from ...frontend.symbolic.summary import AccessSummary, OriginKind, Site
from ..obligations.fact_instances import loaded_values
from ..obligations.footprint_overlap import place_terms
from ..obligations.layout import place
from ..obligations.prepare import read_back_arrays

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
            seen.arrays == fact.arrays and says_no_more(wanted, NumberedFact.evaluated(seen, number))
            for seen in observed
        )
    except (KeyError, Undefined):
        return False
