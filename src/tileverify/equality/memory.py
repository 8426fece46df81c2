"""Memory whose arrays of floats hold numbers: one for every element, beside the bytes of all other arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ..backend.interpreter import atomics
from ..backend.interpreter.accesses import (
    PADDING,
    LiveLanes,
    addressable,
    element_namer,
    element_of,
    log_all,
    opened,
    pointer_reach,
    view_reach,
)
from ..backend.interpreter.control import RULES as MACHINE
from ..backend.interpreter.memory import Memory, MemoryImage
from ..backend.interpreter.reductions import Combine as CombineLanes
from ..backend.interpreter.reductions import Lanes, identity_of, is_neutral
from ..backend.interpreter.rounding import from_bits
from ..backend.interpreter.tiles import tile_type
from ..backend.interpreter.values import INTERLEAVED, UNSPECIFIED, Tile, storage, taint_bits
from ..frontend.bytecode.model import FloatAttribute, IntegerAttribute, Op, ScalarType
from . import exact
from .branches import STEPPED, WaysTaken
from .exact import NUMBER
from .field import Array, Undecided

if TYPE_CHECKING:
    from ..backend.interpreter.machine import BlockInterpreter, Result, Rule


class ExactMemory(Memory):
    """``contents``: flat arrays of numbers by the name of their allocation, which are changed in place.

    ``ways``: where rules note how the block's comparisons come out.
    """

    def __init__(self, image: MemoryImage, contents: Mapping[str, Array], ways: WaysTaken) -> None:
        super().__init__(image)
        self.ways = ways
        self._numbers: dict[int, tuple[int, Array]] = {}
        for number, allocation in enumerate(image.allocations):
            held = contents.get(allocation.name)
            if held is not None and held.size:
                self._numbers[number] = (allocation.size // held.size, held)

    def read(self, allocation: int, offsets: Array, element: ScalarType) -> Array:
        """The numbers of the float elements at ``offsets`` (bytes, in the allocation)."""
        return np.asarray(self._held(allocation, element)[offsets // element.bytes])

    def write(self, allocation: int, offsets: Array, values: Array, element: ScalarType) -> None:
        self.stores += 1
        self._held(allocation, element)[offsets.reshape(-1) // element.bytes] = values.reshape(-1)

    def _held(self, allocation: int, element: ScalarType) -> Array:
        known = self._numbers.get(allocation)
        if known is None:  # a global, or memory of the block's own
            raw = self.bytes_of(allocation).view(storage(element.bytes))
            known = element.bytes, exact.numbers_of(from_bits(raw, element).astype(np.float64), element.name)
            self._numbers[allocation] = known
        if known[0] != element.bytes:
            raise Undecided(f"floats of {known[0]} bytes read as {element.name}")
        return known[1]

    def load(self, allocation: int, offsets: Array, width: int) -> Array:
        self._integers_only(allocation)
        return super().load(allocation, offsets, width)

    def store(self, allocation: int, offsets: Array, bits: Array) -> None:
        self._integers_only(allocation)
        super().store(allocation, offsets, bits)

    def _integers_only(self, allocation: int) -> None:
        if allocation in self._numbers:
            raise Undecided(f"the bits of floats as integers, in {self.image.allocations[allocation].name}")


# ------------------------------------------------------------------------------------------------------------- touching
# Loads, stores and atomics of floats: which elements they touch is the interpreter's, what these hold are numbers.


def _memory(run: BlockInterpreter) -> ExactMemory:
    assert isinstance(run.memory, ExactMemory)
    return run.memory


def _view_element(run: BlockInterpreter, op: Op) -> ScalarType:
    return addressable(op, run.tile_view(op, "view").tensor.element)


def _read(run: BlockInterpreter, reaches: Iterable[LiveLanes], into: Tile, element: ScalarType) -> Tile:
    data, taint = into.data, into.taint
    for reach in reaches:
        data[reach.region] = _memory(run).read(reach.allocation, reach.offsets, element)
        marks = run.memory.taint(reach.allocation, reach.offsets, element.bytes)
        if taint is not None or marks is not None:
            taint = np.zeros(data.shape, np.uint8) if taint is None else np.array(np.broadcast_to(taint, data.shape))
            taint[reach.region] = 0 if marks is None else marks
    return Tile(data, taint if taint_bits(taint) else None)


def _write(run: BlockInterpreter, op: Op, reaches: Iterable[LiveLanes], tile: Tile, element: ScalarType) -> None:
    for reach in reaches:
        marks = tile.taint
        if marks is not None:
            marks = np.broadcast_to(marks, tile.data.shape)[reach.region]
            run.writes(op, marks, element_namer(run, reach))
        _memory(run).write(reach.allocation, reach.offsets, np.asarray(tile.data[reach.region]), element)
        run.memory.set_taint(reach.allocation, reach.offsets, element.bytes, marks)


def _blank(shape: tuple[int, ...]) -> Tile:
    return Tile(np.zeros(shape, NUMBER), np.full(shape, UNSPECIFIED, np.uint8))


def _integers_of_arrays(run: BlockInterpreter, op: Op) -> Result:
    """What is made of them follows no law that residues know."""
    found = MACHINE[op.name](run, op)
    assert isinstance(found, tuple)
    return tuple(each.tainted(STEPPED) if isinstance(each, Tile) else each for each in found)


def _load_view(run: BlockInterpreter, op: Op) -> Result:
    element = _view_element(run, op)
    if not element.is_float:
        return _integers_of_arrays(run, op)
    padding, shape = run.tile_view(op, "view").type.padding, tile_type(op.results[0]).shape
    reaches, left_out = view_reach(run, op)
    token = log_all(run, op, "load", reaches, reads=True, writes=False)
    start = _blank(shape)
    if padding is not None:
        start.data["s"], start.taint = PADDING[padding], None
    return _read(run, reaches, opened(start, left_out), element), token


def _load_pointer(run: BlockInterpreter, op: Op) -> Result:
    element = element_of(op, "ptr")
    if not element.is_float:
        return _integers_of_arrays(run, op)
    shape = tile_type(op.results[0]).shape
    reaches, left_out = pointer_reach(run, op, element.bytes)
    token = log_all(run, op, "load", reaches, reads=True, writes=False)
    pad = run.optional_tile(op, "pad")
    start = _blank(shape) if pad is None else Tile(np.array(np.broadcast_to(pad.data, shape)), pad.taint)
    return _read(run, reaches, opened(start, left_out), element), token


def _store_view(run: BlockInterpreter, op: Op) -> Result:
    element = _view_element(run, op)
    if not element.is_float:
        return MACHINE[op.name](run, op)
    reaches, _ = view_reach(run, op)
    token = log_all(run, op, "store", reaches, reads=False, writes=True)
    _write(run, op, reaches, run.tile(op, "tile"), element)
    return token


def _store_pointer(run: BlockInterpreter, op: Op) -> Result:
    element = element_of(op, "ptr")
    if not element.is_float:
        return MACHINE[op.name](run, op)
    reaches, _ = pointer_reach(run, op, element.bytes)
    token = log_all(run, op, "store", reaches, reads=False, writes=True)
    _write(run, op, reaches, run.tile(op, "val"), element)
    return token


# ----------------------------------------------------------------------------------------------- atomics
def _modify(run: BlockInterpreter, reach: LiveLanes, value: Array, element: ScalarType, mode: str) -> Array:
    """Lane after lane; what was there before each, flat.  Sums are exact, so their order does not matter."""
    if mode not in ("addf", "xchg"):
        raise Undecided(f"an atomic {mode} of floats")
    memory, offsets = _memory(run), reach.offsets.reshape(-1)
    before = np.zeros(offsets.shape, NUMBER)
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(starts, append=len(ordered)))
    for turn in range(int(rank.max(initial=-1)) + 1):
        lanes = order[rank == turn]
        old = memory.read(reach.allocation, offsets[lanes], element)
        before[lanes] = old
        new = value[lanes] if mode == "xchg" else exact.add(old, value[lanes])
        memory.write(reach.allocation, offsets[lanes], new, element)
    return before


def _adds(run: BlockInterpreter, reach: LiveLanes, tile: Tile) -> None:
    """Memory holds a sum's number, and no taint of what was added."""
    ways, taint = _memory(run).ways, taint_bits(tile.taint)
    ways.reached(taint)
    if taint & STEPPED:
        ways.stepped.add(run.memory.image.allocations[reach.allocation].name)


def _flat(tile: Tile, reach: LiveLanes, shape: tuple[int, ...]) -> Array:
    if taint_bits(tile.taint) & UNSPECIFIED:
        raise Undecided("an unspecified value in an atomic")
    return np.asarray(np.broadcast_to(tile.data, shape)[reach.region].reshape(-1))


def _rmw(run: BlockInterpreter, op: Op) -> Result:
    element = element_of(op, "ptr")
    if not element.is_float:
        _memory(run).ways.reached(taint_bits(run.tile(op, "arg").taint))
        return MACHINE[op.name](run, op)
    shape = tile_type(op.results[0]).shape
    reaches, left_out = pointer_reach(run, op, element.bytes)
    token = log_all(run, op, "atomic", reaches, reads=True, writes=True)
    result = opened(_blank(shape), left_out)
    for reach in reaches:
        _adds(run, reach, run.tile(op, "arg"))
        old = _modify(run, reach, _flat(run.tile(op, "arg"), reach, shape), element, op.attributes["mode"])
        result.data[reach.region] = old.reshape(reach.offsets.shape)
        assert result.taint is not None
        result.taint[reach.region] = INTERLEAVED
    return result, token


def _red_view(run: BlockInterpreter, op: Op) -> Result:
    element = _view_element(run, op)
    value = run.tile(op, "value")
    if not element.is_float:
        _memory(run).ways.reached(taint_bits(value.taint))
        return MACHINE[op.name](run, op)
    reaches, _ = view_reach(run, op)
    token = log_all(run, op, "atomic", reaches, reads=True, writes=True)
    for reach in reaches:
        _adds(run, reach, value)
        _modify(run, reach, _flat(value, reach, value.data.shape), element, op.attributes["mode"])
    return token


def _exchange(run: BlockInterpreter, op: Op) -> Result:
    if element_of(op, "ptr").is_float:
        raise Undecided("a compare and swap of floats")
    return MACHINE[op.name](run, op)


def _multimem(run: BlockInterpreter, op: Op) -> Result:
    raise Undecided(op.name)


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(atomics.MULTICAST_RULES, _multimem),
    "load_view_tko": _load_view,
    "load_ptr_tko": _load_pointer,
    "store_view_tko": _store_view,
    "store_ptr_tko": _store_pointer,
    "atomic_rmw_tko": _rmw,
    "atomic_red_view_tko": _red_view,
    "atomic_cas_tko": _exchange,
}


# ------------------------------------------------------------------------------------------------------- reduction laws
# Bodies of reductions and scans of which no order changes the result.
#
# In which order the lanes are put together, and how often the identity is among them, is the implementation's (Tile IR
# specification, `reduce`, `scan`).  All ways give one result if, of the body ``f`` and the identity ``e``,
#
#     f(f(a, b), c) = f(a, f(b, c))        f(a, b) = f(b, a)        f(e, f(e, r)) = f(e, r) = r  for the result r
#
# The first two are asked of every lane and its two neighbours.  Lanes are numbers at random points of a field, where
# what holds of them is a law of the body, but for the probability with which all else here errs.


def require_laws(run: BlockInterpreter, op: Op, combine: CombineLanes, results: Lanes, *, known: bool) -> None:
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
        value = exact.numbers_of(np.asarray(value.astype(np.float64)), attribute.type.name)
    return Tile(np.broadcast_to(value.reshape(()), like.data.shape))
