"""How large an array must be for all that its blocks touch: ``(grid.x - 1) * stride + columns <= x_size``.

Candidates only: they are right where nothing leaves its integer type and nothing steps backwards, and whoever adopts
one has it proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ...contract.variables import BID
from ...contract.wording import can_be_said
from .clauses import LAST_BLOCK
from .mining import most_of
from .quantifier_elimination import at_most_zero, tightened


def needed_sizes(conditions: Sequence[Term]) -> Iterator[Term]:
    """``end <= limit`` for each ``limit < end(block, lane, iteration)`` of the question, at the largest end that masks
    and ranges allow; then for whole tiles, whatever masks say."""
    compared = {part for condition in conditions for part in t.postorder(condition) if part.kind is TermKind.LT}
    masks = _masks(conditions)
    for part in sorted(compared, key=t.render):
        limit, end = map(_plain, part.args)
        if can_be_said(limit) and not can_be_said(end):
            for known in (masks, ()):
                most = _largest(end, known)
                if most is not None:
                    yield at_most_zero(tightened(t.sub(_shorter(most), limit)))


def _masks(conditions: Sequence[Term]) -> list[tuple[Term, Term]]:
    """``position < bound`` for bounds that a launch knows, the positions of most parts first."""
    found = []
    for part in t.flat_conjuncts(*conditions):
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

    product = [masked.get(factor, factor) for factor in summand.args] if summand.kind is TermKind.PRODUCT else [summand]
    last = t.substitute(t.transform(t.product(product), largest), LAST_BLOCK)
    return last if can_be_said(last) else None
