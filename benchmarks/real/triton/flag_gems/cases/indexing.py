"""Moving elements: gather, scatter, concatenation, padding, resampling."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, integers, normal

from . import FLOATS, LAYOUTS, calls

FLOAT = torch.float32


@case
def by_index() -> Iterator[Call]:
    for (rows, columns), layout, axis in product(((1, 1), (37, 129), (5, 1025)), LAYOUTS, (0, 1)):
        x = layout(normal(rows, columns, dtype=FLOAT))
        size = (rows, columns)[axis]
        index = integers(0, size, 7)
        source = normal(*((7, columns) if axis == 0 else (rows, 7)), dtype=FLOAT)
        wide = integers(0, size, rows, columns)
        yield from calls("index_select", x, axis, index)
        yield from calls("index_add index_add_", x, axis, index, source)
        yield from calls("gather", x, axis, wide)
        yield from calls("gather_backward", x, x, axis, wide, False)
        yield from calls("scatter scatter_", x, axis, wide, x)
        yield from calls("scatter scatter_", x, axis, wide, x, "add")
        yield from calls("scatter_add_", x, axis, wide, x)
        yield from calls("select_scatter", x, normal(*((columns,) if axis == 0 else (rows,)), dtype=FLOAT), axis, 0)
        yield from calls("select_backward", x.select(axis, 0).contiguous(), x.shape, axis, 0)
        part = x.narrow(axis, 0, (size + 1) // 2)
        yield from calls("slice_scatter experimental.slice_scatter", x, part, axis, 0, (size + 1) // 2, 1)
        yield from calls("slice_backward experimental.slice_backward", part, x.shape, axis, 0, (size + 1) // 2, 1)
        yield from calls("masked_select experimental.masked_select", x, x > 0)
        yield from calls("masked_scatter masked_scatter_ experimental.masked_scatter", x, x > 0, x.clone())
        yield from calls("nonzero", x)
        yield from calls("index", x, [integers(0, rows, 9), integers(0, columns, 9)])
        yield from calls(
            "index_put index_put_", x, [integers(0, rows, 9), integers(0, columns, 9)], normal(9, dtype=FLOAT)
        )
        yield from calls("experimental.take", x, integers(0, rows * columns, 11))


@case
def embedding() -> Iterator[Call]:
    for (words, width, tokens), dtype in product(((10, 8, 1), (1000, 100, 37), (1001, 256, 130)), FLOATS):
        weight, indices = normal(words, width, dtype=dtype), integers(0, words, tokens)
        yield from calls("embedding", weight, indices)
        yield from calls("embedding_backward", normal(tokens, width, dtype=dtype), indices, words)
        yield from calls("embedding_dense_backward", normal(tokens, width, dtype=dtype), indices, words, -1, False)


@case
def joined() -> Iterator[Call]:
    for layout, dtype in product(LAYOUTS, FLOATS):
        xs = [layout(normal(5, n, dtype=dtype)) for n in (1, 33, 70)]
        yield from calls("hstack", xs)
        yield from calls("cat", xs, 1)
        same = [layout(normal(5, 33, dtype=dtype)) for _ in range(3)]
        yield from calls("cat stack", same, 0)
        yield from calls("vstack", same)
        yield from calls("stack", same, 1)


@case
def moved() -> Iterator[Call]:
    for shape, layout in product(((1, 1), (37, 129), (5, 1025)), LAYOUTS):
        x = layout(normal(*shape, dtype=FLOAT))
        yield from calls("flip", x, [0, 1])
        yield from calls("roll", x, (3, 5), (0, 1))
        yield from calls("repeat tile", x, (2, 3))
        yield from calls("repeat_interleave_self_int", x, 3, 1)
        yield from calls("repeat_interleave_self_tensor", x, integers(0, 4, shape[1]), 1)
        yield from calls("repeat_interleave_tensor", integers(0, 4, shape[1]))
        yield from calls("tril triu triu_ experimental.triu", x, 1)
        yield from calls("diag experimental.diag", x, 0)
        yield from calls("diag_embed", x)
        yield from calls("diagonal_backward", x.diagonal().contiguous(), x.shape, 0, 0, 1)
        yield from calls("kron", x[:5, :7], normal(3, 4, dtype=FLOAT))
        yield from calls("constant_pad_nd", x, (1, 2, 3, 4), 0.5)
        yield from calls("pad", x, (1, 2), "constant", 0.5)
        yield from calls("glu", layout(normal(shape[0], 2 * shape[1], dtype=FLOAT)))
        yield from calls("glu_backward", x, layout(normal(shape[0], 2 * shape[1], dtype=FLOAT)))
        yield from calls("experimental.permute_copy experimental.permute", x, (1, 0))
        yield from calls("experimental.unsqueeze_copy experimental.unsqueeze", x, 1)
        yield from calls("experimental.fft_ifftshift", x)
        yield from calls("unfold_backward", normal(shape[0], (shape[1] - 1) // 2 + 1, 1, dtype=FLOAT), shape, 1, 1, 2)


@case
def images() -> Iterator[Call]:
    for height, width in ((4, 4), (7, 13), (33, 64)):
        x = normal(2, 3, height, width, dtype=FLOAT)
        yield from calls("avg_pool2d", x, 2, 2, 1)
        pooled = torch.nn.functional.avg_pool2d(x, 2, 2, 1)
        yield from calls("avg_pool2d_backward", pooled, x, 2, 2, 1, False, True, None)
        yield from calls("max_pool2d_with_indices", x, 3, 2, 1)
        most, at = torch.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)
        yield from calls("max_pool2d_backward", most, x, at, 3, 2, 1, 1, False)
        yield from calls("upsample_nearest2d", x, (2 * height + 1, 3 * width))
        yield from calls("upsample_bicubic2d", x, (2 * height + 1, 3 * width))
        yield from calls("reflection_pad2d", x, (1, 2, 3, 1))
        yield from calls("experimental.replication_pad2d", x, (1, 2, 3, 1))
        yield from calls("pixel_unshuffle", normal(2, 3, 2 * height, 2 * width, dtype=FLOAT), 2)
        yield from calls("experimental.pixel_shuffle", normal(2, 8, height, width, dtype=FLOAT), 2)
        yield from calls("experimental.im2col", x, (3, 3), (1, 1), (1, 1), (1, 1))
        line, solid = normal(2, 3, width, dtype=FLOAT), normal(2, 3, 4, height, width, dtype=FLOAT)
        yield from calls("upsample_nearest1d experimental.upsample_nearest1d", line, (2 * width + 1,))
        yield from calls("upsample_linear1d", line, (2 * width + 1,), False)
        yield from calls("reflection_pad1d replication_pad1d", line, (2, 1))
        yield from calls("upsample_nearest3d experimental.upsample_nearest3d", solid, (5, 2 * height, width))
        yield from calls("replication_pad3d experimental.replication_pad3d", solid, (1, 2, 1, 1, 2, 0))
        yield from calls("experimental._adaptive_avg_pool3d", solid, (2, 2, 2))
