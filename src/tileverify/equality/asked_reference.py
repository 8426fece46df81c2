"""A reference as `deciding` asks it: on exact numbers, and on floats beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from ..backend.interpreter import InterpreterStop
from ..backend.numbers.elements import NUMPY
from ..system.errors import TileVerifyError, UsageError
from .branches import WaysTaken
from .creating import exact_numpy, numpy_in_float64, numpy_instead
from .exact_arrays import FloatNumber, Numbers
from .field import Array
from .float_types import float_type
from .plain_runs import as_floats, as_scalars, hold
from .points import TrialPoint
from .primitives import is_numbers, plain
from .reference_code import numbers_of
from .reference_ways import watching
from .undecided import Undecided

Run: TypeAlias = Callable[[Mapping[str, object]], object]
"""What a reference returns for its arguments, whose arrays change where it changes them."""


@dataclass(frozen=True, slots=True)
class AskedReference:
    """``written``: what arrays without names may be, besides those that the reference does not take; ``constants``:
    further arguments that it may take; ``ways``: how its comparisons came out in all runs."""

    function: Callable[..., object]
    written: Sequence[str]
    in_torch: bool
    constants: Mapping[str, bool | int | float] = field(default_factory=dict)
    ways: WaysTaken = field(default_factory=WaysTaken)
    _given: dict[str, None] = field(default_factory=dict)

    def __call__(
        self, point: TrialPoint, arrays: Mapping[str, Array], arguments: Mapping[str, object]
    ) -> Mapping[str, Array]:
        """What it changes on exact numbers, if it does on floats, too.

        :raises Undecided: it does not.
        """
        found = self.on_numbers(point, arrays, arguments)
        dtypes = _types(point)
        runs, scalars = self._runs(dtypes), as_scalars(arguments)
        own = partial(self._changes, runs.own, arguments=scalars)
        wide = partial(self._changes, runs.wide, arguments=scalars)
        hold(found, lambda: own(as_floats(arrays, dtypes)), lambda: wide(as_floats(arrays, {})), arrays)
        return found

    def numbers(self) -> Iterable[float]:
        return numbers_of(self.function)

    def one_way(self) -> Iterable[str]:
        return self.ways.one_way()

    def stepped(self) -> Iterable[str]:
        return self.ways.stepped

    def compared(self) -> Iterable[str]:
        return self._given

    def on_numbers(
        self, point: TrialPoint, arrays: Mapping[str, Array], arguments: Mapping[str, object]
    ) -> dict[str, Array]:
        """What it changes on exact numbers.

        :raises Undecided: it fails on them.
        """
        given = {name: array.copy() for name, array in arrays.items()}
        dtypes = _types(point)
        for name, numbers in given.items():
            if isinstance(numbers, Numbers) and dtypes[name] in NUMPY:
                numbers.floats = float_type(NUMPY[dtypes[name]])
        try:
            with watching(self.function, self.ways):
                found = self._changes(self._runs(dtypes).exact, given, arguments)
            self.ways.stepped.update(found if self.ways.rounds else ())
            self._given.update(dict.fromkeys(found))
            return found
        except (InterpreterStop, TileVerifyError):
            raise
        except (Exception, SystemExit) as error:
            said = " ".join(str(error).split())[:300]
            raise Undecided(f"the reference failed on exact numbers: {type(error).__name__}: {said}") from None

    def _changes(self, run: Run, given: Mapping[str, Array], arguments: Mapping[str, object]) -> dict[str, Array]:
        """What a run with these arrays changes."""
        parameters = tuple(inspect.signature(self.function).parameters.values())
        takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
        named = {**self.constants, **arguments, **given}
        taken = named if takes_all else {each.name: named[each.name] for each in parameters if each.name in named}
        missing = [each.name for each in parameters if each.default is each.empty and each.name not in taken]
        if missing and not takes_all:
            there = ", ".join(named)
            raise UsageError(f"the reference takes '{missing[0]}', which the launch lacks (there are: {there})")
        before = {name: array.copy() for name, array in given.items()}
        result = run(taken)
        unnamed = [name for name in given if takes_all is False and name not in taken]
        return {**_changed(given, before), **_table(result, (unnamed, self.written), given)}

    def _runs(self, dtypes: Mapping[str, str]) -> _Runs:
        return _in_torch(self.function, dtypes) if self.in_torch else _in_numpy(self.function)


@dataclass(frozen=True, slots=True)
class _Runs:
    """A reference on exact numbers, on floats of the launch's types, and on floats that are all float64."""

    exact: Run
    own: Run
    wide: Run


def _in_numpy(function: Callable[..., object]) -> _Runs:
    def exact(taken: Mapping[str, object]) -> object:
        scalars = {name: plain(value).view(FloatNumber) for name, value in taken.items() if _is_scalar(value)}
        with exact_numpy(function):
            return function(**{**taken, **scalars})

    def wide(taken: Mapping[str, object]) -> object:
        with numpy_instead(function, numpy_in_float64()):
            return function(**taken)

    return _Runs(exact, lambda taken: function(**taken), wide)


def _in_torch(function: Callable[..., object], dtypes: Mapping[str, str]) -> _Runs:
    from . import torch_plain, torch_tensors  # only now: they load torch, which need not be there

    return _Runs(
        lambda taken: torch_tensors.run_with_torch(function, taken, dtypes),
        lambda taken: torch_plain.run_in_types(function, taken, dtypes),
        lambda taken: torch_plain.run_in_float64(function, taken),
    )


def _is_scalar(value: object) -> bool:
    return is_numbers(value) and not value.ndim


def _types(point: TrialPoint) -> dict[str, str]:
    return {name: array.dtype for name, array in point.inputs.launch.named_arrays()}


def _changed(given: Mapping[str, Array], before: Mapping[str, Array]) -> dict[str, Array]:
    return {name: array for name, array in given.items() if not _same_bits(array, before[name])}


def _same_bits(one: Array, other: Array) -> bool:
    return plain(one).tobytes() == plain(other).tobytes()


def _table(result: object, meant: Sequence[Sequence[str]], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """What was returned, by name; ``meant``: what arrays without names may be, the first that are as many."""
    if result is None:
        return {}
    if isinstance(result, Mapping):
        strange = [name for name in result if name not in arrays]
        if strange:
            raise UsageError(f"the reference returns '{strange[0]}', which is no array of the launch")
        return dict(result)
    values: list[object] = list(result) if isinstance(result, tuple) else [result]
    names = next((each for each in meant if len(each) == len(values)), None)
    if names is None:
        outputs = ", ".join(meant[-1]) or "nothing"
        raise UsageError(
            f"the reference returns {len(values)} arrays without names, the kernel writes {outputs}; "
            "return a table by name"
        )
    return {name: value if is_numbers(value) else np.asarray(value) for name, value in zip(names, values, strict=True)}
