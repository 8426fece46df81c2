"""The contract of a launch as conditions on numbers, and numbers that keep them: given ones, else small ones.

Conditions speak of *roots* alone, the names that are free in a launch: ``a.shape[0]``, scalars that an expression
gives and a grid that the spec gives are replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Final

from ...contract.contract import NumberRange, array_ranges, grid_ranges, length_range, scalar_range
from ...contract.element_types import ELEMENT_TYPES
from ...contract.expression_parser import parse_condition
from ...contract.expressions import (
    GRID_NAMES,
    Undefined,
    constant_value,
    evaluate,
    free_names,
    print_expression,
    substitute,
)
from ...contract.launch import (
    Apply,
    ArrayArgument,
    DataFact,
    Expression,
    LaunchSpec,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    contiguous_strides,
    flat,
    strides_of,
)
from ...contract.list_terms import list_in_fact, list_spoken_of, lists_spoken_of, member_of_list
from ...contract.strides import apart, may_overlap_itself, meanings
from ...system.errors import SpecError, UsageError

MOST_COMPARED: Final = 1 << 20
"""Elements of an array whose addresses are compared one by one."""
ADDRESS: Final = 1 << 44
"""What ``x.address`` stands for: the interpreter aligns every array to 4096 bytes."""


@dataclass(frozen=True, slots=True)
class Condition:
    """``holds`` of the values of ``names``; ``expression`` where it is a comparison that can be solved for a name."""

    text: str
    names: frozenset[str]
    holds: Callable[[Mapping[str, int]], bool]
    expression: Expression | None = None

    def broken_by(self, values: Mapping[str, int]) -> bool:
        """Whether the names have values and these break the condition; what divides by zero describes no launch."""
        if not self.names <= values.keys():
            return False
        try:
            return not self.holds(values)
        except Undefined:
            return True

    def violation(self, values: Mapping[str, int]) -> str:
        """The broken condition with the values that break it, for people."""
        known = ", ".join(f"{name} = {values[name]}" for name in sorted(self.names))
        return f"'{self.text}' does not hold" + (f" for {known}" if known else "")


def scalars(spec: LaunchSpec) -> Iterator[ScalarArgument]:
    return (argument for argument in flat(spec.arguments) if isinstance(argument, ScalarArgument))


class ContractInNumbers:
    """The conditions of a launch spec and of the clauses that a proof added; names of the launch and their meaning.

    ``of_arrays``: what is said of each array of a list, by list.

    :raises UsageError: a clause of the proof speaks of something that has no value before the launch.
    """

    def __init__(self, spec: LaunchSpec, clauses: Sequence[str] = ()) -> None:
        self.spec = spec
        self._lengths = {listed.name: listed.length for listed in spec.lists()}
        self._meaning = self._meanings()
        self.of_arrays = self._of_arrays(clauses)
        self.grid = tuple(map(self.resolved, spec.grid)) if spec.grid else tuple(map(Name, GRID_NAMES))
        self.sizes = self._size_names()
        self.scalars = tuple(s.name for s in scalars(spec) if s.value is None and ELEMENT_TYPES[s.dtype].kind != "f")
        self.conditions = [*self._standing(), *self._required(), *self._added(clauses)]

    @property
    def roots(self) -> tuple[str, ...]:
        """The names that need values, in the order in which they are best chosen."""
        grid = GRID_NAMES if self.spec.grid is None else ()
        return tuple(dict.fromkeys((*self.sizes, *self.scalars, *grid)))

    def resolved(self, expression: Expression) -> Expression:
        """The expression over roots."""
        for _ in range(len(self._meaning) + 1):
            if not free_names(expression) & self._meaning.keys():
                break
            expression = substitute(expression, self._meaning)
        return expression

    def value(self, expression: Expression, values: Mapping[str, int]) -> int:
        return evaluate(self.resolved(expression), values)

    def has_numbers(self, fact: DataFact) -> bool:
        """Whether a fact has one number in a launch for each of its own, and not one for every array of a list."""
        return list_in_fact(fact, self._lengths) is None

    def condition(self, expression: Expression, text: str = "") -> Condition:
        resolved = self.resolved(expression)
        return Condition(
            text or print_expression(expression),
            free_names(resolved),
            lambda values: bool(evaluate(resolved, values)),
            resolved,
        )

    def _of_arrays(self, clauses: Sequence[str]) -> dict[str, list[Expression]]:
        found: dict[str, list[Expression]] = {}
        for each in (*self.spec.requires, *map(parse_condition, clauses)):
            name = list_spoken_of(each, self._lengths)
            if name is not None and not isinstance(each, SameArray):
                found.setdefault(name, []).append(each)
        return found

    # -------------------------------------------------------------------------------------------- names
    def _meanings(self) -> dict[str, Expression]:
        addresses = {f"{array.name}.address": Number(ADDRESS) for array in self.spec.arrays()}
        return meanings(self.spec) | addresses

    def _size_names(self) -> tuple[str, ...]:
        """Free names of sizes before those of strides, which depend on them; then those of other expressions."""
        spec = self.spec
        expressions: list[Expression] = [size for array in spec.arrays() for size in array.shape]
        expressions += [stride for array in spec.arrays() for stride in array.strides or ()]
        expressions += [listed.length for listed in spec.lists()]
        expressions += [scalar.value for scalar in scalars(spec) if scalar.value is not None]
        expressions += [clause for clause in spec.requires if not isinstance(clause, SameArray)]
        expressions += spec.grid or ()
        taken = {scalar.name for scalar in scalars(spec)}
        names = (name for each in expressions for name in sorted(free_names(self.resolved(each))))
        names = (name for name in names if not member_of_list(name, self._lengths)[0])
        return tuple(dict.fromkeys(name for name in names if name not in taken and name not in GRID_NAMES))

    # --------------------------------------------------------------------------------------- conditions
    def _standing(self) -> Iterator[Condition]:
        """What holds of every launch: numbers fit what passes them, elements that are promised to be apart are."""
        for name in self.sizes:
            yield self._within(Name(name), 0, None)
        for array in self.spec.arrays():
            sizes, strides = zip(*array_ranges(array), strict=True) if array.shape else ((), ())
            yield from map(self._in_range, (*sizes, *strides))
            if not may_overlap_itself(array) and array.strides is not None:
                yield self._apart(array)
        for scalar in scalars(self.spec):
            known = scalar_range(scalar)
            if known is not None:
                yield self._in_range(known, f"{scalar.name} fits {scalar.dtype}")
        yield from map(self._in_range, map(length_range, self.spec.lists()))
        for axis in grid_ranges(self.grid):
            yield self._in_range(axis, f"{axis.low} <= {axis.name} <= {axis.high}")

    def _in_range(self, known: NumberRange, text: str = "") -> Condition:
        return self._within(known.meaning, known.low, known.high, text)

    def _within(self, expression: Expression, low: int, high: int | None, text: str = "") -> Condition:
        resolved = self.resolved(expression)

        def holds(values: Mapping[str, int]) -> bool:
            value = evaluate(resolved, values)
            return low <= value and (high is None or value <= high)

        spelled = print_expression(expression)
        usual = f"{low} <= {spelled}" if high is None else f"{low} <= {spelled} <= {high}"
        return Condition(text or usual, free_names(resolved), holds)

    def _apart(self, array: ArrayArgument) -> Condition:
        expressions = [self.resolved(e) for e in (*array.shape, *strides_of(array))]

        def holds(values: Mapping[str, int]) -> bool:
            numbers = [evaluate(expression, values) for expression in expressions]
            return apart(numbers[: len(array.shape)], numbers[len(array.shape) :], MOST_COMPARED)

        names = frozenset[str]().union(*map(free_names, expressions))
        return Condition(f"the elements of {array.name} do not share memory", names, holds)

    def _required(self) -> Iterator[Condition]:
        for name in dict.fromkeys((*self.of_arrays, *lists_spoken_of((), self.spec.data, self._lengths))):
            yield self.condition(Apply(">=", (self._lengths[name], Number(1))), f"{name} holds an array")
        for index, clause in enumerate(self.spec.requires):
            if list_spoken_of(clause, self._lengths) is not None:
                continue
            text = self.spec.requires_text[index] if len(self.spec.requires_text) == len(self.spec.requires) else ""
            if isinstance(clause, SameArray):
                yield from self._same(clause)
            else:
                yield self.condition(clause, text)

    def _same(self, clause: SameArray) -> Iterator[Condition]:
        arrays = {array.name: array for array in self.spec.arrays()}
        first, second = arrays[clause.first], arrays[clause.second]
        pairs = zip((*first.shape, *strides_of(first)), (*second.shape, *strides_of(second)), strict=True)
        for one, other in pairs:
            if one != other:
                yield self.condition(Apply("==", (one, other)), f"{clause.first} is {clause.second}")

    def _added(self, clauses: Sequence[str]) -> Iterator[Condition]:
        """Clauses of the proof."""
        known = {*self.sizes, *self.scalars, *GRID_NAMES}
        for text in clauses:
            try:
                expression = parse_condition(text)
            except SpecError:
                expression = None
            if expression is None or isinstance(expression, SameArray):
                raise UsageError(f"the proof holds under '{text}', which cannot be evaluated before a launch")
            if list_spoken_of(expression, self._lengths) is not None:
                continue
            plain = self.condition(expression, text)
            if not plain.names <= known:
                unknown = ", ".join(sorted(plain.names - known))
                raise UsageError(f"the proof holds under '{text}', but nothing gives {unknown} a value")
            yield plain


# --------------------------------------------------------------------------------------------------------------- choose
# Values for the names of a launch: those that are given, and small legal ones for the rest.


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


# -------------------------------------------------------------------------------------------------------------- extents
# How large launches are, and what they cost the interpreter.


def extent(contract: ContractInNumbers, values: Mapping[str, int]) -> tuple[int, int]:
    """Elements of all arrays, and blocks."""
    shapes = [[contract.value(size, values) for size in array.shape] for array in contract.spec.arrays()]
    return sum(map(prod, shapes)), prod(contract.value(axis, values) for axis in contract.grid)


def cost(contract: ContractInNumbers, values: Mapping[str, int]) -> int:
    """About the time that the launch takes in the interpreter, in elements."""
    elements, blocks = extent(contract, values)
    return elements + 64 * blocks
