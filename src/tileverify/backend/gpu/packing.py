"""Parameters of an entry in memory, as the driver takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...errors import UsageError
from ...frontend.sources.launch import EntryParameter, Role
from ..launch.arguments import ArrayValue, Value

_SLOT: Final = 8
_INTEGERS: Final = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_FLOATS: Final = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


@dataclass(frozen=True, slots=True)
class Packed:
    """``pointers``: the address of an array with the address of every parameter; alive as long as this object."""

    pointers: int
    _alive: tuple[Any, ...]


def packed(
    parameters: Sequence[EntryParameter],
    types: Sequence[str],
    values: Mapping[str, Value],
    lists: Mapping[str, tuple[int, int]],
) -> Packed:
    """Every parameter in its own 8 bytes.

    ``types``: ``tile<ptr<f32>>``, ``tile<i32>`` and so on, in ABI order.  ``lists``: the address of a list's
    descriptors, and its length.
    """
    slots = [
        _bytes(parameter, _element(type_), values, lists).ljust(_SLOT, b"\0")
        for parameter, type_ in zip(parameters, types, strict=True)
    ]
    memory = ctypes.create_string_buffer(b"".join(slots) or bytes(_SLOT))
    start = ctypes.addressof(memory)
    addresses = (ctypes.c_void_p * max(1, len(parameters)))(*(start + _SLOT * n for n in range(len(parameters))))
    return Packed(ctypes.addressof(addresses), (memory, addresses))


def descriptors(arrays: Sequence[ArrayValue]) -> bytes:
    """A row for each array of a list: address, sizes and strides as 64-bit words (cuda.tile's calling convention)."""
    words = [word for array in arrays for word in (array.address, *array.shape, *array.strides)]
    return b"".join(_integer(word, "i64") for word in words) or bytes(_SLOT)


def _element(type_: str) -> str:
    """Parameters are tiles without dimensions."""
    return type_.removeprefix("tile<").removesuffix(">") if type_.startswith("tile<") else type_


def _bytes(
    parameter: EntryParameter, type_: str, values: Mapping[str, Value], lists: Mapping[str, tuple[int, int]]
) -> bytes:
    if parameter.role in (Role.LIST_POINTER, Role.LIST_LENGTH):
        return _integer(lists[parameter.argument][parameter.role is Role.LIST_LENGTH], type_)
    value = values[parameter.argument]
    if parameter.role is Role.SCALAR:
        assert not isinstance(value, ArrayValue)
        return _scalar(value, type_)
    assert isinstance(value, ArrayValue)
    if parameter.role is Role.POINTER:
        return _integer(value.address, type_)
    assert parameter.dim is not None
    return _integer((value.shape if parameter.role is Role.SHAPE else value.strides)[parameter.dim], type_)


def _integer(value: int, type_: str) -> bytes:
    width = _SLOT if type_.startswith("ptr<") else _INTEGERS[type_]
    return (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def _scalar(value: int | float, type_: str) -> bytes:
    if type_ in _INTEGERS:
        return _integer(int(value), type_)
    if type_ == "bf16":
        return _bfloat16(float(value))
    if type_ not in _FLOATS:
        raise UsageError(f"a scalar of type {type_} cannot be passed to a kernel")
    with np.errstate(over="ignore"):
        return np.asarray(value, _FLOATS[type_]).tobytes()


def _bfloat16(value: float) -> bytes:
    """The upper half of binary32, rounded to nearest even."""
    with np.errstate(over="ignore"):
        bits = int(np.asarray(value, "<f4").view("<u4"))
    if value != value:
        return ((bits >> 16) | 0x40).to_bytes(2, "little")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF).to_bytes(2, "little")
