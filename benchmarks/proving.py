"""What a verdict costs beside the assembly that it precedes, on every launch of the corpus and of a recording.

    python -m benchmarks.proving [--repeat N] [--recorded DIR] [--assemble N] [--json FILE]

Each launch of the corpus is compiled to bytecode by cuda.tile, decoded, executed symbolically and decided ``--repeat``
times in one process; of a folder that `tileverify record` wrote, the first launch of two specialisations a kernel.
Medians are printed in milliseconds: of each stage by the clock, and of decoding, executing and proving together in
processor time, which other work on the machine hardly changes.  Where ``tileiras`` is installed (the extra
``assemble``), the bytecode is assembled for sm_90 once, and the last lines compare tileverify's work with assembling.
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
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import KernelResult

from .real.report import kernels

STAGES = ("compile", "decode", "execute", "prove")
Row = dict[str, float | str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each launch (default 5)")
    parser.add_argument("--recorded", type=Path, help="a folder that `tileverify record` wrote")
    parser.add_argument("--assemble", type=int, default=1, metavar="N", help="assemble every N-th (default all)")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args(arguments)
    found = [(_name(unit), unit) for unit in discover([str(ROOT)]) if isinstance(unit, KernelUnit)]
    if options.recorded:
        found += list(_recorded(options.recorded))
    assembler = shutil.which("tileiras", path=f"{sysconfig.get_path('purelib')}/nvidia/cu13/bin:{os.environ['PATH']}")
    rows = []
    for number, (name, unit) in enumerate(found):
        # The first run of each launch is left out: it fills the caches of imports and terms.
        rows.append(_median_row(name, [_timed(unit) for _ in range(options.repeat + 1)][1:]))
        if assembler and number % options.assemble == 0:
            rows[-1]["assemble"] = _assemble(assembler, unit.bytecode)
    _print(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def _name(unit: KernelUnit) -> str:
    return f"{unit.file.parent.name}/{unit.file.name}::{unit.kernel}[{unit.launch.name}]"


def _recorded(folder: Path) -> Iterator[tuple[str, KernelUnit]]:
    """The first launch of two specialisations of each kernel."""
    for name, files in sorted(kernels(folder, 2).items()):
        for file in files:
            units = (unit for unit in discover([str(file)]) if isinstance(unit, KernelUnit))
            yield from ((f"{name} {file.stem}", unit) for unit in islice(units, 1))


def _timed(unit: KernelUnit) -> tuple[KernelResult, float]:
    start = time.process_time()
    result = check_unit(unit)
    return result, 1000 * (time.process_time() - start)


def _median_row(name: str, runs: Sequence[tuple[KernelResult, float]]) -> Row:
    results = [result for result, _ in runs]
    row: Row = {"launch": name, "verdict": results[0].verdict.value}
    row["processor"] = round(statistics.median(processor for _, processor in runs), 2)
    for stage in STAGES:
        row[stage] = round(statistics.median(getattr(result.time_ms, stage) for result in results), 2)
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
    for stage in (*STAGES, "processor", "assemble"):
        times = sorted(float(row[stage]) for row in rows if not math.isnan(float(row.get(stage, math.nan))))
        if times:
            late, later = (times[int(share * len(times))] for share in (0.9, 0.95))
            median = statistics.median(times)
            print(f"{stage:9} median {median:7.1f} ms  90 % {late:7.1f} ms  95 % {later:7.1f} ms  of {len(times)}")
    _print_ratio(rows, "execute + prove over assemble", lambda row: row.get("assemble"), STAGES[2:])
    _print_ratio(rows, "decode + execute + prove over compile + assemble", _whole_compilation, STAGES[1:])


def _print_ratio(rows: Sequence[Row], title: str, cost: Callable[[Row], object], stages: Sequence[str]) -> None:
    costs = [float(str(cost(row) or "nan")) for row in rows]
    found = [(row, each) for row, each in zip(rows, costs, strict=True) if not math.isnan(each)]
    ratios = [sum(float(row[stage]) for stage in stages) / each for row, each in found]
    if ratios:
        below = sum(ratio < 1 for ratio in ratios)
        print(f"{title}: median {statistics.median(ratios):.3f}, below 1 for {below} of {len(ratios)}")


def _whole_compilation(row: Row) -> float:
    """Milliseconds from source to GPU code; NaN where one of the two steps was not measured."""
    return float(row["compile"] or math.nan) + float(row.get("assemble", math.nan))


if __name__ == "__main__":
    sys.exit(main())
