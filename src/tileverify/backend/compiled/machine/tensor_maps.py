"""Tensor maps: what 128 bytes say about a box of an array, and where its elements lie.

The layout is not published.  It follows from the host code that tileiras makes (`host`), by what each argument of a
launch changes, in 42 kernels of ranks 1 to 5; its numbers for types and swizzles are those of PTX's
``tensormap.replace``.  In words of 64 bits, the first dimension being the contiguous one:

    0   address, bits 0 to 56
    1   0 to 3: 2    4 to 6: rank - 1    7 to 10: element type    13, 14: swizzle    18: 1    21: whether the array has
        128 KiB or more (a hint)    32 to 63: stride of dimension 1 / 16
    2   strides of dimensions 2 and 3 / 16, 32 bits each
    3   0 to 31: stride of dimension 4 / 16
    4   sizes of dimensions 0 and 1, less 1, 32 bits each        5   the same of dimensions 2 and 3
    6   0 to 31: size of dimension 4, less 1    56 to 63: box of dimension 0, less 1
    7   0 to 31: box of dimensions 1 to 4, less 1, 8 bits each

All other bits are zero in what tileiras makes: no interleaving, steps of one element, zeros for what lies outside.
Bits that are not known are refused.  A box that is read wrongly shows itself, as the bytes that its barrier awaits are
in the PTX.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from .types import Array

_ELEMENTS: Final = (
    ("u8", 1), ("u16", 2), ("u32", 4), ("s32", 4), ("u64", 8), ("s64", 8), ("f16", 2), ("f32", 4), ("f32.ftz", 4),
    ("f64", 8), ("bf16", 2), ("tf32", 4), ("tf32.ftz", 4),
)  # fmt: skip
"""By the number of the type, with its bytes."""
_SWIZZLES: Final = {0: 0, 1: 32, 2: 64, 3: 128}
_KNOWN: Final = (
    (1 << 57) - 1, 0xFFFFFFFF_002467FF, (1 << 64) - 1, (1 << 32) - 1, (1 << 64) - 1, (1 << 64) - 1,
    0xFF << 56 | (1 << 32) - 1, (1 << 32) - 1,
)  # fmt: skip
_ALWAYS: Final = 0x40002
CHUNK: Final = 16
"""Bytes that a swizzle leaves together."""


class UnknownTensorMap(Exception):
    """128 bytes that say something else than what is known."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """``strides`` in bytes, the first one of an element; ``swizzle``: the bytes of a row of its pattern, or 0.
    ``element``: its bytes, ``kind``: its type."""

    base: int
    element: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    kind: str

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def box_bytes(self) -> int:
        return int(np.prod(self.box)) * self.element

    def places(self, corner: tuple[int, ...]) -> tuple[int, Array, Array, Array]:
        """Of the box at ``corner``, in parts of so many bytes: the offset of each in shared memory as it were without
        a swizzle, its address in global memory, and whether it lies in the array."""
        whole = [each * self.element % CHUNK == 0 for each in (corner[0], self.sizes[0], self.box[0])]
        part = CHUNK if all(whole) else self.element
        each = part // self.element
        first = corner[0] + np.arange(0, self.box[0], each)
        inside = (first >= 0) & (first < self.sizes[0])
        address = self.base + first * self.element
        for axis in range(1, self.rank):
            index = (corner[axis] + np.arange(self.box[axis]))[:, None]
            inside = (inside & (index >= 0) & (index < self.sizes[axis])).ravel()
            address = (address + index * self.strides[axis]).ravel()
        return part, np.arange(len(address)) * part, address.astype("i8").view("u8"), inside

    def swizzled(self, addresses: Array) -> Array:
        """Where what would lie at these addresses of shared memory lies: chunks change places within a row, by the
        number of the row of 128 bytes."""
        if not self.swizzle:
            return addresses
        mask = addresses.dtype.type(self.swizzle // CHUNK - 1)
        row, shift = addresses.dtype.type(7), addresses.dtype.type(4)
        return np.asarray(addresses ^ (((addresses >> row) & mask) << shift))


@lru_cache(maxsize=256)
def decoded(data: bytes) -> TensorMap:
    """Raises `UnknownTensorMap`."""
    words = [int(each) for each in np.frombuffer(data, "<u8")]
    first = words[1]
    if len(words) != 16 or any(word & ~known for word, known in zip(words, _KNOWN, strict=False)) or any(words[8:]):
        raise UnknownTensorMap("a tensor map has bits that are not known")
    number = first >> 7 & 15
    rank = (first >> 4 & 7) + 1
    if first & 0x4000F != _ALWAYS or number >= len(_ELEMENTS) or rank > 5:
        raise UnknownTensorMap("a tensor map has a form that is not known")
    kind, element = _ELEMENTS[number]
    halves = [half for word in words[1:8] for half in (word & 0xFFFF_FFFF, word >> 32)]
    strides = (element, *(16 * halves[place] for place in (1, 2, 3, 4)))
    sizes = tuple(halves[place] + 1 for place in (6, 7, 8, 9, 10))
    box = ((words[6] >> 56) + 1, *((words[7] >> 8 * place & 0xFF) + 1 for place in range(4)))
    swizzle = _SWIZZLES[first >> 13 & 3]
    if (swizzle and box[0] * element != swizzle) or box[0] * element % CHUNK:
        raise UnknownTensorMap("a tensor map's box has rows of other bytes than its swizzle")
    return TensorMap(words[0], element, sizes[:rank], strides[:rank], box[:rank], swizzle, kind)
