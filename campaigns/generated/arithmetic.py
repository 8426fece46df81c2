"""Integer arithmetic of generated kernels: every integer op of the table, on scalars and small tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.tiles import scalar_of, tile_of

from tileverify.frontend.bytecode.builder import F32, I8, I16, I32, I64, BodyBuilder, tile
from tileverify.frontend.bytecode.model import Bounded, DivBy, ScalarType, TileType, Value

from .draws import Draws

PREDICATES = ("less_than", "equal", "not_equal", "less_than_or_equal", "greater_than", "greater_than_or_equal")
SIGNS = ("signed", "unsigned")
NUMBERS = (1, 0, 2, 3, -1, 4, 5, -2, 7, 100, 127, -128, 1 << 15, 1 << 30, 1 << 31, -(1 << 31), 1 << 32, (1 << 63) - 1)
"""Constants; they are cut down to the width they are used in."""


@dataclass
class Arithmetic:
    """Writes arithmetic into ``f``; ``pool`` holds the 0-d integers that may be used, ``flags`` the 0-d conditions."""

    draws: Draws
    f: BodyBuilder
    pool: list[Value] = field(default_factory=list)
    flags: list[Value] = field(default_factory=list)

    def op(self, name: str, **parts: Any) -> Value:
        """Write an op that has one result."""
        made: Value = self.f.op(name, **parts)
        return made

    # ------------------------------------------------------------------------------------------- leaves
    def constant(self, type: TileType, value: int) -> Value:
        return self.f.constant(type, value & ((1 << _bits(type)) - 1))

    def number(self, type: TileType) -> Value:
        """A drawn constant."""
        return self.constant(type, self.draws.pick(NUMBERS))

    def any(self, type: TileType) -> Value:
        """A known value brought to ``type``, or a constant."""
        if self.pool and self.draws.chance(60):
            return self.fit(self.draws.pick(self.pool), type)
        return self.number(type)

    def lanes(self, element: ScalarType, count: int) -> Value:
        """``0, 1, ..., count - 1``; sometimes in a roundabout way."""
        roundabout = self.draws.below(8)
        plain = self.op("iota", results=[tile(element, count)])
        if roundabout == 6 and count > 1:
            half = self.op("iota", results=[tile(element, count // 2)])
            upper = self.op("addi", lhs=half, rhs=self.constant(tile_of(half), count // 2))
            return self.op("cat", lhs=half, rhs=upper, dim=0, results=[tile(element, count)])
        if roundabout == 7 and count > 1:
            square = self.op("reshape", s=plain, results=[tile(element, 2, count // 2)])
            turned = self.op("permute", s=square, perm=(1, 0), results=[tile(element, count // 2, 2)])
            return self.op("reshape", s=turned, results=[tile(element, count)])
        return plain

    # --------------------------------------------------------------------------------------------- types
    def fit(self, value: Value, type: TileType) -> Value:
        """``value`` in the element type and shape of ``type``; a scalar is spread over the tile."""
        return self.spread(self.convert(value, scalar_of(type)), type.shape)

    def convert(self, value: Value, element: ScalarType) -> Value:
        old = scalar_of(value)
        if old.bits == element.bits:
            return value
        target = TileType(element, tile_of(value).shape)
        if old.bits > element.bits:
            overflow = self.draws.pick(("nsw", "nuw")) if self.draws.slip(15) else "none"
            return self.op("trunci", s=value, results=[target], ovf=overflow)
        return self.op("exti", s=value, results=[target], sgn="unsigned" if self.draws.slip(15) else "signed")

    def spread(self, value: Value, shape: tuple[int, ...]) -> Value:
        if tile_of(value).shape == shape:
            return value
        assert not tile_of(value).shape
        small = self.op("reshape", s=value, results=[TileType(tile_of(value).element, (1,) * len(shape))])
        return self.op("broadcast", s=small, results=[TileType(tile_of(value).element, shape)])

    # ---------------------------------------------------------------------------------------- operations
    def add(self, lhs: Value, rhs: Value) -> Value:
        return self.op("addi", lhs=lhs, rhs=rhs, ovf=self._overflow())

    def minus(self, lhs: Value, rhs: Value) -> Value:
        return self.op("subi", lhs=lhs, rhs=rhs, ovf="none")

    def multiply(self, lhs: Value, rhs: Value) -> Value:
        return self.op("muli", lhs=lhs, rhs=rhs, ovf=self._overflow())

    def divide(self, lhs: Value, rhs: Value, rounding: str = "zero", sign: str = "signed") -> Value:
        return self.op("divi", lhs=lhs, rhs=rhs, rnd=rounding, sgn=sign)

    def remainder(self, lhs: Value, rhs: Value, sign: str = "signed") -> Value:
        return self.op("remi", lhs=lhs, rhs=rhs, sgn=sign)

    def compare(self, lhs: Value, predicate: str, rhs: Value, sign: str = "signed") -> Value:
        return self.op("cmpi", lhs=lhs, rhs=rhs, pred=predicate, sgn=sign)

    def _overflow(self) -> str:
        return self.draws.pick(("nsw", "nuw", "nw")) if self.draws.slip(10) else "none"

    def changed(self, value: Value) -> Value:
        """``value`` after one more operation of any kind, of the same type."""
        change = self.draws.weighted(
            (3, self._ring), (2, self._divided), (2, self._remainder), (1, self._extreme), (1, self._masked),
            (2, self._shifted), (1, self._single), (1, self._squeezed), (1, self._modulo), (1, self._chosen),
            (1, self.promised), (1, self._high),
        )  # fmt: skip
        return change(value)

    def _ring(self, value: Value) -> Value:
        name = self.draws.pick(("addi", "subi", "muli"))
        return self.op(name, lhs=value, rhs=self._operand(tile_of(value)), ovf=self._overflow())

    def _divided(self, value: Value) -> Value:
        rounding = self.draws.pick(("negative_inf", "zero", "positive_inf"))
        sign = "signed" if rounding == "negative_inf" else self.draws.pick(SIGNS)
        return self.divide(value, self._operand(tile_of(value)), rounding, sign)

    def _remainder(self, value: Value) -> Value:
        return self.remainder(value, self._operand(tile_of(value)), self.draws.pick(SIGNS))

    def _extreme(self, value: Value) -> Value:
        name = self.draws.pick(("mini", "maxi"))
        return self.op(name, lhs=value, rhs=self._operand(tile_of(value)), sgn=self.draws.pick(SIGNS))

    def _masked(self, value: Value) -> Value:
        return self.op(self.draws.pick(("andi", "ori", "xori")), lhs=value, rhs=self._operand(tile_of(value)))

    def _shifted(self, value: Value) -> Value:
        amounts = (1, 0, 2, 3, 7, 31)
        amount = (
            self.any(tile_of(value)) if self.draws.slip(20) else self.constant(tile_of(value), self.draws.pick(amounts))
        )
        if self.draws.chance(50):
            return self.op("shli", lhs=value, rhs=amount, ovf=self._overflow())
        return self.op("shri", lhs=value, rhs=amount, sgn=self.draws.pick(SIGNS))

    def _single(self, value: Value) -> Value:
        return self.op(self.draws.pick(("absi", "negi")), s=value)

    def _squeezed(self, value: Value) -> Value:
        """Through another width and back."""
        element = scalar_of(value)
        other = self.draws.pick([each for each in (I8, I16, I32, I64) if each.bits != element.bits])
        return self.convert(self.convert(value, other), element)

    def _modulo(self, value: Value) -> Value:
        return self.python_modulo(value, self._operand(tile_of(value)))

    def _chosen(self, value: Value) -> Value:
        return self.op("select", c=self.condition(tile_of(value).shape), t=self._operand(tile_of(value)), f=value)

    def _high(self, value: Value) -> Value:
        return self.op("mulhii", lhs=value, rhs=self._operand(tile_of(value)))

    def _operand(self, type: TileType) -> Value:
        return self.any(type) if self.draws.chance(35) else self.constant(type, self.draws.pick(NUMBERS[:8]))

    def python_modulo(self, a: Value, b: Value) -> Value:
        """``a % b`` as cuTile lowers it."""
        zero = self.constant(tile_of(a), 0)
        r = self.remainder(a, b)
        mixed = self.op("xori", lhs=self.compare(r, "less_than", zero), rhs=self.compare(b, "less_than", zero))
        wrong = self.op("andi", lhs=mixed, rhs=self.compare(r, "not_equal", zero))
        return self.op("select", c=wrong, t=self.op("addi", lhs=r, rhs=b), f=r)

    def promised(self, value: Value) -> Value:
        """``value`` with a promise about it, which may be a lie."""
        low, high = self.draws.pick(((0, None), (0, 127), (None, 100), (-1, 7), (1, 4)))
        predicate = Bounded(low, high) if self.draws.chance(60) else DivBy(self.draws.pick((1, 2, 4)))
        return self.op("assume", s=value, pred=predicate)

    def rounded(self, value: Value, element: ScalarType) -> Value:
        """A float (tile) as integers."""
        return self.op("ftoi", s=value, sgn="signed", results=[TileType(element, tile_of(value).shape)])

    def through_float(self, value: Value) -> Value:
        """An integer made a float and an integer again."""
        self.draws.note("index through a float")
        floating = self.op("itof", s=value, sgn="signed", results=[TileType(F32, tile_of(value).shape)])
        return self.rounded(floating, scalar_of(value))

    def piece(self, value: Value, index: Value) -> Value:
        """One element of a 1-D tile, read with ``extract`` at an index that may be out of range."""
        element = self.op("extract", s=value, index=[index], results=[tile(scalar_of(value), 1)])
        return self.op("reshape", s=element, results=[tile(scalar_of(value))])

    def put(self, value: Value, into: Value, index: Value) -> Value:
        """A 1-D tile with one element replaced through ``insert``."""
        element = self.op("reshape", s=value, results=[tile(scalar_of(value), 1)])
        return self.op("insert", s=element, dest=into, index=[index])

    # ----------------------------------------------------------------------------------------- conditions
    def condition(self, shape: tuple[int, ...]) -> Value:
        """Any condition."""
        draws = self.draws
        if not shape and self.flags and draws.chance(20):
            return draws.pick(self.flags)
        type = TileType(draws.pick((I32, I8, I64)), shape)
        lhs = self.fit(draws.pick(self.pool), type) if self.pool else self.number(type)
        found = self.compare(lhs, draws.pick(PREDICATES), self._operand(type), draws.pick(SIGNS))
        if draws.chance(15):
            other = self.compare(self.any(type), draws.pick(PREDICATES), self._operand(type))
            found = self.op(draws.pick(("andi", "ori", "xori")), lhs=found, rhs=other)
        if not shape:
            self.flags.append(found)
        return found

    def all_of(self, conditions: Sequence[Value]) -> Value:
        found, *others = conditions
        for other in others:
            found = self.op("andi", lhs=found, rhs=other)
        return found


def _bits(type: TileType) -> int:
    return scalar_of(type).bits
