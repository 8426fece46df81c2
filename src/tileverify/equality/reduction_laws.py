"""Bodies of reductions and scans of which no order changes the result.

In which order the lanes are put together, and how often the identity is among them, is the implementation's (Tile IR
specification, `reduce`, `scan`).  All ways give one result if, of the body ``f`` and the identity ``e``,

    f(f(a, b), c) = f(a, f(b, c))        f(a, b) = f(b, a)        f(e, f(e, r)) = f(e, r) = r  for the result r

The first two are asked of every lane and its two neighbours.  Lanes are numbers at random points of a field, where what
holds of them is a law of the body, but for the probability with which all else here errs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..backend.interpreter.reductions import Combine, Lanes, identity_of, is_neutral
from ..backend.interpreter.values import Array, Tile
from ..frontend.bytecode.model import FloatAttribute, IntegerAttribute, Op
from . import constants, exact
from .branches import WaysTaken
from .exact import NUMBER
from .memory import ExactMemory
from .undecided import Undecided

if TYPE_CHECKING:
    from ..backend.interpreter.machine import BlockRun


def require_laws(run: BlockRun, op: Op, combine: Combine, results: Lanes, *, known: bool) -> None:
    """Raises `Undecided` where another order may give another result.

    ``known``: the body is an op whose order is free, so that only the identity is asked about.
    """
    if known and is_neutral(op):
        return
    assert isinstance(run.memory, ExactMemory)
    ways, run.memory.ways = run.memory.ways, WaysTaken()  # what is compared here decides nothing
    try:
        a = run.tiles(op, "inputs")
        if not known and a[0].data.shape[axis := op.attributes["dim"]] > 1:
            b, c = (_moved(a, lanes, axis) for lanes in (1, 2))
            ab = combine(a, b)
            if not (_same(ab, combine(b, a)) and _same(combine(ab, c), combine(a, combine(b, c)))):
                raise Undecided(f"{_named(op)} depends on the order in which it is made")
        identity = _identities(op, results)
        if not (_same(combine(identity, results), results) and _same(combine(results, identity), results)):
            raise Undecided(f"{_named(op)} depends on how often its identity takes part")
    finally:
        run.memory.ways = ways


def _named(op: Op) -> str:
    place = "" if op.location is None else f" at line {op.location.line}"
    return f"the result of the {'reduction' if op.name == 'reduce' else 'scan'}{place}"


def _moved(tiles: Lanes, lanes: int, axis: int) -> Lanes:
    return tuple(tile.rearranged(lambda data: np.roll(data, lanes, axis)) for tile in tiles)


def _same(one: Lanes, other: Lanes) -> bool:
    return all(bool(_same_lanes(x.data, y.data).all()) for x, y in zip(one, other, strict=True))


def _same_lanes(x: Array, y: Array) -> Array:
    """What is lost in one of them says nothing; it is told elsewhere.  NaN is NaN."""
    if x.dtype != NUMBER:
        return np.asarray(x == y)
    undefined = np.isnan(x["s"]) & np.isnan(y["s"])
    return np.asarray(exact.same(x, y) | undefined | exact.is_lost(x) | exact.is_lost(y))


def _identities(op: Op, results: Lanes) -> Lanes:
    """The identity of each input, as often as there are lanes of its result."""
    attributes: Sequence[IntegerAttribute | FloatAttribute] = op.attributes["ident"]
    return tuple(_identity(each, tile) for each, tile in zip(attributes, results, strict=True))


def _identity(attribute: IntegerAttribute | FloatAttribute, like: Tile) -> Tile:
    value = identity_of(attribute)
    if isinstance(attribute, FloatAttribute):
        value = constants.numbers_of(np.asarray(value.astype(np.float64)), attribute.type.name)
    return Tile(np.broadcast_to(value.reshape(()), like.data.shape))
