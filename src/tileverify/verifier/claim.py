"""What a solver model claims, in terms that an independent replay can check without the prover's reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

Block: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ConcreteArray:
    """One array argument of a concrete launch.

    ``shape``/``strides`` in elements.  ``contents`` gives integer elements by linear *storage* index (element
    offset from the base pointer); all others are ``fill``.  ``allocation`` names the memory that the array lives
    in and ``byte_offset`` its place there: two arguments overlap only if they name one allocation.
    ``allocation_bytes`` is the size of that memory behind the array's first byte.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contents: Mapping[int, int] = field(default_factory=dict)
    fill: int = 0
    allocation: str = ""
    byte_offset: int = 0


@dataclass(frozen=True, slots=True)
class ConcreteLaunch:
    """Numbers for every argument of the entry, by the launch spec's argument names, and the grid.

    ``floats``: float scalars; one that is not named is 0, as no contract speaks of them.
    """

    grid: Block
    arrays: Mapping[str, ConcreteArray]
    scalars: Mapping[str, int]
    lists: Mapping[str, tuple[ConcreteArray, ...]] = field(default_factory=dict)
    floats: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """Obligation ``code`` is broken by ``block_a`` (and ``block_b`` for the obligations between blocks).

    ``offset_a``/``offset_b``: bytecode offsets of the ops at fault; the replay may find the fault at others.
    """

    code: str
    block_a: Block
    block_b: Block | None
    offset_a: int | None = None
    offset_b: int | None = None


@dataclass(frozen=True, slots=True)
class Touch:
    """One side of a confirmed fault: the op (bytecode offset) and how it accessed the byte."""

    offset: int
    access: str  # "load", "store", "atomic", "assume", ...
    block: Block


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The replay saw the fault: on ``array``, byte ``byte`` of its allocation, ``element`` as ``c[1, 0]``."""

    array: str
    element: str
    byte: int
    first: Touch
    second: Touch | None
    replayed_by: str


class Confirm(Protocol):
    """Runs the launch and looks for the fault; ``None`` if it does not show (or cannot be run)."""

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> Confirmation | None: ...
