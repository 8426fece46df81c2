"""What `library_inference` tries: functions of the library beside torch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tileverify import kernels

from .in_torch import DEVICE

F = torch.nn.functional


@dataclass(frozen=True, slots=True)
class Case:
    """``ours`` and ``theirs`` give a tensor or several, from the same arguments; they may write to these.

    ``theirs`` is computed twice: in float64, and in the type at hand, for torch's own error.  ``gradients``: of how
    many of the first arguments.
    """

    function: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arguments: tuple[Tensor, ...]
    gradients: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.arguments[0].shape)


def random(dtype: torch.dtype) -> Callable[..., Tensor]:
    def normal(*sizes: int) -> Tensor:
        return torch.randn(sizes, device=DEVICE, dtype=torch.float32).to(dtype)

    return normal


def whole(high: int, *sizes: int, low: int = 0, dtype: torch.dtype = torch.int32) -> Tensor:
    return torch.randint(low, high, sizes, device=DEVICE, dtype=dtype)


# ------------------------------------------------------------------------------------------- heads and caches
def turned(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Tensor:
    low, high = x.chunk(2, dim=-1)
    c, s = (each[positions.long()][..., None, :] for each in (cos, sin))
    return torch.cat([low * c - high * s, high * c + low * s], dim=-1).to(x.dtype)


def rms(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, eps)


def kept(new: Tensor, cache: Tensor, starts: Tensor) -> Tensor:
    for b, start in enumerate(starts.tolist()):
        cache[b, :, start : start + new.shape[1]] = new[b].transpose(0, 1)
    return cache


def after(starts: Tensor, length: int) -> Tensor:
    return starts[:, None] + torch.arange(length, device=DEVICE)


def of_heads(dtype: torch.dtype) -> Iterator[Case]:
    normal = random(dtype)
    for batch, length, hq, hk, width, places in ((1, 1, 1, 1, 128, 1), (2, 37, 32, 8, 128, 300), (3, 5, 9, 3, 64, 40)):
        angles = torch.randn(places, width // 2, device=DEVICE)
        cos, sin = angles.cos(), angles.sin()
        packed = normal(batch, length, hq + 2 * hk, width)
        q, k, v = packed.split([hq, hk, hk], dim=2)
        weights = normal(width), normal(width)
        caches = normal(batch, hk, places, width), normal(batch, hk, places, width)
        positions, starts = whole(places, batch, length), whole(places - length + 1, batch)

        def rope(q: Tensor, k: Tensor, *tables: Tensor) -> tuple[Tensor, Tensor]:
            return turned(q, *tables), turned(k, *tables)

        tables = (cos, sin, positions)
        yield Case("rope", kernels.rope, rope, (q, k, *tables), gradients=2)
        yield Case("rope, packed", *in_place(), (packed[0].clone(), cos, sin, positions[0]))

        def rope_from(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
            return rope(q, k, cos, sin, after(start.expand(q.shape[0]), q.shape[1]))

        yield Case("rope_from", kernels.rope_from, rope_from, (q, k, cos, sin, starts[:1]))

        def qk_norm(q: Tensor, k: Tensor, q_weight: Tensor, k_weight: Tensor) -> tuple[Tensor, Tensor]:
            return rms(q, q_weight), rms(k, k_weight)

        yield Case("qk_norm", kernels.qk_norm, qk_norm, (q, k, *weights))
        yield from of_caches(q, k, v, weights, (cos, sin), starts, caches)


def in_place() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Of all heads but the last, which stays as it is."""

    def ours(packed: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Tensor:
        kernels.rope_in_place(packed[:, :-1], cos, sin, positions)
        return packed

    def theirs(packed: Tensor, cos: Tensor, sin: Tensor, positions: Tensor) -> Tensor:
        return torch.cat([turned(packed[:, :-1], cos, sin, positions), packed[:, -1:]], dim=1)

    return ours, theirs


def of_caches(
    q: Tensor, k: Tensor, v: Tensor, weights: tuple[Tensor, Tensor], tables: tuple[Tensor, Tensor],
    starts: Tensor, caches: tuple[Tensor, Tensor],
) -> Iterator[Case]:  # fmt: skip
    first = int(starts[0])

    def update(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        starts = start.expand(k.shape[0])
        return kept(k, keys, starts), kept(v, values, starts)

    def by_number(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        kernels.cache_update(k, v, keys, values, first)
        return keys, values

    def by_array(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        kernels.cache_update(k, v, keys, values, start)
        return keys, values

    yield Case("cache_update", by_number, update, (k, v, *caches, starts[:1]))
    yield Case("cache_update, position in an array", by_array, update, (k, v, *caches, starts[:1]))
    for kind, tokens in (("prefill", (q, k, v)), ("decode", (q[:, 0], k[:, 0], v[:, 0]))):
        for norms, name in (((), "heads"), (weights, "normed_heads")):
            function = getattr(kernels, f"{kind}_{name}")

            def ours(*given: Tensor, function: Callable[..., Tensor] = function) -> tuple[Tensor, ...]:
                return function(*given), given[-2], given[-1]

            def theirs(q: Tensor, k: Tensor, v: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
                *norms, cos, sin, starts, keys, values = rest
                q, k, v = (each if each.dim() == 4 else each[:, None] for each in (q, k, v))
                if norms:
                    # In float64 throughout, as kernels do not round between norm and rotation.
                    q, k = (rms(one.double(), weight.double()) for one, weight in zip((q, k), norms, strict=True))
                places = after(starts, q.shape[1])
                out = turned(q, cos, sin, places).to(keys.dtype)
                found = kept(turned(k, cos, sin, places), keys, starts), kept(v, values, starts)
                return out, *found

            arguments = (*tokens, *norms, *tables, starts, *caches)
            yield Case(f"{kind}_{name}", ours, squeezed(theirs, kind == "decode"), arguments)


def squeezed(function: Callable[..., tuple[Tensor, ...]], one_token: bool) -> Callable[..., tuple[Tensor, ...]]:
    """The queries without the axis of tokens, where there is one token."""

    def found(*given: Tensor) -> tuple[Tensor, ...]:
        out, *rest = function(*given)
        return out[:, 0] if one_token else out, *rest

    return found


# --------------------------------------------------------------------------------------------------- moving
def of_moving(dtype: torch.dtype) -> Iterator[Case]:
    normal = random(dtype)
    for m, n in ((1, 1), (7, 1024), (300, 37), (129, 2048)):
        x, ids = normal(m, n), whole(m, 3, 5)
        yield Case("embedding", kernels.embedding, lambda x, ids: x[ids.long()], (x, ids))
        yield Case("embedding, i64", kernels.embedding, lambda x, ids: x[ids], (x, ids.long()))
        rows = whole(m + 2, 11, low=-2)
        yield Case("gather_rows", kernels.gather_rows, gathered, (x, rows))
        yield Case("transpose", kernels.transpose, lambda x: x.T, (x,), gradients=1)
        yield Case("to_stack", stacked, into(1), (x[0], normal(3, n)))
        yield Case("from_stack", lambda x: kernels.from_stack(x, len(x) - 1), lambda x: x[-1], (x,))
        heads = normal(2, m, 3, 64)
        yield Case("swap_heads", kernels.swap_heads, lambda x: x.transpose(1, 2), (heads,), gradients=1)
        for name, other in (("bf16", torch.bfloat16), ("f16", torch.float16), ("f32", torch.float32)):
            # Rounded once, by both.
            yield Case(f"cast to {name}", cast(name), lambda x, other=other: x.to(dtype).to(other).to(x.dtype), (x,))
        yield Case("fill", filled, lambda x: torch.full_like(x, 1.5), (x,))
        for function, of_torch in (
            (kernels.row_sums, lambda x: x.sum(-1)),
            (kernels.row_means, lambda x: x.mean(-1)),
            (kernels.row_maxima, lambda x: x.amax(-1)),
            (kernels.column_sums, lambda x: x.sum(0)),
        ):
            yield Case(function.__name__, function, of_torch, (x,))
    none = normal(5, 0)
    yield Case("row_sums of nothing", kernels.row_sums, lambda x: x.sum(-1), (none,))
    yield Case("column_sums of nothing", kernels.column_sums, lambda x: x.sum(0), (none.T,))


def gathered(x: Tensor, rows: Tensor) -> Tensor:
    there = (rows >= 0) & (rows < x.shape[0])
    return torch.where(there[:, None], x[torch.where(there, rows, 0).long()], 0)


def stacked(x: Tensor, stack: Tensor) -> Tensor:
    kernels.to_stack(x, stack, 1)
    return stack


def into(layer: int) -> Callable[[Tensor, Tensor], Tensor]:
    def theirs(x: Tensor, stack: Tensor) -> Tensor:
        stack[layer] = x
        return stack

    return theirs


def cast(name: str) -> Callable[[Tensor], Tensor]:
    return lambda x: kernels.cast(x, name)


def filled(x: Tensor) -> Tensor:
    kernels.fill(x, 1.5)
    return x


# ------------------------------------------------------------------------------------------------ attention
def attended(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
    group = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(group, dim=1) for each in (k, v))
    scores = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    return scores.softmax(-1) @ v


def of_attention(dtype: torch.dtype) -> Iterator[Case]:
    normal = random(dtype)
    for batch, hq, hk, queries, keys, width in (
        (1, 1, 1, 1, 1, 64), (2, 8, 2, 300, 300, 128), (1, 10, 2, 129, 129, 64), (2, 6, 2, 77, 77, 40),
        (1, 8, 1, 64, 64, 72),
    ):  # fmt: skip
        q, k, v = normal(batch, hq, queries, width), normal(batch, hk, keys, width), normal(batch, hk, keys, width)
        lower = torch.ones(queries, keys, dtype=torch.bool, device=DEVICE).tril()
        yield Case("attention, causal", kernels.attention, masked(lower), (q, k, v))
        yield Case("attention", lambda *qkv: kernels.attention(*qkv, causal=False), masked(None), (q, k, v))
        longer = normal(batch, hk, 2 * keys + 9, width), normal(batch, hk, 2 * keys + 9, width)
        used = torch.tensor([keys + 5], dtype=torch.int32, device=DEVICE)
        yield Case("attention over a cache", over_a_cache, masked(lower, used), (q, *longer, used))
    for batch, hq, hk, keys, width in (
        (1, 32, 8, 4000, 128),
        (5, 16, 8, 700, 64),
        (2, 40, 2, 513, 128),
        (3, 6, 3, 90, 40),
    ):
        q, k, v = normal(batch, hq, width), normal(batch, hk, keys, width), normal(batch, hk, keys, width)
        lengths = whole(keys + 1, batch, low=1)
        for splits in (None, 1, 64):
            ours = decoded(splits)
            yield Case(f"decode_attention, {splits or 'some'} splits", ours, one_query, (q, k, v, lengths))


def masked(allowed: Tensor | None, used: Tensor | None = None) -> Callable[..., Tensor]:
    def theirs(q: Tensor, k: Tensor, v: Tensor, *_: Tensor) -> Tensor:
        if used is None or allowed is None:
            return attended(q, k, v, allowed)
        count = int(used)
        before = torch.ones(q.shape[2], count - q.shape[2], dtype=torch.bool, device=DEVICE)
        return attended(q, k[:, :, :count], v[:, :, :count], torch.cat([before, allowed], dim=1))

    return theirs


def over_a_cache(q: Tensor, k: Tensor, v: Tensor, used: Tensor) -> Any:
    return kernels.attention(q, k, v, used=used)


def decoded(splits: int | None) -> Callable[..., Any]:
    return lambda q, k, v, lengths: kernels.decode_attention(q, k, v, lengths, splits=splits)


def one_query(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
    allowed = torch.arange(k.shape[2], device=DEVICE) < lengths[:, None, None, None]
    return attended(q[:, :, None], k, v, allowed)[:, :, 0]


# ------------------------------------------------------------------------------------------------- choices
def of_choices(dtype: torch.dtype) -> Iterator[Case]:
    """What is compared are logits at the places that were chosen, and how far a choice is from its share."""
    normal = random(dtype)
    for batch, n, k in ((1, 1, 8), (3, 5000, 1024), (11, 151936, 256)):
        x, weights, logits = normal(batch, k), normal(n, k), normal(batch, n)
        yield Case("head_argmax", best_product, lambda x, w: (x.double() @ w.T.double()).amax(-1), (x, weights))
        yield Case("argmax", kernels.argmax, first_of_largest, (logits,))
        for count in (1, min(n, 50)):
            yield Case(f"top_k, {'one' if count == 1 else 'some'}", top(count), sorted_top(count), (logits,))
        uniforms = torch.rand(batch, device=DEVICE)
        yield Case("sample", share_missed, lambda logits, u: torch.zeros_like(u), (logits, uniforms))
        tops, places = sorted_top(min(n, 40))(logits)
        largest = tops.float().contiguous(), places.int().contiguous()
        yield Case("sample_top", kernels.sample_top, first_past, (*largest, uniforms))


def best_product(x: Tensor, weights: Tensor) -> Tensor:
    place = kernels.head_argmax(x, weights)
    return (x.double() @ weights.T.double()).gather(1, place[:, None].long())[:, 0]


def first_of_largest(logits: Tensor) -> Tensor:
    at = torch.arange(logits.shape[1], device=DEVICE)
    return torch.where(logits == logits.amax(-1, keepdim=True), at, logits.shape[1]).amin(-1)


def top(count: int) -> Callable[[Tensor], Any]:
    return lambda logits: kernels.top_k(logits, count)


def sorted_top(count: int) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    def theirs(logits: Tensor) -> tuple[Tensor, Tensor]:
        values, places = logits.sort(dim=-1, descending=True, stable=True)
        return values[:, :count], places[:, :count]

    return theirs


def share_missed(logits: Tensor, uniforms: Tensor) -> Tensor:
    """How far the share lies outside of what the chosen logit takes of the sum of powers."""
    place = kernels.sample(logits, uniforms, temperature=0.8)[:, None].long()
    powers = (logits.double() / 0.8).softmax(-1)
    up_to = powers.cumsum(-1).gather(1, place)[:, 0]
    since = up_to - powers.gather(1, place)[:, 0]
    return torch.maximum(since - uniforms, uniforms - up_to).clamp(min=0)


def first_past(values: Tensor, places: Tensor, uniforms: Tensor) -> Tensor:
    passed = values.double().softmax(-1).cumsum(-1) > uniforms[:, None]
    return places.gather(1, passed.int().argmax(-1, keepdim=True))[:, 0]


# ------------------------------------------------------------------------------------------------- vectors
def of_vectors(dtype: torch.dtype) -> Iterator[Case]:
    normal = random(dtype)
    for batch, n, k in ((1, 1, 1), (1, 2560, 2560), (1, 37, 75), (3, 19, 75), (8, 4096, 1024), (11, 128, 512)):
        x, residual, scales = normal(batch, k), normal(batch, n), normal(k)
        gates, weights = normal(n, k) / k**0.5, normal(n, k) / k**0.5
        yield Case("matvec", kernels.matvec, lambda x, w: x @ w.T, (x, weights))
        yield Case("matvec, residual", kernels.matvec, lambda x, w, r: x @ w.T + r, (x, weights, residual))
        yield Case("matvec_gated", kernels.matvec_gated, gated, (x, gates, weights))
        yield Case("matvec_normed", kernels.matvec_normed, lambda x, s, w: rms(x, s) @ w.T, (x, scales, weights))
        normed = (x, scales, gates, weights)
        yield Case("matvec_normed_gated", kernels.matvec_normed_gated, lambda x, s, *w: gated(rms(x, s), *w), normed)
        experts = whole(5, batch, low=-1)
        yield Case("matvec_experts", kernels.matvec_experts, by_experts, (x, normal(4, n, k) / k**0.5, experts))


def gated(x: Tensor, gates: Tensor, weights: Tensor) -> Tensor:
    return F.silu(x @ gates.T) * (x @ weights.T)


def by_experts(x: Tensor, weights: Tensor, experts: Tensor) -> Tensor:
    there = (experts >= 0) & (experts < weights.shape[0])
    chosen = weights[torch.where(there, experts, 0).long()]
    return torch.where(there[:, None], torch.einsum("cnk,ck->cn", chosen, x), 0)


FAMILIES = (of_heads, of_moving, of_attention, of_choices, of_vectors)
