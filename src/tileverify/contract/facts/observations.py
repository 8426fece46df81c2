"""What people would say of contents that keep facts of a kind, as strong as it holds in all launches.

Each function yields facts of one kind on one `ObservedContents` for each of its arrays: those that begin with ``seen``
what a recording says, those that begin with ``held`` all that a user could declare of the contents of one launch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd
from typing import Final, TypeAlias

from ..launch import Apply, Name
from .array_facts import Held, keeps
from .columns import Array, Column, exact
from .formula import parts_of
from .kind import FactKind
from .statements import NumberedFact

COLUMNS: Final = 4
"""A table of more columns lists many values of one kind, not a record in each row."""

Facts: TypeAlias = Iterator[NumberedFact]

Observe: TypeAlias = Callable[..., Facts]


# ------------------------------------------------------------------------------------------ of every kind
def strongest(kind: FactKind, *seen: ObservedContents) -> Facts:
    """The fact with the numbers that bound what it concludes."""
    return fitted(kind, _said(kind, *seen), *seen)


def fitted(kind: FactKind, fact: NumberedFact, *seen: ObservedContents) -> Facts:
    """``fact`` with the strongest numbers instead of those that it leaves out, if it holds then."""
    found: dict[str, int] = {}
    for number, arrays in enumerate(zip(*(each.contents for each in seen), strict=True)):
        named = dict(zip(kind.form.arrays, arrays, strict=True))
        bounds = (each for clause in kind.clauses for each in _bounds(Held(clause, fact, named)))
        own = {name: (weaker, least) for name, weaker, least in bounds}
        if number and own.keys() != found.keys():
            return
        found |= {name: weaker(found.get(name, least), least) for name, (weaker, least) in own.items()}
    yield from _kept(kind, _with(fact, found), *seen)


def _bounds(held: Held) -> Iterator[tuple[str, Callable[[int, int], int], int]]:
    """The numbers that a conclusion about single elements, or their sum, lacks: what is weaker, and the strongest."""
    missing = {name for name, number in held.fact.numbers.items() if number is None}
    for part in parts_of(held.clause.conclusion) if len(held.clause.indices) < 2 else ():
        match part:
            case Apply("==", (Apply("%", (value, Name(name))), _)) if name in missing:
                yield name, gcd, gcd(*held.spoken(value))
            case Apply("<=", (Name(name), value)) if name in missing and (values := held.spoken(value)):
                yield name, min, min(values)
            case Apply("<" | "<=" as op, (value, Name(name))) if name in missing and (values := held.spoken(value)):
                yield name, max, max(values) + (op == "<")


def _with(fact: NumberedFact, numbers: dict[str, int]) -> NumberedFact:
    low, high, amount, width = ({**fact.numbers, **numbers}[name] for name in fact.numbers)
    return replace(fact, low=low, high=high, amount=amount, width=width)


def _said(kind: FactKind, *seen: ObservedContents) -> NumberedFact:
    return NumberedFact(kind.word, seen[0].name, tuple(each.name for each in seen[1:]))


def _kept(kind: FactKind, fact: NumberedFact, *seen: ObservedContents) -> Facts:
    if all(keeps(kind, fact, *arrays) for arrays in zip(*(each.contents for each in seen), strict=True)):
        yield fact


def held_of_places(kind: FactKind, *seen: ObservedContents) -> Facts:
    """Of amounts nobody says it."""
    if not any(each.amounts for each in seen):
        yield from _kept(kind, _said(kind, *seen), *seen)


# ------------------------------------------------------------------------------------------- limits and amounts
def seen_limits(kind: FactKind, seen: ObservedContents) -> Facts:
    """One negative value among others is taken for one that is excused."""
    alone = len(seen.negative) == 1 and max(seen.values) >= 0
    excused = frozenset(seen.negative if alone else ())
    yield from fitted(kind, replace(_said(kind, seen), unless=excused), seen)


def held_limits(kind: FactKind, seen: ObservedContents) -> Facts:
    for fact in strongest(kind, seen):
        low, most = min(seen.values), max(seen.values)
        # Of amounts: none, or twice as much.
        yield replace(fact, low=min(1, low), high=max(2 * most, 0) + 1) if seen.amounts else fact


def limits_of_columns(kind: FactKind, seen: ObservedContents) -> Facts:
    """Of tables with a few columns that have other limits than the whole."""
    count = seen.columns
    found = [fact for n in range(count) for fact in fitted(kind, replace(_said(kind, seen), amount=n), seen)]
    if len({(fact.low, fact.high) for fact in found}) > 1:
        yield from found


def seen_steps(kind: FactKind, seen: ObservedContents) -> Facts:
    return (fact for fact in strongest(kind, seen) if (fact.amount or 0) > 1)


def held_steps(kind: FactKind, seen: ObservedContents) -> Facts:
    """Of amounts only powers of two: whole tiles."""
    step = gcd(*seen.values)
    yield replace(_said(kind, seen), amount=max(step & -step if seen.amounts else step, 1))


def seen_parts(kind: FactKind, seen: ObservedContents) -> Facts:
    if seen.has_axes(1) and all(each.size > 1 for each in seen.contents):
        yield from strongest(kind, seen)


def held_parts(kind: FactKind, seen: ObservedContents) -> Facts:
    for fact in strongest(kind, seen):
        yield replace(fact, amount=2 * (fact.amount or 0)) if seen.amounts else fact


# ---------------------------------------------------------------------------------------- order and differences
def seen_order(kind: FactKind, seen: ObservedContents) -> Facts:
    if all(each.size > 1 for each in seen.contents):
        yield from strongest(kind, seen)


def seen_once(kind: FactKind, seen: ObservedContents) -> Facts:
    """Which values occur once: all, all but one, or those below the first that occurs again."""
    said = _said(kind, seen)
    if seen.single:
        return
    if not seen.repeated:
        yield said
        return
    if len(seen.repeated) == 1:
        yield replace(said, unless=frozenset(seen.repeated))
    below = min((value for value in seen.repeated if value >= 0), default=0)
    if below > 0 and any(((each >= 0) & (each < below)).sum() > 1 for each in seen.contents):
        yield replace(said, low=0, high=below)


def seen_in_one_row(kind: FactKind, seen: ObservedContents) -> Facts:
    """Where more than that does not hold: if no value occurs twice, rows need no fact."""
    import numpy as np

    if seen.single or not all(each.ndim > 1 for each in seen.contents) or not seen.repeated:
        return
    rows = [np.concatenate([np.unique(row) for row in each.reshape(len(each), -1)]) for each in seen.contents]
    shared = {value for row in rows for value in repeated(row)}
    if len(shared) < 2:
        yield replace(_said(kind, seen), unless=frozenset(shared))


def seen_rows_once(kind: FactKind, seen: ObservedContents) -> Facts:
    """Only where single values repeat: if all values differ, all rows do."""
    if seen.columns and seen.repeated and all(len(each) > 1 for each in seen.contents):
        yield from strongest(kind, seen)


def held_rows_once(kind: FactKind, seen: ObservedContents) -> Facts:
    """Of tables."""
    if seen.has_axes(2) and not seen.amounts:
        yield from strongest(kind, seen)


def held_but_for_one(kind: FactKind, seen: ObservedContents) -> Facts:
    """On contents that keep it, or keep it but for the value that occurs most often."""
    said = _said(kind, seen)
    if seen.amounts or kind.placed.misplaced(seen.name, seen.contents[0].ndim):
        return
    most = frozenset({Counter(seen.values).most_common(1)[0][0]})
    yield from [*_kept(kind, said, seen), *_kept(kind, replace(said, unless=most), seen)][:1]


def held_again(kind: FactKind, first: ObservedContents, second: ObservedContents) -> Facts:
    """Where more than that does not hold: without values that occur twice, nothing need be said of what is beside."""
    if first.repeated and not first.amounts and first.has_axes(1) and second.has_axes(1):
        yield from strongest(kind, first, second)


# ------------------------------------------------------------------------------------------ parts of a range
def seen_segments(kind: FactKind, first: ObservedContents, second: ObservedContents) -> Facts:
    """Where all segments of all launches lie."""
    pairs = list(zip(first.contents, second.contents, strict=True))
    if all(s.ndim == n.ndim == 1 and 0 <= len(s) - len(n) <= 1 < len(s) for s, n in pairs):
        yield from (fact for fact in strongest(kind, first, second) if fact.low is not None)


def held_in_rows(kind: FactKind, *seen: ObservedContents) -> Facts:
    """Without bounds."""
    if all(each.has_axes(1) for each in seen):
        yield from _kept(kind, _said(kind, *seen), *seen)


# -------------------------------------------------------------------------------------------- keys in chunks
def powers_up_to(most: int) -> list[int]:
    """Powers of two, up to the first that is no less than ``most``."""
    return [1 << k for k in range(max(most - 1, 0).bit_length() + 1)]


def _sizes_of_chunks(count: int) -> list[int]:
    """Into how large chunks people may cut so many keys: of any size, of many keys powers of two and all of them."""
    return [*range(1, count + 1)] if count <= _FEW else [*(n for n in powers_up_to(count) if n < count), count]


_FEW: Final = 32
"""Keys that may be cut into chunks of any size."""


def seen_ranks(kind: FactKind, first: ObservedContents, second: ObservedContents) -> Facts:
    """By chunks of a power of two, of which some launch has a key twice: others are ranked by zeros alone."""
    pairs = list(zip(first.contents, second.contents, strict=True))
    if not all(a.ndim == k.ndim == 1 and len(a) == len(k) for a, k in pairs) or not any(
        (a > 0).any() for a, _ in pairs
    ):
        return
    for n in powers_up_to(max(len(k) for _, k in pairs)):
        for fact in _kept(kind, replace(_said(kind, first, second), amount=n), first, second):
            second.ranked.add(n)
            yield fact


def held_ranks(kind: FactKind, first: ObservedContents, second: ObservedContents) -> Facts:
    """By chunks of all sizes; that all ranks are 0 says that keys do not repeat in chunks of several."""
    many = len(second.values)
    if not (first.has_axes(1) and second.has_axes(1) and len(first.values) == many):
        return
    if 0 <= min(first.values, default=-1) <= max(first.values) < many:
        for n in _sizes_of_chunks(many)[1:]:
            yield from _kept(kind, replace(_said(kind, first, second), amount=n), first, second)


def seen_chunks(kind: FactKind, first: ObservedContents, second: ObservedContents) -> Facts:
    """By chunks of a power of two, where each segment begins right behind the chunks of the one before.

    Arrays that hold one number, whose segments are all empty, say nothing.
    """
    import numpy as np

    pairs = list(zip(first.contents, second.contents, strict=True))
    if not all(a.ndim == o.ndim == 1 and 0 <= len(o) - len(a) <= 1 < len(a) for a, o in pairs):
        return
    steps = [(np.asarray(_steps(a)), np.asarray(_steps(o))) for a, o in pairs]
    if not any((lengths > 0).any() for _, lengths in steps):
        return
    for n in powers_up_to(max(LARGE_CHUNK, *(int(lengths.max()) for _, lengths in steps))):
        if all((numbers == -(-lengths // n)[: len(numbers)]).all() for numbers, lengths in steps):
            yield from fitted(kind, replace(_said(kind, first, second), amount=n), first, second)


def _steps(array: Array) -> Column:
    """From each value to the next."""
    return exact("-", array[1:], array[:-1])


LARGE_CHUNK: Final = 128
"""Most kernels cut segments into no larger chunks, also where all segments are short."""


def seen_buckets(kind: FactKind, first: ObservedContents, second: ObservedContents) -> Facts:
    """The smallest chunks in which the keys were seen ranked, with a bucket for every key that there was in each.

    Without ranks nobody goes anywhere in a bucket, and numbers that are no keys at all mostly have buckets of some size
    in an array that does not repeat.
    """
    pairs = [(len(a), len(k)) for a, k in zip(first.contents, second.contents, strict=True)]
    if not (first.has_axes(1) and second.has_axes(1) and all(a and k > 1 for a, k in pairs)) or second.negative:
        return
    for n, width in _shapes(pairs, sorted(second.ranked), max(second.values, default=0)):
        said = replace(_said(kind, first, second), amount=n, width=width)
        for fact in fitted(kind, said, first, second):
            if fact.low is not None:
                yield fact
                return


def held_buckets(kind: FactKind, first: ObservedContents, second: ObservedContents) -> Facts:
    """By chunks of all sizes with a bucket for every key."""
    if not (first.has_axes(1) and second.has_axes(1) and min(first.values, default=-1) >= 0):
        return
    for n in _sizes_of_chunks(len(second.values)):
        width = _width(len(first.values), len(second.values), n)
        if width is not None and min(second.values) >= 0 and 1 < width > max(second.values):
            said = replace(_said(kind, first, second), amount=n, width=width)
            yield from _kept(kind, said, first, second)


def _width(buckets: int, keys: int, n: int) -> int | None:
    """How many buckets each chunk has, if all have as many."""
    chunks = -(-keys // n)
    return buckets // chunks if chunks and buckets and buckets % chunks == 0 else None


def _shapes(pairs: Sequence[tuple[int, int]], sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Chunks of these ``sizes``, and how many buckets each may have for keys up to ``most``: a power of two, or as many
    as there are."""
    for n in sizes:
        room = min(starts // -(-keys // n) for starts, keys in pairs)
        whole = {_width(starts, keys, n) for starts, keys in pairs}
        widths = {*powers_up_to(room), *(width for width in whole if width is not None and len(whole) == 1)}
        yield from ((n, width) for width in sorted(widths) if most < width <= room)


SEEN: Final[Mapping[str, Observe]] = {
    "strongest": strongest,
    "limits": seen_limits,
    "limits of columns": limits_of_columns,
    "rows once": seen_rows_once,
    "steps": seen_steps,
    "parts": seen_parts,
    "order": seen_order,
    "values once": seen_once,
    "values in one row": seen_in_one_row,
    "segments": seen_segments,
    "ranks": seen_ranks,
    "chunks": seen_chunks,
    "buckets": seen_buckets,
}
"""What a recording says, by the name that entries in the table have for it."""

HELD: Final[Mapping[str, Observe]] = {
    "strongest": strongest,
    "limits": held_limits,
    "limits of columns": limits_of_columns,
    "rows once": held_rows_once,
    "steps": held_steps,
    "parts": held_parts,
    "places": held_of_places,
    "but for one value": held_but_for_one,
    "without bounds": held_in_rows,
    "values again": held_again,
    "ranks": held_ranks,
    "chunks": seen_chunks,
    "buckets": held_buckets,
}
"""What a user could declare of the contents of one launch, by that name."""


# ---------------------------------------------------------------------------------------------------------------- found
# Contents in which facts are looked for.


@dataclass
class ObservedContents:
    """``contents`` of array ``name`` in one launch or several.

    ``amounts``: they say how much, not where, so that only what people say of amounts is meant, with room to spare.
    ``ranked``: in how large chunks another array was seen to number its equal elements.
    """

    name: str
    contents: Sequence[Array]
    amounts: bool = False
    ranked: set[int] = field(default_factory=set)

    @cached_property
    def values(self) -> list[int]:
        """Those of all launches."""
        return [int(value) for each in self.contents for value in each.reshape(-1).tolist()]

    @cached_property
    def negative(self) -> list[int]:
        """The negative values, each once."""
        return sorted({value for value in self.values if value < 0})

    @cached_property
    def repeated(self) -> list[int]:
        """The values that occur twice in one launch, each once."""
        return sorted({value for each in self.contents for value in repeated(each)})

    @property
    def single(self) -> bool:
        """No launch had two elements that could be alike."""
        return all(each.size < 2 for each in self.contents)

    @property
    def columns(self) -> int:
        """How many there are in tables that have few, and the same number in every launch; otherwise 0."""
        widths = {each.shape[-1] for each in self.contents if each.size}
        return next(iter(widths)) if self.has_axes(2) and len(widths) == 1 and 1 < max(widths) <= COLUMNS else 0

    def has_axes(self, count: int) -> bool:
        """In every launch."""
        return all(each.ndim == count for each in self.contents)


def repeated(array: Array) -> list[int]:
    """The values that occur more than once."""
    import numpy as np

    values, counts = np.unique(array, return_counts=True)
    return [int(value) for value in values[counts > 1]]
