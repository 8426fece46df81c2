"""Element types of launch specs and their cuda.tile counterparts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

INDEX_MAX: Final = {32: 2**31 - 1, 64: 2**63 - 1}
"""The largest size or stride of an array that passes them with so many bits; the least is 0."""

INT_BITS: Final = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "bool": 1}
"""The widths of integer types; a boolean is an integer of one bit."""

LENGTH_BITS: Final = 32
"""The width of a list's length."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """``bits`` in memory; ``cutile`` is the attribute of ``cuda.tile``; ``kind`` is ``bool``, ``i``, ``u`` or ``f``."""

    name: str
    bits: int
    kind: str
    cutile: str

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def tile_ir(self) -> frozenset[str]:
        """How Tile IR may spell the type; it knows no signs, and CUDA Tile C++ stores a bool as i8."""
        if self.kind == "bool":
            return frozenset({"i1", "i8"})
        if self.kind in "iu":
            return frozenset({f"i{self.bits}"})
        return frozenset({_TILE_IR_FLOATS.get(self.name, self.name)})

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest value of an integer type; a bool is 0 or 1."""
        if self.kind == "bool":
            return 0, 1
        if self.kind == "u":
            return 0, (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1

    def holds(self, value: int) -> bool:
        """Whether an integer type (or bool, for 0 and 1) represents ``value``."""
        low, high = self.limits
        return self.kind != "f" and low <= value <= high


_TILE_IR_FLOATS = {"f8e4m3": "f8E4M3FN", "f8e5m2": "f8E5M2", "f8e8m0": "f8E8M0FNU"}

ELEMENT_TYPES = {
    element.name: element
    for element in (
        ElementType("bool", 8, "bool", "bool_"),
        ElementType("i8", 8, "i", "int8"),
        ElementType("i16", 16, "i", "int16"),
        ElementType("i32", 32, "i", "int32"),
        ElementType("i64", 64, "i", "int64"),
        ElementType("u8", 8, "u", "uint8"),
        ElementType("u16", 16, "u", "uint16"),
        ElementType("u32", 32, "u", "uint32"),
        ElementType("u64", 64, "u", "uint64"),
        ElementType("f16", 16, "f", "float16"),
        ElementType("bf16", 16, "f", "bfloat16"),
        ElementType("f32", 32, "f", "float32"),
        ElementType("tf32", 32, "f", "tfloat32"),
        ElementType("f64", 64, "f", "float64"),
        ElementType("f8e4m3", 8, "f", "float8_e4m3fn"),
        ElementType("f8e5m2", 8, "f", "float8_e5m2"),
        ElementType("f8e8m0", 8, "f", "float8_e8m0fnu"),
    )
}

ALIASES = {
    "float16": "f16", "half": "f16", "fp16": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32", "fp32": "f32",
    "float64": "f64", "double": "f64", "fp64": "f64", "int8": "i8", "int16": "i16", "int32": "i32", "int": "i32",
    "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "i1": "bool", "bool_": "bool",
    "float8_e4m3fn": "f8e4m3", "f8e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "tfloat32": "tf32",
    "float8_e8m0fnu": "f8e8m0", "f8e8m0fnu": "f8e8m0",
}  # fmt: skip
"""Other people's names, for the hint of an error; a spec must use the names above."""
