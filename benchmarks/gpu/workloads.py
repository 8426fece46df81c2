"""What is measured: sizes, inputs, the launches of our bundles, torch and Triton beside them, and references."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import triton_kernels
from .variants import (
    ATTENTION_TILES,
    DECODE_TILES,
    HEADS_TILES,
    ROW_TILES,
    addition_variants,
    attention_variant,
    hinted,
    searched_persistent,
    searched_products,
    searched_transposed,
    searched_transposed_persistent,
)
from .workload import Candidate, Case, Compute, Workload, poisoned

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
TOLERANCES = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-5}
EPS = 1e-5


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def random(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape, device="cuda").to(dtype)


# ------------------------------------------------------------------------------------------------- additions
def additions(smoke: bool) -> Iterator[Case]:
    for dtype, power in product(DTYPES, (16, 22) if smoke else (16, 19, 22, 25, 27, 29)):
        yield Case(f"add {dtype}", 1 << power, f"2^{power} elements", partial(addition, dtype, 1 << power))


def addition(name: str, size: int) -> Workload:
    dtype = DTYPES[name]
    x, y = (random(size, dtype=dtype) for _ in range(2))
    out, by_torch, by_triton = (poisoned(size, dtype=dtype) for _ in range(3))
    candidates = tuple(
        Candidate(bundle, ((bundle, (cdiv(size, tile),), (x, y, out)),), out)
        for bundle, _, tile, _ in addition_variants(name)
    )
    others: dict[str, Compute] = {
        "torch": lambda: torch.add(x, y, out=by_torch),
        "Triton": lambda: triton_kernels.add(x, y, by_triton),
    }
    moved = 3 * size * x.element_size() / 1e12
    return Workload("TB/s", moved, candidates, others, lambda: x.double() + y.double(), TOLERANCES[name])


# ------------------------------------------------------------------------------------------------------ rows
ELEMENTS = 1 << 27


def rows(smoke: bool) -> Iterator[Case]:
    lengths = (1008, 1024, 4096, 12288, 16384) if smoke else (1024, 4096, 12288, 16384)
    for function, dtype, columns in product((softmax, rms_norm, layer_norm), DTYPES, lengths):
        height = 512 if smoke else ELEMENTS // columns // 16 * 16
        name = function.__name__.replace("_", " ")
        label = f"{height} rows of {columns}"
        yield Case(f"{name} {dtype}", columns, label, partial(function, dtype, height, columns))


def row_candidates(
    function: str, dtype: str, arguments: tuple[object, ...], x: torch.Tensor, out: torch.Tensor
) -> tuple[Candidate, ...]:
    """Variants whose tiles hold a row, on a block for each tile; those that loop also on as many as run at a time."""
    height, columns = x.shape
    candidates = []
    for tile in ROW_TILES:
        if tile.holds(columns):
            name, tiles = tile.name(function, dtype), cdiv(height, tile.rows)
            candidates.append(Candidate(name, ((name, (tiles,), arguments),), out))
            if not tile.form:
                at_once = tile.occupancy * torch.cuda.get_device_properties(0).multi_processor_count
                candidates.append(Candidate(f"{name}, persistent", ((name, (min(tiles, at_once),), arguments),), out))
    return tuple(candidates)


def softmax(name: str, height: int, columns: int) -> Workload:
    x = random(height, columns, dtype=DTYPES[name])
    out, by_torch, by_triton = (poisoned(height, columns, dtype=x.dtype) for _ in range(3))
    others: dict[str, Compute] = {
        "torch": lambda: torch.softmax(x, 1, out=by_torch),
        "Triton": lambda: triton_kernels.softmax(x, by_triton),
    }
    candidates = row_candidates("softmax", name, (x, out), x, out)
    moved = 2 * x.numel() * x.element_size() / 1e12
    return Workload("TB/s", moved, candidates, others, lambda: torch.softmax(x.double(), 1), TOLERANCES[name])


def rms_norm(name: str, height: int, columns: int) -> Workload:
    x, weight = random(height, columns, dtype=DTYPES[name]), random(columns, dtype=DTYPES[name])
    out, by_triton = (poisoned(height, columns, dtype=x.dtype) for _ in range(2))
    others: dict[str, Compute] = {
        "torch": lambda: F.rms_norm(x, (columns,), weight, EPS),
        "Triton": lambda: triton_kernels.rms_norm(x, weight, by_triton, EPS),
    }
    candidates = row_candidates("rms_norm", name, (x, weight, out, EPS), x, out)
    moved = 2 * x.numel() * x.element_size() / 1e12

    def reference() -> torch.Tensor:
        return F.rms_norm(x.double(), (columns,), weight.double(), EPS)

    return Workload("TB/s", moved, candidates, others, reference, TOLERANCES[name])


def layer_norm(name: str, height: int, columns: int) -> Workload:
    x = random(height, columns, dtype=DTYPES[name])
    weight, bias = (random(columns, dtype=DTYPES[name]) for _ in range(2))
    out, by_triton = (poisoned(height, columns, dtype=x.dtype) for _ in range(2))
    others: dict[str, Compute] = {
        "torch": lambda: F.layer_norm(x, (columns,), weight, bias, EPS),
        "Triton": lambda: triton_kernels.layer_norm(x, weight, bias, by_triton, EPS),
    }
    candidates = row_candidates("layer_norm", name, (x, weight, bias, out, EPS), x, out)
    moved = 2 * x.numel() * x.element_size() / 1e12

    def reference() -> torch.Tensor:
        return F.layer_norm(x.double(), (columns,), weight.double(), bias.double(), EPS)

    return Workload("TB/s", moved, candidates, others, reference, TOLERANCES[name])


# -------------------------------------------------------------------------------------------------- products
def products(smoke: bool) -> Iterator[Case]:
    if smoke:
        yield Case("product f16", 1040, "1040 x 1568 x 560", partial(product_f16, 1040, 1568, 560))
    for n in (1024, 8192) if smoke else (1024, 2048, 4096, 8192, 16384):
        yield Case("product f16", n, f"{n}^3", partial(product_f16, n, n, n))
    if smoke:
        yield Case("product f8e4m3", 1040, "1040 x 1568 x 560", partial(product_f8, 1040, 1568, 560))
    for n in (1024, 8192) if smoke else (1024, 2048, 4096, 8192, 16384):
        yield Case("product f8e4m3", n, f"{n}^3", partial(product_f8, n, n, n))


def product_f16(m: int, n: int, k: int) -> Workload:
    a, b = random(m, k, dtype=torch.float16), random(k, n, dtype=torch.float16)
    out, by_torch, by_triton = (poisoned(m, n, dtype=torch.float16) for _ in range(3))
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    candidates = []
    for tiles in searched_products():
        grid = (cdiv(m, tiles.shape[0]) * cdiv(n, tiles.shape[1]),)
        candidates.append(Candidate(tiles.name, ((f"matmul_{tiles.name}", grid, (a, b, out)),), out))
    for tiles in searched_persistent():
        grid = (min(cdiv(m, tiles.shape[0]) * cdiv(n, tiles.shape[1]), processors // tiles.ctas),)
        name = f"persistent_{tiles.name}"
        candidates.append(Candidate(name, ((name, grid, (a, b, out)),), out))
    others: dict[str, Compute] = {
        "torch": lambda: torch.mm(a, b, out=by_torch),
        "Triton": lambda: triton_kernels.matmul(a, b, by_triton),
    }

    def reference() -> torch.Tensor:
        return a.double() @ b.double()

    return Workload("TFLOP/s", 2 * m * n * k / 1e12, tuple(candidates), others, reference, 1e-3)


def product_f8(m: int, n: int, k: int) -> Workload:
    a, b = random(m, k, dtype=torch.float8_e4m3fn), random(n, k, dtype=torch.float8_e4m3fn)
    out, by_torch, by_triton = (poisoned(m, n, dtype=torch.bfloat16) for _ in range(3))
    one, half = (torch.tensor(value, device="cuda") for value in (1.0, 0.5))
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    candidates = []
    for tiles in searched_transposed():
        grid = (cdiv(m, tiles.shape[0]) * cdiv(n, tiles.shape[1]),)
        candidates.append(Candidate(tiles.name, ((f"fp8_{tiles.name}", grid, (a, b, out, 0.5)),), out))
    for tiles in searched_transposed_persistent():
        grid = (min(cdiv(m, tiles.shape[0]) * cdiv(n, tiles.shape[1]), processors // tiles.ctas),)
        name = f"persistent_{tiles.name}"
        candidates.append(Candidate(name, ((f"fp8_{name}", grid, (a, b, out, 0.5)),), out))

    def by_cublas() -> torch.Tensor:
        scaled = torch._scaled_mm(a, b.t(), one, half, out_dtype=torch.bfloat16, use_fast_accum=True, out=by_torch)
        assert isinstance(scaled, torch.Tensor)
        return scaled

    others: dict[str, Compute] = {
        "torch": by_cublas,
        "Triton": lambda: triton_kernels.matmul(a, b.t(), by_triton, 0.5),
    }

    def reference() -> torch.Tensor:
        return 0.5 * (a.double() @ b.double().t())

    return Workload("TFLOP/s", 2 * m * n * k / 1e12, tuple(candidates), others, reference, 1e-2)


# ------------------------------------------------------------------------------------------------- attention
HEADS, WIDTH, TOKENS = 16, 128, 16384


def attentions(smoke: bool) -> Iterator[Case]:
    for causal, length in product((False, True), (1040, 1024) if smoke else (1024, 2048, 4096, 8192, 16384)):
        kind = "causal" if causal else "full"
        label = f"{TOKENS // length} x {HEADS} heads x {length}"
        yield Case(f"attention f16, {kind}", length, label, partial(attention, length, causal))


def attention_reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool) -> torch.Tensor:
    """One head at a time, as the scores of all would not fit."""
    shared = q.shape[1] // k.shape[1]
    out = torch.empty(q.shape, dtype=torch.float64, device="cuda")
    hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device="cuda").triu(1) if causal else None
    for batch, head in product(range(q.shape[0]), range(q.shape[1])):
        scores = (q[batch, head].double() @ k[batch, head // shared].double().t()) * scale
        if hidden is not None:
            scores.masked_fill_(hidden, float("-inf"))
        out[batch, head] = torch.softmax(scores, 1) @ v[batch, head // shared].double()
    return out


def by_sdpa(backend: SDPBackend, **arguments: object) -> torch.Tensor:
    with sdpa_kernel([backend]):
        return F.scaled_dot_product_attention(**arguments)  # type: ignore[arg-type]


def attention(length: int, causal: bool) -> Workload:
    batch, scale = TOKENS // length, WIDTH**-0.5
    q, k, v = (random(batch, HEADS, length, WIDTH, dtype=torch.float16) for _ in range(3))
    out, by_triton = (poisoned(batch, HEADS, length, WIDTH, dtype=torch.float16) for _ in range(2))
    candidates = []
    for tile in ATTENTION_TILES:
        grid, (name, _) = (cdiv(length, tile[0]), batch * HEADS), attention_variant(causal, tile)
        candidates.append(Candidate(name.split("_", 2)[2], ((name, grid, (q, k, v, out, scale)),), out))
    given = {"query": q, "key": k, "value": v, "is_causal": causal, "scale": scale}
    others: dict[str, Compute] = {
        "torch, flash": lambda: by_sdpa(SDPBackend.FLASH_ATTENTION, **given),
        "torch, cuDNN": lambda: by_sdpa(SDPBackend.CUDNN_ATTENTION, **given),
    }
    if length % 128 == 0:
        others["Triton"] = lambda: triton_kernels.attention(q, k, v, by_triton, scale, causal)
    work = (2 if causal else 4) * batch * HEADS * length**2 * WIDTH / 1e12
    reference = partial(attention_reference, q, k, v, scale, causal)
    return Workload("TFLOP/s", work, tuple(candidates), others, reference, 2e-3)


def decoding(smoke: bool) -> Iterator[Case]:
    for length in (1024, 4096) if smoke else (1024, 4096, 8192, 16384, 32768):
        yield Case("decode attention f16", length, f"16 x 64 heads on 8 x {length} keys", partial(decode, length))


def decode(length: int) -> Workload:
    batch, heads, together, padded, scale = 16, 8, 8, 16, WIDTH**-0.5
    q = random(batch, heads, together, WIDTH, dtype=torch.float16)
    k, v = (random(batch, heads, length, WIDTH, dtype=torch.float16) for _ in range(2))
    out = poisoned(batch * heads, together, WIDTH, dtype=torch.float16)
    candidates = []
    for (tile, occupancy), splits in product(DECODE_TILES, (1, 2, 4, 8, 16, 32)):
        sums = poisoned(batch * heads, splits, padded, WIDTH, dtype=torch.float32)
        best, total = (poisoned(batch * heads, splits, padded, dtype=torch.float32) for _ in range(2))
        name = hinted(f"decode_part_{tile}", occupancy)[0]
        launches = (
            (name, (splits, heads, batch), (q, k, v, sums, best, total, scale)),
            (f"decode_whole_{max(2, splits)}", (batch * heads, together), (sums, best, total, out)),
        )
        candidates.append(Candidate(f"{name}, {splits} splits", launches, out))
    for tile, occupancy in HEADS_TILES:
        name = hinted(f"decode_heads_{tile}", occupancy)[0]
        of_heads = out.reshape(q.shape)
        candidates.append(Candidate(name, ((name, (1, batch * heads), (q, k, v, of_heads, scale)),), out))
    queries = q.reshape(batch, heads * together, 1, WIDTH)
    given = {"query": queries, "key": k, "value": v, "scale": scale, "enable_gqa": True}
    others: dict[str, Compute] = {
        "torch, flash": lambda: by_sdpa(SDPBackend.FLASH_ATTENTION, **given),
        "torch, cuDNN": lambda: by_sdpa(SDPBackend.CUDNN_ATTENTION, **given),
    }
    moved = 2 * k.numel() * k.element_size() / 1e12
    reference = partial(attention_reference, queries, k, v, scale, False)
    return Workload("TB/s", moved, tuple(candidates), others, reference, 2e-3)


def cases(smoke: bool = False) -> Iterator[Case]:
    """``smoke``: few sizes, for correctness and a first search."""
    for family in (products, attentions, decoding, additions, rows):
        yield from family(smoke)
