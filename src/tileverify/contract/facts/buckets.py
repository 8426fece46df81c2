"""``buckets``: where the elements with one key in one chunk go, parts of one range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from random import Random

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact, Number
from ..terms import Term
from .base import FactOfTwo
from .chunks import chunk_numbers, count, counted, keys_in_chunks, powers_up_to, sizes_of_chunks
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded, Promised
from .on_host import Array, Contents, Value, amount, bounds, outside
from .sampling import DRAWN, Layouts, Sampled
from .statements import DataTerm, NumberedFact
from .steered import Group, Offers, Steered
from .stretches import Span, ends_of, lie_apart, one_behind_the_other


class Buckets(FactOfTwo):
    """``buckets(a, keys, n, width)``: with c(b, k) for how many elements of chunk b of the keys, those i with
    i // n == b, hold k: the buckets [a[x], a[x] + c(x // width, x % width)) of different x do not meet.

    So x = b * width + k is the number of the bucket of key k, 0 <= k < width, in chunk b.  Nothing is said of keys
    outside [0, width), nor of elements of ``a`` whose bucket is empty, as those behind the last chunk's are.
    ``buckets(a, keys, n, width, low, high)`` says as well that every bucket that is not empty lies in [low, high).
    """

    kind = FactKind.BUCKETS
    form = Form(("other", "amount", "width"), bounds=True, other="keys")
    subject = Subject.BUCKETS
    indexed = True
    least_amount = 1

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return (
            f"the buckets that begin at {fact.array}, {width} for every {amount} elements of {fact.other}, "
            "have room for the elements with their key and do not meet"
        )

    def misplaced(self, array: str, rank: int) -> str | None:
        return f"'{array}' has rank {rank}; buckets and their keys are arrays of rank 1" if rank != 1 else None

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """With s(x) = c(x // width, x % width), e(x) = a[x] + s(x):  s(x) <= n; where it is not 0:  low <= a[x],
        e(x) <= high;  x != y  ->  e(x) <= a[y] or e(y) <= a[x]."""
        starts, keys = arrays
        assert data.amount is not None
        assert data.width is not None
        if not (starts.injective and keys.injective):
            return
        found = []
        for first in starts.values:
            (x,) = first.args
            size = count(data, t.floordiv(x, data.width), t.floormod(x, data.width))
            start, real = starts.read(first), t.and_(starts.inside(first), t.lt(t.ZERO, size))
            end = t.add(start, size)
            found.append((x, start, end, real))
            yield t.implies(starts.inside(first), t.le(size, data.amount))
            if data.low is not None and data.high is not None:
                yield t.implies(real, t.and_(t.le(data.low, start), t.le(end, data.high)))
        for (x, start, end, real), (y, begin, stop, true) in combinations(found, 2):
            yield t.implies(t.and_(real, true, t.ne(x, y)), t.or_(t.le(end, begin), t.le(stop, start)))

    def promises(self, data: DataTerm, array: Promised) -> Iterator[Term]:
        """m keys that all lie in [0, width), and a bucket for each key of each chunk, in [l, h):  m <= h - l"""
        if data.low is None or data.high is None or data.fact.other is None:
            return
        assert data.amount is not None
        assert data.width is not None
        keys = array.array(data.fact.other)
        if not (array.injective and keys.injective):
            return
        chunks = t.floordiv(t.add(keys.count, data.amount, t.const(-1)), data.amount)
        fewer = t.lt(array.count, t.mul(chunks, data.width))
        room = t.maximum(t.sub(data.high, data.low), t.ZERO)
        for low, high in keys.ranges:
            yield t.or_(fewer, t.lt(low, t.ZERO), t.lt(data.width, high), t.le(keys.count, room))

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        same = (seen.kind, seen.amount, seen.width) == (self.kind, wanted.amount, wanted.width)
        return same and seen.lies_in(wanted)

    def limited(self, fact: NumberedFact | DataFact) -> Iterator[str]:
        if fact.low is not None:
            yield fact.array

    def keeps_both(self, fact: NumberedFact, first: Sequence[int], second: Sequence[int]) -> bool:
        assert fact.amount is not None
        assert fact.width is not None
        if min(fact.amount, fact.width) < 1:
            return False
        sizes = _sizes(second, len(first), fact.amount, fact.width)
        return lie_apart(fact, ((start, start + size) for start, size in zip(first, sizes, strict=True) if size))

    def beside(
        self, fact: NumberedFact, count: int, second: Sequence[int], limits: tuple[int, int] | None, step: int
    ) -> Sequence[int]:
        """One behind the other, those of one key side by side; those that are empty no further than the last may be."""
        assert fact.amount is not None
        assert fact.width is not None
        lows = [low for low in (fact.low, limits and limits[0]) if low is not None]
        sizes, width = _sizes(second, count, fact.amount, fact.width), fact.width
        order = sorted(range(count), key=lambda x: (x % width, x))
        starts = one_behind_the_other(max(lows, default=0), sizes, order, step)
        last = None if limits is None else (limits[1] - 1) // step * step
        return starts if last is None else [min(start, last) for start in starts]

    def layouts_of_other(self, fact: NumberedFact, second: Sampled) -> Layouts:
        assert fact.amount is not None
        return keys_in_chunks(fact.amount, second)

    def layouts_beside(self, fact: NumberedFact, first: Sampled, second: Sequence[int]) -> Layouts:
        """One behind the other, key by key or chunk by chunk, the last one first, with gaps and far apart, drawn.

        Those that are empty lie between the others, in a place of their own or not, far behind them, or in one place.
        """
        assert fact.amount is not None
        assert fact.width is not None
        places, width = len(first.places), fact.width
        sizes = _sizes(second, places, fact.amount, width)
        low = fact.low if fact.low is not None else first.low if first.bounded else 0
        high = fact.high if fact.high is not None else first.high if first.bounded else None
        spare = first.far * places if high is None else high - low - sum(sizes)
        gap = max(spare, 0) // max(places, 1)
        by_key = sorted(range(places), key=lambda x: (x % width, x))
        random = Random(places)

        def laid(order: Sequence[int], gap: int = 0) -> Layouts:
            starts = one_behind_the_other(low, sizes, order, first.step, gap)
            far = max(starts, default=low) + first.step * first.far
            yield starts
            yield one_behind_the_other(low, [max(size, 1) for size in sizes], order, first.step, gap)
            for elsewhere in (lambda x: far + first.step * first.far * x, lambda _: low, lambda _: -first.step):
                yield [
                    start if size else elsewhere(x) for x, (start, size) in enumerate(zip(starts, sizes, strict=True))
                ]

        yield from laid(by_key)
        yield from laid(range(places))
        yield from laid(by_key[::-1])
        yield from laid(by_key, gap)
        yield from laid(by_key[::-1], gap // 2)
        for _ in range(DRAWN):
            yield from laid(random.sample(range(places), places), random.randint(0, gap))

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        """A bucket that leaves the bounds, or two that meet."""
        import numpy as np

        assert fact.other is not None
        assert fact.width is not None
        n, width, starts = amount(fact, value), value(fact.width), contents[fact.array]
        if min(n, width) < 1:
            return f"the number {min(n, width)} is below 1"
        sizes = _sizes_in(contents[fact.other], len(starts), n, width)

        def bucket(x: int) -> str:
            part = f"[{int(starts[x])}, {int(starts[x]) + int(sizes[x])})"
            return f"bucket {fact.array}[{x}], of key {x % width} in chunk {x // width} of {fact.other}, {part}"

        real = np.flatnonzero(sizes)
        begins = starts[real].astype(object)
        ends = begins + sizes[real].astype(object)
        if fact.low is not None:
            low, high = bounds(fact, 0, value)
            if len(wrong := np.flatnonzero((begins < low) | (ends > high))):
                return f"{bucket(int(real[wrong[0]]))}, is not inside [{low}, {high})"
        order = np.argsort(starts[real], kind="stable")
        if len(met := np.flatnonzero(begins[order][1:] < ends[order][:-1])):
            one, other = (int(real[order[place]]) for place in (met[0], met[0] + 1))
            return f"{bucket(one)}, meets {bucket(other)}"
        return None

    def observed_both(self, first: Seen, second: Seen) -> Iterator[str]:
        """The smallest chunks in which the keys were seen ranked, with a bucket for every key that there was in each.

        Without ranks nobody goes anywhere in a bucket, and numbers that are no keys at all mostly have buckets of some
        size in an array that does not repeat.
        """
        pairs = list(zip(first.contents, second.contents, strict=True))
        if not all(a.ndim == k.ndim == 1 and len(a) and len(k) > 1 for a, k in pairs):
            return
        if second.negative or not second.ranked:
            return
        for n, width in _shapes(pairs, sorted(second.ranked), max(int(keys.max()) for _, keys in pairs)):
            ends = [_ends(a, k, n, width) for a, k in pairs]
            found = [each for each in ends if each is not None]
            if len(found) == len(pairs):
                low, high = min(start for start, _ in found), max(end for _, end in found)
                yield f"{self.kind}({first.name}, {second.name}, {n}, {width}, {low}, {high})"
                return

    def held_both(self, first: HeldValues, second: HeldValues) -> Iterator[NumberedFact]:
        """By chunks of all sizes with a bucket for every key."""
        if not (len(first.shape) == len(second.shape) == 1 and min(first.values, default=-1) >= 0):
            return
        for n in sizes_of_chunks(len(second.values)):
            width = _width(len(first.values), len(second.values), n)
            if width is not None and min(second.values) >= 0 and 1 < width > max(second.values):
                said = NumberedFact(self.kind, first.name, second.name, amount=n, width=width)
                if self.keeps_both(said, first.values, second.values):
                    yield said

    def candidates_of_both(self, first: Steered, second: Steered) -> Offers:
        """Chunks as large as a tile, and as many buckets for each as numbers of chunks are multiplied by."""
        for tile, width in product(first.tiles, first.factors) if first.rank == second.rank == 1 else ():
            found = DataFact(self.kind, first.array, amount=Number(tile), width=Number(width), other=second.array)
            yield Group.PAIRS, found
            for size in first.sizes:
                yield Group.PAIRS, replace(found, low=Number(0), high=size)


def _width(buckets: int, keys: int, n: int) -> int | None:
    """How many buckets each chunk has, if all have as many."""
    chunks = -(-keys // n)
    return buckets // chunks if chunks and buckets and buckets % chunks == 0 else None


def _sizes(keys: Sequence[int], buckets: int, n: int, width: int) -> list[int]:
    """How many elements belong into each bucket."""
    counts = counted(keys, n)
    return [counts[x // width, x % width] for x in range(buckets)]


def _sizes_in(keys: Array, buckets: int, n: int, width: int) -> Array:
    """As `_sizes`, of an array."""
    import numpy as np

    least = min(width, max(buckets, 1))  # a wider one has no second chunk that there is a bucket of
    spoken = np.flatnonzero(~outside(keys, 0, least))
    numbers = chunk_numbers(keys, n)[spoken] * least + keys[spoken].astype(np.int64)
    return np.asarray(np.bincount(numbers[numbers < buckets], minlength=buckets))


def _shapes(pairs: Sequence[tuple[Array, Array]], sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Chunks of these ``sizes``, and how many buckets each may have for keys up to ``most``: a power of two, or as many
    as there are."""
    for n in sizes:
        room = min(len(starts) // -(-len(keys) // n) for starts, keys in pairs)
        whole = {_width(len(starts), len(keys), n) for starts, keys in pairs}
        widths = {*powers_up_to(room), *(width for width in whole if width is not None and len(whole) == 1)}
        yield from ((n, width) for width in sorted(widths) if most < width <= room)


def _ends(starts: Array, keys: Array, n: int, width: int) -> Span | None:
    """Where the buckets lie, if not all are empty and none meet."""
    sizes = _sizes_in(keys, len(starts), n, width)
    return ends_of((int(start), int(start) + int(size)) for start, size in zip(starts, sizes, strict=True) if size)
