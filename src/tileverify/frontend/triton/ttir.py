"""The model of a Triton IR module (the ``ttir`` stage), as its printed form says it.

Types are those of Tile IR: a tensor is a tile, a scalar a tile without dimensions.  Values are known by their printed
names (``%offs_3``, ``%22#1``), which a nested region may use again for another value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..bytecode.location import Location
from ..bytecode.model import ScalarType, TileType


@dataclass(frozen=True, slots=True)
class DescriptorType:
    """A tensor descriptor: the block that one access moves.  Its integers have signs, which `max` and `min` follow."""

    element: ScalarType
    block: tuple[int, ...]
    unsigned: bool = False


TritonType: TypeAlias = TileType | DescriptorType
AttributeValue: TypeAlias = "int | float | bool | str | tuple[AttributeValue, ...]"


@dataclass(frozen=True, slots=True)
class Successor:
    """A jump to a block, and the values of its arguments."""

    block: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TritonOp:
    """One operation.

    ``operands`` are all values in printed order, those of successors excepted; ``groups`` are the lengths of the
    bracketed lists among them (sizes and strides of a descriptor, indices of an access).  ``words`` are the bare words
    and texts in printed order (``slt``, ``acq_rel``, ``gpu``), each with the number of operands before it.
    ``printed_types`` are those behind its colon.
    """

    name: str
    results: tuple[str, ...] = ()
    result_types: tuple[TritonType, ...] = ()
    operands: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()
    words: tuple[tuple[str, int], ...] = ()
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    regions: tuple[TritonRegion, ...] = ()
    successors: tuple[Successor, ...] = ()
    location: Location | None = None
    printed_types: tuple[TritonType, ...] = ()

    @property
    def result_type(self) -> TritonType:
        (only,) = self.result_types
        return only

    def word(self, position: int) -> str:
        return self.words[position][0]

    def integer(self, name: str) -> int:
        value = self.attributes[name]
        assert isinstance(value, int), (self.name, name, value)
        return value


@dataclass(frozen=True, slots=True, eq=False)
class TritonBlock:
    """``label`` is empty for the first block of a region that has none."""

    label: str
    arguments: tuple[str, ...]
    types: tuple[TritonType, ...]
    ops: tuple[TritonOp, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TritonRegion:
    blocks: tuple[TritonBlock, ...]

    @property
    def block(self) -> TritonBlock:
        (only,) = self.blocks
        return only


@dataclass(frozen=True, slots=True, eq=False)
class TritonParameter:
    """``name`` is its printed name without the ``%``; ``attributes`` what the launcher establishes of it."""

    name: str
    type: TritonType
    attributes: Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True, eq=False)
class TritonFunction:
    name: str
    public: bool
    parameters: tuple[TritonParameter, ...]
    result_types: tuple[TritonType, ...]
    body: TritonRegion
    location: Location | None

    def forwards(self) -> tuple[TritonBlock, ...]:
        """The blocks, each behind all that jump to it; MLIR prints them in the order of their making.

        Blocks on a circle of jumps, of which Triton makes none, are left out.
        """
        blocks = {block.label: block for block in self.body.blocks}
        waiting = dict.fromkeys(blocks, 0)
        for block in self.body.blocks:
            for successor in block.ops[-1].successors:
                waiting[successor.block] += 1
        ready, ordered = [self.body.blocks[0].label], []
        while ready:
            block = blocks[ready.pop()]
            ordered.append(block)
            for successor in block.ops[-1].successors:
                waiting[successor.block] -= 1
                if not waiting[successor.block]:
                    ready.append(successor.block)
        return tuple(ordered)


@dataclass(frozen=True, slots=True, eq=False)
class TritonModule:
    functions: Mapping[str, TritonFunction]

    @property
    def kernels(self) -> tuple[TritonFunction, ...]:
        """The functions that can be launched."""
        return tuple(function for function in self.functions.values() if function.public)
