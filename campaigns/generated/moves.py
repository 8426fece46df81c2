"""Numbers and tiles of numbers sent through other tiles: floats, other bits, pieces, permutations, reductions, scans.

Most of the ways keep the number; the others bend it, so that blocks which had numbers of their own share one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.tiles import Parts, scalar_of, tile_of

from tileverify.frontend.bytecode.builder import F32, F64, I8, I32, BodyBuilder, tile
from tileverify.frontend.bytecode.model import FloatAttribute, IntegerAttribute, ScalarType, TileType, Value

from .arithmetic import PREDICATES, Arithmetic
from .draws import Draws

LANES = 4
ONE_BITS = {F32: 0x3F800000, F64: 0x3FF0000000000000}


@dataclass
class Moves:
    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic

    def number(self, x: Value, y: Value) -> Value:
        """The 0-d integer ``x`` after one or two ways; ``y`` is another number that may take part."""
        for _ in range(self.draws.weighted((3, 1), (2, 2), (1, 3))):
            way = self.draws.pick(
                (
                    self._as_float, self._as_bits, self._piece, self._piece, self._joined, self._permuted,
                    self._selected, self._selected_floats, self._best, self._reduced, self._scanned, self._compared,
                    self._packed,
                )
            )  # fmt: skip
            x = self.arithmetic.convert(way(x, y), scalar_of(x))
        return x

    # -------------------------------------------------------------------------------------- single numbers
    def floating(self, x: Value, element: ScalarType = F32) -> Value:
        self.draws.note("integer to float")
        kind = TileType(element, tile_of(x).shape)
        found: Value = self.f.op("itof", s=x, sgn="signed", results=[kind])
        return found

    def whole(self, x: Value, element: ScalarType) -> Value:
        self.draws.note("float to integer")
        return self.arithmetic.rounded(x, element)

    def _as_float(self, x: Value, y: Value) -> Value:
        """Through a float, maybe with a little arithmetic there."""
        draws, f = self.draws, self.f
        element = draws.pick((F32, F64))
        floating = self.floating(x, element)
        one = f.constant(tile_of(floating), ONE_BITS[element])
        kind = draws.below(5)
        if kind == 1:
            floating = f.op("floor", s=floating)
        elif kind == 2:
            floating = f.op("mulf", lhs=floating, rhs=one)
        elif kind == 3:
            floating = f.op("subf", lhs=f.op("addf", lhs=floating, rhs=one), rhs=one)
        elif kind == 4:
            floating = f.op("maxf", lhs=floating, rhs=one)
        return self.whole(floating, scalar_of(x))

    def bits_of(self, x: Value, element: ScalarType) -> Value:
        self.draws.note("bitcast")
        found: Value = self.f.op("bitcast", s=x, results=[TileType(element, tile_of(x).shape)])
        return found

    def _as_bits(self, x: Value, y: Value) -> Value:
        """The bits of a float, as an integer again; sometimes other bits in between."""
        narrow = self.arithmetic.convert(x, I32)
        as_float = self.bits_of(narrow, F32)
        if self.draws.chance(30):
            as_float = self.f.op("absf", s=as_float)
        if self.draws.chance(40):
            as_float = self.arithmetic.piece(self.arithmetic.spread(as_float, (2,)), self._place(y, 2))
        return self.bits_of(as_float, I32)

    def compared(self, x: Value, y: Value) -> Value:
        """A comparison of both as floats."""
        self.draws.note("float comparison")
        y = self.arithmetic.fit(y, tile_of(x))
        predicate, order = self.draws.pick(PREDICATES), self.draws.pick(("ordered", "unordered"))
        return self._cmpf(self.floating(x), predicate, self.floating(y), order)

    def _cmpf(self, lhs: Value, predicate: str, rhs: Value, order: str = "ordered") -> Value:
        found: Value = self.f.op("cmpf", lhs=lhs, rhs=rhs, pred=predicate, fcmp=order)
        return found

    def _compared(self, x: Value, y: Value) -> Value:
        """One of two numbers, by a comparison of floats."""
        other = self.arithmetic.fit(y, tile_of(x)) if self.draws.chance(40) else x
        return self.arithmetic.op("select", c=self.compared(x, y), t=x, f=other)

    # ----------------------------------------------------------------------------------------------- tiles
    def _line(self, x: Value) -> Value:
        """``x, x + 1, x + 2, x + 3``."""
        a = self.arithmetic
        return a.add(a.spread(x, (LANES,)), a.lanes(scalar_of(x), LANES))

    def _table(self, x: Value) -> Value:
        """``0, 1, 2, 3``, sometimes as a table of constants."""
        if self.draws.chance(40):
            return self.f.constant(TileType(scalar_of(x), (LANES,)), *range(LANES))
        return self.arithmetic.lanes(scalar_of(x), LANES)

    def _place(self, y: Value, count: int) -> Value:
        """An index below ``count``: a constant, or by ``y``."""
        a = self.arithmetic
        if self.draws.chance(55):
            return a.constant(tile(I32), self.draws.below(count))
        return a.remainder(a.convert(y, I32), a.constant(tile(I32), count), "unsigned")

    def _piece(self, x: Value, y: Value) -> Value:
        """One element of a table that all blocks have, by the number; or of a line from the number on.

        In floats, as nothing is known of the values there.
        """
        draws, a = self.draws, self.arithmetic
        draws.note("element of a float tile")
        element = scalar_of(x)
        if draws.chance(60):
            return self.element(x)
        floats = self.floating(self._line(x))
        return self.whole(a.piece(floats, self._place(y, LANES)), element)

    def element(self, x: Value) -> Value:
        """``x`` out of a table of floats that all blocks have."""
        a = self.arithmetic
        self.draws.note("element of a float tile")
        floats = self.floating(self._table(x))
        place = a.remainder(a.convert(x, I32), a.constant(tile(I32), LANES), "unsigned")
        return self.whole(a.piece(floats, place), scalar_of(x))

    def cat(self, lhs: Value, rhs: Value, dim: int = 0) -> Value:
        self.draws.note("cat")
        shape = tuple(size * (2 if axis == dim else 1) for axis, size in enumerate(tile_of(lhs).shape))
        found: Value = self.f.op("cat", lhs=lhs, rhs=rhs, dim=dim, results=[TileType(scalar_of(lhs), shape)])
        return found

    def _joined(self, x: Value, y: Value) -> Value:
        """``x`` and ``y`` in one tile, and one of them out of it."""
        a = self.arithmetic
        lhs, rhs = (a.spread(each, (2,)) for each in (x, a.fit(y, tile_of(x))))
        if self.draws.chance(40):
            joined = self.cat(self.floating(lhs), self.floating(rhs))
            return self.whole(a.piece(joined, self._place(y, LANES)), scalar_of(x))
        return a.piece(self.cat(lhs, rhs), self._place(y, LANES))

    def permute(self, x: Value) -> Value:
        self.draws.note("permute")
        rows, columns = tile_of(x).shape
        kind = TileType(scalar_of(x), (columns, rows))
        found: Value = self.f.op("permute", s=x, perm=(1, 0), results=[kind])
        return found

    def _permuted(self, x: Value, y: Value) -> Value:
        """Out of a turned square."""
        f, a = self.f, self.arithmetic
        line = self._line(x)
        floats = self.draws.chance(40)
        line = self.floating(line) if floats else line
        square = f.op("reshape", s=line, results=[TileType(scalar_of(line), (2, 2))])
        turned = f.op("reshape", s=self.permute(square), results=[line.type])
        found = a.piece(turned, self._place(y, LANES))
        return self.whole(found, scalar_of(x)) if floats else found

    def _mask(self, x: Value, lanes: Value) -> Value:
        """A condition for each lane."""
        a, draws = self.arithmetic, self.draws
        bound = a.spread(a.fit(x, TileType(scalar_of(lanes), ())), tile_of(lanes).shape)
        if draws.chance(50):
            return a.compare(lanes, draws.pick(PREDICATES), bound)
        draws.note("float comparison")
        return self._cmpf(self.floating(lanes), draws.pick(PREDICATES), self.floating(bound))

    def _selected(self, x: Value, y: Value) -> Value:
        """Lanes of one of two tiles."""
        self.draws.note("select of integer tiles")
        line, lanes = self._line(x), self._table(x)
        other = line if self.draws.chance(40) else self.arithmetic.spread(self.arithmetic.fit(y, tile_of(x)), (LANES,))
        chosen = self.f.op("select", c=self._mask(y, lanes), t=line, f=other)
        return self.arithmetic.piece(chosen, self._place(y, LANES))

    def _selected_floats(self, x: Value, y: Value) -> Value:
        self.draws.note("select of float tiles")
        line, lanes = self.floating(self._line(x)), self._table(x)
        other = self.floating(lanes if self.draws.chance(40) else self._line(x))
        chosen = self.f.op("select", c=self._mask(y, lanes), t=line, f=other)
        return self.whole(self.arithmetic.piece(chosen, self._place(y, LANES)), scalar_of(x))

    def _packed(self, x: Value, y: Value) -> Value:
        """As bytes and back."""
        self.draws.note("pack")
        pair = self.arithmetic.spread(self.arithmetic.convert(x, I32), (2,))
        packed = self.f.op("pack", s=pair, results=[TileType(I8, (8,))])
        back = self.f.op("unpack", s=packed, results=[TileType(I32, (2,))])
        return self.arithmetic.piece(back, self._place(y, 2))

    # ------------------------------------------------------------------------------- reductions and scans
    def identity(self, element: ScalarType) -> IntegerAttribute | FloatAttribute:
        return FloatAttribute(element, 0) if element.is_float else IntegerAttribute(element, 0)

    def best(self, values: Value, places: Value) -> Value:
        """The place of the largest or smallest value."""
        f, draws = self.f, self.draws
        draws.note("reduction with index")
        element = scalar_of(values)
        ident = [self.identity(element), self.identity(scalar_of(places))]
        predicate = draws.pick(("greater_than", "less_than"))
        with f.reduce([values, places], 0, ident) as found:
            v, w, i, j = found.arguments
            compare = self._cmpf if element.is_float else self.arithmetic.compare
            first = compare(v, predicate, w)
            f.op("yield", args=[f.op("select", c=first, t=v, f=w), f.op("select", c=first, t=i, f=j)])
        return found.results[1]

    def _best(self, x: Value, y: Value) -> Value:
        """Where the largest of four numbers stands: a table of the launch, or numbers around ``x``."""
        a, draws = self.arithmetic, self.draws
        values = self._line(x) if draws.chance(50) else self._table(x)
        if draws.chance(40):
            values = self.f.op("select", c=self._mask(y, values), t=values, f=a.constant(tile_of(values), 0))
        if draws.chance(50):
            values = self.floating(values)
        places = self._line(x) if draws.chance(70) else self._table(x)
        return self.best(values, places)

    def _reduced(self, x: Value, y: Value) -> Value:
        """Of four numbers, the smallest, the largest, or one through a sum of which one lane counts."""
        f, a, draws = self.f, self.arithmetic, self.draws
        draws.note("reduction")
        line, mode = self._line(x), draws.pick(("mini", "maxi", "addi"))
        if mode == "addi":
            first = a.compare(self._table(x), "equal", a.spread(a.fit(self._place(y, LANES), tile_of(x)), (LANES,)))
            line = f.op("select", c=first, t=line, f=a.constant(tile_of(line), 0))
        if mode != "addi" and draws.chance(40):
            floats = self.floating(line)
            with f.reduce([floats], 0, [self.identity(F32)]) as best:
                f.op("yield", args=[f.op(mode[:3] + "f", lhs=best.arguments[0], rhs=best.arguments[1])])
            return self.whole(best.results[0], scalar_of(x))
        sign: Parts = {} if mode == "addi" else {"sgn": "signed"}
        with f.reduce([line], 0, [self.identity(scalar_of(x))]) as found:
            f.op("yield", args=[f.op(mode, lhs=found.arguments[0], rhs=found.arguments[1], **sign)])
        return found.results[0]

    def _scanned(self, x: Value, y: Value) -> Value:
        a = self.arithmetic
        line = self._line(x) if self.draws.chance(60) else a.spread(x, (LANES,))
        return a.piece(self.scan(line), self._place(y, LANES))

    def scan(self, line: Value) -> Value:
        """Running sums or maxima."""
        f, draws = self.f, self.draws
        draws.note("scan")
        mode, element = draws.pick(("maxi", "addi", "mini")), scalar_of(line)
        sign: Parts = {} if mode == "addi" else {"sgn": "signed"}
        if draws.chance(30):
            floats = self.floating(line)
            with f.scan([floats], 0, [self.identity(F32)], reverse=draws.chance(30)) as running:
                name = "addf" if mode == "addi" else mode[:3] + "f"
                f.op("yield", args=[f.op(name, lhs=running.arguments[0], rhs=running.arguments[1])])
            return self.whole(running.results[0], element)
        with f.scan([line], 0, [self.identity(element)], reverse=draws.chance(30)) as found:
            f.op("yield", args=[f.op(mode, lhs=found.arguments[0], rhs=found.arguments[1], **sign)])
        return found.results[0]

    # -------------------------------------------------------------------------------------------- index tiles
    def lanes(self, x: Value) -> Value:
        """A 1-D tile of integers whose lanes change places, or are sent through floats or bits."""
        draws = self.draws
        ways: list[Callable[[Value], Value]] = [self._round_trip, self._by_bits, self._halves, self._counted]
        if tile_of(x).size == LANES:
            ways.append(self._turned)
        return draws.pick(ways)(x)

    def _round_trip(self, x: Value) -> Value:
        return self.whole(self.floating(x, self.draws.pick((F32, F64))), scalar_of(x))

    def _by_bits(self, x: Value) -> Value:
        element = F32 if scalar_of(x).bits == 32 else F64 if scalar_of(x).bits == 64 else None
        if element is None:
            return self._round_trip(x)
        return self.bits_of(self.bits_of(x, element), scalar_of(x))

    def _halves(self, x: Value) -> Value:
        """Both halves, joined in one order or the other, or one of them twice."""
        f, count = self.f, tile_of(x).size
        if count == 1:
            return self._round_trip(x)
        half = TileType(scalar_of(x), (count // 2,))
        self.draws.note("extract of a tile")
        parts = [
            f.op("extract", s=x, index=[self.arithmetic.constant(tile(I32), place)], results=[half]) for place in (0, 1)
        ]
        if self.draws.slip(20):
            parts[1] = parts[0]
        elif self.draws.chance(50):
            parts.reverse()
        return self.cat(parts[0], parts[1])

    def _counted(self, x: Value) -> Value:
        """Its first lane plus what a scan counts."""
        f, a = self.f, self.arithmetic
        first = f.op("extract", s=x, index=[a.constant(tile(I32), 0)], results=[TileType(scalar_of(x), (1,))])
        start = f.op("reshape", s=first, results=[TileType(scalar_of(x), ())])
        self.draws.note("scan")
        with f.scan([a.constant(tile_of(x), 1)], 0, [self.identity(scalar_of(x))]) as running:
            f.op("yield", args=[f.op("addi", lhs=running.arguments[0], rhs=running.arguments[1])])
        counted = a.minus(running.results[0], a.constant(tile_of(x), 1))
        return a.add(a.spread(start, tile_of(x).shape), counted)

    def _turned(self, x: Value) -> Value:
        square = self.f.op("reshape", s=x, results=[TileType(scalar_of(x), (2, 2))])
        found: Value = self.f.op("reshape", s=self.permute(square), results=[x.type])
        return found
