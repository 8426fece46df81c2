"""Whether the elements of an array have addresses of their own, beside a list of all addresses."""

from __future__ import annotations

from itertools import product

import pytest

from tileverify.contract.strides import apart


@pytest.mark.parametrize("shape", [(2, 3, 4), (4, 3, 2), (3, 3, 3), (2, 1, 5), (2, 2, 2)])
def test_three_dimensions_are_told_as_their_addresses_are(shape: tuple[int, int, int]) -> None:
    told = set()
    for strides in product(range(-2, 14), repeat=3):
        places = [sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*map(range, shape))]
        distinct = len(set(places)) == len(places)
        assert apart(shape, strides) is distinct, strides
        told.add(distinct)
    assert told == {True, False}


def test_more_elements_than_addresses_are_refused_without_a_list() -> None:
    assert not apart((64, 64, 64), (64, 48, 1))
    assert apart((64, 64, 64), (64 * 64, 64, 1))
    assert not apart((1 << 20, 1 << 20, 2), (3, 5, 7))
