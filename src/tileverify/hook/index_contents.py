"""What small index arrays hold when a kernel is launched.

Only integers are looked at, and only to note facts about them (``record.observations``): contents never leave the
recording's temporary folder.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from .described_launch import Described, DescribedArray

MOST_ELEMENTS = 1 << 17
"""Larger arrays are not read."""


class Content(NamedTuple):
    """Elements in row-major order, which are known if nothing was written through any of ``unless_written``."""

    elements: bytes
    unless_written: frozenset[Writer] = frozenset()


class IndexContents:
    """Reads the integer arrays of one launch after another.

    ``on_device``: they lie in a GPU's memory, from which only torch fetches them here.  ``kernels_run``: what they hold
    is what kernels left there.
    """

    def __init__(self, *, on_device: bool, kernels_run: bool) -> None:
        self._on_device = on_device
        self._kernels_run = kernels_run

    def of_launch(
        self,
        kernel: Hashable,
        names: Sequence[str],
        arguments: Sequence[object],
        described: Sequence[Described],
        number: int | None = None,
    ) -> dict[str, Content]:
        """What the integer arrays among a launch's arguments hold, where it is known.

        ``number``: the one that the notes have for the specialisation; ``None``: they have none.
        """
        found: dict[str, Content] = {}
        given = [
            (argument, known, self._user(kernel, name, known, number, names, described))
            for name, argument, known in zip(names, arguments, described, strict=True)
            if known["kind"] == "array" and known["dtype"][0] in "iu" and known["bits"] >= 8
        ]
        for argument, known, user in given:
            if 0 < prod(known["shape"]) <= MOST_ELEMENTS:
                elements = _from_device(argument) if self._on_device else _from_memory(known)
                content = None if elements is None else self._as_meant(elements, known, user)
                if content is not None:
                    found[user.parameter] = content
        for _, known, user in given:
            note_given(_span(known), user)
        return found

    @staticmethod
    def _user(
        kernel: Hashable,
        name: str,
        array: DescribedArray,
        number: int | None,
        names: Sequence[str],
        described: Sequence[Described],
    ) -> User:
        """Who is given the array, of which other arguments may be a part."""
        span, writers = _span(array), set[Writer]()
        for other, argument in zip(names, described, strict=True):
            if any(meet(span, _span(part)) for part in _arrays(argument)):
                if number is None or argument["kind"] != "array":
                    return User(kernel, name)
                writers.add((number, other))
        return User(kernel, name, frozenset(writers))

    def _as_meant(self, elements: bytes, known: DescribedArray, user: User) -> Content | None:
        """Different numbers, or one that is not 0, were put in by the program; of others it has to be asked who was
        given the memory since."""
        width = known["bits"] // 8
        alike = elements == elements[:width] * (len(elements) // width)
        if self._kernels_run or not alike or (len(elements) == width and any(elements)):
            return Content(elements)
        writers = None if is_from_empty(_span(known)) else other_writers(_span(known), user)
        return None if writers is None else Content(elements, writers)


def _arrays(argument: Described) -> Iterator[DescribedArray]:
    """The arrays that an argument is, or has in it."""
    if argument["kind"] == "array":
        yield argument
    elif argument["kind"] == "list":
        yield from argument["items"]
    elif argument["kind"] == "descriptor":
        yield argument["array"]
    elif argument["kind"] == "tuple":
        for item in argument["items"]:
            yield from _arrays(item)


def _span(known: DescribedArray) -> Span:
    last = sum((size - 1) * stride for size, stride in zip(known["shape"], known["strides"], strict=True))
    start, width = known["address"], known["bits"] // 8
    return start, start + (last + 1) * width


def _from_memory(known: DescribedArray) -> bytes:
    width = known["bits"] // 8
    steps = [stride * width for stride in known["strides"]]
    *outer, last = zip(known["shape"], steps, strict=True) if steps else [(1, width)]
    rows = itertools.product(*([i * step for i in range(size)] for size, step in outer))
    size, step = last
    parts = []
    for row in rows:
        start = known["address"] + sum(row)
        if step == width:
            parts.append(ctypes.string_at(start, size * width))
        else:
            parts += [ctypes.string_at(start + i * step, width) for i in range(size)]
    return b"".join(parts)


def _from_device(array: object) -> bytes | None:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor) or torch.cuda.is_current_stream_capturing():
        return None
    host = array.detach().cpu().contiguous()
    return ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())


# ---------------------------------------------------------------------------------------------------------------- spans
# Spans of memory that do not meet, each found by bisection: a program makes thousands of arrays, and each asks.


Span = tuple[int, int]
"""First byte and the one behind the last."""


class DisjointSpans:
    """None of them is empty."""

    def __init__(self) -> None:
        self._starts: list[int] = []  # in order, and so are the ends
        self._ends: list[int] = []

    def meets(self, span: Span) -> bool:
        """Whether a byte of ``span`` is in one of them."""
        first, behind = self._met(span)
        return first < behind

    def drop(self, span: Span) -> None:
        """Take away all that ``span`` meets, each as a whole."""
        met = slice(*self._met(span))
        del self._starts[met], self._ends[met]

    def cut(self, span: Span) -> None:
        """Take away what ``span`` has of them."""
        met = slice(*self._met(span))
        rests = [
            (start, end)
            for first, last in zip(self._starts[met], self._ends[met], strict=True)
            for start, end in without((first, last), span)
        ]
        self._starts[met] = [start for start, _ in rests]
        self._ends[met] = [end for _, end in rests]

    def add(self, span: Span) -> None:
        """Put in a span that is not empty; what it has of others is in it from now on."""
        self.cut(span)
        place = bisect_left(self._starts, span[0])
        self._starts.insert(place, span[0])
        self._ends.insert(place, span[1])

    def _met(self, span: Span) -> tuple[int, int]:
        """The number of the first that ``span`` meets, and of the one behind the last."""
        return bisect_right(self._ends, span[0]), bisect_left(self._starts, span[1])


def meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def without(span: Span, taken: Span) -> list[Span]:
    """What is left of ``span``."""
    if not meet(span, taken):
        return [span]
    return [(start, end) for start, end in ((span[0], taken[0]), (taken[1], span[1])) if start < end]


# ------------------------------------------------------------------------------------------------------------- unfilled
# Memory of an imitated GPU that holds zeros only because nobody has filled it.
#
# Kernels do not run there.  What an array holds is known where the program itself put it in: numbers that differ were
# computed on the host; equal numbers may be what ``empty`` gave, or what should have been overwritten by a kernel.


Writer = tuple[int, str]
"""The number that the notes have for a specialisation, and one of its parameters."""


class User(NamedTuple):
    """A kernel with a parameter.  ``writers``: through which of its parameters it would write there, if it does;
    ``None``: through others than the notes have, too."""

    kernel: Hashable
    parameter: str
    writers: frozenset[Writer] | None = None


_from_empty = DisjointSpans()
_users: dict[Span, set[User]] = {}
"""Who was given memory since the program filled it."""


def note_empty(start: int, size: int) -> None:
    """``empty`` gave this memory."""
    note_filled(start, size)
    if size:
        _from_empty.add((start, start + size))


def note_filled(start: int, size: int) -> None:
    """The program asked for this memory with numbers in it: whoever had it before has let it go."""
    filled = start, start + size
    _from_empty.drop(filled)
    for span in [span for span in _users if meet(span, filled)]:
        del _users[span]


def note_put(start: int, size: int, *, known: bool) -> None:
    """The program put numbers into this part of some memory; ``known``: not such as are unknown themselves."""
    put = start, start + size
    for span in [span for span in _users if meet(span, put)]:
        users = _users.pop(span)
        for rest in without(span, put):
            _users.setdefault(rest, set()).update(users)
    _from_empty.cut(put)
    if size and not known:
        _from_empty.add(put)


def note_given(span: Span, user: User) -> None:
    """``user`` may have been meant to write there."""
    _users.setdefault(span, set()).add(user)


def forget_numbers() -> None:
    """The notes begin anew, as they do in a fork."""
    for span, users in _users.items():
        _users[span] = {user._replace(writers=None) for user in users}


def is_from_empty(span: Span) -> bool:
    return _from_empty.meets(span)


def is_unknown(span: Span) -> bool:
    """Part of this memory came from ``empty``, or a kernel may have been meant to write there."""
    return is_from_empty(span) or any(meet(span, used) for used in _users)


def other_writers(span: Span, user: User) -> frozenset[Writer] | None:
    """Through which parameters memory of this span may have been written, by another kernel than the user's or
    through another parameter of it; ``None``: through any."""
    found: set[Writer] = set()
    for used, users in _users.items():
        if meet(span, used):
            for other in users:
                if other[:2] != user[:2]:
                    if other.writers is None:
                        return None
                    found |= other.writers
    return frozenset(found)
