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

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, TypeVar

import numpy as np

from .storage import Array

_ELEMENTS: Final = (
    ("u8", 1), ("u16", 2), ("u32", 4), ("s32", 4), ("u64", 8), ("s64", 8), ("f16", 2), ("f32", 4), ("f32.ftz", 4),
    ("f64", 8), ("bf16", 2), ("tf32", 4), ("tf32.ftz", 4),
)  # fmt: skip
"""By the number of the type, with its bytes."""
_SWIZZLES: Final = {0: 0, 1: 32, 2: 64, 3: 128}
CHUNK: Final = 16
"""Bytes that a swizzle leaves together."""


class UnknownTensorMap(Exception):
    """128 bytes that say something else than what is known."""


@dataclass(frozen=True, slots=True)
class MapField:
    """Bits of a word of a map."""

    word: int
    low: int
    width: int


_BASE: Final = MapField(0, 0, 57)
_RANK, _TYPE, _SWIZZLE = MapField(1, 4, 3), MapField(1, 7, 4), MapField(1, 13, 2)
_STRIDES: Final = (MapField(1, 32, 32), MapField(2, 0, 32), MapField(2, 32, 32), MapField(3, 0, 32))
_SIZES: Final = (
    MapField(4, 0, 32), MapField(4, 32, 32), MapField(5, 0, 32), MapField(5, 32, 32), MapField(6, 0, 32),
)  # fmt: skip
_BOX: Final = (MapField(6, 56, 8), *(MapField(7, 8 * axis, 8) for axis in range(4)))
_HINT: Final = MapField(1, 21, 1)
_FIXED: Final = {MapField(1, 0, 4): 2, MapField(1, 18, 1): 1}
_WORDS: Final = 16
MAP_BYTES: Final = 8 * _WORDS


def _left_over() -> tuple[MapField, ...]:
    """The bits that no field has."""
    used = {_BASE, _RANK, _TYPE, _SWIZZLE, *_STRIDES, *_SIZES, *_BOX, _HINT, *_FIXED}
    found = []
    for word in range(_WORDS):
        at = 0
        for each in (*sorted((each for each in used if each.word == word), key=lambda each: each.low),
                     MapField(word, 64, 0)):  # fmt: skip
            if each.low > at:
                found.append(MapField(word, at, each.low - at))
            at = each.low + each.width
    return tuple(found)


_ZERO: Final = _left_over()
Number = TypeVar("Number")


@dataclass(frozen=True, slots=True)
class TensorMap(Generic[Number]):
    """``strides`` in bytes, the first one of an element; ``swizzle``: the bytes of a row of its pattern, or 0.
    ``element``: its bytes, ``kind``: its type."""

    base: Number
    element: int
    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]
    box: tuple[int, ...]
    swizzle: int
    kind: str

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def box_bytes(self) -> int:
        return int(np.prod(self.box)) * self.element

    def swizzled(self, addresses: Array) -> Array:
        """Where what would lie at these addresses of shared memory lies: chunks change places within a row, by the
        number of the row of 128 bytes."""
        if not self.swizzle:
            return addresses
        mask = addresses.dtype.type(self.swizzle // CHUNK - 1)
        row, shift = addresses.dtype.type(7), addresses.dtype.type(4)
        return np.asarray(addresses ^ (((addresses >> row) & mask) << shift))


def box_places(map_: TensorMap[int], corner: tuple[int, ...], *, loads: bool) -> tuple[int, Array, Array, Array]:
    """Of the box at ``corner``, in parts of so many bytes: the offset of each in shared memory as it were without a
    swizzle, its address in global memory, and whether it is copied: it lies in the array, or is stored with an end of
    a row in one chunk, as an H200 does (arrays of 1 to 17 elements of 2 and 4 bytes, one dimension)."""
    whole = [each * map_.element % CHUNK == 0 for each in (corner[0], map_.sizes[0], map_.box[0])]
    part = CHUNK if all(whole) else map_.element
    each = part // map_.element
    first = corner[0] + np.arange(0, map_.box[0], each)
    end = map_.sizes[0] if loads else -(-map_.sizes[0] * map_.element // CHUNK) * CHUNK // map_.element
    inside = (first >= 0) & (first < end)
    address = map_.base + first * map_.element
    for axis in range(1, map_.rank):
        index = (corner[axis] + np.arange(map_.box[axis]))[:, None]
        inside = (inside & (index >= 0) & (index < map_.sizes[axis])).ravel()
        address = (address + index * map_.strides[axis]).ravel()
    return part, np.arange(len(address)) * part, address.astype("i8").view("u8"), inside


@lru_cache(maxsize=256)
def decoded(data: bytes) -> TensorMap[int]:
    """Raises `UnknownTensorMap`."""
    words = [int(each) for each in np.frombuffer(data, "<u8")]
    if len(words) != _WORDS:
        raise UnknownTensorMap("a tensor map has another size than 128 bytes")

    def number(field: MapField) -> int:
        return words[field.word] >> field.low & ((1 << field.width) - 1)

    return decoded_fields(number, number, lambda each: each, lambda a, factor, more: a * factor + more)


def decoded_fields(
    number: Callable[[MapField], int], read: Callable[[MapField], Number], constant: Callable[[int], Number],
    linear: Callable[[Number, int, int], Number],
) -> TensorMap[Number]:  # fmt: skip
    """``number`` reads fields that decide about the form, ``read`` the others; ``linear``: a * factor + more.

    :raises UnknownTensorMap: bits are set that nobody knows, or the form is not known.
    """
    if any(number(field) for field in _ZERO):
        raise UnknownTensorMap("a tensor map has bits that are not known")
    type_, rank = number(_TYPE), number(_RANK) + 1
    if any(number(field) != value for field, value in _FIXED.items()) or type_ >= len(_ELEMENTS) or rank > len(_SIZES):
        raise UnknownTensorMap("a tensor map has a form that is not known")
    kind, element = _ELEMENTS[type_]
    strides = (constant(element), *(linear(read(field), CHUNK, 0) for field in _STRIDES))
    sizes = tuple(linear(read(field), 1, 1) for field in _SIZES[:rank])
    box = tuple(number(field) + 1 for field in _BOX[:rank])
    swizzle = _SWIZZLES[number(_SWIZZLE)]
    if (swizzle and box[0] * element != swizzle) or box[0] * element % CHUNK:
        raise UnknownTensorMap("a tensor map's box has rows of other bytes than its swizzle")
    return TensorMap(read(_BASE), element, sizes, strides[:rank], box, swizzle, kind)
