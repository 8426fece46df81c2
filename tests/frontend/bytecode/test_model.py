"""Constants: splats, packed truth values, signed reading, raw float patterns."""

from __future__ import annotations

import pytest

from tileverify.frontend.bytecode.builder import F32, I1, I8, I32, constant, scalar, tile
from tileverify.frontend.bytecode.location import Location
from tileverify.frontend.bytecode.model import Constant


def elements(value: Constant) -> list[int]:
    return [value.element(index) for index in range(value.count)]


def test_splat_of_integers() -> None:
    value = constant(tile(I32, 2, 4), -3)
    assert value.is_splat
    assert len(value.data) == 4
    assert elements(value) == [-3] * 8


def test_listed_integers_are_read_signed_in_row_major_order() -> None:
    value = constant(tile(I8, 2, 2), 0, 127, 128, 255)
    assert not value.is_splat
    assert elements(value) == [0, 127, -128, -1]


def test_floats_are_bit_patterns() -> None:
    assert elements(constant(tile(F32, 2), 0x3F800000, 0xFF800000)) == [0x3F800000, 0xFF800000]
    assert elements(constant(tile(scalar("tf32"), 2), 0x7FFFF, 1)) == [0x7FFFF, 1]


def test_one_element() -> None:
    assert constant(tile(I32), 5).is_splat
    assert constant(tile(I32, 1, 1), 5).element(0) == 5


@pytest.mark.parametrize(
    ("count", "data", "expected"),
    [
        (1, b"\x01", [1]),
        (1, b"\xff", [1]),
        (1, b"\x00", [0]),
        (1, b"\x02", [0]),
        (4, b"\xff", [1, 1, 1, 1]),
        (4, b"\x01", [1, 0, 0, 0]),
        (4, b"\x09", [1, 0, 0, 1]),
        (16, b"\x01", [1] * 16),
        (16, b"\xff", [1] * 16),
        (16, b"\x00", [0] * 16),
        (16, b"\x01\x80", [1] + [0] * 14 + [1]),
    ],
)
def test_truth_values_as_tileirdisasm_reads_them(count: int, data: bytes, expected: list[int]) -> None:
    assert elements(Constant(tile(I1, count), data)) == expected


def test_elements_outside_are_refused() -> None:
    value = constant(tile(I32, 4), 1)
    for index in (-1, 4):
        with pytest.raises(IndexError):
            value.element(index)


def test_location_chain() -> None:
    outer = Location("a.py", 1, 0, "f")
    inner = Location("b.py", 2, 3, "g", caller=outer)
    assert list(inner.chain()) == [inner, outer]
