"""Kernels that add to what an array holds, in large launches on a GPU, against float64: as they are, and with waits.

    python -m benchmarks.gpu.compiled_prepare FOLDER --sources FILE ... --wide W=131072 R=512 N=256
    python -m benchmarks.gpu.compiled_wide FOLDER OUT [--runs N] [--only TEXT]

Each cubin runs N times (default 20) on fresh random numbers, and its twin N times, each with another seed (`delays`).
What a kernel computes is known here by its name (`KERNELS`); launches of other kernels are left out.  Several may be
wrong, so they are launched bare.  Writes a line of JSON for each into OUT/compiled_wide.jsonl, and a table; exits 1
where a cubin that compared equal in `build` is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from .bare import packed
from .compiled import Loaded

DTYPES = {"f32": torch.float32, "f16": torch.float16, "i32": torch.int32}
NEAR = {torch.float32: 1e-4, torch.float16: 2e-2, torch.int32: 0}
"""Of the number and the usual size of numbers in the array."""

Arrays = Mapping[str, Tensor]
Computed = Callable[[Arrays, str], dict[str, Tensor]]
"""From arrays in float64, and the name of the launch."""

NOTHING = ("lock", "turn")
"""Arrays that hold 0 before."""


def _added(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"out": a["out"] + a["x"].sum(0).reshape(a["out"].shape)}


def _rows_added(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"out": a["out"] + a["x"].sum(1)}


def _turned(a: Arrays, name: str) -> dict[str, Tensor]:
    x, (m, n) = a["x"], tile_of(name)
    return {"x": x.reshape(m, -1, n).permute(2, 1, 0).reshape(x.shape)}


def _summed_up(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"x": a["x"].cumsum(0)}


def _centred(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"x": a["x"] - a["x"].sum(0, keepdim=True)}


def _product(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"x": a["x"] @ a["b"]}


def _reversed(x: Tensor, n: int) -> Tensor:
    return x.reshape(-1, n).flip(1).reshape(x.shape)


def _reloaded(a: Arrays, name: str) -> dict[str, Tensor]:
    sums = a["x"].sum(0)
    return {"tmp": sums, "out": _reversed(sums, tile_of(name)[1])}


def _largest_added(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"out": a["out"] / 2 + a["x"].amax(0)}


def _added_to_reversed(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"out": _reversed(a["out"], tile_of(name)[1]) + a["x"].sum(0)}


def _bias_gradient(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"db": a["db"] + a["dy"].sum(0)}


def _handed_over(a: Arrays, name: str) -> dict[str, Tensor]:
    return {"total": a["total"] + a["x"].sum()}


KERNELS: Mapping[str, Computed] = {
    "colsum": _added, "rmw_in_loop": _added, "gather_rmw": _added, "rmw_2d": _added, "rowsum": _rows_added,
    "transpose_in_place": _turned, "cumsum_in_place": _summed_up, "center_in_place": _centred,
    "product_in_place": _product, "store_then_reload": _reloaded, "rmw_max": _largest_added,
    "rmw_reversed": _added_to_reversed, "bias_gradient": _bias_gradient,
    "pass_by_store": _handed_over, "lock_by_store": _handed_over,
}  # fmt: skip


def kernel_of(launch: Mapping[str, Any]) -> Computed | None:
    """By the symbol, which begins with the kernel's name."""
    names = [name for name in KERNELS if launch["kernel"].startswith(name)]
    return KERNELS[max(names, key=len)] if names else None


def run(folder: Path, about: Mapping[str, Any], mode: str, runs: int) -> dict[str, Any]:
    from .bare import called, driver

    launch, computed = about["wide"], kernel_of(about["wide"])
    assert computed is not None
    arrays = {name: torch.empty(shape, dtype=DTYPES[dtype]).cuda() for name, (dtype, shape) in launch["arrays"].items()}
    twin = ".delayed" if mode == "delayed" else ""
    loaded = Loaded((folder / f"{about['name']}{twin}.cubin").read_bytes())
    function = loaded.function(launch["kernel"])
    wrong = []
    for number in range(runs):
        torch.manual_seed(number)
        for name, each in arrays.items():
            spread = 0 if name in NOTHING else 1 if each.is_floating_point() else 100
            each.copy_(spread * torch.randn(each.shape, device="cuda"))
        expected = computed({name: each.double() for name, each in arrays.items()}, about["name"])
        if mode == "delayed":
            loaded.seed(number + 1)
        torch.cuda.synchronize()
        called(driver.cuLaunchKernel(function, *launch["grid"], 1, 1, 1, 0, 0, _arguments(launch, arrays), 0))
        torch.cuda.synchronize()
        wrong.append(sum(int(far(arrays[name], each).sum()) for name, each in expected.items()))
    elements = sum(each.numel() for each in expected.values())
    loaded.unload()
    return {
        "name": about["name"], "build": "equal" if about["equal"] else "differs" if about["differences"] else "",
        "mode": mode, "runs": runs, "wrong_runs": sum(map(bool, wrong)),
        "wrong": [min((each for each in wrong if each), default=0), max(wrong)], "elements": elements,
    }  # fmt: skip


def far(found: Tensor, expected: Tensor) -> Tensor:
    """The numbers that no rounding explains; NaN is one."""
    room = NEAR[found.dtype] * (expected.abs() + expected.abs().mean())
    return ~((found.double() - expected).abs() <= room)


def tile_of(name: str) -> tuple[int, int]:
    """Rows and columns of a tile, the last two numbers of the launch's name."""
    *_, m, n = name.split("-")
    return int(m), int(n)


def _arguments(launch: Mapping[str, Any], arrays: Arrays) -> Any:
    from tileverify.contract.launch import Role

    parameters = [
        SimpleNamespace(role=Role(role), argument=argument, dim=dim) for role, argument, dim, _ in launch["parameters"]
    ]
    return packed(parameters, [type_ for *_, type_ in launch["parameters"]], dict(arrays))


def table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| launch | `build` says | mode | wrong runs | wrong elements |"
    yield "|---|---|---|---:|---:|"
    for row in rows:
        few, most = row["wrong"]
        elements = f"{few} to {most} of {row['elements']}" if most else ""
        yield (
            f"| {row['name']} | {row['build']} | {row['mode']} | {row['wrong_runs']} of {row['runs']} | {elements} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default="", help="cubins with this in their names")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    files = [file for file in sorted(options.folder.glob("*.json")) if options.only in file.name]
    wide = [about for about in (json.loads(file.read_text()) for file in files) if about.get("wide")]
    rows = [
        run(options.folder, about, mode, options.runs)
        for about in wide
        if kernel_of(about["wide"]) is not None
        for mode in ("plain", "delayed")
    ]
    with (options.out / "compiled_wide.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    print("\n".join(table(rows)))
    if not rows:
        return 2
    return 1 if any(row["wrong_runs"] for row in rows if row["build"] == "equal") else 0


if __name__ == "__main__":
    raise SystemExit(main())
