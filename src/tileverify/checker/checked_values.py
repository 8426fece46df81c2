"""What a value of the program is to the checker.

Integers, conditions and tiles of them are terms; a float or a tile of floats is `Opaque`; the rest is below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..contract.terms import Term
from ..contract.terms.launch_wide import Opaque
from ..frontend.bytecode.model import ScalarType
from ..frontend.symbolic.summary import Origin


@dataclass(frozen=True, slots=True)
class Address:
    """``offset`` bytes behind the first byte of ``origin``, lane by lane."""

    origin: Origin
    offset: Term


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor view: ``shape`` and ``strides`` in elements, ``base`` bytes behind the origin."""

    origin: Origin
    base: Term
    element: ScalarType
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tensor view cut into tiles of ``tile`` elements, ``step`` elements apart along each view dimension.

    ``dims``: the layout's dimension of each view dimension.  ``by_element``: indices count elements, not tiles;
    ``sparse``: the view dimension whose index is a tile.
    """

    layout: Layout
    tile: tuple[int, ...]
    step: tuple[int, ...]
    dims: tuple[int, ...]
    padding: str | None
    by_element: bool = False
    sparse: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A token: by the offset of an access, the condition under which an instance of it is certainly awaited.

    The instance's iterations appear as `earlier`, as in `Wait`.
    """

    awaits: Mapping[int, Term]


Value: TypeAlias = Term | Opaque | Address | Layout | Tiling | Waiting


@dataclass
class Misread(Exception):
    """The bytecode does something else than what is said of it."""

    message: str


@dataclass
class NotFollowed(Exception):
    """Something that the checker has no rule for, or no answer: it says nothing of this kernel."""

    message: str
