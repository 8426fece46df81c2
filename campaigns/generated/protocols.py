"""Small protocols between blocks on the array ``sync``, which holds 0 at first: right ones and weakened ones.

Tickets and queues by atomic addition, the last block of a launch, a flag that hands data over, and a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.tiles import Parts, tile_of

from tileverify.frontend.bytecode.builder import I64, BodyBuilder, tile
from tileverify.frontend.bytecode.model import Value

from .accesses import Accesses, Buffer
from .arithmetic import Arithmetic
from .draws import Draws
from .indices import Indices
from .ordering import TOKEN, Ordering

ORDERS = {
    "acq_rel": ("acquire", "release", "relaxed"),
    "acquire": ("relaxed", "weak"),
    "release": ("relaxed", "weak"),
    "relaxed": ("relaxed",),
}
"""What an order is weakened to."""


@dataclass
class Protocols:
    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    ordering: Ordering
    accesses: Accesses
    sync: Buffer

    def statement(self, data: Buffer, out: Buffer) -> None:
        """One protocol that hands ``data`` on, or shares out the parts of ``out``."""
        name = self.draws.pick(("ticket", "queue", "last", "flag", "lock"))
        self.draws.note(f"protocol: {name}")
        {
            "ticket": self._ticket, "queue": self._queue, "last": self._last, "flag": self._flag, "lock": self._lock,
        }[name](data, out)  # fmt: skip

    # ----------------------------------------------------------------------------------------------- protocols
    def _ticket(self, data: Buffer, out: Buffer) -> None:
        """The number that an addition gives back is the block's own."""
        self.accesses.write_at(out, self._changed(self._add("relaxed")))

    def _queue(self, data: Buffer, out: Buffer) -> None:
        """Tickets until they are used up."""
        f, a, order, draws = self.f, self.arithmetic, self.ordering, self.draws
        keys = order.carried()
        with f.loop(order.now(keys)) as loop, order.inside(keys, loop.arguments):
            ticket = self._add("relaxed")
            limit = (
                a.fit(out.sizes[0], tile_of(ticket))
                if draws.chance(40)
                else a.constant(tile_of(ticket), draws.pick((3, 2)))
            )
            with f.if_(a.compare(ticket, "greater_than_or_equal", limit)) as done, done.then():
                f.op("break", args=order.now(keys))
            self.accesses.write_at(out, self._changed(ticket))
            f.op("continue", args=order.now(keys))
        order.leave(keys, loop.results)

    def _last(self, data: Buffer, out: Buffer) -> None:
        """Every block writes its part and counts itself; the one that counts last reads the others'."""
        draws, a = self.draws, self.arithmetic
        self.accesses.write_at(data, self.indices.linear())
        before = self._add("acq_rel")
        off_by = draws.pick((2, 0)) if draws.slip(30) else 1
        last = a.minus(a.fit(self._blocks(), tile_of(before)), a.constant(tile_of(before), off_by))
        sum_up = data is not out and draws.chance(50)

        def read() -> None:
            self.accesses.read_at(data, a.constant(tile_of(before), draws.pick((0, 1))))
            if sum_up:
                self.accesses.write_at(out, a.constant(tile_of(before), 0))

        predicate = "greater_than_or_equal" if draws.slip(15) else "equal"
        self.accesses.under(a.compare(before, predicate, last), read)

    def _flag(self, data: Buffer, out: Buffer) -> None:
        """The first block writes and sets the flag; the others wait for it and read."""
        draws, a, f = self.draws, self.arithmetic, self.f
        own = self.indices.linear()
        zero = a.constant(tile_of(own), 0)
        early = draws.slip(15)
        order, keys = self.ordering, list(self.ordering.last)
        with f.if_(a.compare(own, "equal", zero), [TOKEN] * len(keys)) as branch:
            with branch.then(), order.inside((), ()):
                for step in (1, 0) if early else (0, 1):
                    if step == 0:
                        self.accesses.write_at(data, zero)
                    else:
                        self._put(1, "release")
                f.op("yield", args=order.now(keys))
            with branch.otherwise(), order.inside((), ()):
                self._wait(lambda: self._get("acquire"), "not_equal")
                self.accesses.read_at(data, zero)
                if data is not out and draws.chance(50):
                    self.accesses.write_at(out, own)
                f.op("yield", args=order.now(keys))
        order.leave(keys, branch.results)

    def _lock(self, data: Buffer, out: Buffer) -> None:
        """A place that all blocks write, each while it holds the lock."""
        a, draws = self.arithmetic, self.draws
        zero = a.constant(tile(I64), 0)
        self._wait(lambda: self._swap("acquire"), "equal")
        early = draws.slip(15)
        self.accesses.read_at(out, zero)
        if early:
            self._exchange(0, "release")
        self.accesses.write_at(out, zero)
        if not early:
            self._exchange(0, "release")

    # ---------------------------------------------------------------------------------------------- their parts
    def _blocks(self) -> Value:
        return self.arithmetic.multiply(self.indices.counts[0], self.indices.counts[1])

    def _changed(self, ticket: Value) -> Value:
        """The ticket, or a number that two tickets share."""
        if not self.draws.slip(25):
            return ticket
        two = self.arithmetic.constant(tile_of(ticket), 2)
        ways: tuple[Callable[[Value, Value], Value], ...] = (self.arithmetic.divide, self.arithmetic.remainder)
        return self.draws.pick(ways)(ticket, two)

    def _how(self, order: str) -> Parts:
        """The order, or a weaker one, and a scope."""
        draws = self.draws
        order = draws.pick(ORDERS[order]) if draws.slip(30) else order
        if order == "weak":
            return {}
        return {"ord": order, "scope": "tl_blk" if draws.slip(12) else draws.pick(("device", "sys"))}

    def _atomic(self, order: str) -> Parts:
        how = self._how(order)
        return how or {"ord": "relaxed", "scope": "device"}

    def _place(self) -> Value:
        """The first element of ``sync``, or the one of this block's side."""
        a = self.arithmetic
        if self.sync.fixed_size(0) == 2 and self.draws.slip(25):
            side = a.remainder(self.indices.linear(), a.constant(tile_of(self.indices.blocks[0]), 2))
            place: Value = self.f.op("offset", ptr=self.sync.base, off=side)
            return place
        return self.sync.base

    def _number(self, value: int) -> Value:
        return self.arithmetic.constant(tile(self.sync.element), value)

    def _add(self, order: str) -> Value:
        step = 2 if self.draws.slip(10) else 1
        return self._update("add", step, order)

    def _exchange(self, value: int, order: str) -> None:
        self._update("xchg", value, order)

    def _update(self, mode: str, value: int, order: str) -> Value:
        found: Value
        found, token = self.f.op(
            "atomic_rmw_tko", ptr=self._place(), arg=self._number(value), mode=mode,
            **self.ordering.operand(self.sync.name), **self._atomic(order),
        )  # fmt: skip
        self.ordering.done(self.sync.name, token)
        return found

    def _swap(self, order: str) -> Value:
        found: Value
        found, token = self.f.op(
            "atomic_cas_tko", ptr=self._place(), cmp=self._number(0), val=self._number(1),
            **self.ordering.operand(self.sync.name), **self._atomic(order),
        )  # fmt: skip
        self.ordering.done(self.sync.name, token)
        return found

    def _put(self, value: int, order: str) -> None:
        token = self.f.op(
            "store_ptr_tko", ptr=self._place(), val=self._number(value),
            **self.ordering.operand(self.sync.name), **self._how(order),
        )  # fmt: skip
        self.ordering.done(self.sync.name, token)

    def _get(self, order: str) -> Value:
        found: Value
        found, token = self.f.op(
            "load_ptr_tko", ptr=self._place(), **self.ordering.operand(self.sync.name), **self._how(order)
        )
        self.ordering.done(self.sync.name, token)
        return found

    def _wait(self, read: Callable[[], Value], predicate: str) -> None:
        """Read until the number compares with 0 as it should."""
        f, order = self.f, self.ordering
        keys = order.carried()
        with f.loop(order.now(keys)) as loop, order.inside(keys, loop.arguments):
            seen = read()
            with f.if_(self.arithmetic.compare(seen, predicate, self._number(0))) as done, done.then():
                f.op("break", args=order.now(keys))
            f.op("continue", args=order.now(keys))
        order.leave(keys, loop.results)
