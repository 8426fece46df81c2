"""Arrays of CuPy and JAX, and a second GPU, through a bundle of `launches`.

    python -m benchmarks.gpu.frameworks BUNDLES KEY.pub

The same addition with arrays of each framework that is there; with more than one GPU on each, with arrays on two
of them, which is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tileverify
from tileverify.system.errors import TileVerifyError

from .common import bundles

ELEMENTS = 1 << 16

Way = Callable[[Any, int], None]


def added(kernel: Any, tile: int, stream: Any, x: Any, y: Any, out: Any) -> None:
    tileverify.launch(stream, (ELEMENTS // tile,), kernel, (x, y, out))


def drawn() -> list[np.ndarray[tuple[int], np.dtype[np.float32]]]:
    return [np.random.default_rng(seed).random(ELEMENTS, np.float32) for seed in (1, 2)]


def with_cupy(kernel: Any, tile: int) -> None:
    import cupy

    x, y = (cupy.asarray(each) for each in drawn())
    out = cupy.full_like(x, float("nan"))
    added(kernel, tile, cupy.cuda.get_current_stream(), x, y, out)
    cupy.cuda.get_current_stream().synchronize()
    assert bool((out == x + y).all())


def with_jax(kernel: Any, tile: int) -> None:
    """JAX's arrays are read only; what is written is a tensor of torch."""
    import jax
    import torch

    x, y = (jax.device_put(each) for each in drawn())
    x.block_until_ready(), y.block_until_ready()
    out = torch.full((ELEMENTS,), float("nan"), device="cuda")
    added(kernel, tile, torch.cuda.current_stream(), x, y, out)
    torch.cuda.synchronize()
    assert np.array_equal(out.cpu().numpy(), np.asarray(x) + np.asarray(y))


def with_torch(kernel: Any, tile: int) -> None:
    import torch

    outs = []
    for device in range(torch.cuda.device_count()):
        x, y = (torch.rand(ELEMENTS, device=f"cuda:{device}") for _ in range(2))
        out = torch.full_like(x, float("nan"))
        added(kernel, tile, torch.cuda.current_stream(device), x, y, out)
        outs.append((x, y, out))
        beside = torch.cuda.Stream(device)
        again = torch.full_like(x, float("nan"))
        beside.wait_stream(torch.cuda.current_stream(device))
        for _ in range(3):
            added(kernel, tile, beside, x, y, again)
        outs.append((x, y, again))
    for place, (x, y, out) in enumerate(outs):
        device = place // 2
        torch.cuda.synchronize(device)
        assert torch.equal(out, x + y), device
    print(f"{torch.cuda.device_count()} GPUs")
    if torch.cuda.device_count() > 1:
        (x, y, _), *_, (_, _, other) = outs
        try:
            added(kernel, tile, torch.cuda.current_stream(0), x, y, other)
        except TileVerifyError as error:
            print(f"refused, two devices: {error}")
        else:
            raise AssertionError("arrays on two devices")


def tried(ways: Sequence[Way], kernel: Any, tile: int) -> int:
    """0 if at least one framework is here and all that are do right; says what became of each."""
    right = wrong = 0
    for way in ways:
        try:
            way(kernel, tile)
        except ImportError as error:
            print(f"{way.__name__}: not here ({error})")
        except (TileVerifyError, AssertionError, AttributeError, TypeError) as error:
            wrong += 1
            print(f"{way.__name__}: {type(error).__name__}: {error}")
        else:
            right += 1
            print(f"{way.__name__}: right")
    return 0 if right and not wrong else 1


def main() -> int:
    found = bundles(Path(sys.argv[1]), Path(sys.argv[2]))
    symbol, kernel = next((symbol, each) for symbol, each in found.items() if "f32" in symbol and "add" in symbol)
    tile = 1024 if "I1024" in symbol else 2048
    return tried((with_torch, with_cupy, with_jax), kernel, tile)


if __name__ == "__main__":
    raise SystemExit(main())
