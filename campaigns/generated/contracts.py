"""Launch contracts with finitely many launches, and all of them.

The names of a contract have a handful of values, index arrays a few contents; the grid follows from them or has a
few values of its own.  What is enumerated is what ``docs/specs.md`` says a spec means, not what the verifier makes
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from tests.facts import keeps

from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.expressions import Undefined, evaluate
from tileverify.contract.launch import (
    ArrayArgument,
    Block,
    ConcreteArray,
    ConcreteLaunch,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
)

from .contents import Contents, IndexArray, contents, looked_through

BYTES = {"i8": 1, "u8": 1, "i16": 2, "i32": 4, "u32": 4, "i64": 8, "f32": 4}
ANY_GRID = "grid.x <= 3 and grid.y <= 2 and grid.z <= 1"
OPEN_GRIDS: Sequence[Block] = tuple((x, y, 1) for x in (1, 2, 3) for y in (1, 2))
"""What `ANY_GRID` allows."""
EVERY_GRID: Sequence[Block] = tuple((x, y, z) for x in (1, 2, 3) for y in (1, 2) for z in (1, 2))
"""Grids that are tried where the contract leaves the grid open."""
LARGER_GRIDS: Sequence[Block] = tuple(
    (x, y, z)
    for x, y, z in product(range(1, 9), repeat=3)
    if (x, y, z) not in EVERY_GRID and x * y * z <= 16 and (max(x, y, z) < 5 or x * y * z < 9)
)
"""Tried as well where clauses leave the smaller ones no work: a clause may ask for a third block along an axis, and
work that begins with block 3 is done by two blocks where there are five."""
_ANY_GRID = parse_condition(ANY_GRID)
APART = 3
"""Layouts of a list's elements that are tried where strides of theirs have names."""


@dataclass(frozen=True, slots=True)
class FiniteContract:
    """``domains``: the values of every free name; ``tile`` the number of elements a block is meant to take.

    ``index``: the arrays whose contents may steer a kernel.  ``narrow``: what the bytecode takes in 8 bits, whatever
    the spec says: ``sizes``, ``scalars`` or nothing.
    """

    spec: LaunchSpec
    domains: Mapping[str, Sequence[int]]
    tile: int
    index: tuple[str, ...] = ()
    narrow: str = ""

    def launches(self, larger: bool = False) -> Iterator[tuple[ConcreteLaunch, Mapping[str, int]]]:
        """Every launch of the contract, up to the contents that no fact restricts, and what its clauses may name.

        ``larger``: on `LARGER_GRIDS`, of which a contract has none that does not leave its grid open.
        """
        if larger and self.bounded:
            return
        for known in self._known():
            lists = list(self._lists(known))
            for places, held in product(list(self._placements(known)), self._contents(known)):
                for grid, arrays in product(LARGER_GRIDS if larger else known.grids, lists):
                    launch = self._launch(known, grid, places, held, arrays)
                    yield launch, {**known.names, **_members(launch)}

    def certainly_empty(self) -> bool:
        """There is no launch: none was found, and everything was looked through."""
        return next(self.launches(), None) is None and all(
            looked_through(array, self.spec.data, known.names)
            for known in self._known()
            for array in self._indexing(known)
        )

    def admits(self, launch: ConcreteLaunch) -> bool:
        """Whether the launch keeps to the contract, which a witness of any origin must."""
        values = {name: value for name, value in launch.scalars.items() if name in self.domains}
        for array in self.spec.arrays():
            given = launch.arrays[array.name]
            described = list(zip(array.shape, given.shape, strict=True))
            if array.strides is not None:
                described += zip(array.strides, given.strides, strict=True)
            for expression, number in described:
                if isinstance(expression, Name) and expression.name in self.domains:
                    values[expression.name] = number
        free = [name for name in self.domains if name not in values]
        return any(
            self._same_sizes(known, launch)
            for rest in product(*(self.domains[name] for name in free))
            if (known := self._admitted({**values, **dict(zip(free, rest, strict=True))})) is not None
        )

    @property
    def bounded(self) -> bool:
        """The grid follows from names, or the contract itself bounds it."""
        return self.spec.grid is not None or _ANY_GRID in self.spec.requires

    # ------------------------------------------------------------------------------------- names and sizes
    def _known(self) -> Iterator[_Known]:
        for values in product(*self.domains.values()):
            known = self._admitted(dict(zip(self.domains, values, strict=True)))
            if known is not None:
                yield known

    def _admitted(self, values: dict[str, int]) -> _Known | None:
        """The launch's numbers where the contract allows these values."""
        spec = self.spec
        try:
            scalars = {
                s.name: values[s.name] if s.value is None else evaluate(s.value, values) for s in scalars_of(spec)
            }
            names = {**values, **scalars}
            layouts = {array.name: _layout(array, names) for array in spec.arrays()}
            grid = None if spec.grid is None else tuple(evaluate(axis, names) for axis in spec.grid)
            if grid is not None:
                names |= dict(zip(("grid.x", "grid.y", "grid.z"), grid, strict=True))
                if not all(1 <= axis < 1 << 24 for axis in grid):
                    return None
            clauses = (clause for clause in spec.requires if clause != _ANY_GRID)
            if not all(evaluate(clause, names) for clause in clauses):  # type: ignore[arg-type]
                return None
        except Undefined:
            return None
        for array in spec.arrays():
            limit = 1 << (array.index_bits - 1)
            shape, strides = layouts[array.name]
            if not all(0 <= number < limit for number in (*shape, *strides)):
                return None
            if any(isinstance(stride, Name) for stride in array.strides or ()) and meets_itself(shape, strides):
                return None
        grids = (OPEN_GRIDS if self.bounded else EVERY_GRID) if grid is None else (grid,)
        return _Known(names, scalars, layouts, grids)  # type: ignore[arg-type]

    def _same_sizes(self, known: _Known, launch: ConcreteLaunch) -> bool:
        return (
            (launch.grid in known.grids or (not self.bounded and all(1 <= axis < 1 << 24 for axis in launch.grid)))
            and all(launch.scalars.get(name, value) == value for name, value in known.scalars.items())
            and all((launch.arrays[n].shape, launch.arrays[n].strides) == known.layouts[n] for n in known.layouts)
            and all(self._same_list(argument, known, launch) for argument in self._list_arguments())
            and self._keeps_facts(known, launch)
        )

    def _keeps_facts(self, known: _Known, launch: ConcreteLaunch) -> bool:
        arrays = {name: _elements(launch.arrays[name]) for name in self.index}
        return all(keeps(fact, arrays, lambda expression: evaluate(expression, known.names)) for fact in self.spec.data)

    # ---------------------------------------------------------------------------------- memory and contents
    def _placements(self, known: _Known) -> Iterator[Mapping[str, tuple[str, int]]]:
        """Allocations and byte offsets: arrays that may overlap lie apart, and at every distance that meets."""
        yield {}
        for group in self.spec.overlap:
            for first, second in (sorted(group), sorted(group, reverse=True)):
                step = BYTES[self._array(second).dtype]
                shape, strides = known.layouts[first]
                reach = extent(shape, strides) * BYTES[self._array(first).dtype]
                for offset in range(0, min(reach, 6 * step), step):
                    yield {first: (first, 0), second: (first, offset)}

    def _array(self, name: str) -> ArrayArgument:
        return next(array for array in self.spec.arrays() if array.name == name)

    def _contents(self, known: _Known) -> Sequence[Contents]:
        return contents(list(self._indexing(known)), self.spec.data, known.names)

    def _indexing(self, known: _Known) -> Iterator[IndexArray]:
        for name in self.index:
            shape, strides = known.layouts[name]
            yield IndexArray(name, self._array(name).dtype, shape, extent(shape, strides))

    def _launch(
        self, known: _Known, grid: Block, places: Mapping[str, tuple[str, int]],
        held: Contents, lists: Mapping[str, tuple[ConcreteArray, ...]],
    ) -> ConcreteLaunch:  # fmt: skip
        arrays = {}
        for array in self.spec.arrays():
            shape, strides = known.layouts[array.name]
            allocation, offset = places.get(array.name, ("", 0))
            arrays[array.name] = ConcreteArray(
                array.dtype, shape, strides, held.get(array.name, {}), 0, allocation, offset
            )
        return ConcreteLaunch(grid, arrays, known.scalars, lists)

    # ---------------------------------------------------------------------------------------------- lists
    def _list_arguments(self) -> Iterator[ListArgument]:
        return (argument for argument in self.spec.arguments if isinstance(argument, ListArgument))

    def _lists(self, known: _Known) -> Iterator[Mapping[str, tuple[ConcreteArray, ...]]]:
        """Names inside a list are each element's own: neighbours have different layouts."""
        for turn in range(APART):
            lists, own = {}, 1
            for argument in self._list_arguments():
                layouts = _own_layouts(argument.element, known.names)
                own = max(own, len(layouts))
                lists[argument.name] = tuple(
                    ConcreteArray(argument.element.dtype, *layouts[(turn + number) % len(layouts)])
                    for number in range(evaluate(argument.length, known.names))
                )
            if turn < own:
                yield lists

    def _same_list(self, argument: ListArgument, known: _Known, launch: ConcreteLaunch) -> bool:
        given, element = launch.lists[argument.name], argument.element
        if len(given) != evaluate(argument.length, known.names):
            return False
        for array in given:
            described = zip(_described(element, array.shape), (*array.shape, *array.strides), strict=True)
            fits = (isinstance(said, Name) or evaluate(said, known.names) == number for said, number in described)
            if not all(fits) or meets_itself(array.shape, array.strides):
                return False
        return True


@dataclass(frozen=True, slots=True)
class _Known:
    """The numbers of a launch: several launches, where the contract leaves the grid or contents open."""

    names: Mapping[str, int]
    scalars: Mapping[str, int]
    layouts: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
    grids: Sequence[Block]


def _elements(array: ConcreteArray) -> NDArray[np.int64]:
    found = np.full(array.shape, array.fill, np.int64)
    for index in np.ndindex(*array.shape):
        place = sum(i * stride for i, stride in zip(index, array.strides, strict=True))
        found[index] = array.contents.get(place, array.fill)
    return found


def _described(array: ArrayArgument, shape: tuple[int, ...]) -> tuple[Expression, ...]:
    """Its sizes and strides, those of a contiguous array of ``shape`` as numbers."""
    return (*array.shape, *(map(Number, _contiguous(shape)) if array.strides is None else array.strides))


def _own_layouts(array: ArrayArgument, names: Mapping[str, int]) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
    """A few layouts of a list's element; its names stand for numbers of its own."""
    own = sorted({each.name for each in (*array.shape, *(array.strides or ())) if isinstance(each, Name)})
    found = (
        _layout(array, {**names, **dict(zip(own, values, strict=True))})
        for values in product((2, 4, 3, 1), repeat=len(own))
    )
    return [layout for layout in found if not own or not meets_itself(*layout)][:APART]


def _members(launch: ConcreteLaunch) -> dict[str, int]:
    """``x.shape[0]``, ``x.strides[0]``, ``x.address`` and the grid, of arrays in lists ``xs[0].shape[0]``; allocations
    begin at a page."""
    members = dict(zip(("grid.x", "grid.y", "grid.z"), launch.grid, strict=True))
    for name, array in launch.named_arrays():
        members[f"{name}.address"] = array.byte_offset
        members |= {f"{name}.shape[{axis}]": size for axis, size in enumerate(array.shape)}
        members |= {f"{name}.strides[{axis}]": stride for axis, stride in enumerate(array.strides)}
    return members


def scalars_of(spec: LaunchSpec) -> list[ScalarArgument]:
    return [argument for argument in spec.arguments if isinstance(argument, ScalarArgument)]


def _layout(array: ArrayArgument, names: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(evaluate(size, names) for size in array.shape)
    if array.strides is None:
        return shape, _contiguous(shape)
    return shape, tuple(evaluate(stride, names) for stride in array.strides)


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to behind the last."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def meets_itself(shape: Sequence[int], strides: Sequence[int]) -> bool:
    places = [sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*map(range, shape))]
    return len(set(places)) < len(places)
