"""What small index arrays hold when a kernel is launched.

Only integers are looked at, and only to note facts about them (``record.observations``): contents never leave the
recording's temporary folder.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Hashable, Sequence
from math import prod

from .described_launch import Described, DescribedArray
from .unfilled import Span, is_from_empty, note_given, was_given_to_others

MOST_ELEMENTS = 1 << 17
"""Larger arrays are not read."""


class IndexContents:
    """Reads the integer arrays of one launch after another.

    ``on_device``: they lie in a GPU's memory, from which only torch fetches them here.  ``kernels_run``: what they hold
    is what kernels left there.
    """

    def __init__(self, *, on_device: bool, kernels_run: bool) -> None:
        self._on_device = on_device
        self._kernels_run = kernels_run

    def of_launch(
        self, kernel: Hashable, names: Sequence[str], arguments: Sequence[object], described: Sequence[Described]
    ) -> dict[str, bytes]:
        """The elements in row-major order of the integer arrays among a launch's arguments that are known."""
        found: dict[str, bytes] = {}
        given = [
            (name, argument, known)
            for name, argument, known in zip(names, arguments, described, strict=True)
            if known["kind"] == "array" and known["dtype"][0] in "iu" and known["bits"] >= 8
        ]
        for name, argument, known in given:
            if 0 < prod(known["shape"]) <= MOST_ELEMENTS:
                content = _from_device(argument) if self._on_device else _from_memory(known)
                if content is not None and (self._kernels_run or self._is_meant(content, known, (kernel, name))):
                    found[name] = content
        for name, _, known in given:
            note_given(_span(known), (kernel, name))
        return found

    def _is_meant(self, content: bytes, known: DescribedArray, user: Hashable) -> bool:
        """Different numbers, or one that is not 0, were put in by the program."""
        width = known["bits"] // 8
        alike = content == content[:width] * (len(content) // width)
        if not alike or (len(content) == width and any(content)):
            return True
        return not is_from_empty(_span(known)) and not was_given_to_others(_span(known), user)


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
