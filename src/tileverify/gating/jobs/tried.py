"""What `trial_job` sends: launches of a proved kernel on small inputs, and what can be said of them alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backend.numbers.elements import Array, storage_type
from ..model import Reason


@dataclass(frozen=True, slots=True)
class Argument:
    """One array of one launch: before and after, in stored elements, and which elements were written."""

    dtype: str
    before: Array
    after: Array
    written: Array


@dataclass(frozen=True, slots=True)
class Tried:
    """One launch.  ``values``: sizes and integer scalars; ``others``: float scalars, and constants that are numbers.
    ``lists``: arguments that are lists of arrays, which are not compared.  ``stopped``: why a block could not go on,
    where that is."""

    values: Mapping[str, int]
    others: Mapping[str, float]
    filling: str
    arguments: Mapping[str, Argument]
    lists: tuple[str, ...]
    stopped: str | None

    @property
    def where(self) -> str:
        """The launch in a few words."""
        sizes = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{sizes or 'the one launch'}, floats: {self.filling}"


@dataclass(frozen=True, slots=True)
class Trial:
    """All launches; ``not_tried``: what would have been too large, in words."""

    launches: tuple[Tried, ...]
    not_tried: tuple[str, ...]


def read_trial(data: bytes) -> Trial:
    """The lines that `trial_job` sent; raises ValueError, KeyError or TypeError for anything else."""
    *lines, last = data.split(b"\n")[:-1]
    not_tried = tuple(map(str, json.loads(last)["not_tried"]))
    return Trial(tuple(_tried(json.loads(line)) for line in lines), not_tried)


def _tried(document: dict[str, Any]) -> Tried:
    arguments = {}
    for name, array in document["arrays"].items():
        stored, shape = storage_type(array["dtype"]), tuple(array["shape"])
        kept = array["before"] if array["after"] is None else array["after"]
        before, after, written = (
            np.frombuffer(base64.b64decode(text, validate=True), kind).reshape(shape)
            for text, kind in ((array["before"], stored), (kept, stored), (array["written"], np.dtype(np.bool_)))
        )
        arguments[name] = Argument(array["dtype"], before, after, written)
    others = {**document["constants"], **document["floats"]}
    return Tried(
        document["values"], others, document["filling"], arguments, tuple(document["lists"]), document["stopped"]
    )


def summary(trial: Trial) -> dict[str, Any]:
    """For the answer: how many launches, how much of each array they wrote at least and at most, and what was not
    tried."""
    parts: dict[str, list[float]] = {}
    for each in trial.launches:
        for name, argument in each.arguments.items():
            if argument.written.size:
                parts.setdefault(name, []).append(float(np.count_nonzero(argument.written)) / argument.written.size)
    written = {name: [round(min(part), 6), round(max(part), 6)] for name, part in parts.items() if max(part) > 0}
    return {"launches": len(trial.launches), "written": written, "not_tried": list(trial.not_tried)}


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
