"""Which comparisons of integers are told, and at which line: of bytecode as CUDA Tile C++ makes it of its headers."""

from __future__ import annotations

import numpy as np

from tileverify.equality.branches import WaysTaken
from tileverify.equality.decision_points import integer_branches
from tileverify.frontend.bytecode.builder import I32, ModuleBuilder, tile
from tileverify.frontend.bytecode.location import Location
from tileverify.frontend.bytecode.model import Entry, Op, Value

IN_A_HEADER = Location("cuda_tile.h", 3230, 39, caller=Location("k.cu", 12, 4))


def _entry() -> Entry:
    """``1 + 2 != 2``; ``size <= 70``; ``block > 70``; all of a header's code, called in one line."""
    builder, number = ModuleBuilder(), tile(I32)
    with builder.entry("k", (number,)) as f:
        f.location = IN_A_HEADER

        def compared(lhs: Value, rhs: int, how: str) -> None:
            f.op("cmpi", lhs=lhs, rhs=f.constant(number, rhs), pred=how, sgn="signed")

        three: Value = f.op("addi", lhs=f.constant(number, 1), rhs=f.constant(number, 2))
        compared(three, 2, "not_equal")
        compared(f.parameters[0], 70, "less_than_or_equal")
        compared(f.op("get_tile_block_id")[0], 70, "greater_than")
        f.op("return", args=[])
    (entry,) = builder.build().entries
    return entry


def _comparisons(entry: Entry) -> list[Op]:
    return [op for op in entry.body.ops if op.name == "cmpi"]


def test_what_is_computed_of_numbers_alone_is_no_branch() -> None:
    entry = _entry()
    assert integer_branches(entry) == set(_comparisons(entry)[1:])


def test_the_line_is_the_kernels_own() -> None:
    ways = WaysTaken()
    ways.note(_comparisons(_entry())[1], np.array([True, True]))
    assert list(ways.one_way()) == ["the comparison <= at line 12 was true at every point"]


def test_only_signs_are_the_remainders_own() -> None:
    """A choice between ``r + d`` and ``r`` that asks for something else besides is told."""
    builder, number = ModuleBuilder(), tile(I32)
    with builder.entry("k", (number,)) as f:
        divisor, zero = f.constant(number, 7), f.constant(number, 0)
        rest: Value = f.op("remi", lhs=f.op("get_tile_block_id")[0], rhs=divisor, sgn="signed")
        negative: Value = f.op("cmpi", lhs=rest, rhs=zero, pred="less_than", sgn="signed")
        large: Value = f.op("cmpi", lhs=f.parameters[0], rhs=f.constant(number, 90), pred="greater_than", sgn="signed")
        moved: Value = f.op("addi", lhs=rest, rhs=divisor)
        f.op("select", c=f.op("andi", lhs=negative, rhs=large), t=moved, f=rest)
        f.op("return", args=[])
    (entry,) = builder.build().entries
    assert integer_branches(entry) == {_comparisons(entry)[1]}
