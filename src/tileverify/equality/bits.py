"""The bits of floats as integers: what goes there and back is what it was, all else is not decided."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..frontend.bytecode.model import ScalarType
from .field import Array
from .undecided import Undecided


class Bits(np.ndarray):
    """Numbers of the float type ``element``, which stand where their bits would."""

    element: ScalarType | None = None

    @classmethod
    def of(cls, numbers: Array, element: ScalarType) -> Bits:
        found = np.ndarray.view(numbers, cls)
        found.element = element
        return found

    def __array_finalize__(self, whole: object) -> None:
        self.element = getattr(whole, "element", None)

    def numbers(self) -> Array:
        return np.ndarray.view(self, np.ndarray)

    def _asked(self, *_: Any, **__: Any) -> NoReturn:
        raise Undecided("the bits of floats")

    __array_ufunc__ = astype = view = tobytes = _asked
