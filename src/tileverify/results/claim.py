"""What a solver model claims, in terms that an independent replay can check without the prover's reasoning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ..contract.launch import Block, ConcreteArray, ConcreteLaunch
from . import Elements, SeenValues
from .codes import TV
from .json_fields import OMITTED, REQUIRED, coded
from .json_report import Json, from_json, to_json


@dataclass(frozen=True, slots=True)
class Claim:
    """Obligation ``code`` is broken by ``block_a`` (and ``block_b`` for the obligations between blocks).

    ``offset_a``/``offset_b``: bytecode offsets of the ops at fault; the replay may find the fault at others.
    ``array``: the one that nobody filled (TV711, TV712).
    """

    code: TV = field(metadata=coded(str, str, lambda read: TV(read.code)))
    block_a: Block
    block_b: Block | None
    offset_a: int | None = field(default=None, metadata=REQUIRED)
    offset_b: int | None = field(default=None, metadata=REQUIRED)
    array: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True, slots=True)
class Touch:
    """One side of a confirmed fault: the op (bytecode offset) and how it accessed the byte."""

    offset: int
    access: str  # "load", "store", "atomic", "assume", ...
    block: Block


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The replay saw the fault: on ``array``, from byte ``byte`` of its allocation, ``element`` as ``c[1, 0:64]``.

    ``elements``: the same for programs, where the array has a layout.  ``steps``: what the replay took, in the
    interpreter's units.  ``source``: bytecode offset of the op that left open what reached the first one (TV403).
    ``values`` runs the launch once more and tells what both sides read and wrote.
    """

    array: str
    element: str
    byte: int
    first: Touch
    second: Touch | None
    replayed_by: str
    elements: Elements | None = None
    steps: int = 0
    source: int | None = None
    values: Callable[[], SeenValues | None] = field(default=lambda: None, compare=False, repr=False)


# ------------------------------------------------------------------------------------------------- as JSON
@dataclass(frozen=True, slots=True)
class ArrayDocument:
    """A `ConcreteArray`, with ``contents`` as pairs of index and value: JSON has no integer keys."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contents: tuple[tuple[int, int], ...]
    fill: int
    allocation: str
    byte_offset: int


@dataclass(frozen=True, slots=True)
class LaunchDocument:
    """A launch and what it is claimed to show: a witness that outlives the process."""

    grid: Block
    arrays: Mapping[str, ArrayDocument]
    lists: Mapping[str, tuple[ArrayDocument, ...]]
    scalars: Mapping[str, int]
    floats: Mapping[str, float]
    claim: Claim


def claim_to_json(launch: ConcreteLaunch, claim: Claim) -> Json:
    """A `LaunchDocument` in JSON's types."""
    document = LaunchDocument(
        grid=launch.grid,
        arrays={name: _array_document(array) for name, array in launch.arrays.items()},
        lists={name: tuple(map(_array_document, arrays)) for name, arrays in launch.lists.items()},
        scalars=launch.scalars,
        floats=launch.floats,
        claim=claim,
    )
    return to_json(document)


def claim_from_json(document: Mapping[str, object]) -> tuple[ConcreteLaunch, Claim]:
    """The inverse of `claim_to_json`.  Raises KeyError or ValueError."""
    read = from_json(document, LaunchDocument)
    launch = ConcreteLaunch(
        grid=read.grid,
        arrays={name: _read_array(array) for name, array in read.arrays.items()},
        scalars=read.scalars,
        lists={name: tuple(map(_read_array, arrays)) for name, arrays in read.lists.items()},
        floats=read.floats,
    )
    return launch, read.claim


def _array_document(array: ConcreteArray) -> ArrayDocument:
    return ArrayDocument(
        dtype=array.dtype,
        shape=array.shape,
        strides=array.strides,
        contents=tuple(sorted(array.contents.items())),
        fill=array.fill,
        allocation=array.allocation,
        byte_offset=array.byte_offset,
    )


def _read_array(document: ArrayDocument) -> ConcreteArray:
    return ConcreteArray(
        dtype=document.dtype,
        shape=document.shape,
        strides=document.strides,
        contents=dict(document.contents),
        fill=document.fill,
        allocation=document.allocation,
        byte_offset=document.byte_offset,
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """What all blocks of a launch showed: the first fault of the claimed kind; ``claim`` names the blocks at fault.

    ``at_stake``: the claimed ops touched memory, in whichever blocks; one block alone shows that the launch has blocks
    that keep away.  Otherwise the launch says nothing about the claim.  ``otherwise``: faults of other kinds showed.
    ``reach``: elements from the first to behind the last that one block touched at the claimed ops.  ``cut``: steps ran
    out before a fault showed, so that nobody knows.
    """

    claim: Claim
    confirmation: Confirmation | None
    at_stake: bool
    otherwise: bool = False
    reach: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Enumerated:
    """What all ``blocks`` of one launch do, each by itself, in ``steps`` of at most ``most`` steps of the interpreter.

    ``claim``: a fault that the launch has.  ``reason``: why it is not known whether it has one; ``asks_contents``: it
    hangs on what the launch does not give.
    """

    blocks: int
    steps: int
    most: int
    claim: Claim | None
    reason: str
    asks_contents: bool = False

    @property
    def is_faultless(self) -> bool:
        """Whether no execution of the launch has a fault."""
        return self.claim is None and not self.reason


class Confirm(Protocol):
    """Runs the launch and looks for the fault; ``None`` if it does not show (or cannot be run)."""

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> Confirmation | None: ...

    def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
        """The same between, or in, any of its blocks."""
        ...


RunsEveryBlock: TypeAlias = Callable[[ConcreteLaunch, Collection[str]], Enumerated]
"""Whether any execution of the launch has a fault; arrays that are not named may hold anything."""
