"""``injective``: no value occurs twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from ..fact_kind import FactKind
from ..launch import DataFact
from ..terms import Term
from .base import Fact
from .counting import Count, Counted
from .distinct import among, held_but_for_one, no_value_twice, repeated_element
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded, Promised
from .on_host import Contents, Value, bounds
from .ranges import Range
from .sampling import DRAWN, Layouts, Sampled
from .statements import DataTerm, NumberedFact
from .steered import Offers, Steered, of_distinct_values


class Injective(Fact):
    """``injective(a)``: a[i] = a[j] only where i = j; ``injective(a, low, high)`` says so of the values in [low, high).

    Values that ``unless`` excuses may repeat.  It implies the same of rows.
    """

    kind = FactKind.INJECTIVE
    form = Form(bounds=True, unless=True)
    subject = Subject.ELEMENTS

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"no value occurs twice in {fact.array}{among(low, high)}"

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """a[i] = a[j]  ->  i = j."""
        (array,) = arrays
        return no_value_twice(data, array)

    def different(self, array: Promised) -> Term | None:
        return array.count

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        return seen.kind == self.kind and seen.unless <= wanted.unless and wanted.lies_in(seen)

    def keeps(self, fact: NumberedFact, values: Sequence[int], width: int) -> bool:
        spoken = list(filter(fact.means, values))
        return len(set(spoken)) == len(spoken)

    def layouts(self, sampled: Sampled) -> Layouts:
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

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        return repeated_element(fact, contents[fact.array], value)

    def counted(self, fact: DataFact, facts: Sequence[DataFact], count: int, value: Value) -> Count | None:
        """Where a range says how many marks there are to set."""
        if fact.low is not None:
            return None
        ranges = [each for each in facts if (each.kind, each.array) == (Range.kind, fact.array)]
        limits = [bounds(each, count, value) for each in ranges if not each.unless]
        return Count(Counted.FIRST_IN_RANGE, *limits[0]) if limits else None

    def observed(self, seen: Seen) -> Iterator[str]:
        """Which values occur once: all, all but one, or those below the first that occurs again."""
        import numpy as np

        if seen.single:
            return
        if not seen.repeated:
            yield f"{self.kind}({seen.name})"
            return
        if len(seen.repeated) == 1:
            yield f"{self.kind}({seen.name}, unless={seen.repeated[0]})"
        below = min((value for value in seen.repeated if value >= 0), default=0)
        if below > 0 and any(np.count_nonzero((each >= 0) & (each < below)) > 1 for each in seen.contents):
            yield f"{self.kind}({seen.name}, 0, {below})"

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        return iter(()) if found.amounts else held_but_for_one(self, found)

    def candidates(self, use: Steered) -> Offers:
        return of_distinct_values(self.kind, use)


def _spread(own: Sequence[int], rest: Sequence[int]) -> list[int]:
    """Both in their order, as evenly among each other as they go."""
    placed = [(2 * i + 1) / (2 * len(own)) for i in range(len(own))] + [i / len(rest) for i in range(len(rest))]
    return [value for _, _, value in sorted(zip(placed, range(len(placed)), [*own, *rest], strict=True))]
