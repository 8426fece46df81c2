"""What the index arrays of a launch hold, read where a proof rests on it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..backend.gpu import driver
from ..backend.guard import ArrayValue
from ..backend.guard.arguments import Value
from ..contract.launch import DataFact, Expression
from .launch_types import Stream

_TYPES = {f"{kind}{bits}": np.dtype(f"{kind}{bits // 8}") for kind in "iu" for bits in (8, 16, 32, 64)}

Read = Callable[[int, int], NDArray[np.uint8]]
"""The bytes at an address, so many of them."""


def host_bytes(address: int, size: int) -> NDArray[np.uint8]:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)).copy()


Number = Callable[[Expression], int]
Seen = Callable[[ArrayValue, DataFact, Sequence[DataFact], Number], bool]


def nobody_looks(array: ArrayValue, fact: DataFact, facts: Sequence[DataFact], number: Number) -> bool:
    """Where arrays lie on the host, and where no stream says when."""
    return False


class Contents(Mapping[str, NDArray[np.generic]]):
    """The integer arrays among named values, in row-major order; each is read once, when it is asked for."""

    def __init__(self, values: Mapping[str, Value], read: Read, seen: Seen = nobody_looks) -> None:
        self._arrays = {
            name: value
            for name, value in values.items()
            if isinstance(value, ArrayValue) and value.dtype in _TYPES and 0 not in value.shape
        }
        self._read = read
        self._seen = seen
        self._known: dict[str, NDArray[np.generic]] = {}

    def anew(self) -> Contents:
        """The same arrays, of which nothing has been read yet."""
        return Contents(self._arrays, self._read, self._seen)

    def seen_to_keep(self, fact: DataFact, facts: Sequence[DataFact], number: Number) -> bool:
        """Whether the fact was seen to hold where the array lies, without fetching it."""
        array = self._arrays.get(fact.array)
        return array is not None and fact.array not in self._known and self._seen(array, fact, facts, number)

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        if name not in self._known:
            self._known[name] = self._elements(self._arrays[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def _elements(self, array: ArrayValue) -> NDArray[np.generic]:
        dtype = _TYPES[array.dtype]
        last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
        flat = self._read(array.address, (last + 1) * dtype.itemsize).view(dtype)
        strides = tuple(stride * dtype.itemsize for stride in array.strides)
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat, array.shape, strides, writeable=False))


def contents_of(values: Mapping[str, Value], on_host: bool, stream: Stream) -> Contents:
    """Those of a launch on ``stream``: on the host read as they are, on a GPU looked at there or fetched."""
    if on_host:
        return Contents(values, host_bytes)
    if stream is None:
        return Contents(values, driver.device_bytes)
    from .device_facts import device_facts

    return Contents(values, driver.device_bytes, partial(device_facts().keeps, stream))
