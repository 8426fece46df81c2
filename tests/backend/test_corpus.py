"""The race-free kernels of the corpus, run with small numbers: no pair of blocks shows a fault."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from pathlib import Path

import pytest

import tileverify.corpus
from tileverify.backend.replay.replay import Replayer
from tileverify.contract.launch import (
    Apply,
    Argument,
    ArrayArgument,
    ConcreteArray,
    ConcreteLaunch,
    Expression,
    KernelUnit,
    ListArgument,
    Name,
    Number,
    ScalarArgument,
    TupleArgument,
)
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.results.claim import Claim
from tileverify.results.codes import TV

from ..grids import blocks_of
from .helpers import contiguous

CORPUS = Path(tileverify.corpus.__file__).parent
FILES = sorted(CORPUS.glob("race_free/*.py"))

SIZE = 160
"""Every size that a spec leaves open: neither a multiple of the larger tiles nor smaller than the smaller ones."""

OPERATORS: Mapping[str, Callable[..., int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "cdiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


class Numbers:
    """Arguments of a launch with `SIZE` for every free name."""

    def __init__(self) -> None:
        self.arrays: dict[str, ConcreteArray] = {}
        self.lists: dict[str, tuple[ConcreteArray, ...]] = {}
        self.scalars: dict[str, int] = {}

    def value(self, expression: Expression) -> int:
        match expression:
            case Number(value):
                return value
            case Name(name):
                return self.scalars.get(name, SIZE)
            case Apply(op, args):
                return OPERATORS[op](*(self.value(arg) for arg in args))
        raise AssertionError(expression)

    def array(self, argument: ArrayArgument) -> ConcreteArray:
        shape = tuple(self.value(size) for size in argument.shape)
        strides = contiguous(shape)
        if argument.strides is not None:
            strides = tuple(self.value(stride) for stride in argument.strides)
        count = min(math.prod(shape), 4096)
        contents = {i: i for i in range(count)} if argument.dtype in ("i32", "i64") else {}
        return ConcreteArray(argument.dtype, shape, strides, contents)

    def add(self, argument: Argument) -> None:
        match argument:
            case ArrayArgument():
                self.arrays[argument.name] = self.array(argument)
            case ScalarArgument():
                self.scalars[argument.name] = SIZE if argument.value is None else self.value(argument.value)
            case TupleArgument():
                for item in argument.items:
                    self.add(item)
            case ListArgument():
                self.lists[argument.name] = (self.array(argument.element),) * 3


def test_there_is_a_corpus() -> None:
    assert len(FILES) > 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_race_free(path: Path) -> None:
    for unit in discover([str(path)]):
        assert isinstance(unit, KernelUnit), unit
        numbers = Numbers()
        for argument in unit.launch.arguments:
            numbers.add(argument)
        sizes = unit.launch.grid or (Number(2), Number(1), Number(1))
        grid = tuple(min(numbers.value(size), 1 << 20) for size in sizes)
        concrete = ConcreteLaunch((grid[0], grid[1], grid[2]), numbers.arrays, numbers.scalars, numbers.lists)
        check = Replayer(decode(unit.bytecode, file=str(path)), unit.symbol, unit.parameters)
        blocks = list(islice(blocks_of(concrete.grid), 3))
        last = (grid[0] - 1, grid[1] - 1, grid[2] - 1)
        blocks += [last] if last not in blocks else []
        for code in ("TV101", "TV102", "TV103"):
            for a, b in pairwise(blocks):
                assert check(concrete, Claim(TV(code), a, b)) is None, (unit.kernel, unit.launch.name, code, a, b)
                assert check.last_reason == f"no {code} shows"
        for code in ("TV201", "TV202"):
            assert check(concrete, Claim(TV(code), last, None)) is None, (unit.kernel, unit.launch.name, code)
