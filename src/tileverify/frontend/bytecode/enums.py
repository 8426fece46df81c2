"""Enum texts of Tile IR attributes, in encoding order (value 0 first).

Source: NVIDIA/cuda-tile dialect and the encoder of the cuda-tile wheel; the texts are those of Tile IR assembly.
"""

from __future__ import annotations

from typing import Final

ENUMS: Final[dict[str, tuple[str, ...]]] = {
    "rounding": (
        "nearest_even",
        "zero",
        "negative_inf",
        "positive_inf",
        "approx",
        "full",
        "nearest_int_to_zero",
        "nearest_away",
    ),
    "overflow": ("none", "nsw", "nuw", "nw"),
    "signedness": ("unsigned", "signed"),
    "predicate": (
        "equal",
        "not_equal",
        "less_than",
        "less_than_or_equal",
        "greater_than",
        "greater_than_or_equal",
    ),
    "float_ordering": ("unordered", "ordered"),
    "memory_ordering": ("weak", "relaxed", "acquire", "release", "acq_rel"),
    "memory_scope": ("tl_blk", "device", "sys"),
    "atomic_mode": ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"),
    "multimem_reduction": ("add", "min", "max", "and", "or", "xor", "umin", "umax"),
}

PADDING: Final = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
POINTER_ATTRIBUTE: Final = ("none", "unicast", "multicast")
