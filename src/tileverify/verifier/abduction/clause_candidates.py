"""Clauses for a contract of the user's own: where only launch-known quantities are at fault, they come out.

Candidates are offered in groups, the weakest first: what the question itself says of the launch, denied; then an axis
of the grid that has one block, or one of two such; relations between sizes (one is at most the other, a stride is a
row); the grid at most a number of tiles; sizes that are whole tiles.  Whoever chooses must see to it that launches are
left in which the kernel does its work (`nonvacuity`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.terms import Scope, Sort, Term, TermKind
from ...contract.variables import BID, GRID
from ..obligations.obligations import Obligation
from ..obligations.prepare import contract_values
from .clauses import LAST_BLOCK, can_be_said, index_space_clauses, launch_only
from .mining import (
    LARGEST_RANGE,
    at_most_zero,
    bounds,
    constants,
    counting,
    denied,
    eliminations,
    fitting,
    mentioned,
    most_of,
    ratios,
    stepping,
    tightened,
)

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
    numbered = _numbered(contract)
    named = {number: name for name, number in numbered.items()}

    def of_contract(terms: Iterable[Term]) -> list[Term]:
        found = (_short(t.substitute(t.substitute(term, named), values)) for term in terms)
        return [term for term in dict.fromkeys(found) if term is not t.TRUE and term is not t.FALSE]

    conditions = [t.substitute(condition, numbered) for condition in conditions]
    blocks = [t.substitute(fact, numbered) for fact in facts if not launch_only(fact)]
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
    rows = _rows(contract, mentioned(t.substitute(condition, named) for condition in conditions))
    yield of_contract([*stepping(conditions), *bounds(sizes, conditions), *_orders(sizes), *rows])
    if not contract.grid_given:
        yield of_contract(_grids(sizes, factors))
    yield of_contract(t.eq(t.floormod(size, t.const(tile)), t.ZERO) for size in sizes for tile in factors)
    yield of_contract([t.eq(GRID[0], t.ONE)])


def _short(term: Term) -> Term:
    """``13 <= s`` for ``16 <= s + 3``, where values made one side a number."""
    numbers = [side.value for side in term.args if side.kind is TermKind.CONST] if term.kind is TermKind.LE else []
    if not numbers or abs(numbers[0]) >= LARGEST_RANGE:
        return term  # the bound of an integer type stands alone
    return at_most_zero(tightened(t.sub(*term.args)))


def _numbered(contract: Contract) -> dict[Term, Term]:
    """The variables of the contract under names that count them: what is offered, and in what order, must not hang on
    how a person calls a parameter."""
    return {
        leaf: t.var(f"p{number:03}", Scope.LAUNCH, leaf.low, leaf.high)
        for number, leaf in enumerate(contract.variables)
        if leaf.kind is TermKind.VAR and leaf.sort is Sort.INT
    }


def _sizes(conditions: Sequence[Term], values: Mapping[Term, Term]) -> list[Term]:
    """The sizes, strides and scalars in a question, in the order of the contract; none if they are too many."""
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


# --------------------------------------------------------------------------------------------------------- needed sizes
# How large an array must be for all that its blocks touch: ``(grid.x - 1) * stride + columns <= x_size``.
#
# Candidates only: they are right where nothing leaves its integer type and nothing steps backwards, and whoever adopts
# one has it proved.


def needed_sizes(conditions: Sequence[Term]) -> Iterator[Term]:
    """``end <= limit`` for each ``limit < end(block, lane, iteration)`` of the question, at the largest end that masks
    and ranges allow; then for whole tiles, whatever masks say."""
    compared = {part for condition in conditions for part in t.postorder(condition) if part.kind is TermKind.LT}
    masks = _masks(t.flat_conjuncts(*conditions))
    for part in sorted(compared, key=t.render):
        limit, end = map(_plain, part.args)
        if can_be_said(limit) and not can_be_said(end):
            for known in (masks, ()):
                most = _largest(end, known)
                if most is not None:
                    yield at_most_zero(tightened(t.sub(_shorter(most), limit)))


def spacings(conditions: Sequence[Term]) -> Iterator[Term]:
    """What is stepped over at once has room for the rest: ``n <= s`` for ``s * row + column`` with ``column < n``, and
    ``4 * grid.y <= s`` for ``s * bid.x + 4 * bid.y + lane`` with four lanes."""
    sums = {part for condition in conditions for part in t.postorder(condition) if part.kind is TermKind.SUM}
    ordered = sorted(sums, key=t.render)
    masks = _masks(part for condition in conditions for part in t.postorder(condition))
    for known in (masks, ()):
        for part in ordered:
            summands = t.linear_parts(part)[1]
            for factor, step in summands:
                room = _stepped_over(factor, step)
                if room is not None:
                    others = [each for each in summands if each[1] is not step]
                    yield from _room_for(others, room, known)


def _stepped_over(factor: int, step: Term) -> Term | None:
    """``s`` for ``s * row``, where a launch knows the one and not the other."""
    factors = step.args if step.kind is TermKind.PRODUCT else ()
    known = [each for each in factors if launch_only(each)]
    return t.scale(factor, t.product(known)) if factor > 0 and 0 < len(known) < len(factors) else None


def _room_for(others: Sequence[tuple[int, Term]], room: Term, masks: Sequence[tuple[Term, Term]]) -> Iterator[Term]:
    """There is room for all of the other summands, and for each of them; with ``masks``, where these say how many."""
    for some in (*([each] for each in others if len(others) > 1), others):
        end = t.from_linear(0, {summand: factor for factor, summand in some})
        most = _largest(end, masks)
        if some and most is not None and not (masks and most is _largest(end, ())):
            yield at_most_zero(tightened(t.sub(t.add(most, t.ONE), room)))


def _masks(parts: Iterable[Term]) -> list[tuple[Term, Term]]:
    """``position < bound`` for bounds that a launch knows, the positions of most parts first."""
    found = []
    for part in dict.fromkeys(parts):
        position, bound = map(_plain, part.args) if part.kind is TermKind.LT else (t.ZERO, t.ZERO)
        if can_be_said(bound) and not can_be_said(position):
            found.append((position, bound))
    return sorted(found, key=lambda mask: -len(t.linear_parts(mask[0])[1]))


def _plain(term: Term) -> Term:
    return t.transform(term, _simpler)


def _simpler(part: Term) -> Term | None:
    """``part`` without its wrap, and ``n * s`` for ``0 if n == 0 else n * s``."""
    if part.kind is TermKind.WRAP:
        return part.args[0]
    if part.kind is TermKind.ITE and part.args[0].kind is TermKind.EQ and part.args[1] is t.ZERO:
        for size, least in (part.args[0].args, part.args[0].args[::-1]):
            if least is t.ZERO and t.substitute(part.args[2], {size: t.ZERO}) is t.ZERO:
                return part.args[2]
    return None


def _largest(end: Term, masks: Sequence[tuple[Term, Term]]) -> Term | None:
    """The largest value of a sum; ``None`` where a summand has none that is known."""
    constant, parts = t.linear_parts(end)
    left = {summand: factor for factor, summand in parts}
    most: Term = t.const(constant)
    for position, bound in masks:
        offset, steps = t.linear_parts(position)
        times = _times({summand: factor for factor, summand in steps}, left)
        if times is not None:
            for _, summand in steps:
                del left[summand]
            most = t.add(most, t.scale(times, t.sub(bound, t.const(1 + offset))))
    single = {position: t.sub(bound, t.ONE) for position, bound in masks}
    for summand, factor in left.items():
        last = _last(summand, single) if factor > 0 or can_be_said(summand) else None
        if last is None:
            return None
        most = t.add(most, t.scale(factor, last))
    return most


def _shorter(most: Term) -> Term:
    """``grid.x * n`` for ``(grid.x - 1) * n + n``: products multiplied out, if fewer are left."""

    def multiplied(part: Term) -> Term | None:
        sums = [factor for factor in part.args if factor.kind is TermKind.SUM] if part.kind is TermKind.PRODUCT else []
        if len(sums) != 1:
            return None
        rest = t.product([factor for factor in part.args if factor is not sums[0]])
        constant, parts = t.linear_parts(sums[0])
        return t.add(t.scale(constant, rest), *(t.scale(factor, t.mul(summand, rest)) for factor, summand in parts))

    spread = t.transform(most, multiplied)
    return spread if len(t.linear_parts(spread)[1]) < len(t.linear_parts(most)[1]) else most


def _times(steps: Mapping[Term, int], left: Mapping[Term, int]) -> int | None:
    """How many times a sum stands in another one, whole; ``None`` if it does not."""
    divided = {divmod(left.get(summand, 0), factor) for summand, factor in steps.items()}
    if len(divided) != 1:
        return None
    ((times, rest),) = divided
    return times if times > 0 and not rest else None


def _last(summand: Term, masked: Mapping[Term, Term]) -> Term | None:
    """A summand in the last block, lane and iteration, remainders at their largest; ``masked``: what masks say."""

    def largest(part: Term) -> Term | None:
        if part.kind is TermKind.MOD and part.args[0].free & set(BID):
            return t.sub(part.args[1], t.ONE)
        most = most_of(part)
        return None if most is None else t.const(most)

    if summand.high is not None and summand.high < LARGEST_RANGE and not launch_only(summand):
        return t.const(summand.high)
    product = [masked.get(factor, factor) for factor in summand.args] if summand.kind is TermKind.PRODUCT else [summand]
    last = t.substitute(t.transform(t.product(product), largest), LAST_BLOCK)
    return last if can_be_said(last) else None
