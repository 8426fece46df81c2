"""Statements that are right, or wrong, for what happens on one path only.

Every block writes at a number of its own, which is then bent on one side of a branch, told apart by an early exit, read
in a type that it fits on one side only, or ordered behind an access of one side only.  A prover that loses a path's
condition, or keeps it for too long, proves the wrong ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.tiles import scalar_of, tile_of

from tileverify.frontend.bytecode.builder import I8, I16, I32, BodyBuilder
from tileverify.frontend.bytecode.model import Value

from .accesses import Accesses, Buffer
from .arithmetic import Arithmetic
from .draws import Draws
from .indices import FIRST, Indices
from .ordering import TOKEN, Ordering


@dataclass
class Paths:
    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    ordering: Ordering
    accesses: Accesses

    def statement(self, target: Buffer, *, leaves: bool) -> None:
        """Writes to ``target``; ``leaves``: the block may return early."""
        ways: list[tuple[int, Callable[[Buffer], None]]] = [
            (2, self._one_of_two), (2, self._narrow_on_one_side), (2, self._decided_twice),
            (2, self._awaited_on_one_side),
        ]  # fmt: skip
        if leaves:
            ways.append((2, self._behind_an_exit))
        write = self.draws.weighted(*ways)
        self.draws.note(f"path: {write.__name__[1:].replace('_', ' ')}")
        write(target)

    # -------------------------------------------------------------------------------------------- conditions
    def _own(self) -> Value:
        return self.indices.linear()

    def _condition(self, own: Value) -> Value:
        """One that tells blocks apart, or one that all blocks of a launch decide alike."""
        draws, a = self.draws, self.arithmetic
        if draws.chance(40):
            launch = a.convert(draws.pick(self.indices.launch), scalar_of(own))
            return a.compare(launch, draws.pick(("less_than", "equal")), a.constant(tile_of(own), draws.pick(FIRST)))
        predicate = draws.pick(("less_than", "equal", "greater_than_or_equal", "not_equal"))
        return a.compare(own, predicate, a.constant(tile_of(own), draws.pick(FIRST)))

    def _other(self, own: Value) -> Value:
        """Another block's number, or a number that all blocks share."""
        a, draws = self.arithmetic, self.draws
        if draws.chance(50):
            return a.constant(tile_of(own), draws.pick((0, 1)))
        last = a.minus(a.multiply(self.indices.counts[0], self.indices.counts[1]), a.constant(tile_of(own), 1))
        return a.minus(last, own)

    # -------------------------------------------------------------------------------------------- statements
    def _one_of_two(self, target: Buffer) -> None:
        """Where to write is what one of two sides gives."""
        own = self._own()
        sides = [own, self._other(own)]
        if self.draws.chance(50):
            sides.reverse()
        self.accesses.write_at(target, self._either(self._condition(own), *sides))

    def _either(self, condition: Value, first: Value, second: Value) -> Value:
        if self.draws.chance(40):
            chosen: Value = self.f.op("select", c=condition, t=first, f=second)
            return chosen
        with self.f.if_(condition, [first.type]) as branch:
            with branch.then():
                self.f.op("yield", args=[first])
            with branch.otherwise():
                self.f.op("yield", args=[second])
        return branch.results[0]

    def _decided_twice(self, target: Buffer) -> None:
        """A write under a condition, then another where the same condition says; or under it alone."""
        own = self._own()
        condition = self._condition(own)
        self.accesses.under(condition, lambda: self.accesses.write_at(target, own))
        if self.draws.chance(50):
            self.accesses.under(condition, lambda: self.accesses.write_at(target, self._other(own)))
        else:
            self.accesses.write_at(target, self._either(condition, own, self._other(own)))

    def _narrow_on_one_side(self, target: Buffer) -> None:
        """A number that fits its type for the first blocks only, used by them, by others, or by all."""
        draws, a = self.draws, self.arithmetic
        own = self._own()
        element = draws.pick((I8, I16, I32))
        small = a.convert(own, element)
        far = a.multiply(small, a.constant(tile_of(small), 1 << (element.bits - draws.pick((1, 1, 2)))))
        place = a.add(far, small) if draws.chance(25) else far
        first = a.compare(own, "less_than", a.constant(tile_of(own), draws.pick((1, 2))))
        self.accesses.under(first, lambda: self.accesses.write_at(target, place))
        if draws.chance(60):
            self.accesses.write_at(target, place)
        else:
            self.accesses.under(self._condition(own), lambda: self.accesses.write_at(target, place))

    def _awaited_on_one_side(self, target: Buffer) -> None:
        """A write, and another behind a token that waits for it on one side of a branch."""
        own, order = self._own(), self.ordering
        before = order.operand(target.name).get("token")
        self.accesses.write_at(target, own)
        after = order.operand(target.name).get("token")
        if before is None or after is None:
            return
        sides = [after, before] if self.draws.chance(50) else [before, after]
        with self.f.if_(self._condition(own), [TOKEN]) as branch:
            with branch.then():
                self.f.op("yield", args=sides[:1])
            with branch.otherwise():
                self.f.op("yield", args=sides[1:])
        again = own if self.draws.chance(85) else self._other(own)
        self.accesses.write_at(target, again, token=branch.results[0])

    def _behind_an_exit(self, target: Buffer) -> None:
        """Some blocks return; the others write where they would meet them, or where they meet each other."""
        draws, a, f = self.draws, self.arithmetic, self.f
        own = self._own()
        first = a.constant(tile_of(own), draws.pick(FIRST))
        with f.if_(a.compare(own, draws.pick(("greater_than_or_equal", "less_than")), first)) as branch, branch.then():
            f.op("return")
        kind = draws.below(4)
        if kind == 0:
            place = a.constant(tile_of(own), 0)
        elif kind == 1:
            place = a.remainder(own, first)
        elif kind == 2:
            place = a.divide(own, a.constant(tile_of(own), 2))
        else:
            place = own
        self.accesses.write_at(target, place)
