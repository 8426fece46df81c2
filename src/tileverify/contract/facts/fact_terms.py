"""What a fact says of the elements that a question mentions: its formulas as terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

from .. import terms as t
from ..expressions import joined
from ..launch import Apply, Expression, Name, Number
from ..terms import Function, Scope, Term, TermKind
from .formula import ELEMENT, FactFormula
from .kind import FactKind
from .loaded import Loaded
from .pairs import Rising, counts_on_elements, shape_of
from .statements import DataTerm


def kind_instances(kind: FactKind, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
    """What a fact of the kind says of the values in ``arrays``, those of its own in their order."""
    absent = {name for name, number in data.numbers.items() if number is None}
    named = dict(zip(kind.form.arrays, arrays, strict=True))
    apart = all(array.injective for array in arrays)
    about = [clause for clause in kind.taken if (apart or not counts_on_elements(clause)) and clause.without(absent)]
    for (indices, _, _), group in groupby(about, _alike):
        clauses = [clause for clause in group if _readable(clause, named)]
        if not indices:
            for clause in clauses:
                yield from _sums(clause, data, named) if _is_of_sum(clause) else [_plain(clause, data, named)]
        elif clauses:
            values = named[clauses[0].arrays[0]].values
            for places in combinations(values, indices):
                for clause in clauses:
                    yield from _at(clause, data, named, places, absent)


def _alike(clause: FactFormula) -> tuple[int, tuple[str, ...], bool]:
    """What clauses have in common that are said of one element after the other together."""
    return len(clause.indices), clause.arrays, counts_on_elements(clause)


def _at(
    clause: FactFormula, data: DataTerm, arrays: Mapping[str, Loaded], places: tuple[Term, ...], absent: set[str]
) -> Iterator[Term]:
    parts = clause.without(absent)
    assert parts is not None
    rising = len(places) == 2 and isinstance(shape_of(clause), Rising)
    for order in (places, places[::-1]) if rising else (places,):
        reading = _Reading(clause, data, arrays, dict(zip(clause.indices, order, strict=True)))
        premise, conclusion = map(reading.term, parts)
        yield t.implies(t.and_(*reading.inside(), premise), conclusion)


def _readable(clause: FactFormula, arrays: Mapping[str, Loaded]) -> bool:
    """Whether all elements have terms: those of the first array are at hand, others have one function.

    Of rows it is asked that they are short.
    """
    if clause.lines and not all(array.function is not None and array.in_short_rows for array in arrays.values()):
        return False
    elements = set(clause.elements)
    given = {Apply(ELEMENT, (Name(clause.arrays[0]), Name(i))) for i in clause.indices} if clause.arrays else set()
    return all(isinstance(a := part.args[0], Name) and arrays[a.name].function is not None for part in elements - given)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The parts of a clause as terms, with an element of its first array for each index."""

    clause: FactFormula
    data: DataTerm
    arrays: Mapping[str, Loaded]
    at: Mapping[str, Term]

    def inside(self) -> Iterator[Term]:
        """The arrays have the elements that the clause speaks of."""
        for name in self.clause.arrays:
            yield from (self.arrays[name].inside(*self._place(name, value)) for value in self.at.values())
        for part in self.clause.looked_up:
            array = self.arrays[_name(part.args[0])]
            yield array.inside(*array.at(self.term(part.args[1])))

    def _place(self, array: str, value: Term) -> tuple[Term, ...]:
        """Where an array has the element of the same index as the value of the first one."""
        first, other = self.arrays[self.clause.arrays[0]], self.arrays[array]
        return value.args if other is first or first.axis is None else other.at(first.index(value))

    def term(self, part: Expression) -> Term:
        match part:
            case Number(value):
                return t.const(value)
            case Name(name) if name in self.at:
                return self.arrays[self.clause.arrays[0]].index(self.at[name])
            case Name(name):
                number = self.data.numbers[name]
                assert number is not None
                return number
            case Apply("==" | "!=" as op, (left, right)):
                same = self._same(left, right)
                return same if op == "==" else t.not_(same)
            case Apply("in", (value, _)):
                return t.or_(*(t.eq(self.term(value), each) for each in self.data.unless))
            case Apply("first" | "last" as op, (Name(i),)):
                return self._first.place(self.at[i])[0 if op == "first" else -1]
            case Apply("size", (Name(array),)):
                return self.arrays[array].size
            case Apply("count", (Name(array), *rest)):
                return self._count(array, [self.term(each) for each in rest])
            case Apply(op, (Name(array), _)) if op == ELEMENT:
                return self.arrays[array].read(self._element(part))
            case Apply(op, args):
                return joined(op, [self.term(arg) for arg in args])

    def _same(self, left: Expression, right: Expression) -> Term:
        """Of indices on all axes; of elements of one array as they are stored."""
        match left, right:
            case Name(i), Name(j) if i in self.at and j in self.at:
                return t.and_(*map(t.eq, self.at[i].args, self.at[j].args))
            case Apply("row", (Name(i),)), Apply("row", (Name(j),)):
                rows = (self._first.place(self.at[index])[:-1] for index in (i, j))
                return t.and_(*map(t.eq, *rows))
            case Apply("line", (_, Name(i))), Apply("line", (_, Name(j))):
                return t.and_(*map(t.eq, self._line(i), self._line(j)))
            case Apply(op, (array, _)), Apply(other, (same, _)) if op == other == ELEMENT and array == same:
                return t.eq(self._element(left), self._element(right))
        return t.eq(self.term(left), self.term(right))

    @property
    def _first(self) -> Loaded:
        """The array that has the elements at hand."""
        return self.arrays[self.clause.arrays[0]]

    def _line(self, index: str) -> list[Term]:
        """All elements of the row of the one at hand."""
        array, function = self._first, self._first.function
        *row, _ = array.place(self.at[index])
        assert function is not None
        return [t.apply(function, *array.arguments((*row, t.const(c)))) for c in range(array.width.value)]

    def _element(self, part: Expression) -> Term:
        assert isinstance(part, Apply)
        array, place = _name(part.args[0]), part.args[1]
        if isinstance(place, Name) and place.name in self.at:
            value = self.at[place.name]
            if array == self.clause.arrays[0]:
                return value
            args = self._place(array, value)
        else:
            args = self.arrays[array].at(self.term(place))
        function = self.arrays[array].function
        assert function is not None
        return t.apply(function, *args)

    def _count(self, array: str, args: Sequence[Term]) -> Term:
        """A number that nobody knows, but for 0 <= c: facts that cut the same keys into the same chunks speak of the
        same one."""
        name = dict(zip(self.arrays, self.data.fact.arrays, strict=True))[array]
        return t.apply(Function(f"count of {name}", Scope.LAUNCH, 0), *args)


def _name(part: Expression) -> str:
    assert isinstance(part, Name)
    return part.name


def _is_of_sum(clause: FactFormula) -> bool:
    return any(isinstance(part, Apply) and part.op == "sum" for part in clause.parts)


def _plain(clause: FactFormula, data: DataTerm, arrays: Mapping[str, Loaded]) -> Term:
    """What is said of the array as a whole."""
    return _Reading(clause, data, arrays, {}).term(clause.conclusion)


def _sums(clause: FactFormula, data: DataTerm, arrays: Mapping[str, Loaded]) -> Iterator[Term]:
    """``sum(a) <= n`` of values that are not negative:  i != j  ->  a[i] + a[j] <= n;  a[0] + a[1] + ... <= n, also
    with another a[i]."""
    (total, most) = clause.conclusion.args if isinstance(clause.conclusion, Apply) else ()
    assert isinstance(total, Apply)
    array = arrays[_name(total.args[0])]
    limit = _Reading(clause, data, arrays, {}).term(most)
    for v, w in combinations(array.values, 2):
        differ = t.or_(*map(t.ne, v.args, w.args))
        within = t.and_(array.inside(*v.args), array.inside(*w.args), differ)
        yield t.implies(within, t.le(t.add(array.read(v), array.read(w)), limit))
    fixed = [v for v in array.values if all(i.kind is TermKind.CONST for i in v.args)]
    if len(fixed) < 2:
        return
    together, known = t.add(*map(array.read, fixed)), t.and_(*(array.inside(*v.args) for v in fixed))
    yield t.implies(known, t.le(together, limit))
    for v in array.values:
        if v not in fixed:
            other = t.and_(array.inside(*v.args), *(t.or_(*map(t.ne, v.args, w.args)) for w in fixed))
            yield t.implies(t.and_(known, other), t.le(t.add(together, array.read(v)), limit))
