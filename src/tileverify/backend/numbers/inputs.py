"""The arguments of a concrete launch: what was given, what the contract makes of it, and what is generated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

import numpy as np

from ...contract.contiguous import strides_of
from ...contract.element_types import ELEMENT_TYPES
from ...contract.expressions import GRID_NAMES, free_names, substitute
from ...contract.facts.kept import filled_in_turn
from ...contract.launch import (
    Apply,
    ArrayArgument,
    Block,
    ConcreteArray,
    ConcreteLaunch,
    DataFact,
    Expression,
    LaunchSpec,
    Name,
    Number,
)
from ...contract.list_terms import member_of_list, of_array
from ...system.errors import UsageError
from ..interpreter.grid_runs import extent_bytes
from .choose import choose
from .conditions import Condition, ContractInNumbers, scalars
from .data import generated
from .elements import Array, storage_type, stored
from .fact_checks import check_facts

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
        arrays = {array.name: self._array(array) for array in self._ordered()}
        self._check_facts()
        items = {listed.name: tuple(self._items(listed.name, listed.element)) for listed in self.spec.lists()}
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
            replace(fact, array=renamed(fact.array), others=tuple(map(renamed, fact.others))) for fact in self.spec.data
        ]

    def _value(self, expression: Expression) -> int:
        return self.contract.value(expression, self.values)

    def _clash(self, name: str, placed: ConcreteArray) -> str:
        others = [other for other in self.logical if other != name and self.shared.get(other) == placed.allocation]
        if others:
            return f"the launch is outside the contract: '{name} is {others[0]}', but the inputs differ"
        return f"the input {name} gives different values to elements that share memory"

    def _items(self, name: str, element: ArrayArgument) -> Iterator[ConcreteArray]:
        """The arrays of a list; the names of each are its own."""
        (listed,) = (listed for listed in self.spec.lists() if listed.name == name)
        for number in range(self.contract.value(listed.length, self.values)):
            element = listed.each[number] if listed.each else element
            item = ArrayArgument(f"{name}[{number}]", element.dtype, element.shape, element.strides, element.index_bits)
            required = tuple(
                self._of_item(condition, name, item.name) for condition in self.contract.of_arrays.get(name, ())
            )
            one = (Number(1), Number(1), Number(1))
            own = ContractInNumbers(LaunchSpec(self.spec.kernel, self.spec.name, (item,), one, required))
            sizes: dict[str, int] = {}
            contents = self.given.arrays.get(item.name)
            extra = [] if contents is None else list(_shape_conditions(own, item, contents.shape, sizes))
            values = choose(own, sizes, extra)
            shape, strides = (
                tuple(own.value(expression, values) for expression in expressions)
                for expressions in (item.shape, strides_of(item))
            )
            placed = ConcreteArray(item.dtype, shape, strides, allocation=item.name)
            self._fill(item.name, placed)
            yield placed

    def _of_item(self, condition: Expression, listed: str, item: str) -> Expression:
        """What is said of one array of a list, with the launch's numbers for all other names."""
        others = (name for name in free_names(condition) if not member_of_list(name, (listed,))[0])
        numbers = {name: Number(self.contract.value(Name(name), self.values)) for name in others}
        return of_array(substitute(condition, numbers), listed, item)

    def _check_facts(self) -> None:
        check_facts(self.logical, self.spec.data, self._value)


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
