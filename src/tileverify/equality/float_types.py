"""The type of a reference's floats, where it asks: exact numbers have none, those that they stand for may."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .exact import NUMBER
from .undecided import Undecided


class UnknownFloat:
    """What ``x.dtype`` is of numbers whose type is not followed.  Arrays may be made of it; whoever looks into it, to
    branch on it, ends the attempt."""

    def _refused(self, *_: object) -> NoReturn:
        raise Undecided("the type (dtype) of computed floats")

    __eq__ = __ne__ = __hash__ = __str__ = __repr__ = __bool__ = __getattr__ = _refused


UNKNOWN: Final = UnknownFloat()

FloatType: TypeAlias = "np.dtype[np.generic] | UnknownFloat"


_NARROW: Final = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def is_float(dtype: DTypeLike | UnknownFloat | None) -> bool:
    """Whether a type is one of floats, which all are one: rounding is no part of real arithmetic."""
    if dtype is None or isinstance(dtype, UnknownFloat):
        return True
    found = np.dtype(dtype)
    return found.kind == "f" or found == NUMBER or found.name in _NARROW


def float_type(dtype: DTypeLike | UnknownFloat | None) -> FloatType:
    """The type of floats that ``dtype`` asks for: None is NumPy's own choice."""
    if isinstance(dtype, UnknownFloat):
        return UNKNOWN
    found: np.dtype[np.generic] = np.dtype(dtype)
    return found if found.kind == "f" else UNKNOWN


def joint(types: Iterable[FloatType | ArrayLike]) -> FloatType:
    """The type of what NumPy computes of operands: types of those that are numbers, and all others themselves."""
    known: list[np.dtype[np.generic] | ArrayLike] = []
    for each in types:
        if isinstance(each, UnknownFloat):
            return UNKNOWN
        known.append(each)
    return float_type(np.result_type(*known))
