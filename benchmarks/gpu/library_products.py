"""The library's products, scans, sorts, routing and joins on a GPU, from signed bundles, against torch.

    for m in products grouped_products scans sorting routing join; do
        tileverify build src/tileverify/kernels/device/$m.py -o FOLDER --arch sm_90 --sign KEY.pem
    done
    python -m benchmarks.gpu.library_products FOLDER KEY.pub OUT

Floats are compared with torch in float64, integers have to be the same.  Each runs twice and has to give the same bits.
What else it takes and does: `comparing`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tileverify import kernels

from .comparing import Row, Trial, main
from .in_torch import CLOSE, DEVICE, TYPES, by_torch, error, largest_of, name_of

Found = torch.Tensor | Sequence[torch.Tensor]
F8 = torch.float8_e4m3fn


@dataclass(frozen=True, slots=True)
class Case:
    """``theirs`` takes the same arguments, floats in float64; gradients are compared if it is ``differentiable``."""

    name: str
    dtype: torch.dtype
    sizes: tuple[int, ...]
    ours: Callable[..., Found]
    theirs: Callable[..., Found]
    arguments: tuple[Any, ...]
    differentiable: bool = False


def normal(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(sizes, device=DEVICE).to(dtype)


def integers(low: int, high: int, *sizes: int) -> torch.Tensor:
    return torch.randint(low, high, sizes, device=DEVICE, dtype=torch.int32)


# ------------------------------------------------------------------------------------------------ products
PRODUCTS = (
    (1, 1, 1), (5, 37, 19), (128, 128, 64), (130, 257, 1030), (16, 304, 8192), (1, 4096, 4096), (1024, 512, 2048),
    (0, 3, 4), (3, 4, 0),
)  # fmt: skip
BATCHES = ((1, 1, 1, 1), (3, 130, 64, 70), (2, 5, 9, 520), (24, 128, 256, 128))
SCALED = ((1, 128, 128), (130, 260, 300), (256, 512, 1024))


def products(dtype: torch.dtype) -> Iterator[Case]:
    for rows, columns, depth in PRODUCTS:
        sizes = rows, columns, depth
        a, b = normal(rows, depth, dtype=dtype) / max(1, depth) ** 0.5, normal(depth, columns, dtype=dtype)
        residual, turned = normal(rows, columns, dtype=dtype), b.T.contiguous()
        pairs: tuple[tuple[str, bool, tuple[torch.Tensor, ...]], ...] = (
            ("matmul", False, (a, b)),
            ("matmul, transposed", True, (a, turned)),
            ("matmul with residual", False, (a, b, residual)),
            ("matmul with residual, transposed", True, (a, turned, residual)),
        )
        for name, transposed, arguments in pairs:
            yield Case(name, dtype, sizes, _ours(transposed), _theirs(transposed), arguments, differentiable=True)
    for sizes in BATCHES:
        batches, rows, columns, depth = sizes
        a, b = normal(batches, rows, depth, dtype=dtype) / depth**0.5, normal(batches, depth, columns, dtype=dtype)
        yield Case("matmul of batches", dtype, sizes, _ours(False), _theirs(False), (a, b), differentiable=True)


def _ours(transposed: bool) -> Callable[..., torch.Tensor]:
    return lambda *arrays: kernels.matmul(*arrays, transposed=transposed)


def _theirs(transposed: bool) -> Callable[..., torch.Tensor]:
    def product(a: torch.Tensor, b: torch.Tensor, residual: torch.Tensor | None = None) -> torch.Tensor:
        found = a @ (b.mT if transposed else b)
        return found if residual is None else found + residual

    return product


def scaled() -> Iterator[Case]:
    def theirs(a: torch.Tensor, b: torch.Tensor, of_a: torch.Tensor, of_b: torch.Tensor) -> torch.Tensor:
        wide = of_a.repeat_interleave(128, 1)[:, : a.shape[1]]
        other = of_b.repeat_interleave(128, 0).repeat_interleave(128, 1)[: b.shape[0], : b.shape[1]]
        return (a * wide) @ (b * other).T

    for rows, columns, depth in SCALED:
        a, b = normal(rows, depth, dtype=F8), normal(columns, depth, dtype=F8)
        of_a = torch.rand(rows, -(-depth // 128), device=DEVICE) / depth**0.5
        of_b = torch.rand(-(-columns // 128), -(-depth // 128), device=DEVICE)
        arguments = (a, b, of_a, of_b)
        yield Case("matmul_scaled", torch.bfloat16, (rows, columns, depth), kernels.matmul_scaled, theirs, arguments)


def grouped(dtype: torch.dtype) -> Iterator[Case]:
    sizes = ((1, 1, 1), (700, 40, 64), (64, 300, 129), (0, 4, 5), (5, 64, 0))
    a = [normal(m, k, dtype=dtype) / max(1, k) ** 0.5 for m, _, k in sizes]
    b = [normal(k, n, dtype=dtype) for _, n, k in sizes]
    yield Case("matmul_list", dtype, (len(a),), kernels.matmul_list, _one_by_one, (a, b))
    for experts, rows, columns, depth in ((1, 64, 8, 8), (5, 333, 200, 90), (16, 2048, 768, 512)):
        x, weights = normal(rows, depth, dtype=dtype) / depth**0.5, normal(experts, columns, depth, dtype=dtype)
        of_tiles = integers(-1, experts, -(-rows // 64))
        told = experts, rows, columns, depth
        yield Case("matmul_experts", dtype, told, kernels.matmul_experts, _experts, (x, weights, of_tiles))
        inner = integers(0, rows + 1, experts - 1).sort().values
        edges = torch.cat([integers(0, 1, 1), inner, integers(rows, rows + 1, 1)])
        yield Case("matmul_segments", dtype, told, kernels.matmul_segments, _segments, (x, weights, edges))


def _one_by_one(a: list[torch.Tensor], b: list[torch.Tensor]) -> list[torch.Tensor]:
    return [one @ other for one, other in zip(a, b, strict=True)]


def _experts(x: torch.Tensor, weights: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
    of_rows = experts.repeat_interleave(64)[: x.shape[0]]
    return _by_expert(x, weights, of_rows)


def _segments(x: torch.Tensor, weights: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    of_rows = torch.searchsorted(offsets[1:], torch.arange(x.shape[0], device=DEVICE), right=True)
    return _by_expert(x, weights, of_rows)


def _by_expert(x: torch.Tensor, weights: torch.Tensor, of_rows: torch.Tensor) -> torch.Tensor:
    out = x.new_zeros(x.shape[0], weights.shape[1])
    for expert in range(weights.shape[0]):
        out[of_rows == expert] = x[of_rows == expert] @ weights[expert].T
    return out


# ------------------------------------------------------------------------------------------ whole columns
COUNTS = (0, 1, 1023, 1025, 100_003)


def columns() -> Iterator[Case]:
    for count in COUNTS:
        x = integers(-99, 100, count)
        for exclusive in (False, True):
            yield Case("prefix_sums", torch.int32, (count,), _prefixes(exclusive), _cumsum(exclusive), (x,))
        for dtype in TYPES:
            # Whole numbers, so that no order of additions has an error.
            floats = integers(-2, 3, count).to(dtype)
            yield Case("prefix_sums", dtype, (count,), _prefixes(False), _cumsum(False), (floats,))
            yield Case("array_sum", dtype, (count,), kernels.array_sum, torch.sum, (floats,))
            if count:
                yield Case(
                    "array_maximum", dtype, (count,), kernels.array_maximum, torch.amax, (normal(count).to(dtype),)
                )
        yield Case("histogram", torch.int32, (count,), lambda v: kernels.histogram(v, 150), _histogram, (x,))
        for low, high in ((-9, 9), (-(2**31), 2**31 - 1)):
            keys = integers(low, high, count)
            yield Case("sort", torch.int32, (count,), kernels.sort, _sort, (keys,))
        yield Case("radix_pass", torch.int32, (count,), lambda k, v: kernels.radix_pass(k, v, 28), _by_sign, (keys, x))
    for left, right in ((1, 1), (0, 5), (3000, 1000), (100_003, 70_001)):
        keys = integers(-right, right, left), integers(-right, right, right)
        yield Case("join", torch.int32, (left, right), _unordered, _join, keys)
        yield Case(
            "join, ordered", torch.int32, (left, right), lambda a, b: kernels.join(a, b, ordered=True), _join, keys
        )


def _prefixes(exclusive: bool) -> Callable[..., torch.Tensor]:
    return lambda x: kernels.prefix_sums(x, exclusive=exclusive)


def _cumsum(exclusive: bool) -> Callable[..., torch.Tensor]:
    def sums(x: torch.Tensor) -> torch.Tensor:
        found = x.cumsum(0, dtype=x.dtype)
        return found - x if exclusive else found

    return sums


def _histogram(values: torch.Tensor) -> torch.Tensor:
    kept = values[(values >= 0) & (values < 150)]
    return torch.bincount(kept, minlength=150).to(torch.int32)


def _sort(keys: torch.Tensor) -> list[torch.Tensor]:
    found, places = keys.sort(stable=True)
    return [found, places.to(torch.int32)]


def _by_sign(keys: torch.Tensor, values: torch.Tensor) -> list[torch.Tensor]:
    order = (keys >> 28).sort(stable=True).indices
    return [keys[order], values[order]]


def _join(left: torch.Tensor, right: torch.Tensor) -> list[torch.Tensor]:
    """All pairs in order."""
    keys, rows = right.sort(stable=True)
    first = torch.searchsorted(keys, left)
    count = torch.searchsorted(keys, left, right=True) - first
    i = torch.arange(left.shape[0], device=DEVICE).repeat_interleave(count)
    rank = torch.arange(i.shape[0], device=DEVICE) - (count.cumsum(0) - count)[i]
    return [i.to(torch.int32), rows[first[i] + rank].to(torch.int32)]


def _unordered(left: torch.Tensor, right: torch.Tensor) -> list[torch.Tensor]:
    """What a join by hashing gives, its pairs put in order."""
    i, j = kernels.join(left, right)
    order = (i.long() * max(1, right.shape[0]) + j).sort().indices
    return [i, j[order]]  # those of one i stand together already


# ------------------------------------------------------------------------------------------------- routing
def routing(dtype: torch.dtype) -> Iterator[Case]:
    for tokens, experts, count in ((1, 1, 1), (37, 6, 2), (1000, 128, 8)):
        sizes = tokens, experts, count
        logits = (4 * normal(tokens, experts)).round().to(dtype) / 4  # with equal ones
        for renormalize in (True, False):
            ours, theirs = _route(count, renormalize), _chosen(count, renormalize)
            yield Case("route", dtype, sizes, ours, theirs, (logits,))
        x, weights = normal(tokens, 96, dtype=dtype) / 96**0.5, normal(experts, 72, 96, dtype=dtype)
        yield Case("a layer of experts", dtype, sizes, _layer(count), _alone(count), (x, weights, logits))


def _route(count: int, renormalize: bool) -> Callable[..., Found]:
    return lambda logits: kernels.route(logits, count, renormalize=renormalize)


def _chosen(count: int, renormalize: bool) -> Callable[..., list[torch.Tensor]]:
    def chosen(logits: torch.Tensor) -> list[torch.Tensor]:
        experts = (-logits).sort(dim=1, stable=True).indices[:, :count]
        shares = logits.softmax(1).gather(1, experts)
        return [experts.to(torch.int32), shares / shares.sum(1, keepdim=True) if renormalize else shares]

    return chosen


def _layer(count: int) -> Callable[..., torch.Tensor]:
    def layer(x: torch.Tensor, weights: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        experts, shares = kernels.route(logits, count)
        placed = kernels.place_tokens(experts, weights.shape[0])
        rows = kernels.dispatch(x, placed.places, placed.rows)
        found: torch.Tensor = kernels.combine(
            kernels.matmul_experts(rows, weights, placed.experts), placed.places, shares
        )
        return found

    return layer


def _alone(count: int) -> Callable[..., torch.Tensor]:
    def alone(x: torch.Tensor, weights: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        experts, shares = _chosen(count, True)(logits)
        out = x.new_zeros(x.shape[0], weights.shape[1])
        for k in range(count):
            out += shares[:, k : k + 1] * _by_expert(x, weights, experts[:, k])
        return out

    return alone


# ---------------------------------------------------------------------------------------------- comparing
def row(case: Case) -> Row:
    runs = [_run(case) for _ in range(2)]
    expected = _expected(case, torch.float64)
    limits = [CLOSE.get(case.dtype, 0.0)] * len(expected)
    if case.differentiable:
        usual = _expected(case, case.dtype)
        limits = [
            max(limit, 2 * error(*pair)) for limit, pair in zip(limits, zip(usual, expected, strict=True), strict=True)
        ]
    errors = [error(one, two) for one, two in zip(runs[0], expected, strict=True)]
    same = all(torch.equal(one, two) for one, two in zip(*runs, strict=True))
    fine = same and all(one <= limit for one, limit in zip(errors, limits, strict=True))
    results = len(errors) - (len(case.arguments) if case.differentiable else 0)
    gradients = tuple(errors[results:])
    return Row(case.name, name_of(case.dtype), case.sizes, max(errors[:results]), gradients, same, fine)


def _run(case: Case) -> list[torch.Tensor]:
    if not case.differentiable:
        return _flat(case.ours(*case.arguments))
    given = [each.clone().requires_grad_() for each in case.arguments]
    found = case.ours(*given)
    assert isinstance(found, torch.Tensor)
    found.backward(_dout(found))
    return [found.detach(), *(each.grad for each in given if each.grad is not None)]


def _expected(case: Case, dtype: torch.dtype) -> list[torch.Tensor]:
    if case.differentiable:
        shape = case.theirs(*case.arguments)
        assert isinstance(shape, torch.Tensor)
        return by_torch(case.theirs, case.arguments, _dout(shape), dtype, differentiable=True)  # type: ignore[arg-type]
    return _flat(case.theirs(*(_wide(each) for each in case.arguments)))


def _dout(like: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(like.shape, device=DEVICE).to(like.dtype)


def _wide(value: Any) -> Any:
    if isinstance(value, list):
        return [_wide(each) for each in value]
    return value.double() if value.is_floating_point() else value


def _flat(found: Found) -> list[torch.Tensor]:
    return [found] if isinstance(found, torch.Tensor) else list(found)


def cases() -> Iterator[Case]:
    for dtype in TYPES:
        yield from products(dtype)
        yield from grouped(dtype)
        yield from routing(dtype)
    yield from scaled()
    yield from columns()


def trials() -> Iterator[Trial]:
    torch.manual_seed(0)
    for case in cases():
        largest = largest_of(case.arguments)
        yield Trial(case.name, name_of(case.dtype), case.sizes, largest, lambda c=case: row(c))


if __name__ == "__main__":
    sys.exit(main("library_products", __doc__, trials))
