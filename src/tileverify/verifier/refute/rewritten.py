"""Addresses that come through memory which the kernel itself writes.

What such a load gives is open for the prover, and known to the replay: the contents when the launch began, or what the
kernel stored there.  Where all of that is integers of arrays, a replay with various contents tells what may happen;
where floats or sums over tiles have a part in it, a few contents say little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...contract.terms import Function, Scope, Term, TermKind
from ...frontend.symbolic.summary import Access, Origin, OriginKind, Site


def rewritten_arrays(terms: Iterable[Term], sites: Sequence[Site]) -> frozenset[str] | None:
    """The arguments whose contents ``terms`` come from; ``None`` where something else than plain loads has a part."""
    loads = _loads(sites)
    left, seen, found = list(terms), set[Function](), set[str]()
    while left:
        for leaf in left.pop().free:
            if leaf.kind is not TermKind.APPLY or leaf.function in seen:
                continue
            seen.add(leaf.function)
            if leaf.function.array is not None:
                found.add(leaf.function.array)
            elif leaf.function in loads:
                origin = loads[leaf.function].origin
                stored = _stored(origin, sites)
                if stored is None:
                    return None
                found.add(origin.name)
                left += stored
            elif leaf.function.scope is not Scope.LAUNCH:
                return None
    return frozenset(found)


def _loads(sites: Sequence[Site]) -> dict[Function, Site]:
    """Plain loads by the functions that stand for what they gave; what their masks depend on is not of them."""
    loads: dict[Function, Site] = {}
    for site in sites:
        if site.access is Access.READ and not site.atomic and site.value is not None:
            of_mask = _functions(site.guard)
            loads |= dict.fromkeys((f for f in _functions(site.value) if f not in of_mask), site)
    return loads


def _functions(term: Term) -> set[Function]:
    return {
        leaf.function for leaf in term.free if leaf.kind is TermKind.APPLY and leaf.function.scope is not Scope.LAUNCH
    }


def _stored(origin: Origin, sites: Sequence[Site]) -> list[Term] | None:
    """What plain stores write to the argument; ``None`` where the array is none, or the values are not known."""
    if origin.kind is not OriginKind.PARAMETER:
        return None
    values: list[Term] = []
    for site in sites:
        if site.writes and (site.origin.kind is not OriginKind.PARAMETER or site.origin.name == origin.name):
            if site.access is not Access.WRITE or site.atomic or site.argument is None:
                return None
            values.append(site.argument)
    return values
