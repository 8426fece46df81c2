"""Triton kernels that tileverify translated, proved and built, beside what Triton's own compiler makes of them.

    python -m benchmarks.gpu.translated build BUNDLES       # without a GPU: proves, assembles for sm_90, signs
    python -m benchmarks.gpu.translated run BUNDLES         # on the GPU: same inputs for both, medians of `do_bench`

Outputs begin as NaN, so that an element that nobody stored shows.  Differences are relative, in the 2-norm.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).with_name("kernels") / "translated.py"
NAMES = (
    "add", "softmax", "layer_norm", "matmul", "cumsum", "argmax", "histogram", "transpose", "descriptor_copy",
    "sorted_rows", "inplace_scale", "random_bits",
)  # fmt: skip


def build(folder: Path) -> int:
    """A signed bundle for each kernel, and the public key."""
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)], check=True)
    subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(folder / "key.pub")], check=True)
    for name in NAMES:
        target = [f"{KERNELS}::{name}", "-o", str(folder / f"{name}.tvk"), "--arch", "sm_90", "--sign", str(key)]
        subprocess.run([sys.executable, "-m", "tileverify", "build", *target], check=True)
    return 0


@dataclass(frozen=True)
class Case:
    """One launch; ``outputs`` are the positions of what is compared."""

    kernel: str
    arguments: tuple[Any, ...]
    grid: tuple[int, ...]
    constants: Mapping[str, int]
    outputs: tuple[int, ...] = (0,)


def cases(torch: Any, cdiv: Callable[[int, int], int]) -> Iterator[Case]:
    def drawn(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda")

    def empty(*shape: int) -> Any:
        return torch.full(shape, float("nan"), device="cuda")

    def integers(*shape: int) -> Any:
        return torch.zeros(shape, device="cuda", dtype=torch.int32)

    block = {"BLOCK": 1024}
    for n in (1, 1000, 1 << 24):
        yield Case("add", (drawn(n), drawn(n), empty(n), n), (cdiv(n, 1024),), block, (2,))
        yield Case("inplace_scale", (drawn(n), n), (cdiv(n, 1024),), block)
        yield Case("random_bits", (integers(n), n, 12345), (cdiv(n, 1024),), block)
        values = torch.randint(0, 1 << 20, (n,), device="cuda", dtype=torch.int32)
        yield Case("histogram", (integers(64), values, n), (cdiv(n, 1024),), block)
    for m, n in ((7, 3), (4096, 4096), (1000, 777)):
        yield Case("softmax", (empty(m, n), drawn(m, n), m, n), (m,), {"BLOCK": 4096})
    for m, n in ((5, 3), (4096, 8192), (1000, 777)):
        yield Case("layer_norm", (empty(m, n), drawn(m, n), drawn(n), drawn(n), m, n, 1e-5), (m,), block)
    tile = {"BM": 128, "BN": 128, "BK": 64, "GROUP": 8}
    for m, n, k in ((33, 65, 17), (4096, 4096, 4096), (1000, 777, 333)):
        factors = drawn(m, k).half(), drawn(k, n).half(), empty(m, n).half()
        yield Case("matmul", (*factors, m, n, k), (cdiv(m, 128) * cdiv(n, 128),), tile, (2,))
    for m, n in ((5, 3), (8192, 1000)):
        yield Case("cumsum", (empty(m, n), drawn(m, n), m, n), (m,), block)
        yield Case("argmax", (integers(m), drawn(m, n).round(decimals=1), m, n), (m,), block)
    for m, n in ((5, 4), (8192, 4000)):
        yield Case("transpose", (empty(n, m), drawn(m, n), m, n), (cdiv(m, 64), cdiv(n, 64)), {"B": 64})
        both = {"BM": 64, "BN": 64}
        yield Case("descriptor_copy", (empty(m, n), drawn(m, n), m, n), (cdiv(m, 64), cdiv(n, 64)), both)
    for m in (3, 20000):
        yield Case("sorted_rows", (empty(m, 256), drawn(m, 256), m), (m,), {"BLOCK": 256})


def run(folder: Path) -> int:
    """A line for each case; 1 if a result differs by more than rounding."""
    import torch
    import triton

    import tileverify

    from .kernels import translated as kernels

    torch.manual_seed(0)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    stream = torch.cuda.current_stream().cuda_stream
    wrong = 0
    for case in cases(torch, triton.cdiv):
        theirs, ours = ([each.clone() if torch.is_tensor(each) else each for each in case.arguments] for _ in range(2))
        bundle = tileverify.load(str(folder / f"{case.kernel}.tvk"), keys=[str(folder / "key.pub")])
        launch = getattr(kernels, case.kernel)[case.grid]
        passed = (*ours, *case.constants.values())
        launch(*theirs, **case.constants)
        tileverify.launch(stream, case.grid, bundle, passed)
        torch.cuda.synchronize()
        differences = [_difference(theirs[position], ours[position]) for position in case.outputs]
        wrong += not max(differences) < 1e-5
        times = [
            triton.testing.do_bench(made, return_mode="median") * 1000
            for made in (
                lambda: launch(*theirs, **case.constants),  # noqa: B023
                lambda: tileverify.launch(stream, case.grid, bundle, passed),  # noqa: B023
            )
        ]
        shape = tuple(next(each.shape for each in case.arguments if torch.is_tensor(each)))
        print(
            f"{case.kernel:16} {shape!s:16} {max(differences):9.1e} {times[0]:9.1f} us {times[1]:9.1f} us", flush=True
        )
    return int(wrong > 0)


def _difference(expected: Any, found: Any) -> float:
    expected, found = expected.double(), found.double()
    return float((expected - found).norm() / expected.norm().clamp_min(1e-30))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["build", "run"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    return build(options.folder) if options.step == "build" else run(options.folder)


if __name__ == "__main__":
    sys.exit(main())
