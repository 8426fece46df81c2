"""What `trial_job` sends: launches of a proved kernel on small inputs, and what can be said of them alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from ...backend.numbers.elements import Array, numbers, storage_type
from ..gated import Reason, TrialSummary

NoJson: TypeAlias = Literal["inf", "-inf", "nan"]
"""Floats that JSON has no numbers for."""
Said: TypeAlias = bool | int | float | NoJson
_NO_JSON: Mapping[float, NoJson] = {float("inf"): "inf", float("-inf"): "-inf"}


class ArrayBytes(msgspec.Struct, frozen=True, kw_only=True):
    """One array of a launch: its elements as they are stored, in row-major order.  ``after``: ``None`` where they are
    what they were ``before``; ``written``: a byte for each element."""

    dtype: str
    shape: tuple[int, ...]
    before: bytes
    after: bytes | None
    written: bytes


class LaunchLine(msgspec.Struct, frozen=True, kw_only=True):
    """One launch as it is sent; its parts are those of `Tried`."""

    values: dict[str, int]
    floats: dict[str, Said]
    constants: dict[str, Said]
    lists: tuple[str, ...]
    stopped: str | None
    arrays: dict[str, ArrayBytes]
    filling: str
    unsteady: str | None = None
    flushes: bool = False
    largest: Said = "inf"


class TrialEnd(msgspec.Struct, frozen=True):
    """The last line: what was not tried, in words; ``unseen``: words of the kernel that are too narrow in launches that
    were not tried, and what it stores hangs on them."""

    not_tried: tuple[str, ...]
    unseen: tuple[str, ...] = ()


def said(value: bool | int | float) -> Said:
    """A number as `LaunchLine` has it."""
    if isinstance(value, int) or isfinite(value):
        return value
    return _NO_JSON.get(value, "nan")


@dataclass(frozen=True, slots=True)
class TriedArray:
    """One array of one launch: before and after, in stored elements, and which elements were written."""

    dtype: str
    before: Array
    after: Array
    written: Array


@dataclass(frozen=True, slots=True)
class Tried:
    """One launch.  ``values``: sizes and integer scalars; ``others``: float scalars, and constants that are numbers.
    ``lists``: arguments that are lists of arrays, which are not compared.  ``stopped``: why a block could not go on,
    where that is.  ``unsteady``: what another order of its blocks changes, in words.  ``flushes``: it has ops that make
    subnormal numbers 0, which the answer tells.  ``largest``: what contents may hold beside its masks."""

    values: Mapping[str, int]
    others: Mapping[str, float]
    filling: str
    arguments: Mapping[str, TriedArray]
    lists: tuple[str, ...]
    stopped: str | None
    unsteady: str | None = None
    flushes: bool = False
    largest: float = inf

    @property
    def beyond_masks(self) -> bool:
        floats = (numbers(each.before, each.dtype) for each in self.arguments.values())
        held = (array[np.isfinite(array)] for array in floats if array.dtype.kind == "f")
        return any(np.abs(array).max(initial=0.0) > self.largest / 16 for array in held)

    @property
    def where(self) -> str:
        """The launch in a few words."""
        sizes = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{sizes or 'the one launch'}, floats: {self.filling}"


@dataclass(frozen=True, slots=True)
class KernelTrial:
    """All launches; ``not_tried`` and ``unseen`` as in `TrialEnd`."""

    launches: tuple[Tried, ...]
    not_tried: tuple[str, ...]
    unseen: tuple[str, ...] = ()


def read_trial(data: bytes) -> KernelTrial:
    """The lines that `trial_job` sent; raises ValueError, KeyError or RecursionError for anything else."""
    *lines, last = data.split(b"\n")[:-1]
    end = msgspec.json.decode(last, type=TrialEnd)
    launches = tuple(_tried(msgspec.json.decode(line, type=LaunchLine)) for line in lines)
    return KernelTrial(launches, end.not_tried, end.unseen)


def _tried(line: LaunchLine) -> Tried:
    arguments = {}
    for name, array in line.arrays.items():
        stored = storage_type(array.dtype)
        kept = array.before if array.after is None else array.after
        before, after, written = (
            np.frombuffer(held, kind).reshape(array.shape)
            for held, kind in ((array.before, stored), (kept, stored), (array.written, np.dtype(np.bool_)))
        )
        arguments[name] = TriedArray(array.dtype, before, after, written)
    others = {name: _number(each) for name, each in {**line.constants, **line.floats}.items()}
    return Tried(
        line.values, others, line.filling, arguments, line.lists, line.stopped, line.unsteady, line.flushes,
        float(line.largest),
    )  # fmt: skip


def _number(value: Said) -> bool | int | float:
    return float(value) if isinstance(value, str) else value


def summary(trial: KernelTrial, seed: int) -> TrialSummary:
    """For the answer: how many launches, how much of each array they wrote at least and at most, and what was not
    tried."""
    parts: dict[str, list[float]] = {}
    for each in trial.launches:
        for name, argument in each.arguments.items():
            if argument.written.size:
                parts.setdefault(name, []).append(float(np.count_nonzero(argument.written)) / argument.written.size)
    written = {name: (round(min(part), 6), round(max(part), 6)) for name, part in parts.items() if max(part) > 0}
    return TrialSummary(len(trial.launches), written, trial.not_tried, seed)


def incomplete(tried: Sequence[Tried]) -> Iterator[Reason]:
    """Arrays of which some elements are written and others not, one reason each."""
    told: set[str] = set()
    for each in tried:
        for name, argument in each.arguments.items():
            missing = argument.written.size - int(np.count_nonzero(argument.written))
            if missing and missing < argument.written.size and name not in told:
                told.add(name)
                size = argument.written.size
                yield Reason("not-written", f"{missing} of {size} elements of {name} stay unwritten ({each.where})")
