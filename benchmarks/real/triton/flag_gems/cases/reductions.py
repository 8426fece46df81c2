"""Reductions, scans, norms, softmax, losses, sorting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, integers, normal

from . import FLOATS, LAYOUTS, calls, spread, transposed

FLOAT = torch.float32
ROWS = ((1, 1), (3, 127), (37, 129), (5, 4100), (300, 64))


@case
def whole() -> Iterator[Call]:
    for (rows, columns), dtype in product(ROWS, FLOATS):
        x = normal(rows, columns, dtype=dtype)
        yield from calls("all any amax aminmax argmax argmin count_nonzero max mean min prod sum std var var_mean", x)
        yield from calls("trace experimental.trace", x)
        yield from calls("vector_norm experimental.amin", x)
        yield from calls("dot vdot", x.reshape(-1), x.reshape(-1))


@case
def along_an_axis() -> Iterator[Call]:
    names = """all_dim any_dim aminmax argmax argmin count_nonzero max_dim mean_dim min_dim prod_dim std cumsum cummax
        cummin normed_cumsum softmax log_softmax _safe_softmax sort"""
    over_lists = "all_dims any_dims amax sum_dim mean_dim var_dim var_mean std"
    for (rows, columns), layout, axis in product(ROWS, LAYOUTS, (0, 1)):
        x = layout(normal(rows, columns, dtype=FLOAT))
        yield from calls(names, x, dim=axis)
        yield from calls("vector_norm", x, 2, [axis])
        yield from calls(over_lists, x, dim=[axis])
    for shape, axis in product(((2, 5, 70), (7, 1, 33)), (0, 1, 2)):
        for dtype in FLOATS:
            yield from calls(names, normal(*shape, dtype=dtype), dim=axis)
            yield from calls(over_lists, normal(*shape, dtype=dtype), dim=[0, axis] if axis else [0])
    yield from calls("quantile", normal(37, 129, dtype=FLOAT), torch.tensor([0.2, 0.7], device="cuda"), 1)


@case
def softmax_backward() -> Iterator[Call]:
    for (rows, columns), dtype, axis in product(ROWS, FLOATS, (0, 1)):
        g, y = normal(rows, columns, dtype=dtype), normal(rows, columns, dtype=dtype)
        yield from calls("softmax_backward log_softmax_backward", g, y, axis, dtype)
    for columns in (16, 100, 1024):
        x = normal(2, 3, 33, columns, dtype=torch.float16)
        yield from calls("scaled_softmax_forward", x, 0.7)
        yield from calls("scaled_softmax_backward", x, x, 0.7)


@case
def norms() -> Iterator[Call]:
    for (rows, columns), dtype in product(ROWS, FLOATS):
        x, y, w, b = (
            normal(rows, columns, dtype=dtype),
            normal(rows, columns, dtype=dtype),
            *(normal(columns, dtype=dtype) for _ in range(2)),
        )
        mean, rstd = (normal(rows, 1, dtype=FLOAT) for _ in range(2))
        yield from calls("layer_norm", x, (columns,), w, b)
        yield from calls("layer_norm_backward", y, x, (columns,), mean, rstd, w, b, [True, True, True])
        yield from calls("rms_norm rms_norm_forward", x, (columns,), w)
        yield from calls("rms_norm_backward", y, x, rstd, (columns,), w)
        yield from calls("fused_add_rms_norm", x, y, (columns,), w)
        yield from calls("skip_layer_norm", x, y, (columns,), w, b)
        yield from calls("experimental.rmsnorm", x, w)
    for (batch, channels, length, groups), dtype in product(((1, 4, 9, 2), (3, 12, 100, 4), (2, 6, 1025, 6)), FLOATS):
        x, w, b = normal(batch, channels, length, dtype=dtype), normal(channels), normal(channels)
        stats = normal(batch, groups, dtype=FLOAT)
        yield from calls("group_norm", x, w.to(dtype), b.to(dtype), batch, channels, length, groups)
        yield from calls(
            "group_norm_backward", x, x, stats, stats, w.to(dtype), batch, channels, length, groups, [True, True, True]
        )
        weights = [each.to(FLOAT) for each in (w, b)]
        running = [torch.zeros(channels, device="cuda"), torch.ones(channels, device="cuda")]
        for training in (True, False):
            yield from calls("batch_norm", x, *weights, *running, training)
            yield from calls(
                "batch_norm_backward", x, x, weights[0], *running, *running, training, 1e-5, [True, True, True]
            )
        yield from calls("instance_norm", x, *weights)
    for rows, columns, axis in product((3, 65), (5, 200), (0, 1)):
        v, g = normal(rows, columns, dtype=FLOAT), normal(*((rows, 1) if axis == 0 else (1, columns)), dtype=FLOAT)
        yield from calls("weight_norm_interface weight_norm", v, g, axis)
        yield from calls("weight_norm_interface_backward", v, v, g, g, axis)


@case
def losses() -> Iterator[Call]:
    for (rows, columns), reduction in product(((1, 3), (37, 129), (13, 4100)), (0, 1, 2)):
        x, target, weight = normal(rows, columns, dtype=FLOAT), integers(0, columns, rows), normal(columns, dtype=FLOAT)
        total = torch.ones((), device="cuda")
        shape = (rows,) if reduction == 0 else ()
        yield from calls("nll_loss_forward nll_loss_nd_forward", x, target, weight, reduction)
        g = torch.ones(shape, device="cuda")
        yield from calls("nll_loss_backward nll_loss_nd_backward", g, x, target, weight, reduction, -100, total)
        word = ("none", "mean", "sum")[reduction]
        for smoothing in (0.0, 0.1):
            yield from calls("cross_entropy_loss", x, target, weight, word, -100, smoothing)
            yield from calls("cross_entropy_loss", x, target, None, word, -100, smoothing)
            yield lambda word=word, smoothing=smoothing, x=x, target=target: _cross_entropy_back(  # type: ignore[misc]
                x, target, word, smoothing
            )
        image, labels = normal(2, columns, 3, 5, dtype=FLOAT), integers(0, columns, 2, 3, 5)
        yield from calls("nll_loss2d_forward", image, labels, weight, reduction)
        g = torch.ones((2, 3, 5) if reduction == 0 else (), device="cuda")
        yield from calls("nll_loss2d_backward", g, image, labels, weight, reduction, -100, total)


def _cross_entropy_back(x: torch.Tensor, target: torch.Tensor, reduction: str, smoothing: float) -> None:
    import flag_gems

    x = x.clone().requires_grad_()
    flag_gems.cross_entropy_loss(x, target, None, reduction, -100, smoothing).sum().backward()


@case
def sorting() -> Iterator[Call]:
    for (rows, columns), dtype in product(((1, 1), (3, 127), (37, 129), (2, 4100)), (FLOAT, torch.int32)):
        values = normal(rows, columns, dtype=FLOAT) if dtype is FLOAT else integers(0, 50, rows, columns, dtype=dtype)
        for descending in (False, True):
            yield from calls("sort", values, -1, descending)
            yield from calls("sort_stable", values, stable=True, descending=descending)
            yield from calls("topk", values, min(columns, 5), -1, descending)
    for count in (1, 100, 3000):
        sorted_values = integers(0, 20, count).sort().values
        yield from calls("unique_consecutive bincount one_hot", sorted_values)
        yield from calls("isin", integers(0, 50, count), integers(0, 20, 33))
        yield from calls("multinomial", torch.rand(4, count + 8, device="cuda"), 5)


@case
def layouts() -> Iterator[Call]:
    for layout in (transposed, spread):
        x = layout(normal(37, 129, dtype=FLOAT))
        yield from calls("sum mean max min argmax prod all any std var_mean vector_norm count_nonzero", x)
