"""The grid that partitioned outputs give a launch, as the launcher of cuTile Rust infers it.

    blocks along axis k of the grid  =  ceil(size k of the tensor / size k of its tile)

Every partition has such a grid, and the launcher refuses a launch in which two of them differ (`partition_launch_grid`
and `GridBound::Exact` in ``cutile/src/tensor.rs`` of NVlabs/cutile-rs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ..system.errors import SpecError
from .expressions import print_expression
from .launch import Apply, Argument, ArrayArgument, Expression, Number, flat

Grid: TypeAlias = tuple[Expression, Expression, Expression]


def inferred_grid(arguments: Sequence[Argument]) -> Grid | None:
    """The grid of the first partition; ``None`` where there is none."""
    return next(_grids(arguments), None)


def agreements(arguments: Sequence[Argument]) -> tuple[Expression, ...]:
    """What makes the grids of all partitions one: equations, for those that are not written alike.

    Raises `SpecError` where they are different numbers.
    """
    grids = list(_grids(arguments))
    pairs = dict.fromkeys((a, b) for other in grids[1:] for a, b in zip(grids[0], other, strict=True) if a != b)
    if any(isinstance(a, Number) and isinstance(b, Number) for a, b in pairs):
        raise SpecError("the partitions of two outputs have different numbers of tiles, so there is no launch")
    return tuple(Apply("==", pair) for pair in pairs)


def grid_text(grid: Grid) -> tuple[str, ...]:
    """The axes in words, without those behind the last that is not 1."""
    axes = [*map(print_expression, grid)]
    while len(axes) > 1 and axes[-1] == "1":
        axes.pop()
    return tuple(axes)


def _grids(arguments: Sequence[Argument]) -> Iterator[Grid]:
    for array in flat(arguments):
        if isinstance(array, ArrayArgument) and array.partition is not None:
            axes = [_tiles(size, tile) for size, tile in zip(array.shape, array.partition, strict=True)]
            axes += [Number(1)] * (3 - len(axes))
            yield axes[0], axes[1], axes[2]


def _tiles(size: Expression, tile: int) -> Expression:
    if isinstance(size, Number):
        return Number(-(-size.value // tile))
    return size if tile == 1 else Apply("cdiv", (size, Number(tile)))
