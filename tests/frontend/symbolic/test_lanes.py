"""Coordinate maps against NumPy: moving a tile's elements by substitution is what NumPy does to an array."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract.terms import Term, TermKind, add, postorder, scale, substitute
from tileverify.contract.terms.evaluate import evaluate
from tileverify.frontend.symbolic.values import CoordinateMap, lane, lanes_of, permuted, reshaped


def numbered(shape: Sequence[int]) -> Term:
    """The tile whose elements are their row-major positions."""
    position, stride = scale(0, lane(0, 2)), 1
    for dim in reversed(range(len(shape))):
        position = add(position, scale(stride, lane(dim, shape[dim])))
        stride *= shape[dim]
    return position


def elements(term: Term, shape: Sequence[int]) -> list[int]:
    """The tile's elements in row-major order."""
    found = []
    for place in np.ndindex(*shape):
        variables = {lane(dim, size): place[dim] for dim, size in enumerate(shape) if size > 1}
        found.append(int(evaluate(term, variables)))
    return found


def moved(shape: Sequence[int], coordinates: CoordinateMap) -> Term:
    return substitute(numbered(shape), coordinates)


exponents = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two shapes of as many elements; what drawn dimensions leave over is split into dimensions of 8 at most."""
    source = draw(exponents)
    rest, target = sum(source), list[int]()
    for e in draw(st.lists(st.integers(0, 3), max_size=8)):
        target.append(min(e, rest))
        rest -= target[-1]
    target += [3] * (rest // 3) + [rest % 3]
    return [2**e for e in source], [2**e for e in target]


@given(reshapes())
def test_reshape_is_row_major(shapes: tuple[list[int], list[int]]) -> None:
    source, target = shapes
    assert prod(source) == prod(target)
    expected = np.arange(prod(source)).reshape(source).reshape(target).reshape(-1).tolist()
    assert elements(moved(source, reshaped(source, target)), target) == expected


@given(exponents.flatmap(lambda e: st.tuples(st.just([2**x for x in e]), st.permutations(range(len(e))))))
def test_permute_is_transpose(case: tuple[list[int], list[int]]) -> None:
    shape, permutation = case
    expected = np.arange(prod(shape)).reshape(shape).transpose(permutation)
    assert elements(moved(shape, permuted(shape, permutation)), expected.shape) == expected.reshape(-1).tolist()


@pytest.mark.parametrize(
    ("source", "target"), [((128,), (1, 128)), ((1, 128, 1), (128,)), ((64, 32), (64, 1, 32)), ((2048,), (64, 32))]
)
def test_joining_and_unit_dimensions_need_no_division(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    term = moved(source, reshaped(source, target))
    assert not [part for part in postorder(term) if part.kind in (TermKind.DIV, TermKind.MOD)]


def test_a_dimension_of_size_one_has_no_lane() -> None:
    assert [part.size for part in lanes_of((1, 4, 1, 2))] == [4, 2]
    assert lane(0, 1).kind is TermKind.CONST


def test_the_size_is_part_of_a_lane() -> None:
    assert lane(0, 4) is not lane(0, 8)
    assert (lane(0, 8).low, lane(0, 8).high) == (0, 7)
