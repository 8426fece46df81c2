"""Reads from a list of arrays: its descriptors hold an address, sizes and strides in 64 bits for each element."""

from __future__ import annotations

from dataclasses import dataclass

from tileverify.frontend.bytecode.builder import I32, I64, BodyBuilder, pointer, scalar, tile
from tileverify.frontend.bytecode.model import PartitionViewType, TensorViewType, TileType, Value
from tileverify.frontend.sources.launch import ListArgument

from .accesses import Accesses
from .arithmetic import Arithmetic
from .draws import Draws
from .indices import Indices


@dataclass
class ListReads:
    """Reads of ``argument``, whose descriptors lie at ``base``; it has ``length`` elements of one dimension."""

    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    accesses: Accesses
    argument: ListArgument
    base: Value
    length: Value

    def statement(self) -> None:
        """Reads a tile of one element, if there is such an element."""
        draws, a = self.draws, self.arithmetic
        number, start = self.indices.part(I32), a.convert(self.indices.part(I32), I64)
        inside = a.compare(number, "less_than", self.length, "signed" if draws.slip(25) else "unsigned")
        if draws.slip(20):
            self._read(number, start)
        else:
            self.accesses.under(inside, lambda: self._read(number, start))

    def _read(self, number: Value, start: Value) -> None:
        draws, a, f = self.draws, self.arithmetic, self.f
        address, size, stride = self._by_view(number) if draws.chance(70) else self._by_pointer(number)
        element = scalar(self.argument.element.dtype)
        base = f.op("int_to_ptr", s=address, results=[tile(pointer(element))])
        if draws.slip(15):
            size = a.constant(size.type, draws.pick((4, 3)))
        shape = (self.accesses.tile,)
        lanes = a.add(a.spread(a.multiply(start, a.constant(start.type, shape[0])), shape), a.lanes(I64, shape[0]))
        mask = a.compare(lanes, "less_than", a.spread(size, shape), "unsigned")
        if draws.chance(30):
            lanes = a.multiply(lanes, a.spread(stride, shape))
        pointers = f.op("offset", ptr=a.spread(base, shape), off=lanes)
        f.op("load_ptr_tko", ptr=pointers, mask=mask, pad=f.constant(TileType(element, shape), 0))

    def _by_view(self, number: Value) -> tuple[Value, Value, Value]:
        """The words of one descriptor, as cuTile reads them."""
        f, a = self.f, self.arithmetic
        tensor = TensorViewType(I64, (None, 3), (3, 1))
        rows = f.op("make_tensor_view", base=self.base, shape=[self.length], strides=[], results=[tensor])
        view = f.op("make_partition_view", s=rows, results=[PartitionViewType((1, 4), tensor, (0, 1), None)])
        zero = a.constant(tile(I32), 0)
        row, _ = f.op("load_view_tko", view=view, index=[number, zero])
        words = [
            f.op("extract", s=row, index=[zero, a.constant(tile(I32), place)], results=[tile(I64, 1, 1)])
            for place in range(3)
        ]
        address, size, stride = (f.op("reshape", s=word, results=[tile(I64)]) for word in words)
        return address, size, stride

    def _by_pointer(self, number: Value) -> tuple[Value, Value, Value]:
        f, a = self.f, self.arithmetic
        start = a.multiply(a.convert(number, I64), a.constant(tile(I64), 3))
        found = []
        for place in range(3):
            at = f.op("offset", ptr=self.base, off=a.add(start, a.constant(start.type, place)))
            found.append(f.op("load_ptr_tko", ptr=at)[0])
        address, size, stride = found
        return address, size, stride
