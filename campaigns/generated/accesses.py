"""Memory accesses of generated kernels: pointer tiles, the three kinds of views, slices and atomics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.tiles import Parts, scalar_of, tile_of

from tileverify.contract.expressions import constant_value
from tileverify.contract.launch import ArrayArgument
from tileverify.frontend.bytecode.builder import F32, I8, I16, I32, I64, BodyBuilder, pointer, scalar, tile
from tileverify.frontend.bytecode.model import (
    GatherScatterViewType,
    PartitionViewType,
    ScalarType,
    StridedViewType,
    TensorViewType,
    TileType,
    Value,
)

from .arithmetic import Arithmetic
from .draws import Draws
from .indices import Indices
from .ordering import TOKEN, Ordering

ATOMIC_TYPES = ("i32", "i64", "f32")
ONE_F32 = 0x3F800000
INDEX_ARRAYS = ("idx", "cnt")


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array argument in the entry: its pointer, sizes and strides."""

    argument: ArrayArgument
    base: Value
    sizes: tuple[Value, ...]
    strides: tuple[Value, ...]

    @property
    def name(self) -> str:
        return self.argument.name

    @property
    def element(self) -> ScalarType:
        return scalar(self.argument.dtype)

    def fixed_size(self, dim: int) -> int | None:
        return constant_value(self.argument.shape[dim])

    def unit_stride(self, dim: int) -> bool:
        """The description says that neighbours along ``dim`` lie side by side."""
        if self.argument.strides is None:
            return dim == len(self.sizes) - 1
        return constant_value(self.argument.strides[dim]) == 1


@dataclass
class Accesses:
    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    ordering: Ordering
    tile: int

    # ------------------------------------------------------------------------------------------- any access
    def load(self, buffer: Buffer) -> None:
        """Loads; numbers from index arrays may become indices."""
        if buffer.name in INDEX_ARRAYS and self.draws.chance(60):
            self._keep(self._number_at(buffer))
            return
        found = self._pointers(buffer, "load") if self.draws.chance(45) else self._view(buffer, "load")
        if found is not None and buffer.name in INDEX_ARRAYS:
            self._keep(found)
        elif found is not None and scalar_of(found) == F32 and self.draws.chance(15):
            self.draws.note("index from a loaded float")
            self._keep(self.arithmetic.rounded(found, I32))

    def store(self, buffer: Buffer) -> None:
        if self.draws.chance(45):
            self._pointers(buffer, "store")
        else:
            self._view(buffer, "store")

    def atomic(self, buffer: Buffer) -> None:
        if buffer.argument.dtype not in ATOMIC_TYPES:
            self.store(buffer)
        elif self.draws.chance(60):
            self._pointers(buffer, "atomic")
        else:
            self._view(buffer, "atomic")

    def write_at(self, buffer: Buffer, start: Value, token: Value | None = None) -> None:
        """Store one tile, the one with number ``start`` along the first dimension, as far as it lies inside."""
        self._at(buffer, "store", start, token)

    def read_at(self, buffer: Buffer, start: Value) -> None:
        """The same for a load."""
        self._at(buffer, "load", start, None)

    def add_at(self, buffer: Buffer, start: Value) -> None:
        """The same for an atomic addition."""
        self._at(buffer, "atomic", start, None)

    def under(self, condition: Value, write: Callable[[], None]) -> None:
        """What ``write`` writes, where the condition holds."""
        order = self.ordering
        keys = list(order.last)
        with self.f.if_(condition, [TOKEN] * len(keys)) as branch:
            with branch.then(), order.inside((), ()):
                write()
                self.f.op("yield", args=order.now(keys))
            with branch.otherwise():
                self.f.op("yield", args=order.now(keys))
        order.leave(keys, branch.results)

    def _at(self, buffer: Buffer, kind: str, start: Value, token: Value | None) -> None:
        a, f, shape = self.arithmetic, self.f, (self.tile,)
        wide = a.convert(start, I64)
        lanes = a.add(a.spread(a.multiply(wide, a.constant(tile_of(wide), self.tile)), shape), a.lanes(I64, self.tile))
        conditions: list[Value] = []
        place = self._guard(lanes, buffer.sizes[0], conditions)
        if not buffer.unit_stride(0):
            place = a.multiply(place, a.fit(buffer.strides[0], tile_of(place)))
        parts: Parts = {"ptr": f.op("offset", ptr=a.spread(buffer.base, shape), off=place)}
        parts |= self.ordering.operand(buffer.name) if token is None else {"token": token}
        if conditions:
            parts["mask"] = a.all_of(conditions)
        self._pointer_op(buffer, kind, parts, TileType(buffer.element, shape))

    def segment(self, starts: Buffer, lengths: Buffer | None, target: Buffer) -> None:
        """Store where a segment lies that the index arrays give: from a start on, up to a length or the next start."""
        draws, a, f = self.draws, self.arithmetic, self.f
        number = a.convert(self.indices.part(I32), I64)
        start = a.convert(self._number_at(starts, number), I64)
        if lengths is None:
            end = a.convert(self._number_at(starts, a.add(number, a.constant(tile_of(number), 1))), I64)
        else:
            end = a.add(start, a.convert(self._number_at(lengths, number), I64))
        if draws.slip(25):
            end = a.changed(end)
        shape = (self.tile,)
        lanes = a.add(a.spread(start, shape), a.lanes(I64, self.tile))
        if draws.chance(30):
            lanes = a.add(lanes, a.spread(a.multiply(a.constant(tile_of(number), self.tile), self._counter()), shape))
        conditions = [a.compare(lanes, "less_than_or_equal" if draws.slip(8) else "less_than", a.spread(end, shape))]
        place = self._guard(lanes, target.sizes[0], conditions)
        place = a.multiply(place, a.spread(a.fit(target.strides[0], tile(I64)), shape))
        pointers = f.op("offset", ptr=a.spread(target.base, shape), off=place)
        parts: Parts = {"ptr": pointers, "mask": a.all_of(conditions), **self.ordering.operand(target.name)}
        self._pointer_op(target, "store", parts, TileType(target.element, shape))

    def _counter(self) -> Value:
        """The number of a loop's iteration, or of the block along y."""
        found = self.draws.pick([*self.indices.counters, self.indices.blocks[1]])
        return self.arithmetic.convert(found, I64)

    def _number_at(self, buffer: Buffer, index: Value | None = None) -> Value:
        """One number of the index array: ``index``, the remainder of some index, or the first one."""
        f, a = self.f, self.arithmetic
        if index is None:
            index = a.constant(tile(I64), 0)
            if self.draws.chance(70):
                size = a.f.op("maxi", lhs=a.fit(buffer.sizes[0], tile(I64)), rhs=a.constant(tile(I64), 1), sgn="signed")
                index = a.remainder(a.convert(self.indices.part(I32), I64), size, "unsigned")
        inside = a.compare(index, "less_than", a.fit(buffer.sizes[0], tile(I64)), "unsigned")
        value: Value
        value, token = f.op(
            "load_ptr_tko", ptr=f.op("offset", ptr=buffer.base, off=index), mask=inside,
            pad=f.constant(tile(buffer.element), 0), **self.ordering.operand(buffer.name),
        )  # fmt: skip
        self.ordering.done(buffer.name, token)
        return value

    def _keep(self, loaded: Value) -> None:
        """Make a loaded tile's numbers available."""
        f, a, type = self.f, self.arithmetic, tile_of(loaded)
        flat = loaded if len(type.shape) == 1 else f.op("reshape", s=loaded, results=[tile(type.element, type.size)])
        if type.size == 1:
            value = f.op("reshape", s=flat, results=[tile(type.element)])
        else:
            value = a.piece(flat, a.constant(tile(I32), self.draws.pick((0, 1, 0, type.size))))
        self.indices.read.append(value)
        a.pool.append(value)

    def _value(self, type: TileType) -> Value:
        """What is stored; no verdict depends on it, but what a racy launch leaves in memory does."""
        if scalar_of(type).is_integer:
            return self.arithmetic.fit(self.indices.blocks[0], type) if self.draws.chance(60) else self._one(type)
        return self._one(type)

    def _one(self, type: TileType) -> Value:
        return self.f.constant(type, 1 if scalar_of(type).is_integer else ONE_F32)

    def _atomicity(self, kind: str) -> Parts:
        draws = self.draws
        if kind == "atomic":
            scope = "tl_blk" if draws.slip(25) else draws.pick(("device", "sys"))
            return {"ord": draws.pick(("relaxed", "acq_rel", "acquire", "release")), "scope": scope}
        if not draws.slip(8):
            return {}
        order = draws.pick(("relaxed", "acquire" if kind == "load" else "release"))
        return {"ord": order, "scope": draws.pick(("device", "tl_blk", "sys"))}

    # ---------------------------------------------------------------------------------------- pointer tiles
    def _pointers(self, buffer: Buffer, kind: str) -> Value | None:
        draws, a, f = self.draws, self.arithmetic, self.f
        shape = draws.pick(((self.tile,), (), (2, 2), (4,)))
        indices = self._coordinates(buffer, shape)
        conditions: list[Value] = []
        guarded = [self._guard(index, size, conditions) for index, size in zip(indices, buffer.sizes, strict=True)]
        if draws.chance(12):
            conditions.append(a.condition(shape))
        places = None
        for dim, index in enumerate(guarded):
            wide = index if draws.slip(15) else a.convert(index, I64)
            if not (buffer.unit_stride(dim) and draws.chance(70)):
                wide = a.multiply(wide, a.fit(buffer.strides[dim], tile_of(wide)))
            if places is not None:
                places, wide = self._joined(places, wide)
                wide = a.add(places, wide)
            places = wide
        assert places is not None
        base, element = self._reinterpreted(buffer, kind)
        target = f.op("offset", ptr=a.spread(base, shape), off=places)
        parts: Parts = {"ptr": target, **self.ordering.operand(buffer.name)}
        if conditions:
            parts["mask"] = a.all_of(conditions)
        return self._pointer_op(buffer, kind, parts, TileType(element, shape))

    def _reinterpreted(self, buffer: Buffer, kind: str) -> tuple[Value, ScalarType]:
        """The array's pointer, sometimes to elements of another width."""
        if kind == "atomic" or not self.draws.chance(12):
            return buffer.base, buffer.element
        element = self.draws.pick((I8, I16, I32, I64))
        return self.f.op("ptr_to_ptr", s=buffer.base, results=[tile(pointer(element))]), element

    def _joined(self, first: Value, second: Value) -> tuple[Value, Value]:
        """Both in the wider of their types."""
        wide = max(scalar_of(first), scalar_of(second), key=lambda element: element.bits)
        return self.arithmetic.convert(first, wide), self.arithmetic.convert(second, wide)

    def _pointer_op(
        self, buffer: Buffer, kind: str, parts: Parts, type: TileType
    ) -> Value | None:  # fmt: skip
        f = self.f
        how = self._atomicity(kind)
        value: Value | None
        if kind == "load":
            if "mask" in parts and self.draws.chance(80):
                parts["pad"] = f.constant(type, 0)
            value, token = f.op("load_ptr_tko", **parts, **how)
        elif kind == "store":
            value, token = None, f.op("store_ptr_tko", val=self._value(type), **parts, **how)
        elif self.draws.chance(20):
            value, token = f.op(
                "atomic_cas_tko", cmp=f.constant(type, 0), val=self._one(type), **parts, **how,
            )  # fmt: skip
        else:
            modes = ["add", "umax", "xchg", "or"] if scalar_of(type).is_integer else ["addf", "xchg"]
            value, token = f.op("atomic_rmw_tko", arg=self._one(type), mode=self.draws.pick(modes), **parts, **how)
        self.ordering.done(buffer.name, token)
        return value

    def _coordinates(self, buffer: Buffer, shape: tuple[int, ...]) -> list[Value]:
        """An index tile of ``shape`` for each dimension of the array."""
        draws, a = self.draws, self.arithmetic
        if len(buffer.sizes) == 1:
            return [self.indices.lanes(shape)]
        if len(shape) == 2 and draws.chance(70):
            return [self._along(shape, axis) for axis in (0, 1)]
        order = (1, 0) if draws.slip(20) else (0, 1)
        found: list[Value] = []
        for axis in order:
            if axis == 1 or not shape:
                found.append(self.indices.lanes(shape, axis) if shape else self.indices.part(I32, axis))
            else:
                found.append(a.spread(self.indices.part(draws.pick((I32, I64)), axis), shape))
        return found

    def _along(self, shape: tuple[int, ...], axis: int) -> Value:
        """``shape[axis]`` neighbouring indices, the same all along the other dimension."""
        line = self.indices.lanes((shape[axis],), axis)
        place = tuple(size if axis == dim else 1 for dim, size in enumerate(shape))
        stood = self.f.op("reshape", s=line, results=[TileType(scalar_of(line), place)])
        return self.arithmetic.op("broadcast", s=stood, results=[TileType(scalar_of(line), shape)])

    def _guard(self, index: Value, size: Value, conditions: list[Value]) -> Value:
        """Keep ``index`` within ``size``: by a mask, a remainder, a clamp, or not at all."""
        draws, a = self.draws, self.arithmetic
        careless = not draws.careful
        kind = draws.weighted(
            (5, "unsigned"), (3, "signed"), (1 + 2 * careless, "upper"), (1 + 3 * careless, "none"), (1, "remainder"),
            (careless, "clamp"), (careless, "narrow"),
        )  # fmt: skip
        if kind == "none":
            return index
        if kind in ("remainder", "clamp"):
            limit = a.fit(size, tile_of(index))
            if kind == "remainder":
                return a.remainder(index, limit, draws.pick(("unsigned", "signed")))
            last = a.minus(limit, a.constant(tile_of(index), 1))
            low = a.f.op("maxi", lhs=index, rhs=a.constant(tile_of(index), 0), sgn="signed")
            return a.op("mini", lhs=low, rhs=last, sgn="signed")
        wide = index if kind == "narrow" else a.convert(index, I64)
        limit = a.fit(size, tile_of(wide))
        if kind == "signed":
            conditions.append(a.compare(a.constant(tile_of(wide), 0), "less_than_or_equal", wide))
        predicate = "less_than_or_equal" if draws.slip(6) else "less_than"
        conditions.append(a.compare(wide, predicate, limit, "unsigned" if kind == "unsigned" else "signed"))
        return index

    # ------------------------------------------------------------------------------------------------ views
    def _tensor(self, buffer: Buffer) -> Value:
        """A tensor view of the array, of a slice of it, or with its dimensions swapped."""
        draws = self.draws
        base, sizes, strides = buffer.base, list(buffer.sizes), list(buffer.strides)
        fixed: list[int | None] = [
            buffer.fixed_size(dim) or None if draws.chance(50) else None for dim in range(len(sizes))
        ]
        steps: list[int | None] = [
            1 if buffer.unit_stride(dim) and draws.chance(70) else None for dim in range(len(sizes))
        ]
        if draws.slip(20):
            base, sizes[0], fixed[0] = self._slice(buffer, sizes[0])
        if len(sizes) == 2 and draws.chance(12):
            for each in (sizes, strides, fixed, steps):
                each.reverse()
        type = TensorViewType(buffer.element, tuple(fixed), tuple(steps))
        return self.arithmetic.op(
            "make_tensor_view",
            base=base,
            shape=[size for size, known in zip(sizes, fixed, strict=True) if known is None],
            strides=[stride for stride, known in zip(strides, steps, strict=True) if known is None],
            results=[type],
        )

    def _slice(self, buffer: Buffer, size: Value) -> tuple[Value, Value, None]:
        """``array[start:stop]`` along the first dimension, as cuTile lowers it: the product may wrap."""
        a, f = self.arithmetic, self.f
        start = a.any(tile_of(size)) if self.draws.chance(60) else a.constant(tile_of(size), self.draws.pick((0, 1, 2)))
        stop = size if self.draws.chance(70) else a.any(tile_of(size))
        place = a.multiply(start, a.fit(buffer.strides[0], tile_of(start)))
        base = f.op("offset", ptr=buffer.base, off=a.convert(place, I64))
        return base, a.minus(stop, start), None

    def _view(self, buffer: Buffer, kind: str) -> Value | None:
        draws, f = self.draws, self.f
        tensor = self._tensor(buffer)
        type = tensor.type
        assert isinstance(type, TensorViewType)
        rank = len(type.shape)
        shape = tuple(draws.pick((1, 2, 4)) if draws.slip(40) else self.tile for _ in range(rank))
        padding = draws.pick(("zero", None))
        ways = [(6, "partition"), (2, "strided")] + ([(2, "sparse")] if kind != "atomic" else [])
        way = draws.weighted(*ways)
        order = (1, 0) if rank == 2 and draws.chance(20) else tuple(range(rank))
        if way == "partition":
            view = f.op("make_partition_view", s=tensor, results=[PartitionViewType(shape, type, order, padding)])
        elif way == "strided":
            steps = tuple(size if draws.chance(50) else draws.pick((1, 2, 4, 3)) for size in shape)
            view = f.op("make_strided_view", s=tensor, results=[StridedViewType(shape, steps, type, order, padding)])
        else:
            return self._sparse(buffer, tensor, shape, padding, kind)
        element = draws.weighted((8, I32), (2, I64), (1, I8))
        index = [self.indices.part(element, axis) for axis in range(rank)]
        return self._view_op(buffer, kind, view, index, shape)

    def _sparse(
        self, buffer: Buffer, tensor: Value, shape: tuple[int, ...], padding: str | None, kind: str
    ) -> Value | None:
        """A gather/scatter view: rows by an index tile, element offsets along the other dimensions."""
        draws, f, a = self.draws, self.f, self.arithmetic
        dim = draws.below(len(shape))
        assert isinstance(tensor.type, TensorViewType)
        view_type = GatherScatterViewType(shape, tensor.type, dim, padding)
        view = f.op("make_gather_scatter_view", s=tensor, results=[view_type])
        element = draws.pick((I32, I64))
        index = [
            a.convert(self.indices.lanes((size,), axis), element) if axis == dim else self.indices.part(element, axis)
            for axis, size in enumerate(shape)
        ]
        return self._view_op(buffer, kind, view, index, shape)

    def _view_op(
        self, buffer: Buffer, kind: str, view: Value, index: Sequence[Value], shape: tuple[int, ...]
    ) -> Value | None:
        """The access, often under the condition that its tile lies in the index space."""
        draws, f, a, order = self.draws, self.f, self.arithmetic, self.ordering
        if any(tile_of(one).shape for one in index) or not draws.chance(30 + 20 * draws.careful):
            return self._bare_view_op(buffer, kind, view, index, shape)
        wide = a.f.op("get_index_space_shape", src=view, results=[tile(I64)] * len(index))
        spaces = wide if isinstance(wide, tuple) else (wide,)
        inside = [
            a.compare(f.op("exti", s=one, results=[tile(I64)], sgn="unsigned") if scalar_of(one) != I64 else one,
                      "less_than", space, "unsigned")
            for one, space in zip(index, spaces, strict=True)
        ]  # fmt: skip
        keys = list(order.last)
        with f.if_(a.all_of(inside), [TOKEN] * len(keys)) as branch:
            with branch.then(), order.inside((), ()):
                self._bare_view_op(buffer, kind, view, index, shape)
                f.op("yield", args=order.now(keys))
            with branch.otherwise():
                f.op("yield", args=order.now(keys))
        order.leave(keys, branch.results)
        return None

    def _bare_view_op(
        self, buffer: Buffer, kind: str, view: Value, index: Sequence[Value], shape: tuple[int, ...]
    ) -> Value | None:
        draws, f, type = self.draws, self.f, TileType(buffer.element, shape)
        parts: Parts = {"view": view, "index": list(index), **self.ordering.operand(buffer.name)}
        if kind != "atomic" and draws.slip(8):
            parts["inbounds"] = tuple(draws.chance(60) for _ in index)
        value: Value | None
        if kind == "load":
            value, token = f.op("load_view_tko", **parts, **self._atomicity(kind))
        elif kind == "store":
            value, token = None, f.op("store_view_tko", tile=self._value(type), **parts, **self._atomicity(kind))
        else:
            how: Parts = {"ord": "relaxed", "scope": "tl_blk" if draws.slip(20) else "device"}
            mode = draws.pick(("add", "umax")) if scalar_of(type).is_integer else "addf"
            value, token = None, f.op("atomic_red_view_tko", value=self._one(type), mode=mode, **parts, **how)
        self.ordering.done(buffer.name, token)
        return value
