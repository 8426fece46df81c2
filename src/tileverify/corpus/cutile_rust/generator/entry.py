"""The shape of an entry of cuTile Rust: what its parameters are, and what stands between them and their uses.

A tensor of rank r is one pointer, r sizes and r strides (i32), static extents and unit strides among them, which nobody
reads.  An output has 2 r further ones.  What is read stands behind an `assume`: pointers are divisible by 16, sizes and
strides are not negative and divisible by 16, block numbers are not negative.  Each tensor has a token of its own, on
which the accesses of an output are strung.  Partition views fill with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ....frontend.bytecode.builder import F32, I32, BodyBuilder, ModuleBuilder, pointer, tile
from ....frontend.bytecode.model import (
    Bounded,
    DivBy,
    FloatAttribute,
    PartitionViewType,
    ScalarType,
    TensorViewType,
    TileType,
    Type,
    Value,
)

NUMBER = tile(I32)
ALIGNED = 16


@dataclass(frozen=True, slots=True)
class Tensor:
    """A parameter ``&Tensor<E, S>``, or with ``output`` a ``&mut Tensor<E, S>``; ``None`` is ``-1``, a size of the
    launch."""

    element: ScalarType
    shape: tuple[int | None, ...]
    output: bool = False

    @property
    def types(self) -> list[Type]:
        rank = len(self.shape)
        return [tile(pointer(self.element)), *[NUMBER] * (rank * (4 if self.output else 2))]


@dataclass
class View:
    """A tensor in the kernel: its view, the token of its last access, and its partitions."""

    body: Kernel
    tensor: Tensor
    value: Value
    token: Value

    def partition(self, *sizes: int) -> Value:
        assert isinstance(self.value.type, TensorViewType)
        dims = tuple(range(len(sizes)))
        type_ = PartitionViewType(sizes, self.value.type, dims, "zero")
        made: Value = self.body.f.op("make_partition_view", s=self.value, results=[type_])
        return made

    def load(self, sizes: Sequence[int], index: Sequence[Value]) -> Value:
        """A tile of the partition into tiles of these sizes."""
        found, token = self.body.f.op("load_view_tko", view=self.partition(*sizes), index=index, token=self.token)
        if self.tensor.output:
            self.token = token
        assert isinstance(found, Value)
        return found

    def store(self, value: Value, sizes: Sequence[int], index: Sequence[Value]) -> None:
        view = self.partition(*sizes)
        self.token = self.body.f.op("store_view_tko", tile=value, view=view, index=index, token=self.token)

    def tiles(self, *sizes: int) -> tuple[Value, ...]:
        """The number of tiles along each axis."""
        view = self.partition(*sizes)
        made = self.body.f.op("get_index_space_shape", src=view, results=[NUMBER] * len(sizes))
        return made if isinstance(made, tuple) else (made,)


@dataclass
class Kernel:
    """The body of an entry, in the words that its kernels are written in."""

    f: BodyBuilder
    views: list[View] = field(default_factory=list)
    scalars: list[Value] = field(default_factory=list)

    # ------------------------------------------------------------------------------------------ integers
    def number(self, value: int) -> Value:
        return self.f.constant(NUMBER, value)

    def blocks(self) -> tuple[Value, Value, Value]:
        """The number of the block, along each axis."""
        x, y, z = (self.assumed(each, Bounded(0, None)) for each in self.f.op("get_tile_block_id"))
        return x, y, z

    def assumed(self, value: Value, *predicates: object) -> Value:
        for predicate in predicates:
            value = self.f.op("assume", s=value, pred=predicate)
        return value

    def add(self, lhs: Value, rhs: Value) -> Value:
        return self._binary("addi", lhs, rhs)

    def times(self, lhs: Value, rhs: Value) -> Value:
        return self._binary("muli", lhs, rhs)

    def over(self, lhs: Value, rhs: Value) -> Value:
        """Rust's ``/``, which rounds towards zero."""
        return self._binary("divi", lhs, rhs, sgn="signed", rnd="zero")

    def over_up(self, lhs: Value, rhs: Value) -> Value:
        return self._binary("divi", lhs, rhs, sgn="signed", rnd="positive_inf")

    def rest(self, lhs: Value, rhs: Value) -> Value:
        return self._binary("remi", lhs, rhs, sgn="signed")

    def least(self, lhs: Value, rhs: Value) -> Value:
        return self._binary("mini", lhs, rhs, sgn="signed")

    def minus(self, lhs: Value, rhs: Value) -> Value:
        return self._binary("subi", lhs, rhs)

    def below(self, lhs: Value, rhs: Value) -> Value:
        return self._binary("cmpi", lhs, rhs, pred="less_than", sgn="signed")

    def _binary(self, op: str, lhs: Value, rhs: Value, **attributes: Any) -> Value:
        made: Value = self.f.op(op, lhs=lhs, rhs=rhs, **attributes)
        return made

    def guard(self, index: Value, tiles: Value) -> None:
        """What a safe kernel has in front of an access that its compiler does not prove."""
        inside = self._binary(
            "andi",
            self._binary("cmpi", index, self.number(0), pred="greater_than_or_equal", sgn="signed"),
            self.below(index, tiles),
        )
        self.f.op("assert", c=inside, msg="partition access out of bounds: tile index")

    def single(self, loaded: Value) -> Value:
        """The scalar in a tile of one element."""
        made: Value = self.f.op("reshape", s=loaded, results=[tile(_tile(loaded).element)])
        return made

    @contextmanager
    def counted(self, upper: Value, *carried: Value) -> Iterator[tuple[list[Value], list[Value]]]:
        """``for j in 0..upper``: the counter and what is carried; what the body hands on goes into the second list."""
        handed: list[Value] = []
        with self.f.for_(self.number(0), upper, self.number(1), carried) as loop:
            inside = list(loop.arguments)
            yield inside, handed
            self.f.op("continue", args=tuple(handed))
        handed[:] = loop.results

    # -------------------------------------------------------------------------------------------- floats
    def real(self, bits: int, *shape: int) -> Value:
        """A tile of one f32, given by its bits."""
        return self.f.constant(tile(F32, *shape), bits)

    def wide(self, value: Value) -> Value:
        made: Value = self.f.op("ftof", s=value, results=[tile(F32, *_tile(value).shape)])
        return made

    def narrow(self, value: Value, element: ScalarType) -> Value:
        made: Value = self.f.op("ftof", s=value, results=[tile(element, *_tile(value).shape)])
        return made

    def float(self, op: str, *values: Value) -> Value:
        names = ("lhs", "rhs") if len(values) == 2 else ("s",)
        operands: dict[str, Any] = dict(zip(names, values, strict=True))
        made: Value = self.f.op(op, **operands)
        return made

    def reshaped(self, value: Value, *shape: int) -> Value:
        made: Value = self.f.op("reshape", s=value, results=[tile(_tile(value).element, *shape)])
        return made

    def spread(self, value: Value, *shape: int) -> Value:
        """``value``, whose sizes are those of ``shape`` or 1, in all of it."""
        made: Value = self.f.op("broadcast", s=value, results=[tile(_tile(value).element, *shape)])
        return made

    def reduced(self, op: str, value: Value, dim: int, identity: int) -> Value:
        """Sum (``addf``) or maximum (``maxf``) of an f32 tile along ``dim``, which keeps size 1; identity in bits."""
        shape = _tile(value).shape
        with self.f.reduce([value], dim, [FloatAttribute(F32, identity)]) as reduction:
            lhs, rhs = reduction.arguments
            self.f.op("yield", args=(self.float(op, lhs, rhs),))
        return self.reshaped(reduction.results[0], *shape[:dim], 1, *shape[dim + 1 :])

    def product(self, lhs: Value, rhs: Value, total: Value) -> Value:
        """``total`` and the matrix product."""
        made: Value = self.f.op("mmaf", lhs=lhs, rhs=rhs, acc=total)
        return made

    def turned(self, value: Value) -> Value:
        """The transpose of a matrix."""
        rows, columns = _tile(value).shape
        made: Value = self.f.op("permute", s=value, perm=(1, 0), results=[tile(_tile(value).element, columns, rows)])
        return made

    def not_after(self, row: Value, column: Value, size: int) -> Value:
        """Of a square tile: where ``row + i >= column + j``."""
        lanes: Value = self.f.op("iota", results=[tile(I32, size)])
        rows, columns = (
            self.spread(self.reshaped(self.add(self.spread(self.reshaped(each, 1), size), lanes), *shape), size, size)
            for each, shape in ((row, (size, 1)), (column, (1, size)))
        )
        return self._binary("cmpi", rows, columns, pred="greater_than_or_equal", sgn="signed")

    def masked(self, value: Value, kept: Value) -> Value:
        """``value`` where it is kept, minus infinity elsewhere."""
        lowest = self.real(0xFF800000, *_tile(value).shape)
        made: Value = self.f.op("select", c=kept, t=value, f=lowest)
        return made


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


@contextmanager
def entry(module: ModuleBuilder, name: str, parameters: Sequence[Tensor | ScalarType]) -> Iterator[Kernel]:
    """Add the entry ``NAME_entry``, whose body is what is added to the kernel meanwhile."""
    types = [type_ for each in parameters for type_ in (each.types if isinstance(each, Tensor) else [tile(each)])]
    with module.entry(f"{name}_entry", types) as f:
        kernel = Kernel(f)
        values = iter(f.parameters)
        for each in parameters:
            if isinstance(each, Tensor):
                kernel.views.append(_view(kernel, each, [next(values) for _ in each.types]))
            else:
                kernel.scalars.append(next(values))
        yield kernel
        f.op("return")


def _view(kernel: Kernel, tensor: Tensor, values: Sequence[Value]) -> View:
    rank = len(tensor.shape)
    base, sizes, strides = values[0], values[1 : 1 + rank], values[1 + rank : 1 + 2 * rank]
    dynamic = [None] * (rank - 1)
    known = (Bounded(0, None), DivBy(ALIGNED))
    view = kernel.f.op(
        "make_tensor_view",
        base=kernel.assumed(base, DivBy(ALIGNED)),
        shape=[
            kernel.assumed(size, *known) for size, static in zip(sizes, tensor.shape, strict=True) if static is None
        ],
        strides=[kernel.assumed(stride, *known) for stride in strides[:-1]],
        results=[TensorViewType(tensor.element, tensor.shape, (*dynamic, 1))],
    )
    return View(kernel, tensor, view, kernel.f.op("make_token"))
