"""Kernels that take a row each: norms, softmax, the merge of split sums."""

from __future__ import annotations

from typing import Final

from ....frontend.bytecode.builder import F16, F32, ModuleBuilder, tile
from ....frontend.bytecode.model import Value
from .entry import Kernel, Tensor, entry

COLUMNS: Final = 64
"""Of a tile."""
PARTS: Final = 4
"""Tiles in a row of a static size."""
ROW: Final = PARTS * COLUMNS
ZERO, ONE, LOWEST = 0, 0x3F800000, 0xFF800000
"""f32 numbers as bits: 0, 1, minus infinity."""


def add_rows(module: ModuleBuilder) -> None:
    rms_norm(module, "rms_norm_f16")
    rms_norm(module, "rms_norm_f16_first_row", every_row=False)
    layer_norm(module, "layer_norm_f32")
    layer_norm(module, "layer_norm_f32_in_place_below", neighbour=True)
    softmax(module, "softmax_f32")
    softmax(module, "softmax_f32_one_tile_more", more=1)
    merge(module, "splitk_reduce_merge")
    merge(module, "splitk_reduce_merge_row_below", below=1)


def rms_norm(module: ModuleBuilder, name: str, *, every_row: bool = True) -> None:
    """``(x: &[-1, ROW], w: &[ROW], out: &mut [-1, ROW], eps: f32)``: tiles of the row are summed, then written."""
    x, w, out = Tensor(F16, (None, ROW)), Tensor(F16, (ROW,)), Tensor(F16, (None, ROW), output=True)
    with entry(module, name, [x, w, out, F32]) as k:
        x_view, w_view, out_view = k.views
        row, _, _ = k.blocks()
        with k.counted(k.number(PARTS), k.real(ZERO, 1, COLUMNS)) as (inside, handed):
            part, total = inside
            value = k.wide(x_view.load((1, COLUMNS), [row, part]))
            handed.append(k.float("addf", total, k.float("mulf", value, value)))
        mean = k.float("divf", k.reduced("addf", handed[0], 1, ZERO), k.real(0x43800000, 1, 1))
        scale = k.float("rsqrt", k.float("addf", mean, k.reshaped(k.scalars[0], 1, 1)))
        target = row if every_row else k.number(0)
        with k.counted(k.number(PARTS)) as (inside, _):
            (part,) = inside
            value = k.wide(x_view.load((1, COLUMNS), [row, part]))
            weight = k.reshaped(k.wide(w_view.load((COLUMNS,), [part])), 1, COLUMNS)
            made = k.float("mulf", k.float("mulf", value, k.spread(scale, 1, COLUMNS)), weight)
            out_view.store(k.narrow(made, F16), (1, COLUMNS), [target, part])


def layer_norm(module: ModuleBuilder, name: str, *, neighbour: bool = False) -> None:
    """``(x: &[-1, -1], w: &[-1], b: &[-1], out: &mut [-1, -1], eps: f32)``: a row is one tile, filled with zeros.

    ``neighbour``: reads the row below from the output, which another block writes.
    """
    x, w, out = Tensor(F32, (None, None)), Tensor(F32, (None,)), Tensor(F32, (None, None), output=True)
    with entry(module, name, [x, w, w, out, F32]) as k:
        x_view, w_view, b_view, out_view = k.views
        row, column, _ = k.blocks()
        source, place = (out_view, k.rest(k.add(row, k.number(1)), out_view.tiles(1, ROW)[0])) if neighbour else (
            x_view, row
        )  # fmt: skip
        value = source.load((1, ROW), [place, column])
        count = k.real(0x43800000, 1, 1)
        mean = k.float("divf", k.reduced("addf", value, 1, ZERO), count)
        moved = k.float("subf", value, k.spread(mean, 1, ROW))
        variance = k.float("divf", k.reduced("addf", k.float("mulf", moved, moved), 1, ZERO), count)
        scale = k.float("rsqrt", k.float("addf", variance, k.reshaped(k.scalars[0], 1, 1)))
        weight, bias = (k.reshaped(each.load((ROW,), [column]), 1, ROW) for each in (w_view, b_view))
        made = k.float("mulf", k.float("mulf", moved, k.spread(scale, 1, ROW)), weight)
        out_view.store(k.float("addf", made, bias), (1, ROW), [row, column])


def softmax(module: ModuleBuilder, name: str, *, more: int = 0) -> None:
    """``(x: &[-1, -1], out: &[-1, -1])``: as many tiles as a row has; the output is a shared tensor that an ``unsafe``
    kernel writes.

    ``more``: tiles that are written beyond the last.
    """
    x = Tensor(F32, (None, None))
    with entry(module, name, [x, x]) as k:
        x_view, out_view = k.views
        row, _, _ = k.blocks()
        tiles = x_view.tiles(1, COLUMNS)[1]
        with k.counted(tiles, k.real(LOWEST, 1, 1), k.real(ZERO, 1, 1)) as (inside, handed):
            part, most, total = inside
            handed += online(k, x_view.load((1, COLUMNS), [row, part]), most, total)
        most, total = handed
        with k.counted(k.add(tiles, k.number(more))) as (inside, _):
            (part,) = inside
            value = x_view.load((1, COLUMNS), [row, k.least(part, k.minus(tiles, k.number(1)))])
            made = k.float("exp", k.float("subf", value, k.spread(most, 1, COLUMNS)))
            out_view.store(k.float("divf", made, k.spread(total, 1, COLUMNS)), (1, COLUMNS), [row, part])


def online(k: Kernel, value: Value, most: Value, total: Value) -> tuple[Value, Value]:
    """The largest value so far, and the sum of exponentials against it."""
    larger = k.float("maxf", most, k.reduced("maxf", value, 1, LOWEST))
    own = k.float("exp", k.float("subf", value, k.spread(larger, 1, COLUMNS)))
    before = k.float("mulf", total, k.float("exp", k.float("subf", most, larger)))
    return larger, k.float("addf", before, k.reduced("addf", own, 1, ZERO))


def merge(module: ModuleBuilder, name: str, *, below: int = 0) -> None:
    """``(partial: &[-1, -1, COLUMNS], out: &mut [-1, COLUMNS])``: sums over the first axis, split by another kernel.

    ``below``: rows that it reads too low.
    """
    partial, out = Tensor(F32, (None, None, COLUMNS)), Tensor(F16, (None, COLUMNS), output=True)
    with entry(module, name, [partial, out]) as k:
        partial_view, out_view = k.views
        row, column, _ = k.blocks()
        splits = partial_view.tiles(1, 1, COLUMNS)[0]
        zero = k.f.constant(tile(F32, 1, 1, COLUMNS), ZERO)
        with k.counted(splits, zero) as (inside, handed):
            part, total = inside
            place = [part, k.add(row, k.number(below)), k.number(0)]
            handed.append(k.float("addf", total, partial_view.load((1, 1, COLUMNS), place)))
        out_view.store(k.narrow(k.reshaped(handed[0], 1, COLUMNS), F16), (1, COLUMNS), [row, column])
