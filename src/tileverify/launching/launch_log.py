"""Launches while only one stream has work: in order as they are, so that they are noted and nothing else.

What is noted lives until the device has come past an event behind it.  Launches are noted in batches: one event stands
for a batch, and a launch that is made again with the same objects is in the open batch already.  Such a launch asks
for no lock where threads take turns (`ALONE_BETWEEN_CALLS`): the look at what the open batch holds, and the driver's
call, are one step for every other thread.  Whoever closes a batch empties it (`Journal.seal`) before the event is
recorded.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..backend.ledger import ByteAccess, InFlightConflict, LaunchBytes, StreamId, merged
from .launch_types import Repeatable, TorchStream

POLLED_EVERY: Final = 512
"""Launches of a batch: between two looks at what has finished."""

MOST_BYTES: Final = 1 << 30
"""What launches of a batch may have touched: after that many, it is looked at what has finished, so that results which
nobody wants any more do not fill the device's memory."""

ALONE_BETWEEN_CALLS: Final = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether no other thread runs between two steps of Python code that call nothing.

CPython with its global lock gives way at calls and backward jumps only; the driver's call keeps the lock.
"""


@dataclass(frozen=True, slots=True)
class Use:
    """What a launch touches; ``touched``, ``footprint``: the same without what others cover; ``size``: its bytes.

    ``arrays``: address and name of each of its arrays, also of those that it does not get to; where they are not told,
    every access is that of an array.
    """

    name: str
    device: int
    accesses: tuple[ByteAccess, ...]
    arrays: tuple[tuple[int, str], ...] = ()
    starts: frozenset[int] = field(init=False, repr=False, compare=False)
    touched: tuple[ByteAccess, ...] = field(init=False, repr=False, compare=False)
    footprint: LaunchBytes = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.arrays:
            object.__setattr__(self, "arrays", tuple((access.start, access.what) for access in self.accesses))
        object.__setattr__(self, "starts", frozenset(address for address, _ in self.arrays))
        object.__setattr__(self, "touched", merged(self.accesses))
        object.__setattr__(self, "footprint", LaunchBytes(self.touched))
        object.__setattr__(self, "size", sum(access.end - access.start for access in self.touched))


class Noted(NamedTuple):
    """A launch and what it was made with, which lives as long as this does."""

    use: Use
    kept: tuple[object, ...]

    @classmethod
    def of(cls, use: Use, arguments: Iterable[object], owners: Iterable[object]) -> Noted:
        """``owners``: what else has to live, and is not looked into."""
        return cls(use, (*leaves(arguments), *owners))

    def moved(self) -> str | None:
        """Which of the arrays lies elsewhere now; only torch's tensors can move."""
        starts = self.use.starts
        for each in self.kept:
            if hasattr(each, "data_ptr") and each.data_ptr() not in starts:
                return f"the memory of {self._gone()} was moved or freed"
        return None

    def _gone(self) -> str:
        now = {each.data_ptr() for each in self.kept if hasattr(each, "data_ptr")}
        return next((f"`{name}`" for address, name in self.use.arrays if address not in now), "an array")


@dataclass(eq=False, slots=True)
class Repeated:
    """A launch that was checked, ready to be made again.

    ``same`` tells whether arrays at the same addresses have the same sizes, strides and types.  ``go()`` makes the
    launch on the stream ``handle`` and gives the driver's status; ``stream``: an object that stands for it for good.
    ``held``: its latest arrays in the open batch, ``nothing`` where it is not there.  ``number``: what the ledger gave
    it beside other streams, with the arrays whose identities are ``shown``.
    """

    use: Use
    plan: Repeatable
    same: Callable[..., bool] | None
    nothing: tuple[None, ...]
    held: tuple[object, ...] = ()
    handle: int = -1
    stream: object = field(default_factory=object)  # nobody's
    go: Callable[[], int] = int
    number: int = -1
    shown: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.held = self.nothing

    def bind(self, stream: TorchStream) -> None:
        """Ready for a stream, and not in the open batch."""
        self.held = self.nothing  # first: a thread that makes the launch meanwhile shall not
        lasting = type(stream).__module__.partition(".")[0] == "torch"  # whose streams cannot change
        self.stream, self.handle = stream if lasting else object(), stream.cuda_stream
        self.go = self.plan.bound(self.handle)


@dataclass(eq=False, slots=True)
class Journal:
    """``place``: the only stream with work, if that is so; ``left``: launches that the open batch has room for, and
    ``room``: bytes of arrays that are noted."""

    place: StreamId | None = None
    left: int = POLLED_EVERY
    room: int = MOST_BYTES
    _open: list[Noted] = field(default_factory=list)
    _repeated: list[Repeated] = field(default_factory=list)  # those of the open batch
    _closed: deque[tuple[object, int, list[Noted]]] = field(default_factory=deque)  # behind an event, so many launches

    def note(self, launch: Noted) -> None:
        """A launch that was just made."""
        self._open.append(launch)
        self.room -= launch.use.size

    def repeat(self, each: Repeated, arrays: tuple[object, ...]) -> None:
        """The same for one that may be made again with these very ``arrays`` without a word."""
        self._repeated.append(each)
        self._open.append(Noted(each.use, arrays))
        self.room -= each.use.size
        each.held = arrays  # last: from here on nobody notes it

    def seal(self) -> None:
        """Nothing more comes into the open batch unnoticed: what was made without a word is on its stream by now."""
        for each in self._repeated:
            each.held = each.nothing
        self._repeated.clear()

    def close(self, event: object) -> None:
        """The batch that was sealed lies before ``event``."""
        self._closed.append((event, POLLED_EVERY - self.left, self._emptied()))

    def _emptied(self) -> list[Noted]:
        noted, self._open, self.left, self.room = self._open, [], POLLED_EVERY, MOST_BYTES
        return noted

    def finished(self, done: Callable[[object], bool]) -> Iterator[Noted]:
        """The launches of closed batches that the device has come past; they are let go."""
        while self._closed and done(self._closed[0][0]):
            yield from self._closed.popleft()[2]

    def all(self) -> list[Noted]:
        """Everything, which is let go; no stream is alone any more."""
        self.place = None
        self.seal()
        noted = [each for _, _, batch in self._closed for each in batch]
        self._closed.clear()
        return noted + self._emptied()

    @property
    def count(self) -> int:
        """Launches that are not known to have finished."""
        return sum(count for _, count, _ in self._closed) + POLLED_EVERY - self.left


def leaves(arguments: Iterable[object]) -> Iterator[object]:
    """What stands in arguments, also in lists and dataclasses, which may change while the launch is in flight."""
    for each in arguments:
        yield each
        if isinstance(each, tuple | list):
            yield from leaves(each)
        elif hasattr(each, "__dataclass_fields__"):
            yield from leaves(getattr(each, name) for name in each.__dataclass_fields__)


def complain(finished: Sequence[Noted]) -> None:
    """Raises `InFlightConflict` (TV504) for memory that moved."""
    found = [(each.use.name, each.moved()) for each in finished]
    complaints = [f"{what} while '{name}' used it" for name, what in found if what is not None]
    if complaints:
        said = "; ".join(dict.fromkeys(complaints))
        raise InFlightConflict(f"{said} (TV504); keep arrays as they are until the work is done")
