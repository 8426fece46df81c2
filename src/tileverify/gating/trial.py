"""Outside of the sandbox: what a proved kernel computed on small inputs, compared with the caller's reference.

A reference is trusted code of the caller: ``FILE.py::FUNCTION``.  It is called with the arguments of the launch that it
names (all, if it takes ``**names``): arrays of NumPy, which it may change, and numbers.  It returns what is in the
arguments after the launch: a table by name, or one array for the one that it does not take, or nothing if it changed
its arrays in place.  Every element of every argument is compared; what the reference leaves alone the kernel must, too.
"""

from __future__ import annotations

import base64
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..execution.elements import numbers, storage_type
from ..frontend.sources.importing import import_file
from .model import Reason

Array = NDArray[Any]
Reference = Callable[..., Any]

_TOLERANCES: Final = {"f64": 1e-9, "f32": 1e-4, "tf32": 1e-2, "f16": 1e-2, "bf16": 4e-2, "f8e4m3": 0.2, "f8e5m2": 0.4}
"""Of the largest expected value, by element type; a kernel may add up in another order than its reference."""


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


def load_reference(text: str) -> Reference:
    """The function that ``FILE.py::FUNCTION`` names; raises `UsageError` or `SourceError`."""
    file, separator, function = text.partition("::")
    if not separator or not function or not Path(file).is_file():
        raise UsageError(f"--reference {text}: write FILE.py::FUNCTION, with a file that is there")
    found = getattr(import_file(Path(file)), function, None)
    if not callable(found):
        raise UsageError(f"--reference {text}: the file has no function '{function}'")
    return found  # type: ignore[no-any-return]


def read_tried(data: bytes) -> tuple[Tried, ...]:
    """The lines that `trial_job` sent; raises ValueError, KeyError or TypeError for anything else."""
    return tuple(_tried(json.loads(line)) for line in data.split(b"\n")[:-1])


def _tried(document: dict[str, Any]) -> Tried:
    arguments = {}
    for name, array in document["arrays"].items():
        stored, shape = storage_type(array["dtype"]), tuple(array["shape"])
        before, after, written = (
            np.frombuffer(base64.b64decode(array[key], validate=True), kind).reshape(shape)
            for key, kind in (("before", stored), ("after", stored), ("written", np.dtype(np.bool_)))
        )
        arguments[name] = Argument(array["dtype"], before, after, written)
    others = {**document["constants"], **document["floats"]}
    return Tried(
        document["values"], others, document["filling"], arguments, tuple(document["lists"]), document["stopped"]
    )


def summary(tried: Sequence[Tried]) -> dict[str, Any]:
    """For the answer: how many launches, and how much of each array they wrote at least and at most."""
    parts: dict[str, list[float]] = {}
    for each in tried:
        for name, argument in each.arguments.items():
            if argument.written.size:
                parts.setdefault(name, []).append(float(np.count_nonzero(argument.written)) / argument.written.size)
    written = {name: [round(min(part), 6), round(max(part), 6)] for name, part in parts.items() if max(part) > 0}
    return {"launches": len(tried), "written": written}


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


# -------------------------------------------------------------------------------------------- the reference
def disagreements(tried: Sequence[Tried], reference: Reference) -> Iterator[Reason]:
    """How the kernel and its reference differ, at most one reason of a kind.

    Raises `UsageError` where the reference itself fails.
    """
    told: set[str] = set()
    if tried[0].lists:
        yield Reason("not-compared", f"lists of arrays are not compared with a reference ({', '.join(tried[0].lists)})")
    expected = [_expected(each, reference) for each in tried]
    wrong = [reason for each, wanted in zip(tried, expected, strict=True) for reason in _differences(each, wanted)]
    if wrong and _is_constant(tried, expected):
        yield Reason("constant-output", "what it writes does not depend on its inputs, what it should write does")
    for reason in wrong:
        if reason.id not in told:
            told.add(reason.id)
            yield reason


def _expected(tried: Tried, reference: Reference) -> dict[str, Array]:
    """Every argument after the launch, as the reference has it."""
    arrays = {name: np.array(numbers(each.before, each.dtype)) for name, each in tried.arguments.items()}
    given = {**tried.others, **tried.values, **arrays}
    parameters = tuple(inspect.signature(reference).parameters.values())
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    for parameter in parameters:
        needed = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty
        if needed and parameter.name not in given:
            there = ", ".join(given)
            raise UsageError(f"the reference takes '{parameter.name}', which the launch lacks (there are: {there})")
    try:
        result = reference(**(given if takes_all else {p.name: given[p.name] for p in parameters if p.name in given}))
    except Exception as error:
        raise UsageError(f"the reference failed ({tried.where}): {type(error).__name__}: {error}") from None
    if result is None:
        return arrays
    if not isinstance(result, Mapping):
        outputs = [] if takes_all else [name for name in arrays if name not in {p.name for p in parameters}]
        if len(outputs) != 1:
            raise UsageError(
                "the reference returns one array, but takes not all arrays but one; return a table by name"
            )
        result = {outputs[0]: result}
    strange = [name for name in result if name not in arrays]
    if strange:
        raise UsageError(f"the reference returns '{strange[0]}', which is no array of the launch")
    try:
        new = {name: np.broadcast_to(np.asarray(array), arrays[name].shape) for name, array in result.items()}
    except ValueError as error:
        raise UsageError(f"the reference returns an array of another shape ({tried.where}): {error}") from None
    return {**arrays, **new}


def _differences(tried: Tried, expected: Mapping[str, Array]) -> Iterator[Reason]:
    for name, argument in tried.arguments.items():
        before, after = numbers(argument.before, argument.dtype), numbers(argument.after, argument.dtype)
        wrong = ~_close(after, expected[name], argument.dtype)
        if not wrong.any():
            continue
        changes = ~_close(before, expected[name], argument.dtype)
        skipped = wrong & ~argument.written & changes
        where = np.argwhere(skipped if skipped.any() else wrong)[0]
        place = f"{name}[{', '.join(map(str, where))}]"
        at = tuple(where)
        if skipped.any():
            count = int(skipped.sum())
            yield Reason("not-written", f"{place} is not written, one of {count} such elements ({tried.where})")
        elif not changes[at] and argument.written[at]:
            yield Reason("written-elsewhere", f"{place} is written, but should stay as it is ({tried.where})")
        else:
            values = f"{after[at]} instead of {expected[name][at]}"
            yield Reason("wrong-result", f"{place} is {values}, with {int(wrong.sum())} wrong elements ({tried.where})")


def _close(values: Array, expected: Array, dtype: str) -> Array:
    """Where ``values`` are what is expected: exactly, or for floats within the tolerance of their type."""
    if dtype not in _TOLERANCES:
        return np.asarray(values == expected)
    wide, wanted = values.astype(np.float64), expected.astype(np.float64)
    finite = wanted[np.isfinite(wanted)]
    room = _TOLERANCES[dtype] * max(1e-3, float(np.abs(finite).max()) if finite.size else 0.0)
    with np.errstate(all="ignore"):
        return np.asarray((np.abs(wide - wanted) <= room) | (wide == wanted) | (np.isnan(wide) & np.isnan(wanted)))


def _is_constant(tried: Sequence[Tried], expected: Sequence[Mapping[str, Array]]) -> bool:
    """Whether launches of one size wrote the same values everywhere, where the reference has different ones."""
    first, *others = range(len(tried))
    same = [number for number in others if tried[number].values == tried[first].values]
    outputs = [name for name, argument in tried[first].arguments.items() if argument.written.any()]

    def written(number: int, name: str) -> Array:
        argument = tried[number].arguments[name]
        return np.asarray(argument.after[argument.written])

    pairs = [(number, name) for number in same for name in outputs]
    constant = all(written(first, name).tobytes() == written(number, name).tobytes() for number, name in pairs)
    return constant and any(
        expected[first][name].tobytes() != expected[number][name].tobytes() for number, name in pairs
    )
