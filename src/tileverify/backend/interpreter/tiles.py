"""Tile ops: constants, index tiles, and the maps that only move lanes; ``assume``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import (
    Bounded,
    Constant,
    DivBy,
    Op,
    PointerType,
    SameElements,
    ScalarType,
    TileType,
    Value,
)
from ...results.codes import TV
from .rounding import from_bits, raw_to_storage, to_bits
from .values import Array, NotModelled, TensorView, Tile, UndefinedStop, as_signed, wrapped

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule


def tile_type(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def scalar_type(value: Value) -> ScalarType:
    element = tile_type(value).element
    assert isinstance(element, ScalarType)
    return element


# ------------------------------------------------------------------------------------------- constants
def constant_tile(constant: Constant) -> Tile:
    """The lanes of a tile constant (or of a global's initial value)."""
    scalar, shape = constant.scalar, constant.type.shape
    stored = constant.type.size if not constant.is_splat else 1
    if scalar.bits in (8, 16, 32, 64):
        raw = np.frombuffer(constant.data, np.dtype(f"<u{scalar.bits // 8}"), stored)
    else:
        word = np.uint32 if scalar.bits > 8 else np.uint8
        mask = (1 << scalar.bits) - 1
        raw = np.array([constant.element(i) & mask for i in range(stored)], word)
    data = from_bits(raw_to_storage(raw, scalar), scalar)
    return Tile(np.broadcast_to(data.reshape(()), shape) if constant.is_splat else data.reshape(shape))


def _constant(run: BlockInterpreter, op: Op) -> Tile:
    return constant_tile(op.attributes["value"])


def _iota(run: BlockInterpreter, op: Op) -> Tile:
    kind = tile_type(op.result)
    return Tile(wrapped(np.arange(kind.shape[0], dtype=np.uint64), scalar_type(op.result).bits))


def _select(run: BlockInterpreter, op: Op) -> Tile:
    condition, yes, no = run.tile(op, "c"), run.tile(op, "t"), run.tile(op, "f")
    data = np.where(condition.data, yes.data, no.data)
    taint: Array | None = None
    if yes.taint is not None or no.taint is not None:
        clean = np.zeros((), np.uint8)
        taint = np.where(
            condition.data, clean if yes.taint is None else yes.taint, clean if no.taint is None else no.taint
        )
    if condition.taint is not None:
        taint = condition.taint if taint is None else np.asarray(taint | condition.taint)
    origin = None
    if yes.origin is not None and no.origin is not None:
        origin = np.where(condition.data, yes.origin, no.origin)
    return Tile(data, taint, origin)


# ------------------------------------------------------------------------------------------ moving lanes
def _broadcast(run: BlockInterpreter, op: Op) -> Tile:
    shape = tile_type(op.result).shape
    return run.tile(op, "s").rearranged(lambda lanes: np.broadcast_to(lanes, shape))


def _reshape(run: BlockInterpreter, op: Op) -> Tile:
    shape = tile_type(op.result).shape
    return run.tile(op, "s").rearranged(lambda lanes: lanes.reshape(shape))


def _permute(run: BlockInterpreter, op: Op) -> Tile:
    order = tuple(op.attributes["perm"])
    return run.tile(op, "s").rearranged(lambda lanes: lanes.transpose(order))


def _cat(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs, axis = run.tile(op, "lhs"), run.tile(op, "rhs"), op.attributes["dim"]

    def both(first: Array | None, second: Array | None) -> Array | None:
        if first is None and second is None:
            return None
        parts = (
            np.broadcast_to(np.uint8(0) if part is None else part, tile.data.shape)
            for part, tile in ((first, lhs), (second, rhs))
        )
        return np.concatenate(tuple(parts), axis)

    return Tile(np.concatenate((lhs.data, rhs.data), axis), both(lhs.taint, rhs.taint), both(lhs.origin, rhs.origin))


def _subtile(run: BlockInterpreter, op: Op, whole: tuple[int, ...], part: tuple[int, ...]) -> tuple[slice, ...]:
    """The lanes of the subtile that the index operands name."""
    index = [run.scalar(op, tile, "index") for tile in run.tiles(op, "index")]
    for place, size, step in zip(index, whole, part, strict=True):
        if place >= size // step:
            run.undefined(op, TV.ARITHMETIC_UNDEFINED, f"{op.name} index {place} of {size // step} subtiles")
            raise UndefinedStop(f"{op.name} at {op.offset:#x} leaves its tile")
    return tuple(slice(place * step, (place + 1) * step) for place, step in zip(index, part, strict=True))


def _extract(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    lanes = _subtile(run, op, source.data.shape, tile_type(op.result).shape)
    return source.rearranged(lambda data: data[lanes])


def _insert(run: BlockInterpreter, op: Op) -> Tile:
    source, target = run.tile(op, "s"), run.tile(op, "dest")
    lanes = _subtile(run, op, target.data.shape, source.data.shape)
    data = target.data.copy()
    data[lanes] = source.data
    taint = None
    if source.taint is not None or target.taint is not None:
        taint = np.array(np.broadcast_to(0 if target.taint is None else target.taint, data.shape), np.uint8)
        taint[lanes] = 0 if source.taint is None else source.taint
    return Tile(data, taint)


def _repack(run: BlockInterpreter, op: Op) -> Tile:
    """``pack`` and ``unpack``: the same bits as elements of another width, least significant first."""
    source, old, new = run.tile(op, "s"), scalar_type(op.value("s")), scalar_type(op.result)
    if 1 in (old.bits, new.bits) or "tf32" in (old.name, new.name):
        raise NotModelled(f"{op.name} from {old.name} to {new.name}")
    raw = np.ascontiguousarray(to_bits(source.data, old))
    if old.bits == 4:
        raw = raw[0::2] | (raw[1::2] << np.uint8(4))
    if new.bits == 4:
        bytes_ = raw.view(np.uint8)
        raw = np.stack((bytes_ & np.uint8(15), bytes_ >> np.uint8(4)), -1).reshape(-1)
    else:
        raw = raw.view(np.uint8).view(np.dtype(f"<u{new.bits // 8}"))
    if source.taint is None:
        return Tile(from_bits(raw, new))
    nibbles = np.repeat(np.broadcast_to(source.taint, source.data.shape), old.bits // 4)
    return Tile(from_bits(raw, new), np.bitwise_or.reduce(nibbles.reshape(-1, new.bits // 4), axis=1))


# -------------------------------------------------------------------------------------------- promises
def _assume(run: BlockInterpreter, op: Op) -> Tile | TensorView:
    predicate = op.attributes["pred"]
    source = run.values[op.value("s")]
    if isinstance(source, TensorView):
        if not isinstance(predicate, DivBy):
            raise NotModelled(f"assume {predicate} of a tensor view")
        if not source.taint and source.base % predicate.divisor:
            message = f"a base address is not divisible by {predicate.divisor}"
            run.undefined(op, TV.ASSUME_PROMISE, message, source.origin, source.base)
        return source
    assert isinstance(source, Tile)
    if op in run.program.inert:
        return source
    run.assumes(op, source)
    kind = tile_type(op.result)
    holds, text = _holds(source.data, kind, predicate)
    run.require(
        op, holds, source.taint, TV.ASSUME_PROMISE, f"assumed {text}, found {_example(source.data, holds, kind)}"
    )
    return source


def _example(data: Array, holds: Array, kind: TileType) -> str:
    if bool(holds.all()):
        return ""
    lane = int(np.flatnonzero(~np.broadcast_to(holds, data.shape))[0])
    element = kind.element
    if isinstance(element, ScalarType) and element.is_integer:
        data = as_signed(data, element.bits)
    return str(data.reshape(-1)[lane])


def _holds(data: Array, kind: TileType, predicate: object) -> tuple[Array, str]:
    """Lane by lane, whether the predicate of an ``assume`` is true; and the predicate in words."""
    element = kind.element
    match predicate:
        case Bounded(lower, upper):
            assert isinstance(element, ScalarType)
            signed = as_signed(data, element.bits)
            low = np.asarray(True) if lower is None else np.asarray(signed >= lower)
            high = np.asarray(True) if upper is None else np.asarray(signed <= upper)
            return np.broadcast_to(low & high, data.shape), f"a value in [{lower}, {upper}]"
        case DivBy(divisor, None, None):
            return np.asarray(data & np.asarray(divisor - 1).astype(data.dtype)) == 0, f"a multiple of {divisor}"
        case DivBy(divisor, every, along):
            assert every is not None
            assert along is not None
            lanes = np.moveaxis(data, along, -1)
            runs = lanes.reshape(*lanes.shape[:-1], -1, min(every, lanes.shape[-1]))
            step = element.pointee.bytes if isinstance(element, PointerType) else 1
            heads = (runs[..., 0] & np.asarray(divisor - 1).astype(data.dtype)) == 0
            rising = runs == runs[..., :1] + (np.arange(runs.shape[-1]) * step).astype(data.dtype)
            holds = (rising & heads[..., None]).reshape(lanes.shape)
            return np.moveaxis(holds, -1, along), f"runs of {every} that start at multiples of {divisor}"
        case SameElements(groups):
            first = data
            for axis, size in enumerate(groups):
                first = np.take(first, np.arange(first.shape[axis]) // size * size, axis)
            return np.asarray(first == data), f"equal elements in groups of {groups}"
    raise NotModelled(f"assume {predicate}")


RULES: Final[dict[str, Rule]] = {
    "constant": _constant,
    "iota": _iota,
    "select": _select,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "permute": _permute,
    "cat": _cat,
    "extract": _extract,
    "insert": _insert,
    "pack": _repack,
    "unpack": _repack,
    "assume": _assume,
}
