"""The parameters of a kernel as its source declares them, free of any compiler's own classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One parameter of a kernel function.

    ``hint`` is the plain type of its annotation (``int``, ``bool``, ``float``, ``str``), if it is one.
    ``constant``: annotated ``ct.Constant``.  ``default`` counts only with ``has_default``.  ``scalar_dtype`` and
    ``index_bits`` are what an annotation fixes (``ct.ScalarInt64``, ``ct.IndexedWithInt64``).  ``static_shape`` and
    ``static_strides`` are the dimensions that the annotation makes compile-time constants (negative ones count
    from the end).  For a tuple annotation ``items`` describes each item, or ``each`` all of them.
    """

    name: str
    hint: str | None = None
    constant: bool = False
    has_default: bool = False
    default: Any = None
    scalar_dtype: str | None = None
    index_bits: int | None = None
    static_shape: tuple[int, ...] = ()
    static_strides: tuple[int, ...] = ()
    items: tuple[KernelParameter, ...] | None = None
    each: KernelParameter | None = None

    def item(self, index: int) -> KernelParameter | None:
        """The declaration of one tuple item; a plain annotation holds for every item."""
        if self.items is not None:
            return self.items[index] if index < len(self.items) else None
        return self.each if self.each is not None else self
