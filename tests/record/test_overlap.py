"""Bytes in common, by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract.strides import Overlap, overlaps


def array(address: int, shape: list[int], strides: list[int], bits: int = 16) -> dict[str, Any]:
    return {"kind": "array", "address": address, "shape": shape, "strides": strides, "bits": bits}


def touched(argument: dict[str, Any]) -> set[int]:
    item = argument["bits"] // 8
    indices = itertools.product(*(range(size) for size in argument["shape"]))
    starts = (sum(i * s for i, s in zip(index, argument["strides"], strict=True)) * item for index in indices)
    return {argument["address"] + start + byte for start in starts for byte in range(item)}


arrays = st.integers(1, 3).flatmap(
    lambda rank: st.builds(
        array,
        st.integers(1000, 1080),
        st.lists(st.integers(0, 4), min_size=rank, max_size=rank),
        st.lists(st.integers(0, 9), min_size=rank, max_size=rank),
        st.sampled_from([8, 16, 32]),
    )
)


@given(arrays, arrays)
def test_arrays_overlap_exactly_if_they_share_a_byte(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert bool(overlaps(["a", "b"], [first, second])) == bool(touched(first) & touched(second))


def test_names_inside_tuples_and_fields() -> None:
    one = array(1000, [8], [1])
    pair = {"kind": "tuple", "items": [{"kind": "scalar"}, one]}
    record = {"kind": "tuple", "items": [one], "fields": ["left"]}
    found = overlaps(["p", "r", "n"], [pair, record, {"kind": "scalar"}])
    assert found == [Overlap("p[1]", "r.left", same=True)]


def test_arrays_of_one_list() -> None:
    one, two = array(1000, [8], [1]), array(1016, [8], [1])
    assert not overlaps(["xs"], [{"kind": "list", "items": [one, two]}])
    assert overlaps(["xs"], [{"kind": "list", "items": [one, two, one]}]) == [Overlap("xs", "xs", same=False)]


def test_elements_smaller_than_a_byte_are_compared_as_ranges() -> None:
    packed = {**array(1000, [16], [2], bits=8), "bits": 4}
    assert overlaps(["a", "b"], [packed, array(1001, [4], [1], bits=8)])
    assert not overlaps(["a", "b"], [packed, array(2000, [4], [1], bits=8)])
