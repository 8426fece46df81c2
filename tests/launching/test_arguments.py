"""What a launch touches: bytes of its arrays, rows that lie apart, and which kernels stay within elements."""

from __future__ import annotations

import itertools
import random

import pytest

from tileverify.backend.guard import ArrayValue
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.launching.calls import Touched, rows, span, use_of
from tileverify.launching.proofs import touched_by


def elements(array: ArrayValue) -> set[int]:
    """Every byte of every element."""
    width = ELEMENT_TYPES[array.dtype].bits // 8
    return {
        array.address + width * sum(i * stride for i, stride in zip(index, array.strides, strict=True)) + byte
        for index in itertools.product(*map(range, array.shape))
        for byte in range(width)
    }


def test_rows_hold_every_element() -> None:
    draw = random.Random(3)
    apart = 0
    for _ in range(3000):
        rank = draw.randrange(4)
        shape = tuple(draw.choice((1, 2, 3, 4)) for _ in range(rank))
        strides = tuple(draw.choice((0, 1, 2, 3, 4, 6, 8, 12, 24, 30)) for _ in range(rank))
        array = ArrayValue(1000, shape, strides, draw.choice(("i8", "f16", "f32")))
        (start, end), (period, width) = span(array), rows(array)
        found = elements(array)
        assert min(found) == start
        assert max(found) == end - 1
        assert all(not period or (byte - start) % period < width for byte in found)
        apart += period > 0
    assert apart > 300


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((8, 4), (4, 1), (0, 0)),  # one piece
        ((8, 4), (16, 1), (64, 16)),  # columns of a wider matrix
        ((4, 8), (1, 16), (64, 16)),  # the same, transposed
        ((8,), (2,), (8, 4)),  # every other element
        ((8, 1), (16, 1), (64, 4)),
        ((3, 8, 4), (1024, 16, 1), (64, 16)),
        ((3, 4, 4), (100, 16, 1), (16, 16)),  # 400 bytes and 64: only their common divisor repeats
        ((0, 4), (16, 1), (0, 0)),
        ((), (), (0, 0)),
    ],
)
def test_rows(shape: tuple[int, ...], strides: tuple[int, ...], expected: tuple[int, int]) -> None:
    found = rows(ArrayValue(0, shape, strides, "f32"))
    assert found == (expected if expected[1] < expected[0] else (0, 0))


def unit(path: str) -> KernelUnit:
    found = next(iter(discover([str(ROOT / path)])))
    assert isinstance(found, KernelUnit)
    return found


def test_views_of_the_whole_array_touch_elements_alone() -> None:
    assert touched_by(unit("race_free/axpy.py"))[:2] == (frozenset({"y"}), frozenset({"x", "y"}))
    assert touched_by(unit("race_free/scatter_permutation.py"))[:2] == (frozenset({"out"}), frozenset())  # pointers


def test_only_what_is_touched_by_elements_has_rows() -> None:
    columns = ArrayValue(1000, (8, 4), (16, 1), "f32")
    use = use_of("k", 0, (1, 1, 1), {"x": columns, "y": columns}, Touched(frozenset({"y"}), frozenset({"x"})))
    assert [(each.write, each.period, each.width) for each in use.accesses] == [(False, 64, 16), (True, 0, 0)]
    assert use.accesses[0].end == 1000 + 7 * 64 + 16
