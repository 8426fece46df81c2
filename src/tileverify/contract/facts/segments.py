"""``segments``: parts of one range, each with a start and a length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from random import Random

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import Apply, DataFact, Number
from ..terms import Function, Term
from .base import FactOfTwo
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded, Promised
from .on_host import Array, Contents, Value, bounds, element
from .sampling import DRAWN, Pairs, Sampled, cuts
from .shares import Shares
from .statements import DataTerm, NumberedFact
from .steered import Group, Offers, Steered
from .stretches import Span, ends_of, lie_apart, one_behind_the_other


class Segments(FactOfTwo):
    """``segments(a, lengths)``: with n for the lengths, 0 <= n[i], and where i != j, [a[i], a[i] + n[i]) and
    [a[j], a[j] + n[j]) do not meet.

    ``segments(a, lengths, low, high)`` says as well that every segment that is not empty lies in [low, high).  Then the
    lengths are shares of high - low.
    """

    kind = FactKind.SEGMENTS
    form = Form(("other",), bounds=True, other="lengths")
    subject = Subject.SEGMENTS
    measured = True

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"the segments that begin at {fact.array} with the lengths in {fact.other} do not meet"

    def misplaced(self, array: str, rank: int) -> str | None:
        return f"'{array}' has rank {rank}; segments are given by arrays of rank 1" if rank != 1 else None

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """0 <= n[i]; where it is not 0, with e(i) = a[i] + n[i]:  low <= a[i], e(i) <= high;  i != j -> e(i) <= a[j] or
        e(j) <= a[i]."""
        starts, lengths = arrays
        for length in lengths.values:
            yield t.implies(lengths.inside(length), t.le(t.ZERO, lengths.read(length)))
        functions = dict.fromkeys(v.function for v in lengths.values)
        if not (starts.injective and lengths.injective) or len(functions) != 1:
            return
        (function,) = functions
        segments = [_Segment.of(v, starts, lengths, function) for v in starts.values]
        for one in segments:
            if data.low is not None and data.high is not None:
                yield t.implies(one.real, t.and_(t.le(data.low, one.start), t.le(one.end, data.high)))
        for one, other in combinations(segments, 2):
            apart = t.or_(t.le(one.end, other.start), t.le(other.end, one.start))
            yield t.implies(t.and_(one.real, other.real, t.ne(one.number, other.number)), apart)

    def promises(self, data: DataTerm, array: Promised) -> Iterator[Term]:
        """k segments in [l, h), none shorter than m:  k <= 0  or  m <= 0  or  k * m <= h - l"""
        if data.low is None or data.high is None or data.fact.other is None:
            return
        lengths = array.array(data.fact.other)
        if not (array.injective and lengths.injective):
            return
        count = t.minimum(array.count, lengths.count)
        for least, _ in lengths.ranges:
            room = t.sub(data.high, data.low)
            yield t.or_(t.le(count, t.ZERO), t.le(least, t.ZERO), t.le(t.mul(count, least), room))

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        return seen.kind == self.kind and seen.lies_in(wanted)

    def implied(self, fact: DataFact) -> DataFact | None:
        if fact.low is None:
            return None
        assert fact.high is not None
        assert fact.other is not None
        return DataFact(Shares.kind, fact.other, amount=Apply("-", (fact.high, fact.low)), text=fact.text)

    def limited(self, fact: NumberedFact | DataFact) -> Iterator[str]:
        if fact.low is not None and fact.other is not None:
            yield from (fact.array, fact.other)

    def keeps_both(self, fact: NumberedFact, first: Sequence[int], second: Sequence[int]) -> bool:
        """Those that are empty may lie anywhere."""
        return lie_apart(fact, ((start, start + size) for start, size in zip(first, second, strict=False) if size > 0))

    def beside(
        self, fact: NumberedFact, count: int, second: Sequence[int], limits: tuple[int, int] | None, step: int
    ) -> Sequence[int]:
        """One behind the other; what is left over starts at the end, or where the last one may start."""
        lows = [low for low in (fact.low, limits and limits[0]) if low is not None]
        last = None if limits is None else (limits[1] - 1) // step * step
        sizes = [*second, *[0] * (count - len(second))]
        starts = one_behind_the_other(max(lows, default=0), sizes, range(len(sizes)), step)[:count]
        return starts if last is None else [min(start, last) for start in starts]

    def layouts_of_both(self, fact: NumberedFact, first: Sampled, second: Sampled) -> Pairs:
        """One behind the other with and without gaps, in other orders, of different lengths, with empty ones."""
        real = min(len(first.places), len(second.places))
        low = 0 if fact.low is None else fact.low
        high = low + first.far * max(real, 1) if fact.high is None else fact.high
        room, random = min(max(high - low, 0), max(second.high - 1, 0) * real), Random(real)
        each = room // max(real, 1)
        growing = [2 * room * (i + 1) // (real * (real + 1)) for i in range(real)]
        wide = [low + each * i for i in range(real)]
        backwards = wide[::-1]

        def whole(begin: Sequence[int], sizes: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
            """With the starts that have no length and the lengths that have no start."""
            end = max((a + n for a, n in zip(begin, sizes, strict=True)), default=low)
            more = [end] * (len(first.places) - real)
            return [*begin, *more], [*sizes, *[0] * (len(second.places) - real)]

        yield whole(wide, [each] * real)
        yield whole(wide, [each // 2] * real)
        yield whole(backwards, [each] * real)
        yield whole(backwards, [each // 2] * real)
        yield whole(wide, [min(each, 1)] * real)
        yield whole([low + min(each, 1) * i for i in range(real)], [min(each, 1)] * real)
        for sizes in (growing, growing[::-1], *(cuts(random, room, real) for _ in range(DRAWN))):
            yield whole(one_behind_the_other(low, sizes, range(real)), sizes)
            yield whole(one_behind_the_other(low, sizes, random.sample(range(real), real)), sizes)
        for empty in (0, 1):
            yield whole(wide, [0 if i % 2 == empty else each for i in range(real)])
        most = [max(room - real + 1, 0) if i == 0 else 1 for i in range(real)]
        yield whole(one_behind_the_other(low, most, range(real)), most)
        if not room:
            yield whole([low] * real, [0] * real)

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        """A segment that leaves the bounds, or two that meet; only numbers that both arrays have make one."""
        import numpy as np

        assert fact.other is not None
        starts, lengths = contents[fact.array], contents[fact.other]

        def segment(i: int) -> str:
            ends = f"{starts[i]}, {starts[i] + lengths[i]}"
            return f"[{fact.array}[{i}], {fact.array}[{i}] + {fact.other}[{i}]) = [{ends})"

        if len(negative := np.flatnonzero(lengths < 0)):
            return f"{element(fact.other, lengths, int(negative[0]))} is negative"
        numbers = [i for i in range(min(len(starts), len(lengths))) if lengths[i] > 0]
        starts, lengths = (array.astype(object) for array in (starts, lengths))
        if fact.low is not None:
            low, high = bounds(fact, 0, value)
            for i in numbers:
                if starts[i] < low or starts[i] + lengths[i] > high:
                    return f"{segment(i)} is not inside [{low}, {high})"
        numbers.sort(key=lambda i: int(starts[i]))
        for i, j in pairwise(numbers):
            if starts[j] < starts[i] + lengths[i]:
                return f"{segment(i)} meets {segment(j)}"
        return None

    def observed_both(self, first: Seen, second: Seen) -> Iterator[str]:
        """Where all segments of all launches lie."""
        pairs = list(zip(first.contents, second.contents, strict=True))
        if not all(s.ndim == n.ndim == 1 and 0 <= len(s) - len(n) <= 1 < len(s) for s, n in pairs):
            return
        if any((lengths < 0).any() for _, lengths in pairs):
            return
        ends = [found for found in (ends_of(_spans(s, n)) for s, n in pairs) if found is not None]
        if len(ends) == len(pairs):
            low, high = min(least for least, _ in ends), max(most for _, most in ends)
            yield f"{self.kind}({first.name}, {second.name}, {low}, {high})"

    def held_both(self, first: HeldValues, second: HeldValues) -> Iterator[NumberedFact]:
        if len(first.shape) == len(second.shape) == 1:
            said = NumberedFact(self.kind, first.name, second.name)
            if min(second.values, default=0) >= 0 and self.keeps_both(said, first.values, second.values):
                yield said

    def candidates_of_both(self, first: Steered, second: Steered) -> Offers:
        if first.rank == second.rank == 1:
            for size in first.sizes:
                yield Group.PAIRS, DataFact(self.kind, first.array, Number(0), size, other=second.array)


@dataclass(frozen=True, slots=True)
class _Segment:
    """``real``: there is such a segment and it is not empty."""

    number: Term
    start: Term
    end: Term
    real: Term

    @classmethod
    def of(cls, first: Term, starts: Loaded, lengths: Loaded, function: Function) -> _Segment:
        (number,) = first.args
        length = t.apply(function, number)
        start, count = starts.read(first), lengths.read(length)
        real = t.and_(starts.inside(first), lengths.inside(length), t.lt(t.ZERO, count))
        return cls(number, start, t.add(start, count), real)


def _spans(starts: Array, lengths: Array) -> Iterator[Span]:
    return ((int(start), int(start) + int(n)) for start, n in zip(starts, lengths, strict=False) if n > 0)
