"""Facts on index arrays checked on the GPU that holds them, by the verified kernels of `fact_kernels`.

A kernel counts the elements that keep a fact, on the stream of the launch that needs it, so that what it sees is what
that launch will see.  Only a count of all elements says that the fact holds; for anything else the host fetches the
array, looks itself, and words the refusal.  Small arrays are fetched at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Protocol

from ..backend.guard import ArrayValue
from ..backend.ledger import InFlightConflict
from ..contract.facts.counting import Count, Counted, counts
from ..contract.facts.statements import NumberedFact, Value
from ..contract.launch import DataFact
from ..system.errors import TileVerifyError
from .launch_cache import Planned
from .launch_log import Use
from .launch_types import Arguments, DeviceArray, GivenGrid, Interface, Key, Stream

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
        self, stream: Stream, array: ArrayValue, fact: DataFact, facts: Sequence[DataFact], number: Value
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

    def _keeps(self, asked: _Asked, fact: DataFact, facts: Sequence[DataFact], number: Value) -> bool:
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
