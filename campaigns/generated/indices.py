"""Which part of the work a block takes: the idioms of real kernels, and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.tiles import scalar_of, tile_of

from tileverify.frontend.bytecode.builder import I8, I16, I32, I64, tile
from tileverify.frontend.bytecode.model import ScalarType, TileType, Value

from .arithmetic import Arithmetic
from .bits import Bits
from .draws import Draws
from .moves import Moves

FIRST = (2, 1, 3)
"""How many of the blocks a condition tells from the others."""


@dataclass
class Indices:
    """``blocks`` and ``counts`` are the block's id and the grid; ``counters`` those of the loops around."""

    draws: Draws
    arithmetic: Arithmetic
    blocks: Sequence[Value]
    counts: Sequence[Value]
    tile: int
    counters: list[Value] = field(default_factory=list)
    read: list[Value] = field(default_factory=list)
    """Integers that were loaded."""
    launch: list[Value] = field(default_factory=list)
    """Numbers of the launch: the same in every block."""
    moves: Moves | None = None
    made: list[tuple[int, Value]] = field(default_factory=list)
    """Index tiles that accesses were made with, and the axis that each is meant for."""

    def part(self, element: ScalarType, axis: int = 0) -> Value:
        """A 0-d number that is meant to be different in every block."""
        known = self._known((), axis)
        if known is not None:
            return self.arithmetic.convert(known, element)
        found = self._fresh_part(element, axis)
        self.made.append((axis, found))
        return found

    def linear(self) -> Value:
        """The block's number in the plane."""
        x, y, _ = self.blocks
        return self.arithmetic.add(self.arithmetic.multiply(y, self.counts[0]), x)

    def _known(self, shape: tuple[int, ...], axis: int) -> Value | None:
        """Now and then an index that another access was made with."""
        known = [index for meant, index in self.made if meant == axis and tile_of(index).shape == shape]
        return self.draws.pick(known) if known and self.draws.chance(25) else None

    def _fresh_part(self, element: ScalarType, axis: int) -> Value:
        draws, a = self.draws, self.arithmetic
        x, y, _ = self.blocks
        own, count = (values[axis if axis < 2 else 0] for values in (self.blocks, self.counts))
        kind = draws.weighted(
            (8, "own"), (2, "linear"), (1, "swizzled"), (4, "loaded"), (5, "counter"), (1, "reversed"),
            (2, "by branch"), (1, "bits"), (0 if draws.careful else 1, "fixed"), (0 if draws.careful else 1, "any"),
        )  # fmt: skip
        known = {"loaded": self.read, "counter": self.counters, "any": a.pool}.get(kind)
        made = {
            "linear": lambda: self.linear() if draws.chance(60) else a.add(a.multiply(x, self.counts[1]), y),
            "swizzled": lambda: self._swizzled(x),
            "fixed": lambda: a.constant(tile(I32), draws.pick((0, 1, 2))),
            "reversed": lambda: a.minus(a.minus(self.counts[0], a.constant(tile(I32), draws.pick((1, 0)))), x),
            "by branch": lambda: self._by_branch(own, count),
            "bits": lambda: self._by_bits(own),
        }
        found = draws.pick(known) if known else made.get(kind, lambda: own)()
        found = a.convert(found, element)
        if draws.slip(12):
            found = a.changed(found)
        if draws.chance(6):
            found = self._folded(found)
        if draws.chance(1) and element.bits >= 16:
            found = a.through_float(found)
        if draws.chance(5) and self.moves is not None and element.bits >= 32:
            found = self.moves.number(found, draws.pick((a.constant(tile_of(found), 1), found)))
        return self._far(found) if draws.chance(6) else found

    def _by_bits(self, x: Value) -> Value:
        self.draws.note("bits of a number")
        return Bits(self.draws, self.arithmetic).of_number(x, self.launch)

    def _by_branch(self, x: Value, count: Value) -> Value:
        """A number that each side of a branch gives: neighbours swapped, the first blocks turned, one of two orders.

        The last one meets another block's where the blocks of a launch do not all take the same side.
        """
        draws, a, f = self.draws, self.arithmetic, self.arithmetic.f
        one, first = a.constant(tile_of(x), 1), a.constant(tile_of(x), draws.pick(FIRST))
        kind = draws.weighted((2, "orders"), (1, "neighbours"), (1, "turned"))
        sides: tuple[Callable[[], Value], Callable[[], Value]]
        if kind == "neighbours":
            condition = a.compare(f.op("andi", lhs=x, rhs=one), "equal", a.constant(tile_of(x), 0))
            sides = (lambda: a.add(x, one), lambda: a.minus(x, one))
        elif kind == "turned":
            condition = a.compare(x, "less_than", first)
            sides = (lambda: a.minus(a.minus(first, one), x), lambda: x)
        else:
            condition = a.compare(x, draws.pick(("less_than", "equal")), first) if draws.slip(60) else a.condition(())
            sides = (lambda: x, lambda: a.minus(a.minus(count, one), x))
        with f.if_(condition, [x.type]) as branch:
            for region, side in zip((branch.then, branch.otherwise), sides, strict=True):
                with region():
                    f.op("yield", args=[a.constant(tile_of(x), 0) if draws.slip(15) else side()])
        return branch.results[0]

    def _folded(self, value: Value) -> Value:
        """A quotient or remainder of a number that may be negative."""
        a, draws = self.arithmetic, self.draws
        moved = a.minus(value, a.constant(tile_of(value), draws.pick((1, 2, 3))))
        by = a.constant(tile_of(value), draws.pick((2, 3, 4)))
        if draws.chance(30):
            return a.remainder(moved, by, draws.pick(("signed", "unsigned")))
        return a.divide(moved, by, draws.pick(("zero", "negative_inf", "positive_inf")))

    def _far(self, value: Value) -> Value:
        """``value`` spread over the whole range of its type, so that blocks not far apart wrap to one number."""
        a, bits = self.arithmetic, scalar_of(value).bits
        kind = self.draws.below(4)
        if kind == 0:
            return a.multiply(value, a.constant(tile_of(value), 1 << (bits - 1)))
        if kind == 1:
            return a.multiply(value, a.constant(tile_of(value), 1 << (bits - 2)))
        if kind == 2:
            return a.op("shli", lhs=value, rhs=a.constant(tile_of(value), bits - 1))
        most = a.constant(tile_of(value), (1 << (bits - 1)) - 1)
        return a.add(value, most)

    def _swizzled(self, x: Value) -> Value:
        """Blocks in groups: ``(x % k) * (count // k) + x // k`` is a permutation only if k divides the count."""
        a = self.arithmetic
        k = a.constant(tile_of(x), self.draws.pick((2, 1, 3)))
        inner = a.remainder(x, k)
        if self.draws.chance(40):
            return a.add(a.multiply(inner, a.divide(self.counts[0], k)), a.divide(x, k))
        return a.add(a.multiply(a.divide(x, k), k), inner)

    def lanes(self, shape: tuple[int, ...], axis: int = 0) -> Value:
        """An index tile of ``shape`` (rank 0 to 2) that runs along its last dimension, ``part`` times its length on."""
        draws, a = self.draws, self.arithmetic
        element = draws.weighted((8, I32), (3, I64), (2, I8), (1, I16))
        known = self._known(shape, axis)
        if known is not None:
            return known
        start = self.part(element, axis)
        if not shape:
            return start
        count = shape[0] if len(shape) == 1 else shape[0] * shape[1]
        step = draws.pick((1, self.tile, 2, 3, 1 << 6, 1 << 30)) if draws.slip(20) else count
        if not draws.slip(10):
            start = a.multiply(start, a.constant(tile_of(start), step))
        iota = a.lanes(element, count)
        if draws.slip(8):
            iota = a.changed(iota)
        if len(shape) == 2:
            iota = a.f.op("reshape", s=iota, results=[TileType(element, shape)])
        if draws.chance(8):
            draws.note("bits joined with lanes")
            found = Bits(draws, a).with_lanes(a.spread(start, shape), iota)
        else:
            found = a.add(a.spread(start, shape), iota)
        if draws.slip(10):
            found = a.changed(found)
        self.made.append((axis, found))
        return found
