"""How NumPy's functions are called: their arguments by name, and which of these a rule has to know of.

A rule is asked for what it says that it takes.  Whatever else a program asks of the function ends the attempt with its
name: an argument that is passed over is another function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

from .exact import NUMBER
from .field import Array
from .float_types import UnknownFloat
from .undecided import Undecided

_FREE: Final = frozenset({"order", "subok", "device", "kind", "stable", "optimize", "casting"})
"""What decides how, or where in memory, and not what is computed."""
_NARROW: Final = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def is_float(dtype: DTypeLike | UnknownFloat | None) -> bool:
    """Whether a type is one of floats, which all are one: rounding is no part of real arithmetic."""
    if dtype is None or isinstance(dtype, UnknownFloat):
        return True
    found = np.dtype(dtype)
    return found.kind == "f" or found == NUMBER or found.name in _NARROW


@lru_cache(maxsize=256)
def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # before NumPy 2.4 those written in C have none
        return None


def asked(
    function: Callable[..., object], rule: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Sequence[object], dict[str, object], Array | None]:
    """Positional arguments and those by name, as ``rule`` takes them, and ``out``.

    The first is positional, all others have NumPy's names; what has its default value is left out.

    :raises Undecided: the rule does not take one of them.
    """
    places, named = _bound(function, args, kwargs)
    out: Array | None = named.pop("out", None)
    taken = inspect.signature(rule).parameters
    for name in [each for each in named if each not in taken]:
        value = named.pop(name)
        if name not in _FREE and not (name == "dtype" and is_float(value)):
            raise Undecided(f"np.{function.__name__} of exact numbers with {name}=")
    return places, named, out


def _bound(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Sequence[object], dict[str, Any]]:
    signature = _signature(function)
    if signature is None:
        return args, dict(kwargs)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise Undecided(f"np.{function.__name__}: {error}") from None
    places: list[object] = []
    named: dict[str, Any] = {}
    for number, (name, value) in enumerate(bound.arguments.items()):
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            places += value
        elif parameter.kind is parameter.POSITIONAL_ONLY or number == 0:
            places.append(value)
        elif value is not parameter.default:
            named[name] = value
    return places, named
