"""The bits of floats as integers: what goes there and back is what it was, all else is not decided."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from ..frontend.bytecode.model import ScalarType
from .field import Array
from .undecided import Undecided

_MOVING: Final = frozenset({np.broadcast_to, np.reshape, np.transpose, np.squeeze, np.expand_dims})


class Bits(np.ndarray):
    """Numbers of the float type ``element``, which stand where their bits would.  They may be moved, and nothing else:
    a rule for integers that looks at them finds that it is not decided."""

    element: ScalarType | None = None

    @classmethod
    def of(cls, numbers: Array, element: ScalarType | None) -> Bits:
        found = np.ndarray.view(numbers, cls)
        found.element = element
        return found

    def __array_finalize__(self, whole: object) -> None:
        self.element = getattr(whole, "element", None)

    def numbers(self) -> Array:
        return np.ndarray.view(self, np.ndarray)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in _MOVING or not isinstance(args[0], Bits):
            self._asked()
        return Bits.of(func(args[0].numbers(), *args[1:], **kwargs), self.element)

    def _asked(self, *_: Any, **__: Any) -> NoReturn:
        raise Undecided("the bits of floats")

    __array_ufunc__ = astype = view = tobytes = _asked
