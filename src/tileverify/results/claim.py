"""What a solver model claims, in terms that an independent replay can check without the prover's reasoning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..contract.concrete import Block, ConcreteArray, ConcreteLaunch
from . import Elements, SeenValues
from .codes import TV


@dataclass(frozen=True, slots=True)
class Claim:
    """Obligation ``code`` is broken by ``block_a`` (and ``block_b`` for the obligations between blocks).

    ``offset_a``/``offset_b``: bytecode offsets of the ops at fault; the replay may find the fault at others.
    """

    code: TV
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
def claim_to_json(launch: ConcreteLaunch, claim: Claim) -> dict[str, Any]:
    """A launch and what it is claimed to show, in JSON's types: a witness that outlives the process."""
    return {
        "grid": list(launch.grid),
        "arrays": {name: _array_to_json(array) for name, array in launch.arrays.items()},
        "lists": {name: [_array_to_json(array) for array in arrays] for name, arrays in launch.lists.items()},
        "scalars": dict(launch.scalars),
        "floats": dict(launch.floats),
        "claim": {
            "code": claim.code,
            "block_a": list(claim.block_a),
            "block_b": None if claim.block_b is None else list(claim.block_b),
            "offset_a": claim.offset_a,
            "offset_b": claim.offset_b,
        },
    }


def claim_from_json(document: Mapping[str, Any]) -> tuple[ConcreteLaunch, Claim]:
    """The inverse of `claim_to_json`.  Raises KeyError, TypeError or ValueError."""
    launch = ConcreteLaunch(
        grid=_block(document["grid"]),
        arrays={name: _array_from_json(array) for name, array in document["arrays"].items()},
        scalars=dict(document["scalars"]),
        lists={name: tuple(map(_array_from_json, arrays)) for name, arrays in document["lists"].items()},
        floats=dict(document["floats"]),
    )
    claim = document["claim"]
    block_b = None if claim["block_b"] is None else _block(claim["block_b"])
    return launch, Claim(claim["code"], _block(claim["block_a"]), block_b, claim["offset_a"], claim["offset_b"])


def _array_to_json(array: ConcreteArray) -> dict[str, Any]:
    """Contents as pairs, because JSON has no integer keys."""
    return {
        "dtype": array.dtype,
        "shape": list(array.shape),
        "strides": list(array.strides),
        "contents": [[index, value] for index, value in sorted(array.contents.items())],
        "fill": array.fill,
        "allocation": array.allocation,
        "byte_offset": array.byte_offset,
    }


def _array_from_json(document: Mapping[str, Any]) -> ConcreteArray:
    return ConcreteArray(
        dtype=document["dtype"],
        shape=tuple(document["shape"]),
        strides=tuple(document["strides"]),
        contents=dict(document["contents"]),
        fill=document["fill"],
        allocation=document["allocation"],
        byte_offset=document["byte_offset"],
    )


def _block(axes: Sequence[int]) -> Block:
    x, y, z = axes
    return x, y, z


@dataclass(frozen=True, slots=True)
class Shown:
    """What all blocks of a launch showed: the first fault of the claimed kind; ``claim`` names the blocks at fault.

    ``at_stake``: the claimed ops touched memory, in whichever blocks; one block alone shows that the launch has blocks
    that keep away.  Otherwise the launch says nothing about the claim.  ``otherwise``: faults of other kinds showed.
    ``reach``: elements from the first to behind the last that one block touched at the claimed ops.
    """

    claim: Claim
    confirmation: Confirmation | None
    at_stake: bool
    otherwise: bool = False
    reach: int = 0


class Confirm(Protocol):
    """Runs the launch and looks for the fault; ``None`` if it does not show (or cannot be run)."""

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> Confirmation | None: ...

    def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
        """The same between, or in, any of its blocks."""
        ...
