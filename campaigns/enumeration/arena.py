"""The arrays of a launch, copied to places of their own.

Storages lie `GAP` bytes apart, so that what leaves one of them does not land in another by chance.
"""

from __future__ import annotations

import dataclasses
import mmap
from collections.abc import Iterator
from typing import Any, Final

import torch

from .memory import Area

GAP: Final = 1 << 28
NO_RESERVE: Final = 0x4000  # MAP_NORESERVE of Linux, which Python names from 3.13 on


class NotEnumerated(Exception):
    """Why a launch cannot be enumerated."""


@dataclasses.dataclass
class Placed:
    """What the interpreter asks of an array: where it begins, and the type of its elements."""

    address: int
    dtype: Any

    def data_ptr(self) -> int:
        return self.address


def is_array(value: object) -> bool:
    return hasattr(value, "data_ptr")


def _storage(array: Any) -> torch.UntypedStorage:
    base = getattr(array, "base", array)
    storage = base.untyped_storage() if hasattr(base, "untyped_storage") else None
    if not isinstance(storage, torch.UntypedStorage):
        raise NotEnumerated(f"an argument of type {type(array).__name__} has no storage of torch")
    return storage


def arrays_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in an argument: itself, the base of a descriptor, or those in a tuple."""
    if is_array(value):
        yield name, value
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays_of(name, part)
    elif hasattr(value, "block_shape") and hasattr(value, "base"):
        yield name, value.base


class Arena:
    """Copies of storages, apart from each other; an array moves with its storage."""

    def __init__(self, arguments: dict[str, Any], most_bytes: int) -> None:
        names: dict[int, list[str]] = {}
        self._originals: dict[int, torch.UntypedStorage] = {}
        for argument, value in arguments.items():
            for name, array in arrays_of(argument, value):
                storage = _storage(array)
                if storage.nbytes():
                    self._originals[storage.data_ptr()] = storage
                    names.setdefault(storage.data_ptr(), []).append(name)
        sizes = {start: storage.nbytes() for start, storage in self._originals.items()}
        if sum(sizes.values()) > most_bytes:
            raise NotEnumerated(f"arrays of {sum(sizes.values())} bytes")
        places: dict[int, int] = {}
        end = GAP
        for start, size in sizes.items():
            places[start] = end + start % 4096
            end += -(-size // 4096) * 4096 + GAP
        memory = mmap.mmap(-1, end, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
        self._copies = {
            start: torch.frombuffer(memory, dtype=torch.uint8, count=sizes[start], offset=places[start])
            for start in sizes
        }
        for start, copy in self._copies.items():
            copy.copy_(_bytes(self._originals[start]))
        self.areas = [
            Area(copy.data_ptr(), sizes[start], tuple(dict.fromkeys(names[start])))
            for start, copy in self._copies.items()
        ]

    def moved(self, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = map(self.moved, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if is_array(value):
            storage = _storage(value)
            if not storage.nbytes():
                return Placed(0, value.dtype)
            start = storage.data_ptr()
            return Placed(self._copies[start].data_ptr() + value.data_ptr() - start, value.dtype)
        if hasattr(value, "block_shape") and hasattr(value, "base"):
            return dataclasses.replace(value, base=self.moved(value.base))
        return value

    def write_back(self) -> None:
        for start, copy in self._copies.items():
            _bytes(self._originals[start]).copy_(copy)


def _bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)
