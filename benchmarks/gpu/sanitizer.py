"""What compute-sanitizer sees of racy and out-of-bounds corpus kernels, and how much slower it makes them.

    python -m benchmarks.gpu.sanitizer FOLDER OUT

``FOLDER`` comes from `sanitizer_prepare`.  These kernels are refuted, so no bundle of them exists; here alone their
cubins are launched bare, each in a process of its own, as it is and under each tool.  Writes sanitizer.json and
sanitizer.md into ``OUT``.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .stored import StoredLaunch

TOOLS = ("racecheck", "memcheck", "initcheck")
PLAIN = "plain"
PATIENCE = 45
"""Seconds that a process may take."""
LAUNCHES = 40


# -------------------------------------------------------------------------------------------- in the child
class Placed:
    """An array on the device, with as much of a tensor as `bare.packed` looks at."""

    def __init__(self, address: int, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.shape = shape
        self._address, self._strides = address, strides

    def data_ptr(self) -> int:
        return self._address

    def stride(self, dim: int) -> int:
        return self._strides[dim]


def child(cubin: Path) -> None:
    """Launches again and again from the same memory; prints how many results there were, and the median time."""
    import statistics

    import numpy as np
    from cuda.bindings import driver

    from tileverify.contract.launch import Role

    from .bare import called, packed

    launch = StoredLaunch.load(cubin.with_suffix(".npz"))
    called(driver.cuInit(0))
    context = called(driver.cuDevicePrimaryCtxRetain(called(driver.cuDeviceGet(0))))
    called(driver.cuCtxSetCurrent(context))
    library = called(driver.cuLibraryLoadData(cubin.read_bytes(), [], [], 0, [], [], 0))
    entry = called(driver.cuLibraryGetKernel(library, launch.about["symbol"].encode()))
    function = called(driver.cuKernelGetFunction(entry))
    memory = {name: int(called(driver.cuMemAlloc(max(1, data.size)))) for name, data in launch.before.items()}
    placed = {
        name: Placed(memory[each.memory] + each.offset, each.shape, each.strides)
        for name, each in launch.arrays.items()
    }
    parameters = [
        SimpleNamespace(role=Role(role), argument=argument, dim=dim)
        for role, argument, dim, _ in launch.about["parameters"]
    ]
    types = [type_ for *_, type_ in launch.about["parameters"]]
    given = packed(parameters, types, {**placed, **launch.scalars})
    results, times = set(), []
    for _ in range(LAUNCHES):
        for name, data in launch.before.items():
            if data.size:
                called(driver.cuMemcpyHtoD(memory[name], data.ctypes.data, data.size))
        called(driver.cuCtxSynchronize())
        begun = time.perf_counter()
        called(driver.cuLaunchKernel(function, *launch.grid, 1, 1, 1, 0, driver.CUstream(0), given, 0))
        called(driver.cuCtxSynchronize())
        times.append(1000 * (time.perf_counter() - begun))
        after = []
        for name, data in launch.before.items():
            copied = np.zeros_like(data)
            if data.size:
                called(driver.cuMemcpyDtoH(copied.ctypes.data, memory[name], data.size))
            after.append(copied.tobytes())
        results.add(b"".join(after))
    print(json.dumps({"results": len(results), "milliseconds": statistics.median(times)}), flush=True)


# ------------------------------------------------------------------------------------------- in the parent
def ran(program: str, cubin: Path, tool: str) -> dict[str, Any]:
    """One process: what it printed, and what the tool counted."""
    command = [sys.executable, "-m", "benchmarks.gpu.sanitizer", "--child", str(cubin), ".", "."]
    if tool != PLAIN:
        command = [program, "--tool", tool, "--print-limit", "3", *command]
    begun = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"outcome": f"no end within {PATIENCE} s"}
    told = done.stdout + done.stderr
    found: dict[str, Any] = {"outcome": "ended" if done.returncode == 0 else f"exit code {done.returncode}"}
    found["process_s"] = time.monotonic() - begun
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    counted = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", told)
    if counted:
        found["reported"] = int(counted[-1])
    said = [line.lstrip("= ") for line in told.splitlines() if line.startswith("=====")]
    found["first"] = next((line for line in said[1:] if line and "SUMMARY" not in line), "")
    found["report"] = said[1:12]
    if "results" not in found or (tool != PLAIN and not counted):
        found["output"] = told[-600:]
    return found


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ("kernel", "tileverify", *TOOLS, f"results in {LAUNCHES} launches", *(f"{tool}, slower" for tool in TOOLS))
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for row in rows:
        runs, plain = row["runs"], row["runs"][PLAIN]
        slower = [
            f"{runs[tool]['milliseconds'] / plain['milliseconds']:.1f}x"
            if "milliseconds" in runs[tool] and "milliseconds" in plain
            else ""
            for tool in TOOLS
        ]
        seen = [str(runs[tool].get("reported", runs[tool]["outcome"])) for tool in TOOLS]
        results = str(plain.get("results", plain["outcome"]))
        cells = (f"`{row['label']}`", f"{row['verdict']} {', '.join(row['codes'])}", *seen, results, *slower)
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        f"Slower: the median time of {LAUNCHES} launches, each waited for, beside the same without a tool.",
        "",
    ]
    lines += [
        f"* {row['label']}, {tool}: {run['first']}"
        for row in rows
        for tool, run in row["runs"].items()
        if run.get("first") and (run.get("reported") or "results" not in run)
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--child", type=Path, metavar="CUBIN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    from .machine import machine

    program = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if program is None:
        print("there is no compute-sanitizer on this machine")
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    cubins = sorted(options.folder.glob("*.cubin"))
    # one at a time: processes that share a GPU share its time
    found = {(cubin, tool): ran(program, cubin, tool) for cubin, tool in product(cubins, (PLAIN, *TOOLS))}
    rows = [
        {
            **StoredLaunch.load(cubin.with_suffix(".npz")).about,
            "runs": {tool: found[cubin, tool] for tool in (PLAIN, *TOOLS)},
        }
        for cubin in cubins
    ]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    results = {"machine": {**machine(), "compute-sanitizer": version}, "rows": rows}
    (options.out / "sanitizer.json").write_text(json.dumps(results, indent=1) + "\n")
    (options.out / "sanitizer.md").write_text(markdown(rows))
    print(markdown(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
