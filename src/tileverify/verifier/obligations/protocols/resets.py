"""Counters that the last block puts back, as a kernel does that is to be launched again with the same counter.

Whatever else writes a counter must come behind all its additions.  Let at most K blocks add c, each once, to a location
that held v0 < high, and let R write there.  If wherever R takes place its block has an addition A to the same location
that R waits for, and A gave back v with

    guard(R)  ->  v >= (high - 1) + c * (K - 1)                                                         (last)

then all K additions are over: take the R that comes first in the order of modifications.  What stands before it there
are additions alone, so that A found v = v0 + c * n with n of them before it, and n >= K - 1: all others.  R stands
behind A, as it waits for A.  So no addition ever reads what such an R writes, and what `counters` says of additions
stays true.  What it says of loads does not: they may find what R wrote.

That R does not race with the other blocks' additions is a question of its own (TV103): it needs their release and A's
acquire.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term
from ..footprint_overlap import PreparedSite, awaited, identity, meet
from .ground import Asker, Ground
from .instances import own_instance, variables_of


def behind_all(
    resets: Sequence[PreparedSite], adds: Sequence[PreparedSite], most: Term, contract: Contract, ask: Asker
) -> tuple[Ground, ...] | None:
    """Why (last) holds for each of ``resets``, if it does; ``most``: what the last addition gives back at least."""
    grounds: list[Ground] = []
    for reset in resets:
        tried = (_behind(reset, add, most, contract, ask) for add in adds)
        found = next((ground for ground in tried if ground is not None), None)
        if found is None:
            return None
        grounds += [found] if found else []
    return tuple(grounds)


def _behind(reset: PreparedSite, add: PreparedSite, most: Term, contract: Contract, ask: Asker) -> Ground | None:
    if variables_of(add.site) or add.site.value is None:
        return None
    waits = awaited(add, by=reset, own=identity, other=identity)
    last = t.le(most, own_instance(add, identity).value)
    holds = t.and_(add.guard, waits, meet(add, reset, contract, lanes_matter=True), last)
    return ask.refuses(reset.guard, t.not_(holds))
