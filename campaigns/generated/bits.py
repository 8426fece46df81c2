"""Indices made by bit operations, as swizzles and butterflies make them, and those that lose a bit."""

from __future__ import annotations

from dataclasses import dataclass

from tests.tiles import tile_of

from tileverify.frontend.bytecode.model import Value

from .arithmetic import Arithmetic
from .draws import Draws


@dataclass
class Bits:
    draws: Draws
    arithmetic: Arithmetic

    def of_number(self, x: Value, others: list[Value]) -> Value:
        """A number made of the bits of ``x``, sometimes with those of one of ``others``, which all blocks share."""
        draws = self.draws
        kind = draws.weighted(
            (3, "flipped"), (2, "shuffled"), (2, "joined"), (2, "turned"), (1 + draws.careful, "flipped by all"),
            (1 - draws.careful, "masked"), (1 - draws.careful, "set"), (1 - draws.careful, "shifted"),
        )  # fmt: skip
        one = self._constant(x, 1)
        bit = self._constant(x, draws.pick((1, 2, 3)))
        match kind:
            case "flipped":
                return self._op("xori", x, bit)
            case "shuffled":  # the even ones first: a permutation of 0 .. 2**k - 1
                half = self._constant(x, draws.pick((1, 2)))
                upper = self._op("shli", self._op("andi", x, one), half)
                return self._op("ori", upper, self._right(x, one))
            case "joined":
                low = self._op("andi", x, bit)
                high = self._op("andi", x, self._op("xori", bit, self._constant(x, -1)))
                return self._op(draws.pick(("ori", "xori")), high, low)
            case "turned":  # of the lowest two bits, each in the other's place
                upper = self._op("shli", self._op("andi", x, one), one)
                lower = self._op("andi", self._right(x, one), one)
                rest = self._op("andi", x, self._constant(x, -4))
                return self._op("ori", rest, self._op("ori", upper, lower))
            case "flipped by all" if others:
                return self._op("xori", x, self.arithmetic.fit(draws.pick(others), tile_of(x)))
            case "masked":
                return self._op("andi", x, bit)
            case "set":
                return self._op("ori", x, one)
            case "shifted":
                amount = self.arithmetic.fit(draws.pick(others), tile_of(x)) if others and draws.chance(30) else one
                return self._op("shli", x, amount) if draws.chance(50) else self._right(x, amount)
            case _:
                return x

    def with_lanes(self, start: Value, lanes: Value) -> Value:
        """``start`` and ``lanes`` in one: right where no bit is in both."""
        return self._op(self.draws.pick(("ori", "xori")), start, lanes)

    def _constant(self, x: Value, value: int) -> Value:
        return self.arithmetic.constant(tile_of(x), value)

    def _op(self, name: str, lhs: Value, rhs: Value) -> Value:
        if name == "shli":
            return self.arithmetic.op(name, lhs=lhs, rhs=rhs, ovf="none")
        return self.arithmetic.op(name, lhs=lhs, rhs=rhs)

    def _right(self, x: Value, amount: Value) -> Value:
        return self.arithmetic.op("shri", lhs=x, rhs=amount, sgn=self.draws.pick(("unsigned", "signed")))
