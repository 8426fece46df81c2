"""Counters: arrays that a launch changes by atomic additions alone, of one positive number, until the last one is over.

Source: Tile IR specification, memory model.  Read-modify-writes of one location that carry scopes which include each
other's block are atomic: in the order of modifications each reads what the one before it wrote.  So if the n-th
addition of c to a location that held v0 returns r_n, then, as long as nothing wraps,

    r_n = v0 + c * n                                                                                   (count)

and with at most T additions to the location

    v0 <= r <= v0 + c * (T - 1),    a load gives  v0 <= v <= v0 + c * T                               (bounds)
    two different additions return different values, if  c * T <= 2**N                                (tickets)

If the additions are of numbers c_n of their own, 0 <= c_n <= c (an uneven counter), the bounds hold as they stand, and

    of two additions one returned at least what the other one did and added                          (reserved)

T is derived, never assumed; see `total`.  What is written behind all additions changes nothing of this (`resets`), but
for loads, which may find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Final

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.facts.form import Subject
from ....contract.facts.kinds import subject_of
from ....contract.terms import Scope, Term, TermKind
from ....contract.variables import BID, GRID
from ....frontend.symbolic.summary import Access, Origin
from ....results.codes import TV
from ..footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, awaited, identity, meet
from ..layout import IndexFootprint
from ..obligations import Obligation, block_axes
from .instances import (
    Asker,
    Initial,
    Instance,
    SideCondition,
    covers,
    different,
    element_writers,
    initial_of,
    own_instance,
    puts_back,
    values_in,
    variables_of,
    watched,
)


@dataclass(frozen=True, slots=True)
class Counter:
    """``adds``: all that writes the array, but for ``resets``, each adding ``step`` > 0 to integers of ``bits`` bits.

    ``even``: each adds exactly that; else from 0 up to that.

    ``once``: a block adds at most once to one location; then ``blocks`` bounds how many blocks add there at all.
    ``rank``: a number from 0 up to ``blocks`` that tells those blocks apart, if one is known.
    ``total``: how many additions there are to one location; ``initial``: what it holds at first, where nothing wraps.
    ``distinct``: additions to one location return different values.  ``side_conditions``: why.
    """

    origin: Origin
    adds: tuple[PreparedSite, ...]
    step: int
    once: bool
    blocks: Term
    total: Term | None
    initial: Initial | None
    distinct: bool
    side_conditions: tuple[SideCondition, ...]
    resets: tuple[PreparedSite, ...] = ()
    even: bool = True
    rank: Term | None = None

    def tells(self, prepared: PreparedSite) -> bool:
        """Whether what ``prepared`` found in the counter says how many additions there were before."""
        return not self.resets or self.adds_by(prepared)

    def adds_by(self, prepared: PreparedSite) -> bool:
        """Whether ``prepared``, which accesses the counter, adds to it; what puts back what it reads does not."""
        return any(add.site.number == prepared.site.number for add in self.adds)


def find_counter(
    origin: Origin,
    sites: Sequence[PreparedSite],
    contract: Contract,
    ask: Asker,
    data: Callable[[SideCondition], Iterable[Term]],
    explained: Callable[[Obligation], Obligation],
) -> Counter | None:
    """``origin`` as a counter, if all that may write its memory adds one and the same positive constant to it, or
    numbers from 0 up to a constant.

    ``data``: what facts on data say of the values in a question.  ``explained``: a question with what is known of the
    values in other arrays that blocks synchronise through.

    What writes something else has to come behind all additions.
    """
    writers = element_writers(origin, sites, contract) or ()
    changing = tuple(each for each in writers if not (covers(each) and puts_back(each)))
    adds = tuple(each for each in changing if covers(each) and _step(each) is not None)
    steps = {step for each in adds if (step := _step(each)) is not None}
    if len(steps) != 1:
        return _uneven(origin, changing, initial_of(origin, sites, contract), contract, ask, data)
    analysis = _Analysis(origin, adds, steps.pop(), initial_of(origin, sites, contract), contract, ask)
    counter = replace(analysis, watched=watched(sites), explained=explained).counter()
    resets = tuple(each for each in changing if each not in adds)
    return _put_back(counter, resets, contract, ask) if resets else counter


_USUAL_ENDS: Final = frozenset(1 << bits for bits in (5, 10, 15, 20))


def _uneven(
    origin: Origin, adds: tuple[PreparedSite, ...], initial: Initial | None, contract: Contract, ask: Asker,
    data: Callable[[SideCondition], Iterable[Term]],
) -> Counter | None:  # fmt: skip
    """All that writes the memory adds a number of its own, from 0 up to a constant."""
    if not adds or initial is None or any(each.site.mode != "add" or each.site.argument is None for each in adds):
        return None
    if not all(map(covers, adds)):
        return None
    ends = [fact.high for fact in contract.data if subject_of(fact) is Subject.LIMITS and fact.high is not None]
    known = {end.value for end in ends if end.kind is TermKind.CONST and end.value > 1}
    for end in sorted(known | _USUAL_ENDS):
        outside = (_outside(each, end) for each in adds)
        within = ask.refuses_all((*question, *data(question)) for question in outside)
        if within is not None:
            counter = _Analysis(origin, adds, end - 1, initial, contract, ask, even=False).counter()
            side_conditions = (*within, *counter.side_conditions)
            return replace(counter, distinct=False, side_conditions=side_conditions)
    return None


def _outside(add: PreparedSite, end: int) -> SideCondition:
    assert add.site.argument is not None
    return add.guard, t.or_(t.lt(add.site.argument, t.ZERO), t.le(t.const(end), add.site.argument))


def _put_back(counter: Counter, resets: tuple[PreparedSite, ...], contract: Contract, ask: Asker) -> Counter | None:
    if not counter.once or not counter.even or counter.initial is None:
        return None
    others = t.scale(counter.step, t.sub(counter.blocks, t.ONE))
    most = t.add(t.sub(counter.initial.high, t.ONE), others)
    side_conditions = behind_all(resets, counter.adds, most, contract, ask)
    return (
        None
        if side_conditions is None
        else replace(counter, resets=resets, side_conditions=(*counter.side_conditions, *side_conditions))
    )


def _step(prepared: PreparedSite) -> int | None:
    """The positive constant that a site adds; ``None`` for anything else."""
    site = prepared.site
    if site.access is not Access.ATOMIC or site.mode != "add" or site.argument is None:
        return None
    constant = site.argument.kind is TermKind.CONST and site.argument.value > 0
    return site.argument.value if constant else None


@dataclass
class _Analysis:
    origin: Origin
    adds: tuple[PreparedSite, ...]
    step: int
    initial: Initial | None
    contract: Contract
    ask: Asker
    even: bool = True
    watched: Mapping[str, PreparedSite] = field(default_factory=dict)
    explained: Callable[[Obligation], Obligation] = field(default=lambda question: question)

    def counter(self) -> Counter:
        bits = 8 * self.origin.element_bytes
        side_conditions: list[SideCondition] = []
        initial = self.initial
        once = self._once()
        blocks, total, rank = self._all_blocks(), None, None
        if once is not None:
            side_conditions += once
            blocks, reasons, rank = self._blocks()
            side_conditions += reasons
            total = blocks
        elif (known := self._static_total()) is not None:
            total = known
        elif self.even and initial is not None and (drawn := self._drawn(initial)) is not None:
            total, reasons = drawn
            side_conditions += reasons
        distinct = False
        if total is not None:
            # (tickets): c * T <= 2**N
            fits = self.ask.refuses(t.lt(t.const(1 << bits), t.scale(self.step, total)))
            distinct = fits is not None
            side_conditions += [fits] if fits else []
        if initial is not None:
            # (bounds): v0 + c * T < 2**(N-1) for every v0
            end = None if total is None else t.add(initial.high, t.scale(self.step, total))
            fits = None if end is None else self.ask.refuses(t.lt(t.const(1 << (bits - 1)), end))
            side_conditions += [fits] if fits else []
            initial = None if fits is None else initial
        return Counter(
            self.origin,
            self.adds,
            self.step,
            once is not None,
            blocks,
            total,
            initial,
            distinct,
            tuple(side_conditions),
            even=self.even,
            rank=rank,
        )

    # ------------------------------------------------------------------------------------ how many blocks
    def _once(self) -> tuple[SideCondition, ...] | None:
        """Two different additions of one block never go to one location."""
        return self.ask.refuses_all(self._repetitions())

    def _repetitions(self) -> Iterator[SideCondition]:
        copy = PrimedCopy(CopyLevel.INSTANCE, PRIME)
        for first, second in combinations_with_replacement(self.adds, 2):
            if first is second and not variables_of(first.site):
                continue
            one = own_instance(first, identity)
            other = Instance(second, identity, tuple(map(copy, variables_of(second.site))))
            yield one.guard, other.guard, different(one, other), meet(one.here, other.here, self.contract)

    def _all_blocks(self) -> Term:
        return t.product(self.contract.values.get(grid, grid) for grid in GRID)

    def _blocks(self) -> tuple[Term, list[SideCondition], Term | None]:
        """At most so many blocks add to one location: the grid's size along the axes that the location leaves open; and
        the rank that bounds them, if one does.

        location(b) = location(b')  ->  b[d] = b'[d]      for every axis d that is left out
        """
        side_conditions: list[SideCondition] = []
        count = t.ONE
        for bid, grid in zip(BID, GRID, strict=True):
            size = self.contract.values.get(grid, grid)
            if size is t.ONE:
                continue
            found = self.ask.refuses_all(
                (*pair, t.ne(bid, PrimedCopy(CopyLevel.BLOCK, PRIME)(bid))) for pair in self._meetings()
            )
            if found is None:
                count = t.mul(count, size)
            else:
                side_conditions += found
        ranked = None if count is t.ONE else self._ranked(count)
        return (count, side_conditions, None) if ranked is None else ranked

    def _meetings(self) -> Iterator[SideCondition]:
        """Two blocks that add to one location."""
        copy = PrimedCopy(CopyLevel.BLOCK, PRIME)
        for first in self.adds:
            for second in self.adds:
                if first.site.number <= second.site.number:
                    one, other = own_instance(first, identity), own_instance(second, copy)
                    yield one.guard, other.guard, meet(one.here, other.here, self.contract)

    def _ranked(self, count: Term) -> tuple[Term, list[SideCondition], Term] | None:
        """The same by a number that tells blocks of one location apart: the remainder of a quotient in the location or
        in the way to the addition, the quotient of a remainder, or the distance from a limit on the way.

            location(b) = location(b') and rank(b) = rank(b')  ->  b = b',     0 <= rank(b) < n

        One n for all blocks: a divisor that differs between them bounds each block's own rank alone.
        """
        copy = PrimedCopy(CopyLevel.BLOCK, PRIME)
        differ = t.or_(*(t.ne(bid, copy(bid)) for bid in block_axes(self.contract)))
        ranks = [*self._ranks_by_location(), *((rank, t.minimum(size, count)) for rank, size in self._ranks_by_path())]
        for rank, size in dict.fromkeys(each for each in ranks if all(map(_of_launch, each[1].free))):
            outside = t.or_(t.lt(rank, t.ZERO), t.le(size, rank))
            within = self.ask.refuses_all((own_instance(add, identity).guard, outside) for add in self.adds)
            pairs = ((*pair, t.eq(rank, copy(rank)), differ) for pair in self._meetings())
            apart = None if within is None else self._apart(pairs)
            if within is not None and apart is not None:
                return size, [*within, *apart], rank
        return None

    def _apart(self, pairs: Iterable[SideCondition]) -> list[SideCondition] | None:
        """Why ``pairs``, conditions on additions of two blocks, cannot hold; by what else the blocks have read, too."""
        side_conditions: list[SideCondition] = []
        for conditions in pairs:
            refused = self.ask.refuses(*conditions)
            if refused is None and len(self.adds) == 1:
                add = self.adds[0].site
                question = Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, add, add, level=CopyLevel.BLOCK)
                question = self.explained(question)
                refused = self.ask.refuses(*question.conditions)
                side_conditions += question.side_conditions
            if refused is None:
                return None
            side_conditions += [refused] if refused else []
        return side_conditions

    def _ranks_by_location(self) -> Iterator[tuple[Term, Term]]:
        for add in self.adds:
            for coordinate in self._coordinates(add):
                yield from self._divided(coordinate)

    def _divided(self, term: Term) -> Iterator[tuple[Term, Term]]:
        for part in t.postorder(term):
            if part.kind is TermKind.DIV:
                yield t.floormod(*part.args), part.args[1]
            elif part.kind is TermKind.MOD and part.args[0] in self._limits():
                yield t.floordiv(*part.args), t.ceildiv(self._limits()[part.args[0]], part.args[1])

    def _ranks_by_path(self) -> Iterator[tuple[Term, Term]]:
        """Only blocks below a limit add, or those from it on, or every n-th."""
        for add in self.adds:
            yield from self._divided(add.guard)
            for seen in values_in((add.guard,), self.watched, {"": identity})[""]:
                yield from self._groups(seen.origin)
            for part in t.postorder(add.guard):
                if part.kind in (TermKind.LT, TermKind.LE, TermKind.EQ):
                    for bid, bound in (part.args, part.args[::-1]):
                        if bid in self._limits() and bid is not bound:
                            yield bid, bound
                            yield t.sub(bid, bound), t.sub(self._limits()[bid], bound)

    def _groups(self, seen: PreparedSite) -> Iterator[tuple[Term, Term]]:
        """A block has found something at the place of its group."""
        for coordinate in self._coordinates(seen):
            for part in t.postorder(coordinate):
                if part.kind is TermKind.DIV and part.args[0] in self._limits():
                    yield part, t.ceildiv(self._limits()[part.args[0]], part.args[1])

    def _coordinates(self, prepared: PreparedSite) -> Sequence[Term]:
        place = prepared.place
        return place.coordinates if isinstance(place, IndexFootprint) else (place.offset,)

    def _limits(self) -> dict[Term, Term]:
        return {bid: self.contract.values.get(grid, grid) for bid, grid in zip(BID, GRID, strict=True)}

    # --------------------------------------------------------------------------------- how many additions
    def _static_total(self) -> Term | None:
        """Blocks times executions of each, where all loops around the additions have known lengths."""
        each = 0
        for add in self.adds:
            count = 1
            for variable in variables_of(add.site):
                if variable.high is None:
                    return None
                count *= variable.high + 1
            each += count
        return t.scale(each, self._all_blocks())

    def _drawn(self, initial: Initial) -> tuple[Term, list[SideCondition]] | None:
        """A queue: a block draws again only if what it drew was below some launch-known B.

            guard_S(k + 1)  ->  r_S(k) < B        for the additions S in a loop, all others happen once in a block

        Until something wraps, at most max(B - v0, 0) additions return less than B; of the others, a block makes at
        most one at each site.  So there are at most  T = max(B - v0, 0) + blocks * sites  additions, and if
        v0 + c * T does not wrap, nothing does: the first T + 1 additions would contain one too many.
        """
        loops = {add.site.loops[0].name for add in self.adds if add.site.loops}
        if len(loops) > 1 or any(len(add.site.loops) > 1 or add.site.lanes for add in self.adds):
            return None
        inside = [add for add in self.adds if add.site.loops]
        for bound in dict.fromkeys(bound for add in inside for bound in self._bounds(add)):
            side_conditions = self.ask.refuses_all(self._drawn_again(add, bound) for add in inside)
            if side_conditions is not None:
                drawn = t.maximum(t.sub(bound, initial.low), t.ZERO)
                return t.add(drawn, t.scale(len(self.adds), self._all_blocks())), list(side_conditions)
        return None

    def _drawn_again(self, add: PreparedSite, bound: Term) -> SideCondition:
        now = own_instance(add, identity)
        then = Instance(add, identity, (t.add(now.args[0], t.ONE),))
        return t.le(t.ZERO, now.args[0]), then.guard, t.le(bound, now.value)

    def _bounds(self, add: PreparedSite) -> Iterator[Term]:
        """What the values that this site draws are compared with."""
        function = add.site.value.function if add.site.value is not None else None
        for part in t.postorder(add.guard):
            if part.kind not in (TermKind.LT, TermKind.LE):
                continue
            for drawn, bound in (part.args, part.args[::-1]):
                mentions = any(leaf.kind is TermKind.APPLY and leaf.function == function for leaf in drawn.free)
                if mentions and all(_of_launch(leaf) for leaf in bound.free):
                    yield from (bound, t.add(bound, t.ONE))


def _of_launch(leaf: Term) -> bool:
    return (leaf.function if leaf.kind is TermKind.APPLY else leaf.symbol).scope is Scope.LAUNCH


# --------------------------------------------------------------------------------------------------------------- resets
# Counters that the last block puts back, as a kernel does that is to be launched again with the same counter.
#
# Whatever else writes a counter must come behind all its additions.  Let at most K blocks add c, each once, to a
# location that held v0 < high, and let R write there.  If wherever R takes place its block has an addition A to the
# same location that R waits for, and A gave back v with
#
#     guard(R)  ->  v >= (high - 1) + c * (K - 1)                                                         (last)
#
# then all K additions are over: take the R that comes first in the order of modifications.  What stands before it there
# are additions alone, so that A found v = v0 + c * n with n of them before it, and n >= K - 1: all others.  R stands
# behind A, as it waits for A.  So no addition ever reads what such an R writes, and what `counters` says of additions
# stays true.  What it says of loads does not: they may find what R wrote.
#
# That R does not race with the other blocks' additions is a question of its own (TV103): it needs their release and A's
# acquire.


def behind_all(
    resets: Sequence[PreparedSite], adds: Sequence[PreparedSite], most: Term, contract: Contract, ask: Asker
) -> tuple[SideCondition, ...] | None:
    """Why (last) holds for each of ``resets``, if it does; ``most``: what the last addition gives back at least."""
    side_conditions: list[SideCondition] = []
    for reset in resets:
        tried = (_behind(reset, add, most, contract, ask) for add in adds)
        found = next((ground for ground in tried if ground is not None), None)
        if found is None:
            return None
        side_conditions += [found] if found else []
    return tuple(side_conditions)


def _behind(reset: PreparedSite, add: PreparedSite, most: Term, contract: Contract, ask: Asker) -> SideCondition | None:
    if variables_of(add.site) or add.site.value is None:
        return None
    waits = awaited(add, by=reset, own=identity, other=identity)
    last = t.le(most, own_instance(add, identity).value)
    holds = t.and_(add.guard, waits, meet(add, reset, contract, lanes_matter=True), last)
    return ask.refuses(reset.guard, t.not_(holds))
