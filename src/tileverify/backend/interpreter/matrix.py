"""Matrix products.  Integer ones are exact; float ones add in an order of their own and are marked approximate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op
from .formats import round_to
from .tiles import scalar_type
from .values import APPROXIMATE, Array, Tile, as_signed, taint_bits

if TYPE_CHECKING:
    from .machine import BlockRun, Rule

STEPS_PER_PRODUCT: Final = 16
"""How many multiply-adds cost as much as one element of an ordinary op."""


def _charge(run: BlockRun, product: Array, depth: int) -> None:
    run.budget.spend(product.size * depth // STEPS_PER_PRODUCT)


def _spread_taint(*tiles: Tile) -> Array | None:
    """Every lane of a product depends on many lanes: one taint for all."""
    bits = 0
    for tile in tiles:
        bits |= taint_bits(tile.taint)
    return np.asarray(bits, np.uint8) if bits else None


def _mmai(run: BlockRun, op: Op) -> Tile:
    lhs, rhs, acc = run.tile(op, "lhs"), run.tile(op, "rhs"), run.tile(op, "acc")
    a, b = (
        np.asarray(as_signed(tile.data, 8) if op.attributes[sign] == "signed" else tile.data).astype(np.float64)
        for tile, sign in ((lhs, "sl"), (rhs, "sr"))
    )
    product = np.matmul(a, b)  # exact: partial sums of 8-bit products stay far below 2^53
    _charge(run, product, a.shape[-1])
    return Tile(product.astype(np.int64).astype(np.uint32) + acc.data, _spread_taint(lhs, rhs, acc))


def _float_product(run: BlockRun, op: Op, a: Array, b: Array, *tiles: Tile) -> Tile:
    element = scalar_type(op.result)
    wide = np.float64 if element.bits == 64 else np.float32
    product = np.matmul(a.astype(wide, copy=False), b.astype(wide, copy=False))
    _charge(run, product, a.shape[-1])
    acc = run.tile(op, "acc")
    total = round_to(product + acc.data, element)
    return Tile(np.asarray(total), _spread_taint(*tiles, acc)).tainted(APPROXIMATE)


def _mmaf(run: BlockRun, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    return _float_product(run, op, lhs.data, rhs.data, lhs, rhs)


def _mmaf_scaled(run: BlockRun, op: Op) -> Tile:
    """Scales cover equal runs along the contracted dimension: lhs_scale (M, K/b), rhs_scale (K/b, N)."""
    lhs, rhs, left, right = (run.tile(op, name) for name in ("lhs", "rhs", "ls", "rs"))
    a = lhs.data * np.repeat(left.data, lhs.data.shape[-1] // left.data.shape[-1], -1)
    b = rhs.data * np.repeat(right.data, rhs.data.shape[-2] // right.data.shape[-2], -2)
    return _float_product(run, op, a, b, lhs, rhs, left, right)


RULES: Final[dict[str, Rule]] = {"mmai": _mmai, "mmaf": _mmaf, "mmaf_scaled": _mmaf_scaled}
