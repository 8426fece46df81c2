"""``reduce`` and ``scan``: their bodies are written for scalars and run here on whole tiles of them.

The order of a reduction is the implementation's.  Bodies of one associative op give the same result in any order;
any other body runs in two orders, and lanes where these differ (and all lanes of float arithmetic) are marked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ...frontend.bytecode.model import Block, Op
from .faults import NotModelled
from .floats import lanes_of
from .machine import OP_COST
from .values import APPROXIMATE, Array, RuntimeValue, Tile, with_taint

if TYPE_CHECKING:
    from .machine import BlockRun

ASSOCIATIVE: Final = frozenset({"addi", "muli", "andi", "ori", "xori", "maxi", "mini", "maxf", "minf"})
ROUNDING: Final = frozenset({"addf", "subf", "mulf", "divf", "fma"})

Lanes: TypeAlias = tuple[Tile, ...]
Evaluate: TypeAlias = "Callable[[Block], tuple[RuntimeValue, ...]]"
Combine: TypeAlias = "Callable[[Lanes, Lanes], Lanes]"


def _combiner(run: BlockRun, op: Op, evaluate: Evaluate) -> tuple[Combine, Block]:
    body = op.regions[0].blocks[0]

    def combine(left: Lanes, right: Lanes) -> Lanes:
        pairs = [tile for pair in zip(left, right, strict=True) for tile in pair]
        run.bind(body.arguments, tuple(pairs))
        shape = left[0].data.shape
        results = []
        for result in evaluate(body):
            if not isinstance(result, Tile):
                raise NotModelled(f"{op.name} of something else than tiles")
            data = result.data if result.data.shape == shape else np.broadcast_to(result.data, shape)
            results.append(Tile(data, result.taint))
        return tuple(results)

    return combine, body


def _slice(tiles: Lanes, place: slice | int, axis: int) -> Lanes:
    index = (slice(None),) * axis + (place,)
    return tuple([tile.rearranged(lambda lanes: lanes[index]) for tile in tiles])


def _halving(combine: Combine, tiles: Lanes, axis: int) -> Lanes:
    """Lane i with lane i + n/2, until one is left (tile dimensions are powers of two)."""
    while (size := tiles[0].data.shape[axis]) > 1:
        tiles = combine(_slice(tiles, slice(0, size // 2), axis), _slice(tiles, slice(size // 2, size), axis))
    return tiles


def _at_once(run: BlockRun, op: Op, axis: int) -> Lanes | None:
    """The same of one input whose lanes have one taint, where the body is one op of NumPy's; None elsewhere."""
    inputs, body = run.tiles(op, "inputs"), op.regions[0].blocks[0]
    taint = inputs[0].taint
    if len(inputs) != 1 or len(body.ops) != 2 or run.program.rules is not None or not (taint is None or not taint.ndim):
        return None
    first, end = body.ops
    combine = lanes_of(first)
    if combine is None or end.group("args") != first.results:
        return None
    if (first.value("lhs"), first.value("rhs")) != body.arguments:
        return None
    lanes = np.moveaxis(inputs[0].data, axis, 0)
    while (half := len(lanes) // 2) > 0:
        lanes = combine(lanes[:half], lanes[half:])
        run.budget.spend(2 * OP_COST + lanes.size)
    return (Tile(lanes[0], taint),)


def _pairing(combine: Combine, tiles: Lanes, axis: int) -> Lanes:
    """Another order: after a rotation by one lane, lane 2i + 1 with lane 2i."""
    tiles = tuple(tile.rearranged(lambda lanes: np.roll(lanes, 1, axis)) for tile in tiles)
    while tiles[0].data.shape[axis] > 1:
        tiles = combine(_slice(tiles, slice(1, None, 2), axis), _slice(tiles, slice(0, None, 2), axis))
    return tiles


def _differ(first: Array, second: Array) -> Array:
    same = first == second
    if first.dtype.kind == "f":
        same = same | (np.isnan(first) & np.isnan(second))
    return np.asarray(~same)


def _order_free(body: Block) -> bool:
    first = body.ops[0]
    return len(body.ops) == 2 and first.name in ASSOCIATIVE and first.attributes.get("ovf", "none") == "none"


def reduce_tiles(run: BlockRun, op: Op, evaluate: Evaluate) -> Lanes:
    """The results of ``reduce``: each input without dimension ``dim``."""
    axis = op.attributes["dim"]
    inputs = run.tiles(op, "inputs")
    combine, body = _combiner(run, op, evaluate)
    results = _at_once(run, op, axis) or _slice(_halving(combine, inputs, axis), 0, axis)
    if inputs[0].data.shape[axis] <= 2 or _order_free(body):
        return results
    if any(inner.name in ROUNDING for inner in body.ops):
        return tuple(tile.tainted(APPROXIMATE) for tile in results)
    others = _slice(_pairing(combine, inputs, axis), 0, axis)
    return tuple(
        Tile(tile.data, with_taint(tile.taint, _differ(tile.data, other.data), APPROXIMATE))
        for tile, other in zip(results, others, strict=True)
    )


def scan_tiles(run: BlockRun, op: Op, evaluate: Evaluate) -> Lanes:
    """The results of the inclusive ``scan`` along ``dim``, from the far end if it is reversed."""
    axis = op.attributes["dim"]
    inputs = run.tiles(op, "inputs")
    combine, body = _combiner(run, op, evaluate)
    size = inputs[0].data.shape[axis]
    places = range(size - 1, -1, -1) if op.attributes["reverse"] else range(size)
    steps: dict[int, Lanes] = {}
    before: Lanes | None = None
    for place in places:
        here = _slice(inputs, place, axis)
        before = steps[place] = here if before is None else combine(before, here)
    results = []
    for number in range(len(inputs)):
        lanes = [steps[place][number] for place in range(size)]
        taint = None
        if any(lane.taint is not None for lane in lanes):
            marks = [np.broadcast_to(0 if lane.taint is None else lane.taint, lane.data.shape) for lane in lanes]
            taint = np.stack(marks, axis).astype(np.uint8)
        results.append(Tile(np.stack([lane.data for lane in lanes], axis), taint))
    if size > 2 and not _order_free(body) and any(inner.name in ROUNDING for inner in body.ops):
        return tuple(tile.tainted(APPROXIMATE) for tile in results)
    return tuple(results)
