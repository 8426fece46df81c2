"""Which arguments of a recorded launch share memory: not byte ranges that meet, but bytes that coincide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

MAX_WORK = 10**6
"""Candidate solutions that the exact test may look at before two interleaved arrays count as overlapping."""

Argument = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two arguments, by name (``pair[0]`` inside a tuple), with a byte in common; ``same``: one array twice."""

    first: str
    second: str
    same: bool


def overlaps(names: Sequence[str], arguments: Sequence[Argument]) -> list[Overlap]:
    """All overlapping pairs of a launch whose arguments still carry their addresses.

    A list with itself is one where two of its arrays overlap.
    """
    leaves = [leaf for name, argument in zip(names, arguments, strict=True) for leaf in _leaves(name, argument)]
    found = []
    for j, (second, later) in enumerate(leaves):
        if any(_share_bytes(a, b) for a, b in combinations(later, 2)):
            found.append(Overlap(second, second, False))
        for first, earlier in leaves[:j]:
            if any(_share_bytes(a, b) for a in earlier for b in later):
                found.append(Overlap(first, second, len(earlier) == len(later) == 1 and _same(earlier[0], later[0])))
    return found


def _leaves(name: str, argument: Argument) -> Iterator[tuple[str, list[Argument]]]:
    if argument["kind"] == "array":
        yield name, [argument]
    elif argument["kind"] == "list":
        yield name, list(argument["items"])
    elif argument["kind"] == "tuple":
        fields = argument.get("fields")
        for index, item in enumerate(argument["items"]):
            yield from _leaves(f"{name}.{fields[index]}" if fields else f"{name}[{index}]", item)


def _same(a: Argument, b: Argument) -> bool:
    """The same elements of the same type: bytes under two types are arrays that overlap."""
    return all(a.get(key) == b.get(key) for key in ("address", "shape", "strides", "bits", "dtype"))


def _share_bytes(a: Argument, b: Argument) -> bool:
    import numpy

    first, second = _view(a), _view(b)
    if not numpy.may_share_memory(first, second):
        return False
    if a["bits"] % 8 or b["bits"] % 8:
        return True
    try:
        return bool(numpy.shares_memory(first, second, max_work=MAX_WORK))  # type: ignore[arg-type]
    except numpy.exceptions.TooHardError:
        return True


class _Memory:
    """An address dressed as an array; nothing ever reads through it."""

    def __init__(self, argument: Argument) -> None:
        item_bytes = (argument["bits"] + 7) // 8
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{item_bytes}",
            "shape": tuple(argument["shape"]),
            "strides": tuple(stride * item_bytes for stride in argument["strides"]),
            "data": (argument["address"], True),
        }


def _view(argument: Argument) -> Any:
    import numpy

    return numpy.asarray(_Memory(argument))
