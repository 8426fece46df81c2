"""What small index arrays hold when a kernel is launched.

Only integers are looked at, and only to note facts about them (``record.observations``): contents never leave the
recording's temporary folder.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Hashable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from .described_launch import Described, DescribedArray
from .spans import Span, meet
from .unfilled import User, Writer, is_from_empty, note_given, other_writers

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
