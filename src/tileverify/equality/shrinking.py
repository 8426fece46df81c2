"""A difference made small: the sizes of its launch first, then contents, 0 and 1 where that still shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, Protocol

import numpy as np

from ..backend.interpreter import InterpreterStop
from ..backend.numbers.conditions import ContractInNumbers
from ..backend.numbers.elements import numbers
from ..backend.numbers.inputs import view
from ..backend.numbers.small_launches import smallest
from ..system.errors import UsageError
from .field import Array
from .points import TrialPoint, given_point
from .primitives import is_numbers

SIZE_TRIES: Final = 24
CONTENT_TRIES: Final = 96
MOST_ELEMENTS: Final = 1 << 12
"""Of all arrays, beyond which contents stay as they were drawn."""


class ShownDifference(Protocol):
    """What is known of a difference: an element with two values, and the point."""

    @property
    def array(self) -> str: ...

    @property
    def kernel(self) -> float: ...

    @property
    def reference(self) -> float: ...

    @property
    def point(self) -> TrialPoint: ...


Seen = Callable[[TrialPoint], ShownDifference | None]


@dataclass(slots=True)
class Shrunk:
    """``inputs``: arrays and scalars by name, which show the difference; ``None``: those of the point do."""

    found: ShownDifference
    inputs: Mapping[str, Array] | None


def shrunk(
    found: ShownDifference,
    contract: ContractInNumbers,
    at: Callable[[Mapping[str, int], str], ShownDifference | None],
    at_point: Seen,
) -> Shrunk:
    """``at``: the difference at a launch with contents of a kind; ``at_point``: at one point.

    A difference of finite numbers stays one: infinities and NaN that a smaller input makes are another thing.
    """
    found = _small_launch(found, contract, at)
    inputs = inputs_of(found.point)
    if sum(np.size(array) for array in inputs.values()) > MOST_ELEMENTS:
        return Shrunk(found, None)
    search = _Contents(found, contract, at_point, inputs)
    if not search.keeps(inputs):
        return Shrunk(found, None)
    search.run()
    return Shrunk(search.found, search.inputs)


def _small_launch(
    found: ShownDifference, contract: ContractInNumbers, at: Callable[[Mapping[str, int], str], ShownDifference | None]
) -> ShownDifference:
    tries, filling = SIZE_TRIES, found.point.filling

    def seen_at(values: Mapping[str, int]) -> ShownDifference | None:
        return _asked(lambda: at(values, filling))

    while True:
        for values in smallest(contract, found.point.inputs.values):
            if not tries:
                return found
            tries -= 1
            again = seen_at(values)
            if again is not None and _alike(again, found):
                found = again
                break
        else:
            return found


def _asked(ask: Callable[[], ShownDifference | None]) -> ShownDifference | None:
    try:
        return ask()
    except (InterpreterStop, UsageError):
        return None


def _alike(again: ShownDifference, found: ShownDifference) -> bool:
    finite = [isfinite(each.kernel) and isfinite(each.reference) for each in (found, again)]
    return again.array == found.array and (finite[1] or not finite[0])


def inputs_of(point: TrialPoint) -> dict[str, Array]:
    """What the arrays hold in float64, or as integers, and the float scalars."""
    memory: dict[str, Array] = {**point.inputs.memory, **point.contents}
    result: dict[str, Array] = {}
    for name, array in point.inputs.launch.named_arrays():
        held = view(memory[array.allocation], array.shape, array.strides)
        result[name] = held["s"].copy() if is_numbers(held) else numbers(held, array.dtype).copy()
    return {**result, **{name: np.asarray(value["s"]) for name, value in point.floats.items()}}


@dataclass(slots=True)
class _Contents:
    found: ShownDifference
    contract: ContractInNumbers
    at_point: Seen
    inputs: dict[str, Array]
    tries: int = field(default=CONTENT_TRIES)
    done: list[tuple[str, slice]] = field(default_factory=list)

    def keeps(self, inputs: dict[str, Array]) -> bool:
        """Whether the difference shows with these inputs, which are then the ones to go on from."""
        self.tries -= 1
        values = self.found.point.inputs.values
        again = _asked(lambda: self.at_point(given_point(self.contract, values, inputs)))
        if again is None or not _alike(again, self.found):
            return False
        self.found, self.inputs = again, inputs
        return True

    def run(self) -> None:
        names = [name for name, array in self.inputs.items() if array.dtype.kind == "f"]
        whole = {name: np.round(array, 1) if name in names else array for name, array in self.inputs.items()}
        self.keeps(whole)
        for name in names:
            for part in self._parts(self.inputs[name].size, name):
                if self.tries <= 0:
                    return
                if any(self._keeps_with(name, part, value) for value in (0.0, 1.0)):
                    self.done.append((name, part))

    def _parts(self, size: int, name: str) -> Iterator[slice]:
        """The whole array, its halves, and so on; nothing inside of a part that is done."""
        width = size
        while width:
            for start in range(0, size, width):
                part = slice(start, min(start + width, size))
                if not any(n == name and p.start <= part.start and part.stop <= p.stop for n, p in self.done):
                    yield part
            width = 0 if width == 1 else -(-width // 2)

    def _keeps_with(self, name: str, part: slice, value: float) -> bool:
        array = self.inputs[name].copy()
        flat = array.reshape(-1)
        if (flat[part] == value).all():
            return True
        flat[part] = value
        return self.keeps({**self.inputs, name: flat.reshape(array.shape)})
