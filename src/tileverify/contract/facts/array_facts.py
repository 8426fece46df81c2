"""Whether arrays keep a fact: its formulas on NumPy arrays, all elements at once, pairs sorted.

NumPy is imported where contents are looked at: whoever reads a spec needs none of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final

from ..launch import Apply, Expression, Name, Number
from .columns import (
    COMPUTED,
    ORDERS,
    Array,
    Column,
    among,
    both,
    compared,
    counted,
    either,
    exact,
    numbered_lines,
    total,
)
from .formula import ELEMENT, NOTHING, FactFormula, names_in, parse, without
from .kind import FactKind
from .pairs import Apart, Different, Rising, shape_of
from .statements import NumberedFact


def violation(kind: FactKind, fact: NumberedFact, arrays: Mapping[str, Array]) -> str | None:
    """What breaks the fact, with element and value; ``None`` if it holds of ``arrays``, which are all its own."""
    low = too_low(kind, fact)
    if low is not None:
        return f"the number {low} is below {kind.least}"
    for clause in kind.clauses:
        held = Held(clause, fact, dict(zip(kind.form.arrays, (arrays[name] for name in fact.arrays), strict=True)))
        places = held.broken()
        if places is not None:
            return told(clause, dict(zip(kind.form.arrays, fact.arrays, strict=True)), held, places)
    return None


def keeps(kind: FactKind, fact: NumberedFact, *arrays: Array) -> bool:
    """Whether the fact's arrays, in their order, keep it."""
    named = dict(zip(kind.form.arrays, arrays, strict=True))
    return too_low(kind, fact) is None and all(Held(each, fact, named).broken() is None for each in kind.clauses)


def too_low(kind: FactKind, fact: NumberedFact) -> int | None:
    """A number of the fact that is below what it has to be at least."""
    amounts = [part for part in (fact.amount, fact.width) if part is not None]
    return min(amounts) if kind.least is not None and amounts and min(amounts) < kind.least else None


@dataclass(frozen=True)
class Held:
    """A clause of a fact with what its ``arrays``, by their names in formulas, hold."""

    clause: FactFormula
    fact: NumberedFact
    arrays: Mapping[str, Array]

    # ---------------------------------------------------------------------------------- what breaks the clause
    def broken(self) -> tuple[int, ...] | None:
        """The first places that break the clause, one for each of its indices; ``None`` if there are none."""
        parts = self.clause.without(self._absent)
        if parts is None:
            return None
        if not self.clause.indices:
            return None if self.value(parts[1]) else ()
        if len(self.clause.indices) == 1:
            return self._one(*parts)
        match shape_of(self.clause):
            case Different() as shape:
                return self._different(shape)
            case Rising(value):
                return self._falling(value)
            case Apart() as shape:
                return self._meeting(shape)

    def _one(self, premise: Expression, conclusion: Expression) -> tuple[int] | None:
        import numpy as np

        spoken = self._mask(premise, *(self._has(part) for part in self.clause.looked_up))
        wrong = np.flatnonzero(spoken & ~self._mask(conclusion))
        return (int(wrong[0]),) if len(wrong) else None

    def _different(self, shape: Different) -> tuple[int, int] | None:
        import numpy as np

        places = np.flatnonzero(self._where(shape.where))
        keys = [self._column(key)[places] for key in shape.keys]
        order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else _lexsorted(keys)
        same = np.ones(max(len(places) - 1, 0), np.bool_)
        for key in keys:
            same &= np.asarray(key[order][1:] == key[order][:-1], np.bool_)
        if shape.label is not None:
            label = self._column(shape.label)[places][order]
            same &= np.asarray(label[1:] != label[:-1], np.bool_)
        twice = np.flatnonzero(same)
        return _two(places[order], int(twice[0])) if len(twice) else None

    def _falling(self, value: Expression) -> tuple[int, int] | None:
        import numpy as np

        array = self.arrays[self.clause.arrays[0]]
        if array.ndim == 0 or array.size == 0:
            return None
        values = self._column(value).reshape(array.shape)
        falls = np.argwhere(values[..., 1:] < values[..., :-1])
        if not len(falls):
            return None
        place = int(np.ravel_multi_index(tuple(falls[0]), array.shape))
        return place, place + 1

    def _meeting(self, shape: Apart) -> tuple[int, int] | None:
        import numpy as np

        places = np.flatnonzero(self._where(shape.where))
        starts, ends = (self._column(part)[places] for part in (shape.start, shape.end))
        order = np.argsort(starts, kind="stable")
        met = np.flatnonzero(np.asarray(starts[order][1:] < ends[order][:-1], np.bool_))
        return (int(places[order[met[0]]]), int(places[order[met[0] + 1]])) if len(met) else None

    def _where(self, parts: tuple[Expression, ...]) -> Array:
        looked_up = [each for each in self.clause.looked_up if self.clause.indices[1] not in names_in(each)]
        return self._mask(
            NOTHING, *(self._mask(without(each, self._absent)) for each in parts), *map(self._has, looked_up)
        )

    def spoken(self, part: Expression) -> list[int]:
        """What a part is wherever the clause speaks, but for elements that keep it whatever its missing numbers are."""
        if not self.clause.indices:
            return [int(self.value(part))]
        premise, conclusion = without(self.clause.premise, self._absent), self.clause.conclusion
        others = conclusion.args if isinstance(conclusion, Apply) and conclusion.op == "or" else ()
        kept = (self._mask(each) for each in others if not names_in(each) & self._absent)
        mask = reduce(both, (~each for each in kept), self._mask(premise, *map(self._has, self.clause.looked_up)))
        return [int(value) for value in self._column(part)[mask].tolist()]

    # ------------------------------------------------------------------------------------ what formulas say
    @property
    def _absent(self) -> set[str]:
        return {name for name, number in self.fact.numbers.items() if number is None}

    @cached_property
    def count(self) -> int:
        """How many places the indices have."""
        if len(self.clause.arrays) == 1:
            return int(self.arrays[self.clause.arrays[0]].size)
        return min((int(self.arrays[name].size) for name in self.clause.arrays), default=0)

    def _mask(self, part: Expression, *more: Array) -> Array:
        import numpy as np

        found = np.broadcast_to(np.asarray(self.value(part), np.bool_), (self.count,))
        return reduce(both, more, found)

    def _column(self, part: Expression) -> Array:
        import numpy as np

        value = self.value(part)
        return np.broadcast_to(np.asarray(value), (self.count,))

    def _has(self, part: Apply) -> Array:
        """Where an element that is looked up is one of its array."""
        place = self.value(part.args[1])
        return both(compared("<=", 0, place), compared("<", place, int(self.array(part.args[0]).size)))

    def array(self, name: Expression) -> Array:
        assert isinstance(name, Name)
        return self.arrays[name.name]

    def value(self, part: Expression, at: Mapping[str, int] | None = None) -> Column:
        """What a part of a formula is, at all places or ``at`` one for each index."""
        import numpy as np

        match part:
            case Number(value):
                return value
            case Name(name) if name in self.clause.indices:
                return np.arange(self.count, dtype=np.int64) if at is None else at[name]
            case Name(name):
                number = self.fact.numbers[name]
                assert number is not None
                return number
            case Apply("and" | "or" as op, args):
                start: Column = op == "and"
                return reduce(both if op == "and" else either, (self.value(arg, at) for arg in args), start)
            case Apply("not", (arg,)):
                return np.logical_not(self.value(arg, at))
            case Apply("in", (value, _)):
                return among(np.asarray(self.value(value, at)), self.fact.unless)
            case Apply(op, (left, right)) if op in ORDERS:
                return compared(op, self.value(left, at), self.value(right, at))
            case Apply(op, (left, right)) if op in COMPUTED:
                return exact(op, self.value(left, at), self.value(right, at))
            case Apply(op, (array, *rest)):
                return self._of_array(op, array, rest, at)
        raise AssertionError(part)

    def _of_array(self, op: str, array: Expression, rest: Sequence[Expression], at: Mapping[str, int] | None) -> Column:
        import numpy as np

        match op:
            case "size":
                return int(self.array(array).size)
            case "sum":
                return total(self.array(array))
            case "count":
                n, chunk, key = (self.value(each, at) for each in rest)
                return counted(self.array(array), int(n), chunk, key)
            case "first" | "last" | "row":
                return self._of_place(op, self.value(array, at))
            case "line":
                row = self.value(Apply("row", (rest[0],)), at)
                return numbered_lines(self.array(array))[np.asarray(row, np.int64)]
        assert op == ELEMENT
        return self._elements(self.array(array), rest[0], at)

    def _of_place(self, op: str, place: Column) -> Column:
        """Of an index into the clause's first array."""
        own = self.arrays[self.clause.arrays[0]]
        width = max(1, own.shape[-1]) if own.ndim else 1
        if op == "first":
            return exact("//", place, max(1, own.size // max(1, own.shape[0])))
        return exact("//" if op == "row" else "%", place, width)

    def _elements(self, array: Array, place: Expression, at: Mapping[str, int] | None) -> Column:
        import numpy as np

        flat: Array = array.reshape(-1)
        if at is None and isinstance(place, Name) and place.name in self.clause.indices:
            return flat[: self.count]
        found = self.value(place, at)
        if at is not None:
            return int(flat[int(found)])
        if not len(flat):
            return np.zeros(self.count, np.int64)
        return np.asarray(flat[np.clip(np.asarray(found), 0, len(flat) - 1).astype(np.int64)])


def _lexsorted(keys: list[Array]) -> Array:
    import numpy as np

    ranks = [np.unique(key, return_inverse=True)[1].reshape(-1) for key in reversed(keys)]
    return np.asarray(np.lexsort(ranks))


def _two(places: Array, first: int) -> tuple[int, int]:
    one, other = sorted(int(place) for place in places[first : first + 2])
    return one, other


# -------------------------------------------------------------------------------------------------------------- telling
# What breaks a fact, in words: the sentences of its clauses with the elements put in.


_BRACES: Final = re.compile(r"\{(@?)([^{}]*?)(=?)\}")


def told(clause: FactFormula, names: Mapping[str, str], held: Held, places: Sequence[int]) -> str:
    """``clause.broken`` for these places; ``names`` of the arrays by their names in formulas."""
    at = dict(zip(clause.indices, places, strict=True))

    def piece(match: re.Match[str]) -> str:
        alone, text, beside = match.groups()
        if text in names:
            return names[text]
        part = parse(text)
        if not alone and not beside:
            return str(held.value(part, at))
        assert isinstance(part, Apply)
        place = int(held.value(part.args[1], at))
        element = f"{names[_name(part.args[0])]}[{_index(held.array(part.args[0]), place)}]"
        return element if alone else f"{element} = {held.value(part, at)}"

    return _BRACES.sub(piece, clause.broken)


def _name(part: Expression) -> str:
    assert isinstance(part, Name)
    return part.name


def _index(array: Array, place: int) -> str:
    import numpy as np

    return ", ".join(str(int(i)) for i in np.unravel_index(place, array.shape))
