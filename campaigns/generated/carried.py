"""Loops whose carried values come back, change places, or count in a type that may be too small for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.tiles import scalar_of, tile_of

from tileverify.frontend.bytecode.builder import I8, I16, I32, I64, BodyBuilder, tile
from tileverify.frontend.bytecode.model import Value

from .accesses import Accesses, Buffer
from .arithmetic import Arithmetic
from .draws import Draws
from .indices import Indices
from .ordering import Ordering


@dataclass
class Carried:
    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    ordering: Ordering
    accesses: Accesses

    def statement(self, target: Buffer) -> None:
        """A loop that writes to ``target``."""
        write = self.draws.weighted((3, self._turns), (3, self._flips), (3, self._counts), (1, self._strides))
        self.draws.note(f"carried: {write.__name__[1:]}")
        write(target)

    # ----------------------------------------------------------------------------------------------- for loops
    def _turns(self, target: Buffer) -> None:
        """Two or three values change places: each iteration writes at the first of them, among its block's."""
        draws, a = self.draws, self.arithmetic
        count = draws.pick((2, 3))
        type = tile(draws.pick((I32, I64, I8)))
        start = [a.constant(type, number) for number in range(count)]
        if draws.slip(25):
            start[-1] = a.constant(type, draws.pick((0, count)))

        def write(values: list[Value]) -> list[Value]:
            self.accesses.write_at(target, self._among(values[0], count))
            return [*values[1:], values[0]] if not draws.slip(20) else values[::-1]

        self._for(start, write)

    def _flips(self, target: Buffer) -> None:
        """A value that is one of two numbers by turns."""
        draws, a = self.draws, self.arithmetic
        type = tile(draws.pick((I32, I64, I8)))
        one = a.constant(type, 1)
        by_bit = draws.chance(50)

        def write(values: list[Value]) -> list[Value]:
            (value,) = values
            self.accesses.write_at(target, self._among(value, 1 if draws.slip(20) else 2))
            return [self.f.op("xori", lhs=value, rhs=one) if by_bit else a.minus(one, value)]

        self._for([a.constant(type, draws.pick((0, 1)))], write)

    def _among(self, value: Value, count: int) -> Value:
        """``value`` among the ``count`` places of this block."""
        a = self.arithmetic
        own = a.convert(self.indices.linear(), I64)
        return a.add(a.multiply(own, a.constant(tile_of(own), count)), a.convert(value, I64))

    def _for(self, start: list[Value], body: Callable[[list[Value]], list[Value]]) -> None:
        draws, a, order = self.draws, self.arithmetic, self.ordering
        type = tile(I32)
        keys = order.carried()
        trips = a.constant(type, draws.pick((2, 3, 4)))
        if draws.chance(30):
            trips = a.f.op("mini", lhs=a.fit(draws.pick(self.indices.launch), type), rhs=trips, sgn="signed")
        zero, one = a.constant(type, 0), a.constant(type, 1)
        with self.f.for_(zero, trips, one, [*start, *order.now(keys)]) as loop:
            _, *values = loop.arguments
            with order.inside(keys, values[len(start) :]):
                following = body(values[: len(start)])
                self.f.op("continue", args=[*following, *order.now(keys)])
        order.leave(keys, loop.results[len(start) :])

    # --------------------------------------------------------------------------------------------- while loops
    def _counts(self, target: Buffer) -> None:
        """A few numbers from somewhere in a type's range, each written once, unless the counter wraps on its way."""
        draws, a = self.draws, self.arithmetic
        element = draws.pick((I8, I8, I16, I32, I64))
        type, most = tile(element), (1 << (element.bits - 1)) - 1
        first, step = draws.pick((0, most - 3, most - 6, -2)), draws.pick((1, 2, 3, 5))
        width = 3
        limit = a.constant(type, min(first + step * draws.pick((2, 3, 1)), most))

        def write(counter: Value) -> None:
            wide = a.convert(counter, I64)
            place = a.minus(wide, a.constant(tile_of(wide), first))
            if step > 1 and draws.chance(60):
                place = a.divide(place, a.constant(tile_of(wide), step), "negative_inf")
            self.accesses.write_at(target, self._among(place, width))

        self._while(a.constant(type, first), limit, a.constant(type, step), write)

    def _strides(self, target: Buffer) -> None:
        """From the block's number in steps of the grid, maybe in a small type."""
        draws, a = self.draws, self.arithmetic
        type = tile(draws.pick((I32, I32, I64, I16, I8)))
        own = self.indices.linear()
        total = a.multiply(self.indices.counts[0], self.indices.counts[1])
        if draws.slip(20):
            total = self.indices.counts[0]
        far = draws.chance(25)
        shift = a.constant(type, (1 << (scalar_of(type).bits - 1)) - 3 if far else 0)
        limit = a.constant(type, draws.pick((3, 5)))
        if draws.chance(50):
            tiles = a.divide(a.fit(target.sizes[0], type), a.constant(type, self.accesses.tile), "positive_inf")
            limit = tiles

        def write(counter: Value) -> None:
            self.accesses.write_at(target, a.minus(counter, shift))

        self._while(a.add(a.fit(own, type), shift), a.add(limit, shift), a.fit(total, type), write)

    def _while(self, start: Value, limit: Value, step: Value, body: Callable[[Value], None]) -> None:
        """From ``start`` while below ``limit``; the test is before the body or behind it."""
        draws, f, a, order = self.draws, self.f, self.arithmetic, self.ordering
        keys = order.carried()
        late = draws.chance(25)
        predicate = "equal" if draws.chance(15) else "greater_than_or_equal"
        with f.loop([start, *order.now(keys)]) as loop:
            counter, *tokens = loop.arguments
            with order.inside(keys, tokens):
                if late:
                    body(counter)
                following = a.add(counter, step)
                done = a.compare(following if late else counter, predicate, limit)
                with f.if_(done) as last, last.then():
                    f.op("break", args=[counter, *order.now(keys)])
                if not late:
                    body(counter)
                f.op("continue", args=[following, *order.now(keys)])
        order.leave(keys, loop.results[1:])
