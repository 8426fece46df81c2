"""Launches on exact numbers as bytes: what one process ran, for another one that has the reference.

A message is the length of a line and the line, in MessagePack.  Whoever reads it trusts nothing of it: every array has
to lie in its memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from math import prod
from typing import Final, TypeAlias

import msgspec
import numpy as np

from ..backend.numbers.elements import rounded, storage_type
from ..backend.numbers.inputs import Inputs
from ..contract.concrete import ConcreteArray, ConcreteLaunch
from .exact import NUMBER
from .exact_arrays import presented
from .field import Array
from .points import TrialPoint

_LENGTH: Final = struct.Struct(">Q")
_MOST_AXES: Final = 32


class SentArray(msgspec.Struct, frozen=True):
    """``shape`` and ``strides`` in elements of the memory ``allocation``."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    allocation: str


class SentPoint(msgspec.Struct, frozen=True, kw_only=True, tag="point"):
    """One point at the launch ``number``.  ``exact``: the allocations that hold numbers; ``after``: those that the
    kernel changed; ``constants``: arguments of the launch that are constants; ``stored``: the kernel ran in its own
    formats, and ``after`` holds stored elements."""

    number: int
    filling: str
    grid: tuple[int, int, int]
    arrays: dict[str, SentArray]
    lists: dict[str, tuple[SentArray, ...]]
    values: dict[str, int]
    scalars: dict[str, int]
    constants: dict[str, bool | int | float]
    floats: dict[str, bytes]
    exact: tuple[str, ...]
    before: dict[str, bytes]
    after: dict[str, bytes]
    stored: bool = False


class SentGap(msgspec.Struct, frozen=True, kw_only=True, tag="gap"):
    """A launch, or contents of it, without an answer of the kernel; ``left_out``: it does not count against equality,
    nothing of the launch was looked at."""

    number: int
    values: dict[str, int]
    reason: str
    left_out: bool = False


class SentEnd(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """The last message.  ``stopped``: why the kernel cannot be run on numbers; ``left_out``: launches beyond those that
    were chosen; ``one_way``: comparisons that came out in one way alone, in words;
    ``narrow``: sums in narrow formats, each as a `NarrowSum` has it; ``tried``, ``idle``: as in `ExactAnswer`."""

    stopped: str = ""
    left_out: tuple[str, ...] = ()
    steps: int = 0
    one_way: tuple[str, ...] = ()
    narrow: tuple[tuple[str, str, int | None, bool], ...] = ()
    tried: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()


Sent: TypeAlias = SentPoint | SentGap | SentEnd


class NoPoints(Exception):
    """The bytes are not those of launches."""


def framed(message: Sent) -> bytes:
    line = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(line)) + line


def messages(data: bytes) -> Iterator[Sent]:
    """Raises `NoPoints` for other bytes than those of `framed`."""
    decoder = msgspec.msgpack.Decoder(Sent)
    place, view = 0, memoryview(data)
    try:
        while place < len(view):
            (length,) = _LENGTH.unpack_from(view, place)
            place += _LENGTH.size + length
            if place > len(view):
                raise NoPoints("a message is cut off")
            yield decoder.decode(view[place - length : place])
    except (struct.error, msgspec.DecodeError, RecursionError) as error:
        raise NoPoints(str(error)) from None


# ------------------------------------------------------------------------------------------------- writing
def sent(
    number: int,
    point: TrialPoint,
    after: Mapping[str, Array],
    constants: Mapping[str, int | float],
    *,
    stored: bool = False,
) -> SentPoint:
    """``after``: the memory that the kernel left, by allocation; ``stored``: in its own formats."""
    launch = point.inputs.launch
    before = {**point.inputs.memory, **point.contents}
    was = point.inputs.memory if stored else before
    return SentPoint(
        number=number,
        filling=point.filling,
        grid=launch.grid,
        arrays={name: _array(each) for name, each in launch.arrays.items()},
        lists={name: tuple(map(_array, each)) for name, each in launch.lists.items()},
        values=dict(point.inputs.values),
        scalars=dict(launch.scalars),
        constants=dict(constants),
        floats={name: value.tobytes() for name, value in point.floats.items()},
        exact=tuple(point.contents),
        before={name: array.tobytes() for name, array in before.items()},
        after={name: array.tobytes() for name, array in after.items() if _changed(array, was[name])},
        stored=stored,
    )


def _changed(after: Array, before: Array) -> bool:
    return after.tobytes() != before.tobytes()


def _array(array: ConcreteArray) -> SentArray:
    return SentArray(array.dtype, tuple(array.shape), tuple(array.strides), array.allocation)


# ------------------------------------------------------------------------------------------------- reading
def received(message: SentPoint) -> tuple[TrialPoint, dict[str, Array]]:
    """The point, and the memory after the launch.

    :raises NoPoints: an array does not lie in its memory.
    """
    try:
        return _received(message)
    except (ValueError, KeyError, TypeError) as error:
        raise NoPoints(str(error)) from None


def _received(message: SentPoint) -> tuple[TrialPoint, dict[str, Array]]:
    arrays = {name: _concrete(each) for name, each in message.arrays.items()}
    lists = {name: tuple(map(_concrete, each)) for name, each in message.lists.items()}
    floats = {name: _numbers(held, 1).reshape(()) for name, held in message.floats.items()}
    launch = ConcreteLaunch(message.grid, arrays, message.scalars, lists, dict.fromkeys(floats, 0.0))
    types = {each.allocation: each.dtype for _, each in launch.named_arrays()}
    kinds = {name: NUMBER if name in message.exact else storage_type(dtype) for name, dtype in types.items()}
    before = {name: np.frombuffer(message.before[name], kind).copy() for name, kind in kinds.items()}
    left = {name: storage_type(dtype) for name, dtype in types.items()} if message.stored else kinds
    was = {name: _as_stored(held, types[name]) for name, held in before.items()} if message.stored else before
    after = {
        name: np.frombuffer(message.after[name], kind).copy() if name in message.after else was[name]
        for name, kind in left.items()
    }
    for _, each in launch.named_arrays():
        _check_place(each, min(len(before[each.allocation]), len(after[each.allocation])))
    memory = was if message.stored else {name: held for name, held in before.items() if name not in message.exact}
    contents = {name: array for name, array in before.items() if name in message.exact}
    inputs = Inputs(launch, memory, message.values, ())
    return TrialPoint(message.filling, inputs, contents, floats), after


def _as_stored(held: Array, dtype: str) -> Array:
    return rounded(held["s"].copy(), dtype) if held.dtype == NUMBER else held


def _concrete(array: SentArray) -> ConcreteArray:
    return ConcreteArray(array.dtype, array.shape, array.strides, allocation=array.allocation)


def _numbers(held: bytes, count: int) -> Array:
    found = np.frombuffer(held, NUMBER)
    if len(found) != count:
        raise ValueError("a scalar is no number")
    return found


def _check_place(array: ConcreteArray, size: int) -> None:
    """A view of memory is made of these numbers, which nobody else looks at."""
    axes = list(zip(array.shape, array.strides, strict=True))
    if len(axes) > _MOST_AXES or any(length < 0 or stride < 0 for length, stride in axes):
        raise ValueError("an array has no place")
    if prod(array.shape) and sum((length - 1) * stride for length, stride in axes) >= size:
        raise ValueError("an array leaves its memory")


def arguments_at(message: SentPoint, point: TrialPoint) -> dict[str, object]:
    """Everything that a reference may ask for beside the arrays."""
    floats = {name: presented(value) for name, value in point.floats.items()}
    return {**message.constants, **message.values, **message.scalars, **floats}
