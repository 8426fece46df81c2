"""What a contract says of the values of its names: which are worth a try, and what grid and layouts they give."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tileverify.backend.interpreter.grid_runs import ELEMENT_BYTES
from tileverify.contract.expressions import Undefined, constant_value, evaluate, free_names
from tileverify.contract.launch import (
    Apply,
    ArrayArgument,
    Block,
    Expression,
    LaunchSpec,
    ListArgument,
    Name,
    SameArray,
    ScalarArgument,
    TupleArgument,
)

ALIGNED = 256
"""Bytes to a multiple of which a clause may want an array to be aligned."""
MOST_ARRAYS = 33
"""Of a list: no launch is made with a longer one."""
AXES = ("grid.x", "grid.y", "grid.z")


@dataclass(frozen=True, slots=True)
class Terms:
    """A contract, taken apart once for the thousands of values that are tried under it.

    ``arrays``: with what clauses call the address, sizes and strides of each, and its address.  ``plain``: clauses on
    names that values and the grid give, ``others`` all the rest; those need layouts, which take longer to find.
    ``ranges`` and ``amounts`` are those of facts.
    """

    spec: LaunchSpec
    arrays: tuple[tuple[ArrayArgument, str, tuple[str, ...], tuple[str, ...], int], ...]
    lists: tuple[ListArgument, ...]
    given: tuple[tuple[str, Expression], ...]
    """Scalars that an expression gives."""
    plain: tuple[Expression, ...]
    others: tuple[Expression, ...]
    ranges: tuple[tuple[Expression, Expression], ...]
    amounts: tuple[tuple[Expression, int], ...]
    """With the least that is allowed."""
    same: tuple[SameArray, ...]

    @classmethod
    def of(cls, spec: LaunchSpec) -> Terms:
        places = allocations(spec)
        given = {scalar.name: scalar.value for scalar in scalars_of(spec) if scalar.value is not None}
        clauses = [clause for clause in spec.requires if not isinstance(clause, SameArray)]
        plain = [all(_is_plain(name, given) for name in free_names(clause)) for clause in clauses]
        named = []
        for array in arrays_of(spec):
            sizes, strides = (
                [f"{array.name}.{what}[{i}]" for i in range(len(array.shape))] for what in ("shape", "strides")
            )
            address = places[array.name][1] * ELEMENT_BYTES[array.dtype] if array.name in places else 0
            named.append((array, f"{array.name}.address", tuple(sizes), tuple(strides), address))
        return cls(
            spec,
            tuple(named),
            tuple(argument for argument in spec.arguments if isinstance(argument, ListArgument)),
            tuple(given.items()),
            tuple(clause for clause, one in zip(clauses, plain, strict=True) if one),
            tuple(clause for clause, one in zip(clauses, plain, strict=True) if not one),
            tuple(
                (fact.low, fact.high)
                for fact in spec.data
                if fact.kind == "range" and not fact.unless and fact.low and fact.high
            ),
            tuple((fact.amount, int(fact.kind == "multiples")) for fact in spec.data if fact.amount),
            tuple(clause for clause in spec.requires if isinstance(clause, SameArray)),
        )

    def layouts(self, values: Mapping[str, int]) -> dict[str, int]:
        """What clauses call ``x.shape[0]``, ``x.strides[0]``, ``xs.length`` and a scalar that an expression gives.

        ``x.address`` is the place in the array's allocation, which the interpreter aligns to a page.
        """
        known: dict[str, int] = {}
        for array, name, sizes, steps, address in self.arrays:  # all arrays of a list are alike here
            shape, strides = layout(array, values)
            known[name] = address
            known.update(zip(sizes, shape, strict=True))
            known.update(zip(steps, strides, strict=True))
        for argument in self.lists:
            known[f"{argument.name}.length"] = evaluate(argument.length, values)
        for scalar, value in self.given:
            known[scalar] = evaluate(value, values)
        return known

    def grid(self, values: Mapping[str, int], source: random.Random) -> Block | None:
        """The grid that ``values`` give, or one from ``source`` where the contract names none; ``None`` if none."""
        try:
            x, y, z = _any_grid(source) if self.spec.grid is None else evaluated(self.spec.grid, values)
        except Undefined:
            return None
        return (x, y, z) if all(1 <= axis < 1 << 24 for axis in (x, y, z)) else None

    def allows(self, values: Mapping[str, int], grid: Block, admits: Callable[[Mapping[str, int]], bool]) -> bool:
        """Whether the contract, and ``admits``, allow ``values`` with this grid."""
        axes = dict(zip(AXES, grid, strict=True))
        try:
            if not self._plain_hold(values, axes):
                return False
            known = {**values, **self.layouts(values), **axes}
            if not all(evaluate(clause, known) for clause in self.others) or not self._facts_can_hold(known):
                return False
            if any(evaluate(argument.length, values) > MOST_ARRAYS for argument in self.lists):
                return False
            if not all(_layout_of(each.first, known) == _layout_of(each.second, known) for each in self.same):
                return False
            return admits(known) and all(_keeps_its_promise(array, values) for array, *_ in self.arrays)
        except Undefined:
            return False

    def _plain_hold(self, values: Mapping[str, int], axes: Mapping[str, int]) -> bool:
        if not self.plain:
            return True
        known = {**values, **axes}
        return all(evaluate(clause, known) for clause in self.plain)

    def _facts_can_hold(self, known: Mapping[str, int]) -> bool:
        return not any(evaluate(low, known) >= evaluate(high, known) for low, high in self.ranges) and not any(
            evaluate(amount, known) < least for amount, least in self.amounts
        )


def _layout_of(array: str, known: Mapping[str, int]) -> dict[str, int]:
    """What is known of the array's sizes and strides, by what clauses call them behind its name."""
    kinds = (f"{array}.shape[", f"{array}.strides[")
    return {name.removeprefix(array): value for name, value in known.items() if name.startswith(kinds)}


def _is_plain(name: str, given: Mapping[str, Expression]) -> bool:
    """Drawn, or of the grid.  A scalar that an expression gives is not what was drawn for its name."""
    return name in AXES or ("." not in name and name not in given)


def arrays_of(spec: LaunchSpec) -> Iterator[ArrayArgument]:
    yield from spec.arrays()
    yield from (argument.element for argument in spec.arguments if isinstance(argument, ListArgument))


def scalars_of(spec: LaunchSpec) -> Iterator[ScalarArgument]:
    """The integers among them."""
    for argument in spec.arguments:
        items = argument.items if isinstance(argument, TupleArgument) else (argument,)
        yield from (item for item in items if isinstance(item, ScalarArgument) and item.dtype[0] in "iu")


def _expressions(spec: LaunchSpec) -> Iterator[Expression]:
    yield from spec.grid or ()
    yield from (clause for clause in spec.requires if not isinstance(clause, SameArray))
    for array in arrays_of(spec):
        yield from array.shape
        yield from array.strides or ()
    for argument in spec.arguments:
        if isinstance(argument, ListArgument):
            yield argument.length
        if isinstance(argument, ScalarArgument) and argument.value is not None:
            yield argument.value


def choices_of(spec: LaunchSpec, sizes: Sequence[int], scalars: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Values to try for every free name: usual sizes, and the neighbourhood of what the name is compared with."""
    names = frozenset[str]().union(*(free_names(expression) for expression in _expressions(spec)))
    names |= {scalar.name for scalar in scalars_of(spec) if scalar.value is None}
    choices = {name: list(sizes) for name in sorted(names) if "." not in name}
    for scalar in scalars_of(spec):
        if scalar.name in choices and scalar.dtype[0] == "i":
            choices[scalar.name] += scalars
    for clause in spec.requires:
        if isinstance(clause, Apply) and len(clause.args) == 2:
            bound = constant_value(clause.args[1])
            if bound is not None:
                for name in free_names(clause.args[0]) & choices.keys():
                    choices[name] += [bound, bound + 1, bound + 70, bound + 2050]
    return {name: tuple(values) for name, values in choices.items()}


def _keeps_its_promise(array: ArrayArgument, values: Mapping[str, int]) -> bool:
    """Whether an array with a named stride keeps its elements apart: each stride is beyond what smaller ones reach."""
    if array.strides is None or not any(isinstance(stride, Name) for stride in array.strides):
        return True
    shape, strides = layout(array, values)
    reach = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1 and stride <= reach:
            return 0 in shape
        reach += stride * (size - 1)
    return True


def _any_grid(source: random.Random) -> Block:
    return source.choice(((1, 1, 1), (2, 1, 1), (3, 1, 1), (source.randint(1, 6), 1, 1), (2, 2, 1), (1, 1, 2)))


def layout(array: ArrayArgument, values: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides in elements."""
    shape = evaluated(array.shape, values)
    if array.strides is not None:
        return shape, evaluated(array.strides, values)
    if len(shape) == 1:
        return shape, (1,)
    return shape, tuple(product_of(shape[dim + 1 :]) for dim in range(len(shape)))


def evaluated(expressions: Sequence[Expression], values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple([evaluate(expression, values) for expression in expressions])


def product_of(sizes: Sequence[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def allocations(spec: LaunchSpec) -> dict[str, tuple[str, int]]:
    """Arrays that share memory: allocation and offset in elements.  Groups without ``is`` are shifted by one, or as far
    as clauses on addresses may ask for."""
    places: dict[str, tuple[str, int]] = {}
    sizes = {array.name: ELEMENT_BYTES[array.dtype] for array in spec.arrays()}
    aligned = {name for clause in spec.requires if not isinstance(clause, SameArray) for name in free_names(clause)}
    for group in (*spec.alias, *spec.overlap):
        first, *others = sorted(group, reverse=True)
        asked = any(f"{name}.address" in aligned for name in group)
        for place, name in enumerate((first, *others)):
            places[name] = (f"{first}'s memory", place * ALIGNED // sizes[name] if asked else place)
    for group in spec.same_arrays():
        first = min(group)
        for name in group:
            places[name] = (f"{first}'s memory", 0)
    return places
