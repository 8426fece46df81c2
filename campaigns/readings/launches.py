"""Launches for a contract, legal and illegal ones: what is passed, by argument, and the grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random

from tileverify.backend.guard.arguments import ArrayValue, Grid, Value
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.expressions import Undefined, evaluate, free_names
from tileverify.contract.launch import ArrayArgument, Expression, LaunchSpec, ListArgument, ScalarArgument, flat

SMALL = (0, 1, 1, 2, 2, 3, 4, 5, 8, 16)
EDGES = (-1, 7, 127, 128, 255, 256, 2**15, 2**16, 2**24 - 1, 2**24, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64)
MOST_STORED = 24
"""Elements of arrays whose contents are drawn."""


@dataclass(frozen=True)
class Given:
    """``values``: arguments in order, tuples flattened, those of a list as a tuple; ``contents`` in row-major order."""

    values: tuple[Value | tuple[ArrayValue, ...], ...]
    grid: Grid
    contents: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the arrays."""
        named = zip(self.names, self.values, strict=True)
        return {name: value.shape for name, value in named if isinstance(value, ArrayValue)}


def order(spec: LaunchSpec) -> tuple[ArrayArgument | ScalarArgument | ListArgument, ...]:
    """The arguments that a launch passes."""
    passed = (ArrayArgument, ScalarArgument, ListArgument)
    return tuple(argument for argument in flat(spec.arguments) if isinstance(argument, passed))


def names_of(spec: LaunchSpec) -> set[str]:
    """The free names of sizes, strides and lengths."""
    found: set[str] = set()
    for argument in order(spec):
        match argument:
            case ArrayArgument(shape=shape, strides=strides):
                found |= {name for each in (*shape, *(strides or ())) for name in free_names(each)}
            case ListArgument(length=length):
                found |= free_names(length)
    return {name for name in found if "." not in name and "[" not in name}


def draw(spec: LaunchSpec, random: Random) -> Given:
    """A launch that the contract describes, or nearly so, and in half of all cases one number of it changed."""
    drawing = _Drawing(spec, random)
    values = tuple(drawing.argument(argument) for argument in order(spec))
    axes = spec.grid or (None, None, None)
    chosen = [random.choice((1, 1, 2, 3, 8)) if axis is None else drawing.value(axis, 1) for axis in axes]
    names = tuple(argument.name for argument in order(spec))
    given = Given(values, (chosen[0], chosen[1], chosen[2]), names=names)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        given = _changed(given, random)
    return replace(given, contents=dict(_contents(spec, given, random)))


class _Drawing:
    """``known``: what names and members are so far; ``address``: where the next array may lie."""

    def __init__(self, spec: LaunchSpec, random: Random) -> None:
        self.random, self.address = random, 1 << 16
        self.known = {name: random.choice(SMALL) for name in sorted(names_of(spec))}
        if random.random() < 0.2:
            self.known |= {name: random.choice(EDGES) for name in self.known if random.random() < 0.4}
        for argument in order(spec):  # scalars first: sizes may be scalars
            if isinstance(argument, ScalarArgument) and argument.value is None:
                kind = ELEMENT_TYPES[argument.dtype]
                low, high = kind.limits if kind.kind != "f" else (0, 1)
                number = random.choice((*SMALL, *SMALL, low, high, -1))
                self.known[argument.name] = max(low, min(high, number))

    def value(self, expression: Expression, otherwise: int) -> int:
        try:
            found = evaluate(expression, self.known)
        except (KeyError, Undefined):
            return otherwise
        return found if abs(found) < 1 << 66 else otherwise

    def argument(self, argument: ArrayArgument | ScalarArgument | ListArgument) -> Value | tuple[ArrayValue, ...]:
        match argument:
            case ArrayArgument(name=name):
                array = self.array(argument)
                self.known |= {f"{name}.shape[{d}]": size for d, size in enumerate(array.shape)}
                self.known |= {f"{name}.strides[{d}]": stride for d, stride in enumerate(array.strides)}
                return array
            case ListArgument(length=length, element=element):
                count = max(0, min(4, self.value(length, self.random.choice(SMALL))))
                return tuple(self.element(element) for _ in range(count))
            case ScalarArgument(dtype=dtype) if ELEMENT_TYPES[dtype].kind == "f":
                return self.random.choice((0.5, 1.0, 3))
            case ScalarArgument(name=name, value=tied) if tied is not None:
                self.known[name] = self.value(tied, self.random.choice(SMALL))
        return self.known[argument.name]

    def element(self, element: ArrayArgument) -> ArrayValue:
        """An array of a list, whose names are its own."""
        names = {name for part in (*element.shape, *(element.strides or ())) for name in free_names(part)}
        outer = dict(self.known)
        self.known |= {name: self.random.choice(SMALL) for name in sorted(names)}
        array = self.array(element)
        self.known = outer
        return array

    def array(self, argument: ArrayArgument) -> ArrayValue:
        shape = tuple(self.value(size, 2) for size in argument.shape)
        if argument.strides is None:
            strides = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
        else:
            strides = tuple(self.value(stride, 1) for stride in argument.strides)
        array = ArrayValue(self.address, shape, strides, argument.dtype)
        self.address = _behind(array, self.address)
        return array


def _behind(array: ArrayValue, address: int) -> int:
    """An aligned address behind an array that is not absurdly large."""
    last = sum(abs(size - 1) * abs(stride) for size, stride in zip(array.shape, array.strides, strict=True))
    return address + min(8 * (last + 1), 1 << 40) // 4096 * 4096 + 8192


def _changed(given: Given, random: Random) -> Given:
    """One number of the launch is another."""
    values = list(given.values)
    place = random.randrange(-1, len(values))
    if place < 0 or not values:
        axis = random.randrange(3)
        grid = list(given.grid)
        grid[axis] = random.choice((grid[axis] + 1, grid[axis] - 1, *SMALL, *EDGES))
        return replace(given, grid=(grid[0], grid[1], grid[2]))
    match values[place]:
        case ArrayValue() as array:
            values[place] = _changed_array(array, values, random)
        case tuple() as items:
            values[place] = _changed_list(items, values, random)
        case float() | bool() as number:
            values[place] = random.choice((0.25, 2, not number))
        case int() as number:
            values[place] = random.choice((number + 1, number - 1, -number, *SMALL, *EDGES))
    return replace(given, values=tuple(values))


def _changed_list(items: tuple[ArrayValue, ...], values: Sequence[object], random: Random) -> tuple[ArrayValue, ...]:
    if not items or random.random() < 0.3:
        return (*items, items[0]) if items and random.random() < 0.5 else items[:-1]
    place = random.randrange(len(items))
    return (*items[:place], _changed_array(items[place], values, random), *items[place + 1 :])


def _changed_array(array: ArrayValue, values: Sequence[object], random: Random) -> ArrayValue:
    others = [each for each in values if isinstance(each, ArrayValue)]
    kind = random.choice(("address", "same", "size", "stride", "stride", "both"))
    if kind == "address" or not array.shape:
        return array._replace(address=array.address + random.choice((1, 2, 4, 16, -4, 64)))
    if kind == "same" and others:
        other = random.choice(others)
        moved = other.address + random.choice((0, 0, 0, 4, 8))
        return array._replace(address=moved, shape=other.shape if len(other.shape) == len(array.shape) else array.shape)
    dim = random.randrange(len(array.shape))
    if kind in ("size", "both"):
        size = random.choice((array.shape[dim] + 1, array.shape[dim] - 1, *SMALL, *EDGES))
        array = array._replace(shape=(*array.shape[:dim], size, *array.shape[dim + 1 :]))
    if kind in ("stride", "both"):
        stride = random.choice((array.strides[dim] + 1, array.strides[dim] - 1, 77, *SMALL, *EDGES))
        array = array._replace(strides=(*array.strides[:dim], stride, *array.strides[dim + 1 :]))
    return array


def _contents(spec: LaunchSpec, given: Given, random: Random) -> Iterator[tuple[str, tuple[int, ...]]]:
    for argument, value in zip(order(spec), given.values, strict=True):
        if not isinstance(argument, ArrayArgument) or not isinstance(value, ArrayValue):
            continue
        count = prod(value.shape) if all(size >= 0 for size in value.shape) else 0
        if not ELEMENT_TYPES[argument.dtype].is_integer or not 0 < count <= MOST_STORED:
            continue
        low, high = ELEMENT_TYPES[argument.dtype].limits
        start, step = random.choice((0, 0, 1, 2, -1)), random.choice((0, 1, 1, 2, -1))
        numbers = [start + step * i for i in range(count)]
        if random.random() < 0.3:
            random.shuffle(numbers)
        if random.random() < 0.3:
            numbers[random.randrange(count)] = random.choice((*SMALL, *EDGES, low, high))
        yield argument.name, tuple(max(low, min(high, number)) for number in numbers)
