"""What a question says of the launch alone: relations that clauses may state, blocks and lanes eliminated.

Candidates only: whoever adopts one has it proved that the question is closed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product
from math import gcd

from ...contract import terms as t
from ...contract.terms import Scope, Sort, Term, TermKind
from ...contract.variables import BID, GRID
from .clauses import LAST_BLOCK, launch_only

MOST_ITERATIONS = 1 << 20
"""A loop with more iterations than this has a number that is not known, but for the range of its type."""


def denied(conditions: Sequence[Term], *, parts_too: bool) -> Iterator[Term]:
    """What the question says of the launch, denied: as it stands, and for the last block and the last lanes.

    The second is exact where the question only grows along blocks and lanes; remainders are taken at their largest.
    Path conditions on the launch stay in; with ``parts_too`` each of them is denied alone as well, after the whole.
    """
    parts = [
        part
        for condition in conditions
        for part in (condition.args if condition.kind is TermKind.AND else (condition,))
    ]
    last = _last(conditions)

    def largest(term: Term) -> Term | None:
        if term.kind is TermKind.MOD and term.args[0].free & set(BID):
            return t.sub(term.args[1], t.ONE)
        return None

    for asked in (parts, [t.substitute(t.transform(part, largest), last) for part in parts]):
        known = list(filter(launch_only, asked))
        if known:
            yield t.not_(t.and_(*known))
        yield from map(t.not_, known if parts_too and len(known) > 1 else ())


def fitting(conditions: Sequence[Term]) -> Iterator[Term]:
    """What is computed in the last block and lane does not leave its integer type."""
    parts = {part for condition in conditions for part in t.postorder(condition) if part.kind is TermKind.WRAP}
    for part in sorted(parts, key=t.render):
        inner = t.substitute(part.args[0], _last([part]))
        if launch_only(inner):
            yield t.lt(inner, t.const(1 << (part.payload - 1)))


def fitting_bounds(wrap: Term) -> Iterator[list[Term]]:
    """The same for one wrap, and that scalars in it are not negative if that alone does not do."""
    upper = list(fitting([wrap]))
    if upper:
        yield upper
        leaves = [leaf for leaf in wrap.args[0].free if launch_only(leaf) and leaf.sort is Sort.INT]
        signed = sorted((leaf for leaf in leaves if leaf.low is None or leaf.low < 0), key=t.render)
        if signed:
            yield [*upper, *(t.le(t.ZERO, leaf) for leaf in signed)]


def ratios(conditions: Sequence[Term]) -> Iterator[Term]:
    """Blocks side by side in one dimension: in ``16 * bid.x + 1024 * bid.y`` there is room for 64 along x, in
    ``bid.x + 8 * lane`` for 8, and in ``bid.x % 8`` for 8."""
    for part in {part for condition in conditions for part in t.postorder(condition) if part.kind is TermKind.MOD}:
        bid, places = part.args
        if bid in BID and places.kind is TermKind.CONST:
            yield t.le(GRID[BID.index(bid)], places)
    for part in {part for condition in conditions for part in t.postorder(condition) if part.kind is TermKind.SUM}:
        steps = sorted(((factor, summand) for factor, summand in t.linear_parts(part)[1]), key=lambda step: step[0])
        for (small, bid), (large, _) in pairwise(steps):
            if bid in BID and 0 < small < large:
                yield t.le(GRID[BID.index(bid)], t.const(large // small))


def stepping(conditions: Sequence[Term]) -> Iterator[Term]:
    """Places that are multiples of a step lie apart: ``1 <= s`` for ``s * (32 * bid.x + lane)``."""
    parts = {part for condition in conditions for part in t.postorder(condition) if part.kind is TermKind.PRODUCT}
    for part in sorted(parts, key=t.render):
        known = [factor for factor in part.args if launch_only(factor)]
        if known and len(known) < len(part.args):
            yield t.le(t.ONE, t.product(known))


def counting(conditions: Sequence[Term]) -> Iterator[Term]:
    """A loop that counts up to a limit ends before its counter wraps: ``limit + step <= 2**31`` for
    ``while i < limit: i += step``."""
    parts = {
        part for condition in conditions for part in t.postorder(condition) if part.kind in (TermKind.LT, TermKind.LE)
    }
    for part in sorted(parts, key=t.render):
        counter, limit = part.args
        if counter.kind is not TermKind.WRAP or not launch_only(limit):
            continue
        for step in t.linear_parts(counter.args[0])[1]:
            known = [factor for factor in _factors(step[1]) if launch_only(factor)]
            if any(
                factor.kind is TermKind.VAR and factor.symbol.scope is Scope.ITERATION for factor in _factors(step[1])
            ):
                stride = t.scale(step[0], t.product(known))
                compare = t.le if part.kind is TermKind.LT else t.lt
                yield compare(t.add(limit, stride), t.const(1 << (counter.payload - 1)))


def _factors(summand: Term) -> tuple[Term, ...]:
    return summand.args if summand.kind is TermKind.PRODUCT else (summand,)


def bounds(sizes: Iterable[Term], conditions: Sequence[Term]) -> Iterator[Term]:
    """A size reaches what something else in the question is compared with."""
    parts = {
        part for condition in conditions for part in t.postorder(condition) if part.kind in (TermKind.LT, TermKind.LE)
    }
    limits = {side.value for part in parts for side in part.args if side.kind is TermKind.CONST and side.value > 0}
    for size in sizes:
        yield from (t.le(t.const(limit), size) for limit in sorted(limits))


def mentioned(conditions: Iterable[Term]) -> frozenset[Term]:
    return frozenset().union(*(condition.free for condition in conditions))


def constants(conditions: Iterable[Term]) -> set[int]:
    """What a question divides by: sizes that were compiled in."""
    parts = {part for condition in conditions for part in t.postorder(condition)}
    return {
        part.args[1].value
        for part in parts
        if part.kind in (TermKind.DIV, TermKind.MOD, TermKind.TDIV)
        and part.args[1].kind is TermKind.CONST
        and part.args[1].value > 1
    }


def _last(terms: Sequence[Term]) -> dict[Term, Term]:
    """The last block, lanes and iterations."""
    return LAST_BLOCK | {leaf: t.const(high) for leaf in mentioned(terms) if (high := most_of(leaf)) is not None}


def most_of(leaf: Term) -> int | None:
    """The largest value of a lane, or of the iteration of a loop with a known number of them."""
    known = leaf.kind is TermKind.VAR and leaf.symbol.scope in (Scope.LANE, Scope.ITERATION)
    high = leaf.symbol.high if known else None
    return high if high is not None and high < MOST_ITERATIONS else None


# ----------------------------------------------------------------------------------------------- quantifier elimination
# What a question says of the launch alone: its conditions with blocks, lanes and iterations eliminated.
#
#     a <= e  and  e <= b    imply    a <= b        for every e that only a block, a lane or an iteration knows
#
# (Fourier and Motzkin's elimination, over linear inequalities.)  A consequence holds in every solution of the question,
# so a clause that denies what all of them say together is enough to answer it; where nothing was lost on the way, it is
# the weakest such clause.  Path conditions on the launch are among the consequences, so they stay in.


MOST_CASES = 8
"""Combinations of alternatives that are followed."""
MOST_INEQUALITIES = 64
"""Beyond so many, an elimination is given up: nobody could read what comes out."""
LARGEST_RANGE = 1 << 20
"""Lanes and iterations that are numbered up to this."""

Known = Callable[[Term], bool]


def eliminations(conditions: Iterable[Term], known: Known) -> Iterator[tuple[Term, ...]]:
    """For each case of ``conditions``: conditions over terms that are ``known`` and that the case implies.

    A case that implies nothing of the kind gives an empty tuple: no clause keeps it out.
    """
    for case in _cases(conditions):
        yield _projected(case, known)


def _cases(conditions: Iterable[Term]) -> Iterator[tuple[Term, ...]]:
    """The conditions as a disjunction of conjunctions, as far as that takes few; the rest is left out."""
    plain: list[Term] = []
    choices: list[tuple[Term, ...]] = []
    for part in t.conjuncts(*conditions):
        if part.kind is TermKind.OR:
            choices.append(part.args)
        else:
            plain.append(part)
    count = 1
    kept = []
    for choice in sorted(choices, key=len):
        count *= len(choice)
        if count > MOST_CASES:
            break
        kept.append(choice)
    for chosen in product(*kept):
        yield (*plain, *t.conjuncts(*chosen))


def _projected(case: Sequence[Term], known: Known) -> tuple[Term, ...]:
    stated = [part for part in case if known(part)]
    rows = dict.fromkeys(row for part in case if not known(part) for row in _rows(part))
    current = list(dict.fromkeys([*rows, *_meanings(rows, known)]))
    for atom in _order(current, known):
        current = _eliminated(current, atom)
        if len(current) > MOST_INEQUALITIES:
            break
    implied = [at_most_zero(row) for row in current if all(map(known, _atoms(row)))]
    return tuple(dict.fromkeys(part for part in (*stated, *implied) if part is not t.TRUE))


def _rows(condition: Term) -> Iterator[Term]:
    """The condition as terms that are at most 0; nothing where it is no inequality."""
    if condition.kind in (TermKind.LE, TermKind.LT):
        a, b = condition.args
        yield t.add(t.sub(a, b), t.ONE if condition.kind is TermKind.LT else t.ZERO)
    elif condition.kind is TermKind.EQ:
        yield t.sub(*condition.args)
        yield t.sub(*reversed(condition.args))


def _atoms(row: Term) -> Iterator[Term]:
    return (summand for _, summand in t.linear_parts(row)[1])


def _meanings(rows: Iterable[Term], known: Known) -> Iterator[Term]:
    """What bounds the atoms that are to be eliminated: their ranges, quotients by constants, minima, products."""
    pending = [atom for row in rows for atom in _atoms(row)]
    seen: set[Term] = set()
    while pending:
        atom = pending.pop()
        if atom in seen or known(atom):
            continue
        seen.add(atom)
        found = [*_range(atom), *_meaning(atom, rows, known)]
        yield from found
        pending += [part for row in found for part in _atoms(row)]


def _range(atom: Term) -> Iterator[Term]:
    """Without what is only the range of a machine integer: clauses about that would not help anybody."""
    if atom.low is not None and abs(atom.low) < LARGEST_RANGE:
        yield t.sub(t.const(atom.low), atom)
    if atom.high is not None and abs(atom.high) < LARGEST_RANGE:
        yield t.sub(atom, t.const(atom.high))


def _meaning(atom: Term, rows: Iterable[Term], known: Known) -> Iterator[Term]:
    match atom.kind:
        case TermKind.DIV if atom.args[1].kind is TermKind.CONST and atom.args[1].value > 0:
            x, d = atom.args
            yield t.sub(t.scale(d.value, atom), x)
            yield t.sub(t.add(x, t.const(1 - d.value)), t.scale(d.value, atom))
        case TermKind.MIN:
            yield from (t.sub(atom, side) for side in atom.args)
        case TermKind.MAX:
            yield from (t.sub(side, atom) for side in atom.args)
        case TermKind.PRODUCT:
            yield from _product_bounds(atom, rows, known)


def _product_bounds(atom: Term, rows: Iterable[Term], known: Known) -> Iterator[Term]:
    """``low <= x <= high`` and ``y >= 0`` give ``low*y <= x*y <= high*y``; x is the one factor that is not known."""
    unknown = [factor for factor in atom.args if not known(factor)]
    if len(unknown) != 1:
        return
    (x,) = unknown
    rest = list(atom.args)
    rest.remove(x)
    y = t.product(rest)
    if y.low is None or y.low < 0:
        return
    if x.low is not None:
        yield t.sub(t.scale(x.low, y), atom)
    for row in rows:
        constant, parts = t.linear_parts(row)
        coefficient = next((c for c, summand in parts if summand is x), 0)
        others = t.from_linear(constant, {summand: c for c, summand in parts if summand is not x})
        if abs(coefficient) == 1 and known(others):
            # row: x + others <= 0, or others - x <= 0
            yield t.add(t.scale(coefficient, atom), t.mul(others, y))


def _order(rows: Sequence[Term], known: Known) -> Iterator[Term]:
    """What to eliminate, that which multiplies least first."""
    unknown = {atom for row in rows for atom in _atoms(row) if not known(atom)}
    uses = {atom: [c for row in rows for c, summand in t.linear_parts(row)[1] if summand is atom] for atom in unknown}

    def growth(atom: Term) -> tuple[int, bytes]:
        above = sum(c > 0 for c in uses[atom])
        return above * (len(uses[atom]) - above), atom.digest

    yield from sorted(unknown, key=growth)


def _eliminated(rows: Sequence[Term], atom: Term) -> list[Term]:
    """All that follows from the rows without ``atom``, by adding one in which it grows to one in which it falls."""
    kept: dict[Term, None] = {}
    above: list[tuple[int, Term]] = []
    below: list[tuple[int, Term]] = []
    for row in rows:
        coefficient = next((c for c, summand in t.linear_parts(row)[1] if summand is atom), 0)
        if coefficient:
            (above if coefficient > 0 else below).append((abs(coefficient), row))
        else:
            kept[row] = None
    for c, upper in above:
        for d, lower in below:
            row = tightened(t.add(t.scale(d, upper), t.scale(c, lower)))
            if row.high is None or row.high > 0:
                kept[row] = None
    return list(kept)


def tightened(row: Term) -> Term:
    """``g*x + c <= 0`` over integers is ``x + ceil(c/g) <= 0``."""
    constant, parts = t.linear_parts(row)
    common = gcd(*(c for c, _ in parts))
    if common <= 1:
        return row
    return t.from_linear(-(-constant // common), {summand: c // common for c, summand in parts})


def at_most_zero(row: Term) -> Term:
    """``row <= 0`` as people write it: nothing negative on either side, a constant on the right where it can be.

    A large constant, the bound of an integer type, stands alone.
    """
    constant, parts = t.linear_parts(row)
    if abs(constant) >= LARGEST_RANGE and all(c < 0 for c, _ in parts):
        return t.le(t.const(constant), t.from_linear(0, {summand: -c for c, summand in parts}))
    if abs(constant) >= LARGEST_RANGE:
        return t.le(t.from_linear(0, {summand: c for c, summand in parts}), t.const(-constant))
    left = {summand: c for c, summand in parts if c > 0}
    right = {summand: -c for c, summand in parts if c < 0}
    on_left = constant if not left or (right and constant > 0) else 0
    return t.le(t.from_linear(on_left, left), t.from_linear(on_left - constant, right))
