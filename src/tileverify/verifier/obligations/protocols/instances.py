"""Arrays that blocks synchronise through, and the executions of accesses to them: which one a value belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeAlias

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.element_types import INT_BITS
from ....contract.facts.form import Subject
from ....contract.facts.kinds import subject_of
from ....contract.terms import FALSE, ONE, Function, Scope, Term, TermKind, and_, neg, sub
from ....frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ....frontend.symbolic.summary import Access, Loop, LoopValue, Origin, OriginKind, Promise, Site
from ..answers import Answer, SolverProtocol
from ..fact_use import in_a_row
from ..footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, Renaming, identity, may_share, renamed
from ..layout import IndexFootprint
from ..obligations import Obligation

COVERING: Final = frozenset({MemoryScope.DEVICE, MemoryScope.SYSTEM})
"""Scopes that include every block of the launch."""
ACQUIRES: Final = frozenset({MemoryOrdering.ACQUIRE, MemoryOrdering.ACQ_REL})
RELEASES: Final = frozenset({MemoryOrdering.RELEASE, MemoryOrdering.ACQ_REL})
_NEUTRAL: Final = {"add": 0, "or": 0, "xor": 0, "and": -1}
"""The operand with which an atomic changes nothing."""


@dataclass(frozen=True, slots=True)
class Initial:
    """What a data fact of the contract says of the contents when the launch begins: ``low <= v0 < high``."""

    low: Term
    high: Term

    def farthest(self, sign: int) -> Term:
        """The greatest that ``sign * v0`` can be."""
        return sub(self.high, ONE) if sign > 0 else neg(self.low)


def covers(prepared: PreparedSite) -> bool:
    """Its scope includes every block: with another such access it is morally strong."""
    return prepared.site.scope in COVERING


def acquires(prepared: PreparedSite) -> bool:
    return covers(prepared) and prepared.site.ordering in ACQUIRES


def releases(prepared: PreparedSite) -> bool:
    return covers(prepared) and prepared.site.ordering in RELEASES


def element_writers(
    origin: Origin, sites: Sequence[PreparedSite], contract: Contract
) -> tuple[PreparedSite, ...] | None:
    """All that may write the memory of ``origin``, if each writes whole elements through it, with whatever scope.

    Elements then are either the same or share no byte, as accesses are aligned (TV302).  Multicast accesses reach the
    memory of other devices as well and are left out.
    """
    if origin.kind not in (OriginKind.PARAMETER, OriginKind.GLOBAL):
        return None
    writers = tuple(each for each in sites if each.site.writes and may_share(each.origin, origin, contract))
    for each in writers:
        same = each.origin.name == origin.name and each.origin.kind is origin.kind
        if each.site.op.startswith("multimem") or not same:
            return None
        if each.site.footprint.element_bytes != origin.element_bytes:
            return None
    return writers


def only_writers(origin: Origin, sites: Sequence[PreparedSite], contract: Contract) -> tuple[PreparedSite, ...] | None:
    """The same, if each covers all blocks."""
    writers = element_writers(origin, sites, contract)
    return None if writers is None or not all(map(covers, writers)) else writers


def changers(origin: Origin, sites: Sequence[PreparedSite], contract: Contract) -> tuple[PreparedSite, ...] | None:
    """`only_writers` without those that put back what they read, as a wait by ``atomic_add(flag, 0)`` does.

    Such a read-modify-write leaves every value where it is and goes on with the release sequence that it reads from
    (Tile IR specification, memory model): who reads what it wrote synchronises with whoever put the value there.
    """
    writers = only_writers(origin, sites, contract)
    return None if writers is None else tuple(each for each in writers if not puts_back(each))


def puts_back(prepared: PreparedSite) -> bool:
    """It changes nothing: an atomic whose operand is neutral, or a swap of a value for itself."""
    site = prepared.site
    if site.mode == "cas":
        return site.argument is not None and site.compare is site.argument
    if site.access is not Access.ATOMIC or site.argument is None or site.argument.kind is not TermKind.CONST:
        return False
    return site.argument.value == _NEUTRAL.get(site.mode or "")


def initial_of(origin: Origin, sites: Sequence[PreparedSite], contract: Contract) -> Initial | None:
    """The range of the elements of ``origin``, as integers in their signed reading.

    An unsigned range is the same in both readings if it stays below half of the type.
    """
    array = contract.arrays.get(origin.name)
    if origin.kind is not OriginKind.PARAMETER or array is None:
        return None
    if INT_BITS.get(array.dtype) != 8 * origin.element_bytes:
        return None
    counted = (isinstance(each.place, IndexFootprint) for each in sites if each.origin.name == origin.name)
    if not all(counted) and in_a_row(array, contract) is None:
        return None  # perhaps between two elements, of which no fact speaks
    for data in contract.data:
        if subject_of(data) is Subject.LIMITS and data.fact.array == origin.name and not data.fact.unless:
            assert data.low is not None
            assert data.high is not None
            alike = _within(data.low, data.high, 1 << (8 * origin.element_bytes - 1))
            return Initial(data.low, data.high) if alike or array.dtype[0] == "i" else None
    return None


def _within(low: Term, high: Term, most: int) -> bool:
    return low.low is not None and low.low >= 0 and high.high is not None and high.high <= most


# --------------------------------------------------------------------------------------------------------------- ground
# Side questions: what a rule about protocols must know of a kernel before it may be used.


SideCondition: TypeAlias = tuple[Term, ...]
"""Conditions that were shown to contradict what every launch satisfies."""


@dataclass
class Asker:
    """Asks each question once; `side_conditions` of a certificate's walk ask them again of whoever answers there."""

    solver: SolverProtocol
    _known: dict[frozenset[Term], bool] = field(default_factory=dict)

    def refuses(self, *conditions: Term) -> SideCondition | None:
        """The conditions, if they cannot hold together; an empty ground where that is plain."""
        whole = and_(*conditions)
        if whole is FALSE:
            return ()
        key = frozenset(conditions)
        if key not in self._known:
            self._known[key] = self.solver.decide(conditions).answer is Answer.UNSATISFIABLE
        return conditions if self._known[key] else None

    def refuses_all(self, questions: Iterable[SideCondition]) -> tuple[SideCondition, ...] | None:
        """The side conditions of all ``questions``; ``None`` as soon as one of them may hold."""
        side_conditions = []
        for question in questions:
            ground = self.refuses(*question)
            if ground is None:
                return None
            side_conditions += [ground] if ground else []
        return tuple(side_conditions)


# ------------------------------------------------------------------------------------------------------------ instances
# Executions of synchronising accesses: which one a value in a question belongs to, and when it has happened.
#
# A scoped load or an atomic gives back a value of its own for every execution: the application of the site's function
# to iterations and lanes (`Site.value`).  So whoever finds ``f(a)`` in a question knows the execution that it speaks
# of. Facts about that value hold only if the execution took place.  Within one block program order says so:
#
#     before(S(a), X)  :=  a  <lex  iterations of X, over the loops that S and X share
#                          or equal there, and S stands before X in the text, and every other loop around S
#                          was left behind iteration a (a_j <= last_j for loops that end by a break)
#                          and  0 <= a < ranges  and  guard_S(a)
#
# X itself is executed, so all that its block's control passed on the way to X is, too.  For a loop that ends by a break
# the guard alone would not do: it names the first and the last of the iterations before, and lets through some that
# never run.


@dataclass(frozen=True)
class Instance:
    """One execution of ``origin``, in the block that ``block`` renames to; ``args``: its iterations, then its lanes.

    ``here``: the same site with these in place of its variables.
    """

    origin: PreparedSite
    block: Renaming
    args: tuple[Term, ...]

    @property
    def site(self) -> Site:
        return self.origin.site

    @cached_property
    def here(self) -> PreparedSite:
        return renamed(self.origin, self)

    @cached_property
    def _bound(self) -> dict[Term, Term]:
        pairs = zip(map(self.block, variables_of(self.site)), self.args, strict=True)
        return {variable: argument for variable, argument in pairs if variable is not argument}

    def __call__(self, term: Term) -> Term:
        """A term of the site, of this execution."""
        return t.substitute(self.block(term), self._bound) if self._bound else self.block(term)

    @cached_property
    def guard(self) -> Term:
        """The path condition, with ranges: the executions that there are at most."""
        return t.and_(*_ranges(zip(variables_of(self.site), self.args, strict=True)), self(self.origin.guard))

    @cached_property
    def value(self) -> Term:
        assert self.site.value is not None
        return self(self.site.value)

    @property
    def argument(self) -> Term | None:
        return None if self.site.argument is None else self(self.site.argument)


def variables_of(site: Site) -> tuple[Term, ...]:
    """Iterations and lanes."""
    return (*(loop.iteration for loop in site.loops), *(lane.variable for lane in site.lanes))


def own_instance(prepared: PreparedSite, block: Renaming) -> Instance:
    """The execution that the site's own variables, as ``block`` renames them, describe."""
    return Instance(prepared, block, tuple(map(block, variables_of(prepared.site))))


def different(first: Instance, second: Instance) -> Term:
    """That two executions of one block are not the same one."""
    if first.site.number != second.site.number:
        return t.TRUE
    return t.or_(*(t.ne(a, b) for a, b in zip(first.args, second.args, strict=True)))


def _ranges(pairs: Iterable[tuple[Term, Term]]) -> Iterator[Term]:
    for variable, value in pairs:
        if value is not variable:
            if variable.low is not None:
                yield t.le(t.const(variable.low), value)
            if variable.high is not None:
                yield t.le(value, t.const(variable.high))


# -------------------------------------------------------------------------------------------- program order
@dataclass(frozen=True, slots=True)
class Point:
    """An access or a promise that is reached, in the block and iteration that ``rename`` says."""

    number: int | None
    offset: int
    loops: tuple[Loop, ...]
    rename: Renaming

    @classmethod
    def at(cls, item: Site | Promise, rename: Renaming) -> Point:
        return cls(item.number if isinstance(item, Site) else None, item.offset, item.loops, rename)


def before(instance: Instance, point: Point) -> Term:
    """That ``instance`` took place, because ``point``, of the same block, is reached behind it (or is it)."""
    site, args = instance.site, instance.args
    shared = _shared(site.loops, point.loops)
    happened, same = t.FALSE, t.TRUE
    for depth in range(shared):
        now = point.rename(point.loops[depth].iteration)
        happened = t.or_(happened, t.and_(same, t.lt(args[depth], now), _left(instance, depth + 1)))
        same = t.and_(same, t.eq(args[depth], now))
    if site.offset < point.offset or site.number == point.number:
        happened = t.or_(happened, t.and_(same, _left(instance, shared)))
    return t.and_(happened, instance.guard)


def entered(instance: Instance, point: Point) -> Iterator[Term]:
    """What is known of the iterations before the one that ``point`` is in: each of them was entered.

    for a loop around both, where those outside it are in one iteration:  0 <= a <= k  ->  reached(a)
    """
    same = t.TRUE
    for depth in range(_shared(instance.site.loops, point.loops)):
        loop, argument = instance.site.loops[depth], instance.args[depth]
        now = point.rename(point.loops[depth].iteration)
        if loop.reached is not t.TRUE and argument is not now:
            known = t.and_(same, t.le(t.ZERO, argument), t.le(argument, now))
            yield t.implies(known, instance(loop.reached))
        same = t.and_(same, t.eq(argument, now))
    yield from _entered_behind(instance, point, same)


def _entered_behind(instance: Instance, point: Point, same: Term) -> Iterator[Term]:
    """The same of loops that ``point`` stands behind: if the site takes place in the first iteration, all up to the one
    that broke off were entered."""
    site, args = instance.site, instance.args
    for depth in range(_shared(site.loops, point.loops), len(site.loops)):
        if site.loops[depth].last is not None and site.offset < point.offset:
            rest = (t.ZERO,) * (len(site.loops) - depth)
            first = Instance(instance.origin, instance.block, (*args[:depth], *rest, *args[len(site.loops) :]))
            known = t.and_(same, first.guard, t.le(t.ZERO, args[depth]), _left(instance, depth))
            yield t.implies(known, instance(site.loops[depth].reached))


def _shared(loops: Sequence[Loop], others: Sequence[Loop]) -> int:
    """How many loops, from outside, are around both."""
    pairs = enumerate(zip(loops, others, strict=False))
    return next((depth for depth, (one, other) in pairs if one.name != other.name), min(len(loops), len(others)))


def _left(instance: Instance, depth: int) -> Term:
    """The loops from ``depth`` on were left behind the iteration of ``instance``."""
    outer = [loop.iteration for loop in instance.site.loops]
    return t.and_(
        *(
            t.le(instance.args[inner], instance(t.apply(loop.last, *outer[:inner])))
            for inner, loop in enumerate(instance.site.loops)
            if inner >= depth and loop.last is not None
        )
    )


# ------------------------------------------------------------------------------------------------- values
def watched(sites: Iterable[PreparedSite]) -> dict[str, PreparedSite]:
    """The scoped accesses whose values questions can speak of, by the name of their function."""
    found = {}
    for prepared in sites:
        value = prepared.site.value
        if (
            prepared.site.atomic
            and value is not None
            and value.kind is TermKind.APPLY
            and value.sort is t.Sort.INT
            and value.function.scope is Scope.BLOCK
            and value.args == variables_of(prepared.site)
        ):
            found[value.function.name] = prepared
    return found


def values_in(
    conditions: Iterable[Term], sites: Mapping[str, PreparedSite], blocks: Mapping[str, Renaming]
) -> dict[str, tuple[Instance, ...]]:
    """The executions whose values ``conditions`` mention, by block; ``blocks``: what marks a block's functions."""
    found: dict[str, dict[Term, Instance]] = {mark: {} for mark in blocks}
    for condition in conditions:
        for leaf in sorted(condition.free):
            if leaf.kind is not TermKind.APPLY:
                continue
            for mark, rename in blocks.items():
                prepared = sites.get(_unmarked(leaf.function, mark))
                if prepared is not None:
                    found[mark].setdefault(leaf, Instance(prepared, rename, leaf.args))
    return {mark: tuple(instances.values()) for mark, instances in found.items()}


def _unmarked(function: Function, mark: str) -> str:
    return function.name.removesuffix(mark) if mark and function.name.endswith(mark) else "" if mark else function.name


# ---------------------------------------------------------------------------------------------------------- loop values
# What a loop carries without a closed form, as ``taken``, which becomes 1 where a lock was found free:
#
#     v(0) = init,    v(k + 1) = next(k) wherever iteration k hands on
#
# Of iterations that never run nothing is known.  So let v(k + 1) be next(k) there, too, if v can be that number, and
# else v(k).  Then for every time T > 0
#
#     handed_on(T - 1) and next(T - 1) can be   ->   v(T) = next(T - 1)                                     (defined)
#     init can be   ->   v(T) = init or for J < T:  v(J) != v(T), handed_on(J), next(J) = v(T)              (turned)
#
# J is the iteration of the last change before T: a function of what v(T) is a function of.


_MOST_ROUNDS: Final = 8
"""Up to so many iterations are followed one by one."""


@dataclass(frozen=True, slots=True)
class LoopHistory:
    """``values``: what loops carry that is made of what swaps and exchanges find, by function."""

    values: Mapping[Function, LoopValue]

    @classmethod
    def of(cls, values: Iterable[LoopValue], watched: Mapping[str, PreparedSite]) -> LoopHistory:
        tries = {name for name, each in watched.items() if each.site.mode in ("cas", "xchg")}

        def follows(value: LoopValue) -> bool:
            return any(leaf.kind is TermKind.APPLY and leaf.function.name in tries for leaf in value.next.free)

        return cls({value.function: value for value in values if value.modulus == 1 and follows(value)})

    def turns(self, conditions: Iterable[Term], blocks: Mapping[str, Renaming]) -> tuple[Term, ...]:
        """(turned) of the loop values in ``conditions``; ``blocks``: what gives a block's terms, by its mark."""
        mentioned = (each for condition in conditions for each in self._mentioned(condition, blocks))
        return tuple(dict.fromkeys(each.turned() for each in mentioned if not each.is_early))

    def rounds(self, conditions: Iterable[Term], blocks: Mapping[str, Renaming]) -> tuple[Term, ...]:
        """(defined) of those in the first rounds, and of what these are made of."""
        left, found = list(conditions), dict[Term, Term]()
        while left:
            for each in self._mentioned(left.pop(), blocks):
                if each.is_early and each.leaf not in found:
                    found[each.leaf] = each.defined()
                    left.append(found[each.leaf])
        return tuple(found.values())

    def _mentioned(self, condition: Term, blocks: Mapping[str, Renaming]) -> Iterator[ValueThen]:
        for leaf in sorted(condition.free) if self.values else ():
            for mark, rename in blocks.items() if leaf.kind is TermKind.APPLY else ():
                value = self.values.get(replace(leaf.function, name=_unmarked(leaf.function, mark)))
                if value is not None:
                    yield ValueThen(value, leaf, rename)


@dataclass(frozen=True, slots=True)
class ValueThen:
    """``leaf`` stands for v(T), in the block that ``rename`` gives the terms of."""

    value: LoopValue
    leaf: Term
    rename: Renaming

    @property
    def time(self) -> Term:
        return self.leaf.args[len(self.value.context)]

    @property
    def is_early(self) -> bool:
        return self.time.kind is TermKind.CONST and 0 < self.time.value <= _MOST_ROUNDS

    def defined(self) -> Term:
        before = t.const(self.time.value - 1)
        after = self._in_round(self.value.next, before)
        known = t.and_(self._in_round(self.value.handed_on, before), self.value.can_be(after))
        return t.implies(known, _equal(self.value.at(self.leaf), after))

    def turned(self) -> Term:
        mark = self.leaf.function.name.removeprefix(self.value.function.name)
        turn = t.apply(Function(f"{self.value.function.name}.turned{mark}", Scope.BLOCK, 0), *self.leaf.args)
        now, init = self.value.at(self.leaf), self._in_round(self.value.init, t.ZERO)
        then = t.ite(t.eq(turn, t.ZERO), init, self.value.at(t.apply(self.leaf.function, *self._at(turn))))
        after, handed_on = (self._in_round(term, turn) for term in (self.value.next, self.value.handed_on))
        turned = t.and_(t.lt(turn, self.time), t.not_(_equal(then, now)), handed_on, _equal(after, now))
        known = t.and_(t.lt(t.ZERO, self.time), self.value.can_be(init))
        return t.implies(known, t.or_(_equal(now, init), turned))

    def _at(self, time: Term) -> tuple[Term, ...]:
        around = len(self.value.context)
        return (*self.leaf.args[:around], time, *self.leaf.args[around + 1 :])

    def _in_round(self, term: Term, k: Term) -> Term:
        value = self.value
        variables = map(self.rename, (*value.context, value.iteration, *value.lanes))
        return t.substitute(self.rename(term), dict(zip(variables, self._at(k), strict=True)))


def _equal(one: Term, other: Term) -> Term:
    return t.iff(one, other) if one.sort is t.Sort.BOOL else t.eq(one, other)


# ---------------------------------------------------------------------------------------------------------------- sides
# The blocks of a question, what each reaches, and the executions whose values the question mentions.


Fact: TypeAlias = tuple[Term, tuple[SideCondition, ...]]
"""A condition and what it rests on."""


@dataclass(frozen=True, slots=True)
class BlockSide:
    """One block: ``rename`` gives its terms; ``points`` are the accesses that it reaches."""

    rename: Renaming
    points: tuple[Point, ...]
    seen: tuple[Instance, ...]

    def happened(self, instance: Instance) -> Term:
        return t.or_(*(before(instance, point) for point in self.points))

    def entered(self) -> Iterator[Term]:
        return (fact for seen in self.seen for point in self.points for fact in entered(seen, point))


def blocks_of(obligation: Obligation) -> dict[str, Renaming]:
    """What gives the terms of the blocks that it speaks of, by what marks their functions."""
    between = obligation.second is not None and obligation.level == CopyLevel.BLOCK
    return {"": identity, PRIME: PrimedCopy(obligation.level, PRIME)} if between else {"": identity}


def sides_of(obligation: Obligation, watched: Mapping[str, PreparedSite]) -> tuple[BlockSide, ...]:
    """Two sides for an obligation between blocks, else one."""
    item = obligation.first or obligation.promise
    assert item is not None
    blocks = blocks_of(obligation)
    points: dict[str, list[Point]] = {mark: [] for mark in blocks}
    points[""].append(Point.at(item, identity))
    if obligation.second is not None:
        copy = PrimedCopy(obligation.level, PRIME)
        points[PRIME if PRIME in blocks else ""].append(Point.at(obligation.second, copy))
    found = values_in(obligation.conditions, watched, blocks)
    return tuple(BlockSide(rename, tuple(points[mark]), found[mark]) for mark, rename in blocks.items())
