"""What an entry in the table of facts consists of, and what is read off its formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..expressions import OPERATORS
from ..launch import Apply, ArrayArgument, DataFact, Expression, Name, Number, only_axis
from ..terms import Term
from .form import AllowedRanks, Form, Subject
from .formula import ELEMENT, FactFormula, elements_in, names_in, parse, parts_of
from .loaded import Promised
from .pairs import Different, shape_of
from .promised import FactPromise
from .statements import DataTerm, NumberedFact


@dataclass(frozen=True)
class ImpliedFact:
    """A fact on another array that follows where that one has no more elements than the first one.

    Its kind, the name of the array in formulas, and its ``n``.
    """

    kind: str
    array: str
    amount: str


@dataclass(frozen=True)
class FactKind:
    """A kind of fact.  ``clauses`` say what it means, and all else has to follow from them.

    ``says``: a sentence without a full stop.  ``taken``: the clauses as the prover takes them, where these are others.
    ``least``: what its numbers are at least.  ``promises``: see `promised`.  ``measures``: arrays that say how much
    there is, not where; ``indexed``: the second array says which elements of the first one are meant, while other facts
    speak of the same elements of both.  ``stronger``: kinds whose facts with the same numbers imply it.  ``implies``: a
    fact that follows.  ``suited_by``: kinds of fact on other arrays beside which contents are found.

    Hints by name, which decide nothing: ``made`` are contents for it (`layouts`), ``seen`` is what a recording says and
    ``held`` what one launch's contents keep (`observations`), ``offered`` what kernels may need (`steered`).
    """

    word: str
    form: Form
    subject: Subject
    says: str
    clauses: tuple[FactFormula, ...]
    taken: tuple[FactFormula, ...] = ()
    placed: AllowedRanks = field(default_factory=AllowedRanks)
    least: int | None = None
    promises: tuple[FactPromise, ...] = ()
    measures: tuple[str, ...] = ()
    indexed: bool = False
    stronger: tuple[str, ...] = ()
    implies: ImpliedFact | None = None
    suited_by: tuple[tuple[str, str], ...] = ()
    made: str = ""
    seen: str = ""
    held: str = "strongest"
    offered: str = ""

    def __post_init__(self) -> None:
        if not self.taken:
            object.__setattr__(self, "taken", self.clauses)

    @property
    def joins(self) -> bool:
        """It speaks of several arrays."""
        return len(self.form.arrays) > 1

    @property
    def in_a_row(self) -> bool:
        """Its arrays have one axis, or one along which all elements lie."""
        return self.placed.most == 1

    def misplaced(self, array: ArrayArgument) -> str | None:
        """Why the array cannot keep a fact of the kind; ``None`` if it can."""
        row = self.in_a_row and only_axis(array.shape) is not None
        return self.placed.misplaced(array.name, 1 if row else len(array.shape))

    # ------------------------------------------------------------------------------------------------- words
    def words(self, arrays: Sequence[str], numbers: Mapping[str, str]) -> str:
        """The fact as a sentence without a full stop; ``numbers`` are worded already, and empty if left out."""
        among = f" among those from {numbers['low']} to below {numbers['high']}" if numbers["low"] else ""
        return self.says.format(**dict(zip(self.form.arrays, arrays, strict=True)), **numbers, among=among)

    # -------------------------------------------------------------------------------- read off the formulas
    @cached_property
    def of_axes(self) -> bool:
        """What it says of an array depends on its axes."""
        return self.placed.most is not None or any(clause.of_places for clause in self.clauses)

    @property
    def bounded(self) -> bool:
        """It gives the values of its one array limits, those that it excuses aside."""
        return not self.joins and bool(self._bounds(frozenset()))

    def limited(self, fact: NumberedFact | DataFact | DataTerm) -> Iterator[str]:
        """The arrays whose values the fact gives limits, from below and from above."""
        absent = _absent(fact)
        lower: set[str] = set()
        upper: set[str] = set()
        for less, more, _ in self._ordered(absent):
            lower |= elements_in(more) if not elements_in(less) else set()
            upper |= elements_in(less) if not elements_in(more) else set()
        names = fact.fact.arrays if isinstance(fact, DataTerm) else fact.arrays
        yield from (name for role, name in zip(self.form.arrays, names, strict=True) if role in lower & upper)

    def limits(self, fact: NumberedFact, count: int) -> tuple[int, int] | None:
        """The ends, the second one excluded, between which it keeps the values of ``count`` elements of one array."""
        if self.joins:
            return None
        ends = self._bounds(_absent(fact))
        return None if ends is None else (_number(ends[0], fact, count), _number(ends[1], fact, count))

    def _bounds(self, absent: frozenset[str]) -> tuple[Expression, Expression] | None:
        if absent not in self._ends:
            self._ends[absent] = self._found_bounds(absent)
        return self._ends[absent]

    @cached_property
    def _ends(self) -> dict[frozenset[str], tuple[Expression, Expression] | None]:
        """What `_bounds` gave."""
        return {}

    def _found_bounds(self, absent: frozenset[str]) -> tuple[Expression, Expression] | None:
        lows, highs = list[Expression](), list[Expression]()
        for less, more, strict in self._ordered(absent):
            if isinstance(more, Apply) and more.op == ELEMENT and not elements_in(less):
                lows.append(less)
            if isinstance(less, Apply) and less.op == ELEMENT and not elements_in(more):
                highs.append(more if strict else Apply("+", (more, Number(1))))
        return (lows[0], highs[0]) if lows and highs else None

    def _ordered(self, absent: frozenset[str]) -> Iterator[tuple[Expression, Expression, bool]]:
        """What is below what, in the conclusions about single elements, wherever these are."""
        for clause in self.taken:
            everywhere = len(clause.indices) == 1 and not clause.of_places
            parts = clause.without(absent) if everywhere else None
            for part in () if parts is None else parts_of(parts[1]):
                if isinstance(part, Apply) and part.op in ("<", "<="):
                    yield part.args[0], part.args[1], part.op == "<"

    @cached_property
    def different(self) -> Different | None:
        """Which values of its one array differ, if that is what it says."""
        shapes = [shape_of(each) for each in self.clauses if len(each.indices) == 2] if not self.joins else []
        return next((each for each in shapes if isinstance(each, Different) and _of_values(each)), None)

    def values_needed(self, array: Promised) -> Term | None:
        """How many different values the array needs to keep it; ``None`` if it does not say which values differ."""
        if self.different is None:
            return None
        return array.count if self.different.label is None else array.shape[0]

    def promised(self, data: DataTerm, array: Promised) -> Iterator[Term]:
        """What must hold of every launch in which somebody can keep the fact, room for `values_needed` aside."""
        others = map(array.array, data.fact.others)
        arrays = dict(zip(self.form.arrays, (array, *others), strict=True))
        for promise in self.promises:
            yield from promise.terms(data, arrays)

    def implied(self, fact: DataFact) -> DataFact | None:
        """A fact on another array that follows from it."""
        numbers = {"low": fact.low, "high": fact.high, "n": fact.amount, "width": fact.width}
        if self.implies is None or any(numbers[name] is None for name in names_in(parse(self.implies.amount))):
            return None
        amount = _put_in(parse(self.implies.amount), numbers)
        array = dict(zip(self.form.arrays, fact.arrays, strict=True))[self.implies.array]
        return DataFact(self.implies.kind, array, amount=amount, text=fact.text)


def _of_values(shape: Different) -> bool:
    """Single values differ, not whole rows of them."""
    return all(isinstance(key, Apply) and key.op == ELEMENT for key in shape.keys)


def _number(part: Expression, fact: NumberedFact, count: int) -> int:
    """What a bound comes to in an array of ``count`` elements."""
    match part:
        case Number(value):
            return value
        case Name(name):
            known = fact.numbers[name]
            assert known is not None
            return known
        case Apply("size", _):
            return count
        case Apply(op, args):
            return OPERATORS[op].value(*(_number(arg, fact, count) for arg in args))


def _put_in(part: Expression, numbers: Mapping[str, Expression | None]) -> Expression:
    if isinstance(part, Apply):
        return Apply(part.op, tuple(_put_in(arg, numbers) for arg in part.args))
    number = numbers[part.name] if isinstance(part, Name) else part
    assert number is not None
    return number


def _absent(fact: NumberedFact | DataFact | DataTerm) -> frozenset[str]:
    parts = {"low": fact.low, "high": fact.high, "n": fact.amount, "width": fact.width}
    return frozenset(name for name, part in parts.items() if part is None)
