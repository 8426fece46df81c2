"""Protocols between tile blocks (tickets, counters, flags, turns, locks), and what they add to a question.

They add facts about values that scoped accesses gave back, and orders of blocks.

A question "can this obligation break?" speaks of one execution of the launch in which its accesses take place.  What
is added here holds in every such execution in which the obligation *is* broken, so nothing broken is lost:

* values: bounds and tickets of `counters`, what flags can hold (`locks`), what exchanges find (`order`), and what plain
  loads give of what their own block stores (`read_back`), which is no synchronisation, but known in the same way;
* order: if two blocks race, neither access happens before the other (`order`, with `phases`, and `locks`).

A fact may rest on side conditions, questions of their own.  They become part of the obligation, so that certificates
hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakMethod

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term
from ....frontend.symbolic.summary import LoopValue, Origin, Site
from ..answers import SolverProtocol
from ..fact_use import FactUse, data_facts
from ..footprint_overlap import CopyLevel, PreparedSite, Renaming
from ..obligations import Obligation
from .counters import Counter, find_counter
from .instances import Asker, BlockSide, Fact, LoopHistory, SideCondition, blocks_of, covers, sides_of, watched
from .locks import Flag, Locks, find_flag
from .order import Orders, bounds, contents, exchanges, tickets
from .phases import Phases, PhaseSearch
from .read_back import ReadBack

__all__ = [
    "Protocols",
    "watched",
]


@dataclass
class Protocols:
    """The synchronisation of one kernel under one contract; what a question does not need is never looked at.

    ``origins``, ``loop_values``: what pointers are derived from and what loops carry, in terms of the contract.
    """

    sites: Sequence[PreparedSite]
    contract: Contract
    solver: SolverProtocol
    origins: Mapping[str, Origin]
    loop_values: Iterable[LoopValue] = ()
    ask: Asker = field(init=False)
    watched: dict[str, PreparedSite] = field(init=False)
    history: LoopHistory = field(init=False)
    _by_number: dict[int, PreparedSite] = field(init=False)
    _locks: Locks = field(init=False)
    _read_back: ReadBack = field(init=False)
    _counters: dict[str, Counter | None] = field(default_factory=dict)
    _flags: dict[str, Flag | None] = field(default_factory=dict)
    _phases: dict[str, tuple[Phases, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ask = Asker(self.solver)
        self.watched = watched(self.sites)
        self.history = LoopHistory.of(self.loop_values, self.watched)
        self._by_number = {prepared.site.number: prepared for prepared in self.sites}
        self._locks = Locks(
            self.sites, self.watched, self.history, self.contract, self.ask, WeakMethod(self.with_values)
        )
        self._read_back = ReadBack(self.sites, self.contract, FactUse(self.contract), self.origins, self.ask)

    def explained(self, obligation: Obligation) -> Obligation:
        """``obligation`` with all that synchronisation says about it."""
        if obligation.blocked is not None:
            return obligation
        obligation = _extended(obligation, self._found_by_loads(obligation), ())
        if not self.watched:
            return obligation
        obligation = _knowing(obligation, self.history.turns)
        sides = sides_of(obligation, self.watched)
        facts = [*self._values(sides)]
        if obligation.level == CopyLevel.BLOCK and obligation.first is not None and obligation.second is not None:
            first, second = self.prepared(obligation.first), self.prepared(obligation.second)
            # Made anew, as it knows this one: together they would live until Python searches for cycles.
            orders = Orders(
                self.contract, self.ask, self.counter, self.flag, self.phases, self.watched, self.with_values
            )
            facts += orders.facts(first, second, *sides)
            facts += self._locks.facts(first, second, sides[1].rename)
        return _knowing(_extended(obligation, facts, sides), self.history.rounds)

    def with_values(self, question: Obligation) -> Obligation:
        """The same for a side question: only what is known of values."""
        question = _extended(question, self._found_by_loads(question), ())
        question = _knowing(question, self.history.turns)
        sides = sides_of(question, self.watched)
        return _knowing(_extended(question, self._values(sides), sides), self.history.rounds)

    def _found_by_loads(self, question: Obligation) -> Iterable[Fact]:
        loads = self._read_back.loads
        return self._read_back.facts(sides_of(question, loads)) if loads else ()

    def _values(self, sides: Sequence[BlockSide]) -> Iterable[Fact]:
        yield from bounds(sides, self.counter, self.contract)
        yield from tickets(sides, self.counter, self.contract)
        yield from contents(sides, self.flag, self.contract)
        yield from exchanges(sides, self.flag, self.contract)

    def prepared(self, site: Site) -> PreparedSite:
        """The site as the contract makes it."""
        return self._by_number[site.number]

    # ------------------------------------------------------------------------------------------- arrays
    def counter(self, prepared: PreparedSite) -> Counter | None:
        """The counter that ``prepared`` accesses with a scope that covers the launch, if it is one."""
        key = _shared(prepared)
        if key is not None and key not in self._counters:
            self._counters[key] = None  # what is asked meanwhile does without
            self._counters[key] = find_counter(
                prepared.origin, self.sites, self.contract, self.ask, self._data, self.with_values
            )
        return None if key is None else self._counters[key]

    def phases(self, prepared: PreparedSite) -> tuple[Phases, ...]:
        """The phases in which the counter that ``prepared`` accesses is added to."""
        key, counter = _shared(prepared), self.counter(prepared)
        if key is None or counter is None:
            return ()
        if key not in self._phases:
            self._phases[key] = ()
            self._phases[key] = PhaseSearch(self.watched, self.contract, self.ask, self.with_values).phases(counter)
        return self._phases[key]

    def _data(self, question: SideCondition) -> Iterable[Term]:
        return data_facts(question, self.contract, self.origins)

    def flag(self, prepared: PreparedSite) -> Flag | None:
        """The flag that ``prepared`` accesses with a scope that covers the launch, if it is one."""
        key = _shared(prepared)
        if key is not None and key not in self._flags:
            self._flags[key] = None
            self._flags[key] = find_flag(
                prepared.origin, self.sites, self.watched, self.contract, self.ask, self.with_values
            )
        return None if key is None else self._flags[key]


def _shared(prepared: PreparedSite) -> str | None:
    """A name for the array, if ``prepared`` accesses whole elements of it for all blocks to see."""
    origin = prepared.origin
    if not covers(prepared) or prepared.site.footprint.element_bytes != origin.element_bytes:
        return None
    return f"{origin.kind.value} {origin.name}"


def _knowing(
    question: Obligation, about: Callable[[Iterable[Term], Mapping[str, Renaming]], tuple[Term, ...]]
) -> Obligation:
    known = about(question.conditions, blocks_of(question))
    return replace(question, conditions=(*question.conditions, *known)) if known else question


def _extended(obligation: Obligation, facts: Iterable[Fact], sides: Sequence[BlockSide]) -> Obligation:
    known: dict[Term, None] = {}
    side_conditions: dict[SideCondition, None] = dict.fromkeys(obligation.side_conditions)
    for fact, reasons in facts:
        if fact is not t.TRUE:
            known[fact] = None
            side_conditions.update(dict.fromkeys(reasons))
    if not known:
        return obligation
    known.update((fact, None) for side in sides for fact in side.entered())
    return replace(obligation, conditions=(*obligation.conditions, *known), side_conditions=tuple(side_conditions))
