"""Conversions between widths and kinds of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op
from .floats import EXACT_ROUNDING
from .formats import from_bits, largest_finite, round_to, to_bits
from .integers import bits_of
from .tiles import scalar_type
from .values import APPROXIMATE, UNSPECIFIED, Tile, as_signed, storage, with_taint, wrapped

if TYPE_CHECKING:
    from .machine import BlockRun, Rule

EXACT_INTEGERS: Final = 1 << 53
"""Up to here f64 holds every integer."""


def _extend(run: BlockRun, op: Op) -> Tile:
    source = run.tile(op, "s")
    data = source.data
    if op.attributes["sgn"] == "signed":
        data = as_signed(data, bits_of(op.value("s"))).astype(np.int64)
    return Tile(wrapped(np.asarray(data.astype(np.uint64)), bits_of(op.result)), source.taint)


def _truncate(run: BlockRun, op: Op) -> Tile:
    source = run.tile(op, "s")
    wide, bits = bits_of(op.value("s")), bits_of(op.result)
    result = wrapped(source.data, bits)
    promise = op.attributes["ovf"]
    if promise in ("nsw", "nw"):
        kept = as_signed(result, bits).astype(np.int64) == as_signed(source.data, wide).astype(np.int64)
        run.require(op, np.asarray(kept), source.taint, "TV402", f"trunci nsw to i{bits} loses bits")
    if promise in ("nuw", "nw"):
        kept = result.astype(np.uint64) == source.data.astype(np.uint64)
        run.require(op, np.asarray(kept), source.taint, "TV402", f"trunci nuw to i{bits} loses bits")
    return Tile(result, source.taint)


def _bitcast(run: BlockRun, op: Op) -> Tile:
    source, old, new = run.tile(op, "s"), scalar_type(op.value("s")), scalar_type(op.result)
    if old.is_integer and new.is_integer:
        return source
    raw = np.asarray(to_bits(source.data, old))
    if new.bits >= 8:
        raw = raw.astype(storage(new.bytes), copy=False)
    return Tile(from_bits(raw, new), source.taint)


def _integer_to_float(run: BlockRun, op: Op) -> Tile:
    source, element = run.tile(op, "s"), scalar_type(op.result)
    number = source.data
    if op.attributes["sgn"] == "signed":
        number = np.asarray(as_signed(number, bits_of(op.value("s"))))
    if element.name in ("f32", "f64"):
        result = number.astype(np.float32 if element.name == "f32" else np.float64)
        twice = np.zeros(number.shape, np.bool_)
    else:
        result = np.asarray(round_to(number.astype(np.float64), element))
        twice = np.abs(number.astype(np.float64)) > EXACT_INTEGERS
    unlike = twice | (np.abs(number.astype(np.float64)) > largest_finite(element))
    if op.attributes["rnd"] != EXACT_ROUNDING:
        unlike = unlike | (result.astype(np.float64) != number.astype(np.float64))
    return Tile(np.asarray(result), with_taint(source.taint, np.asarray(unlike), APPROXIMATE))


def _float_to_float(run: BlockRun, op: Op) -> Tile:
    source, element = run.tile(op, "s"), scalar_type(op.result)
    result = np.asarray(round_to(source.data, element))
    unlike = np.abs(source.data) > largest_finite(element)
    if op.attributes["rnd"] != EXACT_ROUNDING:
        unlike = unlike | ((result != source.data) & ~np.isnan(source.data))
    return Tile(result, with_taint(source.taint, np.asarray(unlike), APPROXIMATE))


def _float_to_integer(run: BlockRun, op: Op) -> Tile:
    """Toward zero; out of range and NaN are unspecified, or clamp (NaN to 0) with the saturating flag."""
    source, bits = run.tile(op, "s"), bits_of(op.result)
    signed = op.attributes["sgn"] == "signed"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    whole = np.trunc(source.data.astype(np.float64))
    below, above, invalid = whole < low, whole >= float(high + 1), np.isnan(whole)
    inside = np.where(below | above | invalid, 0.0, whole)
    wide = inside.astype(np.int64).view(np.uint64) if signed else inside.astype(np.uint64)
    result = wrapped(np.asarray(wide), bits)
    if "sat" not in op.flags:
        return Tile(result, with_taint(source.taint, np.asarray(below | above | invalid), UNSPECIFIED))
    ends = wrapped(np.array([low & ((1 << bits) - 1), high], np.uint64), bits)
    return Tile(np.where(below, ends[0], np.where(above, ends[1], result)), source.taint)


RULES: Final[dict[str, Rule]] = {
    "exti": _extend,
    "trunci": _truncate,
    "bitcast": _bitcast,
    "itof": _integer_to_float,
    "ftof": _float_to_float,
    "ftoi": _float_to_integer,
}
