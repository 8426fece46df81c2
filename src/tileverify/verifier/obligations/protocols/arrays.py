"""Arrays that blocks synchronise through: who writes them, with what scope, and what they hold at first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ....contract.contract import Contract
from ....contract.element_types import INT_BITS
from ....contract.facts.form import Subject
from ....contract.facts.kinds import subject_of
from ....contract.terms import FALSE, ONE, Term, TermKind, and_, neg, sub
from ....frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ....frontend.symbolic.summary import Access, Origin, OriginKind
from ..answers import Answer, Decides
from ..fact_instances import in_a_row
from ..footprint_overlap import PreparedSite, may_share
from ..layout import IndexFootprint

COVERING: Final = frozenset({MemoryScope.DEVICE, MemoryScope.SYSTEM})
"""Scopes that include every block of the launch."""
ACQUIRES: Final = frozenset({MemoryOrdering.ACQUIRE, MemoryOrdering.ACQ_REL})
RELEASES: Final = frozenset({MemoryOrdering.RELEASE, MemoryOrdering.ACQ_REL})
_NEUTRAL: Final = {"add": 0, "or": 0, "xor": 0, "and": -1}
"""The operand with which an atomic changes nothing."""


@dataclass(frozen=True, slots=True)
class Initial:
    """What a data fact of the contract says of the contents when the launch begins: ``low <= v0 < high``."""

    low: Term
    high: Term

    def farthest(self, sign: int) -> Term:
        """The greatest that ``sign * v0`` can be."""
        return sub(self.high, ONE) if sign > 0 else neg(self.low)


def covers(prepared: PreparedSite) -> bool:
    """Its scope includes every block: with another such access it is morally strong."""
    return prepared.site.scope in COVERING


def acquires(prepared: PreparedSite) -> bool:
    return covers(prepared) and prepared.site.ordering in ACQUIRES


def releases(prepared: PreparedSite) -> bool:
    return covers(prepared) and prepared.site.ordering in RELEASES


def element_writers(
    origin: Origin, sites: Sequence[PreparedSite], contract: Contract
) -> tuple[PreparedSite, ...] | None:
    """All that may write the memory of ``origin``, if each writes whole elements through it, with whatever scope.

    Elements then are either the same or share no byte, as accesses are aligned (TV302).  Multicast accesses reach the
    memory of other devices as well and are left out.
    """
    if origin.kind not in (OriginKind.PARAMETER, OriginKind.GLOBAL):
        return None
    writers = tuple(each for each in sites if each.site.writes and may_share(each.origin, origin, contract))
    for each in writers:
        same = each.origin.name == origin.name and each.origin.kind is origin.kind
        if each.site.op.startswith("multimem") or not same:
            return None
        if each.site.footprint.element_bytes != origin.element_bytes:
            return None
    return writers


def only_writers(origin: Origin, sites: Sequence[PreparedSite], contract: Contract) -> tuple[PreparedSite, ...] | None:
    """The same, if each covers all blocks."""
    writers = element_writers(origin, sites, contract)
    return None if writers is None or not all(map(covers, writers)) else writers


def changers(origin: Origin, sites: Sequence[PreparedSite], contract: Contract) -> tuple[PreparedSite, ...] | None:
    """`only_writers` without those that put back what they read, as a wait by ``atomic_add(flag, 0)`` does.

    Such a read-modify-write leaves every value where it is and goes on with the release sequence that it reads from
    (Tile IR specification, memory model): who reads what it wrote synchronises with whoever put the value there.
    """
    writers = only_writers(origin, sites, contract)
    return None if writers is None else tuple(each for each in writers if not puts_back(each))


def puts_back(prepared: PreparedSite) -> bool:
    """It changes nothing: an atomic whose operand is neutral."""
    site = prepared.site
    if site.access is not Access.ATOMIC or site.argument is None or site.argument.kind is not TermKind.CONST:
        return False
    return site.argument.value == _NEUTRAL.get(site.mode or "")


def initial_of(origin: Origin, sites: Sequence[PreparedSite], contract: Contract) -> Initial | None:
    """The range of the elements of ``origin``, as integers in their signed reading.

    An unsigned range is the same in both readings if it stays below half of the type.
    """
    array = contract.arrays.get(origin.name)
    if origin.kind is not OriginKind.PARAMETER or array is None:
        return None
    if INT_BITS.get(array.dtype) != 8 * origin.element_bytes:
        return None
    counted = (isinstance(each.place, IndexFootprint) for each in sites if each.origin.name == origin.name)
    if not all(counted) and in_a_row(array, contract) is None:
        return None  # perhaps between two elements, of which no fact speaks
    for data in contract.data:
        if subject_of(data) is Subject.LIMITS and data.fact.array == origin.name and not data.fact.unless:
            assert data.low is not None
            assert data.high is not None
            alike = _within(data.low, data.high, 1 << (8 * origin.element_bytes - 1))
            return Initial(data.low, data.high) if alike or array.dtype[0] == "i" else None
    return None


def _within(low: Term, high: Term, most: int) -> bool:
    return low.low is not None and low.low >= 0 and high.high is not None and high.high <= most


# --------------------------------------------------------------------------------------------------------------- ground
# Side questions: what a rule about protocols must know of a kernel before it may be used.


SideCondition: TypeAlias = tuple[Term, ...]
"""Conditions that were shown to contradict what every launch satisfies."""


@dataclass
class Asker:
    """Asks each question once; `side_conditions` of a certificate's walk ask them again of whoever answers there."""

    decider: Decides
    _known: dict[frozenset[Term], bool] = field(default_factory=dict)

    def refuses(self, *conditions: Term) -> SideCondition | None:
        """The conditions, if they cannot hold together; an empty ground where that is plain."""
        whole = and_(*conditions)
        if whole is FALSE:
            return ()
        key = frozenset(conditions)
        if key not in self._known:
            self._known[key] = self.decider.decide(conditions).answer is Answer.UNSATISFIABLE
        return conditions if self._known[key] else None

    def refuses_all(self, questions: Iterable[SideCondition]) -> tuple[SideCondition, ...] | None:
        """The side conditions of all ``questions``; ``None`` as soon as one of them may hold."""
        side_conditions = []
        for question in questions:
            ground = self.refuses(*question)
            if ground is None:
                return None
            side_conditions += [ground] if ground else []
        return tuple(side_conditions)
