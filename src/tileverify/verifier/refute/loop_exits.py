"""Tokens that a loop leaves behind: orders that hold if a token covers the earlier iterations of its op as well.

nvcc passes on only the last iteration's token of a loop that it believes to touch every element once.  Read by the
letter, the iterations before are not ordered with what follows; the specification does not settle it.  What is open by
the letter and settled in the other reading is TV907, never proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ...frontend.symbolic.summary import earlier
from ..obligations.footprint_overlap import PreparedSite, awaited, identity
from ..obligations.two_blocks import OTHER, CopyLevel, Renaming, Second


def left_behind(first: PreparedSite, second: PreparedSite) -> Term:
    """For two accesses of one block (`obligations.inside_block`): one stands behind a loop around the other, and waits
    for a later iteration of it."""
    copy = Second(CopyLevel.INSTANCE, OTHER)
    return t.or_(
        _covered(first, by=second, own=identity, other=copy), _covered(second, by=first, own=copy, other=identity)
    )


def _covered(inside: PreparedSite, *, by: PreparedSite, own: Renaming, other: Renaming) -> Term:
    """``by`` waits for an instance of ``inside`` that is later, in loops which are not around ``by``, than its own."""
    around = {loop.name for loop in by.site.loops}
    left = [loop.iteration for loop in inside.site.loops if loop.name not in around]
    condition = by.waits.get(inside.site.number)
    if condition is None or not left:
        return t.FALSE
    choices = [[iteration, *_last(condition, earlier(iteration))] for iteration in left]
    found = []
    for chosen in product(*choices):
        iterations = dict(zip(left, chosen, strict=True))

        def instance(term: Term, iterations: dict[Term, Term] = iterations) -> Term:
            """The awaited iteration: its own number, or what the wait says it is."""
            if term in iterations and iterations[term] is not term:
                return other(iterations[term])
            return own(term)

        later, same = t.FALSE, t.TRUE
        for iteration in left:
            later = t.or_(later, t.and_(same, t.lt(own(iteration), instance(iteration))))
            same = t.and_(same, t.eq(own(iteration), instance(iteration)))
        found.append(t.and_(awaited(inside, by=by, own=instance, other=other), later))
    return t.or_(*found)


def _last(condition: Term, iteration: Term) -> Iterator[Term]:
    """The numbers that ``condition`` asks the awaited ``iteration`` to be."""
    for part in t.postorder(condition):
        if part.kind is TermKind.EQ:
            constant, summands = t.linear_parts(t.sub(*part.args))
            rest = [(coefficient, term) for coefficient, term in summands if term is not iteration]
            (own,) = [coefficient for coefficient, term in summands if term is iteration] or (0,)
            if abs(own) == 1 and not any(iteration in term.free for _, term in rest):
                parts = [t.const(constant), *(t.scale(coefficient, term) for coefficient, term in rest)]
                yield t.scale(-own, t.add(*parts))
