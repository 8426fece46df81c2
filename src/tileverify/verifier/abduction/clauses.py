"""Clauses that the tool may add to a contract: only over launch-known quantities, and each proved sufficient.

Two kinds so far: an obligation that speaks of the launch alone (``assume div_by`` on a size, an index that is an
argument), and the grid of a launch for which the user gave none (``grid.y == 1`` for an axis that the kernel
does not read, ``grid.x <= tiles`` for an axis that is a tile index).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...contract import terms as t
from ...contract.terms import Scope, Term, TermKind
from ...contract.variables import BID, GRID
from ...contract.wording import clause_text
from ...frontend.symbolic.summary import OriginKind, Site, ViewFootprint
from ...results.codes import TV
from ..obligations.fact_use import FactUse, for_every_array
from ..obligations.footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy
from ..obligations.obligations import Obligation

LAST_BLOCK = {bid: t.sub(axis, t.ONE) for bid, axis in zip(BID, GRID, strict=True)}
"""The block ids of a grid's last block."""

LONGEST = 200
"""Characters of a clause that people can still read."""
_WRAPPED = re.compile(r"% 2 \*\* (32|64)\b")


@dataclass(frozen=True, slots=True)
class Clause:
    """``condition`` over launch variables and its text in the spec's language."""

    condition: Term
    text: str


def launch_clause(obligation: Obligation, conditions: tuple[Term, ...], use: FactUse) -> Iterator[Clause]:
    """An obligation that speaks of the launch alone is itself the clause, path condition included (never hoisted
    out of it: that would reject launches that are fine).  So is what the compiler was promised of the arrays of a
    list."""
    if conditions and all(map(launch_only, conditions)):
        yield from spoken(t.not_(t.and_(*conditions)))
    elif obligation.code == TV.ASSUME_PROMISE:
        of_each = for_every_array(conditions, use.contract, list(use.of_arrays(conditions)))
        yield from () if of_each is None else spoken(of_each)


def index_space_clauses(obligation: Obligation) -> Iterator[Clause]:
    """No more blocks than tiles, along an axis of the grid that is a tile index."""
    site = obligation.first
    if obligation.code == TV.TILE_OUT_OF_INDEX_SPACE and site is not None and isinstance(site.footprint, ViewFootprint):
        for index, space in zip(site.footprint.index, site.footprint.index_space, strict=True):
            if index in BID and space is not None:
                yield from spoken(t.le(GRID[BID.index(index)], space))


def ignored_axes(read: frozenset[int]) -> Iterator[Clause]:
    """``grid.y == 1`` where the kernel does not read the number of a block along y: two blocks that differ in it alone
    do the same thing, so that whatever one of them writes, the other writes as well."""
    yield from (_single(axis) for axis in (2, 1, 0) if axis not in read)


def writes_for_all(sites: Iterable[PreparedSite]) -> bool:
    """Whether the kernel writes what other blocks can see, and not by atomics, which several blocks may do."""
    return any(each.site.writes and not each.site.atomic and is_seen(each.site) for each in sites)


def is_seen(site: Site) -> bool:
    """Whether other blocks, or whoever launched the kernel, can see what the access does."""
    return site.origin.kind not in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)


def fitting_clauses(terms: Iterable[Term]) -> Iterator[Clause]:
    """What the kernel computes from the launch alone, number of tiles and the like, does not leave its integer type."""
    seen: set[Term] = set()
    for term in terms:
        for sub in t.postorder(term):
            if sub.kind is TermKind.WRAP and sub not in seen and launch_only(sub):
                seen.add(sub)
                half = t.const(1 << (sub.payload - 1))
                yield from spoken(t.and_(t.le(t.neg(half), sub.args[0]), t.lt(sub.args[0], half)))


def last_block_clauses(sites: Iterable[PreparedSite]) -> Iterator[Clause]:
    """What every block does, the last one does within its index space (TV301): necessary, and often enough."""
    for each in sites:
        footprint = each.site.footprint
        if isinstance(footprint, ViewFootprint) and each.guard is t.TRUE:
            for index, space in zip(footprint.index, footprint.index_space, strict=True):
                if space is not None:
                    inside = t.lt(t.substitute(index, LAST_BLOCK), space)
                    if launch_only(inside):
                        yield from spoken(inside)


def spoken(condition: Term) -> Iterator[Clause]:
    """The clause, unless it says nothing, or nobody could check it at a launch, or it speaks of how integers wrap: a
    launch that keeps such a clause may be any."""
    text = None if condition is t.TRUE else clause_text(condition)
    if text is not None and len(text) <= LONGEST and not _WRAPPED.search(text):
        yield Clause(condition, text)


def _single(axis: int) -> Clause:
    return Clause(t.eq(GRID[axis], t.ONE), f"grid.{'xyz'[axis]} == 1")


def as_equalities(chosen: Sequence[Term]) -> list[Term]:
    """The conditions with one in place of two:  ``a <= b`` and ``b <= a``  iff  ``a == b``."""
    found: dict[Term, None] = {}
    for term in chosen:
        both = term.kind is TermKind.LE and t.le(term.args[1], term.args[0]) in chosen
        found[t.eq(*term.args) if both else term] = None
    return list(found)


def fixed(clause: Clause) -> Iterator[tuple[Term, Term]]:
    """What a clause makes a constant: an axis of one block, and the number of that block in both copies."""
    for bid, axis in zip(BID, GRID, strict=True):
        if clause.condition is t.eq(axis, t.ONE):
            yield axis, t.ONE
            yield bid, t.ZERO
            yield PrimedCopy(CopyLevel.BLOCK, PRIME)(bid), t.ZERO


def launch_only(term: Term) -> bool:
    return all(leaf.payload.scope is Scope.LAUNCH for leaf in term.free)
