"""Clauses as an engineer would write them: equal to what was found under what every launch satisfies, and shorter.

    not (position < cdiv(N, 64) and position < 0)    is    position >= 0
    N <= min(a, b)                                   is    N <= a and N <= b
    (grid.x - 1) // columns < rows                   is    grid.x <= rows * columns     where columns > 0
    1024 * grid.x <= 2**31                           is    grid.x <= 2**21
    128 * cdiv(N, 128) <= N                          is    N % 128 == 0

Nothing is believed here: a part is left out only if the facts and the other parts imply it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, permutations
from random import Random
from typing import Final

from ...contract import terms as t
from ...contract.terms import Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from .clauses import Clause, can_be_said, clause_text
from .mining import at_most_zero, tightened

MOST_TERMS = 100
"""Larger ones nobody reads, whatever their form."""
MOST_PARTS = 12
"""Comparisons up to which a clause is worth the questions."""

Implies = Callable[[Sequence[Term], Term], bool]
"""Whether the facts and these conditions imply another one; False means "not seen"."""


def plain(condition: Term, implies: Implies, *, multiply: bool = True) -> Term:
    """``condition``, or what is equal to it wherever the facts behind ``implies`` hold.

    ``multiply``: quotients become products, which read better; proofs from them are harder.
    """
    if sum(1 for _ in t.postorder(condition)) > MOST_TERMS:
        return condition
    spread = _spread(condition)
    if sum(1 for part in t.postorder(spread) if part.kind in _COMPARISONS) > MOST_PARTS:
        return spread
    found = _multiplied(spread, implies) if multiply else spread
    # A single comparison was needed to prove something, and a launch keeps it.
    return _pruned(found, (), implies) if found.kind in _JUNCTION else found


_COMPARISONS = (TermKind.LT, TermKind.LE, TermKind.EQ)


def _spread(condition: Term) -> Term:
    """Negations at comparisons only, choices as alternatives, comparisons with a minimum or maximum as several."""
    match condition.kind:
        case TermKind.AND | TermKind.OR:
            return _JUNCTION[condition.kind](*map(_spread, condition.args))
        case TermKind.NOT if condition.args[0].kind in _DUAL:
            inner = condition.args[0]
            return _JUNCTION[_DUAL[inner.kind]](*(_spread(t.not_(arg)) for arg in inner.args))
        case TermKind.ITE if condition.sort is Sort.BOOL:
            c, a, b = condition.args
            return t.and_(_spread(t.or_(t.not_(c), a)), _spread(t.or_(c, b)))
        case TermKind.NOT if condition.args[0].kind is TermKind.EQ:
            return _unequal(condition)
        case TermKind.LT | TermKind.LE:
            return _compared(condition)
    return condition


_JUNCTION = {TermKind.AND: t.and_, TermKind.OR: t.or_}
_DUAL = {TermKind.AND: TermKind.OR, TermKind.OR: TermKind.AND}
_SPREAD = {
    # the side of the comparison that the choice stands on, and how its alternatives are joined
    (0, TermKind.MIN): t.or_,
    (0, TermKind.MAX): t.and_,
    (1, TermKind.MIN): t.and_,
    (1, TermKind.MAX): t.or_,
}


def _compared(condition: Term) -> Term:
    if condition is t.TRUE or condition is t.FALSE:
        return condition
    for place, side in enumerate(condition.args):
        join = _SPREAD.get((place, side.kind))
        if join is not None:
            return join(*(_spread(_with(condition, place, arg)) for arg in side.args))
        if side.kind is TermKind.WRAP and (cases := _signed_reading(side)) is not None:
            return _spread(_with(condition, place, cases))
        if side.kind is TermKind.ITE:
            # The unsigned reading of a scalar: intervals decide most of its sides.
            c, a, b = side.args
            return _spread(t.ite(c, _with(condition, place, a), _with(condition, place, b)))
    return _reduced(condition)


def _signed_reading(wrapped: Term) -> Term | None:
    """The wrap of what an unsigned scalar holds, as two cases."""
    inner, bits = wrapped.args[0], wrapped.payload
    if inner.low is None or inner.high is None or inner.low < 0 or inner.high >= 1 << bits:
        return None
    return t.ite(t.lt(inner, t.const(1 << bits - 1)), inner, t.sub(inner, t.const(1 << bits)))


def _with(comparison: Term, place: int, side: Term) -> Term:
    other = comparison.args[1 - place]
    return t.rebuild(comparison, (side, other) if place == 0 else (other, side))


def _unequal(condition: Term) -> Term:
    """A size that is not the least that it can be is more."""
    for size, least in (condition.args[0].args, condition.args[0].args[::-1]):
        if least.kind is TermKind.CONST and size.low == least.value:
            return _compared(t.lt(least, size))
    return condition


def _reduced(condition: Term) -> Term:
    """Without a common factor, and ``ceil(n / c) <= k`` as ``n <= c*k``, ``1 <= ceil(n / c)`` as ``1 <= n``."""
    a, b = condition.args
    row = tightened(t.add(t.sub(a, b), t.ONE if condition.kind is TermKind.LT else t.ZERO))
    constant, parts = t.linear_parts(row)
    if len(parts) == 1 and parts[0][1].kind is TermKind.DIV:
        x, d = parts[0][1].args
        if d.kind is TermKind.CONST and d.value > 0 and parts[0][0] == 1:
            return at_most_zero(t.add(x, t.const(1 - d.value * (1 - constant))))
        if d.kind is TermKind.CONST and d.value > 0 and (parts[0][0], constant) == (-1, 1):
            return at_most_zero(t.sub(d, x))
    for c, part in parts:
        if part.kind is TermKind.DIV and part.args[1] is t.const(c):
            # c * (x // c) is x - x % c, which is at most x - k where x % c is at least k
            k = t.add(t.sub(row, t.scale(c, part)), part.args[0])
            if k is t.const(c - 1):
                return t.eq(t.floormod(t.add(part.args[0], t.ONE), t.const(c)), t.ZERO)
    return at_most_zero(row)


def _multiplied(condition: Term, implies: Implies) -> Term:
    """Quotients by what is positive in every launch are multiplied out: ``x // d < m`` is ``x < m*d``.

    And a quotient that is one, and never less, is at most one.
    """

    def multiply(term: Term) -> Term | None:
        if term.kind is TermKind.EQ:
            for quotient, least in (term.args, term.args[::-1]):
                if (
                    quotient.kind is TermKind.DIV
                    and least.kind is TermKind.CONST
                    and implies((), t.le(least, quotient))
                ):
                    return _compared(t.le(quotient, least))
        if term.kind in (TermKind.LT, TermKind.LE):
            quotient, other = term.args if term.args[0].kind is TermKind.DIV else term.args[::-1]
            # x // d < m and m <= x // d: the other two comparisons need one added first
            whole = (term.kind is TermKind.LT) == (quotient is term.args[0])
            if quotient.kind is TermKind.DIV and whole and quotient.args[1].kind is not TermKind.CONST:
                x, d = quotient.args
                if implies((), t.lt(t.ZERO, d)):
                    product = t.mul(other, d)
                    return t.lt(x, product) if quotient is term.args[0] else t.le(product, x)
        return None

    return t.transform(condition, multiply)


def _pruned(condition: Term, given: tuple[Term, ...], implies: Implies) -> Term:
    """The condition without parts that make no difference where ``given`` holds; the longest are tried first."""
    if condition.kind not in _JUNCTION:
        if condition is t.TRUE or implies(given, condition):
            return t.TRUE
        return t.FALSE if condition is t.FALSE or implies(given, t.not_(condition)) else condition
    kind = condition.kind
    parts = sorted(condition.args, key=lambda part: (-len(t.render(part)), t.render(part)))
    for place, part in enumerate(parts):
        others = [other for number, other in enumerate(parts) if number != place]
        # What stands beside it holds in a conjunction, and fails in a disjunction where this part matters.
        beside = others if kind is TermKind.AND else map(t.not_, others)
        parts[place] = _pruned(part, (*given, *beside), implies)
    return _JUNCTION[kind](*parts)


# ------------------------------------------------------------------------------------------------------------- shortest
# The shortest way to say clauses that people are advised to write, in the names of their contract.
#
#     H <= 4 * (H // 4)                                     H % 4 == 0
#     cdiv(M, 32) <= cdiv(N, 32) and the other way round    cdiv(M, 32) == cdiv(N, 32)
#     L >= 64 or P == 0                                     L >= 64          where limits say that P is at least 1
#
# What is said in place of a clause implies it in every launch of the contract, and follows from it in every launch in
# which no array is empty.  Candidates are usual relations of what the clause speaks of; a few launches of numbers rule
# out most of them, and the solver has to confirm the one that is taken.


MOST_NAMES: Final = 4
MOST_VALUES: Final = 12
"""A clause that speaks of more is left as it is."""
MOST_ASKED: Final = 8
"""Candidates for one clause that the solver is asked about."""

_LAUNCHES: Final = 200
_NUMBERS: Final = (-64, -1, *range(9), 12, 16, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 1000, 1024)
"""For sizes in launches that are tried without the solver."""


def shortest(
    clauses: Sequence[Clause], implies: Implies, filled: Sequence[Term] = (), facts: Iterable[Term] = ()
) -> list[Clause]:
    """The clauses, each or two of them in fewer characters where that can be.

    ``implies``: under the contract; ``filled``: that no array is empty; ``facts`` of the contract, by which launches of
    numbers are chosen.
    """
    known = tuple(facts)
    found = [_shorter([clause], implies, filled, known) or clause for clause in clauses]
    for first, second in combinations(found, 2):
        if not first.condition.free & second.condition.free:
            continue
        one = _shorter([first, second], implies, filled, known)
        if one is not None:
            rest = [one if clause is first else clause for clause in found if clause is not second]
            return shortest(rest, implies, filled, known)
    return found


def _shorter(
    clauses: Sequence[Clause], implies: Implies, filled: Sequence[Term], facts: Sequence[Term]
) -> Clause | None:
    """One clause that says the same as all of these, in fewer characters."""
    meant = t.and_(*(clause.condition for clause in clauses))
    if len(meant.free) > MOST_NAMES or not can_be_said(meant):
        return None
    length = len(" and ".join(clause.text for clause in clauses))
    said = {term: clause_text(term) for term in dict.fromkeys(_candidates(meant))}
    shorter = [Clause(term, text) for term, text in said.items() if text is not None and len(text) < length]
    launches = list(_launches(meant, filled, facts))
    likely = [each for each in shorter if all(_value(each.condition, n) == kept for n, kept in launches)]
    for each in sorted(likely, key=lambda clause: (len(clause.text), clause.text))[:MOST_ASKED]:
        if implies([each.condition], meant) and implies([*filled, meant], each.condition):
            return each
    return None


def _candidates(meant: Term) -> Iterator[Term]:
    parts = list(t.postorder(meant))
    names = [part for part in parts if part.kind is TermKind.VAR and part.sort is Sort.INT]
    numbers = sorted({abs(part.value) for part in parts if part.kind is TermKind.CONST and part.sort is Sort.INT})
    values = [part for part in parts if part.sort is Sort.INT and part.kind is not TermKind.CONST]
    yield from (part for part in parts if part.sort is Sort.BOOL and part.free and part is not meant)
    for name in names:
        yield from (t.eq(t.floormod(name, t.const(number)), t.ZERO) for number in numbers if number > 1)
        for near in sorted({near for number in (0, *numbers) for near in (number - 1, number, number + 1)}):
            bound = t.const(near)
            yield from (t.eq(name, bound), t.le(name, bound), t.le(bound, name))
    for a, b in permutations(values[:MOST_VALUES] if len(values) <= MOST_VALUES else (), 2):
        yield from (t.eq(a, b), t.le(a, b), t.lt(a, b))


def _launches(meant: Term, filled: Sequence[Term], facts: Sequence[Term]) -> Iterator[tuple[dict[Term, int], bool]]:
    """Numbers for what the clause speaks of that the contract allows, and whether they satisfy it."""
    names = sorted(meant.free, key=t.render)
    spoken_of = [fact for fact in (*facts, *filled) if fact.free <= meant.free]
    drawn = Random(0)
    near = sorted({*_NUMBERS, *(part.value + d for part in t.postorder(meant) if _is_number(part) for d in (-1, 0, 1))})
    for _ in range(_LAUNCHES):
        launch = {name: drawn.choice([n for n in near if _allows(name, n)] or [name.low or 0]) for name in names}
        kept = _value(meant, launch)
        if kept is not None and all(_value(fact, launch) is not False for fact in spoken_of):
            yield launch, kept


def _is_number(part: Term) -> bool:
    return part.kind is TermKind.CONST and part.sort is Sort.INT


def _allows(name: Term, number: int) -> bool:
    return (name.low is None or name.low <= number) and (name.high is None or number <= name.high)


def _value(condition: Term, launch: dict[Term, int]) -> bool | None:
    """``None`` where the condition has none."""
    try:
        return bool(evaluate(condition, launch))
    except (KeyError, ZeroDivisionError):
        return None
