"""A kernel in its own formats beside the shadow of its reference, at the same inputs: what rounding does to it.

The reference is the one on exact numbers, whose shadow is float64; the inputs are numbers of the formats that hold
them.  It is an observation at a few points, not a bound, and nothing of `equal` rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..backend.interpreter import Budget, InterpreterStop, bind_launch, run_block
from ..backend.interpreter.memory import Memory
from ..backend.interpreter.values import RUN
from ..backend.numbers.array_files import numbers, rounded
from ..backend.numbers.choose import ContractInNumbers, extent, scalars
from ..backend.numbers.inputs import Inputs
from ..backend.numbers.trial_launches import constants_of
from ..contract.element_types import ELEMENT_TYPES
from ..contract.launch import KernelUnit
from ..system.errors import UsageError
from . import field
from .deciding import MOST_ELEMENTS, SHARE, ExactAnswer, Other, arguments_of
from .exact import certain
from .field import Array, NearTie
from .launch_outcomes import ArrayError, NarrowSum, RoundingSeen, arrays_of, error_of, narrow_sums
from .op_rules import ExactKernel
from .points import Options, TrialPoint, drawn_point, given_point
from .primitives import lifted
from .reference_runs import AskedReference

CONTENTS: Final = ("normal", "wide")


def rounding_of(
    unit: KernelUnit,
    kernel: ExactKernel,
    contract: ContractInNumbers,
    other: Other,
    found: ExactAnswer,
    options: Options,
) -> RoundingSeen:
    """At the first launch of an answer, which is the usual one."""

    def errors(point: TrialPoint) -> Iterator[ArrayError]:
        after = run_in_formats(kernel, point.inputs, Budget(SHARE))
        return errors_at(point, after, other, arguments_of(unit, contract, point))

    return rounding_seen(
        errors, points_in_formats(kernel, contract, found.launches[0], options), narrow_sums(kernel.entry)
    )


def rounding_seen(
    errors: Callable[[TrialPoint], Iterable[ArrayError]], points: Iterable[TrialPoint], narrow: tuple[NarrowSum, ...]
) -> RoundingSeen:
    """The worst of each array, of the points at which there is an answer."""
    worst: dict[str, ArrayError] = {}
    reasons: list[str] = []
    measured = False
    for point in points:
        try:
            with np.errstate(all="ignore"):
                found = list(errors(point))
        except (InterpreterStop, UsageError) as stop:
            reasons.append(stop.message if isinstance(stop, UsageError) else str(stop))
            if isinstance(stop, NearTie):
                continue
            break
        measured = True
        for error in found:
            if error.array not in worst or worst[error.array].units < error.units:
                worst[error.array] = error
    reason = "" if measured else next(iter(reasons), "no launch was small enough")
    return RoundingSeen(tuple(worst.values()), narrow, reason)


def points_in_formats(
    kernel: ExactKernel, contract: ContractInNumbers, values: Mapping[str, int], options: Options
) -> Iterator[TrialPoint]:
    """What rounding is measured at, of one launch."""
    if extent(contract, values)[0] > MOST_ELEMENTS:
        return
    if options.inputs is not None:
        yield in_formats(contract, given_point(contract, values, options.inputs))
        return
    known = constants_of(kernel.entry)
    for contents in CONTENTS:
        yield in_formats(contract, drawn_point(contract, values, contents, known, options.seed * 64))


def in_formats(contract: ContractInNumbers, point: TrialPoint) -> TrialPoint:
    """The point with shadows that the formats of its arrays and scalars hold, in ``contents`` and in memory alike."""
    types = {array.allocation: array.dtype for _, array in point.inputs.launch.named_arrays()}
    memory, contents = dict(point.inputs.memory), {}
    for name, held in point.contents.items():
        memory[name] = rounded(np.array(held["s"]), types[name])
        contents[name] = _with_shadow(held, numbers(memory[name], types[name]))
    formats = {each.name: each.dtype for each in scalars(contract.spec)}
    floats = {
        name: _with_shadow(held, numbers(rounded(np.array(held["s"]), formats[name]), formats[name]))
        for name, held in point.floats.items()
    }
    given = {name: float(held["s"]) for name, held in floats.items()}
    launch = replace(point.inputs.launch, floats={**point.inputs.launch.floats, **given})
    return replace(point, inputs=replace(point.inputs, launch=launch, memory=memory), contents=contents, floats=floats)


def _with_shadow(held: Array, shadow: Array) -> Array:
    """The numbers with another shadow, and residues that depend on it alone: formats make equal numbers of many."""
    result = held.copy()
    result["s"] = shadow
    size = np.abs(result["s"])
    residues = field.keyed(np.stack([size.view(np.uint64)] * field.SLOTS), 21)
    signed = np.where(result["s"] < 0, field.negated(residues), residues)
    result["r"] = np.moveaxis(np.where(size == 0, np.uint64(0), signed), 0, -1)
    return result


def errors_at(
    point: TrialPoint, after: Mapping[str, Array], other: Other, arguments: Mapping[str, object]
) -> Iterator[ArrayError]:
    """Of each array that the kernel changed; ``after``: the memory that it left, as stored."""
    launch = point.inputs.launch
    before = dict(arrays_of(point, {**point.inputs.memory, **point.contents}))
    numbers_alone = other.on_numbers if isinstance(other, AskedReference) else other  # rounding is what is looked for
    expected = numbers_alone(point, before, arguments)
    changed = {name for name, array in after.items() if array.tobytes() != point.inputs.memory[name].tobytes()}
    mine = dict(arrays_of(point, after))
    for name, array in launch.named_arrays():
        if name not in expected or array.allocation not in changed or ELEMENT_TYPES[array.dtype].kind != "f":
            continue
        wanted = _shadow(expected[name])
        values = np.asarray(mine[name], np.float64)
        error = error_of(name, array.dtype, values, wanted, point.inputs.values, point.filling)
        if error is not None:
            yield error


def _shadow(value: ArrayLike) -> Array:
    return certain(lifted(value))


def run_in_formats(kernel: ExactKernel, inputs: Inputs, budget: Budget) -> dict[str, Array]:
    """The memory after the launch, by allocation, as stored: the interpreter's own rules, block after block.

    :raises InterpreterStop: the launch could not run to its end.
    """
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
    bound = bind_launch(kernel.module, kernel.entry, kernel.parameters, inputs.launch, data)
    memory, grid = Memory(bound.image), inputs.launch.grid
    for z, y, x in product(*(range(size) for size in reversed(grid))):
        log = run_block(bound.program, bound.arguments, memory, grid, (x, y, z), budget, conduct=RUN)
        if log.stopped is not None:
            raise log.stopped
    places: Mapping[str, int] = {each.name: number for number, each in enumerate(bound.image.allocations)}
    return {
        name: memory.bytes_of(places[name]).view(array.dtype).reshape(array.shape)
        for name, array in inputs.memory.items()
        if name in places
    }
