"""The numbers that MLIR prints in ``arith.constant``, as bit patterns."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import chain
from math import inf, isinf, isnan
from typing import Final

from ..bytecode.assembly_text import FORMATS, FloatFormat
from ..bytecode.model import ScalarType, TileType

_HEX_DUMP: Final = re.compile(r'"0x([0-9A-Fa-f]*)"')
_ITEM: Final = re.compile(r"true|false|[-+]?(?:0x[0-9A-Fa-f]+|nan|inf|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)")


def constant_bits(literal: str | bool | int | float, type: TileType) -> tuple[int, ...]:
    """One pattern for each element, or a single one for all, as `tileverify`'s builder takes them.

    ``literal`` is the printed value: ``128``, ``0xFF800000``, ``dense<[1, 2]>``, ``dense<"0x00FF">``.

    >>> f32 = ScalarType("f32", 32)
    >>> hex(constant_bits("dense<-2.0>", TileType(f32, (4,)))[0])
    '0xc0000000'
    """
    element = type.element
    assert isinstance(element, ScalarType), element
    text = str(literal).lower() if isinstance(literal, bool) else str(literal)
    if text.startswith("dense<"):
        text = text.removeprefix("dense<").removesuffix(">").strip()
        dump = _HEX_DUMP.fullmatch(text)
        if dump is not None:
            return _dumped(bytes.fromhex(dump[1]), element)
    return tuple(_bits(item, element) for item in _ITEM.findall(text))


def _dumped(data: bytes, element: ScalarType) -> tuple[int, ...]:
    """Little-endian elements; i1 is packed, lowest bit first, and a single byte stands for all."""
    if element.bits == 1:
        if len(data) == 1:
            return (data[0] & 1,)
        return tuple(chain.from_iterable(((byte >> position) & 1 for position in range(8)) for byte in data))
    width = element.bytes
    return tuple(int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width))


def _bits(item: str, element: ScalarType) -> int:
    if item.lower() in ("true", "false"):
        return int(item.lower() == "true")
    if element.is_integer or item.lower().lstrip("+-").startswith("0x"):
        return int(item, 0) & ((1 << element.bits) - 1)  # hexadecimal floats are printed as their patterns
    format = FORMATS[element.name]
    number = Fraction(item) if item[-1].isdigit() or item[-1] == "." else float(item)
    if number == 0 and item.startswith("-"):
        return 1 << (format.bits - 1)  # a fraction has no negative zero
    return float_bits(number, format)


def float_bits(value: Fraction | float, format: FloatFormat) -> int:
    """The pattern of the number nearest to ``value``, ties to even; too large ones become infinite."""
    top = (1 << (format.bits - format.mantissa - 1)) - 1
    sign = 1 << (format.bits - 1)
    if isinstance(value, float):
        if isnan(value):
            return (top << format.mantissa) | (1 << max(format.mantissa - 1, 0))
        if isinf(value):
            return (top << format.mantissa) | (sign if value == -inf else 0)
        value = Fraction(value)
    negative = sign if value < 0 else 0
    size = abs(value)
    if size == 0:
        return negative
    exponent = max(_log2(size), 1 - format.bias)
    scaled = size / Fraction(2) ** (exponent - format.mantissa)
    whole = round(scaled)
    if whole >= 1 << (format.mantissa + 1):
        whole, exponent = whole >> 1, exponent + 1
    stored = 0 if whole < 1 << format.mantissa else exponent + format.bias
    if stored >= top and format.specials == "ieee":
        return negative | (top << format.mantissa)
    return negative | (stored << format.mantissa) | (whole & ((1 << format.mantissa) - 1))


def _log2(size: Fraction) -> int:
    """The greatest e with 2**e <= size."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= size else exponent - 1
