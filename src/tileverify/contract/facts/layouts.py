"""Contents that are made for kinds of facts: hints for the search for contents, which the formulas decide about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random
from typing import Final, Protocol, TypeAlias

from .kinds import AnyFact, meaning_of
from .statements import NumberedFact

# ------------------------------------------------------------------------------------------------------------- sampling
# What the contents of an array that shall keep facts are made from.


Layouts: TypeAlias = Iterator[Sequence[int]]
"""Values for every element, in row-major order."""

Pairs: TypeAlias = Iterator[tuple[Sequence[int], Sequence[int]]]
"""Values for every element of two arrays."""

Usual: TypeAlias = Callable[..., Sequence[int]]
"""Of the fact, how many values, limits or ``None``, a step, and what each other array holds."""

DRAWN: Final = 4
"""Contents that are drawn at random."""


class Sampled(Protocol):
    """An array with what the facts on it ask: see `contents.Described`, which is one."""

    @property
    def places(self) -> Sequence[int]: ...
    @property
    def width(self) -> int: ...
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def far(self) -> int: ...
    @property
    def bounded(self) -> bool: ...
    @property
    def total(self) -> int | None: ...
    @property
    def excused(self) -> Sequence[int]: ...
    @property
    def columns(self) -> Sequence[range]: ...


@dataclass(frozen=True, slots=True)
class MadeContents:
    """Contents that are made for a kind of fact, whether they keep it or not; the formulas decide.

    ``alone``: of its one array.  ``both``: of its two arrays together.  ``usual``: values of the first array beside
    what the others hold, multiples of a step between limits, the second one excluded, where these are given;
    ``beside``: several such.  ``second``: of the second array.
    """

    alone: Callable[[Sampled], Layouts] | None = None
    both: Callable[[NumberedFact, Sampled, Sampled], Pairs] | None = None
    usual: Usual | None = None
    beside: Callable[..., Layouts] | None = None
    second: Callable[[NumberedFact, Sampled], Layouts] | None = None


def cuts(random: Random, total: int, count: int) -> list[int]:
    """``count`` parts of ``total``, drawn."""
    ends = sorted(random.randint(0, total) for _ in range(count))
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


# -------------------------------------------------------------------------------------------------------------- layouts


# ------------------------------------------------------------------------------------------- values that differ
def once_and_excused(sampled: Sampled) -> Layouts:
    """Every value once, and one that is excused wherever there are more places: at the end, at the beginning,
    between the others, drawn."""
    count, random = len(sampled.places), Random(len(sampled.places))
    for value in sampled.excused if sampled.bounded else ():
        others = range(sampled.low, min(sampled.high, sampled.low + (count + 1) * sampled.step), sampled.step)
        own = [each for each in others if each != value][: max(count - 1, 0)]
        rest = [value] * (count - len(own))
        yield [*own, *rest]
        yield [*rest, *own]
        yield [*own[::-1], *rest]
        yield _spread(own, rest)
        yield from (random.sample([*own, *rest], count) for _ in range(DRAWN))


def _spread(own: Sequence[int], rest: Sequence[int]) -> list[int]:
    """Both in their order, as evenly among each other as they go."""
    placed = [(2 * i + 1) / (2 * len(own)) for i in range(len(own))] + [i / len(rest) for i in range(len(rest))]
    return [value for _, _, value in sorted(zip(placed, range(len(placed)), [*own, *rest], strict=True))]


def of_rows(sampled: Sampled) -> Layouts:
    """Each row has values of its own: one for the whole row, in reverse order, far apart, in part excused."""
    count, width, step = len(sampled.places), sampled.width, sampled.step
    low = -(-sampled.low // step) * step if sampled.bounded else 0
    rows = -(-count // width)
    numbers = [(n // width, n % width) for n in range(count)]
    alike = [low + step * row for row, _ in numbers]
    yield alike
    yield [low + step * (rows - 1 - row) for row, _ in numbers]
    yield [low + -(-sampled.far // step) * step * row for row, _ in numbers]
    yield [low + step * (row * width + width - 1 - column) for row, column in numbers]
    for value in sampled.excused:
        yield [value if column else each for each, (_, column) in zip(alike, numbers, strict=True)]
        yield [value if row == rows - 1 else each for each, (row, _) in zip(alike, numbers, strict=True)]


def of_columns(sampled: Sampled) -> Layouts:
    """Rows that differ, each column within its limits: counted up by the last column, by the first, from the ends
    down, drawn."""
    columns = [column[: len(sampled.places)] for column in sampled.columns]
    ends = [column[-len(sampled.places) :][::-1] for column in sampled.columns]
    rows = len(sampled.places) // sampled.width
    if not all(columns):
        return
    for each in (columns, ends):
        yield _counted_up(each, rows, range(len(each))[::-1])
        yield _counted_up(each, rows, range(len(each)))
    random = Random(len(sampled.places))
    for _ in range(DRAWN):
        yield [random.choice(column) for _ in range(rows) for column in sampled.columns]


def _counted_up(columns: Sequence[Sequence[int]], rows: int, order: Sequence[int]) -> list[int]:
    """The first column of ``order`` changes in every row, the next one where it begins again."""
    values = [0] * (rows * len(columns))
    behind = 1
    for column in order:
        for row in range(rows):
            values[row * len(columns) + column] = columns[column][row // behind % len(columns[column])]
        behind *= len(columns[column])
    return values


# ---------------------------------------------------------------------------------------------- amounts
def parts_of_a_sum(sampled: Sampled) -> Layouts:
    """Values that come to no more than ``total``: equal, growing, one each, most for one, none for one, drawn.

    That one has it all, or none has any, is not among them unless it is drawn: it is what no one means by shares.
    """
    assert sampled.total is not None
    count, step = len(sampled.places), sampled.step
    if not count:
        yield []
        return
    units = sampled.total // step
    yield [units // count * step] * count
    yield [step * (2 * units * (i + 1) // (count * (count + 1))) for i in range(count)]
    yield [step * (2 * units * (count - i) // (count * (count + 1))) for i in range(count)]
    yield [step * min(1, units // count)] * count
    yield [units // (2 * count) * step] * count
    for one in dict.fromkeys((0, count // 2, count - 1)):
        yield [step * (units - count + 1 if i == one else 1) for i in range(count)] if units >= count else []
        yield [0 if i == one else units // max(count - 1, 1) * step for i in range(count)]
    random = Random(count)
    for _ in range(DRAWN):
        yield [step * part for part in cuts(random, units, count)]


# ------------------------------------------------------------------------------- parts of a range
def one_behind_the_other(
    low: int, sizes: Sequence[int], order: Sequence[int], step: int = 1, gap: int = 0
) -> list[int]:
    """Where parts of these sizes begin if they lie in this order, at multiples of ``step`` from ``low`` on."""

    def behind(start: int, size: int) -> int:
        return -(-(start + size) // step) * step

    ends = list(accumulate((max(sizes[i], 0) + gap for i in order), behind, initial=behind(low, 0)))
    starts = [ends[0]] * len(sizes)
    for place, i in zip(ends, order, strict=False):
        starts[i] = place
    return starts


def segments_in_order(
    fact: NumberedFact, count: int, limits: tuple[int, int] | None, step: int, second: Sequence[int]
) -> Sequence[int]:
    """One behind the other; what is left over starts at the end, or where the last one may start."""
    lows = [low for low in (fact.low, limits and limits[0]) if low is not None]
    last = None if limits is None else (limits[1] - 1) // step * step
    sizes = [*second, *[0] * (count - len(second))]
    starts = one_behind_the_other(max(lows, default=0), sizes, range(len(sizes)), step)[:count]
    return starts if last is None else [min(start, last) for start in starts]


def segments_and_lengths(fact: NumberedFact, first: Sampled, second: Sampled) -> Pairs:
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


# --------------------------------------------------------------------------------- chunks of segments
def chunks_in_order(
    fact: NumberedFact, count: int, limits: tuple[int, int] | None, step: int, offsets: Sequence[int]
) -> Sequence[int]:
    """Those of one segment behind those of the one before."""
    lows = [low for low in (fact.low, limits and limits[0]) if low is not None]
    starts = one_behind_the_other(max(lows, default=0), _cut(fact, count, offsets), range(count), step)
    return starts if limits is None else [min(start, max(limits[1] - 1, limits[0])) for start in starts]


def chunks_beside(fact: NumberedFact, first: Sampled, offsets: Sequence[int]) -> Layouts:
    """In order, the last segment first, with gaps, drawn."""
    count, random = len(first.places), Random(len(first.places))
    low = fact.low if fact.low is not None else first.low if first.bounded else 0
    sizes = _cut(fact, count, offsets)
    for order in (range(count), range(count)[::-1], *(random.sample(range(count), count) for _ in range(DRAWN))):
        yield one_behind_the_other(low, sizes, order, first.step)
        yield one_behind_the_other(low, sizes, order, first.step, gap=1)


def _cut(fact: NumberedFact, count: int, offsets: Sequence[int]) -> list[int]:
    """How many chunks each segment has; what is no segment has none."""
    assert fact.amount is not None
    lengths = [end - start for start, end in pairwise(offsets)]
    return [*(-(-length // fact.amount) for length in lengths), *[0] * count][:count]


# ------------------------------------------------------------------------------------- keys in chunks
def counted(keys: Sequence[int], n: int) -> Counter[tuple[int, int]]:
    """c(b, k) by chunk and key."""
    return Counter((i // n, key) for i, key in enumerate(keys))


def keys_in_chunks(fact: NumberedFact, keys: Sampled) -> Layouts:
    """All different in each chunk where that can be, in both directions, one key for each chunk, two keys in turn."""
    assert fact.amount is not None
    n = fact.amount
    count, low = len(keys.places), -(-keys.low // keys.step) * keys.step if keys.bounded else 0
    room = max((keys.high - 1 - low) // keys.step + 1, 1) if keys.bounded else 2 * n
    numbers: tuple[Callable[[int], int], ...] = (
        lambda i: i % n,
        lambda i: (n - 1 - i) % n,
        lambda i: i // n,
        lambda i: (i // n + i) % n,
        lambda i: i % 2,
    )
    for number in numbers:
        yield [low + keys.step * (number(i) % room) for i in range(count)]


def buckets_in_order(
    fact: NumberedFact, count: int, limits: tuple[int, int] | None, step: int, second: Sequence[int]
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


def buckets_beside(fact: NumberedFact, first: Sampled, second: Sequence[int]) -> Layouts:
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
            yield [start if size else elsewhere(x) for x, (start, size) in enumerate(zip(starts, sizes, strict=True))]

    yield from laid(by_key)
    yield from laid(range(places))
    yield from laid(by_key[::-1])
    yield from laid(by_key, gap)
    yield from laid(by_key[::-1], gap // 2)
    for _ in range(DRAWN):
        yield from laid(random.sample(range(places), places), random.randint(0, gap))


def _sizes(keys: Sequence[int], buckets: int, n: int, width: int) -> list[int]:
    """How many elements belong into each bucket."""
    counts = counted(keys, n)
    return [counts[x // width, x % width] for x in range(buckets)]


def ranks_in_order(
    fact: NumberedFact, count: int, limits: tuple[int, int] | None, step: int, second: Sequence[int]
) -> Sequence[int]:
    """Equal keys in the order in which they stand; what has no key gets the least."""
    assert fact.amount is not None
    least = 0 if limits is None else -(-limits[0] // step) * step
    return [*_numbered(second, fact.amount), *[least] * count][:count]


def ranks_beside(fact: NumberedFact, first: Sampled, second: Sequence[int]) -> Layouts:
    """Equal keys in the order in which they stand, the last one first, the second one first, drawn."""
    assert fact.amount is not None
    n, counts, places = fact.amount, counted(second, fact.amount), len(first.places)
    up = list(ranks_in_order(fact, places, None, 1, second))
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


def _numbered(keys: Sequence[int], n: int) -> list[int]:
    seen, found = Counter[tuple[int, int]](), []
    for i, key in enumerate(keys):
        found.append(seen[i // n, key])
        seen[i // n, key] += 1
    return found


# -------------------------------------------------------------------------------- places in segments
def places_in_order(
    fact: NumberedFact,
    count: int,
    limits: tuple[int, int] | None,
    step: int,
    numbers: Sequence[int],
    ends: Sequence[int],
) -> Sequence[int]:
    """One behind the other in each segment, from its beginning on; the last place of it for all that do not fit."""
    seen, found = Counter[int](), []
    for k in [*numbers, *[-1] * count][:count]:
        real = 0 <= k < len(ends) - 1
        low, high = (ends[k], ends[k + 1]) if real else (0 if limits is None else limits[0], 1)
        found.append(min(-(-low // step) * step + step * seen[k], max(high - 1, low) // step * step))
        seen[k] += real
    return found


HINTS: Final[Mapping[str, MadeContents]] = {
    "": MadeContents(),
    "different values": MadeContents(alone=once_and_excused),
    "different rows": MadeContents(alone=of_rows),
    "rows of columns": MadeContents(alone=of_columns),
    "parts of a sum": MadeContents(alone=parts_of_a_sum),
    "segments": MadeContents(both=segments_and_lengths, usual=segments_in_order),
    "chunks of segments": MadeContents(usual=chunks_in_order, beside=chunks_beside),
    "ranks of keys": MadeContents(usual=ranks_in_order, beside=ranks_beside, second=keys_in_chunks),
    "places in segments": MadeContents(usual=places_in_order),
    "buckets of keys": MadeContents(usual=buckets_in_order, beside=buckets_beside, second=keys_in_chunks),
}
"""By the name that entries in the table have for them."""


def hints_of(fact: AnyFact) -> MadeContents:
    """What is made for facts of this kind."""
    return HINTS[meaning_of(fact).made]
