"""Counters of loops that end where they reach a limit: whether they can wrap on the way.

``while i < n: i += d`` has ``i(k) = wrap(i(0) + k * d)``.  That the last iteration went on says nothing of the ones
before once the counter has wrapped, so the condition under which iteration k runs gets this beside it:

    total(0) does not fit  or  total(k) fits  or  there is f <= k: total(f - 1) fits, total(f) does not,
                                                  and the loop went on in iteration f - 1 with total(f - 1)

It holds whenever iteration k runs: a total goes one way, so if total(0) fits and total(k) does not, there is a first f
that does not.  Whoever knows that the limit lies a step inside the type can refute the third case, and so the wrap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...contract.terms import (
    ZERO,
    Scope,
    Term,
    TermKind,
    add,
    and_,
    le,
    linear_parts,
    not_,
    or_,
    postorder,
    product,
    scale,
    sub,
    substitute,
    transform,
    var,
)
from .carried_tokens import previous_to
from .integers import fits
from .lanes import mentions_lanes

_NOT_WRAPPED: Final = var("the counter, not wrapped", Scope.ITERATION)


@dataclass(frozen=True, slots=True)
class LoopCounter:
    """``wrapped = wrap_N(total)``, where the total goes by ``distance`` from iteration k to the next."""

    wrapped: Term
    distance: Term
    k: Term

    def exact(self, f: Term, continued: Term, time: Term) -> Term:
        """The formula above at ``time``; ``f`` is a symbol of the block, ``continued``: iteration k went on."""
        first, now, then = (self._total(at) for at in (ZERO, time, f))
        before = sub(then, self.distance)
        went_on = transform(continued, lambda part: _NOT_WRAPPED if part is self.wrapped else None)
        went_on = substitute(went_on, {self.k: previous_to(f), _NOT_WRAPPED: before})
        overflow = and_(le(f, time), self._fits(before), not_(self._fits(then)), went_on)
        return or_(not_(self._fits(first)), self._fits(now), overflow)

    def _total(self, time: Term) -> Term:
        return substitute(self.wrapped.args[0], {self.k: time})

    def _fits(self, total: Term) -> Term:
        return fits(total, self.wrapped.payload)


def counters(condition: Term, k: Term) -> Iterator[LoopCounter]:
    """The counters that ``condition``, of iteration ``k``, looks at."""
    for part in postorder(condition):
        if part.kind is TermKind.WRAP and not mentions_lanes(part):
            summands = [(c, *_without(k, summand)) for c, summand in linear_parts(part.args[0])[1]]
            if all(k not in rest.free for _, _, rest in summands) and any(counts for _, counts, _ in summands):
                yield LoopCounter(part, add(*(scale(c, rest) for c, counts, rest in summands if counts)), k)


def _without(k: Term, summand: Term) -> tuple[bool, Term]:
    """Whether a summand is a product with k, and what k is multiplied with."""
    factors = list(summand.args) if summand.kind is TermKind.PRODUCT else [summand]
    if k not in factors:
        return False, summand
    factors.remove(k)
    return True, product(factors)
