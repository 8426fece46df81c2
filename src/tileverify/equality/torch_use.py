"""Whether a reference is written in torch: by what its code, and the code of the functions that it calls, names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType

from .reference_code import LIBRARIES, functions_of, names, variables


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
