"""What small index arrays hold when a kernel is launched.

Only integers are looked at, and only to note facts about them (``record.observations``): contents never leave the
recording's temporary folder.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_ELEMENTS = 1 << 16
"""Larger arrays are not read."""


def integer_contents(
    names: Sequence[str], arguments: Sequence[Any], described: Sequence[Mapping[str, Any]], *, on_device: bool
) -> Iterator[tuple[str, bytes]]:
    """The elements in row-major order of the integer arrays among a launch's arguments that can be read.

    ``on_device``: they lie in a GPU's memory, from which only torch fetches them here.
    """
    for name, argument, known in zip(names, arguments, described, strict=True):
        if known["kind"] == "array" and known["dtype"][0] in "iu" and known["bits"] >= 8:
            count = 1
            for size in known["shape"]:
                count *= size
            if 0 < count <= MOST_ELEMENTS:
                found = _from_device(argument) if on_device else _from_memory(known)
                if found is not None:
                    yield name, found


def _from_memory(known: Mapping[str, Any]) -> bytes:
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


def _from_device(array: Any) -> bytes | None:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor) or torch.cuda.is_current_stream_capturing():
        return None
    host = array.detach().cpu().contiguous()
    return ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())
