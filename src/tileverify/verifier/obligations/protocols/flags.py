"""Flags: arrays that blocks synchronise through by writing numbers that others wait for.

Source: Tile IR specification, memory model.  Where all that touches a location is scoped, covers all blocks and has one
size, nothing is torn: a read gives back what the location held at first, or what one write of the launch put there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....contract import terms as t
from ....contract.contract import Contract
from ....frontend.symbolic.summary import Access, Origin
from ....results.codes import TV
from ..footprint_overlap import PreparedSite, awaited, identity, meet
from ..obligations import Obligation
from .arrays import Asker, Initial, SideCondition, acquires, changers, initial_of, releases
from .instances import Point, before, own_instance, values_in


@dataclass(frozen=True, slots=True)
class Flag:
    """``writers``: all that may write the array; ``initial``: what its elements hold at first.

    ``above``: the side conditions for "every value that is written is ``initial.high`` or more".  ``turns``: those for
    "all writes release, and who writes u > initial.high has acquired u - 1 there before, and waited for it".  ``None``
    where that was not shown.
    """

    writers: tuple[PreparedSite, ...]
    initial: Initial
    above: tuple[SideCondition, ...] | None
    turns: tuple[SideCondition, ...] | None


def stores(prepared: PreparedSite) -> bool:
    """It puts its integer operand there, whatever was there before."""
    plain = prepared.site.access is Access.WRITE or prepared.site.mode == "xchg"
    return plain and prepared.site.argument is not None


def find_flag(
    origin: Origin,
    sites: Sequence[PreparedSite],
    watched: Mapping[str, PreparedSite],
    contract: Contract,
    ask: Asker,
    explained: Callable[[Obligation], Obligation],
) -> Flag | None:
    """``origin`` as a flag, if blocks only write it with scopes that cover the launch and its first contents are known.

    ``explained``: a question with what is known of its values.
    """
    writers = changers(origin, sites, contract)
    initial = initial_of(origin, sites, contract)
    if not writers or initial is None:
        return None
    analysis = _Analysis(writers, initial, watched, contract, ask, explained)
    if not all(map(stores, writers)):
        return Flag(writers, initial, None, None)
    return Flag(writers, initial, analysis.all(analysis.below()), analysis.turns())


@dataclass
class _Analysis:
    writers: tuple[PreparedSite, ...]
    initial: Initial
    watched: Mapping[str, PreparedSite]
    contract: Contract
    ask: Asker
    explained: Callable[[Obligation], Obligation]

    def below(self) -> Iterator[Obligation]:
        for write in self.writers:
            assert write.site.argument is not None
            conditions = write.guard, t.lt(write.site.argument, self.initial.high)
            yield Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, write.site)

    def turns(self) -> tuple[SideCondition, ...] | None:
        return self.all(self._out_of_turn()) if all(map(releases, self.writers)) else None

    def _out_of_turn(self) -> Iterator[Obligation]:
        for write in self.writers:
            assert write.site.argument is not None
            previous = t.sub(write.site.argument, t.ONE)
            seen = values_in((write.guard, write.site.argument), self.watched, {"": identity})[""]
            point, here = Point.at(write.site, identity), own_instance(write, identity).here
            acquired = (
                t.and_(
                    before(each, point),
                    awaited(each.origin, by=write, own=each, other=identity),
                    meet(each.here, here, self.contract, lanes_matter=True),
                    t.eq(each.value, previous),
                )
                for each in seen
                if acquires(each.origin)
            )
            conditions = (write.guard, t.lt(self.initial.high, write.site.argument), t.not_(t.or_(*acquired)))
            yield Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, write.site)

    def all(self, questions: Iterator[Obligation]) -> tuple[SideCondition, ...] | None:
        """The side conditions if none of ``questions`` can hold."""
        side_conditions: list[SideCondition] = []
        for question in map(self.explained, questions):
            found = self.ask.refuses(*question.conditions)
            if found is None:
                return None
            side_conditions += [*question.side_conditions, *([found] if found else [])]
        return tuple(side_conditions)
