"""Matrix products.  Integer ones are exact; float ones add in an order of their own and are marked approximate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op
from .encodings import round_to
from .tiles import scalar_type
from .values import APPROXIMATE, Array, Tile, as_signed, joint_taint

if TYPE_CHECKING:
    from .machine import BlockRun, Rule

STEPS_PER_PRODUCT: Final = 16
"""How many multiply-adds cost as much as one element of an ordinary op."""


def _charge(run: BlockRun, product: Array, depth: int) -> None:
    run.budget.spend(product.size * depth // STEPS_PER_PRODUCT)


def _product_taint(lhs: Tile, rhs: Tile, acc: Tile) -> Array | None:
    """A lane of a product depends on one row of ``lhs``, one column of ``rhs`` and one lane of ``acc``."""
    if lhs.taint is None and rhs.taint is None:
        return acc.taint
    marks = np.zeros(acc.data.shape, np.uint8)
    for tile, axis in ((lhs, -1), (rhs, -2)):
        if tile.taint is not None:
            lanes = np.broadcast_to(tile.taint, tile.data.shape)
            marks |= np.bitwise_or.reduce(lanes, axis=axis, keepdims=True)
    return marks if acc.taint is None else marks | acc.taint


def _mmai(run: BlockRun, op: Op) -> Tile:
    lhs, rhs, acc = run.tile(op, "lhs"), run.tile(op, "rhs"), run.tile(op, "acc")
    a, b = (
        np.asarray(as_signed(tile.data, 8) if op.attributes[sign] == "signed" else tile.data).astype(np.float64)
        for tile, sign in ((lhs, "sl"), (rhs, "sr"))
    )
    product = np.matmul(a, b)  # exact: partial sums of 8-bit products stay far below 2^53
    _charge(run, product, a.shape[-1])
    return Tile(product.astype(np.int64).astype(np.uint32) + acc.data, _product_taint(lhs, rhs, acc))


def _float_product(run: BlockRun, op: Op, lhs: Tile, rhs: Tile) -> Tile:
    element = scalar_type(op.result)
    wide = np.float64 if element.bits == 64 else np.float32
    product = np.matmul(lhs.data.astype(wide, copy=False), rhs.data.astype(wide, copy=False))
    _charge(run, product, lhs.data.shape[-1])
    acc = run.tile(op, "acc")
    total = round_to(product + acc.data, element)
    return Tile(np.asarray(total), _product_taint(lhs, rhs, acc)).tainted(APPROXIMATE)


def _mmaf(run: BlockRun, op: Op) -> Tile:
    return _float_product(run, op, run.tile(op, "lhs"), run.tile(op, "rhs"))


def _mmaf_scaled(run: BlockRun, op: Op) -> Tile:
    """Scales cover equal runs along the contracted dimension: lhs_scale (M, K/b), rhs_scale (K/b, N)."""
    lhs, rhs = (
        _scaled(run.tile(op, name), run.tile(op, scale), axis)
        for name, scale, axis in (("lhs", "ls", -1), ("rhs", "rs", -2))
    )
    return _float_product(run, op, lhs, rhs)


def _scaled(tile: Tile, scale: Tile, axis: int) -> Tile:
    length = tile.data.shape[axis] // scale.data.shape[axis]
    factor = scale.rearranged(lambda lanes: np.repeat(lanes, length, axis))
    return Tile(tile.data * factor.data, joint_taint(tile, factor))


RULES: Final[dict[str, Rule]] = {"mmai": _mmai, "mmaf": _mmaf, "mmaf_scaled": _mmaf_scaled}
