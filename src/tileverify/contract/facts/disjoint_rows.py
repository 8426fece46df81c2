"""``disjoint_rows``: no value occurs in two rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact
from ..terms import Term
from .base import Fact
from .distinct import among, held_but_for_one, meant, repeated_element
from .form import Form, Subject
from .found import HeldValues, Seen, repeated
from .injective import Injective
from .loaded import Loaded, Promised
from .on_host import Contents, Value
from .sampling import Layouts, Sampled
from .statements import DataTerm, NumberedFact
from .steered import Offers, Steered, of_distinct_values


class DisjointRows(Fact):
    """``disjoint_rows(a)``: a[i, j] = a[k, l] only where i = k; a row is all that one index of the first axis holds.

    ``disjoint_rows(a, low, high)`` says so of the values in [low, high); those that ``unless`` excuses may occur in
    several rows.  Where no value occurs twice, none occurs in two rows.
    """

    kind = FactKind.DISJOINT_ROWS
    form = Form(bounds=True, unless=True)
    subject = Subject.ROWS

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"no value occurs in two rows of {fact.array}{among(low, high)}"

    def misplaced(self, array: str, rank: int) -> str | None:
        return f"'{array}' has rank {rank} and no rows; write {Injective.kind}({array})" if rank < 2 else None

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """a[i, j] = a[k, l]  ->  i = k."""
        (array,) = arrays
        for v, w, inside in array.pairs() if array.injective else ():
            yield t.implies(t.and_(inside, t.eq(v, w), meant(data, array.read(v))), t.eq(v.args[0], w.args[0]))

    def different(self, array: Promised) -> Term | None:
        return array.shape[0]

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        alike = seen.kind in (self.kind, Injective.kind) and seen.unless <= wanted.unless
        return alike and wanted.lies_in(seen)

    def keeps(self, fact: NumberedFact, values: Sequence[int], width: int) -> bool:
        """The rows are those of an array of two dimensions."""
        owner: dict[int, int] = {}
        return all(owner.setdefault(v, n // width) == n // width for n, v in enumerate(values) if fact.means(v))

    def layouts(self, sampled: Sampled) -> Layouts:
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

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        return repeated_element(fact, contents[fact.array], value, rows=True)

    def observed(self, seen: Seen) -> Iterator[str]:
        """Where more than that does not hold: without values that occur twice, nothing need be said of rows."""
        import numpy as np

        if seen.single or not all(each.ndim > 1 for each in seen.contents) or not seen.repeated:
            return
        rows = [np.concatenate([np.unique(row) for row in each.reshape(len(each), -1)]) for each in seen.contents]
        shared = {value for row in rows for value in repeated(row)}
        if not shared:
            yield f"{self.kind}({seen.name})"
        elif len(shared) == 1:
            yield f"{self.kind}({seen.name}, unless={min(shared)})"

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        return iter(()) if found.amounts or len(found.shape) < 2 else held_but_for_one(self, found)

    def candidates(self, use: Steered) -> Offers:
        return of_distinct_values(self.kind, use) if use.rank > 1 else iter(())
