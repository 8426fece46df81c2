"""PTX types as NumPy has them: registers hold unsigned integers, and an instruction says how it reads them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

UNSIGNED: Final[dict[int, np.dtype[Any]]] = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8")}
DTYPES: Final[dict[str, np.dtype[Any]]] = {
    **{f"{kind}{8 * width}": np.dtype(f"u{width}") for kind in "bu" for width in (1, 2, 4, 8)},
    **{f"s{8 * width}": np.dtype(f"i{width}") for width in (1, 2, 4, 8)},
    "f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "pred": np.dtype("?"),
}  # fmt: skip
"""``bf16`` and packed types have no type of NumPy; their rules work on the bits."""


def width(type_: str) -> int:
    """Bytes of a value: of ``b32`` 4, of ``f16x2`` 4."""
    if type_ in DTYPES:
        return DTYPES[type_].itemsize
    return {"bf16": 2, "f16x2": 4, "bf16x2": 4, "b128": 16}[type_]


def storage(type_: str) -> np.dtype[Any]:
    """What a register of this type is kept in."""
    return np.dtype(DTYPES["pred"] if type_ == "pred" else UNSIGNED[width(type_)])


def from_bf16(bits: Array) -> Array:
    return (bits.astype("u4") << np.uint32(16)).view("f4")


def to_bf16(values: Array) -> Array:
    """The bits of float32 values, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, "f4").view("u4")
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype("u2")
