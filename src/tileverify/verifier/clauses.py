"""Clauses that the tool may add to a contract: only over launch-known quantities, and each proved sufficient.

Two kinds so far: a promise to the compiler that speaks of the launch alone (``assume div_by`` on a size), and the
grid of a launch for which the user gave none (``grid.y == 1`` for an axis that the kernel ignores, ``grid.x <=
tiles`` for an axis that is a tile index).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import BID, GRID, Promise, ViewFootprint
from ..frontend.symbolic.terms import Scope, Term
from .obligations import Obligation


@dataclass(frozen=True, slots=True)
class Clause:
    """``condition`` over launch variables and its text in the spec's language."""

    condition: Term
    text: str


def promise_clause(promise: Promise) -> Clause | None:
    """A launch-only promise as a clause under its own path condition (never hoisted out of it)."""
    condition = t.implies(promise.guard, promise.condition)
    if not launch_only(condition):
        return None
    return Clause(condition, t.render(condition))


def grid_clauses(obligation: Obligation) -> Iterator[Clause]:
    """Candidates for a launch without a grid, weakest first."""
    site = obligation.first
    if obligation.code == "TV301" and site is not None and isinstance(site.footprint, ViewFootprint):
        for index, space in zip(site.footprint.index, site.footprint.index_space, strict=True):
            if index in BID and space is not None:
                condition = t.le(GRID[BID.index(index)], space)
                yield Clause(condition, t.render(condition))
    for axis in (2, 1, 0):
        condition = t.eq(GRID[axis], t.ONE)
        yield Clause(condition, f"grid.{'xyz'[axis]} == 1")


def launch_only(term: Term) -> bool:
    return all(leaf.payload.scope is Scope.LAUNCH for leaf in term.free)
