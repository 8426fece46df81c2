"""References as people write them: a function of the launch's arrays, sizes, scalars and constants by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..backend.interpreter import InterpreterStop
from ..backend.numbers.elements import NUMPY
from ..frontend.sources.importing import import_file
from ..system.errors import TileVerifyError, UsageError
from .creating import exact_numpy
from .deciding import Other
from .exact_arrays import Numbers, is_numbers, plain
from .field import Array
from .float_types import float_type
from .points import TrialPoint
from .torch_use import uses_torch
from .undecided import Undecided


def loaded(text: str) -> Callable[..., object]:
    """The function that ``FILE.py::FUNCTION`` names; raises `UsageError` where there is none."""
    file, separator, function = text.partition("::")
    if not separator or not function or not Path(file).is_file():
        raise UsageError(f"--reference {text}: write FILE.py::FUNCTION, with a file that is there")
    found: object = getattr(import_file(Path(file)), function, None)
    if not callable(found):
        raise UsageError(f"--reference {text}: the file has no function '{function}'")
    return found


def other_of(function: Callable[..., object], written: Sequence[str] = ()) -> Other:
    """The reference as `decide` asks it: it returns a table by name, arrays, or changes its arguments.

    Arrays without names are those that it does not take, or those that the kernel writes: ``written``, in the order of
    its parameters.
    """
    parameters = tuple(inspect.signature(function).parameters.values())
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    in_torch = uses_torch(function)

    def other(point: TrialPoint, arrays: Mapping[str, Array], arguments: Mapping[str, object]) -> Mapping[str, Array]:
        given = {name: array.copy() for name, array in arrays.items()}
        for name, array in point.inputs.launch.named_arrays():
            if isinstance(numbers := given[name], Numbers) and array.dtype in NUMPY:
                numbers.floats = float_type(NUMPY[array.dtype])
        named = {**arguments, **given}
        taken = named if takes_all else {each.name: named[each.name] for each in parameters if each.name in named}
        missing = [each.name for each in parameters if each.default is each.empty and each.name not in taken]
        if missing and not takes_all:
            there = ", ".join(named)
            raise UsageError(f"the reference takes '{missing[0]}', which the launch lacks (there are: {there})")
        try:
            if in_torch:
                result = _with_torch(function, taken, point)
            else:
                with exact_numpy(function):
                    result = function(**taken)
        except (InterpreterStop, TileVerifyError):
            raise
        except (Exception, SystemExit) as error:
            said = " ".join(str(error).split())[:300]
            raise Undecided(f"the reference failed on exact numbers: {type(error).__name__}: {said}") from None
        unnamed = [name for name in given if takes_all is False and name not in taken]
        return {**_changed(given, arrays), **_table(result, (unnamed, written), arrays)}

    return other


def _with_torch(function: Callable[..., object], taken: Mapping[str, object], point: TrialPoint) -> object:
    from .torch_tensors import run_with_torch  # only now: it loads torch, which need not be there

    dtypes = {name: array.dtype for name, array in point.inputs.launch.named_arrays()}
    return run_with_torch(function, taken, dtypes)


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
