"""TV712: no access reads an element of an empty array that its own block has not written before.

With g, f of a read R, and g', f' of a store W to the same array, and w the condition under which R waits for W
(`footprint_overlap.awaited`), what must be impossible is

    g(R) and f(R) live  and  for all W:  not (g'(W) and f'(W) live and f'(W) = f(R) and w and W is in range)

where W is the instance that `_instance` names: the iterations and lanes of R.  Naming one instead of asking for any
makes the question harder, so a wrong name costs a proof and makes none wrong.

Why that is enough.  Take an instance of R that a block executes, and W as named.  R waits for W by a token, so W is
before R in the text of the kernel, and all that stands between is done.  What could keep W from being executed although
g' holds is a loop that has ended before, as guards of a `loop` name its first and last iteration only (`loops`); so
such a loop around W must be around R, too, and in the same iteration, which R shows to be executed.  A `return` before
W would have kept R away.  So W is executed, it is ordered before R, and it writes the element.  Other blocks may have
written the element later; what they may do at the same time is a race (TV102), and an obligation of its own.

Reads are loads, and atomics that use what they find: all but an exchange whose result nobody uses.  That one writes as
a store does.  A compare-and-swap may leave the element as it is, so it never counts as written by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.terms import Scope, Term, TermKind
from ...frontend.symbolic.summary import Access, OriginKind, Site, ViewFootprint
from .footprint_overlap import PreparedSite, awaited, identity, one_place, place_terms, touches


def unfilled(read: PreparedSite, sites: Sequence[PreparedSite], contract: Contract) -> tuple[Term, ...] | None:
    """The conditions above for one access; ``None`` where its array is filled, or it reads nothing."""
    site = read.site
    if site.origin.name not in contract.empty or site.origin.kind is not OriginKind.PARAMETER or not reads(site):
        return None
    covered = (_covers(store, read) for store in sites if _writes_whole(store.site, read))
    missed = (t.not_(each) for each in covered if each is not t.FALSE)
    return (read.guard, touches(read.place), *missed)


def reads(site: Site) -> bool:
    """Whether something is made of what it finds in memory."""
    return site.access is Access.READ or site.mode == "cas" or (site.access is Access.ATOMIC and not _sets(site))


def _sets(site: Site) -> bool:
    return site.mode == "xchg" and not site.used


def _writes_whole(site: Site, read: PreparedSite) -> bool:
    """Whether each live lane writes its element of the array that ``read`` reads, whatever it finds there."""
    if site.origin.name != read.site.origin.name or site.origin.kind is not OriginKind.PARAMETER:
        return False
    if site.op.startswith("multimem") or (isinstance(site.footprint, ViewFootprint) and site.footprint.packed):
        return False  # memory of several devices, half of a byte
    return _sets(site) or (site.access is Access.WRITE and site.mode is None)


def _covers(store: PreparedSite, read: PreparedSite) -> Term:
    """That the named instance of ``store`` writes what ``read`` reads, ordered before it."""
    named = _instance(store.site, read.site)
    if named is None or any(map(_is_of_instance, (store.guard, *place_terms(store.place), touches(store.place)))):
        return t.FALSE

    def instance(term: Term) -> Term:
        return t.substitute(term, named)

    return t.and_(
        awaited(store, by=read, own=instance, other=identity),
        instance(store.guard),
        instance(touches(store.place)),
        one_place(store, read, instance),
        *_in_range(store.site, named),
    )


def _instance(store: Site, read: Site) -> Mapping[Term, Term] | None:
    """The iterations and lanes of ``store`` in those of ``read``; ``None`` where the store may not have happened.

    Loops around both are in the same iteration; others go together by their depth, and so do lanes.  What has no
    counterpart is 0.
    """
    shared = 0
    for own, other in zip(store.loops, read.loops, strict=False):
        if own.iteration is not other.iteration:
            break
        shared += 1
    if any(loop.value is None for loop in store.loops[shared:]):
        return None
    named: dict[Term, Term] = {}
    others = [loop.iteration for loop in read.loops[shared:]]
    for number, loop in enumerate(store.loops[shared:]):
        named[loop.iteration] = others[number] if number < len(others) else t.ZERO
    lanes = [lane.variable for lane in read.lanes]
    for number, lane in enumerate(store.lanes):
        named[lane.variable] = lanes[number] if number < len(lanes) else t.ZERO
    return named


def _in_range(store: Site, named: Mapping[Term, Term]) -> Iterator[Term]:
    """That the named iterations and lanes are some, which terms with their variables take for granted."""
    for lane in store.lanes:
        yield t.lt(named[lane.variable], t.const(lane.size))
    for variable, value in named.items():
        for low, high in ((variable.low, value), (value, variable.high)):
            if low is not None and high is not None:
                yield t.le(*(t.const(each) if isinstance(each, int) else each for each in (low, high)))


def _is_of_instance(term: Term) -> bool:
    """Whether it has a value that is new in every iteration or lane, so that no other instance may be put in."""
    return any(
        leaf.kind is TermKind.APPLY and leaf.function.scope in (Scope.ITERATION, Scope.LANE) for leaf in term.free
    )
