"""Enum texts of Tile IR attributes, in encoding order (value 0 first).

Source: NVIDIA/cuda-tile dialect and the encoder of the cuda-tile wheel; the texts are those of Tile IR assembly.
"""

from __future__ import annotations

import enum
from typing import Final


class MemoryOrdering(enum.StrEnum):
    """What an access orders besides itself; ``weak``: it takes no part in how blocks synchronise."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MemoryScope(enum.StrEnum):
    """Among whom an access that is not weak is ordered."""

    BLOCK = "tl_blk"
    DEVICE = "device"
    SYSTEM = "sys"


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
    "memory_ordering": tuple(MemoryOrdering),
    "memory_scope": tuple(MemoryScope),
    "atomic_mode": ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg"),
    "multimem_reduction": ("add", "min", "max", "and", "or", "xor", "umin", "umax"),
}

PADDING: Final = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")
POINTER_ATTRIBUTE: Final = ("none", "unicast", "multicast")
