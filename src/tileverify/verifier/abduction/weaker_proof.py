"""A proof under as few and as weak clauses as it needs.

Each clause was found for one obligation, under the clauses that were known then.  So it may be needless beside later
ones: ``N == stride`` where ``N <= stride`` does, or "not empty" beside a limit on sizes.  Every obligation is proved
again without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...contract import terms as t
from ...contract.expressions import free_names
from ...contract.terms import Term, TermKind
from ..attempt import Open
from ..budgets import CLAUSE_LIMITS, WEAKER_SHARE
from ..prover import Prover
from .clauses import Clause, ignored_axes, spoken


def weakened(prover: Prover, *, freely: bool) -> Prover:
    """``prover``, which proved its kernel, or one that proves it under fewer or weaker clauses.

    ``freely``: nobody wrote the contract, so that every clause is tried; else only limits.
    """
    found = prover
    with prover.effort.share(WEAKER_SHARE):
        for clause in sorted(prover.clauses, key=_multiplies):  # sizes of arrays limit single sizes, too
            if _may_be_needless(clause, prover, freely=freely):
                others = [other for other in found.clauses if other is not clause]
                tried = (_proved_under(prover, [*others, *instead]) for instead in ([], *_weaker(clause.condition)))
                found = next((each for each in tried if each is not None), found)
    return found


def _may_be_needless(clause: Clause, prover: Prover, *, freely: bool) -> bool:
    """Not the sizes of arrays that nobody sized, which are as small as can be, nor axes that the kernel ignores."""
    if not freely:
        limits = [each for each in prover.clauses if prover.parts.is_limit(each.condition)]
        return clause in limits and (len(limits) > 1 or _says_not_empty(clause.condition))
    arrays = (prover.contract.arrays[name] for name in prover.launch.unsized)
    unsized = {name for array in arrays for size in array.shape for name in free_names(size)}
    spoken_of = {leaf.symbol.name for leaf in clause.condition.free if leaf.kind is TermKind.VAR}
    return clause not in ignored_axes(frozenset()) and not spoken_of & unsized


def _says_not_empty(condition: Term) -> bool:
    return condition.kind is TermKind.LE and condition.args[0] is t.ONE


def _multiplies(clause: Clause) -> bool:
    return any(part.kind is TermKind.PRODUCT for part in t.postorder(clause.condition))


def _weaker(condition: Term) -> Iterator[list[Clause]]:
    """One of two sizes is at most the other, for sizes that are equal; a number of any sign is not negative, for one
    that is at least a size: ``n >= 0`` for ``size <= n``."""
    if condition.kind is TermKind.EQ:
        a, b = condition.args
        yield from (list(spoken(each)) for each in (t.le(a, b), t.le(b, a)))
    elif condition.kind is TermKind.LE:
        a, b = condition.args
        if a.kind is not TermKind.CONST and (-1 if a.low is None else a.low) >= 0 > (-1 if b.low is None else b.low):
            yield list(spoken(t.le(t.ZERO, b)))


def _proved_under(prover: Prover, clauses: Sequence[Clause]) -> Prover | None:
    """A prover of the same contract that closed every obligation under ``clauses``; ``None`` once one stays open."""
    options = replace(prover.options, limits=CLAUSE_LIMITS)
    tried = Prover.of(replace(prover.attempt, clauses=(), options=options), prover.solver_context)
    tried.adopt(clauses)
    tried.prepare()
    if any(isinstance(tried.prove(obligation), Open) for obligation in tried.kernel.obligations()):
        return None
    tried.attempt = replace(tried.attempt, options=prover.options)
    return tried
