"""Whether a launch has one result, whatever the order of its blocks.

Without scoped accesses a launch that keeps every obligation has: all that blocks share is read only, or ordered by
tokens.  Atomics come in any order, but

    integer add, and, or, xor, max, min (and unsigned max, min) commute with themselves and are associative,

so where every array takes atomics of one such kind only, and nothing depends on what they give back, the sum of all is
one number.  Sums of floats are rounded each time: `False` if two of them can meet on one element.  What else may be one
result all the same (turns, a last block that adds up) is `None`: not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.terms import Term
from ...frontend.symbolic.summary import Access
from .answers import Answer, SolverProtocol
from .footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, awaited, identity, may_share, meet
from .obligations import block_axes
from .protocols.instances import Instance, different, own_instance, variables_of

COMMUTING: Final = frozenset({"add", "and", "or", "xor", "max", "min", "umax", "umin"})
"""Integer updates that commute with those of the same kind."""


def deterministic(sites: Sequence[PreparedSite], contract: Contract, solver: SolverProtocol) -> bool | None:
    """One result (`True`), more than one (`False`), or not known, of a kernel that keeps all its obligations."""
    scoped = [each for each in sites if each.site.atomic]
    verdicts = {_judged(each, scoped, contract, solver) for each in scoped}
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _judged(
    each: PreparedSite, scoped: Sequence[PreparedSite], contract: Contract, solver: SolverProtocol
) -> bool | None:
    site = each.site
    if site.access is not Access.ATOMIC or site.op.startswith("multimem"):
        return None
    if site.mode == "addf":
        together = [other for other in scoped if may_share(other.origin, each.origin, contract)]
        answers = {solver.decide(question).answer for question in _meetings(each, together, contract)}
        if Answer.SATISFIABLE in answers:
            return False
        return None if site.used or answers - {Answer.UNSATISFIABLE} else True
    alike = all(other.site.mode == site.mode for other in scoped if may_share(other.origin, each.origin, contract))
    return True if site.mode in COMMUTING and alike and not site.used else None


def _meetings(each: PreparedSite, others: Sequence[PreparedSite], contract: Contract) -> Iterator[tuple[Term, ...]]:
    """Two executions on one element in no fixed order: of two blocks, or of one without a token between them."""
    one, copy, own = (
        own_instance(each, identity),
        PrimedCopy(CopyLevel.BLOCK, PRIME),
        PrimedCopy(CopyLevel.INSTANCE, PRIME),
    )
    for second in others:
        other = own_instance(second, copy)
        blocks = t.or_(*(t.ne(bid, copy(bid)) for bid in block_axes(contract)))
        yield one.guard, other.guard, blocks, meet(one.here, other.here, contract, lanes_matter=True)
        other = Instance(second, identity, tuple(map(own, variables_of(second.site))))
        ordered = t.or_(
            awaited(each, by=second, own=identity, other=own), awaited(second, by=each, own=own, other=identity)
        )
        apart = t.and_(different(one, other), t.not_(ordered))
        yield one.guard, other.guard, apart, meet(one.here, other.here, contract, lanes_matter=True)
