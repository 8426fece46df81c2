"""Clauses for a contract of the user's own: where only launch-known quantities are at fault, they come out.

Candidates are offered in groups, the weakest first: what the question itself says of the launch, denied; then an axis
of the grid that has one block, or one of two such; relations between sizes (one is at most the other, a stride is a
row); the grid at most a number of tiles; sizes that are whole tiles.  Whoever chooses must see to it that launches are
left in which the kernel does its work (`work`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.terms import Sort, Term, TermKind
from ...contract.variables import GRID
from ...contract.wording import can_be_said
from ..obligations.obligations import Obligation
from ..obligations.prepare import contract_values
from .clauses import index_space_clauses, launch_only
from .mining import bounds, constants, counting, denied, fitting, mentioned, ratios, spacings, stepping
from .needed_sizes import needed_sizes
from .quantifier_elimination import eliminations

MOST_SIZES = 6
"""Sizes of a question whose relations are tried."""
MOST_GRIDS = 12
"""Bounds of one grid axis that are tried."""


def offers(
    obligation: Obligation,
    conditions: Sequence[Term],
    facts: Iterable[Term],
    contract: Contract,
    tiles: Iterable[int],
    *,
    sized: bool = True,
) -> Iterator[list[Term]]:
    """Groups of clauses that may keep ``conditions`` from holding together; later groups come beside earlier ones.

    ``facts`` are those of the launches, ``tiles`` the numbers of lanes that the kernel works with.  Not ``sized``:
    nobody said how large some arrays are, so that this is what is asked first.
    """
    values = contract_values(contract)

    def of_contract(terms: Iterable[Term]) -> list[Term]:
        found = (t.substitute(term, values) for term in terms)
        return [term for term in dict.fromkeys(found) if term is not t.TRUE and term is not t.FALSE]

    blocks = [fact for fact in facts if not launch_only(fact)]
    if not sized and obligation.second is None:
        yield of_contract(needed_sizes(conditions))
    yield of_contract(t.not_(t.and_(*case)) for case in eliminations([*conditions, *blocks], can_be_said))
    yield of_contract(
        [
            *(clause.condition for clause in index_space_clauses(obligation)),
            *denied(conditions, parts_too=False),
            *counting(conditions),
            *ratios(conditions),
            *spacings(conditions),
            *fitting(conditions),
        ]
    )
    yield of_contract(t.eq(axis, t.ONE) for axis in (GRID[2], GRID[1]))
    yield of_contract(t.or_(t.eq(a, t.ONE), t.eq(b, t.ONE)) for a, b in combinations(GRID, 2))
    sizes = _sizes(conditions, values)
    factors = sorted({tile for tile in tiles if tile > 1} | constants(conditions))
    rows = _rows(contract, mentioned(conditions))
    yield of_contract([*stepping(conditions), *bounds(sizes, conditions), *_orders(sizes), *rows])
    if not contract.grid_given:
        yield of_contract(_grids(sizes, factors))
    yield of_contract(t.eq(t.floormod(size, t.const(tile)), t.ZERO) for size in sizes for tile in factors)
    yield of_contract([t.eq(GRID[0], t.ONE)])


def _sizes(conditions: Sequence[Term], values: Mapping[Term, Term]) -> list[Term]:
    """The sizes, strides and scalars in a question, in the order of their names; none if they are too many."""
    leaves = {
        leaf
        for condition in conditions
        for leaf in t.substitute(condition, values).free
        if leaf.kind is TermKind.VAR and leaf.sort is Sort.INT and leaf not in GRID and can_be_said(leaf)
    }
    found = sorted(leaves, key=t.render)
    return found if len(found) <= MOST_SIZES else []


def _orders(sizes: Sequence[Term]) -> Iterator[Term]:
    """One size is at most the other; both ways is equality."""
    for a, b in combinations(sizes, 2):
        yield t.le(a, b)
        yield t.le(b, a)


def _rows(contract: Contract, near: frozenset[Term]) -> Iterator[Term]:
    """A named stride is not longer than what it steps over; that it is not shorter is part of every contract."""
    for array in contract.arrays.values():
        shape, strides = array_layout(array)
        if array.strides is None or not near & _named(contract, (*shape, *strides)):
            continue
        for d in range(len(shape) - 1):
            yield t.le(strides[d], t.mul(shape[d + 1], strides[d + 1]))


def _named(contract: Contract, parameters: Iterable[Term]) -> frozenset[Term]:
    return frozenset().union(*(contract.values.get(parameter, parameter).free for parameter in parameters))


def _grids(sizes: Sequence[Term], factors: Sequence[int]) -> Iterator[Term]:
    """As many blocks as a size, a number of tiles or the product of two of these allows; the largest bound first."""
    steps = [*sizes, *(t.ceildiv(size, t.const(n)) for size in sizes for n in factors)]
    found = [t.mul(a, b) for a, b in combinations_with_replacement(steps, 2) if a.free != b.free]
    for axis in GRID:
        yield from (t.le(axis, bound) for bound in (*found, *steps)[:MOST_GRIDS])
