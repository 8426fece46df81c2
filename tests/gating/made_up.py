"""Submissions made up from a seed, honest or racy by construction, with the launch spec that the caller asks for.

A kernel walks over tiles of one or two dimensions, computes something on the way, and stores at a tile index.  It is
honest where that index is a different one for every block, and racy where two blocks of each launch with more than one
block share one.  An honest one that takes the short tile at the end to another place pads it: what it stores there
would be open else, and such a kernel is refused.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class MadeUp:
    """``racy``: what the verdict must say."""

    source: str
    spec: str
    racy: bool


_FLOATS: Final = (
    "a + b",
    "a * b",
    "ct.maximum(a, b)",
    "ct.exp(a) - b",
    "ct.where(a > b, a, b)",
    "a * 2.0 + b",
    "ct.abs(a - b)",
)
_HONEST: Final = ("i", "n - 1 - i", "i + 0", "n - (i + 1)", "min(i, n - 1)", "ct.where(i < n, i, n)", "i ^ 0")
_TURNED: Final = ("n - 1 - i", "n - (i + 1)")
"""Those of the honest ones that store the last tile, which the array may not fill, where another one is full."""
_RACY: Final = ("i // 2", "0", "i * 0", "min(i, 0)", "i - i % 2", "i & -2", "(i // 2) * 2", "n - 1 - i // 2")
"""Each gives block 1 the place of block 0 (or the last two blocks one place), in any launch with two blocks."""


def made_up(seed: int) -> MadeUp:
    """The submission of a seed; the same in every run."""
    choose = random.Random(f"gate-{seed}")
    racy = choose.random() < 0.5
    index = choose.choice(_RACY if racy else _HONEST)
    compute = choose.choice(_FLOATS)
    tile = choose.choice((16, 32, 64, 128, 256))
    name = choose.choice(("kernel", "forward", "fused_op", "step"))
    dtype = choose.choice(("f32", "f16", "i32" if "exp" not in compute and "2.0" not in compute else "f32"))
    return (_rows if choose.random() < 0.4 else _line)(choose, index, compute, tile, name, dtype, racy)


def _line(choose: random.Random, index: str, compute: str, tile: int, name: str, dtype: str, racy: bool) -> MadeUp:
    helper = choose.random() < 0.4
    body = "combine(a, b)" if helper else compute
    padding = ", padding_mode=ct.PaddingMode.ZERO" if index in _TURNED else ""
    source = f"""import cuda.tile as ct

TILE = {tile}
{
        f'''

def combine(a, b):
    return {compute}
'''
        if helper
        else ""
    }

@ct.kernel
def {name}(x, y, out):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    a = ct.load(x, index=(i,), shape=(TILE,){padding})
    b = ct.load(y, index=(i,), shape=(TILE,){padding})
    ct.store(out, index=({index},), tile=ct.astype({body}, out.dtype))
"""
    spec = f"""[[launch]]
kernel = "{name}"
grid = ["cdiv(N, {tile})"]
requires = ["N >= {2 * tile}"]
args = {{ x = "{dtype}[N]", y = "{dtype}[N]", out = "{dtype}[N]" }}
"""
    return MadeUp(source, spec, racy)


def _rows(choose: random.Random, index: str, compute: str, tile: int, name: str, dtype: str, racy: bool) -> MadeUp:
    """Rows by blocks, columns by a loop; a racy one shares rows."""
    source = f"""import cuda.tile as ct


@ct.kernel
def {name}(x, y, out, tile: ct.Constant[int]):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, tile))):
        a = ct.load(x, index=(i, j), shape=(1, tile))
        b = ct.load(y, index=(i, j), shape=(1, tile))
        ct.store(out, index=({index}, j), tile=ct.astype({compute}, out.dtype))
"""
    spec = f"""[[launch]]
kernel = "{name}"
grid = ["M"]
requires = ["M >= 2", "N >= 1"]
args = {{ x = "{dtype}[M, N]", y = "{dtype}[M, N]", out = "{dtype}[M, N]", tile = {tile} }}
"""
    return MadeUp(source, spec, racy)
