"""Generated kernels under launches of numbers, as a recorder writes them: how wide is the proof, and is it right?

A verdict that holds for ``any`` launch, or for any grid of these ``sizes``, is tried on launches drawn around the
recorded one: other sizes, strides, scalars and grids that keep the verdict's clauses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from random import Random

from tileverify.backend.interpreter import InterpreterStop
from tileverify.contract.expressions import evaluate, free_names
from tileverify.contract.launch import (
    Argument,
    ArrayArgument,
    ConcreteLaunch,
    LaunchSpec,
    ListArgument,
    Number,
    ScalarArgument,
    expressions_of,
)
from tileverify.contract.strides import may_overlap_itself
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

from .accesses import INDEX_ARRAYS
from .clauses import holds, read_clauses
from .contracts import FiniteContract, meets_itself
from .kernels import Generated
from .truth import Interpreted

DRAWS = 400
"""Launches drawn for one verdict, most of which break a clause."""
TRIED = 40
"""Launches that are interpreted for one verdict."""
CONTENTS = 2


@dataclass(frozen=True, slots=True)
class Widened:
    """``wrong``: a launch that the verdict covers and that shows a fault, in words."""

    result: KernelResult
    wrong: str | None
    tried: int


def judge_recorded(generated: Generated, seed: int) -> Widened | None:
    """Record one launch of a generated kernel, check it, and try others that the verdict covers; None without one."""
    random = Random(seed)
    possible = list(islice(generated.contract.launches(), 2000))
    plain = [launch for launch, _ in possible if not any(array.allocation for array in launch.arrays.values())]
    if not plain:
        return None
    recorded = random.choice(plain)
    spec = _literal(generated.contract.spec, recorded)
    result = check_unit(replace(generated.unit, launch=spec))
    if result.verdict is not Verdict.PROVED:
        return Widened(result, None, 0)
    interpreted = Interpreted(generated.unit)
    tried = 0
    clauses = read_clauses(result.clauses)
    if clauses is None:
        return Widened(result, f"a clause cannot be read: {result.clauses}", 0)
    for launch, names in _covered(spec, recorded, result, random):
        if not all(holds(clause, names) for clause in clauses):
            continue
        try:
            seen = interpreted.see(launch)
        except InterpreterStop:
            continue
        tried += 1
        if seen.codes:
            wrong = f"proved for {result.holds_for} under {result.clauses}, but {sorted(seen.codes)} shows in {launch}"
            return Widened(result, wrong, tried)
        if tried == TRIED:
            break
    if not tried:
        return Widened(result, f"proved under clauses that its own launch breaks: {result.clauses}", tried)
    return Widened(result, None, tried)


def _literal(spec: LaunchSpec, launch: ConcreteLaunch) -> LaunchSpec:
    """The spec that a recorder would write for ``launch``; what the contract says of its names is left out."""

    def argument(each: Argument) -> Argument:
        if isinstance(each, ArrayArgument):
            array = launch.arrays[each.name]
            strides = None if each.strides is None else tuple(map(Number, array.strides))
            return replace(each, shape=tuple(map(Number, array.shape)), strides=strides)
        if isinstance(each, ListArgument):
            return replace(each, length=Number(len(launch.lists[each.name])))
        assert isinstance(each, ScalarArgument)
        return replace(each, value=Number(launch.scalars[each.name]))

    x, y, z = map(Number, launch.grid)
    facts = [fact for fact in spec.data if not any(map(free_names, expressions_of(fact)))]
    return replace(
        spec,
        arguments=tuple(map(argument, spec.arguments)),
        grid=(x, y, z),
        requires=(),
        requires_text=(),
        overlap=(),
        data=tuple(facts),
    )


def _covered(
    spec: LaunchSpec, recorded: ConcreteLaunch, result: KernelResult, random: Random
) -> Iterator[tuple[ConcreteLaunch, Mapping[str, int]]]:
    """The recorded launch and launches around it, as far from it as the verdict says that it holds."""
    yield from _launches(spec)
    for _ in range(0 if result.holds_for == "launch" else DRAWS):
        arguments = spec.arguments
        if result.holds_for == "any":
            arguments = tuple(_moved(argument, random) for argument in arguments)
        x, y, z = (Number(_near(axis, random, 1)) for axis in recorded.grid)
        moved = replace(spec, arguments=arguments, grid=(x, y, z))
        overlapping = {array.name for array in spec.arrays() if may_overlap_itself(array)}
        if not any(_overlaps_itself(array) for array in moved.arrays() if array.name not in overlapping):
            yield from _launches(moved)


def _overlaps_itself(array: ArrayArgument) -> bool:
    """Free strides keep the elements of an array apart; a recorded array that overlaps itself keeps its strides."""
    strides = [evaluate(stride, {}) for stride in array.strides or ()]
    return array.strides is not None and meets_itself([evaluate(size, {}) for size in array.shape], strides)


def _launches(spec: LaunchSpec) -> Iterator[tuple[ConcreteLaunch, Mapping[str, int]]]:
    index = tuple(array.name for array in spec.arrays() if array.name in INDEX_ARRAYS)
    return islice(FiniteContract(spec, {}, 1, index).launches(), CONTENTS)


def _near(number: int, random: Random, least: int) -> int:
    drawn = random.choice((number, number, number + 1, number - 1, number * 2, random.randint(0, 5)))
    return max(least, drawn)


def _moved(argument: Argument, random: Random) -> Argument:
    """Another size, stride or scalar; what the bytecode was compiled for stays."""
    if isinstance(argument, ListArgument) or (isinstance(argument, ScalarArgument) and argument.dtype == "bool"):
        return argument
    if isinstance(argument, ScalarArgument):
        assert isinstance(argument.value, Number)
        bits = int(argument.dtype[1:])
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if argument.dtype[0] == "i" else (0, (1 << bits) - 1)
        own = argument.value.value
        moved = random.choice((own, own, _near(own, random, low), -1, low, high))
        return replace(argument, value=Number(min(max(moved, low), high)))
    assert isinstance(argument, ArrayArgument)
    shape = [size.value if size == Number(1) else _near(size.value, random, 0) for size in argument.shape]  # type: ignore[union-attr]
    strides = [prod(shape[dim + 1 :]) for dim in range(len(shape))]
    if argument.strides is not None and may_overlap_itself(argument):
        return replace(argument, shape=tuple(map(Number, shape)))
    if argument.strides is not None:
        strides = [s.value if s == Number(1) else _near(s.value, random, 0) for s in argument.strides]  # type: ignore[union-attr]
    return replace(argument, shape=tuple(map(Number, shape)), strides=tuple(map(Number, strides)))
