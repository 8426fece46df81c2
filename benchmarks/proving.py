"""What a verdict costs beside the compilation that precedes it, on every launch of the corpus.

    python -m benchmarks.proving [--repeat N] [--json FILE]

Each launch is compiled to bytecode by cuda.tile, decoded, executed symbolically and decided ``--repeat`` times in one
process; the medians are printed in milliseconds.  Where ``tileiras`` is installed (the extra ``assemble``), the
bytecode is assembled for sm_90 once, and the last line compares all of tileverify's work with compiling and
assembling, which is what every first launch of a kernel costs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tileverify.check import check_unit, solver_version
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.sources.launch import KernelUnit
from tileverify.results import KernelResult

STAGES = ("compile", "decode", "execute", "prove")
Row = dict[str, float | str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each launch (default 5)")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args(arguments)
    times: dict[str, list[KernelResult]] = {}
    units: dict[str, KernelUnit] = {}
    for _ in range(options.repeat + 1):
        for unit in discover([str(ROOT)]):
            if isinstance(unit, KernelUnit):
                name = f"{unit.file.parent.name}/{unit.file.name}::{unit.kernel}[{unit.launch.name}]"
                units[name] = unit
                times.setdefault(name, []).append(check_unit(unit))
    assembler = shutil.which("tileiras", path=f"{sysconfig.get_path('purelib')}/nvidia/cu13/bin:{os.environ['PATH']}")
    medians = [_median_row(name, results) for name, results in times.items()]
    if assembler:
        for row in medians:
            row["assemble"] = _assemble(assembler, units[str(row["launch"])].bytecode)
    _print(medians)
    if options.json:
        options.json.write_text(json.dumps(medians, indent=1) + "\n")
    return 0


def _median_row(name: str, results: Sequence[KernelResult]) -> Row:
    """The first run of each launch is left out: it fills the caches of imports and terms."""
    row: Row = {"launch": name, "verdict": results[0].verdict.value}
    for stage in STAGES:
        row[stage] = round(statistics.median(getattr(result.time_ms, stage) for result in results[1:]), 2)
    return row


def _assemble(assembler: str, bytecode: bytes) -> float:
    """Milliseconds that ``tileiras`` takes for sm_90; NaN for bytecode that it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.tileirbc")
        source.write_bytes(bytecode)
        start = time.perf_counter()
        command = [assembler, "--gpu-name", "sm_90", "--lineinfo", str(source), "-o", str(Path(folder, "kernel.cubin"))]
        done = subprocess.run(command, capture_output=True, check=False)
        return round(1000 * (time.perf_counter() - start), 1) if done.returncode == 0 else math.nan


def _print(rows: Sequence[Row]) -> None:
    print(f"{'compile':>9}{'decode':>9}{'execute':>9}{'prove':>9}   verdict    launch")
    for row in rows:
        print("".join(f"{row[stage]:9.1f}" for stage in STAGES), f"  {row['verdict']:10} {row['launch']}")
    print(f"\n{len(rows)} launches; Python {sys.version.split()[0]}, {solver_version()}, {platform.machine()}")
    for stage in (*STAGES, "assemble"):
        times = sorted(float(row[stage]) for row in rows if not math.isnan(float(row.get(stage, math.nan))))
        if times:
            median, late = statistics.median(times), times[int(0.9 * len(times))]
            print(f"{stage:8} median {median:7.1f} ms   90 % {late:7.1f} ms   of {len(times)}")
    ratios = [sum(float(row[s]) for s in STAGES[1:]) / cost for row in rows if (cost := _whole_compilation(row)) > 0]
    if ratios:
        print(
            f"decode + execute + prove over compile + assemble: median {statistics.median(ratios):.3f}, "
            f"below 1 for {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}"
        )


def _whole_compilation(row: Row) -> float:
    """Milliseconds from source to GPU code, 0 where one of the two steps was not measured."""
    assemble = float(row.get("assemble", math.nan))
    return 0.0 if math.isnan(assemble) or not row["compile"] else float(row["compile"]) + assemble


if __name__ == "__main__":
    sys.exit(main())
