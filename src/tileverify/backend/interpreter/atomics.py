"""Atomic read-modify-write, compare-and-swap and view reductions; multicast accesses in a team of one device.

An atomic acts lane by lane.  Lanes of one op that meet on one element act in lane order here; what the specification
leaves to chance (the old value such a lane returns, the winner of an exchange) is marked as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from ...frontend.bytecode.model import Op, ScalarType
from .access_log import PointFootprint
from .accesses import (
    LiveLanes,
    addressable,
    element_namer,
    element_of,
    load_view,
    log_all,
    opened,
    pointer_reach,
    store_view,
    view_reach,
)
from .rounding import from_bits, round_to, to_bits
from .tiles import tile_type
from .values import APPROXIMATE, INTERLEAVED, UNSPECIFIED, Array, NotModelled, Tile, Token, as_signed, carrier

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule

FLUSHED: Final = np.uint8(APPROXIMATE)
"""An atomic f32 sum may take subnormal numbers for zeros: the specification says that its compiler makes it so."""
ORDER_DEPENDENT: Final = {"xchg": INTERLEAVED, "addf": APPROXIMATE}


def _by_rank(offsets: Array) -> Iterator[Array]:
    """Lane numbers in groups without a repeated offset: first occurrences, second occurrences, ..."""
    if len(offsets) == 1:  # a block that waits asks for one element, over and over
        yield np.zeros(1, np.intp)
        return
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(starts, append=len(ordered)))
    for number in range(int(rank.max()) + 1):
        yield order[rank == number]


def repeated(offsets: Array) -> Array:
    """Which lanes share their offset with another lane."""
    if len(offsets) == 1:
        return np.zeros(1, np.bool_)
    _, which, count = np.unique(offsets, return_inverse=True, return_counts=True)
    return np.asarray(count[which] > 1)


def _combine(mode: str, old: Array, argument: Array, element: ScalarType) -> Array:
    """The new raw elements of an rmw in ``mode``."""
    bits = 8 * element.bytes
    match mode:
        case "and":
            return old & argument
        case "or":
            return old | argument
        case "xor":
            return old ^ argument
        case "add":
            return old + argument
        case "umax":
            return np.maximum(old, argument)
        case "umin":
            return np.minimum(old, argument)
        case "max":
            return np.maximum(as_signed(old, bits), as_signed(argument, bits)).view(old.dtype)
        case "min":
            return np.minimum(as_signed(old, bits), as_signed(argument, bits)).view(old.dtype)
        case "xchg":
            return argument
        case "addf":
            total = from_bits(old, element) + from_bits(argument, element)
            return to_bits(round_to(total, element), element)
    raise NotModelled(f"the atomic {mode}")


Update = Callable[[Array, Array, Array], tuple[Array, Array, Array]]
"""(lanes of the reach, old raw elements, their taint) -> (new raw elements, lanes that write, taint of the new)."""


def _update(
    run: BlockInterpreter, op: Op, reach: LiveLanes, element: ScalarType, update: Update, collision: int
) -> tuple[Array, Array, Array]:
    """Run ``update`` on the reach's elements: old raw elements, their taint, and which lanes wrote (all flat).

    ``collision``: the taint of an element that several lanes wrote to.
    """
    width = element.bytes
    offsets = reach.offsets.reshape(-1)
    old = np.zeros(len(offsets), np.dtype(f"u{width}"))
    taint = np.zeros(len(offsets), np.uint8)
    wrote = np.zeros(len(offsets), np.bool_)
    clash = repeated(offsets)
    for lanes in _by_rank(offsets):
        places = offsets[lanes]
        marks = run.memory.taint(reach.allocation, places, width)
        known = np.zeros(len(lanes), np.uint8) if marks is None else marks
        old[lanes] = run.memory.load(reach.allocation, places, width)
        taint[lanes] = known
        new, writers, stored = update(lanes, old[lanes], known)
        wrote[lanes] = writers
        run.writes(op, np.where(writers, stored, np.uint8(0)), _namer(run, reach, lanes))
        before = run.memory.stores
        run.memory.store(reach.allocation, places[writers], new[writers])
        if np.array_equal(new[writers], old[lanes][writers]):
            run.memory.stores = before  # a wait that adds 0 leaves memory as it is
        stored = stored | np.where(clash[lanes], np.uint8(collision), np.uint8(0))
        if run.apart:
            stored = stored | np.uint8(INTERLEAVED)
        if stored.any() or marks is not None:
            run.memory.set_taint(reach.allocation, places[writers], width, stored[writers])
    taint |= np.where(clash, np.uint8(INTERLEAVED), np.uint8(0))
    if run.apart:
        taint |= np.uint8(INTERLEAVED)
    return old, taint, wrote


def _namer(run: BlockInterpreter, reach: LiveLanes, lanes: Array) -> Callable[[int], str]:
    named = element_namer(run, reach)
    return lambda lane: named(int(lanes[lane]))


def _lanes(tile: Tile, reach: LiveLanes, shape: tuple[int, ...]) -> tuple[Array, Array | None]:
    """Data and taint of the tile's lanes in ``reach``, flat."""
    data = np.broadcast_to(tile.data, shape)[reach.region].reshape(-1)
    if tile.taint is None:
        return data, None
    return data, np.broadcast_to(tile.taint, shape)[reach.region].reshape(-1)


def read_modify_write(
    run: BlockInterpreter, op: Op, reach: LiveLanes, element: ScalarType, value: Tile, shape: tuple[int, ...], mode: str
) -> tuple[Array, Array]:
    """Combine the lanes of ``value`` with the reach's elements; the old raw elements and their taint, flat."""
    argument, marks = _lanes(value, reach, shape)
    raw = to_bits(argument, element)

    def update(lanes: Array, old: Array, known: Array) -> tuple[Array, Array, Array]:
        new = _combine(mode, old, raw[lanes], element)
        taint = np.zeros(len(lanes), np.uint8) if mode == "xchg" else known
        if marks is not None:
            taint = taint | marks[lanes]
        if mode == "addf" and element.name == "f32":
            taint = taint | np.where(_subnormal(old) | _subnormal(raw[lanes]) | _subnormal(new), FLUSHED, np.uint8(0))
        return new, np.ones(len(lanes), np.bool_), taint

    old, taint, _ = _update(run, op, reach, element, update, ORDER_DEPENDENT.get(mode, 0))
    return old, taint


def _subnormal(bits: Array) -> Array:
    """Which raw f32 elements are subnormal."""
    magnitude = bits & np.uint32(0x7FFFFFFF)
    return np.asarray((magnitude > 0) & (magnitude < 0x00800000))


def _into(result: Tile, reach: LiveLanes, old: Array, taint: Array, element: ScalarType) -> None:
    assert result.taint is not None
    shape = reach.offsets.shape
    result.data[reach.region] = from_bits(old, element).reshape(shape)
    result.taint[reach.region] = taint.reshape(shape)


def _rmw(run: BlockInterpreter, op: Op) -> tuple[Tile, Token]:
    element = element_of(op, "ptr")
    shape = tile_type(op.results[0]).shape
    reaches, left_out = pointer_reach(run, op, element.bytes)
    token = log_all(run, op, "atomic", reaches, reads=True, writes=True)
    result = opened(Tile(np.zeros(shape, carrier(element)), np.full(shape, UNSPECIFIED, np.uint8)), left_out)
    for reach in reaches:
        old, taint = read_modify_write(run, op, reach, element, run.tile(op, "arg"), shape, op.attributes["mode"])
        _into(result, reach, old, taint, element)
    return result, token


def _red_view(run: BlockInterpreter, op: Op) -> Token:
    element = addressable(op, run.tile_view(op, "view").tensor.element)
    value = run.tile(op, "value")
    reaches, _ = view_reach(run, op)
    token = log_all(run, op, "atomic", reaches, reads=True, writes=True)
    for reach in reaches:
        read_modify_write(run, op, reach, element, value, value.data.shape, op.attributes["mode"])
    return token


def _exchange(
    run: BlockInterpreter, op: Op, wanted: Array, raw: Array, compare_marks: Array | None, new_marks: Array | None
) -> Update:
    """``raw`` where the old element is ``wanted``; what decides about that may not be open."""

    def update(lanes: Array, old: Array, known: Array) -> tuple[Array, Array, Array]:
        compared = known if compare_marks is None else known | compare_marks[lanes]
        run.decides(op, compared, "comparison")
        return (
            raw[lanes],
            np.asarray(old == wanted[lanes]),
            compared if new_marks is None else compared | new_marks[lanes],
        )

    return update


def _cas(run: BlockInterpreter, op: Op) -> tuple[Tile, Token]:
    """A lane that compares unequal only reads."""
    element = element_of(op, "ptr")
    shape = tile_type(op.results[0]).shape
    expected, value = run.tile(op, "cmp"), run.tile(op, "val")
    result = Tile(
        np.array(np.broadcast_to(expected.data, shape)),
        np.array(np.broadcast_to(0 if expected.taint is None else expected.taint, shape), np.uint8),
    )
    reaches, left_out = pointer_reach(run, op, element.bytes)
    result = opened(result, left_out)
    waits = run.waits(op)
    for reach in reaches:
        compare, compare_marks = _lanes(expected, reach, shape)
        new, new_marks = _lanes(value, reach, shape)
        wanted, raw = to_bits(compare, element), to_bits(new, element)
        update = _exchange(run, op, wanted, raw, compare_marks, new_marks)
        old, taint, wrote = _update(run, op, reach, element, update, INTERLEAVED)
        addresses = reach.footprint.addresses()
        writes = PointFootprint(addresses[wrote], element.bytes) if wrote.any() else None
        if wrote.all():
            writes = reach.footprint if isinstance(reach.footprint, PointFootprint) else writes
        waits = run.log.record(op, "atomic", reach.origin, reach.footprint, writes, waits)
        _into(result, reach, old, taint, element)
    return result, Token(waits)


RULES: Final[dict[str, Rule]] = {
    "atomic_rmw_tko": _rmw,
    "atomic_cas_tko": _cas,
    "atomic_red_view_tko": _red_view,
}


# ------------------------------------------------------------------------------------------------------------- multimem
# Multicast accesses (13.5) in a team of one device: the multicast object has a single member, this memory.
#
# A load that reduces over the members is then a load, a reduction into every member an atomic reduction, a store to
# every member a store, each with the order and scope of the op.  Which reductions exist for which elements is what
# tileiras 13.5.37 accepts: 32- and 64-bit integers all of them, floats ``add``, and loads of f16 and bf16 also ``min``,
# ``max``.
#
# What a launch on several devices adds is not modelled: the values of the other members, accesses of other devices that
# race with these, and the same memory under its own address beside the multicast one.


def _mode(op: Op, element: ScalarType) -> str:
    """The atomic mode that ``red`` names for ``element``."""
    reduction: str = op.attributes["red"]
    if element.is_integer and element.bits in (32, 64):
        return reduction
    if element.is_float and element.bits >= 16 and element.name != "tf32":
        half = element.bits == 16 and op.name == "multimem_load_reduce_view_tko"
        if reduction == "add" or (half and reduction in ("min", "max")):
            return f"{reduction}f"
    raise NotModelled(f"{op.name} {reduction} of {element.name}")


def _load_reduce(run: BlockInterpreter, op: Op) -> tuple[Tile, Token]:
    _mode(op, run.tile_view(op, "view").tensor.element)
    return load_view(run, op)


def _reduce(run: BlockInterpreter, op: Op) -> Token:
    element = addressable(op, run.tile_view(op, "view").tensor.element)
    mode, value = _mode(op, element), run.tile(op, "tile")
    reaches, _ = view_reach(run, op)
    token = log_all(run, op, "atomic", reaches, reads=True, writes=True)
    for reach in reaches:
        read_modify_write(run, op, reach, element, value, value.data.shape, mode)
    return token


MULTICAST_RULES: Final[dict[str, Rule]] = {
    "multimem_load_reduce_view_tko": _load_reduce,
    "multimem_reduce_view_tko": _reduce,
    "multimem_store_view_tko": store_view,
}
