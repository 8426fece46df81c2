"""What proving costs in processor time, launch by launch and stage by stage.

    python -m benchmarks.real.cost DIR... [--stages] [--lines FILE] [--only TEXT] [--slowest N]

Each ``DIR`` is a folder that ``tileverify record`` wrote, of which the first launch of the first specialisation of each
kernel is judged, or any folder of bytecode with specs, of which the first launch of each file is; the word ``corpus``
stands for every launch of the corpus.  Times are milliseconds of this process's processor time, the second run of
two, or the only one where that took more than a second.

``widen`` is the part of ``prove`` that tries contracts wider than the launch.  ``--stages`` runs each launch once
more with a clock around the functions in `STAGES`, each without what it calls of the others.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import KernelResult

from .report import kernels

LONG = 1000.0
"""Milliseconds beyond which a launch is run once."""

_PACKAGE = "tileverify"
_WIDEN = ("verifier.abduction.generalised_proof", "GeneralisedProof.attempt")
_DECODE = ("frontend.bytecode", "decode")
_EXECUTE = ("pipeline.unit_check", "summary_of")

STAGES = {
    "decode": [_DECODE],
    "execute": [_EXECUTE],
    "contradiction": [
        ("verifier.own_proof", "no_launch"),
        ("verifier.own_proof", "no_work"),
        ("verifier.own_proof", "idle"),
        ("verifier.own_proof", "OwnProof._emptied"),
    ],
    "layout": [("verifier.prover", "PreparedKernel.of"), ("verifier.prover", "PreparedKernel.again")],
    "own proof": [("verifier.own_proof", "OwnProof._prove")],
    "narrow": [("verifier.abduction.narrow_proof", "Narrowing.narrow")],
    "widen": [_WIDEN],
    "clause search": [
        ("verifier.abduction.narrow_proof", "Narrowing.found"),
        ("verifier.abduction.generalised_proof", "GeneralisedProof._close"),
    ],
    "fact choice": [("verifier.abduction.fact_choice", "FactChoice.choose")],
    "fact trial": [("verifier.abduction.fact_choice", "FactTrial.run")],
    "witness": [("verifier.own_proof", "Explanation.of")],
    "determined": [("verifier.determined", "Determined.told"), ("verifier.outcome", "open_uses_of")],
    "solver start": [("verifier.smt.tier_solver", "SolverContext.solver")],
    "translate": [("verifier.smt.tier_solver", "TierSolver._assert")],
    "lemmas": [("verifier.smt.tier_solver", "TierSolver.refine")],
    "solver": [("verifier.smt.tier_solver", "SolverContext.check")],
}


@dataclass
class Cost:
    """One launch, in milliseconds."""

    launch: str
    verdict: str = ""
    holds_for: str = ""
    requires: Sequence[str] = ()
    assumes: Sequence[str] = ()
    codes: Sequence[str] = ()
    decode: float = 0.0
    execute: float = 0.0
    prove: float = 0.0
    widen: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return self.decode + self.execute + self.prove


class _Clocks:
    """Functions with a clock around them: the time of each without what it calls of the others."""

    def __init__(self, stages: dict[str, list[tuple[str, str]]], *, nested: bool) -> None:
        self._stages, self._nested = stages, nested
        self.spent: Counter[str] = Counter()
        self._inner: list[float] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with contextlib.ExitStack() as undo:
            for stage, places in self._stages.items():
                for module, name in places:
                    self._replace(undo, stage, module, name)
            yield

    def _replace(self, undo: contextlib.ExitStack, stage: str, module: str, name: str) -> None:
        owner: Any = importlib.import_module(f"{_PACKAGE}.{module}")
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        original = getattr(owner, last)
        setattr(owner, last, self._timed(stage, original))
        undo.callback(setattr, owner, last, original)

    def _timed(self, stage: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def timed(*arguments: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            start = time.process_time()
            try:
                return original(*arguments, **named)
            finally:
                passed, inner = time.process_time() - start, self._inner.pop()
                self.spent[stage] += 1000 * (passed - (inner if self._nested else 0.0))
                if self._inner:
                    self._inner[-1] += passed

        return timed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--stages", action="store_true", help="say where the time goes")
    parser.add_argument("--lines", type=Path, help="keep each launch as a line of JSON")
    parser.add_argument("--only", default="", help="launches whose name has this in it")
    parser.add_argument("--slowest", type=int, default=20, help="launches that are printed (default 20)")
    options = parser.parse_args(arguments)
    print(f"Python {sys.version.split()[0]}, {solver_version()}")
    every: list[Cost] = []
    for folder in options.folders:
        costs = [_cost(name, unit, options.stages) for name, unit in _launches(folder) if options.only in name]
        _print(folder, costs, options.slowest)
        every += costs
        if options.lines:
            with options.lines.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps({"folder": folder, **asdict(each)}) + "\n" for each in costs)
    if len(options.folders) > 1:
        _print("all together", every, 0)
    return 0


def _launches(folder: str) -> Iterator[tuple[str, KernelUnit]]:
    if folder == "corpus":
        yield from ((f"{u.file.stem}::{u.kernel}[{u.launch.name}]", u) for u in _units([ROOT]))
        return
    for file in _files(Path(folder)):
        yield from ((file.stem, unit) for unit in islice(_units([file]), 1))


def _files(folder: Path) -> Iterable[Path]:
    if (folder / "index.json").exists():
        return [files[0] for _, files in sorted(kernels(folder, 1).items())]
    return sorted(folder.glob("*.tileirbc"))


def _units(paths: Sequence[Path]) -> Iterator[KernelUnit]:
    return (unit for unit in discover([str(path) for path in paths]) if isinstance(unit, KernelUnit))


def _cost(name: str, unit: KernelUnit, stages: bool) -> Cost:
    cost = _measured(name, unit)
    if cost.total < LONG:  # the first run fills the caches of imports and terms, which matters to short ones
        cost = _measured(name, unit)
    if stages:
        clocks = _Clocks(STAGES, nested=True)
        with clocks.running():
            _, again = _timed(unit)
        cost.stages = {**clocks.spent, "rest": again - sum(clocks.spent.values())}
    return cost


def _measured(name: str, unit: KernelUnit) -> Cost:
    parts = _Clocks({"decode": [_DECODE], "execute": [_EXECUTE], "widen": [_WIDEN]}, nested=False)
    with parts.running():
        result, whole = _timed(unit)
    decode, execute = parts.spent["decode"], parts.spent["execute"]
    codes = [f"{each.code}/{each.obligation}" if each.obligation else str(each.code) for each in result.findings]
    return Cost(
        name, result.verdict.value, result.holds_for or "", result.requires, result.assumes, codes,
        decode, execute, whole - decode - execute, parts.spent["widen"],
    )  # fmt: skip


def _timed(unit: KernelUnit) -> tuple[KernelResult, float]:
    start = time.process_time()
    result = check_unit(unit)
    return result, 1000 * (time.process_time() - start)


def _print(folder: str, costs: Sequence[Cost], slowest: int) -> None:
    if not costs:
        return
    print(f"\n{folder}: {len(costs)} launches, {dict(Counter(f'{c.verdict} {c.holds_for}'.strip() for c in costs))}")
    for part in ("decode", "execute", "prove", "widen", "total"):
        times = sorted(getattr(cost, part) for cost in costs)
        late = times[min(len(times) - 1, int(0.95 * len(times)))]
        print(
            f"{part:8} median {statistics.median(times):8.1f} ms  95 % {late:8.1f}  "
            f"slowest {times[-1]:9.1f}  sum {sum(times) / 1000:8.1f} s"
        )
    stages: Counter[str] = Counter()
    for cost in costs:
        stages.update(cost.stages)
    for stage, spent in stages.most_common():
        print(f"  {stage:15} {spent / 1000:8.2f} s  {100 * spent / sum(stages.values()):5.1f} %")
    for cost in sorted(costs, key=lambda each: -each.prove)[:slowest]:
        most = sorted(cost.stages.items(), key=lambda each: -each[1])[:4]
        where = ", ".join(f"{stage} {spent:.0f}" for stage, spent in most)
        print(f"{cost.prove:9.1f} widen {cost.widen:9.1f}  {cost.verdict:9} {cost.holds_for:6} {cost.launch}  {where}")


if __name__ == "__main__":
    sys.exit(main())
