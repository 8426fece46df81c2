"""Values for the names of a launch: those that are given, and small legal ones for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Final

from ...contract.contiguous import contiguous_strides
from ...contract.expressions import GRID_NAMES, Undefined, constant_value, evaluate, free_names
from ...contract.launch import Apply, Expression, Name
from ...system.errors import UsageError
from .conditions import Condition, ContractInNumbers

SIZES: Final = (64, 128, 256, 100, 48, 32, 16, 8, 4, 3, 2, 1, 512, 1024, 2048, 4096, 0)
PREFERRED: Final = (64, 16, 8, 4, 2)
"""Tried for all sizes at once before others are, so that launches come out small and balanced."""
FEW_ELEMENTS: Final = 1 << 17
FEW_BLOCKS: Final = 256
SCALARS: Final = (1, 2, 0, 3, 4, 8, 16, 32, 64, 128, -1)
LARGEST_GRID: Final = 1024
"""An axis that nothing but a clause of the proof bounds is made no longer."""
TRIES: Final = 50_000
FAR: Final = (1 << 20) + 1
"""Where a difference that was linear at 0 and 1 shows that it is not: ``N % 16``."""


def choose(contract: ContractInNumbers, given: Mapping[str, int], extra: Sequence[Condition] = ()) -> dict[str, int]:
    """Values for all roots of ``contract`` that satisfy it and ``extra``; deterministic.

    :raises UsageError: ``given`` names something else, or breaks a condition, or no values for the rest were found.
    """
    conditions = [*contract.conditions, *extra]
    check_given(contract, given, extra)
    values = dict(given)
    order = [name for name in contract.roots if name not in given]
    small = [*conditions, *_small(contract)]
    attempts = [*((small, (size,)) for size in PREFERRED), (small, SIZES), (conditions, SIZES)]
    for demanded, sizes in attempts:
        search = _Search(contract, demanded, order, sizes)
        if search.fill(values, 0):
            break
    else:
        missing = ", ".join(search.order)
        reason = f" ({search.deepest})" if search.deepest else ""
        raise UsageError(f"no small values of {missing} satisfy the contract{reason}; give them with --size or --arg")
    return values


def check_given(contract: ContractInNumbers, given: Mapping[str, int], extra: Sequence[Condition] = ()) -> None:
    """Raises `UsageError` if ``given`` names something that the contract does not leave free, or breaks a condition."""
    unknown = sorted(given.keys() - set(contract.roots))
    if unknown:
        known = ", ".join(contract.roots) or "none"
        raise UsageError(f"the launch has no free size, scalar or grid axis '{unknown[0]}' (there are: {known})")
    for condition in (*contract.conditions, *extra):
        if condition.broken_by(given):
            raise UsageError(f"the launch is outside the contract: {condition.violation(given)}")


@dataclass(frozen=True, slots=True)
class Palette:
    """What `draw` tries for sizes, scalars and axes of the grid, in this order; mixed by ``source`` if there is one.

    ``outer``: tried for sizes that stand in no array's last two dimensions; they are drawn after the others then.
    """

    sizes: Sequence[int]
    scalars: Sequence[int]
    axes: Sequence[int]
    source: Random | None = None
    outer: Sequence[int] = ()


def draw(
    contract: ContractInNumbers, palette: Palette, *, elements: int, blocks: int, tries: int,
    given: Mapping[str, int] | None = None,
) -> dict[str, int] | None:  # fmt: skip
    """Values for all roots that satisfy the contract, those ``given`` and the first ones of ``palette`` where they do.

    Arrays have at most so many ``elements``, the grid so many ``blocks``; ``None`` if ``tries`` values gave none.
    """
    conditions = [*contract.conditions, *_small(contract, elements, blocks)]
    values = dict(given or {})
    order = [name for name in contract.roots if name not in values]
    outer = frozenset[str]()
    if palette.outer:
        inner, sizes = inner_extents(contract), extents(contract)
        outer = frozenset(sizes) - inner
        order.sort(key=lambda name: 0 if name in inner else 1 if name in sizes else 2)
    search = _Search(contract, conditions, order, palette.sizes, palette, tries, outer)
    return values if search.fill(values, 0) and not any(c.broken_by(values) for c in conditions) else None


def extents(contract: ContractInNumbers) -> list[str]:
    """The roots that sizes of arrays hang on."""
    sizes = (contract.resolved(size) for array in contract.spec.arrays() for size in array.shape)
    return list(dict.fromkeys(name for size in sizes for name in sorted(free_names(size))))


def inner_extents(contract: ContractInNumbers) -> frozenset[str]:
    """Those of the last two dimensions."""
    sizes = (contract.resolved(size) for array in contract.spec.arrays() for size in array.shape[-2:])
    return frozenset(name for size in sizes for name in free_names(size))


def _small(contract: ContractInNumbers, elements: int = FEW_ELEMENTS, blocks: int = FEW_BLOCKS) -> Iterator[Condition]:
    """What makes a launch quick to run; no part of the contract."""
    for array in contract.spec.arrays():
        sizes = tuple(map(contract.resolved, array.shape))
        for inner in range(len(sizes)):  # so that a search need not choose the outer ones first
            yield _product_at_most(sizes[inner:], elements, f"{array.name} is small")
    yield _product_at_most(contract.grid, blocks, "the grid is small")


def _product_at_most(factors: Sequence[Expression], most: int, text: str) -> Condition:
    def holds(values: Mapping[str, int]) -> bool:
        return prod(evaluate(factor, values) for factor in factors) <= most

    return Condition(text, frozenset[str]().union(*map(free_names, factors)), holds)


class _Search:
    """Backtracking over the names in ``order``; ``deepest`` tells what failed with most names given.
    ``outer``: sizes that take their values from `Palette.outer`."""

    def __init__(
        self, contract: ContractInNumbers, conditions: Sequence[Condition], order: Sequence[str],
        sizes: Sequence[int], palette: Palette | None = None, tries: int = TRIES,
        outer: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.sizes = sizes
        self.palette = palette
        self.outer = outer
        self.contract = contract
        self.conditions = conditions
        self.order = order
        self.deepest = ""
        self._depth = -1
        self._tries = tries

    def fill(self, values: dict[str, int], depth: int) -> bool:
        if depth == len(self.order):
            return True
        name = self.order[depth]
        relevant = [condition for condition in self.conditions if name in condition.names]
        for candidate in dict.fromkeys(self._candidates(name, relevant, values)):
            if self._tries == 0:
                return False
            self._tries -= 1
            values[name] = candidate
            broken = next((condition for condition in relevant if condition.broken_by(values)), None)
            if broken is None and self.fill(values, depth + 1):
                return True
            if broken is not None and depth > self._depth:
                self._depth, self.deepest = depth, broken.violation(values)
            del values[name]
        return False

    def _candidates(self, name: str, relevant: Sequence[Condition], values: dict[str, int]) -> Iterator[int]:
        for condition in relevant:
            yield from _solutions(condition, name, values)
        if self.palette is not None:
            yield from self._drawn(self.palette, name, relevant, values)
            return
        if name in GRID_NAMES:
            yield from _bounds(name, relevant, values)
            yield 1
            return
        yield from self._contiguous(name, values)
        yield from SCALARS if name in self.contract.scalars else self.sizes
        for number in _numbers(relevant):
            yield from (number, number + 1, 2 * number, number - 1, number + 64)

    def _drawn(
        self, palette: Palette, name: str, relevant: Sequence[Condition], values: dict[str, int]
    ) -> Iterator[int]:
        if name in GRID_NAMES:
            yield from _mixed((*palette.axes, *_bounds(name, relevant, values), 1), palette.source)
            return
        if palette.source is None or palette.source.random() < 0.5:
            yield from self._contiguous(name, values)
        pool = palette.scalars if name in self.contract.scalars else palette.sizes
        if name in self.outer:
            pool = palette.outer
        near = (near for number in _numbers(relevant) for near in (number, number + 1, 2 * number, number - 1))
        yield from _mixed((*pool, *near), palette.source)

    def _contiguous(self, name: str, values: Mapping[str, int]) -> Iterator[int]:
        """The stride that leaves no gaps, where ``name`` is a stride."""
        for array in self.contract.spec.arrays():
            tight = contiguous_strides(array.shape)
            for position, stride in enumerate(array.strides or ()):
                if stride == Name(name):
                    try:
                        yield max(self.contract.value(tight[position], values), 1)
                    except (KeyError, Undefined):
                        continue


def _mixed(numbers: Sequence[int], source: Random | None) -> Sequence[int]:
    return numbers if source is None else source.sample(numbers, len(numbers))


def _solutions(condition: Condition, name: str, values: Mapping[str, int]) -> Iterator[int]:
    """What an equation that is linear in ``name`` makes of it."""
    match condition.expression:
        case Apply("==", (left, right)) if condition.names <= {name, *values}:
            try:
                at = [evaluate(left, {**values, name: n}) - evaluate(right, {**values, name: n}) for n in (0, 1, FAR)]
            except Undefined:
                return
            slope = at[1] - at[0]
            linear = at[2] - at[0] == slope * FAR
            if slope and linear and -at[0] % slope == 0:
                yield -at[0] // slope


def _bounds(axis: str, relevant: Sequence[Condition], values: Mapping[str, int]) -> Iterator[int]:
    """The longest axis that a clause such as ``grid.x <= cdiv(N, 128)`` allows."""
    for condition in relevant:
        match condition.expression:
            case Apply("<=", (Name(name), bound)) | Apply(">=", (bound, Name(name))) if name == axis:
                if condition.names <= {axis, *values}:
                    yield min(evaluate(bound, values), LARGEST_GRID)


def _numbers(conditions: Sequence[Condition]) -> Iterator[int]:
    for condition in conditions:
        if condition.expression is not None:
            yield from _constants(condition.expression)


def _constants(expression: Expression) -> Iterator[int]:
    value = constant_value(expression)
    if value is not None:
        yield value
    elif isinstance(expression, Apply):
        for argument in expression.args:
            yield from _constants(argument)
