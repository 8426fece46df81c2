"""Kernels that read from memory where they work: a position in a sequence, ids of tokens, the start of a range."""

from __future__ import annotations

from typing import Final

from ....frontend.bytecode.builder import F16, F32, I32, ModuleBuilder
from .entry import Tensor, entry
from .rows import LOWEST, ZERO

HEAD: Final = 64
"""The width of a head."""
HEADS: Final = 2
HALF: Final = HEAD // 2
QUERIES: Final = 16
"""Rows of a tile of queries or keys."""
LANES: Final = 128
POSITION: Final = Tensor(I32, (1,))


def add_positions(module: ModuleBuilder) -> None:
    rope(module, "rope_seq_dynpos_f16")
    rope(module, "rope_seq_dynpos_f16_one_head", every_head=False)
    cache_update(module, "kv_cache_update_seq_dynpos_f16")
    cache_update(module, "kv_cache_update_seq_dynpos_f16_one_place", every_row=False)
    attention(module, "flash_attn_causal_seq_dynpos_f16")
    attention(module, "flash_attn_causal_seq_dynpos_f16_one_head", every_head=False)
    embedding(module, "embedding_batch_f16")
    embedding(module, "embedding_batch_f16_checked_late", late=True)
    embedding(module, "embedding_batch_f16_next_token", ahead=1)
    axpy(module, "axpy_within_f32")
    axpy(module, "axpy_within_f32_first_tile", every_tile=False)


def rope(module: ModuleBuilder, name: str, *, every_head: bool = True) -> None:
    """``(x: &[-1, HEADS, HEAD], cos: &[-1, HALF], sin: &[-1, HALF], pos: &[1], out: &mut [-1, HEADS, HEAD])``: both
    halves of a head are turned by the angles of its position."""
    x, angles, out = Tensor(F16, (None, HEADS, HEAD)), Tensor(F16, (None, HALF)), Tensor(F16, (None, HEADS, HEAD), True)
    with entry(module, name, [x, angles, angles, POSITION, out]) as k:
        x_view, cos_view, sin_view, pos_view, out_view = k.views
        token, head, _ = k.blocks()
        place = k.add(k.single(pos_view.load((1,), [k.number(0)])), token)
        cos, sin = (
            k.reshaped(k.wide(each.load((1, HALF), [place, k.number(0)])), 1, 1, HALF) for each in (cos_view, sin_view)
        )
        first, second = (k.wide(x_view.load((1, 1, HALF), [token, head, k.number(half)])) for half in (0, 1))
        turned = (
            k.float("subf", k.float("mulf", first, cos), k.float("mulf", second, sin)),
            k.float("addf", k.float("mulf", second, cos), k.float("mulf", first, sin)),
        )
        target = head if every_head else k.number(0)
        for half, value in enumerate(turned):
            out_view.store(k.narrow(value, F16), (1, 1, HALF), [token, target, k.number(half)])


def cache_update(module: ModuleBuilder, name: str, *, every_row: bool = True) -> None:
    """``(new: &[-1, HEADS, HEAD], pos: &[1], cache: &[HEADS, -1, HEAD])``: rows of new keys go behind those of the
    cache, a shared tensor that the ``unsafe`` kernel writes."""
    new, cache = Tensor(F16, (None, HEADS, HEAD)), Tensor(F16, (HEADS, None, HEAD))
    with entry(module, name, [new, POSITION, cache]) as k:
        new_view, pos_view, cache_view = k.views
        token, head, _ = k.blocks()
        place = k.single(pos_view.load((1,), [k.number(0)]))
        if every_row:
            place = k.add(place, token)
        value = new_view.load((1, 1, HEAD), [token, head, k.number(0)])
        cache_view.store(value, (1, 1, HEAD), [head, place, k.number(0)])


def attention(module: ModuleBuilder, name: str, *, every_head: bool = True) -> None:
    """``(q: &[-1, HEADS, HEAD], k: &[HEADS, -1, HEAD], v: &[HEADS, -1, HEAD], pos: &[1], out: &mut [-1, HEADS, HEAD],
    scale: f32)``: causal attention of new queries on a cache, as far as the last of the block's queries sees; later
    keys score minus infinity."""
    q, cache, out = (
        Tensor(F16, (None, HEADS, HEAD)),
        Tensor(F16, (HEADS, None, HEAD)),
        Tensor(F16, (None, HEADS, HEAD), True),
    )
    with entry(module, name, [q, cache, cache, POSITION, out, F32]) as k:
        q_view, k_view, v_view, pos_view, out_view = k.views
        rows, head, _ = k.blocks()
        start = k.add(k.single(pos_view.load((1,), [k.number(0)])), k.times(rows, k.number(QUERIES)))
        query = k.reshaped(q_view.load((QUERIES, 1, HEAD), [rows, head, k.number(0)]), QUERIES, HEAD)
        scale = k.spread(k.reshaped(k.scalars[0], 1, 1), QUERIES, QUERIES)
        seen = k.over_up(k.add(start, k.number(QUERIES)), k.number(QUERIES))
        tiles = k.least(seen, k_view.tiles(1, QUERIES, HEAD)[1])
        carried = [k.real(LOWEST, QUERIES, 1), k.real(ZERO, QUERIES, 1), k.real(ZERO, QUERIES, HEAD)]
        with k.counted(tiles, *carried) as (inside, handed):
            part, most, total, sums = inside
            place = [head, part, k.number(0)]
            key = k.reshaped(k_view.load((1, QUERIES, HEAD), place), QUERIES, HEAD)
            value = k.reshaped(v_view.load((1, QUERIES, HEAD), place), QUERIES, HEAD)
            scores = k.float("mulf", k.product(query, k.turned(key), k.real(ZERO, QUERIES, QUERIES)), scale)
            scores = k.masked(scores, k.not_after(start, k.times(part, k.number(QUERIES)), QUERIES))
            larger = k.float("maxf", most, k.reduced("maxf", scores, 1, LOWEST))
            own = k.float("exp", k.float("subf", scores, k.spread(larger, QUERIES, QUERIES)))
            before = k.float("exp", k.float("subf", most, larger))
            sums = k.float("mulf", sums, k.spread(before, QUERIES, HEAD))
            handed += [
                larger,
                k.float("addf", k.float("mulf", total, before), k.reduced("addf", own, 1, ZERO)),
                k.product(k.narrow(own, F16), value, sums),
            ]
        made = k.float("divf", handed[2], k.spread(handed[1], QUERIES, HEAD))
        target = [rows, head if every_head else k.number(0), k.number(0)]
        out_view.store(k.reshaped(k.narrow(made, F16), QUERIES, 1, HEAD), (QUERIES, 1, HEAD), target)


def embedding(module: ModuleBuilder, name: str, *, late: bool = False, ahead: int = 0) -> None:
    """``(ids: &[-1], table: &[-1, HEAD], out: &mut [-1, HEAD])``: the row of an id, which is checked in the kernel.

    ``late``: the check stands behind the access.  ``ahead``: the id is that of a later token.
    """
    ids, table, out = Tensor(I32, (None,)), Tensor(F16, (None, HEAD)), Tensor(F16, (None, HEAD), True)
    with entry(module, name, [ids, table, out]) as k:
        ids_view, table_view, out_view = k.views
        row, column, _ = k.blocks()
        number = k.single(ids_view.load((1,), [k.add(row, k.number(ahead)) if ahead else row]))
        rows = table_view.tiles(1, HEAD)[0]
        if not late:
            k.guard(number, rows)
        value = table_view.load((1, HEAD), [number, k.number(0)])
        if late:
            k.guard(number, rows)
        out_view.store(value, (1, HEAD), [row, column])


def axpy(module: ModuleBuilder, name: str, *, every_tile: bool = True) -> None:
    """``(a: f32, start: &[1], x: &[-1], y: &mut [-1])``: ``y += a * x`` with x from a tile on that memory tells; the
    tile of x is checked in the kernel."""
    x, y = Tensor(F32, (None,)), Tensor(F32, (None,), True)
    with entry(module, name, [F32, POSITION, x, y]) as k:
        start_view, x_view, y_view = k.views
        block, _, _ = k.blocks()
        place = k.add(k.single(start_view.load((1,), [k.number(0)])), block)
        k.guard(place, x_view.tiles(LANES)[0])
        factor = k.spread(k.reshaped(k.scalars[0], 1), LANES)
        target = [block if every_tile else k.number(0)]
        made = k.float("addf", k.float("mulf", factor, x_view.load((LANES,), [place])), y_view.load((LANES,), target))
        y_view.store(made, (LANES,), target)
