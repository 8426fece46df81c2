"""What a value of the program is to the checker, and whether what is said of it agrees with the bytecode.

Integers, conditions and tiles of them are terms; a float or a tile of floats is `Opaque`; the rest is below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ..contract.terms import (
    FALSE,
    TRUE,
    ZERO,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    and_,
    assuming,
    const,
    floordiv,
    floormod,
    from_linear,
    iff,
    le,
    linear_parts,
    literals,
    lt,
    ne,
    not_,
    or_,
    postorder,
    rebuild,
    scale,
    sub,
    substitute,
    var,
)
from ..contract.terms.bits import OPERATIONS
from ..contract.terms.launch_wide import Opaque, moved_bits, opaque
from ..frontend.bytecode.model import ScalarType
from ..frontend.symbolic.summary import Origin


@dataclass(frozen=True, slots=True)
class Address:
    """``offset`` bytes behind the first byte of ``origin``, lane by lane."""

    origin: Origin
    offset: Term


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor view: ``shape`` and ``strides`` in elements, ``base`` bytes behind the origin."""

    origin: Origin
    base: Term
    element: ScalarType
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tensor view cut into tiles of ``tile`` elements, ``step`` elements apart along each view dimension.

    ``dims``: the layout's dimension of each view dimension.  ``by_element``: indices count elements, not tiles;
    ``sparse``: the view dimension whose index is a tile.
    """

    layout: Layout
    tile: tuple[int, ...]
    step: tuple[int, ...]
    dims: tuple[int, ...]
    padding: str | None
    by_element: bool = False
    sparse: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A token: by the offset of an access, the condition under which an instance of it is certainly awaited.

    The instance's iterations appear as `earlier`, as in `Wait`.
    """

    awaits: Mapping[int, Term]


Value: TypeAlias = Term | Opaque | Address | Layout | Tiling | Waiting


@dataclass
class Misread(Exception):
    """The bytecode does something else than what is said of it."""

    message: str


@dataclass
class NotFollowed(Exception):
    """Something that the checker has no rule for, or no answer: it says nothing of this kernel."""

    message: str


# ----------------------------------------------------------------------------------------------------------- lane moves
# Lanes: the coordinates of a tile's elements, and what becomes of them when an op moves elements.
#
# A tile is one term over ``l0``, ``l1`` ..., one variable for every dimension of more than one element.  An op that
# moves elements says where each element of its result comes from: its source's lanes are replaced by terms over its
# own.


def lane(dim: int, size: int) -> Term:
    """The coordinate along ``dim``; 0 where there is one element."""
    return var(f"l{dim}", Scope.LANE, 0, size - 1)


def lanes(shape: Sequence[int]) -> tuple[Term, ...]:
    return tuple(lane(dim, size) for dim, size in enumerate(shape) if size > 1)


def taken_from(value: Value, shape: Sequence[int], coordinates: Sequence[Term]) -> Value:
    """The tile whose element is that of ``value``, a tile of ``shape``, at ``coordinates``."""
    moved = {lane(d, size): at for d, (size, at) in enumerate(zip(shape, coordinates, strict=True)) if size > 1}
    match value:
        case Opaque():
            return opaque(value, *moved.values(), bits=moved_bits(value, moved))
        case Address(origin, offset):
            return Address(origin, substitute(offset, moved))
        case Term():
            return substitute(value, moved)
    raise NotFollowed(f"elements of a {type(value).__name__} are moved")


def row_major(source: Sequence[int], target: Sequence[int]) -> list[Term]:
    """Where a reshape to ``target`` finds its element in ``source``: both count their elements row by row.

    Dimensions are taken in groups of equal sizes, from the left, so that a dimension that stays as it is stays a lane.
    """
    found = [ZERO] * len(source)
    for mine, theirs in _groups(source, target):
        position, unit = ZERO, 1
        for dim in reversed(theirs):
            position = add(position, scale(unit, lane(dim, target[dim])))
            unit *= target[dim]
        unit = 1
        for dim in reversed(mine):
            whole = floordiv(position, const(unit))
            found[dim] = whole if dim == mine[0] else floormod(whole, const(source[dim]))
            unit *= source[dim]
    return found


def _groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest groups of neighbouring dimensions that have as many elements on both sides."""
    left = [dim for dim, size in enumerate(source) if size > 1]
    right = [dim for dim, size in enumerate(target) if size > 1]
    groups: list[tuple[list[int], list[int]]] = []
    while left:
        mine, theirs = [left.pop(0)], [right.pop(0)]
        here, there = source[mine[0]], target[theirs[0]]
        while here != there:
            if here < there:
                mine.append(left.pop(0))
                here *= source[mine[-1]]
            else:
                theirs.append(right.pop(0))
                there *= target[theirs[-1]]
        groups.append((mine, theirs))
    return groups


# ------------------------------------------------------------------------------------------------------------ agreement
# Whether what is said is what the bytecode does, where a condition holds.
#
# In this order, the first that decides:
#
# 1. the two terms are one term: constructors bring sums, comparisons and choices into one form;
# 2. they are one after conditions that the path settles are put in their places;
# 3. a solver finds no numbers for which they differ.


Refutes: TypeAlias = Callable[[Sequence[Term]], bool | None]
"""Whether conditions exclude each other; ``None``: nobody knows."""


class Comparing:
    """Questions under a path; ``asked``: how many a solver had to answer."""

    def __init__(self, refutes: Refutes) -> None:
        self._refutes = refutes
        self._answers: dict[tuple[Term, ...], bool | None] = {}
        self.asked = 0

    def same(self, path: Term, done: Term, said: Term, what: str) -> None:
        """``done``, what the bytecode does, and ``said`` are equal where ``path`` holds."""
        if done is said or path is FALSE:
            return
        if done.sort is not said.sort:
            raise Misread(f"{what}: a condition is called a number, or a number a condition")
        known = literals(path)
        first, second = assuming(done, known), assuming(said, known)
        if first is second:
            return
        differ = not_(iff(first, second)) if first.sort is Sort.BOOL else ne(first, second)
        self.impossible((path, differ), f"{what} is not what is said of it")

    def follows(self, given: Term, wanted: Term, what: str, facts: Iterable[tuple[Term, Term]] = ()) -> None:
        """``wanted`` holds wherever ``given`` does.  ``facts``: (if, then), true of all that is spoken of."""
        for case in _not_seen(Implied(given, wanted, tuple(facts))):
            self.impossible((case.given, *(or_(not_(if_), then) for if_, then in case.facts), not_(case.wanted)), what)

    def impossible(self, conditions: Sequence[Term], what: str) -> None:
        """No numbers satisfy ``conditions``; raises `Misread` where some do, `NotFollowed` where nobody knows."""
        whole = and_(*conditions)
        if whole is FALSE:
            return
        key = whole.args if whole.kind is TermKind.AND else (whole,)
        if key not in self._answers:
            self.asked += 1
            self._answers[key] = self._refutes(key)
        if self._answers[key] is None or (not self._answers[key] and _leaves_open(whole)):
            raise NotFollowed(f"{what}, or it cannot be told")
        if not self._answers[key]:
            raise Misread(what)


_FOUND_IN_LOOPS: Final = ("trips", "last", "loop", "overflow")


def _leaves_open(condition: Term) -> bool:
    """Whether numbers that satisfy it may be none of any run: symbols of loops mean more than a question says of them,
    and operations on bits are functions of which a solver is told nothing."""
    return any(
        part.kind in OPERATIONS or (part.kind is TermKind.APPLY and part.function.name.startswith(_FOUND_IN_LOOPS))
        for part in postorder(condition)
    )


@dataclass(frozen=True, slots=True)
class Implied:
    """``wanted`` is to follow from ``given`` and ``facts``: (if, then)."""

    given: Term
    wanted: Term
    facts: tuple[tuple[Term, Term], ...]

    @property
    def seen(self) -> bool:
        """Whether ``wanted`` becomes true when what is known is put in its places."""
        known = literals(self.given)
        for if_, then in self.facts:
            if assuming(if_, known) is TRUE:
                known |= literals(then)
        return self.given is self.wanted or assuming(self.wanted, known) is TRUE

    def at(self, variable: Term, value: Term) -> Implied:
        change = {variable: value}
        facts = tuple((substitute(if_, change), substitute(then, change)) for if_, then in self.facts)
        return Implied(substitute(self.given, change), substitute(self.wanted, change), facts)


def _not_seen(whole: Implied) -> Iterator[Implied]:
    """The cases that terms alone do not show: of a choice, and of an iteration that is the other one or before it."""
    given = whole.given
    if given.kind is TermKind.OR:
        cases = [replace(whole, given=part) for part in given.args]
    elif given.kind is TermKind.ITE:
        test, then, otherwise = given.args
        cases = [replace(whole, given=and_(test, then)), replace(whole, given=and_(not_(test), otherwise))]
    elif given is FALSE or whole.seen:
        return
    elif (pair := _not_after(whole)) is not None:
        before = (part for part in given.args if part is not le(*pair))
        cases = [whole.at(*pair), replace(whole, given=and_(lt(*pair), *before))]
    else:
        yield whole
        return
    for case in cases:
        yield from _not_seen(case)


def _not_after(whole: Implied) -> tuple[Term, Term] | None:
    """Two variables of which the first is given to be at most the second, where both matter."""
    for part in whole.given.args if whole.given.kind is TermKind.AND else ():
        if part.kind is TermKind.LE and all(arg.kind is TermKind.VAR and arg in whole.wanted.free for arg in part.args):
            first, second = part.args
            return first, second
    return None


# ---------------------------------------------------------------------------------------------------------------- sizes
# How large a term can be where a condition holds: why a machine sum may be read as the sum itself.
#
# A path's comparisons bound their sides.  `Sizes` keeps these bounds, of single terms and of differences (``i - n``
# from ``i < n``), and works out intervals with them: a bounded part is replaced by a variable of that range, and the
# constructors of terms, which know the interval of everything that they build, do the rest.


Interval: TypeAlias = tuple[int | None, int | None]


class Sizes:
    """What is known of sizes; grows by `under`, which gives a new one."""

    def __init__(self, known: dict[Term, Interval] | None = None) -> None:
        self._known = known or {}
        self._seen: dict[Term, Interval] = {}

    def under(self, condition: Term) -> Sizes:
        """What is known where ``condition`` holds, too."""
        parts = condition.args if condition.kind is TermKind.AND else (condition,)
        sizes = self
        for _ in range(2 if len(parts) > 1 else 1):
            for part in parts:
                sizes = sizes._compared(part)
        return sizes

    def interval(self, term: Term) -> Interval:
        """Inclusive bounds of ``term``; ``None`` for an open side."""
        if not self._known:
            return term.low, term.high
        if term not in self._seen:
            self._seen[term] = self._best(term)
        return self._seen[term]

    def fits(self, term: Term, bits: int) -> bool:
        """Whether ``term`` is a signed number of ``bits`` bits."""
        low, high = self.interval(term)
        half = 1 << (bits - 1)
        return low is not None and high is not None and -half <= low and high < half

    # ------------------------------------------------------------------------------------------ what is known
    def _compared(self, part: Term) -> Sizes:
        sizes = self
        if part.kind is TermKind.EQ:
            for one, other in (part.args, part.args[::-1]):
                sizes = sizes._with(one, sizes.interval(other))
        elif part.kind in (TermKind.LT, TermKind.LE):
            less, more = part.args
            gap = int(part.kind is TermKind.LT)
            high, low = sizes.interval(more)[1], sizes.interval(less)[0]
            sizes = sizes._with(less, (None, None if high is None else high - gap))
            sizes = sizes._with(more, (None if low is None else low + gap, None))
            sizes = sizes._with(sub(less, more), (None, -gap))
        return sizes

    def _with(self, term: Term, interval: Interval) -> Sizes:
        constant, summands = linear_parts(term)
        if not summands:
            return self
        if summands[0][0] < 0:  # one form for a term and its negative
            term, constant, interval = scale(-1, term), -constant, _times(-1, interval)
        core = add(term, const(-constant))
        tighter = _meet(_plus(interval, -constant), self.interval(core))
        if tighter == self.interval(core):
            return self
        return Sizes({**self._known, core: tighter})

    # ------------------------------------------------------------------------------------------ working out
    def _best(self, term: Term) -> Interval:
        inside: dict[Term, Term] = {}
        for part in postorder(term):
            args = tuple(inside[arg] for arg in part.args)
            rebuilt = part if args == part.args else rebuild(part, args)
            inside[part] = self._stand_in(part, rebuilt)
        best = _meet((term.low, term.high), (inside[term].low, inside[term].high))
        constant, summands = linear_parts(term)
        if len(summands) > 1:
            for core, interval in self._known.items():
                best = _meet(best, self._by(core, interval, constant, {t: c for c, t in summands}, inside))
        return best

    def _stand_in(self, part: Term, rebuilt: Term) -> Term:
        """A variable in the place of a part that is known to be smaller than it looks."""
        if part not in self._known:
            return rebuilt
        low, high = _meet(self._known[part], (rebuilt.low, rebuilt.high))
        return var(f"of size {part.digest.hex()}", Scope.ITERATION, low, high)

    def _by(
        self, core: Term, interval: Interval, constant: int, summands: dict[Term, int], inside: dict[Term, Term]
    ) -> Interval:
        """Bounds of a sum that has ``core``, times a whole number, in it."""
        _, parts = linear_parts(core)
        factor, left = divmod(summands.get(parts[0][1], 0), parts[0][0])
        if not factor or left:
            return None, None
        rest = dict(summands)
        for coefficient, part in parts:
            rest[part] = rest.get(part, 0) - factor * coefficient
        rest = {part: coefficient for part, coefficient in rest.items() if coefficient}
        if len(rest) >= len(summands):
            return None, None
        small = from_linear(constant, {part: c for part, c in rest.items() if part not in inside})
        others = add(small, *(scale(c, inside[part]) for part, c in rest.items() if part in inside))
        return _sum((others.low, others.high), _times(factor, interval))


def _meet(a: Interval, b: Interval) -> Interval:
    lows = [low for low in (a[0], b[0]) if low is not None]
    highs = [high for high in (a[1], b[1]) if high is not None]
    return max(lows, default=None), min(highs, default=None)


def _plus(interval: Interval, amount: int) -> Interval:
    low, high = interval
    return None if low is None else low + amount, None if high is None else high + amount


def _sum(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    high = None if a[1] is None or b[1] is None else a[1] + b[1]
    return low, high


def _times(factor: int, interval: Interval) -> Interval:
    low, high = (None if bound is None else factor * bound for bound in interval)
    return (low, high) if factor >= 0 else (high, low)
