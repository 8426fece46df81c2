"""What the code of a reference names: its own, and that of the functions of Python that it calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from .branches import WaysTaken
from .field import Array

LIBRARIES: Final = ("torch", "numpy")
"""Packages whose code is none of the reference's."""
_MOST_NUMBERS: Final = 32
_SMALL: Final = 4
"""Integers up to this are axes and powers, mostly."""


def functions_of(function: Callable[..., object]) -> Iterator[FunctionType]:
    """The function, and those that it, and these, call by name."""
    done: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        code = getattr(value, "__code__", None)
        if code is None or id(code) in done:
            continue
        done.add(id(code))
        yield value
        known = variables(value)
        found = (known.get(name) for name in names(code))
        waiting += [each for each in found if isinstance(each, FunctionType) and not _of_library(each)]


def _of_library(function: FunctionType) -> bool:
    return str(function.__module__).partition(".")[0] in LIBRARIES


def variables(function: FunctionType) -> dict[str, Any]:
    """Those of its module and of functions around it."""
    found = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it is not there yet
            continue
    return found


def names(code: CodeType) -> Iterator[str]:
    """Of globals, variables from around it, attributes and imports, in functions inside of it, too."""
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names(constant)


def numbers_of(function: Callable[..., object]) -> list[float]:
    """Floats, and integers that are no small ones, which the code holds, names, or has as defaults."""
    found: dict[float, None] = {}
    for each in functions_of(function):
        known = variables(each)
        defaults = (*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values())
        named = (known.get(name) for name in names(each.__code__))
        found |= dict.fromkeys(_numbers((*_constants(each.__code__), *defaults, *named)))
    return list(found)[:_MOST_NUMBERS]


def _constants(code: CodeType) -> Iterator[object]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        elif isinstance(constant, tuple):
            yield from constant
        else:
            yield constant


def _numbers(values: Iterable[object]) -> Iterator[float]:
    for value in values:
        if isinstance(value, float) and 0 < abs(value) < float("inf"):
            yield value
        if isinstance(value, int) and _SMALL < abs(value) < 1 << 62:
            yield float(value)


# ------------------------------------------------------------------------------------------------------------ torch use
# Whether a reference is written in torch: by what its code, and the code of the functions that it calls, names.


def uses_torch(function: Callable[..., object]) -> bool:
    """What is named decides; where neither torch nor NumPy is, whether the file knows torch does."""
    if "torch" not in sys.modules:  # also: a module of torch would have loaded it
        return _imports(function)
    named = set(_packages(function))
    if named:
        return "torch" in named
    return any(_package(value) == "torch" for value in getattr(function, "__globals__", {}).values())


def _imports(function: Callable[..., object]) -> bool:
    """A function may import torch itself, when it is called."""
    code = getattr(function, "__code__", None)
    return code is not None and any(name.partition(".")[0] == "torch" for name in names(code))


def _packages(function: Callable[..., object]) -> Iterator[str]:
    """Torch or NumPy for each thing of theirs that is named."""
    own = _package(function)
    if own:
        yield own
    for each in functions_of(function):
        known = variables(each)
        for name in names(each.__code__):
            package = name if name in LIBRARIES else _package(known.get(name))
            if package:
                yield package


def _package(value: object) -> str:
    """``torch`` or ``numpy`` for a module, function, class or object of theirs."""
    if isinstance(value, ModuleType):
        name = value.__name__
    else:
        name = str(getattr(value, "__module__", None) or type(value).__module__)
    classes = [base.__module__.partition(".")[0] for base in type(value).__mro__]
    found = name.partition(".")[0]
    return found if found in LIBRARIES else next((each for each in classes if each in LIBRARIES), "")


# ------------------------------------------------------------------------------------------------------- reference ways
# Which way the comparisons of a reference come out, each by the line of the reference that makes it.


@dataclass(frozen=True, slots=True)
class AskedHere:
    """``what``: ``comparison >``, ``maximum``; ``line``: in the reference's file, None in another one."""

    what: str
    line: int | None

    def told(self, yes: bool) -> str:
        place = " of the reference" if self.line is None else f" at line {self.line} of the reference"
        if self.what in ("maximum", "minimum"):
            return f"the {self.what}{place} was its {'first' if yes else 'second'} operand at every point"
        return f"the {self.what}{place} was {'true' if yes else 'false'} at every point"


@dataclass(frozen=True, slots=True)
class _Watched:
    file: str
    ways: WaysTaken


_WATCHED: ContextVar[_Watched | None] = ContextVar("watched", default=None)


@contextmanager
def watching(function: Callable[..., object], ways: WaysTaken) -> Iterator[None]:
    """While it is open, what ``function`` compares is noted in ``ways``."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    token = _WATCHED.set(_Watched(file, ways))
    try:
        yield
    finally:
        _WATCHED.reset(token)


def note_rounding() -> None:
    """Something is rounded to an integer, which is noted where somebody watches."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.ways.rounds = True


def noted(what: str, lanes: Array) -> Array:
    """``lanes`` of a comparison, or of a maximum where it takes its first operand, noted where somebody watches."""
    watched = _WATCHED.get()
    if watched is not None and lanes.size:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename != watched.file:
            frame = frame.f_back
        line = frame.f_lineno if frame.f_code.co_filename == watched.file else None
        watched.ways.note(AskedHere(what, line), lanes)
    return lanes
