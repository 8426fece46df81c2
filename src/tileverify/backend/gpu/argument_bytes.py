"""Parameters of an entry in memory, as the driver takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...contract.launch import EntryParameter, Role
from ...system.errors import UsageError
from ..guard.arguments import ArrayValue, LaunchRefused, Value

_SLOT: Final = 8
_INTEGERS: Final = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_FLOATS: Final = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


@dataclass(frozen=True, slots=True)
class Packed:
    """``pointers``: the address of an array with the address of every parameter; alive as long as this object."""

    pointers: int
    _alive: tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_void_p]]


def packed(
    parameters: Sequence[EntryParameter],
    types: Sequence[str],
    values: Mapping[str, Value],
    lists: Mapping[str, tuple[int, int]],
) -> Packed:
    """Every parameter in its own 8 bytes.

    ``types``: ``tile<ptr<f32>>``, ``tile<i32>`` and so on, in ABI order.  ``lists``: the address of a list's
    descriptors, and its length.  Raises `LaunchRefused` (TV502) for a number that its parameter cannot hold: what was
    proved speaks of the number, not of what would be left of it.
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
    """A row for each array of a list: address, sizes and strides as 64-bit words (cuda.tile's calling convention).

    Raises `LaunchRefused` for what does not fit its word.
    """
    rows = (
        [
            _address("an array's address", array.address),
            *(_index("a size or stride in a list", n, "i64") for n in words),
        ]
        for array in arrays
        for words in [(*array.shape, *array.strides)]
    )
    return b"".join(word for row in rows for word in row) or bytes(_SLOT)


def _element(type_: str) -> str:
    """Parameters are tiles without dimensions."""
    return type_.removeprefix("tile<").removesuffix(">") if type_.startswith("tile<") else type_


def _bytes(
    parameter: EntryParameter, type_: str, values: Mapping[str, Value], lists: Mapping[str, tuple[int, int]]
) -> bytes:
    name = parameter.argument
    if parameter.role is Role.LIST_POINTER:
        return _address(f"the address of `{name}`", lists[name][0])
    if parameter.role is Role.LIST_LENGTH:
        return _index(f"the length of `{name}`", lists[name][1], type_)
    value = values[name]
    if parameter.role is Role.SCALAR:
        assert not isinstance(value, ArrayValue)
        return _scalar(name, value, type_)
    assert isinstance(value, ArrayValue)
    if parameter.role is Role.POINTER:
        return _address(f"the address of `{name}`", value.address)
    assert parameter.dim is not None
    if parameter.role is Role.PARTITION:  # nobody reads it; as the launcher passes it
        own = parameter.static
        number = own if own is not None else value.strides[parameter.dim - len(value.strides)]
        return _index(f"number {parameter.dim} of the partition of `{name}`", number, type_)
    shape = parameter.role is Role.SHAPE
    what = f"{'size' if shape else 'stride'} {parameter.dim} of `{name}`"
    return _index(what, (value.shape if shape else value.strides)[parameter.dim], type_)


def _address(what: str, value: int) -> bytes:
    return _number(what, value, 0, (1 << 8 * _SLOT) - 1, "i64")


def _index(what: str, value: int, type_: str) -> bytes:
    """A size, stride or length: not negative, and inside the signed type."""
    return _number(what, value, 0, (1 << (8 * _INTEGERS[type_] - 1)) - 1, type_)


def _number(what: str, value: float, low: int, high: int, type_: str) -> bytes:
    if not isinstance(value, int) or not low <= value <= high:
        raise _refused(what, value, low, high, type_)
    return (value & ((1 << 8 * _INTEGERS[type_]) - 1)).to_bytes(_INTEGERS[type_], "little")


def _refused(what: str, value: float, low: int, high: int, type_: str) -> LaunchRefused:
    given = repr(value) if not isinstance(value, int) or value.bit_length() <= 256 else "too large"
    return LaunchRefused(f"nothing was launched: {what} is {given}, not between {low} and {high}, as {type_} (TV502)")


def _scalar(name: str, value: float, type_: str) -> bytes:
    if type_ in _INTEGERS:
        # The type has no sign, so both readings of its bits are whole.
        bits = 1 if type_ == "i1" else 8 * _INTEGERS[type_]
        return _number(f"`{name}`", value, 0 if bits == 1 else -(1 << (bits - 1)), (1 << bits) - 1, type_)
    try:
        value = float(value)
    except OverflowError:
        raise LaunchRefused(f"nothing was launched: `{name}` is too large for {type_} (TV502)") from None
    if type_ == "bf16":
        return _bfloat16(value)
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
