"""Layouts of witnesses: which sizes and strides put two elements at one address."""

from __future__ import annotations

from itertools import product

import pytest

from tileverify.verifier.refute.described import meets_itself


@pytest.mark.parametrize("strides", [*product(range(5), repeat=2), *product((0, 1, 2, 3, 6), repeat=3)])
def test_two_elements_share_an_address_iff_enumeration_says_so(strides: tuple[int, ...]) -> None:
    for shape in product((0, 1, 2, 3, 4), repeat=len(strides)):
        places = [sum(i * s for i, s in zip(at, strides, strict=True)) for at in product(*map(range, shape))]
        assert meets_itself(shape, strides) == (len(set(places)) < len(places)), (shape, strides)


def test_large_layouts_are_told_at_once() -> None:
    assert not meets_itself((1 << 20, 1 << 20), (1 << 20, 1))
    assert meets_itself((1 << 20, 1 << 20), ((1 << 20) - 1, 1))
    assert not meets_itself((2, 1 << 30), (1 << 31, 1))
    assert meets_itself((5, 7, 1 << 20), (3, 5, 7))
