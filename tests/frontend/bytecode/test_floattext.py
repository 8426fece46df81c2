"""Float text: what is printed reads back as the same number."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.frontend.bytecode.assembly_text import FORMATS, float_text, is_finite, is_nan, magnitude


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value: float) -> None:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    text = float_text(bits, FORMATS["f64"])
    read = struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0] if text.startswith("0x") else float(text)
    assert struct.pack("<d", read) == struct.pack("<d", value)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_singles_read_back(value: float) -> None:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    text = float_text(bits, FORMATS["f32"])
    read = struct.unpack("<f", struct.pack("<I", int(text, 16)))[0] if text.startswith("0x") else float(text)
    assert struct.pack("<f", read) == struct.pack("<f", value)


@given(st.integers(0, 0xFFFF))
def test_halves_have_the_value_that_python_reads(bits: int) -> None:
    (value,) = struct.unpack("<e", struct.pack("<H", bits))
    format = FORMATS["f16"]
    assert is_nan(bits, format) == (value != value)
    if is_finite(bits, format):
        assert magnitude(bits, format) == abs(value)


@pytest.mark.parametrize(
    ("name", "bits", "text"),
    [
        ("f32", 0x00000000, "0.000000e+00"),
        ("f32", 0x80000000, "-0.000000e+00"),
        ("f32", 0x3DCCCCCD, "1.000000e-01"),
        ("f32", 0x40490FDB, "3.14159274"),
        ("f32", 0x4B000000, "0x4B000000"),
        ("f32", 0x7F7FFFFF, "3.40282347E+38"),
        ("f32", 0x7F800000, "0x7F800000"),
        ("f32", 0xFF800000, "0xFF800000"),
        ("f64", 0x4130000000100000, "1048576.0002441406"),
        ("bf16", 0x1FC0, "8.131510e-20"),
        ("tf32", 0x3FC00, "0x3FC00"),
        ("f8E4M3FN", 0x78, "2.560000e+02"),
        ("f8E4M3FN", 0x7F, "0x7F"),
        ("f8E5M2", 0x7C, "0x7C"),
        ("f8E8M0FNU", 0x00, "5.877470e-39"),
        ("f8E8M0FNU", 0xFF, "0xFF"),
        ("f4E2M1FN", 0x9, "-5.000000e-01"),
        ("f4E2M1FN", 0x7, "6.000000e+00"),
    ],
)
def test_texts_of_tileirdisasm(name: str, bits: int, text: str) -> None:
    assert float_text(bits, FORMATS[name]) == text
