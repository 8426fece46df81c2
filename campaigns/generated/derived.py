"""Statements whose place, mask or condition comes out of other tiles, of memory of the block's own, or of padding.

What all blocks share may guard a place that all of them write; what differs between blocks may number the places that
they write.  A prover that mixes the two up, or believes what nobody said, proves the wrong ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.tiles import Parts, scalar_of, tile_of

from tileverify.frontend.bytecode.builder import F32, I32, I64, TOKEN, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import PartitionViewType, TensorViewType, TileType, Value

from .accesses import ONE_F32, Accesses, Buffer
from .arithmetic import Arithmetic
from .draws import Draws
from .grammar import FLOATS
from .indices import Indices
from .moves import LANES, Moves
from .ordering import Ordering


@dataclass
class Derived:
    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    ordering: Ordering
    accesses: Accesses
    moves: Moves
    floats: Buffer | None

    def statement(self, target: Buffer, other: Buffer) -> None:
        """Writes to ``target``, or to ``other``."""
        write = self.draws.weighted(
            (7, self._numbered), (6, self._guarded), (4, self._told), (3, self._lanes), (2, self._pointers),
            (5, self._local), (3, self._padded),
        )  # fmt: skip
        write(target, other)

    # ------------------------------------------------------------------------------------------ numbers
    def _own(self) -> Value:
        return self.arithmetic.convert(self.indices.linear(), self.draws.pick((I32, I64)))

    def _shared(self, like: Value) -> Value:
        """A number that all blocks of a launch have."""
        if self.draws.chance(50):
            return self.arithmetic.constant(tile_of(like), self.draws.below(LANES))
        return self.arithmetic.fit(self.draws.pick(self.indices.launch), tile_of(like))

    def _numbered(self, target: Buffer, other: Buffer) -> None:
        """Each block writes where its number says, after the number went through other tiles."""
        own = self._own()
        another = self._shared(own) if self.draws.chance(65) else own
        self.accesses.write_at(target, self.moves.number(own, another))

    def _guarded(self, target: Buffer, other: Buffer) -> None:
        """One place, written by the block whose number a value equals; one block if all share the value."""
        own = self._own()
        value = own if self.draws.chance(35) else self._shared(own)
        value = self.moves.number(value, own if self.draws.chance(40) else self._shared(own))
        self._if_own(own, value, target)

    def _told(self, target: Buffer, other: Buffer) -> None:
        """One place, guarded by an element of a table that all blocks have: each block's own, or one for all."""
        own = self._own()
        by = own if self.draws.chance(60) else self._shared(own)
        self._if_own(own, self.moves.element(by), target)

    def _if_own(self, own: Value, value: Value, target: Buffer) -> None:
        draws, a = self.draws, self.arithmetic
        if draws.chance(25):
            draws.note("float comparison")
            floats = self.moves.floating(value), self.moves.floating(own)
            condition = self.f.op("cmpf", lhs=floats[0], rhs=floats[1], pred="equal", fcmp="ordered")
        else:
            condition = a.compare(value, "equal", own)
        place = a.constant(tile_of(own), draws.pick((0, 1))) if draws.chance(85) else own
        self.accesses.under(condition, lambda: self.accesses.write_at(target, place))

    def _lanes(self, target: Buffer, other: Buffer) -> None:
        """The block's own places, in an order that other tiles gave them."""
        a, own, shape = self.arithmetic, self.indices.linear(), (LANES,)
        element = self.draws.pick((I32, I64))
        start = a.multiply(a.convert(own, element), a.constant(tile(element), LANES))
        if self.draws.chance(50):
            lanes = self.moves.lanes(a.add(a.spread(start, shape), a.lanes(element, LANES)))
        else:
            lanes = a.add(a.spread(start, shape), self.moves.lanes(a.lanes(element, LANES)))
        self._store(target, lanes, self._inside(lanes, target))

    def _inside(self, lanes: Value, target: Buffer) -> Value:
        """Where ``lanes`` lie inside the array, by a comparison of integers or of floats."""
        a = self.arithmetic
        if self.draws.chance(70):
            size = a.fit(target.sizes[0], TileType(I64, tile_of(lanes).shape))
            return a.compare(a.convert(lanes, I64), "less_than", size, "unsigned")
        self.draws.note("mask of floats")
        size = a.fit(target.sizes[0], TileType(I32, tile_of(lanes).shape))
        floats = self.moves.floating(lanes), self.moves.floating(size)
        below = self.f.op("cmpf", lhs=floats[0], rhs=floats[1], pred="less_than", fcmp="ordered")
        return a.all_of([a.compare(a.constant(tile_of(lanes), 0), "less_than_or_equal", lanes), below])

    def _store(self, target: Buffer, lanes: Value, mask: Value, value: Value | None = None) -> None:
        a, f, shape = self.arithmetic, self.f, tile_of(lanes).shape
        places = a.convert(lanes, I64)
        if not target.unit_stride(0):
            places = a.multiply(places, a.fit(target.strides[0], tile_of(places)))
        pointers = f.op("offset", ptr=a.spread(target.base, shape), off=places)
        self._store_at(target, pointers, mask, value)

    def _store_at(self, target: Buffer, pointers: Value, mask: Value | None, value: Value | None = None) -> None:
        kind = TileType(target.element, tile_of(pointers).shape)
        if value is None:
            value = self.f.constant(kind, 1 if scalar_of(kind).is_integer else ONE_F32)
        parts: Parts = {} if mask is None else {"mask": mask}
        token = self.f.op("store_ptr_tko", ptr=pointers, val=value, **parts, **self.ordering.operand(target.name))
        self.ordering.done(target.name, token)

    # ------------------------------------------------------------------------------------------ pointers
    def _pointers(self, target: Buffer, other: Buffer) -> None:
        """Lanes of one of two tiles of pointers."""
        draws, a, f, shape = self.draws, self.arithmetic, self.f, (LANES,)
        draws.note("select of pointer tiles")
        own = self.indices.linear()
        start = a.multiply(a.convert(own, I64), a.constant(tile(I64), LANES))
        lanes = a.add(a.spread(start, shape), a.lanes(I64, LANES))
        if other.element != target.element or draws.chance(40):
            other = target
        mask = a.all_of([self._inside(lanes, target), self._inside(lanes, other)])
        tiles = []
        for buffer in (target, other):
            places = a.multiply(lanes, a.fit(buffer.strides[0], tile_of(lanes)))
            if buffer is other and other is target and draws.slip(40):
                places = a.spread(a.constant(tile(I64), 0), shape) if draws.chance(50) else a.lanes(I64, LANES)
            tiles.append(f.op("offset", ptr=a.spread(buffer.base, shape), off=places))
        if draws.chance(50):
            chosen = a.compare(lanes, "less_than", a.spread(self._shared(start), shape))
        else:
            chosen = a.spread(a.compare(own, draws.pick(("less_than", "equal")), self._shared(own)), shape)
        self._store_at(target, f.op("select", c=chosen, t=tiles[0], f=tiles[1]), mask)

    # ----------------------------------------------------------------------------------- the block's own memory
    def _local(self, target: Buffer, other: Buffer) -> None:
        """A number kept in memory of the block's own for a while; sometimes nobody put it there."""
        draws, a, f = self.draws, self.arithmetic, self.f
        own = self._own()
        element = scalar_of(own)
        count = draws.pick((1, 2, 4))
        base = f.op("alloca", num_elem=count, align=element.bytes, results=[tile(pointer(element))])
        value = own if draws.chance(50) else self._shared(own)
        token = f.op("make_token")
        if draws.chance(60):
            draws.note("local memory")
            at = a.constant(tile(I64), draws.below(count))
            if draws.chance(25):
                with f.if_(a.compare(own, "less_than", a.constant(tile_of(own), 2)), [TOKEN]) as branch:
                    with branch.then():
                        f.op(
                            "yield",
                            args=[f.op("store_ptr_tko", ptr=f.op("offset", ptr=base, off=at), val=value, token=token)],
                        )
                    with branch.otherwise():
                        f.op("yield", args=[token])
                token = branch.results[0]
            else:
                token = f.op("store_ptr_tko", ptr=f.op("offset", ptr=base, off=at), val=value, token=token)
            place = at if not draws.slip(15) else a.constant(tile(I64), draws.below(count))
        else:
            draws.note("local memory that nobody wrote")
            place = a.constant(tile(I64), draws.below(count))
        read, _ = f.op("load_ptr_tko", ptr=f.op("offset", ptr=base, off=place), token=token)
        if draws.chance(70):
            self._if_own(own, read, target)
        else:
            self.accesses.write_at(target, read)

    # ------------------------------------------------------------------------------------------- padding
    def _padded(self, target: Buffer, other: Buffer) -> None:
        """A load that may reach beyond its array, without a value for what lies there; where that goes."""
        draws, a, f = self.draws, self.arithmetic, self.f
        draws.note("load without padding")
        own = self.indices.linear()
        loaded, start = self._unpadded(other, own)
        kind = tile_of(loaded)
        lanes = a.add(a.spread(start, (LANES,)), a.lanes(I64, LANES))
        inside = a.compare(lanes, "less_than", a.fit(other.sizes[0], tile_of(lanes)), "unsigned")
        zero = f.constant(kind, 0)
        if draws.chance(50):
            draws.note("load without padding, cleared")
            loaded = f.op("select", c=inside, t=loaded, f=zero)
        use = draws.below(4)
        if use == 0 and target.element == kind.element:
            self._store(target, lanes, self._inside(lanes, target), loaded)
            return
        summed = self._summed(loaded)
        if use <= 1 and target.element == kind.element:
            self._store(target, lanes, self._inside(lanes, target), a.spread(summed, (LANES,)))
        elif use == 2 and scalar_of(kind).is_integer:
            number = a.convert(summed, I64)
            self.accesses.write_at(
                target,
                a.add(
                    a.convert(own, I64), a.multiply(number, a.constant(tile_of(number), 0 if draws.chance(30) else 1))
                ),
            )
        else:
            if scalar_of(kind).is_integer:
                condition = a.compare(summed, "less_than", a.constant(tile_of(summed), 1))
            else:
                condition = f.op(
                    "cmpf", lhs=summed, rhs=f.constant(tile_of(summed), ONE_F32), pred="less_than", fcmp="ordered"
                )
            self.accesses.under(condition, lambda: self.accesses.write_at(target, own))

    def _unpadded(self, other: Buffer, own: Value) -> tuple[Value, Value]:
        """A tile of the array, and the number of its first lane."""
        a, f, shape = self.arithmetic, self.f, (LANES,)
        start = a.multiply(a.convert(own, I64), a.constant(tile(I64), LANES))
        if len(other.sizes) == 1 and self.draws.chance(50):
            tensor = TensorViewType(other.element, (None,), (None,))
            whole = f.op(
                "make_tensor_view", base=other.base, shape=other.sizes[:1], strides=other.strides[:1], results=[tensor]
            )
            padding = "zero" if self.draws.chance(20) else None
            view = f.op("make_partition_view", s=whole, results=[PartitionViewType(shape, tensor, (0,), padding)])
            space = f.op("get_index_space_shape", src=view, results=[tile(I64)])
            last = f.op(
                "maxi", lhs=a.minus(space, a.constant(tile(I64), 1)), rhs=a.constant(tile(I64), 0), sgn="signed"
            )
            number = f.op("mini", lhs=a.convert(own, I64), rhs=last, sgn="signed")
            loaded, token = f.op("load_view_tko", view=view, index=[number], **self.ordering.operand(other.name))
            start = a.multiply(number, a.constant(tile(I64), LANES))
        else:
            lanes = a.add(a.spread(start, shape), a.lanes(I64, LANES))
            mask = a.compare(lanes, "less_than", a.fit(other.sizes[0], tile_of(lanes)), "unsigned")
            places = a.multiply(lanes, a.fit(other.strides[0], tile_of(lanes)))
            pointers = f.op("offset", ptr=a.spread(other.base, shape), off=places)
            pad: Parts = {"pad": f.constant(TileType(other.element, shape), 0)} if self.draws.chance(20) else {}
            loaded, token = f.op("load_ptr_tko", ptr=pointers, mask=mask, **pad, **self.ordering.operand(other.name))
        self.ordering.done(other.name, token)
        return loaded, start

    def _summed(self, x: Value) -> Value:
        f, element = self.f, scalar_of(x)
        mode = "maxi" if element.is_integer else "maxf"
        sign: Parts = {"sgn": "signed"} if element.is_integer else {}
        with f.reduce([x], 0, [self.moves.identity(element)]) as found:
            f.op("yield", args=[f.op(mode, lhs=found.arguments[0], rhs=found.arguments[1], **sign)])
        return found.results[0]

    # -------------------------------------------------------------------------------------- loaded floats
    def loaded(self, target: Buffer) -> None:
        """A float that was loaded says which block writes, or where."""
        draws, a, f, floats = self.draws, self.arithmetic, self.f, self.floats
        assert floats is not None
        draws.note("decided by a loaded float")
        own = self._own()
        shape = (LANES,)
        lanes = a.lanes(I64, LANES)
        mask = a.compare(lanes, "less_than", a.fit(floats.sizes[0], tile_of(lanes)), "unsigned")
        pointers = f.op("offset", ptr=a.spread(floats.base, shape), off=lanes)
        loaded, token = f.op(
            "load_ptr_tko", ptr=pointers, mask=mask, pad=f.constant(TileType(F32, shape), 0),
            **self.ordering.operand(FLOATS),
        )  # fmt: skip
        self.ordering.done(FLOATS, token)
        kind = draws.below(4)
        if kind == 0:
            lanes_of = a.lanes(scalar_of(own), LANES)
            value = self.moves.best(loaded, lanes_of)
        else:
            by = own if kind == 1 else self._shared(own)
            place = a.remainder(a.convert(by, I32), a.constant(tile(I32), LANES), "unsigned")
            value = self.moves.whole(a.piece(loaded, place), scalar_of(own))
        if draws.chance(70):
            self._if_own(own, value, target)
        else:
            self.accesses.write_at(target, a.add(own, value))
