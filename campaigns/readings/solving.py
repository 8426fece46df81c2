"""What the names of a contract are in a launch: the unknowns of equations that are linear in one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tileverify.backend.guard.arguments import ArrayValue
from tileverify.contract.expressions import GRID_NAMES, Undefined, evaluate, free_names
from tileverify.contract.launch import ArrayArgument, Expression, LaunchSpec, ListArgument, ScalarArgument

from .launches import Given, order

POINTS = (0, 1, 2, 3, 1_000_003, 10**12 + 39)


class Unsolved(Exception):
    """The equations do not give every name a value."""


class NoLaunch(Exception):
    """No values of the names give the numbers of the launch."""


def numbers(spec: LaunchSpec, given: Given) -> dict[str, int]:
    """What a launch shows by itself: scalars, grid, and the members of arrays."""
    known: dict[str, int] = dict(zip(GRID_NAMES, given.grid, strict=True))
    for argument, value in zip(order(spec), given.values, strict=True):
        match argument, value:
            case ArrayArgument(name=name), ArrayValue():
                known[f"{name}.address"] = value.address
                known |= {f"{name}.shape[{d}]": size for d, size in enumerate(value.shape)}
                known |= {f"{name}.strides[{d}]": stride for d, stride in enumerate(value.strides)}
            case ScalarArgument(name=name), int():
                known[name] = int(value)
            case ListArgument(name=name), tuple():
                known[f"{name}.length"] = len(value)
    return known


def equations(spec: LaunchSpec, known: Mapping[str, int]) -> Iterator[tuple[Expression, int]]:
    """What the contract says that numbers of the launch are; strides where it says anything of them."""
    for argument in order(spec):
        match argument:
            case ArrayArgument(name=name, shape=shape, strides=strides):
                yield from ((each, known[f"{name}.shape[{d}]"]) for d, each in enumerate(shape))
                yield from ((each, known[f"{name}.strides[{d}]"]) for d, each in enumerate(strides or ()))
            case ScalarArgument(name=name, value=value) if value is not None and name in known:
                yield value, known[name]
            case ListArgument(name=name, length=length):
                yield length, known[f"{name}.length"]
    yield from zip(spec.grid or (), [known[name] for name in GRID_NAMES], strict=False)


def solved(spec: LaunchSpec, known: Mapping[str, int]) -> dict[str, int]:
    """All names with their values; raises `NoLaunch`, and `Unsolved` where a name has no linear equation."""
    known = dict(known)
    left = list(equations(spec, known))
    while True:
        missing = [(each, number, free_names(each) - known.keys()) for each, number in left]
        if not any(unknown for *_, unknown in missing):
            break
        for expression, number, unknown in missing:
            if len(unknown) == 1 and (line := _line(expression, known, *unknown)) is not None:
                slope, start = line
                if (number - start) % slope:
                    raise NoLaunch
                known[next(iter(unknown))] = (number - start) // slope
                break
        else:
            raise Unsolved
    try:
        if any(evaluate(expression, known) != number for expression, number in left):
            raise NoLaunch
    except Undefined:
        raise NoLaunch from None
    return known


def _line(expression: Expression, known: Mapping[str, int], name: str) -> tuple[int, int] | None:
    try:
        values = [evaluate(expression, {**known, name: point}) for point in POINTS]
    except Undefined:
        return None
    slope, start = values[1] - values[0], values[0]
    straight = all(value == start + slope * point for point, value in zip(POINTS, values, strict=True))
    return (slope, start) if slope and straight else None
