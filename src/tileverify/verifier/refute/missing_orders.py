"""Orders that are not shown: what synchronisation between blocks lacks, and tokens that a loop leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ...contract import terms as t
from ...contract.contract import Contract
from ...contract.terms import Term, TermKind
from ...frontend.symbolic.summary import earlier
from ...results import Hint
from ...results.codes import TV
from ..messages import OpenReason, in_words
from ..obligations.footprint_overlap import (
    PRIME,
    CopyLevel,
    PreparedSite,
    PrimedCopy,
    Renaming,
    awaited,
    identity,
    may_share,
)
from ..obligations.obligations import Obligation
from ..obligations.protocols import Protocols
from ..obligations.protocols.instances import (
    Asker,
    Instance,
    acquires,
    changers,
    covers,
    initial_of,
    releases,
    sides_of,
    values_in,
)
from ..obligations.protocols.order import published


def why_open(protocols: Protocols, obligation: Obligation) -> OpenReason | None:
    """What synchronisation has to say about a question that stayed open; ``None``: it has no part in it."""
    explainer = Explainer(protocols.sites, protocols.watched, protocols.contract, protocols.ask)
    if obligation.level == CopyLevel.BLOCK and obligation.first is not None and obligation.second is not None:
        reason = explainer.race(*(protocols.prepared(site) for site in (obligation.first, obligation.second)))
        if reason is not None:
            return reason
    seen = [each for side in sides_of(obligation, protocols.watched) for each in side.seen]
    return explainer.values(seen)


@dataclass(frozen=True, slots=True)
class Lack:
    """``progress``: how much of a protocol was there before this was found missing."""

    progress: int
    text: str
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True, slots=True)
class Explainer:
    sites: Sequence[PreparedSite]
    watched: dict[str, PreparedSite]
    contract: Contract
    ask: Asker

    def race(self, first: PreparedSite, second: PreparedSite) -> OpenReason | None:
        """TV905 for two accesses of different blocks, if one is reached only by what scoped accesses gave back."""
        lacks = [*self._lacks(first, second), *self._lacks(second, first)]
        if not lacks:
            return None
        most = max(lacks, key=lambda lack: lack.progress)
        return OpenReason(
            TV.SYNCHRONISATION_PROTOCOL, f"blocks synchronise with each other, but {most.text}", most.hints
        )

    def values(self, seen: Sequence[Instance]) -> OpenReason | None:
        """TV901 for a question about values that scoped accesses gave back."""
        arrays = dict.fromkeys(each.origin.origin.name for each in seen)
        if not arrays:
            return None
        names = ", ".join(f"`{array}`" for array in arrays)
        text = f"the address or the path depends on what atomic and scoped accesses read from {names}"
        unknown = {
            each.origin.origin.name
            for each in seen
            if initial_of(each.origin.origin, self.sites, self.contract) is None
        }
        if unknown:
            text += ", and no data fact says what is there when the launch begins"
        return OpenReason(TV.DATA_DEPENDENT, text, tuple(starts_at_zero(array) for array in arrays if array in unknown))

    def _lacks(self, x: PreparedSite, y: PreparedSite) -> Iterator[Lack]:
        for seen in values_in([y.guard], self.watched, {"": identity})[""]:
            yield self._lack(x, y, seen)

    def _lack(self, x: PreparedSite, y: PreparedSite, seen: Instance) -> Lack:
        """What keeps ``x`` from coming before ``y`` by what ``seen`` gave back in the block of ``y``."""
        read, name = seen.origin, seen.origin.origin.name
        if not covers(read):
            return Lack(0, f"{in_words(read.site)} has a scope that includes no other block")
        if not acquires(read):
            return Lack(1, f"{in_words(read.site)} is {read.site.ordering}, so nothing is ordered behind it")
        if awaited(read, by=y, own=seen, other=identity) is t.FALSE:
            return Lack(2, f"{in_words(y.site)} does not wait for the token of {in_words(read.site)}")
        writers = changers(read.origin, self.sites, self.contract)
        if writers is None:
            return Lack(3, f"`{name}` is also written {self._strangely(read)}")
        unreleased = [each for each in writers if not releases(each)]
        if len(unreleased) == len(writers):
            what = f"{in_words(writers[0].site)} does not release" if writers else f"nobody writes `{name}`"
            return Lack(4, what)
        left = [each for each in writers if releases(each) and published(self.ask, x, each) is None]
        if len(left) + len(unreleased) == len(writers):
            return Lack(5, f"{in_words(left[0].site)} does not always wait for the token of {in_words(x.site)}")
        if initial_of(read.origin, self.sites, self.contract) is None:
            text = f"no data fact says what `{name}` holds when the launch begins"
            return Lack(6, text, (starts_at_zero(name),))
        return Lack(7, f"the protocol through `{name}`, read by {in_words(read.site)}, is not one that is understood")

    def _strangely(self, read: PreparedSite) -> str:
        """By which access a protocol's array is written that is no part of it."""
        for each in self.sites:
            if each.site.writes and may_share(each.origin, read.origin, self.contract):
                site = each.site
                if not covers(each):
                    how = "weak" if site.scope is None else f"of scope {site.scope}"
                    return f"by {in_words(site)}, which is {how}"
                if each.origin.name != read.origin.name or site.footprint.element_bytes != read.origin.element_bytes:
                    return f"by {in_words(site)}, through another array or in another size"
        return "in a way that is not followed"


def starts_at_zero(array: str) -> Hint:
    text = f'if `{array}` holds 0 when the launch begins, add data = ["range({array}, 0, 1)"] to the launch spec'
    return Hint("declare-range", "maybe", text)


# ----------------------------------------------------------------------------------------------------------- loop exits
# Tokens that a loop leaves behind: orders that hold if a token covers the earlier iterations of its op as well.
#
# nvcc passes on only the last iteration's token of a loop that it believes to touch every element once.  Read by the
# letter, the iterations before are not ordered with what follows; the specification does not settle it.  What is open
# by the letter and settled in the other reading is TV907, never proved.


def left_behind(first: PreparedSite, second: PreparedSite) -> Term:
    """For two accesses of one block (`obligations.inside_block`): one stands behind a loop around the other, and waits
    for a later iteration of it."""
    copy = PrimedCopy(CopyLevel.INSTANCE, PRIME)
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
