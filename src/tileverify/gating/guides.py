"""What to tell a model before it writes a kernel: how kernels are written that the gate accepts.

A guide has less than 2,000 characters, and ends with a kernel that is accepted under the launch that stands in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..system.errors import UsageError

_TRITON: Final = """\
Write Triton kernels that are proved free of races and of accesses outside of arrays.
- One file: import triton, import triton.language as tl, functions of @triton.jit, constants N = \
tl.constexpr(4). No torch, no code that launches, no files, no callbacks (pre_hook, prune_configs_by, \
@triton.heuristics).
- Parameters have the names and the order of the launch spec. BLOCK = 128 there is a tl.constexpr, "i32" a \
number at run time.
- Mask each access on each axis: (rows[:, None] < M) & (columns[None, :] < N). Say other= where masked lanes \
reach a result: 0.0 for tl.sum and tl.dot, float("-inf") for tl.max.
- Multiply rows and strides in 64 bits: tl.program_id(0).to(tl.int64).
- Each program stores to elements of its own. Sums of several programs take tl.atomic_add; what one program \
stores for all stands behind if tl.program_id(0) == 0.
- What a program stored and loads again needs tl.debug_barrier() between the two.
- Mask an index from data: (index >= 0) & (index < size).
- tl.assume, tl.multiple_of and tl.max_contiguous promise what holds in every launch, or are left out.
- With @triton.autotune each configuration is judged: BLOCK stands in the configurations, and not in the launch \
spec.
Example, for grid = ["M"], args = { x = "f32[M, N]", out = "f32[M, N]", N = "i32", BLOCK = 128 }:

import triton
import triton.language as tl


@triton.jit
def centred(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = 0.0
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * N + at, mask=at < N, other=0.0), axis=0)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + row * N + at, tl.load(x + row * N + at, mask=at < N) - total / N, mask=at < N)
"""

_CUTILE: Final = """\
Write cuTile Python kernels that are proved free of races and of accesses outside of arrays.
- One file: import cuda.tile as ct, functions of @ct.kernel, helpers, constants, dataclasses. No torch, no code \
that launches, no files.
- Parameters have the names and the order of the launch spec. T = 128 there is a ct.Constant[int].
- ct.load(x, (i,), (T,)) and ct.store(out, (i,), tile) take the number of a tile, and leave out what lies \
outside the array. Say padding_mode=ct.PaddingMode.ZERO (NEG_INF for a maximum) where what lies outside reaches \
a result.
- Each block stores to tiles of its own: their index tells every axis of the grid apart (ct.bid(0), ct.bid(1)). \
Sums of several blocks take ct.atomic_add.
Example, for grid = ["M"], args = { x = "f32[M, N]", out = "f32[M, N]", T = 128 }:

import cuda.tile as ct


@ct.kernel
def centred(x, out, T: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((1, 1), ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        tile = ct.load(x, (row, j), (1, T), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(tile, axis=1, keepdims=True)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        ct.store(out, (row, j), ct.load(x, (row, j), (1, T)) - total / x.shape[1])
"""

GUIDES: Final[Mapping[str, str]] = {"triton": _TRITON, "cutile": _CUTILE}
"""By language."""


def guide(language: str) -> str:
    """The guide for ``triton`` or ``cutile``, for a model's prompt.  Raises `UsageError` for another language."""
    found = GUIDES.get(language.lower())
    if found is None:
        raise UsageError(f"there is no guide for '{language}'; there are: {', '.join(GUIDES)}")
    return found
