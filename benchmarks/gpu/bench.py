"""All throughput benchmarks of proved kernels on a GPU, in one command.

    python -m benchmarks.gpu.bench BUNDLES KEY.pub OUT [--only REGEX] [--seconds S] [--smoke]

``BUNDLES`` has the signed bundles of `build`.  For each workload every variant is launched through its contract,
its result (from poisoned memory and random data) compared with binary64, and the fastest is chosen in two rounds of
elimination.  It then runs in turns with the same cubin launched bare, torch and Triton, the L2 cache swept before
every launch.  Writes results.json, results.md and plots as SVG and PNG into ``OUT``; exits with 1 where a result was
wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

import tileverify
from tileverify.backend.gpu import driver
from tileverify.launching.bundled import BundledKernel, load

from .bare import bare_launch
from .machine import machine
from .measure import Clock, Run, rounds_for
from .plots import draw
from .report import markdown
from .workload import Candidate, Case, Workload, relative_error
from .workloads import cases

PROVED, BARE = "proved", "bare"


class Bundles:
    """Bundles by name, loaded when they are first needed; only signed ones."""

    def __init__(self, folder: Path, key: Path) -> None:
        self._folder, self._key = folder, key
        self._loaded: dict[str, BundledKernel] = {}

    def __getitem__(self, name: str) -> BundledKernel:
        if name not in self._loaded:
            self._loaded[name] = load(self._folder / f"{name}.tvk", keys=[self._key], only_signed=True)
        return self._loaded[name]

    def __contains__(self, name: str) -> bool:
        return (self._folder / f"{name}.tvk").exists()

    def has(self, candidate: Candidate) -> bool:
        return all(name in self for name, _, _ in candidate.launches)


def verified(bundles: Bundles, candidate: Candidate) -> Run:
    """The launches through their contracts."""
    stream = torch.cuda.current_stream()
    calls = [
        partial(tileverify.launch, stream, grid, bundles[name], arguments)
        for name, grid, arguments in candidate.launches
    ]
    return calls[0] if len(calls) == 1 else lambda: [call() for call in calls]


def bare(bundles: Bundles, candidate: Candidate) -> Run:
    """The same cubins past their contracts."""
    stream, architecture = torch.cuda.current_stream(), driver.architecture(0)
    calls = [
        bare_launch(bundles[name], architecture, stream, grid, arguments)
        for name, grid, arguments in candidate.launches
    ]
    return calls[0] if len(calls) == 1 else lambda: [call() for call in calls]


def errors_of(bundles: Bundles, workload: Workload, notes: list[str]) -> dict[str, float]:
    """Relative errors of all variants and of all other ways; what cannot run is noted and left out."""
    expected = workload.reference()
    errors = {}
    for candidate in filter(bundles.has, workload.candidates):
        candidate.out.fill_(float("nan"))
        try:
            verified(bundles, candidate)()
        except tileverify.LaunchRefused as refused:
            notes.append(f"{candidate.name}: {refused}")
            continue
        errors[candidate.name] = relative_error(candidate.out, expected)
    for name, compute in workload.others.items():
        try:
            errors[name] = relative_error(compute(), expected)
        except Exception as error:  # whatever another library raises for what it cannot do
            notes.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
    torch.cuda.synchronize()
    return errors


def fastest(clock: Clock, ways: Mapping[str, Run]) -> tuple[str, dict[str, float]]:
    """The winner of a run-off of the best six, and the median milliseconds of all."""
    first = {name: statistics.median(each) for name, each in clock.rounds(ways, 3, warm=1).items()}
    best = sorted(first, key=lambda name: first[name])[:6]
    last = clock.rounds({name: ways[name] for name in best}, 11)
    final = {name: statistics.median(each) for name, each in last.items()}
    return min(final, key=lambda name: final[name]), {**first, **final}


def measured(case: Case, bundles: Bundles, clock: Clock, seconds: float) -> dict[str, Any]:
    workload = case.make()
    notes = list(workload.notes)
    errors = errors_of(bundles, workload, notes)
    right = {each.name: each for each in workload.candidates if errors.get(each.name, 1.0) <= workload.tolerance}
    wrong = [name for name, error in errors.items() if error > workload.tolerance]
    row: dict[str, Any] = {
        "family": case.family, "size": case.size, "label": case.label, "unit": workload.unit, "work": workload.work,
        "errors": errors, "tolerance": workload.tolerance, "wrong": wrong, "notes": notes,
    }  # fmt: skip
    if not right:
        notes.append("no variant is right")
        return row
    chosen, search = fastest(clock, {name: verified(bundles, each) for name, each in right.items()})
    ways: dict[str, Callable[[], object]] = {
        PROVED: verified(bundles, right[chosen]),
        BARE: bare(bundles, right[chosen]),
        **{name: compute for name, compute in workload.others.items() if name in errors},
    }
    slowest = max(clock.milliseconds(way) for way in ways.values())
    count = rounds_for(len(ways) * (slowest + 0.3), seconds, 30, 600)
    row |= {"chosen": chosen, "search": search, "times": clock.rounds(ways, count)}
    row["launches"] = [name for name, _, _ in right[chosen].launches]
    row["holds_for"] = sorted({bundles[name].bundle.holds_for for name in row["launches"]})
    return row


def summary(row: Mapping[str, Any]) -> str:
    if "times" not in row:
        return f"{row['family']}, {row['label']}: NOT MEASURED {row['notes']}"
    medians = {name: statistics.median(each) for name, each in row["times"].items()}
    rates = "  ".join(f"{name} {row['work'] / ms * 1000:.2f}" for name, ms in medians.items())
    wrong = f"  WRONG: {row['wrong']}" if row["wrong"] else ""
    return f"{row['family']}, {row['label']} [{row['chosen']}]: {rates} {row['unit']}{wrong}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="workloads whose name has a match of this")
    parser.add_argument("--seconds", type=float, default=1.0, help="of paired rounds for each workload")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further workload begins")
    parser.add_argument("--smoke", action="store_true", help="few sizes")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    bundles, clock, rows = Bundles(options.bundles, options.key), Clock(), []
    begun = time.monotonic()
    for case in cases(options.smoke):
        if not re.search(options.only, case.name):
            continue
        if options.budget and time.monotonic() - begun > options.budget:
            print(f"{case.name}: no time left")
            continue
        rows.append(measured(case, bundles, clock, options.seconds))
        print(summary(rows[-1]), flush=True)
        tileverify.in_flight().synchronize()
        torch.cuda.empty_cache()
        results = {"machine": machine(), "rows": rows}
        (options.out / "results.json").write_text(json.dumps(results) + "\n")
    (options.out / "results.md").write_text(markdown(results))
    draw(results, options.out)
    wrong = [f"{row['family']}, {row['label']}: {row['wrong']}" for row in rows if row["wrong"]]
    print("\n".join(("wrong results:", *wrong)) if wrong else "all results are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
