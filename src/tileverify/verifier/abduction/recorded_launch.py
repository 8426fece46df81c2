"""Recorded launches: the choice of observed data facts that a verdict needs.

No one guarantees observed facts, so a proof assumes as few as possible and lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from ...contract import terms as t
from ...contract.expressions import Undefined, constant_value, evaluate, numbers_of
from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.facts.statements import NumberedFact
from ...contract.facts.weaker import follows as says_no_more
from ...contract.launch import DataFact, Expression, LaunchSpec
from ...contract.terms import TermKind
from ...frontend.symbolic.summary import AccessSummary, OriginKind, Site
from ...results import Verdict
from .. import messages
from ..attempt import Open, Outcome
from ..budgets import FIRST_LOOK
from ..obligations.answers import Limits
from ..obligations.fact_use import loaded_values
from ..obligations.footprint_overlap import place_terms
from ..obligations.layout import place
from ..obligations.prepare import read_back_arrays
from ..prover import Prover
from .clauses import Clause
from .fact_candidates import candidates

MOST_RELATED: Final = 2
"""The most arrays that one fact relates."""


class Look(Protocol):
    """One verification of the kernel under a contract."""

    @property
    def prover(self) -> Prover:
        """Of the attempt, with the clauses that it added."""

    @property
    def left(self) -> Sequence[Open]:
        """The obligations that the attempt did not prove."""

    def attempt(self) -> Outcome | None:
        """The verdict, if it needs no witness; ``None`` if obligations stay open."""

    def explained(self) -> Outcome:
        """The verdict on open obligations: refuted by a witness, or undecided with a reason."""

    def choose(self, groups: Sequence[Sequence[DataFact]], clauses: Sequence[Clause] = ()) -> tuple[DataFact, ...]:
        """A minimal choice of facts that closes all of ``left`` under more ``clauses``; empty if none does."""


class Own(Protocol):
    """Verifications of the kernel under the launch's own contract."""

    def __call__(self, launch: LaunchSpec, quick: Limits | None = None) -> Look:
        """``quick``: limits of a quick pass; later passes add recorded facts."""


class FirstSeen(NamedTuple):
    """``outcome``: the verdict, or ``None`` if later stages must decide.  ``facts``: observed facts to assume.

    ``clauses``: added by the proof.
    """

    outcome: Outcome | None
    facts: tuple[DataFact, ...] = ()
    clauses: Sequence[Clause] = ()


def as_recorded(own: Own, summary: AccessSummary, launch: LaunchSpec) -> FirstSeen:
    """The verdict of a launch with observed arrays, or the facts that its proof needs.

    In this order, until a proof succeeds:

    1. no observed fact,
    2. the first values of counters,
    3. if it helps, the first contents of arrays that the kernel stores to and loads from,
    4. these and a minimal choice of other facts; weaker facts that follow from the observed ones come first,
    5. all observed facts: contents that satisfy them may show a fault.
    """
    # Observed facts are available, so the pass without them is quick.
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
    # Observed facts contain numbers: a proof from them holds for fewer launches.
    facts = look.choose(weaker) or look.choose([launch.observed])
    if facts:
        return FirstSeen(None, (*starts, *facts))
    informed = own(_with(launch, launch.observed))
    found = informed.attempt() or informed.explained()
    if found.verdict is Verdict.PROVED:
        # The proof needs clauses that can be found only under facts.
        clauses = informed.prover.clauses
        facts = look.choose(weaker, clauses) or look.choose([launch.observed], clauses) or launch.observed
        return FirstSeen(None, tuple(dict.fromkeys((*starts, *facts))))
    if found.verdict is not Verdict.REFUTED or _of_three_arrays(informed.prover, found):
        return FirstSeen(None)
    return FirstSeen(_without_bystanders(informed.prover, found, launch))


def _of_three_arrays(prover: Prover, found: Outcome) -> bool:
    """Whether an address at fault depends on the contents of three arrays or more.

    A fact relates at most two arrays.  So sampled contents of three (ranks, counts and keys of a routing) may not fit
    together.  A fault with such contents does not count against the launch.
    """
    at_fault = _at_fault(found)
    addresses = (place_terms(each.place) for each in prover.kernel.sites if each.origin.name in at_fault)
    return any(len(loaded_values(terms)) > MOST_RELATED for terms in addresses)


def _without_bystanders(prover: Prover, found: Outcome, launch: LaunchSpec) -> Outcome:
    """The refutation without the observed facts on arrays that decide neither address nor guard of the fault."""
    at_fault = _at_fault(found)
    sites = [each for each in prover.kernel.sites if each.origin.name in at_fault]
    deciding = loaded_values(term for each in sites for term in (*place_terms(each.place), each.guard))
    kept = tuple(fact.text for fact in launch.observed if not deciding.keys().isdisjoint(fact.arrays))
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


# ------------------------------------------------------------------------------------------------------- observed facts
# The facts that follow from a recording of a launch's index arrays.
#
# A recording notes the strongest facts that held of the contents, in numbers: ``range(pos, 0, 512)``.  A proof for
# other launches needs a weaker fact with names: ``range(pos, 0, cache.shape[0])``.  It follows if the recorded launch
# had at least 512 rows.


_QUOTIENTS = (TermKind.DIV, TermKind.TDIV, TermKind.MOD)


def follow_from_observed(groups: Iterable[Iterable[DataFact]], launch: LaunchSpec) -> list[list[DataFact]]:
    """The facts, group by group, that follow from the observed facts of ``launch`` with its numbers as sizes."""
    numbers = numbers_of(launch)
    return [[fact for fact in group if follows(fact, launch.observed, numbers)] for group in groups]


def starts_of_counters(sites: Iterable[Site], launch: LaunchSpec) -> tuple[DataFact, ...]:
    """The observed first values of counters, tickets and locks.

    No address depends on them, so a search from addresses never finds facts on them.
    """
    scoped = {site.origin.name for site in sites if site.atomic and site.origin.kind is OriginKind.PARAMETER}
    return tuple(fact for fact in launch.observed if fact.array in scoped and subject_of(fact) is Subject.LIMITS)


def first_contents(summary: AccessSummary, launch: LaunchSpec) -> tuple[DataFact, ...]:
    """The observed ranges of arrays to which the kernel stores integers and from which it loads them again.

    The first contents bound the values of such loads.
    """
    names = read_back_arrays(summary)
    return tuple(fact for fact in launch.observed if fact.array in names and subject_of(fact) is Subject.LIMITS)


def divided_by(summary: AccessSummary, launch: LaunchSpec) -> list[DataFact]:
    """The observed ranges of one-element arrays that occur in a divisor.

    Such an element is a scalar of the launch, passed by address: the number of tiles to share out, say.  The other
    scalars of the launch are numbers.  Weaker facts would leave quotients by a variable.
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
    """Whether ``fact``, with the launch's ``numbers`` for its names, follows from one of the ``observed``."""

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
