"""The corpus' proved kernels from bundles on a GPU, compared with the interpreter.

    python -m benchmarks.gpu.corpus FOLDER KEY.pub OUT

``FOLDER`` comes from `corpus_prepare`.  Each launch is checked against its contract and made from its signed bundle,
on memory with the interpreter's inputs; all memory is compared afterwards: integers and what was not to be written bit
for bit, floats within some units in the last place.  Launches run in a child process, which is replaced when one hangs
or faults.  Writes corpus.json and corpus.md into ``OUT``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .children import results
from .stored import StoredArray, StoredLaunch, numbers

PATIENCE = 30
"""Seconds without a result after which a launch counts as hanging."""

TOLERANCES = {"f32": 2e-5, "f16": 2e-3, "bf16": 1.6e-2}
"""Of the larger of the value and one, as between interpreter and NumPy in the tests."""


TORCH = {
    "bool": "bool", "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip


# -------------------------------------------------------------------------------------------- in the child
class DeviceMemory:
    """The memory of a stored launch on the GPU, one tensor of bytes for each."""

    def __init__(self, launch: StoredLaunch) -> None:
        import torch

        self._launch = launch
        self._bytes = {name: torch.from_numpy(data.copy()).cuda() for name, data in launch.before.items()}

    def array(self, array: StoredArray) -> Any:
        import torch

        dtype = getattr(torch, TORCH[array.dtype])
        behind = self._bytes[array.memory][array.offset :]
        whole = behind[: behind.numel() // dtype.itemsize * dtype.itemsize]
        elements = whole.view(dtype) if whole.numel() else torch.empty(0, dtype=dtype, device=whole.device)
        return torch.as_strided(elements, array.shape, array.strides)

    def argument(self, argument: Any) -> Any:
        """What stands for an argument of the contract in a call."""
        from tileverify.contract.launch import (
            ArrayArgument,
            ConstantArgument,
            ListArgument,
            ScalarArgument,
            TupleArgument,
        )

        match argument:
            case ArrayArgument():
                return self.array(self._launch.arrays[argument.name])
            case ScalarArgument():
                return self._launch.scalars[argument.name]
            case ConstantArgument():
                return argument.value
            case ListArgument():
                return [self.array(each) for each in self._launch.lists[argument.name]]
            case TupleArgument(items=items, fields=fields):
                values = tuple(map(self.argument, items))
                return SimpleNamespace(**dict(zip(fields, values, strict=True))) if fields else values
        raise AssertionError(argument)

    def contents(self) -> dict[str, Any]:
        return {name: memory.cpu().numpy() for name, memory in self._bytes.items()}


def differences(launch: StoredLaunch, found: Mapping[str, Any]) -> list[str]:
    """What differs from the interpreter's memory, in words."""
    told = []
    for name, after in launch.after.items():
        dtype, seen = launch.types[name], found[name]
        if not after.size:
            continue
        known = launch.known.get(name, np.ones(after.size, np.bool_))
        exact = (seen == after) | ~known
        wanted, got = numbers(after, dtype), numbers(seen, dtype)
        width = after.size // wanted.size
        differ = ~exact.reshape(-1, width).all(axis=1)
        if dtype in TOLERANCES:
            unwritten = (launch.before[name] == after).reshape(-1, width).all(axis=1)
            near = np.isclose(got, wanted, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype], equal_nan=True)
            differ &= ~near | unwritten
        if differ.any():
            first = int(np.flatnonzero(differ)[0])
            told.append(
                f"{name}: {int(differ.sum())} of {differ.size}, first at {first}: {got[first]} for {wanted[first]}"
            )
    return told


def run_one(bundle_file: Path, launch: StoredLaunch, key: Path) -> dict[str, Any]:
    import torch

    from tileverify.launching.bundled import load
    from tileverify.system.errors import TileVerifyError

    kernel = load(bundle_file, keys=[key], only_signed=True)
    memory = DeviceMemory(launch)
    arguments = [memory.argument(each) for each in kernel.bundle.certificate.launch.arguments]
    try:
        kernel.launch(torch.cuda.current_stream(), launch.grid, arguments)
    except TileVerifyError as error:
        return {"outcome": "refused", "what": [str(error)]}
    torch.cuda.synchronize()
    told = differences(launch, memory.contents())
    return {"outcome": "differs" if told else "agrees", "what": told}


def child(folder: Path, key: Path, names: Sequence[str]) -> None:
    """One line of JSON for each launch."""
    for name in names:
        launch = StoredLaunch.load(folder / f"{name}.npz")
        print(json.dumps({"name": name, "begins": True}), flush=True)
        try:
            result = run_one(folder / f"{name}.tvk", launch, key)
        except Exception as error:  # a fault leaves the context unusable: the parent goes on with a new process
            result = {"outcome": "failed", "what": [f"{type(error).__name__}: {error}"[:300]]}
        print(json.dumps({"name": name, **launch.about, **result}), flush=True)
        if result["outcome"] == "failed":
            return


# ------------------------------------------------------------------------------------------- in the parent
def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for each file of the corpus, and every launch that does not agree."""
    folders: dict[str, Counter[str]] = {}
    for row in rows:
        folders.setdefault(str(row["label"]).split("/")[0], Counter())[row["outcome"]] += 1
    outcomes = sorted({row["outcome"] for row in rows})
    lines = ["| folder | launches | " + " | ".join(outcomes) + " |", "|---|---:|" + "---:|" * len(outcomes)]
    for folder, counts in folders.items():
        lines.append(f"| {folder} | {counts.total()} | " + " | ".join(str(counts[each]) for each in outcomes) + " |")
    total = Counter(row["outcome"] for row in rows)
    lines.append(f"| all | {total.total()} | " + " | ".join(str(total[each]) for each in outcomes) + " |")
    lines.append("")
    for row in rows:
        if row["outcome"] != "agrees":
            kind = {True: "deterministic", False: "not deterministic", None: ""}[row.get("deterministic")]
            lines.append(f"* {row['label']} ({kind}): {row['outcome']}: {'; '.join(row['what'])}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--child", nargs="+", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.folder, options.key, options.child)
        return 0
    from .machine import machine

    options.out.mkdir(parents=True, exist_ok=True)
    names = sorted(file.stem for file in options.folder.glob("*.tvk"))
    program = [sys.executable, "-m", "benchmarks.gpu.corpus", "--child"]
    where = ["--", str(options.folder), str(options.key), "-"]
    rows = sorted(
        results(lambda left: [*program, *left, *where], names, PATIENCE), key=lambda row: str(row["name"])
    )  # fmt: skip
    for row in rows:
        row.setdefault("label", StoredLaunch.load(options.folder / f"{row['name']}.npz").about["label"])
    (options.out / "corpus.json").write_text(json.dumps({"machine": machine(), "rows": rows}) + "\n")
    (options.out / "corpus.md").write_text(markdown(rows))
    print(markdown(rows))
    return 0 if all(row["outcome"] == "agrees" for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
