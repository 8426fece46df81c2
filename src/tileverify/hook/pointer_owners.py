"""Which array an address belongs to, of launches that pass addresses as numbers.

An array is known once the program has asked it for its address (``Tensor.data_ptr``, ``__array_interface__`` has no
such moment, so NumPy's and CuPy's arrays are looked for among the living objects), or allocated it through the driver.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .described_launch import geometry, strides_in_elements

if TYPE_CHECKING:
    from torch import Tensor

MOST_ALIGNED = 256
"""Bytes to which every allocation of a CUDA device is aligned at least (CUDA C++ Programming Guide, "Device Memory
Accesses")."""

TOLD_ALIGNMENT = 16
"""Bytes: what kernels take for granted; to say more of an address would make the proof of a launch say less."""


@dataclass(frozen=True)
class Owner:
    """An array at ``address``: shape and strides in elements of ``item_bytes``; ``base``: the first byte of the
    allocation that it lies in.  ``array``: the object, where it lives."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_bytes: int
    base: int
    array: object = None

    @property
    def aligned(self) -> int:
        """Bytes, a power of two: what is certain on a device, where an allocation begins as aligned as it does."""
        return alignment(self.address - self.base if self.base else self.address)


@dataclass(frozen=True)
class _Noted:
    """``keepers``: the tensor, and the one it is a view of."""

    owner: Owner
    keepers: tuple[weakref.ref[object], ...]

    def lives(self) -> bool:
        return any(keeper() is not None for keeper in self.keepers)


class PointerOwners:
    """``on_host``: addresses are those of the host's memory, which stands for a GPU's."""

    def __init__(self, *, on_host: bool) -> None:
        self._on_host = on_host
        self._noted: dict[int, _Noted] = {}
        self._allocated: dict[int, tuple[int, object]] = {}

    def watch_torch(self, torch: ModuleType) -> None:
        """torch was imported: note which tensors are asked for their address."""
        data_ptr = torch.Tensor.data_ptr

        def noted_data_ptr(tensor: Tensor) -> int:
            address: int = data_ptr(tensor)
            if address:
                self._note(torch, tensor, address)
            return address

        torch.Tensor.data_ptr = noted_data_ptr

    def note_allocated(self, address: int, size: int, keeper: object = None) -> None:
        """The driver gave ``size`` bytes."""
        self._allocated[address] = (size, keeper)

    def note_freed(self, address: int) -> None:
        self._allocated.pop(address, None)

    def of(self, address: int) -> Owner | None:
        """The array that begins at ``address``, or what follows it of the allocation that it points into."""
        noted = self._noted.get(address)
        if noted is not None and noted.lives():
            return replace(noted.owner, array=noted.keepers[0]())
        found = self._allocation(address) or self._living(address)
        return found or (noted.owner if noted is not None else None)

    def _note(self, torch: ModuleType, tensor: Tensor, address: int) -> None:
        with torch._C.DisableTorchFunction():
            if tensor.layout is not torch.strided:
                return
            storage = tensor.untyped_storage()
            keepers = [weakref.ref(each) for each in (tensor, tensor._base) if each is not None]
            base = storage.data_ptr()
            owner = Owner(address, tuple(tensor.shape), tuple(tensor.stride()), tensor.element_size(), base)
        self._noted[address] = _Noted(owner, tuple(keepers))

    def _allocation(self, address: int) -> Owner | None:
        for start, (size, _) in self._allocated.items():
            if start <= address < start + size:
                return Owner(address, (start + size - address,), (1,), 1, start)
        return None

    def _living(self, address: int) -> Owner | None:
        """Among all objects, which takes a while: an array that begins there, else the memory of one around it."""
        around: Owner | None = None
        for owner, size in _arrays(on_host=self._on_host):
            if owner.address == address:
                return owner
            if around is None and owner.address <= address < owner.address + size:
                around = Owner(address, (owner.address + size - address,), (1,), 1, owner.base)
        return around


def alignment(offset: int) -> int:
    """Bytes, a power of two: what is told of an address this far from one that any alignment divides."""
    return min(offset & -offset, TOLD_ALIGNMENT) if offset else TOLD_ALIGNMENT


def _arrays(*, on_host: bool) -> Iterator[tuple[Owner, int]]:
    """NumPy's and torch's arrays (``on_host``), or those with a CUDA array interface, each with its bytes."""
    torch, numpy, cupy = (sys.modules.get(name) for name in ("torch", "numpy", "cupy"))
    kinds = [
        *([torch.Tensor] if torch is not None else []),
        *([numpy.ndarray] if on_host and numpy is not None else []),
        *([cupy.ndarray] if not on_host and cupy is not None else []),
    ]
    for each in _objects(tuple(kinds)):
        try:
            yield _owner(each, torch)
        except (RuntimeError, TypeError, ValueError):  # no memory of its own, or no whole elements
            continue


def _objects(kinds: tuple[type, ...]) -> Iterator[object]:
    """Objects of these types; NumPy's arrays are in no list of the collector, but referred to by what is."""
    seen: set[int] = set()
    for holder in gc.get_objects():
        for each in (holder, *(gc.get_referents(holder) if type(holder) in (dict, list, tuple, set) else ())):
            if type(each) in kinds and id(each) not in seen:
                seen.add(id(each))
                yield each


def _owner(array: Any, torch: ModuleType | None) -> tuple[Owner, int]:
    if torch is not None and isinstance(array, torch.Tensor):
        with torch._C.DisableTorchFunction():
            if array.device.type == "meta" or array.layout is not torch.strided:
                raise TypeError
            storage = array.untyped_storage()
            at = geometry(array)
            owner = Owner(at.address, at.shape, at.strides, array.element_size(), storage.data_ptr(), array)
            return owner, storage.nbytes() - (at.address - storage.data_ptr())
    if hasattr(array, "__cuda_array_interface__"):
        at = geometry(array)
        base = int(array.data.mem.ptr)
        return Owner(at.address, at.shape, at.strides, array.itemsize, base, array), int(array.nbytes)
    strides = strides_in_elements(array.strides, array.itemsize)
    base = array
    while getattr(base, "base", None) is not None and hasattr(base.base, "ctypes"):
        base = base.base
    return Owner(array.ctypes.data, array.shape, strides, array.itemsize, base.ctypes.data, array), int(array.nbytes)


def host_memory(size: int) -> tuple[int, object]:
    """``size`` bytes that stand for memory of a GPU, as aligned as that: the address, and what keeps it."""
    buffer = ctypes.create_string_buffer(size + MOST_ALIGNED)
    start = ctypes.addressof(buffer)
    return start + -start % MOST_ALIGNED, buffer
