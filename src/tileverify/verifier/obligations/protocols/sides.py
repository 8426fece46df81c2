"""The blocks of a question, what each reaches, and the executions whose values the question mentions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ....contract import terms as t
from ....contract.terms import Term
from ..footprint_overlap import PreparedSite, identity
from ..obligations import Obligation
from ..two_blocks import OTHER, CopyLevel, Renaming, Second
from .ground import Ground
from .instances import Instance, Point, before, entered, values_in

Fact: TypeAlias = tuple[Term, tuple[Ground, ...]]
"""A condition and what it rests on."""


@dataclass(frozen=True, slots=True)
class BlockSide:
    """One block: ``rename`` gives its terms; ``points`` are the accesses that it reaches."""

    rename: Renaming
    points: tuple[Point, ...]
    seen: tuple[Instance, ...]

    def happened(self, instance: Instance) -> Term:
        return t.or_(*(before(instance, point) for point in self.points))

    def entered(self) -> Iterator[Term]:
        return (fact for seen in self.seen for point in self.points for fact in entered(seen, point))


def sides_of(obligation: Obligation, watched: Mapping[str, PreparedSite]) -> tuple[BlockSide, ...]:
    """Two sides for an obligation between blocks, else one."""
    item = obligation.first or obligation.promise
    assert item is not None
    blocks: dict[str, Renaming] = {"": identity}
    points = {"": [Point.at(item, identity)]}
    if obligation.second is not None:
        copy = Second(obligation.level, OTHER)
        if obligation.level == CopyLevel.BLOCK:
            blocks[OTHER], points[OTHER] = copy, []
        points[OTHER if obligation.level == CopyLevel.BLOCK else ""].append(Point.at(obligation.second, copy))
    found = values_in(obligation.conditions, watched, blocks)
    return tuple(BlockSide(rename, tuple(points[mark]), found[mark]) for mark, rename in blocks.items())
