"""``ranks``: the number of each element among the equal keys of its chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact, Number
from ..terms import Term
from .base import FactOfTwo
from .chunks import chunk_numbers, count, counted, function_of, keys_in_chunks, powers_up_to, sizes_of_chunks
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded, Promised
from .on_host import Array, Contents, Value, amount, element, outside
from .sampling import DRAWN, Layouts, Sampled
from .statements import DataTerm, NumberedFact
from .steered import Group, Offers, Steered


class Ranks(FactOfTwo):
    """``ranks(a, keys, n)``: with c(b, k) for how many elements of chunk b of the keys, those i with i // n == b, hold
    k: 0 <= a[i] < c(i // n, keys[i]), and a[i] != a[j] for different i and j of one chunk with equal keys.

    It speaks of the i that both arrays have.  All keys count, whatever they are, those behind the last rank as well.
    """

    kind = FactKind.RANKS
    form = Form(("other", "amount"), other="keys")
    subject = Subject.RANKS
    least_amount = 1

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"{fact.array} numbers the equal keys of every {amount} elements of {fact.other}"

    def misplaced(self, array: str, rank: int) -> str | None:
        return f"'{array}' has rank {rank}; ranks and their keys are arrays of rank 1" if rank != 1 else None

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """0 <= a[i] < n, and with k(i) = keys[i], b(i) = i // n:  a[i] < c(b(i), k(i)) <= n;
        i != j, b(i) = b(j), k(i) = k(j)  ->  a[i] != a[j]."""
        ranks, keys = arrays
        assert data.amount is not None
        (size,) = keys.shape

        def real(first: Term) -> Term:
            (i,) = first.args
            return t.and_(ranks.inside(first), t.lt(i, size))

        for first in ranks.values:
            rank = ranks.read(first)
            yield t.implies(real(first), t.and_(t.le(t.ZERO, rank), t.lt(rank, data.amount)))
        function = function_of(keys)
        if function is None or not (ranks.injective and keys.injective):
            return
        places = []
        for first in ranks.values:
            (i,) = first.args
            chunk, key = t.floordiv(i, data.amount), keys.read(t.apply(function, i))
            places.append((first, i, chunk, key))
            number = count(data, chunk, key)
            yield t.implies(real(first), t.and_(t.lt(ranks.read(first), number), t.le(number, data.amount)))
        for (first, i, b, k), (second, j, d, m) in combinations(places, 2):
            alike = t.and_(real(first), real(second), t.ne(i, j), t.eq(b, d), t.eq(k, m))
            yield t.implies(alike, t.ne(ranks.read(first), ranks.read(second)))

    def promises(self, data: DataTerm, array: Promised) -> Iterator[Term]:
        """Of m ranks of m keys or more, those of equal keys are all numbers from 0 on:  m = 0  or  l <= 0  where no
        rank is below l.  Where all ranks differ and each has a key:  m <= n."""
        assert data.amount is not None
        assert data.fact.other is not None
        keys = array.array(data.fact.other)
        if not (array.injective and keys.injective):
            return
        fewer = t.lt(array.count, keys.count)
        for low, _ in array.ranges:
            yield t.or_(t.le(keys.count, t.ZERO), fewer, t.le(low, t.ZERO))
        if any(each.low is None for each in array.of(Subject.ELEMENTS)):
            yield t.le(t.minimum(array.count, keys.count), data.amount)

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        return seen.kind == self.kind and seen.amount == wanted.amount

    def limited(self, fact: NumberedFact | DataFact) -> Iterator[str]:
        yield fact.array

    def keeps_both(self, fact: NumberedFact, first: Sequence[int], second: Sequence[int]) -> bool:
        assert fact.amount is not None
        if fact.amount < 1:
            return False
        counts, n = counted(second, fact.amount), fact.amount
        pairs = list(zip(first, second, strict=False))
        inside = all(0 <= rank < counts[i // n, key] for i, (rank, key) in enumerate(pairs))
        return inside and len({(i // n, *pair) for i, pair in enumerate(pairs)}) == len(pairs)

    def beside(
        self, fact: NumberedFact, count: int, second: Sequence[int], limits: tuple[int, int] | None, step: int
    ) -> Sequence[int]:
        """Equal keys in the order in which they stand; what has no key gets the least."""
        assert fact.amount is not None
        least = 0 if limits is None else -(-limits[0] // step) * step
        return [*_numbered(second, fact.amount), *[least] * count][:count]

    def layouts_of_other(self, fact: NumberedFact, second: Sampled) -> Layouts:
        assert fact.amount is not None
        return keys_in_chunks(fact.amount, second)

    def layouts_beside(self, fact: NumberedFact, first: Sampled, second: Sequence[int]) -> Layouts:
        """Equal keys in the order in which they stand, the last one first, the second one first, drawn."""
        assert fact.amount is not None
        n, counts, places = fact.amount, counted(second, fact.amount), len(first.places)
        up = list(self.beside(fact, places, second, None, 1))
        sizes = [counts[i // n, key] for i, key in enumerate(second)][:places]
        behind = up[len(sizes) :]
        yield up
        yield [*(size - 1 - rank for rank, size in zip(up, sizes, strict=False)), *behind]
        yield [*((rank - 1) % size for rank, size in zip(up, sizes, strict=False)), *behind]
        random = Random(places)
        for _ in range(DRAWN):
            orders = {place: random.sample(range(size), size) for place, size in counts.items()}
            drawn = [orders[i // n, key][rank] for i, (rank, key) in enumerate(zip(up, second, strict=False))]
            yield [*drawn, *behind]

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        """A rank that is too large, or two that are alike beside equal keys; only elements that both arrays have."""
        import numpy as np

        assert fact.other is not None
        n, whole, keys = amount(fact, value), contents[fact.array], contents[fact.other]
        if n < 1:
            return f"the number {n} is below 1"
        both = min(len(whole), len(keys))
        ranks, group, sizes = whole[:both], *_groups(keys, n)
        group, sizes = group[:both], sizes[group[:both]]
        if len(wrong := np.flatnonzero(outside(ranks, 0, max(len(keys), 1)))):
            return self._too_large(fact, contents, int(wrong[0]), int(sizes[wrong[0]]), n)
        numbers = ranks.astype(np.int64)
        if len(wrong := np.flatnonzero(numbers >= sizes)):
            return self._too_large(fact, contents, int(wrong[0]), int(sizes[wrong[0]]), n)
        order = np.lexsort((numbers, group))
        same = np.flatnonzero((np.diff(group[order]) == 0) & (np.diff(numbers[order]) == 0))
        if not len(same):
            return None
        i, j = sorted(int(place) for place in order[same[0] : same[0] + 2])
        alike = f"{element(fact.array, whole, i)} is also {element(fact.array, whole, j, value=False)}"
        return f"{alike}, of the same key {keys[i]} in chunk {i // n} of {fact.other}"

    def _too_large(self, fact: DataFact, contents: Contents, place: int, size: int, n: int) -> str:
        wrong, key = element(fact.array, contents[fact.array], place), contents[str(fact.other)][place]
        return f"{wrong} is not in [0, {size}): chunk {place // n} of {fact.other} has {size} of key {key}"

    def observed_both(self, first: Seen, second: Seen) -> Iterator[str]:
        """By chunks of a power of two, of which some launch has a key twice: others are ranked by zeros alone."""
        pairs = list(zip(first.contents, second.contents, strict=True))
        if not all(a.ndim == k.ndim == 1 and len(a) == len(k) for a, k in pairs):
            return
        for n in powers_up_to(max(len(k) for _, k in pairs)):
            if any((a > 0).any() for a, _ in pairs) and all(_ranked(a, k, n) for a, k in pairs):
                second.ranked.add(n)
                yield f"{self.kind}({first.name}, {second.name}, {n})"

    def held_both(self, first: HeldValues, second: HeldValues) -> Iterator[NumberedFact]:
        """By chunks of all sizes; that all ranks are 0 says that keys do not repeat in chunks of several."""
        if not (len(first.shape) == len(second.shape) == 1 and len(first.values) == len(second.values)):
            return
        if 0 <= min(first.values, default=-1) <= max(first.values) < len(second.values):
            for n in sizes_of_chunks(len(second.values)):
                said = NumberedFact(self.kind, first.name, second.name, amount=n)
                if n > 1 and self.keeps_both(said, first.values, second.values):
                    yield said

    def candidates_of_both(self, first: Steered, second: Steered) -> Offers:
        """Chunks as large as a tile, of keys that are looked up in another array."""
        if first.rank == second.rank == 1 and first.sizes and second.indexes:
            for tile in first.tiles:
                yield Group.PAIRS, DataFact(self.kind, first.array, amount=Number(tile), other=second.array)


def _numbered(keys: Sequence[int], n: int) -> list[int]:
    seen, found = Counter[tuple[int, int]](), []
    for i, key in enumerate(keys):
        found.append(seen[i // n, key])
        seen[i // n, key] += 1
    return found


def _groups(keys: Array, n: int) -> tuple[Array, Array]:
    """For each key the number of its group, of equal keys in one chunk, and how many keys each group has."""
    import numpy as np

    values, key = np.unique(keys, return_inverse=True)
    _, group, sizes = np.unique(
        chunk_numbers(keys, n) * max(len(values), 1) + key.reshape(-1), return_inverse=True, return_counts=True
    )
    return group.reshape(-1), sizes


def _ranked(ranks: Array, keys: Array, n: int) -> bool:
    """Whether the ranks number the equal keys of each chunk, as many as there are."""
    import numpy as np

    if not len(keys) or int(ranks.min()) < 0 or int(ranks.max()) >= min(n, len(keys)):
        return False
    group, sizes = _groups(keys, n)
    numbers = ranks.astype(np.int64)
    pairs = group * max(len(keys), 1) + numbers
    return bool((numbers < sizes[group]).all()) and len(np.unique(pairs)) == len(pairs)
