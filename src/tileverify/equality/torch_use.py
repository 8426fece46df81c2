"""Whether a reference is written in torch: by what its code, and the code of the functions that it calls, names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PACKAGES = ("torch", "numpy")


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
    return code is not None and any(name.partition(".")[0] == "torch" for name in _names(code))


def _packages(function: Callable[..., object]) -> Iterator[str]:
    """Torch or NumPy for each thing of theirs that is named."""
    own = _package(function)
    if own:
        yield own
    done: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        code = getattr(value, "__code__", None)
        if code is None or id(code) in done:
            continue
        done.add(id(code))
        known = value.__globals__ | dict(_around(value))
        for name in _names(code):
            if name in _PACKAGES:
                yield name
            found = known.get(name)
            package = _package(found)
            if package:
                yield package
            elif isinstance(found, FunctionType):
                waiting.append(found)


def _around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables of functions around it."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it is not there yet
            continue


def _names(code: CodeType) -> Iterator[str]:
    """Of globals, variables from around it, attributes and imports, in functions inside of it, too."""
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _package(value: object) -> str:
    """``torch`` or ``numpy`` for a module, function, class or object of theirs."""
    if isinstance(value, ModuleType):
        name = value.__name__
    else:
        name = str(getattr(value, "__module__", None) or type(value).__module__)
    classes = [base.__module__.partition(".")[0] for base in type(value).__mro__]
    found = name.partition(".")[0]
    return found if found in _PACKAGES else next((each for each in classes if each in _PACKAGES), "")
