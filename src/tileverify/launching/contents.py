"""What the index arrays of a launch hold, read where a proof rests on it, or checked on the GPU that holds them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ..backend.gpu import driver
from ..backend.guard import ArrayValue
from ..backend.guard.arguments import Value
from ..backend.ledger import InFlightConflict
from ..contract.facts.counting import Count, Counted, counts
from ..contract.facts.statements import NumberedFact
from ..contract.facts.statements import Value as FactValue
from ..contract.launch import DataFact, Expression
from ..system.errors import TileVerifyError
from .launch_cache import Planned
from .launch_log import Use
from .launch_types import Arguments, DeviceArray, GivenGrid, Interface, Key, Stream

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

    return Contents(values, driver.device_bytes, partial(device_facts().keeps, stream))


# --------------------------------------------------------------------------------------------------------- device facts
# Facts on index arrays checked on the GPU that holds them, by the verified kernels of `fact_kernels`.
#
# A kernel counts the elements that keep a fact, on the stream of the launch that needs it, so that what it sees is what
# that launch will see.  Only a count of all elements says that the fact holds; for anything else the host fetches the
# array, looks itself, and words the refusal.  Small arrays are fetched at once.


FETCHED: Final = 1 << 16
"""Elements of arrays that are rather fetched."""

MOST_MARKS: Final = 1 << 24
"""Values that may each be looked for: one mark of 4 bytes each, in memory that is kept."""

TILE: Final = 1024
_PLANS: Final = 256
_INT32: Final = range(-(1 << 31), 1 << 31)


class Scratch(Protocol):
    """Zeroed memory of a device, used by one check at a time."""

    def zeros(self, stream: Stream, near: int, what: str, count: int) -> DeviceArray:
        """``count`` zeros of 4 bytes, on ``stream``, as an array that kernels take, where the address ``near`` lies."""

    def number(self, stream: Stream, near: int, what: str) -> int:
        """The first element, once ``stream`` has come so far."""


@dataclass(frozen=True, slots=True)
class IndexArray:
    """Memory of a device that is somebody else's, as an array that kernels take."""

    address: int
    count: int

    @property
    def __cuda_array_interface__(self) -> Interface:
        return {"shape": (self.count,), "typestr": "<i4", "data": (self.address, False), "version": 3}


@dataclass(frozen=True, slots=True)
class _Asked:
    """So many elements at an address, on the stream of the launch that asks."""

    stream: Stream
    address: int
    count: int


@dataclass
class DeviceFacts:
    """``plan(stream, grid, kernel, arguments)`` verifies, ``make(stream, planned, arguments)`` launches.

    ``lock``: that of the launches, where they are made under one: who looks may hold it (`InFlight.alone`).
    """

    plan: Callable[[Stream, GivenGrid, object, Arguments], Planned]
    make: Callable[[Stream, Planned, Arguments], None]
    scratch: Scratch
    array: Callable[[int, int], DeviceArray] = IndexArray
    _plans: dict[Key, Planned] = field(default_factory=dict)
    lock: AbstractContextManager[object] = field(default_factory=threading.Lock)

    def keeps(
        self, stream: Stream, array: ArrayValue, fact: DataFact, facts: Sequence[DataFact], number: FactValue
    ) -> bool:
        """Whether ``array`` was seen to keep ``fact``, one of ``facts`` that are asked of the launch.

        Not seen is all that ``False`` means.  Raises `InFlightConflict` where the launch that asks would.
        """
        plain = len(array.shape) == 1 and array.strides == (1,) and array.dtype == "i32"
        if not plain or not FETCHED < array.shape[0] < _INT32.stop - 2 * TILE or fact.others or fact.unless:
            return False
        with self.lock:
            try:
                return self._keeps(_Asked(stream, array.address, array.shape[0]), fact, facts, number)
            except InFlightConflict:  # which the launch itself would meet, or of launches before
                raise
            except (TileVerifyError, ImportError):  # no compiler here, no memory there: the host looks
                return False

    def _keeps(self, asked: _Asked, fact: DataFact, facts: Sequence[DataFact], number: FactValue) -> bool:
        numbered, *others = (NumberedFact.evaluated(each, number) for each in (fact, *facts))
        wanted = counts(numbered, others, asked.count)
        return bool(wanted) and all(self._counted(asked, count) for count in wanted)

    def _counted(self, asked: _Asked, count: Count) -> bool:
        from .fact_kernels import nondecreasing

        match count:
            case Count(Counted.IN_RANGE, low, high):
                return self._in_range(asked, low, high)
            case Count(Counted.NOT_FALLING):
                return self._all_keep(asked, nondecreasing)
            case Count(Counted.FIRST_IN_RANGE, low, high):
                return self._different(asked, low, high)
        return False

    def _in_range(self, asked: _Asked, low: int, high: int) -> bool:
        from .fact_kernels import in_range

        # A bound that is no number of the type is left to the host.
        return low in _INT32 and high in _INT32 and self._all_keep(asked, in_range, low, high)

    def _different(self, asked: _Asked, low: int, high: int) -> bool:
        from .fact_kernels import first_of_its_kind

        if not asked.count <= high - low <= MOST_MARKS or not self._in_range(asked, low, high):
            return False
        marks = self.scratch.zeros(asked.stream, asked.address, "marks", high - low)
        return self._all_keep(asked, first_of_its_kind, low, marks)

    def _all_keep(self, asked: _Asked, kernel: object, *rest: int | DeviceArray) -> bool:
        """Whether the kernel counts every element."""
        kept = self.scratch.zeros(asked.stream, asked.address, "kept", 1)
        arguments = (self.array(asked.address, asked.count), *rest, kept, TILE)
        grid = (-(-asked.count // TILE),)
        key = (kernel, *map(_place, arguments))
        planned = self._plans.get(key)
        if planned is None:
            planned = self.plan(asked.stream, grid, kernel, arguments)
            while len(self._plans) >= _PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = planned
        self.make(asked.stream, planned, arguments)
        return self.scratch.number(asked.stream, asked.address, "kept") == asked.count


def _place(argument: int | DeviceArray) -> Hashable:
    """What a plan knows of an argument."""
    return argument if isinstance(argument, int) else (argument.address, argument.count)


def of_values(use: Use) -> Use:
    """Scratch memory conflicts with nothing: one check has it at a time, and waits for its end."""
    accesses = tuple(access for access in use.accesses if access.what == "values")
    return Use(use.name, use.device, accesses, tuple(array for array in use.arrays if array[1] == "values"))


@cache
def device_facts() -> DeviceFacts:
    """That of this process."""
    from ..backend.gpu.driver import DeviceScratch
    from .in_flight import in_flight
    from .launcher import Launcher

    def make(stream: Stream, planned: Planned, arguments: Arguments) -> None:
        in_flight().launch(stream, of_values(planned.use), arguments, planned.plan.launch, planned.plan.alive)

    return DeviceFacts(Launcher().planned, make, DeviceScratch(), lock=in_flight().lock)
