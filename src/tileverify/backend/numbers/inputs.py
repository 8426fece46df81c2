"""The arguments of a concrete launch: what was given, what the contract makes of it, contents that keep its facts."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from math import lcm, prod
from typing import Final

import numpy as np

from ...contract.data_facts import print_data_fact
from ...contract.element_types import ELEMENT_TYPES
from ...contract.expressions import GRID_NAMES, free_names, substitute
from ...contract.facts import array_facts
from ...contract.facts.contents import Described, every, several
from ...contract.facts.form import DISTINCT, Subject
from ...contract.facts.kept import filled_in_turn, measured
from ...contract.facts.kinds import meaning_of, subject_of
from ...contract.facts.layouts import hints_of
from ...contract.facts.statements import NumberedFact, Value
from ...contract.launch import (
    Apply,
    ArrayArgument,
    Block,
    ConcreteArray,
    ConcreteLaunch,
    DataFact,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    strides_of,
)
from ...contract.list_terms import member_of_list, of_array, said_of_each
from ...system.errors import UsageError
from ..interpreter.grid_runs import extent_bytes
from .array_files import Array, rounded, storage_type, stored
from .choose import Condition, ContractInNumbers, choose, scalars

FLOAT: Final = 1.0
"""A float scalar that was not given."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user gave.  ``numbers``: sizes and integer scalars; ``grid``: one to three axes, the rest is 1.

    ``blank``: arrays of floats with more elements get no memory of their own, and are 0 everywhere.  ``drawn``: what
    arrays hold that were not given, a value for each index, where nothing else is to be made up for them.
    """

    numbers: Mapping[str, int]
    floats: Mapping[str, float]
    arrays: Mapping[str, Array]
    grid: Block | None = None
    seed: int = 0
    blank: int | None = None
    drawn: Mapping[str, Array] = field(default_factory=dict)

    def leaves_blank(self, array: ConcreteArray) -> bool:
        """Whether nothing is made up for ``array``, because it is large and its contents decide nothing."""
        floats = ELEMENT_TYPES[array.dtype].kind == "f"
        return floats and self.blank is not None and prod(array.shape) > self.blank


@dataclass(frozen=True, slots=True)
class Inputs:
    """A launch within the contract, and the memory of its allocations by name: flat arrays of stored elements."""

    launch: ConcreteLaunch
    memory: Mapping[str, Array]
    values: Mapping[str, int]
    generated: tuple[str, ...]


def make_inputs(contract: ContractInNumbers, given: Given) -> Inputs:
    """The whole launch.

    :raises UsageError: what was given is outside the contract, or no small launch inside it was found.
    """
    return _Maker(contract, given).make()


class _Maker:
    def __init__(self, contract: ContractInNumbers, given: Given) -> None:
        self.contract = contract
        self.spec: LaunchSpec = contract.spec
        self.given = given
        self.memory: dict[str, Array] = {}
        self.logical: dict[str, Array] = {}
        self.generated: list[str] = []
        self.shared = {name: min(group) for group in self.spec.same_arrays() for name in group}

    def make(self) -> Inputs:
        floats = self._floats()
        self.values = self._values()
        self._held: dict[tuple[str, int], int] = {}  # what elements of arrays hold, by array and place
        items = {listed.name: tuple(self._items(listed)) for listed in self.spec.lists()}
        self._in_lists = dict(_sizes_and_strides(items))
        names = {name: [*map(_name_of, of)] for name, of in items.items()}
        self.facts = tuple(said_of_each(self.spec.data, names))
        arrays = {array.name: self._array(array) for array in self._ordered()}
        self._check_facts()
        for item in (item for of in items.values() for item in of):
            self._fill(_name_of(item), item)
        unused = sorted(self.given.arrays.keys() - self.logical.keys())
        if unused:
            raise UsageError(f"the launch has no array '{unused[0]}' (there are: {', '.join(self.logical) or 'none'})")
        grid = tuple(self.contract.value(axis, self.values) for axis in self.contract.grid)
        numbers = {
            s.name: self.contract.value(Name(s.name), self.values)
            for s in scalars(self.spec)
            if ELEMENT_TYPES[s.dtype].kind != "f"
        }
        ordered = {array.name: arrays[array.name] for array in self.spec.arrays()}
        launch = ConcreteLaunch((grid[0], grid[1], grid[2]), ordered, numbers, items, floats)
        return Inputs(launch, self.memory, self.values, tuple(self.generated))

    # ------------------------------------------------------------------------------------------ numbers
    def _values(self) -> dict[str, int]:
        numbers = dict(self.given.numbers)
        extra: list[Condition] = []
        for array in self.spec.arrays():
            if array.name in self.given.arrays:
                extra += _shape_conditions(self.contract, array, self.given.arrays[array.name].shape, numbers)
        for listed in self.spec.lists():
            count = sum(name.startswith(f"{listed.name}[") for name in self.given.arrays)
            if count:
                extra.append(self.contract.condition(Apply("==", (listed.length, Number(count)))))
        for scalar in scalars(self.spec):
            if scalar.value is not None and scalar.name in numbers:
                number = Number(numbers.pop(scalar.name))
                extra.append(self.contract.condition(Apply("==", (Name(scalar.name), number))))
        if self.given.grid is not None:
            for name, axis, size in zip(GRID_NAMES, self.contract.grid, self.given.grid, strict=True):
                if self.spec.grid is None:
                    numbers[name] = size
                else:
                    extra.append(self.contract.condition(Apply("==", (axis, Number(size))), f"{name} == {size}"))
        return choose(self.contract, numbers, extra)

    def _floats(self) -> dict[str, float]:
        names = [s.name for s in scalars(self.spec) if ELEMENT_TYPES[s.dtype].kind == "f"]
        unknown = sorted(self.given.floats.keys() - set(names))
        if unknown:
            raise UsageError(f"the launch has no float scalar '{unknown[0]}' (there are: {', '.join(names) or 'none'})")
        return {name: self.given.floats.get(name, FLOAT) for name in names}

    # ------------------------------------------------------------------------------------------- arrays
    def _ordered(self) -> list[ArrayArgument]:
        """Arrays that were given come first, so that those that are the same array take their contents; each comes
        behind those from which it follows, as the starts of segments do from the lengths."""
        arrays = {array.name: array for array in self.spec.arrays()}
        order = filled_in_turn(arrays, self.spec.data) or list(arrays)
        return [arrays[name] for name in sorted(order, key=lambda name: name not in self.given.arrays)]

    def _array(self, array: ArrayArgument) -> ConcreteArray:
        shape, strides = (
            tuple(self.contract.value(expression, self.values) for expression in expressions)
            for expressions in (array.shape, strides_of(array))
        )
        allocation = self.shared.get(array.name, array.name)
        placed = ConcreteArray(array.dtype, shape, strides, allocation=allocation)
        self._fill(array.name, placed)
        return placed

    def _fill(self, name: str, placed: ConcreteArray) -> None:
        """Put the contents into the memory of the allocation, unless an array that is the same did so already."""
        contents = self.given.arrays.get(name)
        known = self.memory.get(placed.allocation)
        if contents is None and known is None and self.given.leaves_blank(placed):
            return
        if contents is not None:
            contents = stored(contents, placed.dtype, f"the input {name}")
        if known is None:
            width = storage_type(placed.dtype).itemsize
            known = np.zeros(extent_bytes(placed) // width, storage_type(placed.dtype))
            self.memory[placed.allocation] = known
            elements = view(known, placed.shape, placed.strides)
            elements[...] = self._generated(name, placed) if contents is None else contents
        self.logical[name] = view(known, placed.shape, placed.strides).copy()
        if contents is not None and contents.tobytes() != self.logical[name].tobytes():
            raise UsageError(self._clash(name, placed))

    def _generated(self, name: str, placed: ConcreteArray) -> Array:
        """A value for each index; where indices share an element, one of these values stays, for all of them."""
        self.generated.append(name)
        if name in self.given.drawn:
            return self.given.drawn[name]
        facts = self._facts_about(name)
        return generated(name, placed.dtype, placed.shape, facts, self._value, self.given.seed, self.logical)

    def _facts_about(self, name: str) -> list[DataFact]:
        """The facts, those about another name of the same array under this one."""

        def renamed(array: str) -> str:
            return name if self.shared.get(array, array) == self.shared.get(name, name) else array

        return [
            replace(fact, array=renamed(fact.array), others=tuple(map(renamed, fact.others))) for fact in self.facts
        ]

    def _value(self, expression: Expression) -> int:
        return self.contract.value(substitute(expression, self._in_lists), self.values)

    def _clash(self, name: str, placed: ConcreteArray) -> str:
        others = [other for other in self.logical if other != name and self.shared.get(other) == placed.allocation]
        if others:
            return f"the launch is outside the contract: '{name} is {others[0]}', but the inputs differ"
        return f"the input {name} gives different values to elements that share memory"

    def _items(self, listed: ListArgument) -> Iterator[ConcreteArray]:
        """The arrays of a list, without contents; the names of each are its own."""
        name = listed.name
        for number in range(self.contract.value(listed.length, self.values)):
            element = listed.each[number] if listed.each else listed.element
            item = ArrayArgument(f"{name}[{number}]", element.dtype, element.shape, element.strides, element.index_bits)
            required = tuple(
                self._of_item(condition, name, item.name) for condition in self.contract.of_arrays.get(name, ())
            )
            one = (Number(1), Number(1), Number(1))
            own = ContractInNumbers(LaunchSpec(self.spec.kernel, self.spec.name, (item,), one, required))
            sizes: dict[str, int] = {}
            contents = self.given.arrays.get(item.name)
            extra = [] if contents is None else list(_shape_conditions(own, item, contents.shape, sizes))
            stated = list(self._stated(name, item.name, number))
            known = ((word, self._held.get(place)) for word, place in stated)
            extra += [own.condition(Apply("==", (word, Number(held)))) for word, held in known if held is not None]
            values = choose(own, sizes, extra)
            self._held |= {place: own.value(word, values) for word, place in stated}
            shape, strides = (
                tuple(own.value(expression, values) for expression in expressions)
                for expressions in (item.shape, strides_of(item))
            )
            yield ConcreteArray(item.dtype, shape, strides, allocation=item.name)

    def _stated(self, listed: str, item: str, number: int) -> Iterator[tuple[Name, tuple[str, int]]]:
        """Sizes and strides of array ``number`` that facts say an element holds, each with the element."""
        for fact in self.spec.data:
            low = fact.low if subject_of(fact) is Subject.ELEMENT and isinstance(fact.low, Name) else None
            if low is not None and fact.amount is not None and member_of_list(low.name, (listed,))[0]:
                place = self._of_item(of_array(fact.amount, listed, item, number), listed, item)
                word = of_array(low, listed, item)
                assert isinstance(word, Name)
                yield word, (fact.array, self.contract.value(place, self.values))

    def _of_item(self, condition: Expression, listed: str, item: str) -> Expression:
        """What is said of one array of a list, with the launch's numbers for all other names."""
        others = (name for name in free_names(condition) if not member_of_list(name, (listed,))[0])
        numbers = {name: Number(self.contract.value(Name(name), self.values)) for name in others}
        return of_array(substitute(condition, numbers), listed, item)

    def _check_facts(self) -> None:
        check_facts(self.logical, self.facts, self._value)


def _name_of(item: ConcreteArray) -> str:
    """An array of a list has memory of its own, which has its name."""
    return item.allocation


def _sizes_and_strides(items: Mapping[str, Sequence[ConcreteArray]]) -> Iterator[tuple[str, Number]]:
    """Those of the arrays of lists, by their names in expressions."""
    for item in (item for of in items.values() for item in of):
        for part, numbers in (("shape", item.shape), ("strides", item.strides)):
            yield from ((f"{_name_of(item)}.{part}[{dim}]", Number(number)) for dim, number in enumerate(numbers))


def _shape_conditions(
    contract: ContractInNumbers, array: ArrayArgument, shape: Sequence[int], numbers: dict[str, int]
) -> Iterator[Condition]:
    """The given array's sizes are the spec's; a size that is a bare name gives that name its value."""
    if len(shape) != len(array.shape):
        raise UsageError(f"the input {array.name} has {len(shape)} dimensions, the spec says {len(array.shape)}")
    for dim, (expression, size) in enumerate(zip(array.shape, shape, strict=True)):
        if isinstance(expression, Name) and expression.name in contract.sizes:
            numbers.setdefault(expression.name, size)
        equal = Apply("==", (expression, Number(size)))
        yield contract.condition(equal, f"{array.name}.shape[{dim}] == {size} as in the input")


def view(memory: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """The elements of an array in its flat memory, ``strides`` in elements."""
    if prod(shape) == 0:
        return np.zeros(shape, memory.dtype)
    width = memory.dtype.itemsize
    return np.lib.stride_tricks.as_strided(memory, shape, [stride * width for stride in strides])


def elements_with(marks: Array, array: ConcreteArray, memory: Array) -> Array:
    """Which elements of the array have a marked byte."""
    whole = np.asarray(marks.reshape(-1, memory.dtype.itemsize).any(axis=1))
    return view(whole, array.shape, array.strides)


# ----------------------------------------------------------------------------------------------------------------- data
# Contents of the arrays of a launch that keep the data facts of the contract.


INTEGERS: Final = (0, 16)
"""Integers that no fact speaks of lie in this range, the end excluded."""


_DRAWN: Final = DISTINCT | {Subject.LIMITS, Subject.ORDER, Subject.STEPS, Subject.SUM}
"""What facts may speak of whose values are drawn here; of others, the facts make contents (`layouts`)."""


def generated(
    name: str, dtype: str, shape: Sequence[int], facts: Sequence[DataFact], value: Value, seed: int,
    known: Mapping[str, Array],
) -> Array:  # fmt: skip
    """Random contents, the same for the same seed, name and shape; stored elements (see `elements`).

    Floats are normally distributed.  ``known`` are arrays that were filled before: the starts of segments follow from
    their lengths, ranks and buckets from the keys.

    :raises UsageError: no contents satisfy ``facts``, or none were found.
    """
    source = np.random.default_rng([seed, zlib.crc32(name.encode())])
    count = prod(shape)
    element = ELEMENT_TYPES[dtype]
    if element.kind == "f":
        return rounded(source.standard_normal(count), dtype).reshape(shape)
    if element.kind == "bool":
        return np.asarray(source.integers(0, 2, count) == 1).reshape(shape)
    stated = [fact for fact in facts if fact.array == name and subject_of(fact) is Subject.ELEMENT]
    own = [fact for fact in facts if fact.array == name and not fact.others and fact not in stated]
    beside = [fact for fact in facts if fact.array == name and fact.others and {*fact.others} <= known.keys()]
    wishes: list[DataFact] = []
    for fact in facts:
        if name in fact.others:
            own += [each for each in _implied(fact) if each.array == name]
            wishes += _room(name, fact, facts) if measured(fact) else []
            roles = dict(zip(meaning_of(fact).form.arrays, fact.arrays, strict=True))
            wishes += [DataFact(kind, name) for kind, role in meaning_of(fact).suited_by if roles[role] == name]
    problem = f"no contents of {name} were found that satisfy {texts([*own, *beside, *stated])}"
    for asked in ([*own, *wishes], own) if wishes else (own,):
        try:
            made: Iterable[Array] = (_drawn(source, name, dtype, shape, asked, beside, value, known),)
        except UsageError as error:
            made, problem = (), str(error)
        for values in chain(made, _made(source, dtype, shape, asked, value)):
            _put_in(values.reshape(-1), stated, value)
            contents = values.reshape(shape).astype(storage_type(dtype))
            stored = np.array_equal(contents.astype(object), values.reshape(shape))
            held = {**known, name: contents}
            if stored and all(violation(fact, held, value) is None for fact in (*asked, *beside, *stated)):
                return contents
    raise UsageError(problem)


def _put_in(values: Array, stated: Sequence[DataFact], value: Value) -> None:
    """The values that facts give single elements."""
    for fact in stated:
        assert fact.low is not None
        place = _amount(fact, value)
        if 0 <= place < len(values):
            values[place] = value(fact.low)


def _implied(fact: DataFact) -> list[DataFact]:
    follows = meaning_of(fact).implied(fact)
    return [] if follows is None else [follows]


def _room(name: str, fact: DataFact, facts: Sequence[DataFact]) -> list[DataFact]:
    """What lengths should keep, so that starts can be found beside them which keep what is said of starts alone: they
    fit one behind the other between the starts' limits, and are multiples of what the starts are multiples of."""
    starts = [each for each in facts if each.array == fact.array and not each.others]
    steps = [replace(each, array=name) for each in starts if subject_of(each) is Subject.STEPS]
    limits = [each for each in (fact, *starts) if each.low is not None and subject_of(each) not in DISTINCT]
    rooms = [replace(fact, low=one.low, high=other.high) for one, other in product(limits, repeat=2)]
    return [*steps, *(follows for room in rooms if room != fact for follows in _implied(room))]


def _drawn(
    source: np.random.Generator, name: str, dtype: str, shape: Sequence[int], own: Sequence[DataFact],
    beside: Sequence[DataFact], value: Value, known: Mapping[str, Array],
) -> Array:  # fmt: skip
    """Contents that keep the facts, unless they meet in a way that nobody has drawn for."""
    count = prod(shape)
    for fact in beside:
        usual = hints_of(fact).usual
        if usual is None:
            continue
        others = ([int(number) for number in known[other].reshape(-1)] for other in fact.others)
        limits = _range(dtype, count, own, value) if _limited(own) else None
        made = usual(NumberedFact.evaluated(fact, value), count, limits, _step(own, value), *others)
        return np.asarray(made, dtype=object)
    if not {subject_of(fact) for fact in own} <= _DRAWN:
        raise UsageError(f"no contents of {name} were found that satisfy {texts(own)}")
    values = _with_gaps(source, name, dtype, count, own, value).reshape(shape)
    return np.sort(values, axis=-1) if any(subject_of(fact) is Subject.ORDER for fact in own) else values


def _made(
    source: np.random.Generator, dtype: str, shape: Sequence[int], facts: Sequence[DataFact], value: Value
) -> Iterator[Array]:
    """Contents that the facts themselves make, in an order that is drawn; then all others, where they are few."""
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    array = ConcreteArray(dtype, tuple(shape), tuple(strides))
    described = Described.of(array, [NumberedFact.evaluated(fact, value) for fact in facts])
    if len(described.places) != prod(shape):  # too many to be given values one by one
        return
    found = several(described)
    for chosen in source.permutation(len(found)):
        yield np.asarray(found[chosen], dtype=object)
    for values in every(described):
        yield np.asarray(values, dtype=object)


GAPS: Final = 0.2
"""The part of the elements that get a value of which the facts say nothing, where there are such values."""


def _with_gaps(
    source: np.random.Generator, name: str, dtype: str, count: int, facts: Sequence[DataFact], value: Value
) -> Array:
    """Contents in which values occur that all facts excuse, if there are any; what is left keeps the facts."""
    gaps = sorted(set.intersection(*({*map(value, fact.unless)} for fact in facts))) if facts else []
    if not gaps:
        return _integers(source, name, dtype, count, facts, value)
    low, high = _range(dtype, count, facts, value)
    least = 0 if high > low else count
    if any(subject_of(fact) in DISTINCT for fact in facts):
        least = max(least, count - max(0, high - low))
    kept = count - max(least, int(np.count_nonzero(source.random(count) < GAPS)))
    filled = [*_integers(source, name, dtype, kept, facts, value)] if kept else []
    chosen = [gaps[k] for k in source.integers(0, len(gaps), count - kept)] + [int(number) for number in filled]
    return source.permutation(np.asarray(chosen, dtype=object))


def _integers(
    source: np.random.Generator, name: str, dtype: str, count: int, facts: Sequence[DataFact], value: Value
) -> Array:
    low, high = _range(dtype, count, facts, value)
    step = _step(facts, value)
    first, last = -(-low // step), (high - 1) // step  # values are multiples of ``step``
    if count and last < first:
        raise UsageError(f"no contents of {name} satisfy {texts(facts)}: the range is empty")
    choices = last - first + 1
    distinct = [fact for fact in facts if subject_of(fact) in DISTINCT]
    if distinct:
        free = [number for number in _repeatable(distinct, first * step, last * step, value) if number % step == 0]
        repeated = max(count - choices, int(np.count_nonzero(source.random(count) < GAPS))) if free else 0
        if choices < count - repeated:
            raise UsageError(f"{name} has {count} elements, but {texts(facts)} leaves {choices} different values")
        kept = count - repeated
        chosen = source.permutation(kept) if choices == kept else source.choice(choices, kept, replace=False)
        values = np.asarray((chosen.astype(object) + first) * step)
        more = np.asarray([free[k] for k in source.integers(0, len(free), repeated)] if free else [], dtype=object)
        return np.concatenate((values, more)) if repeated == 0 else source.permutation(np.concatenate((values, more)))
    totals = [_amount(fact, value) for fact in facts if subject_of(fact) is Subject.SUM]
    if totals:
        spare = min(totals) // step - count * first  # what is left when each has the least that it may have
        if spare < 0:
            raise UsageError(f"no contents of {name} satisfy {texts(facts)}: the least values come to more")
        cuts = np.sort(source.integers(0, spare + 1, count))
        return (first + np.minimum(np.diff(cuts, prepend=0), last - first)).astype(object) * step
    return source.integers(first, last + 1, count, dtype=np.uint64 if dtype == "u64" else np.int64) * step


def _repeatable(distinct: Sequence[DataFact], low: int, high: int, value: Value) -> list[int]:
    """Values from ``low`` to ``high`` that may occur more than once."""
    said = [NumberedFact.evaluated(fact, value) for fact in distinct]
    near = {end for fact in said for end in (fact.low, fact.high) if end is not None}
    candidates = {low, high, *near, *(number - 1 for number in near), *(x for fact in said for x in fact.unless)}

    def meant(fact: NumberedFact, number: int) -> bool:
        within = fact.low is None or fact.high is None or fact.low <= number < fact.high
        return within and number not in fact.unless

    return sorted(n for n in candidates if low <= n <= high and not any(meant(fact, n) for fact in said))


def _limited(facts: Sequence[DataFact]) -> bool:
    return any(meaning_of(fact).bounded for fact in facts)


def _range(dtype: str, count: int, facts: Sequence[DataFact], value: Value) -> tuple[int, int]:
    """Where the values may lie: all that the facts demand, else small numbers."""
    bits = ELEMENT_TYPES[dtype].bits
    limits = (0, 1 << bits) if dtype[0] == "u" else (-(1 << (bits - 1)), 1 << (bits - 1))
    found = (meaning_of(fact).limits(NumberedFact.evaluated(fact, value), count) for fact in facts)
    ranges = [ends for ends in found if ends is not None]
    if not ranges:
        distinct = any(subject_of(fact) in DISTINCT for fact in facts)
        ranges = [(INTEGERS[0], _step(facts, value) * max(INTEGERS[1], count if distinct else 0))]
    low = max(limits[0], *(low for low, _ in ranges))
    return low, min(limits[1], *(high for _, high in ranges))


def _amount(fact: DataFact, value: Value) -> int:
    assert fact.amount is not None
    return value(fact.amount)


def _step(facts: Sequence[DataFact], value: Value) -> int:
    return lcm(*(_amount(fact, value) for fact in facts if subject_of(fact) is Subject.STEPS))


# ---------------------------------------------------------------------------------------------------------- fact checks
# Launches outside their contract, as the contents of index arrays break a data fact (`contract.facts`).


def texts(facts: Sequence[DataFact]) -> str:
    """The facts as they were written."""
    return " and ".join(fact.text or print_data_fact(fact) for fact in facts)


def check_facts(contents: Mapping[str, Array], facts: Sequence[DataFact], value: Value) -> None:
    """Raises `UsageError` with the fact, the element and its value where contents break a data fact."""
    for fact in facts:
        problem = violation(fact, contents, value)
        if problem is not None:
            raise UsageError(f"the launch is outside the contract: '{texts([fact])}' does not hold, {problem}")


def violation(fact: DataFact, contents: Mapping[str, Array], value: Value) -> str | None:
    """What breaks the fact, with element and value; ``None`` if it holds."""
    return array_facts.violation(meaning_of(fact), NumberedFact.evaluated(fact, value), contents)
