"""The contract of a launch as conditions on numbers: sizes, strides and scalars by name, and the grid.

Conditions speak of *roots* alone, the names that are free in a launch: ``a.shape[0]``, scalars that an expression
gives and a grid that the spec gives are replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...contract.contiguous import strides_of
from ...contract.contract import NumberRange, array_ranges, grid_ranges, length_range, scalar_range
from ...contract.element_types import ELEMENT_TYPES
from ...contract.expression_parser import parse_condition
from ...contract.expressions import GRID_NAMES, Undefined, evaluate, free_names, print_expression, substitute
from ...contract.launch import (
    Apply,
    ArrayArgument,
    Expression,
    LaunchSpec,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    flat,
)
from ...contract.list_terms import list_spoken_of, member_of_list
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
        for name in self.of_arrays:
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
