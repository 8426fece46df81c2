"""What the code of a reference names: its own, and that of the functions of Python that it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, Final

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
