"""Reductions, scans and matrix products: their bodies are written for scalars and run here on whole tiles.

The order of a reduction is the implementation's.  Bodies of one associative and commutative op give the same result in
any order; any other body runs in two orders: lanes where these differ are left open, those of float arithmetic
approximate.  How often the identity takes part is the implementation's, too: lanes that it changes are left open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ...frontend.bytecode.model import Block, FloatAttribute, IntegerAttribute, Op
from ...frontend.bytecode.optable import FLOAT_OPS, INTEGER_OPS
from .floats import lanes_of
from .machine import OP_COST
from .rounding import from_bits, raw_to_storage, round_to
from .tiles import scalar_type
from .values import (
    APPROXIMATE,
    UNSPECIFIED,
    Array,
    NotModelled,
    RuntimeValue,
    Tile,
    as_signed,
    joint_taint,
    storage,
    with_taint,
    wrapped,
)

if TYPE_CHECKING:
    from .machine import BlockInterpreter, Rule

EXACT: Final = frozenset(op.name for op in INTEGER_OPS if op.identity)
ASSOCIATIVE: Final = EXACT | {op.name for op in FLOAT_OPS if op.algebra in ("maximum", "minimum")}
ROUNDING: Final = frozenset(
    op.name for op in FLOAT_OPS if op.algebra in ("sum", "difference", "product", "quotient", "fused")
)

_INTEGER_IDENTITIES: Final[Mapping[str, int]] = {"zero": 0, "one": 1, "ones": -1}
"""Without the least and the greatest integer, which here are found by trying them."""
_FLOAT_IDENTITIES: Final[Mapping[str, float]] = {"zero": 0.0, "one": 1.0, "least": -np.inf, "greatest": np.inf}
_ROUNDED: Final = 0.02
"""Relative: more than any format's last place, of few bits as they are."""

Lanes: TypeAlias = tuple[Tile, ...]
Evaluate: TypeAlias = "Callable[[Block], tuple[RuntimeValue, ...]]"
Combine: TypeAlias = "Callable[[Lanes, Lanes], Lanes]"


def combiner(run: BlockInterpreter, op: Op, evaluate: Evaluate) -> tuple[Combine, Block]:
    """The body of ``op`` as a function of two lanes of each input, or of two tiles of lanes."""
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
    index = (*(slice(None),) * axis, place, ...)  # an array, also of one lane
    return tuple([tile.rearranged(lambda lanes: lanes[index]) for tile in tiles])


def _halving(combine: Combine, tiles: Lanes, axis: int) -> Lanes:
    """Lane i with lane i + n/2, until one is left (tile dimensions are powers of two)."""
    while (size := tiles[0].data.shape[axis]) > 1:
        tiles = combine(_slice(tiles, slice(0, size // 2), axis), _slice(tiles, slice(size // 2, size), axis))
    return tiles


def _at_once(run: BlockInterpreter, op: Op, axis: int) -> Lanes | None:
    """The same of one input whose lanes have one taint, where the body is one op of NumPy's; None elsewhere."""
    inputs, first = run.tiles(op, "inputs"), only_op(op)
    taint = inputs[0].taint
    if first is None or run.program.rules is not None or not (taint is None or not taint.ndim):
        return None
    combine = lanes_of(first)
    if combine is None or first.value("lhs") != op.regions[0].blocks[0].arguments[0]:
        return None
    data = inputs[0].data
    lanes = data.transpose(axis, *(other for other in range(data.ndim) if other != axis))
    while (half := len(lanes) // 2) > 0:
        lanes = combine(lanes[:half], lanes[half:])
        run.budget.spend(2 * OP_COST + lanes.size)
    return (Tile(lanes[0], taint),)


def _pairing(combine: Combine, tiles: Lanes, axis: int) -> Lanes:
    """Another order: after a rotation by one lane, lane 2i + 1 with lane 2i; of two lanes the second with the first."""
    if tiles[0].data.shape[axis] > 2:
        tiles = tuple(tile.rearranged(lambda lanes: np.roll(lanes, 1, axis)) for tile in tiles)
    while tiles[0].data.shape[axis] > 1:
        tiles = combine(_slice(tiles, slice(1, None, 2), axis), _slice(tiles, slice(0, None, 2), axis))
    return tiles


def _differ(first: Array, second: Array) -> Array:
    same = first == second
    if first.dtype.kind == "f":
        same = same | (np.isnan(first) & np.isnan(second))
    return np.asarray(~same)


def only_op(op: Op) -> Op | None:
    """The one op of the body of ``op``, where it takes both values of its one input, once each, and nothing else is
    handed on."""
    body = op.regions[0].blocks[0]
    if len(body.ops) != 2 or len(body.arguments) != 2:
        return None
    first, end = body.ops
    taken = [value for each in first.operands.values() for value in (each if isinstance(each, tuple) else (each,))]
    whole = len(taken) == 2 and set(taken) == set(body.arguments) and end.group("args") == first.results
    return first if whole else None


def order_free(op: Op, among: frozenset[str]) -> bool:
    """Whether the body of ``op`` is one of these ops alone, with no promise that a sum in another order may break."""
    first = only_op(op)
    return first is not None and first.name in among and first.attributes.get("ovf", "none") == "none"


def identity_of(attribute: IntegerAttribute | FloatAttribute) -> Array:
    """One machine value."""
    if isinstance(attribute, IntegerAttribute):
        return wrapped(np.array([attribute.value & 0xFFFFFFFFFFFFFFFF], np.uint64), attribute.type.bits)
    bits = attribute.bits | (1 << 63) if attribute.overlong else attribute.bits  # the sign that was meant
    raw = np.array([bits], storage(attribute.type.bytes))
    return np.asarray(from_bits(raw_to_storage(raw, attribute.type), attribute.type))


def _left_open(op: Op, combine: Combine, results: Lanes) -> Lanes:
    """``results``, open where they are others once the identity takes part, from either side."""
    if is_neutral(op):
        return results
    attributes: Sequence[IntegerAttribute | FloatAttribute] = op.attributes["ident"]
    identities = tuple(
        Tile(np.broadcast_to(identity_of(each).reshape(()), tile.data.shape))
        for each, tile in zip(attributes, results, strict=True)
    )
    for others in (combine(identities, results), combine(results, identities)):
        results = tuple(_open_where_changed(tile, other) for tile, other in zip(results, others, strict=True))
    return results


def _open_where_changed(tile: Tile, other: Tile) -> Tile:
    """What differs by rounding alone may differ on a device; what differs more is left open."""
    changed = _differ(tile.data, other.data)
    if tile.data.dtype.kind != "f":
        return Tile(tile.data, with_taint(tile.taint, changed, UNSPECIFIED))
    with np.errstate(all="ignore"):
        rounded = changed & np.isclose(tile.data, other.data, rtol=_ROUNDED, atol=0)
    taint = with_taint(tile.taint, rounded, APPROXIMATE)
    return Tile(tile.data, with_taint(taint, changed & ~rounded, UNSPECIFIED))


def is_neutral(op: Op) -> bool:
    """Whether the body is one op that is known to leave all as it is beside this identity."""
    first, (identity, *_) = only_op(op), op.attributes["ident"]
    neutral = None if first is None else first.declaration.identity
    if neutral is None:
        return False
    if isinstance(identity, IntegerAttribute):
        return identity.value == _INTEGER_IDENTITIES.get(neutral)
    return float(identity_of(identity)[0]) == _FLOAT_IDENTITIES.get(neutral)


def reduce_tiles(run: BlockInterpreter, op: Op, evaluate: Evaluate) -> Lanes:
    """The results of ``reduce``: each input without dimension ``dim``."""
    results = _reduced(run, op, evaluate)
    if run.program.rules is not None:
        return results  # of numbers that are no machine's: who brought the rules asks for laws
    return _left_open(op, combiner(run, op, evaluate)[0], results)


def _reduced(run: BlockInterpreter, op: Op, evaluate: Evaluate) -> Lanes:
    axis = op.attributes["dim"]
    inputs = run.tiles(op, "inputs")
    combine, body = combiner(run, op, evaluate)
    results = _at_once(run, op, axis) or _slice(_halving(combine, inputs, axis), 0, axis)
    if inputs[0].data.shape[axis] == 1 or order_free(op, ASSOCIATIVE):
        return results
    if any(inner.name in ROUNDING for inner in body.ops) or run.program.rules is not None:
        return tuple(tile.tainted(APPROXIMATE) for tile in results)
    others = _slice(_pairing(combine, inputs, axis), 0, axis)
    return tuple(
        Tile(tile.data, with_taint(tile.taint, _differ(tile.data, other.data), UNSPECIFIED))
        for tile, other in zip(results, others, strict=True)
    )


def _doubling(combine: Combine, tiles: Lanes, axis: int, reverse: bool) -> Lanes:
    """The scan by an op whose order is free, in steps on whole tiles: after the one of distance d, each lane has the 2d
    lanes up to it together (Hillis and Steele, Data Parallel Algorithms, 1986)."""
    size, distance = tiles[0].data.shape[axis], 1
    while distance < size:
        ends = slice(0, size - distance), slice(distance, size)
        before, here = reversed(ends) if reverse else ends
        far = slice(size - distance, size) if reverse else slice(0, distance)
        near = combine(_slice(tiles, before, axis), _slice(tiles, here, axis))
        pairs = zip(_slice(tiles, far, axis), near, strict=True)
        tiles = tuple([_concatenated(pair[::-1] if reverse else pair, axis) for pair in pairs])
        distance *= 2
    return tiles


def _concatenated(parts: Lanes, axis: int) -> Tile:
    return Tile(np.concatenate([part.data for part in parts], axis), _taints(parts, np.concatenate, axis))


def _taints(tiles: Sequence[Tile], put_together: Callable[[list[Array], int], Array], axis: int) -> Array | None:
    if all(tile.taint is None for tile in tiles):
        return None
    marks = [np.broadcast_to(0 if tile.taint is None else tile.taint, tile.data.shape) for tile in tiles]
    return put_together(marks, axis).astype(np.uint8)


def scan_tiles(run: BlockInterpreter, op: Op, evaluate: Evaluate) -> Lanes:
    """The results of the inclusive ``scan`` along ``dim``, from the far end if it is reversed."""
    results = _scanned(run, op, evaluate)
    if run.program.rules is not None:
        return results
    return _left_open(op, combiner(run, op, evaluate)[0], results)


def _scanned(run: BlockInterpreter, op: Op, evaluate: Evaluate) -> Lanes:
    axis = op.attributes["dim"]
    inputs = run.tiles(op, "inputs")
    combine, body = combiner(run, op, evaluate)
    if order_free(op, EXACT):
        return _doubling(combine, inputs, axis, op.attributes["reverse"])
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
        results.append(Tile(np.stack([lane.data for lane in lanes], axis), _taints(lanes, np.stack, axis)))
    if size > 2 and not order_free(op, ASSOCIATIVE) and any(inner.name in ROUNDING for inner in body.ops):
        return tuple(tile.tainted(APPROXIMATE) for tile in results)
    return tuple(results)


# --------------------------------------------------------------------------------------------------------------- matrix
# Matrix products.  Integer ones are exact; float ones add in an order of their own and are marked approximate.


STEPS_PER_PRODUCT: Final = 16
"""How many multiply-adds cost as much as one element of an ordinary op."""


def _charge(run: BlockInterpreter, product: Array, depth: int) -> None:
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


def _mmai(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs, acc = run.tile(op, "lhs"), run.tile(op, "rhs"), run.tile(op, "acc")
    a, b = (
        np.asarray(as_signed(tile.data, 8) if op.attributes[sign] == "signed" else tile.data).astype(np.float64)
        for tile, sign in ((lhs, "sl"), (rhs, "sr"))
    )
    product = np.matmul(a, b)  # exact: partial sums of 8-bit products stay far below 2^53
    _charge(run, product, a.shape[-1])
    return Tile(product.astype(np.int64).astype(np.uint32) + acc.data, _product_taint(lhs, rhs, acc))


def _float_product(run: BlockInterpreter, op: Op, lhs: Tile, rhs: Tile) -> Tile:
    element = scalar_type(op.result)
    wide = np.float64 if element.bits == 64 else np.float32
    product = np.matmul(lhs.data.astype(wide, copy=False), rhs.data.astype(wide, copy=False))
    _charge(run, product, lhs.data.shape[-1])
    acc = run.tile(op, "acc")
    total = round_to(product + acc.data, element)
    return Tile(np.asarray(total), _product_taint(lhs, rhs, acc)).tainted(APPROXIMATE)


def _mmaf(run: BlockInterpreter, op: Op) -> Tile:
    return _float_product(run, op, run.tile(op, "lhs"), run.tile(op, "rhs"))


def _mmaf_scaled(run: BlockInterpreter, op: Op) -> Tile:
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
