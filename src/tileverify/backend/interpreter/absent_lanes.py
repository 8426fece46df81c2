"""Rules for a run in which lanes that are left open are not there: reductions and products do without them.

It is what somebody means who loads a tile that sticks out of its array and says no padding: the lanes beyond the array
are none of the numbers that are summed.  What is computed of open lanes stays open, as in any run; an element of a
product is open if none of its factors are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op
from . import table
from .control import reduced, scanned
from .reductions import identity_of
from .values import UNSPECIFIED, Array, Tile

if TYPE_CHECKING:
    from .machine import BlockRun, Result, Rule


def _open_lanes(tile: Tile) -> Array:
    taint = np.asarray(0 if tile.taint is None else tile.taint, np.uint8)
    return np.broadcast_to(taint & UNSPECIFIED != 0, tile.data.shape)


def _filled(tile: Tile, absent: Array, value: Array) -> Tile:
    """``value`` in the lanes that are absent."""
    taint = None if tile.taint is None else np.where(absent, 0, tile.taint & ~np.uint8(UNSPECIFIED)).astype(np.uint8)
    return Tile(np.where(absent, value.astype(tile.data.dtype), tile.data), taint, tile.origin)


def _combined(rule: Rule) -> Rule:
    """Absent lanes hold the identity."""

    def apply(run: BlockRun, op: Op) -> Result:
        values = op.group("inputs")
        kept = {value: run.values[value] for value in values}
        tiles = run.tiles(op, "inputs")
        absent = np.logical_or.reduce([_open_lanes(tile) for tile in tiles])
        axis = op.attributes["dim"]
        nothing = absent.all(axis=axis) if op.name == "reduce" else absent
        for value, tile, identity in zip(values, tiles, op.attributes["ident"], strict=True):
            run.values[value] = _filled(tile, absent, identity_of(identity).reshape(()))
        try:
            results = rule(run, op)
        finally:
            run.values.update(kept)
        assert isinstance(results, tuple)
        return tuple(_opened(tile, nothing) if isinstance(tile, Tile) else tile for tile in results)

    return apply


def _opened(tile: Tile, lanes: Array) -> Tile:
    if not lanes.any():
        return tile
    taint = np.broadcast_to(np.asarray(0 if tile.taint is None else tile.taint, np.uint8), tile.data.shape)
    return Tile(tile.data, np.where(lanes, taint | UNSPECIFIED, taint).astype(np.uint8))


def _product(rule: Rule) -> Rule:
    """Absent factors are 0, and so are those that meet them."""

    def apply(run: BlockRun, op: Op) -> Result:
        names = [name for name in ("lhs", "rhs", "ls", "rs") if name in op.operands]
        kept = {op.value(name): run.values[op.value(name)] for name in names}
        nothing = np.zeros((), np.bool_)
        for name, axis in (("lhs", -1), ("rhs", -2)):
            nothing = nothing | _open_lanes(run.tile(op, name)).all(axis=axis, keepdims=True)
        left, right = (_open_lanes(run.tile(op, name)) for name in ("lhs", "rhs"))
        # A step of the sum without one of its factors is no step: what the other one holds there may be infinite.
        absent = {
            "lhs": left | np.swapaxes(right.all(axis=-1, keepdims=True), -1, -2),
            "rhs": right | np.swapaxes(left.all(axis=-2, keepdims=True), -1, -2),
        }
        for name in names:
            tile = run.tile(op, name)
            lanes = absent.get(name)
            run.values[op.value(name)] = _filled(tile, _open_lanes(tile) if lanes is None else lanes, np.zeros(()))
        try:
            result = rule(run, op)
        finally:
            run.values.update(kept)
        assert isinstance(result, Tile)
        return _opened(result, np.broadcast_to(nothing, result.data.shape))

    return apply


ABSENT_LANES: Final[Mapping[str, Rule]] = {
    **table.RULES,
    "reduce": _combined(reduced),
    "scan": _combined(scanned),
    **{name: _product(table.RULES[name]) for name in ("mmai", "mmaf", "mmaf_scaled")},
}
