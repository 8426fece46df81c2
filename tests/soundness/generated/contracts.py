"""Launch contracts with finitely many launches, and all of them.

The names of a contract have a handful of values, index arrays a few contents; the grid follows from them or has a
few values of its own.  What is enumerated is what ``docs/specs.md`` says a spec means, not what the verifier makes
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tileverify.frontend.sources.data_facts import parse_data_fact
from tileverify.frontend.sources.expressions import Undefined, evaluate, parse_condition, parse_size
from tileverify.frontend.sources.launch import (
    ArrayArgument,
    DataFact,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
)
from tileverify.verifier.claim import Block, ConcreteArray, ConcreteLaunch

from ...facts import keeps
from .draws import Draws

T = TypeVar("T")

BYTES = {"i8": 1, "u8": 1, "i16": 2, "i32": 4, "u32": 4, "i64": 8, "f32": 4}
ANY_GRID = "grid.x <= 3 and grid.y <= 2 and grid.z <= 1"
OPEN_GRIDS: Sequence[Block] = tuple((x, y, 1) for x in (1, 2, 3) for y in (1, 2))
"""What `ANY_GRID` allows."""
MOST_CONTENTS = 9
"""Contents of an index array that are enumerated; of more, every n-th one is."""
WITHOUT_FACT = (0, 1, -1, 2, 127, -128)
"""Contents of arrays of which no fact is known; all are tried on arrays of one element."""
NAMES = ("N", "M")
SYNC = "sync"
"""The array that blocks synchronise through; it holds 0 at first."""
THEMES: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("N * T",), ("N",)),
    (("N",), ("cdiv(N, T)",)),
    (("N",), ("N",)),
    (("N", "M"), ("N", "M")),
    (("N * T", "M"), ("N", "cdiv(M, T)")),
    (("N", "T"), ("N",)),
    (("N", "M"), ("cdiv(N, T)", "cdiv(M, T)")),
    (("N * T",), ("2",)),
    (("N * M",), ("N", "M")),
    (("N * T",), ()),
    (("N", "M"), ("N",)),
)
"""Shapes and grids that go together; ``T`` is the tile."""


@dataclass(frozen=True, slots=True)
class FiniteContract:
    """``domains``: the values of every free name; ``tile`` the number of elements a block is meant to take.

    ``index``: the arrays whose contents may steer a kernel.
    """

    spec: LaunchSpec
    domains: Mapping[str, Sequence[int]]
    tile: int
    index: tuple[str, ...] = ()

    def launches(self) -> Iterator[tuple[ConcreteLaunch, Mapping[str, int]]]:
        """Every launch of the contract, up to the contents that no fact restricts, and what its clauses may name."""
        for known in self._known():
            for places in self._placements(known):
                for contents in self._contents(known):
                    for grid in known.grids:
                        launch = self._launch(known, grid, places, contents)
                        yield launch, {**known.names, **_members(launch)}

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
            clauses = (clause for clause in spec.requires if clause != parse_condition(ANY_GRID))
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
        return _Known(names, scalars, layouts, OPEN_GRIDS if grid is None else (grid,))  # type: ignore[arg-type]

    def _same_sizes(self, known: _Known, launch: ConcreteLaunch) -> bool:
        return (
            launch.grid in known.grids
            and all(launch.scalars.get(name, value) == value for name, value in known.scalars.items())
            and all((launch.arrays[n].shape, launch.arrays[n].strides) == known.layouts[n] for n in known.layouts)
            and _sizes(launch.lists) == _sizes(self._lists(known))
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
                reach = _extent(shape, strides) * BYTES[self._array(first).dtype]
                for offset in range(0, min(reach, 6 * step), step):
                    yield {first: (first, 0), second: (first, offset)}

    def _array(self, name: str) -> ArrayArgument:
        return next(array for array in self.spec.arrays() if array.name == name)

    def _contents(self, known: _Known) -> Iterator[Mapping[str, Mapping[int, int]]]:
        if not self.index:
            yield {}
            return
        choices = [list(self._contents_of(name, known)) for name in self.index]
        joint = [dict(zip(self.index, chosen, strict=True)) for chosen in product(*choices)]
        kept = [
            chosen
            for chosen in joint
            if all(_keeps(fact, chosen, known) for fact in self.spec.data if fact.other is not None)
        ]
        yield from _spread(kept)

    def _contents_of(self, name: str, known: _Known) -> Iterator[Mapping[int, int]]:
        shape, strides = known.layouts[name]
        count = _extent(shape, strides)
        facts = [fact for fact in self.spec.data if fact.array == name and fact.other is None]
        values: Sequence[int] = WITHOUT_FACT
        for fact in facts:
            if fact.kind == "range":
                low, high = (evaluate(bound, known.names) for bound in (fact.low, fact.high) if bound is not None)
                values = [*range(low, high), *(evaluate(x, known.names) for x in fact.unless)]
            elif fact.kind == "permutation":
                values = range(count)
        if len(values) ** count > 1 << 12:
            every = [tuple(values[(i * k + k) % len(values)] for i in range(count)) for k in range(1, 12)]
        else:
            every = list(product(values, repeat=count))
        found = (dict(enumerate(each)) for each in every)
        kept = [each for each in found if all(_keeps(fact, {name: each}, known) for fact in facts)]
        together = any(fact.other is not None for fact in self.spec.data)
        yield from kept if together else _spread(kept)

    def _launch(
        self, known: _Known, grid: Block, places: Mapping[str, tuple[str, int]],
        contents: Mapping[str, Mapping[int, int]],
    ) -> ConcreteLaunch:  # fmt: skip
        arrays = {}
        for array in self.spec.arrays():
            shape, strides = known.layouts[array.name]
            allocation, offset = places.get(array.name, ("", 0))
            arrays[array.name] = ConcreteArray(
                array.dtype, shape, strides, contents.get(array.name, {}), 0, allocation, offset
            )
        return ConcreteLaunch(grid, arrays, known.scalars, self._lists(known))

    def _lists(self, known: _Known) -> Mapping[str, tuple[ConcreteArray, ...]]:
        lists = {}
        for argument in self.spec.arguments:
            if isinstance(argument, ListArgument):
                shape, strides = _layout(argument.element, known.names)
                element = ConcreteArray(argument.element.dtype, shape, strides)
                lists[argument.name] = (element,) * evaluate(argument.length, known.names)
        return lists


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


def _sizes(lists: Mapping[str, tuple[ConcreteArray, ...]]) -> Mapping[str, list[tuple[tuple[int, ...], ...]]]:
    return {name: [(array.shape, array.strides) for array in arrays] for name, arrays in lists.items()}


def _keeps(fact: DataFact, contents: Mapping[str, Mapping[int, int]], known: _Known) -> bool:
    arrays = {
        name: np.array(list(values.values()), dtype=np.int64).reshape(known.layouts[name][0])
        for name, values in contents.items()
    }
    return keeps(fact, arrays, lambda expression: evaluate(expression, known.names))


def _spread(choices: Sequence[T]) -> Sequence[T]:
    """Not too many of them, evenly."""
    return choices[:: -(-len(choices) // MOST_CONTENTS) or 1]


def _members(launch: ConcreteLaunch) -> dict[str, int]:
    """``x.shape[0]``, ``x.strides[0]``, ``x.address`` and the grid; allocations begin at a page."""
    members = dict(zip(("grid.x", "grid.y", "grid.z"), launch.grid, strict=True))
    for name, array in launch.arrays.items():
        members[f"{name}.address"] = array.byte_offset
        members |= {f"{name}.shape[{axis}]": size for axis, size in enumerate(array.shape)}
        members |= {f"{name}.strides[{axis}]": stride for axis, stride in enumerate(array.strides)}
    return members


def scalars_of(spec: LaunchSpec) -> list[ScalarArgument]:
    return [argument for argument in spec.arguments if isinstance(argument, ScalarArgument)]


def _layout(array: ArrayArgument, names: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(evaluate(size, names) for size in array.shape)
    if array.strides is None:
        return shape, tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return shape, tuple(evaluate(stride, names) for stride in array.strides)


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to behind the last."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def meets_itself(shape: Sequence[int], strides: Sequence[int]) -> bool:
    places = [sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*map(range, shape))]
    return len(set(places)) < len(places)


# --------------------------------------------------------------------------------------------- the grammar
@dataclass
class _Making:
    draws: Draws
    domains: dict[str, Sequence[int]] = field(default_factory=dict)
    requires: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)

    def number(self, name: str, low: int, high: int) -> None:
        self.domains[name] = range(low, high + 1)
        self.requires += [f"{name} >= {low}", f"{name} <= {high}"]

    def size(self, name: str) -> str:
        if name not in self.domains:
            low = self.draws.pick((1, 0, 2))
            self.number(name, low, low + self.draws.pick((2, 1, 3)))
            if self.draws.chance(15):
                self.requires.append(f"{name} % 2 == 0")
        return name


def make_contract(draws: Draws) -> FiniteContract:
    """A contract over one to three arrays and up to two scalars."""
    making = _Making(draws)
    draws.careful = draws.chance(75)
    tile = draws.pick((2, 1, 4))
    theme = draws.pick(THEMES) if draws.careful else ((), ())
    arguments: list[ArrayArgument | ScalarArgument] = []
    names = ["a", "b", "c"][: draws.weighted((3, 2), (2, 1), (1, 3))]
    for name in names:
        arguments.append(_array(making, name, tile, theme[0]))
    index: tuple[str, ...] = ()
    protocol = draws.chance(10)
    if protocol:
        arguments.append(ArrayArgument(SYNC, draws.pick(("i32", "i64")), (parse_size(draws.pick(("1", "2"))),)))
        making.data.append(f"range({SYNC}, 0, 1)")
        index = (SYNC,)
    elif draws.chance(40):
        indexing = _index_arrays(making)
        arguments += indexing
        index = tuple(array.name for array in indexing)
    for name in ("s", "t")[: draws.weighted((3, 0), (3, 1), (1, 2))]:
        arguments.append(_scalar(making, name))
    if draws.chance(8):
        making.domains["p"] = (0, 1)
        arguments.append(ScalarArgument("p", "bool"))
    lists: tuple[ListArgument, ...] = ()
    if not protocol and draws.chance(8):
        lists = (_list(making),)
        draws.note("list of arrays")
    grid = _grid(making, tile, theme[1])
    if draws.chance(12) and making.domains:
        draws.note("boolean clause")
        making.requires.append(_boolean(making))
    requires = [parse_condition(text) for text in making.requires]
    overlap: tuple[frozenset[str], ...] = ()
    if len(names) > 1 and draws.chance(12):
        overlap = (frozenset(names[:2]),)
    spec = LaunchSpec(
        kernel="generated",
        name="all",
        arguments=(*arguments, *lists),
        grid=None if grid is None else tuple(map(parse_size, grid)),  # type: ignore[arg-type]
        requires=tuple(requires),
        data=tuple(map(parse_data_fact, making.data)),
        overlap=overlap,
        requires_text=tuple(making.requires),
        grid_text=grid or (),
    )
    return FiniteContract(spec, making.domains, tile, index)


def _array(making: _Making, name: str, tile: int, usual: Sequence[str]) -> ArrayArgument:
    draws = making.draws
    dtype = draws.pick(("i32", "f32", "i8", "i64"))
    bits = draws.weighted((4, 32), (1, 64))
    if usual and not draws.slip(30):
        shape = tuple(size.replace("T", str(tile)) for size in usual)
    elif draws.chance(30):
        shape = draws.pick((("N", "M"), ("N", str(tile)), (str(tile), "N"), ("2", "3"), ("N", f"M * {tile}")))
    else:
        shape = draws.pick(((f"N * {tile}",), ("N",), ("M",), (f"{2 * tile}",), ("N * M",), ("N + 1",)))
    for size in shape:
        for free in NAMES:
            if free in size:
                making.size(free)
    strides: tuple[Expression, ...] | None = None
    if draws.chance(6):
        strides = tuple(parse_size(draws.pick(("1", "2", "0"))) for _ in shape)
    elif draws.chance(25):
        ld = f"ld{name}"
        making.number(ld, *draws.pick(((1, 4), (2, 5), (0, 3))))
        if len(shape) == 1:
            strides = (parse_size(ld),)
        else:
            strides = draws.pick(((parse_size(ld), parse_size("1")), (parse_size("1"), parse_size(ld))))
    return ArrayArgument(name, dtype, tuple(map(parse_size, shape)), strides, bits)


def _index_arrays(making: _Making) -> list[ArrayArgument]:
    """The array ``idx``; with segments also their lengths, ``cnt``."""
    draws = making.draws
    size = draws.pick(("N", "2", "1", "3"))
    if size == "N":
        making.size("N")
    dtype = draws.pick(("i32", "i8", "i64"))
    kind = draws.weighted(
        (3, "permutation"), (3, "range"), (3, "injective"), (2, "none"), (3, "nondecreasing"), (1, "multiples"),
        (1, "shares"), (2, "unless"), (2, "below"), (2, "segments"), (1, "rows"),
    )  # fmt: skip
    low, high = draws.pick((0, 1, -1)), draws.pick((2, 3, 4))
    shape: tuple[Expression, ...] = (parse_size(size),)
    if kind == "segments":
        making.data.append(f"segments(idx, cnt{draws.pick((f', 0, {high}', ''))})")
        making.data.append(f"range(cnt, {draws.pick((0, 1))}, 3)")
        making.data.append(f"range(idx, 0, {high + 1})")
        lengths = ArrayArgument("cnt", draws.pick(("i32", "i8", "i64")), (parse_size(draws.pick((size, "2"))),))
        return [ArrayArgument("idx", dtype, shape), lengths]
    if kind == "permutation":
        making.data.append("permutation(idx)")
    elif kind == "shares":
        making.data += ["range(idx, 0, 4)", f"shares(idx, {high})"]
    elif kind == "unless":
        excused = draws.pick((-1, 0, high))
        making.data.append(f"range(idx, {low}, {high}, unless={excused})")
        making.data.append(f"injective(idx, unless={draws.pick((excused, -1))})")
    elif kind == "below":
        making.data += [f"range(idx, 0, {high + 1})", f"injective(idx, 0, {high})"]
    elif kind == "rows":
        shape = (shape[0], Number(2))
        making.data += [f"range(idx, {low}, {high})", "disjoint_rows(idx)"]
    elif kind != "none":
        making.data.append(f"range(idx, {low}, {high + 2 * (kind == 'multiples')})")
        if kind == "multiples":
            making.data += [
                f"multiples(idx, {draws.pick((2, 3))})",
                draws.pick(("nondecreasing(idx)", "injective(idx)")),
            ]
        elif kind != "range":
            making.data.append(f"{kind}(idx)")
    return [ArrayArgument("idx", dtype, shape)]


def _list(making: _Making) -> ListArgument:
    draws = making.draws
    size = draws.pick(("4", "2", "3"))
    element = ArrayArgument("xs", draws.pick(("i32", "f32", "i8")), (parse_size(size),), None, 64)
    length = draws.pick(("2", "N", "1"))
    return ListArgument("xs", element, parse_size(making.size(length) if length == "N" else length))


def _boolean(making: _Making) -> str:
    """A clause of two comparisons."""
    draws = making.draws

    def comparison() -> str:
        name = draws.pick(sorted(making.domains))
        if name == "p":
            return draws.pick(("p", "not p"))
        values = making.domains[name]
        return f"{name} {draws.pick(('!=', '<=', '==', '>'))} {draws.pick(sorted(values))}"

    first, second = comparison(), comparison()
    return draws.pick((f"{first} or {second}", f"not ({first}) or {second}", f"not ({first} and {second})"))


def _scalar(making: _Making, name: str) -> ScalarArgument:
    draws = making.draws
    dtype = draws.pick(("i32", "i8", "i64", "u8", "i16", "u32", "u16"))
    if draws.chance(30):
        return ScalarArgument(name, dtype, parse_size(making.size(draws.pick(NAMES))))
    ranges = [(0, 3), (1, 4), (2, 2), (1, 1)]
    if dtype[0] == "i":
        ranges += [(-2, 1), (-3, -1)]
    if dtype in ("i8", "u8"):
        ranges += [(125, 127)]
    if dtype[0] == "u":
        draws.note("unsigned scalar")
        most = (1 << int(dtype[1:])) - 1
        ranges += [(most - 1, most), ((most - 1) // 2, (most + 3) // 2)]
    making.number(name, *draws.pick(ranges))
    return ScalarArgument(name, dtype)


def _grid(making: _Making, tile: int, usual: Sequence[str]) -> tuple[str, str, str] | None:
    draws = making.draws
    axes: Sequence[str]
    if usual and not draws.slip(40):
        axes = [axis.replace("T", str(tile)) for axis in usual]
    else:
        axes = draws.pick(
            (("N",), (f"cdiv(N, {tile})",), ("2",), ("N * M",), ("N", "M"), ("3",), ("M", "N"), ("2", "2"), (), ("1",))
        )
    known = making.domains.keys()
    axes = [axis if all(name in known for name in NAMES if name in axis) else "2" for axis in axes]
    if not axes:
        making.requires.append(ANY_GRID)
        return None
    x, y, z = (*axes, "1", "1")[:3]
    return x, y, z
