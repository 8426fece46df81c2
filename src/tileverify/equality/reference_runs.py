"""A reference as `deciding` asks it: on exact numbers, and on floats beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..backend.interpreter import InterpreterStop
from ..backend.numbers.array_files import NUMPY
from ..frontend.sources.importing import import_file
from ..system.errors import TileVerifyError, UsageError
from . import exact
from .branches import WaysTaken
from .exact_arrays import FloatNumber, Numbers, presented
from .field import Array, NearTie, Undecided
from .points import TrialPoint
from .primitives import filled, float_type, is_float, is_numbers, lifted, plain
from .reference_code import numbers_of, uses_torch, watching

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
    from . import torch_tensors  # only now: they load torch, which need not be there
    from . import torch_tensors as torch_plain

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


# ----------------------------------------------------------------------------------------------------------- plain runs
# A reference on ordinary arrays of floats, beside its run on exact numbers.
#
# Exact numbers are of classes of their own, and a reference may ask for them in ways that nothing here can answer as an
# array of floats would: `type`, `isinstance`, `id`, `pickle`, `sys.getsizeof`, attributes.  So it runs on the
# shadows, too, as a caller would give them: arrays of NumPy or tensors of torch of the launch's types, floats and
# integers of Python.  Both have to agree.
#
# What rounds in 16 bits is off by more than a small share.  Then a third run decides, all of whose floats are float64:
# casts between formats of floats do nothing to exact numbers.


Changes: TypeAlias = Mapping[str, Array]
"""The arrays that a reference changes, by name."""


@dataclass(frozen=True, slots=True)
class Room:
    """How far two values may be apart: by a share of the larger, of the largest of their array, and in all."""

    relative: float
    of_largest: float
    absolute: float


IN_FLOAT64: Final = Room(1e-8, 1e-10, 1e-11)
IN_FLOAT32: Final = Room(1e-4, 1e-5, 1e-9)
IN_FEW_BITS: Final = Room(0.05, 0.02, 1e-6)


def hold(found: Changes, own: Callable[[], Changes], wide: Callable[[], Changes], before: Mapping[str, Array]) -> None:
    """Hold what a reference changes on numbers, ``found``, against what it changes on floats of the launch's types
    (``own``) and of float64 (``wide``); these raise what they like.  ``before``: all arrays before it.

    :raises Undecided: it says otherwise on floats than on exact numbers.
    :raises NearTie: it does here, and rounding may be why.
    """
    in_types = _tried(own)
    said = _apart(found, in_types, before, IN_FLOAT32)
    if not said:
        return
    as_in_float64 = not _apart(found, _tried(wide), before, IN_FLOAT64)
    if as_in_float64 and isinstance(in_types, str):  # as torch has no products of 8 bits
        return
    if not _apart(found, in_types, before, IN_FEW_BITS, overflows=as_in_float64):
        return
    if as_in_float64:
        raise NearTie(f"in the types of its arrays the reference says otherwise, beyond rounding: {said}")
    raise Undecided(
        "the reference does not say the same on arrays of floats as on exact numbers, as if it asked what they are "
        f"(type, isinstance): {said}"
    )


def _tried(run: Callable[[], Changes]) -> Changes | str:
    """What a run changes, or why there is no answer."""
    try:
        return run()
    except (Exception, SystemExit) as error:
        return f"it fails on arrays of floats: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _apart(
    found: Changes, plain: Changes | str, before: Mapping[str, Array], room: Room, overflows: bool = False
) -> str:
    """The first element in which both differ, in words, empty if there is none; ``overflows``: what is not finite may
    stand for any number."""
    if isinstance(plain, str):
        return plain
    for name in before:
        if name not in found and name not in plain:
            continue
        one, other = found.get(name, before[name]), plain.get(name, before[name])
        ours, mine = _values(one), _values(other)
        if ours.shape != mine.shape:
            return f"{name} has the shape {mine.shape}, not {ours.shape}"
        unsaid = _unsaid(one, ours)
        if overflows and mine.dtype.kind == "f":
            unsaid |= ~np.isfinite(mine)
        lanes = np.argwhere(_differ(ours, mine, room) & ~unsaid)
        if len(lanes):
            place = tuple(map(int, lanes[0]))
            return f"{name}{list(place)} is {mine[place]}, not {ours[place]}"
    return ""


def _values(value: object) -> Array:
    """Floats, or integers as they are."""
    if is_numbers(value) or isinstance(value, list | tuple):
        return np.asarray(lifted(value)["s"])
    return np.asarray(value)


def _unsaid(value: object, values: Array) -> Array:
    """Elements of which nothing is claimed: numbers beyond float64, and NaN, which memory is that nobody wrote."""
    lost = exact.is_lost(lifted(value)) if is_numbers(value) else np.zeros(values.shape, np.bool_)
    return np.asarray(lost | (np.isnan(values) if values.dtype.kind == "f" else False))


def _differ(ours: Array, mine: Array, room: Room) -> Array:
    if ours.dtype.kind != "f" and mine.dtype.kind != "f":
        return np.asarray(ours != mine)
    a, b = ours.astype(np.float64), mine.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        largest = float(np.abs(np.where(finite, a, 0)).max(initial=0))
        size = np.maximum(np.abs(a), np.abs(b))
        far = np.abs(a - b) > room.relative * size + room.of_largest * largest + room.absolute
        return np.asarray(np.where(finite, far, (a != b) & ~(np.isnan(a) & np.isnan(b))))


# ---------------------------------------------------------------------------------------------- arguments
def as_floats(numbers: Mapping[str, Array], dtypes: Mapping[str, str]) -> dict[str, Array]:
    """The shadows of arrays of numbers, in NumPy's types of the element types ``dtypes`` (of others in float64, and in
    float32 where NumPy lacks the type), and copies of all others."""
    return {
        name: np.array(lifted(array)["s"]).astype(NUMPY.get(dtypes.get(name, "f64"), "float32"))
        if is_numbers(array)
        else array.copy()
        for name, array in numbers.items()
    }


def as_scalars(arguments: Mapping[str, object]) -> dict[str, object]:
    """Floats of Python for numbers without axes; all others are what they were."""
    return {name: float(lifted(value)["s"]) if is_numbers(value) else value for name, value in arguments.items()}


# ------------------------------------------------------------------------------------------------------------- creating
# NumPy as a reference sees it while it runs on exact numbers.
#
# ``np.zeros(shape)`` asks no array how it would be made, so nothing could be stored there later.  In the reference's
# module the name of NumPy therefore stands for a copy whose functions that make arrays of floats make `Numbers`.


def _filled(value: float) -> Callable[..., Array]:
    """``zeros``, ``ones``, and ``empty``: NaN, so that nothing that was not written is equal to what a kernel wrote."""

    def make(shape: int | Sequence[int], dtype: DTypeLike | None = None, *args: object, **kwargs: object) -> Array:
        if is_float(dtype):
            return presented(filled(shape, value), float_type(dtype))
        return np.full(shape, 0 if np.isnan(value) else value, dtype)

    return make


def _full(shape: int | Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None, **_: object) -> Array:
    if is_float(dtype) and (dtype is not None or is_numbers(fill_value) or isinstance(fill_value, float)):
        return presented(filled(shape, fill_value))
    return np.full(shape, fill_value, dtype)


def _eye(*args: int, dtype: DTypeLike | None = None, **kwargs: Any) -> Array:
    made: Array = np.eye(*args, dtype=np.int64 if is_float(dtype) else np.dtype(dtype), **kwargs)
    return presented(lifted(made)) if is_float(dtype) else made


def _array(value: ArrayLike, dtype: DTypeLike | None = None, *args: Any, **kwargs: Any) -> Array:
    if not (is_numbers(value) or (isinstance(value, list | tuple) and any(map(is_numbers, value)))):
        return np.array(value, dtype, *args, **kwargs)
    if args or not kwargs.keys() <= _FREE:
        raise Undecided("np.array of exact numbers with further arguments")
    made = presented(exact.copied(lifted(value)))
    return made if dtype is None else made.astype(dtype)


_FREE = frozenset({"copy", "order", "subok"})


def _as_array(value: ArrayLike, dtype: DTypeLike | None = None, *args: Any, **kwargs: Any) -> Array:
    """Numbers as they are, so that what is written to them is seen."""
    return value if is_numbers(value) and dtype is None else _array(value, dtype, *args, **kwargs)


def _contiguous(value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    in_order = is_numbers(value) and value.flags.c_contiguous
    return _as_array(value, dtype) if in_order else _array(value, dtype)


class _Numpy(ModuleType):
    """NumPy, but for what makes arrays."""

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)


def numpy_of_numbers() -> _Numpy:
    module = _Numpy("numpy")
    for name, function in {
        "zeros": _filled(0), "empty": _filled(float("nan")), "ones": _filled(1), "full": _full, "eye": _eye,
        "identity": _eye, "array": _array, "asarray": _as_array, "ascontiguousarray": _contiguous,
    }.items():  # fmt: skip
        setattr(module, name, function)
    return module


def numpy_in_float64() -> _Numpy:
    """NumPy whose other types of floats are float64, too."""
    module = _Numpy("numpy")
    for name in ("float16", "half", "float32", "single", "longdouble"):
        setattr(module, name, np.float64)
    return module


def exact_numpy(function: Callable[..., object]) -> AbstractContextManager[None]:
    """While it is open, NumPy makes such arrays in the module of ``function``, and in those whose functions it uses."""
    return numpy_instead(function, numpy_of_numbers())


@contextmanager
def numpy_instead(function: Callable[..., object], numpy: ModuleType) -> Iterator[None]:
    """While it is open, ``numpy`` is what NumPy's name stands for in these modules."""
    replaced = []
    for names in _namespaces(function):
        own = {name: value for name, value in names.items() if value is np}
        replaced.append((names, own))
        names.update(dict.fromkeys(own, numpy))
    try:
        yield
    finally:
        for names, own in replaced:
            names.update(own)


def _namespaces(function: Callable[..., object]) -> list[dict[str, object]]:
    """Of the function's module, and of every module of Python code that a function there comes from.

    What computes with the numbers is none of them, though a reference's module may have imported functions of ours.
    """
    found: list[dict[str, object]] = []
    waiting = [getattr(function, "__globals__", {})]
    own = _room(waiting[0])
    while waiting:
        names = waiting.pop()
        room = _room(names)
        if any(names is known for known in found) or room[:1] == ["numpy"] or (room[:1] == _OURS and room != own):
            continue
        found.append(names)
        waiting += [value.__globals__ for value in list(names.values()) if isinstance(value, FunctionType)]
    return [names for names in found if any(value is np for value in names.values())]


_OURS = __name__.split(".")[:1]


def _room(names: dict[str, object]) -> list[str]:
    """The first two names of a module."""
    return str(names.get("__name__", "")).split(".")[:2]


# ---------------------------------------------------------------------------------------------------------------- named
# References as people write them: a function of the launch's arrays, sizes, scalars and constants by name.


def loaded(text: str) -> Callable[..., object]:
    """The function that ``FILE.py::FUNCTION`` names; raises `UsageError` where there is none."""
    file, separator, function = text.partition("::")
    if not separator or not function or not Path(file).is_file():
        raise UsageError(f"--reference {text}: write FILE.py::FUNCTION, with a file that is there")
    found: object = getattr(import_file(Path(file)), function, None)
    if not callable(found):
        raise UsageError(f"--reference {text}: the file has no function '{function}'")
    return found


def other_of(function: Callable[..., object], written: Sequence[str] = ()) -> AskedReference:
    """The reference as `deciding` asks it: it returns a table by name, arrays, or changes its arguments.

    Arrays without names are those that it does not take, or those that the kernel writes: ``written``, in the order of
    its parameters.
    """
    return AskedReference(function, written, uses_torch(function))
