"""Kernels that take a tile each: products, an activation on raw pointers, the largest of the scores."""

from __future__ import annotations

from typing import Final

from ....frontend.bytecode.builder import F16, F32, I32, I64, ModuleBuilder, pointer, tile
from ....frontend.bytecode.model import DivBy, FloatAttribute, IntegerAttribute, Value
from .entry import ALIGNED, NUMBER, Kernel, Tensor, entry
from .rows import LOWEST, ONE, ZERO

SIDE: Final = 32
"""Of a tile of a product."""
GROUP: Final = 8
"""Rows of tiles that are worked off together."""
SCORES: Final = 256
"""That a block looks at."""
WIDEST: Final = 128
"""Columns of a row on raw pointers."""


def add_tiles(module: ModuleBuilder) -> None:
    gemm(module, "gemm_f16")
    gemm(module, "gemm_f16_one_column", every_column=False)
    swizzled(module, "matmul_swizzled_f16")
    swizzled(module, "matmul_swizzled_f16_first_of_group", every_row=False)
    silu_and_mul(module, "silu_and_mul_f16")
    silu_and_mul(module, "silu_and_mul_f16_one_more", pred="less_than_or_equal")
    argmax_blocks(module, "argmax_blocks_f16")
    argmax_blocks(module, "argmax_blocks_f16_first_block", every_block=False)


def _matrices(*, output: bool) -> list[Tensor]:
    matrix = Tensor(F16, (None, None))
    return [matrix, matrix, Tensor(F16, (None, None), output)]


def gemm(module: ModuleBuilder, name: str, *, every_column: bool = True) -> None:
    """``(a: &[-1, -1], b: &[-1, -1], c: &mut [-1, -1])``: a block for each tile of c."""
    with entry(module, name, _matrices(output=True)) as k:
        row, column, _ = k.blocks()
        made = _product_of(k, row, column)
        k.views[2].store(made, (SIDE, SIDE), [row, column if every_column else k.number(0)])


def _product_of(k: Kernel, row: Value, column: Value) -> Value:
    """The tile of a b at ``row``, ``column``."""
    a, b, _ = k.views
    steps = a.tiles(SIDE, SIDE)[1]
    with k.counted(steps, k.real(ZERO, SIDE, SIDE)) as (inside, handed):
        step, total = inside
        handed.append(k.product(a.load((SIDE, SIDE), [row, step]), b.load((SIDE, SIDE), [step, column]), total))
    return k.narrow(handed[0], F16)


def swizzled(module: ModuleBuilder, name: str, *, every_row: bool = True) -> None:
    """``(a: &[-1, -1], b: &[-1, -1], c: &[-1, -1])``: blocks in groups of rows of tiles; the numbers of tiles are
    computed from the sizes, and c is a shared tensor that the ``unsafe`` kernel writes."""
    with entry(module, name, _matrices(output=False)) as k:
        block, _, _ = k.blocks()
        rows, columns = k.views[0].tiles(SIDE, SIDE)[0], k.views[1].tiles(SIDE, SIDE)[1]
        group = k.number(GROUP)
        in_group = k.times(group, columns)
        first = k.times(k.over(block, in_group), group)
        high = k.least(k.minus(rows, first), group)
        inside = k.rest(block, in_group)
        row = k.add(first, k.rest(inside, high)) if every_row else first
        made = _product_of(k, row, k.over(inside, high))
        k.views[2].store(made, (SIDE, SIDE), [row, k.over(inside, high)])


def silu_and_mul(module: ModuleBuilder, name: str, *, pred: str = "less_than") -> None:
    """``(out: *mut f16, input: *mut f16, hidden: i32, in_stride: i32, out_stride: i32)``: a row for each block, by raw
    pointers with a mask."""
    types = [tile(pointer(F16)), tile(pointer(F16)), NUMBER, NUMBER, NUMBER]
    with module.entry(f"{name}_entry", types) as f:
        k = Kernel(f)
        out, source, hidden, in_stride, out_stride = f.parameters
        out, source = k.assumed(out, DivBy(ALIGNED)), k.assumed(source, DivBy(ALIGNED))
        block = f.op("get_tile_block_id")[0]

        def wide(value: Value) -> Value:
            made: Value = f.op("exti", s=value, sgn="signed", results=[tile(I64)])
            return made

        def row(base: Value, stride: Value) -> Value:
            made: Value = f.op("offset", ptr=base, off=f.op("muli", lhs=wide(block), rhs=wide(stride)))
            return made

        lanes = f.op("iota", results=[tile(I32, WIDEST)])
        limit = f.op("broadcast", s=f.op("reshape", s=hidden, results=[tile(I32, 1)]), results=[tile(I32, WIDEST)])
        mask = f.op("cmpi", lhs=lanes, rhs=limit, pred=pred, sgn="signed")

        def spots(base: Value) -> Value:
            one = f.op("reshape", s=base, results=[tile(pointer(F16), 1)])
            made: Value = f.op("offset", ptr=f.op("broadcast", s=one, results=[tile(pointer(F16), WIDEST)]), off=lanes)
            return made

        gates = row(source, in_stride)
        gate, _ = f.op("load_ptr_tko", ptr=spots(gates), mask=mask)
        factor, _ = f.op("load_ptr_tko", ptr=spots(f.op("offset", ptr=gates, off=hidden)), mask=mask)
        gate = k.wide(gate)
        grown = k.float("addf", k.real(ONE, WIDEST), k.float("exp", k.float("negf", gate)))
        made = k.float("mulf", k.float("divf", gate, grown), k.wide(factor))
        f.op("store_ptr_tko", ptr=spots(row(out, out_stride)), val=k.narrow(made, F16), mask=mask)
        f.op("return")


def argmax_blocks(module: ModuleBuilder, name: str, *, every_block: bool = True) -> None:
    """``(scores: &[-1], best: &mut [-1] of f32, place: &mut [-1] of i32)``: the largest score of each block's tile, and
    where it is; two outputs, each with one element for a block."""
    scores, best, place = Tensor(F16, (None,)), Tensor(F32, (None,), True), Tensor(I32, (None,), True)
    with entry(module, name, [scores, best, place]) as k:
        scores_view, best_view, place_view = k.views
        block, _, _ = k.blocks()
        value = k.wide(scores_view.load((SCORES,), [block]))
        lanes: Value = k.f.op("iota", results=[tile(I32, SCORES)])
        identities = [FloatAttribute(F32, LOWEST), IntegerAttribute(I32, 0)]
        with k.f.reduce([value, lanes], 0, identities) as reduction:
            one, other, here, there = reduction.arguments
            larger = k.f.op("cmpf", lhs=one, rhs=other, pred="greater_than_or_equal", fcmp="ordered")
            kept = [k.f.op("select", c=larger, t=one, f=other), k.f.op("select", c=larger, t=here, f=there)]
            k.f.op("yield", args=tuple(kept))
        most, where = reduction.results
        where = k.add(where, k.times(block, k.number(SCORES)))
        best_view.store(k.reshaped(most, 1), (1,), [block])
        place_view.store(k.reshaped(where, 1), (1,), [block if every_block else k.number(0)])
