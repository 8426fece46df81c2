"""Conversions between widths and kinds of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op, ScalarType
from ...results.codes import TV
from .encodings import MINIFLOATS, from_bits, largest_finite, round_to, to_bits
from .floats import EXACT_ROUNDING
from .integers import bits_of
from .rounding import DIRECTED, NEAREST, exact_integer, exact_value, rounded
from .tiles import scalar_type
from .values import APPROXIMATE, UNSPECIFIED, Array, Tile, as_signed, storage, with_taint, wrapped

if TYPE_CHECKING:
    from .machine import BlockRun, Rule

EXACT_MODES: Final = NEAREST | DIRECTED


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
        run.require(op, np.asarray(kept), source.taint, TV.ARITHMETIC_UNDEFINED, f"trunci nsw to i{bits} loses bits")
    if promise in ("nuw", "nw"):
        kept = result.astype(np.uint64) == source.data.astype(np.uint64)
        run.require(op, np.asarray(kept), source.taint, TV.ARITHMETIC_UNDEFINED, f"trunci nuw to i{bits} loses bits")
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
    number = source.data.view(np.uint8) if source.data.dtype == np.bool_ else source.data
    if op.attributes["sgn"] == "signed":
        number = np.asarray(as_signed(source.data, bits_of(op.value("s"))))
    exact, mode = exact_integer(number), op.attributes["rnd"]
    return Tile(rounded(exact, element, mode), _doubtful(source.taint, exact.nearest, element, mode))


def _float_to_float(run: BlockRun, op: Op) -> Tile:
    source, element, mode = run.tile(op, "s"), scalar_type(op.result), op.attributes["rnd"]
    if mode == EXACT_ROUNDING:
        result = np.asarray(round_to(source.data, element))
    else:
        result = rounded(exact_value(source.data), element, mode)
    return Tile(result, _doubtful(source.taint, source.data, element, mode))


def _doubtful(taint: Array | None, data: Array, element: ScalarType, mode: str) -> Array | None:
    """The taint of a conversion: no rule says what becomes of values that a small format does not reach."""
    if element.name not in MINIFLOATS:
        return taint if mode in EXACT_MODES else with_taint(taint, np.ones(data.shape, np.bool_), APPROXIMATE)
    beyond = np.abs(data) > largest_finite(element)
    if element.name == "f4E2M1FN":
        beyond = beyond | np.isnan(data)
    elif element.name == "f8E8M0FNU":
        beyond = beyond | ~(data >= 2.0**-127)
    return with_taint(taint, np.asarray(beyond), APPROXIMATE)


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
