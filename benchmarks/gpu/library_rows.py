"""How fast the library's softmax and norms are on a GPU, from signed bundles, beside torch's.

    python -m benchmarks.gpu.library_rows FOLDER KEY.pub OUT

Bundles and comparison as in `library`.  Times are of the GPU, with new arrays for the result each time, the L2 cache
swept before.  Writes library_rows.json and a table into ``OUT``; exits with 1 where results disagree.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch

from tileverify import kernels
from tileverify.kernels import prepared

from .comparing import machine, no_kernel
from .in_torch import CLOSE, TYPES, error, name_of
from .measure import Clock

F = torch.nn.functional
ELEMENTS = 1 << 26
COLUMNS = (1000, 1024, 2048, 3000, 4096, 5120, 8192, 12288, 16384, 32768)
ROUNDS = 15

Row = dict[str, str | int | float | bool]
Compute = Callable[..., torch.Tensor]
Way = tuple[str, Compute, Compute, tuple[torch.Tensor, ...]]


def ways(dtype: torch.dtype, columns: int) -> Iterator[Way]:
    """Name, ours, torch's, and the arguments."""
    rows = ELEMENTS // columns // 16 * 16
    x, weight, bias = (torch.randn(size, device="cuda").to(dtype) for size in ((rows, columns), (columns,), (columns,)))
    yield "softmax", kernels.softmax, lambda a: F.softmax(a, -1), (x,)
    yield "rms_norm", kernels.rms_norm, lambda a, w: F.rms_norm(a, (columns,), w, 1e-6), (x, weight)
    yield "layer_norm", kernels.layer_norm, lambda a, w, b: F.layer_norm(a, (columns,), w, b, 1e-5), (x, weight, bias)


def measured(clock: Clock, dtype: torch.dtype, columns: int) -> Iterator[Row]:
    for name, ours, theirs, arguments in ways(dtype, columns):
        off = error(ours(*arguments), theirs(*(each.double() for each in arguments)))
        usual = error(theirs(*arguments), theirs(*(each.double() for each in arguments)))
        times = clock.rounds({"ours": partial(ours, *arguments), "torch": partial(theirs, *arguments)}, ROUNDS)
        moved = 2 * arguments[0].numel() * arguments[0].element_size() / 1e9  # GB; a millisecond makes it TB/s
        rates = {way: moved / statistics.median(each) for way, each in times.items()}
        fine = off <= max(CLOSE[dtype], 2 * usual)
        yield {"function": name, "dtype": name_of(dtype), "columns": columns, "error": off, "fine": fine, **rates}


def table(rows: list[Row]) -> Iterator[str]:
    yield "| function | type | columns | library, TB/s | torch, TB/s | library / torch | error |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for row in rows:
        ours, theirs = float(row["ours"]), float(row["torch"])
        rates = (
            f"{ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} | {row['error']:.1e}{'' if row['fine'] else ' TOO MUCH'}"
        )
        yield f"| {row['function']} | {row['dtype']} | {row['columns']} | {rates} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    prepared.kernel_of = no_kernel  # type: ignore[assignment]
    kernels.use(asked.folder, keys=[asked.key], only_signed=True)
    torch.manual_seed(0)
    clock = Clock()
    rows = [row for dtype in TYPES for columns in COLUMNS for row in measured(clock, dtype, columns)]
    rows.sort(key=lambda row: (str(row["function"]), str(row["dtype"])))
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "library_rows.json").write_text(json.dumps({**machine(), "rows": rows}, indent=1) + "\n")
    text = "\n".join(table(rows)) + "\n"
    (asked.out / "library_rows.md").write_text(text)
    print(text)
    return 0 if all(row["fine"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
