"""The rounds of a loop that counts to a number that stands fast.

Its counter v(k) = v(0) + k * step is looked at as round k ends, read as a number of N bits, signed or not:

    goes on while  v(k) != end    last round (end - v(0)) / step      if that divides, and end is not behind v(0)
    goes on while  v(k) < end     last round ceil((end - v(0)) / step), at least 0       step > 0
    goes on while  v(k) > end     last round ceil((v(0) - end) / -step), at least 0      step < 0
    goes on as long as k says     last round the first of which it says no

if no v(k) that is looked at leaves the numbers of N bits.  That, and what stands behind "if", is the premise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ...contract.terms.evaluate import evaluate
from ...contract.terms.rendering import unsigned_reading

MOST_ROUNDS: Final = 256
"""That are gone through one by one."""


@dataclass(frozen=True, slots=True)
class RoundCount:
    """``reached``: where the round with the loop's number is made; ``last``: the number of the last one."""

    reached: Term
    last: Term
    premise: Term


@dataclass(frozen=True, slots=True)
class _Counter:
    """``value``: as an integer, of the round; ``first``: of round 0; ``low`` to ``high``: what its register holds."""

    value: Term
    first: Term
    step: Term
    low: int
    high: int


def counted(goes_on: Term, number: Term) -> RoundCount | None:
    """What is known of a loop whose round ``number`` is followed by another one where ``goes_on`` holds."""
    if goes_on.free == {number}:
        last = next((k for k in range(MOST_ROUNDS) if not evaluate(goes_on, {number: k})), None)
        return None if last is None else RoundCount(t.le(number, t.const(last)), t.const(last), t.TRUE)
    if goes_on.kind is TermKind.NOT and goes_on.args[0].kind is TermKind.EQ:
        for one, other in (goes_on.args[0].args, goes_on.args[0].args[::-1]):
            if (counter := _counter(one, number)) is not None and number not in other.free:
                return _until_equal(counter, other, number)
        return None
    if goes_on.kind not in (TermKind.LT, TermKind.LE):
        return None
    strict = goes_on.kind is TermKind.LT
    small, large = goes_on.args
    if (counter := _counter(small, number)) is not None and number not in large.free:
        return _while_below(counter, large if strict else t.add(large, t.ONE), number) if _grows(counter) else None
    if (counter := _counter(large, number)) is not None and number not in small.free:
        return _while_above(counter, small if strict else t.sub(small, t.ONE), number) if not _grows(counter) else None
    return None


def _counter(term: Term, number: Term) -> _Counter | None:
    if term.kind is TermKind.WRAP:
        half = 1 << term.payload - 1
        low, high, value = -half, half - 1, term.args[0]
    elif (reading := unsigned_reading(term)) is not None:
        low, high = 0, (1 << reading[0]) - 1
        inner = reading[1]
        value = inner.args[0] if inner.kind is TermKind.WRAP and inner.payload == reading[0] else inner
    else:
        return None
    first, second = (t.substitute(value, {number: each}) for each in (t.ZERO, t.ONE))
    step = t.sub(second, first)
    if number in step.free or t.add(first, t.mul(number, step)) is not value or step.low is None or step.high is None:
        return None
    return _Counter(value, first, step, low, high) if step.low > 0 or step.high < 0 else None


def _grows(c: _Counter) -> bool:
    return c.step.low is not None and c.step.low > 0


def _until_equal(c: _Counter, end: Term, number: Term) -> RoundCount:
    way = t.sub(end, c.first) if _grows(c) else t.sub(c.first, end)
    step = c.step if _grows(c) else t.neg(c.step)
    premise = t.and_(
        t.le(t.ZERO, way), t.eq(t.floormod(way, step), t.ZERO), t.le(t.const(c.low), c.first),
        t.le(c.first, t.const(c.high)),
    )  # fmt: skip
    return RoundCount(t.le(t.mul(number, step), way), t.floordiv(way, step), premise)


def _while_below(c: _Counter, end: Term, number: Term) -> RoundCount:
    before = t.substitute(c.value, {number: t.sub(number, t.ONE)})
    reached = t.or_(t.eq(number, t.ZERO), t.lt(before, end))
    last = t.maximum(t.ZERO, t.ceildiv(t.sub(end, c.first), c.step))
    furthest = t.add(end, t.sub(c.step, t.ONE))
    fits = (t.le(t.const(c.low), c.first), t.le(c.first, t.const(c.high)), t.le(furthest, t.const(c.high)))
    return RoundCount(reached, last, t.and_(*fits))


def _while_above(c: _Counter, end: Term, number: Term) -> RoundCount:
    before = t.substitute(c.value, {number: t.sub(number, t.ONE)})
    reached = t.or_(t.eq(number, t.ZERO), t.lt(end, before))
    last = t.maximum(t.ZERO, t.ceildiv(t.sub(c.first, end), t.neg(c.step)))
    furthest = t.add(end, t.add(c.step, t.ONE))
    fits = (t.le(c.first, t.const(c.high)), t.le(t.const(c.low), c.first), t.le(t.const(c.low), furthest))
    return RoundCount(reached, last, t.and_(*fits))
