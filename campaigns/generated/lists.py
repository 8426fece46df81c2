"""Accesses through a list of arrays: its descriptors hold an address, sizes and strides in 64 bits for each element."""

from __future__ import annotations

from dataclasses import dataclass

from tests.tiles import tile_of

from tileverify.contract.launch import ListArgument
from tileverify.frontend.bytecode.builder import I32, I64, BodyBuilder, pointer, scalar, tile
from tileverify.frontend.bytecode.model import PartitionViewType, TensorViewType, TileType, Value

from .accesses import Accesses
from .arithmetic import Arithmetic
from .draws import Draws
from .indices import Indices


@dataclass
class Lists:
    """``argument`` has its descriptors at ``base``, and ``length`` elements of one or two dimensions."""

    draws: Draws
    f: BodyBuilder
    arithmetic: Arithmetic
    indices: Indices
    accesses: Accesses
    argument: ListArgument
    base: Value
    length: Value

    def statement(self) -> None:
        """Reads or writes a tile of one element, if there is such an element."""
        draws, a = self.draws, self.arithmetic
        number, start = self.indices.part(I32), a.convert(self.indices.part(I32), I64)
        inside = a.compare(number, "less_than", self.length, "signed" if draws.slip(25) else "unsigned")
        if draws.slip(20):
            self._access(number, start)
        else:
            self.accesses.under(inside, lambda: self._access(number, start))

    def _access(self, number: Value, start: Value) -> None:
        """Reads or writes a tile of element ``number``, from ``start`` on along its last dimension."""
        draws, a, f = self.draws, self.arithmetic, self.f
        rank = len(self.argument.element.shape)
        address, *layout = self._by_view(number) if draws.chance(70) else self._by_pointer(number)
        sizes, strides = layout[:rank], layout[rank:]
        element = scalar(self.argument.element.dtype)
        base = f.op("int_to_ptr", s=address, results=[tile(pointer(element))])
        if draws.slip(15):
            sizes[-1] = a.constant(tile_of(sizes[-1]), draws.pick((4, 3)))
        shape = (self.accesses.tile,)
        lanes = a.add(a.spread(a.multiply(start, a.constant(tile_of(start), shape[0])), shape), a.lanes(I64, shape[0]))
        mask = a.compare(lanes, "less_than", a.spread(sizes[-1], shape), "unsigned")
        if self.argument.element.strides is not None or draws.chance(30):
            lanes = a.multiply(lanes, a.spread(strides[-1], shape))
        if rank == 2:
            row = a.constant(tile_of(start), draws.pick((0, 1))) if draws.chance(70) else start
            if not draws.slip(15):
                inside = a.compare(row, "less_than", sizes[0], "unsigned")
                mask = a.all_of([mask, a.spread(inside, shape)])
            lanes = a.add(lanes, a.spread(a.multiply(row, strides[0]), shape))
        pointers = f.op("offset", ptr=a.spread(base, shape), off=lanes)
        kind = TileType(element, shape)
        if draws.chance(45):
            draws.note("store into a list")
            one = f.constant(kind, 1)
            f.op("store_ptr_tko", ptr=pointers, val=one, mask=mask)
        else:
            f.op("load_ptr_tko", ptr=pointers, mask=mask, pad=f.constant(kind, 0))

    @property
    def _words(self) -> int:
        return 1 + 2 * len(self.argument.element.shape)

    def _by_view(self, number: Value) -> list[Value]:
        """The words of one descriptor, as cuTile reads them."""
        f, a, words = self.f, self.arithmetic, self._words
        whole = 4 if words == 3 else 8
        tensor = TensorViewType(I64, (None, words), (words, 1))
        rows = f.op("make_tensor_view", base=self.base, shape=[self.length], strides=[], results=[tensor])
        view = f.op("make_partition_view", s=rows, results=[PartitionViewType((1, whole), tensor, (0, 1), None)])
        zero = a.constant(tile(I32), 0)
        row, _ = f.op("load_view_tko", view=view, index=[number, zero])
        found = [
            f.op("extract", s=row, index=[zero, a.constant(tile(I32), place)], results=[tile(I64, 1, 1)])
            for place in range(words)
        ]
        return [f.op("reshape", s=word, results=[tile(I64)]) for word in found]

    def _by_pointer(self, number: Value) -> list[Value]:
        f, a, words = self.f, self.arithmetic, self._words
        start = a.multiply(a.convert(number, I64), a.constant(tile(I64), words))
        found = []
        for place in range(words):
            at = f.op("offset", ptr=self.base, off=a.add(start, a.constant(tile_of(start), place)))
            found.append(f.op("load_ptr_tko", ptr=at)[0])
        return found
