"""Whether a concrete launch keeps to a launch spec, read anew from the spec's expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.backend.numbers.inputs import violation
from tileverify.contract.expressions import Undefined, evaluate, free_names, print_expression
from tileverify.contract.launch import (
    Argument,
    ConcreteArray,
    ConcreteLaunch,
    Expression,
    LaunchSpec,
    ListArgument,
    SameArray,
    ScalarArgument,
    TupleArgument,
    strides_of,
)
from tileverify.results import Witness

PAGE = 4096
"""What the interpreter aligns allocations to."""
MOST_ELEMENTS = 1 << 16
"""Elements of an index array about which a fact is checked one by one."""


def why_not_admitted(spec: LaunchSpec, launch: ConcreteLaunch, witness: Witness) -> str | None:
    """What of the contract a witness does not keep; its sizes give the names their values."""
    return next(_broken(spec, launch, {**witness.sizes, **witness.strides, **launch.scalars}), None)


def _broken(spec: LaunchSpec, launch: ConcreteLaunch, named: Mapping[str, int]) -> Iterator[str]:
    known = {**named, **_members(launch)}
    yield from _other_arrays(spec, launch, known)
    for argument in _flat(spec.arguments):
        match argument:
            case ScalarArgument(name=name, value=value) if value is not None and name in launch.scalars:
                if _differs(value, launch.scalars[name], known):
                    yield f"{name} is {launch.scalars[name]}"
            case ListArgument(name=name, length=length) if _differs(length, len(launch.lists[name]), known):
                yield f"{name} has {len(launch.lists[name])} arrays"
    if any(_differs(axis, launch.grid[place], known) for place, axis in enumerate(spec.grid or ())):
        yield f"the grid is {launch.grid}"
    for clause in spec.requires:
        if isinstance(clause, SameArray):
            if _place(launch, clause.first) != _place(launch, clause.second):
                yield f"{clause.first} is not {clause.second}"
        elif not all(_holds(clause, {**known, **each}) for each in _of_lists(launch, clause)):
            yield f"{print_expression(clause)} does not hold"
    yield from _shared(spec, launch)
    yield from _broken_fact(spec, launch, known)


def _other_arrays(spec: LaunchSpec, launch: ConcreteLaunch, known: Mapping[str, int]) -> Iterator[str]:
    """Sizes and strides that are not as the spec describes them."""
    for array in spec.arrays():
        given = launch.arrays[array.name]
        described = (("shape", array.shape, given.shape), ("strides", strides_of(array), given.strides))
        for text, wanted, numbers in described:
            for dim, (expression, number) in enumerate(zip(wanted, numbers, strict=True)):
                if _differs(expression, number, known):
                    yield f"{array.name}.{text}[{dim}] is {number}, not {print_expression(expression)}"
        if not all(0 <= number < 1 << (array.index_bits - 1) for number in (*given.shape, *given.strides)):
            yield f"{array.name} has sizes that its ABI cannot pass"


def _differs(expression: Expression, number: int, known: Mapping[str, int]) -> bool:
    try:
        return evaluate(expression, known) != number
    except (Undefined, KeyError):
        return True


def _place(launch: ConcreteLaunch, name: str) -> tuple[str, int]:
    array = launch.arrays[name]
    return array.allocation or name, array.byte_offset


def _holds(clause: Expression, known: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(clause, known))
    except (Undefined, KeyError):
        return False


def _flat(arguments: Sequence[Argument]) -> Iterator[Argument]:
    for argument in arguments:
        if isinstance(argument, TupleArgument):
            yield from _flat(argument.items)
        else:
            yield argument


def _shared(spec: LaunchSpec, launch: ConcreteLaunch) -> Iterator[str]:
    """Only arrays that the contract puts into one group lie in one allocation."""
    groups = spec.sharing()
    homes: dict[str, list[str]] = {}
    for name, array in launch.arrays.items():
        homes.setdefault(array.allocation or name, []).append(name)
    for names in homes.values():
        for name in names[1:]:
            if not any({names[0], name} <= group for group in groups):
                yield f"{names[0]} and {name} overlap"


def _members(launch: ConcreteLaunch) -> dict[str, int]:
    known = dict(zip(("grid.x", "grid.y", "grid.z"), launch.grid, strict=True))
    for name, array in launch.arrays.items():
        known |= _members_of(name, array)
    return known | {f"{name}.length": len(items) for name, items in launch.lists.items()}


def _of_lists(launch: ConcreteLaunch, clause: Expression) -> Iterator[dict[str, int]]:
    """Members of lists that ``clause`` names, of each of their arrays: it speaks of every one."""
    named = {name.split(".")[0] for name in free_names(clause)}
    listed = [[_members_of(name, item) for item in launch.lists[name]] for name in sorted(named & launch.lists.keys())]
    for members in product(*listed):
        yield {name: number for each in members for name, number in each.items()}


def _members_of(name: str, array: ConcreteArray) -> dict[str, int]:
    """Sizes, strides, and the address: allocations begin at multiples of `PAGE`."""
    known = {f"{name}.address": PAGE + array.byte_offset}
    known |= {f"{name}.shape[{axis}]": size for axis, size in enumerate(array.shape)}
    return known | {f"{name}.strides[{axis}]": stride for axis, stride in enumerate(array.strides)}


def _broken_fact(spec: LaunchSpec, launch: ConcreteLaunch, known: Mapping[str, int]) -> Iterator[str]:
    """Facts that do not hold; arrays too large to be looked through are taken for good."""
    for fact in spec.data:
        arrays = {name: launch.arrays[name] for name in fact.arrays}
        if all(prod(array.shape) <= MOST_ELEMENTS for array in arrays.values()):
            contents = {name: _elements(array) for name, array in arrays.items()}
            problem = violation(fact, contents, lambda expression: evaluate(expression, known))
            if problem is not None:
                yield f"{fact.text} does not hold: {problem}"


def _elements(array: ConcreteArray) -> NDArray[Any]:
    """Contents as the array's type reads them, in its shape."""
    raw = [array.contents.get(place, array.fill) & ((1 << 64) - 1) for place in _places(array)]
    kind = "u1" if array.dtype == "bool" else f"{array.dtype[0]}{int(array.dtype[1:]) // 8}"
    return np.asarray(raw, np.uint64).astype(kind).reshape(array.shape)


def _places(array: ConcreteArray) -> list[int]:
    indices = product(*map(range, array.shape))
    return [sum(i * s for i, s in zip(index, array.strides, strict=True)) for index in indices]
