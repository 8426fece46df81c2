"""What the checker makes of recorded launches: verdict, reason and milliseconds, one line a kernel, and a summary.

    python -m benchmarks.real.report DIR [--per-kernel N] [--timeout S] [--jobs N] [--lines FILE] [--table]

``DIR`` is a folder that ``tileverify record`` wrote.  The first specialisation of every kernel is checked with all its
launches, then the second of every kernel, and so on.  ``--lines`` keeps each verdict as a line of JSON; what stands
there is not checked again, so that a run can be stopped at any time.

A kernel is a qualified name and its source; its line shows the worst verdict among the launches that were checked, and
the narrowest of what the proofs hold for.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import platform
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import KernelResult, Verdict

_WIDEST_FIRST = ("any", "sizes", "launch", "")
_ORDER = {Verdict.PROVED: 0, Verdict.UNDECIDED: 1, Verdict.REFUTED: 2, Verdict.ERROR: 3}


@dataclass(frozen=True)
class Judged:
    """One launch.  ``codes``: of its faults, with the obligation behind a stroke, in their order; ``undetermined``: the
    first warning of a proved launch (TV403); ``doubted``: without one, a proof does not say ``deterministic``."""

    kernel: str
    bytecode: str
    launch: str
    verdict: str
    holds_for: str
    codes: list[str]
    message: str
    requires: list[str]
    decode_ms: float
    execute_ms: float
    prove_ms: float
    undetermined: str
    doubted: bool

    @property
    def reason(self) -> str:
        counted = collections.Counter(self.codes)
        return " ".join([*(f"{code}x{count}" for code, count in counted.items()), self.message]).strip()

    @property
    def total_ms(self) -> float:
        return self.decode_ms + self.execute_ms + self.prove_ms


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--per-kernel", type=int, default=2, help="specialisations checked per kernel (default 2)")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds per launch (default 20)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--lines", type=Path, help="keep the verdicts here, and go on from there")
    parser.add_argument("--table", action="store_true", help="print the kernels as a table in Markdown")
    options = parser.parse_args(arguments)
    found = kernels(options.folder, options.per_kernel)
    judged = list(_kept(options.lines))
    known = {each.bytecode for each in judged}
    left = [(name, file) for name, file in _in_rounds(found) if file.name not in known]
    for results in _all_judged(left, options.timeout, options.jobs):
        judged += results
        if options.lines:
            with options.lines.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(asdict(each)) + "\n" for each in results)
    by_kernel = {name: [each for each in judged if each.kernel == name] for name in sorted(found)}
    for name, launches in by_kernel.items():
        if launches:
            print((_row if options.table else _text)(name, launches))
    _summary(by_kernel)
    return 0


def kernels(folder: Path, per_kernel: int) -> dict[str, list[Path]]:
    """The bytecode of the first specialisations of every recorded kernel, by its name inside of the package."""
    index = json.loads((folder / "index.json").read_text())
    found: dict[str, list[Path]] = {}
    for entry in index["specialisations"]:
        source = entry["source"]
        name = f"{source['module'].partition('.')[2] or source['module']}:{source['qualname']}#{source['id'][:6]}"
        bytecode = folder / entry["bytecode"]
        if len(found.setdefault(name, [])) < per_kernel and bytecode not in found[name]:
            found[name].append(bytecode)
    return found


def _in_rounds(found: dict[str, list[Path]]) -> Iterator[tuple[str, Path]]:
    for position in range(max(map(len, found.values()), default=0)):
        for name, files in sorted(found.items()):
            if position < len(files):
                yield name, files[position]


def _kept(lines: Path | None) -> Iterator[Judged]:
    if lines is not None and lines.exists():
        for line in lines.read_text(encoding="utf-8").splitlines():
            yield Judged(**json.loads(line))


def _all_judged(left: Sequence[tuple[str, Path]], timeout: float, jobs: int) -> Iterator[list[Judged]]:
    """The launches of each file, in whatever order they are done."""
    judge = partial(_judge, timeout=timeout)
    if jobs == 1:
        yield from map(judge, left)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(judge, left)


def _judge(named: tuple[str, Path], timeout: float) -> list[Judged]:
    name, file = named
    return [_judged(name, file.name, result) for result in _check(file, timeout)]


def _check(file: Path, timeout: float) -> Sequence[KernelResult]:
    return check_paths([str(file)], options=CheckOptions(timeout_s=timeout)).results


def _judged(kernel: str, bytecode: str, result: KernelResult) -> Judged:
    faults = [finding for finding in result.findings if finding.code != "TV403"]
    proved = result.verdict is Verdict.PROVED
    left_open = [finding.message for finding in result.findings if finding.code == "TV403"] if proved else []
    return Judged(
        kernel=kernel,
        bytecode=bytecode,
        launch=result.launch or "",
        verdict=result.verdict.value,
        holds_for=result.holds_for or "",
        codes=[f"{f.code}/{f.obligation}" if f.obligation else f.code for f in faults],
        message=faults[0].message if faults else "",
        requires=list(result.requires),
        decode_ms=result.time_ms.decode,
        execute_ms=result.time_ms.execute,
        prove_ms=result.time_ms.prove,
        undetermined=left_open[0] if left_open else "",
        doubted=proved and not left_open and result.deterministic is not True,
    )


def _worst(launches: Iterable[Judged]) -> Judged:
    return max(launches, key=lambda each: _ORDER[Verdict(each.verdict)])


def _narrowest(launches: Iterable[Judged]) -> str:
    """Of a kernel all of whose launches are proved."""
    return max((each.holds_for for each in launches), key=_WIDEST_FIRST.index)


def _median(launches: Sequence[Judged], stage: str) -> float:
    times: list[float] = [getattr(each, stage) for each in launches]
    return statistics.median(times)


def _text(name: str, launches: Sequence[Judged]) -> str:
    worst = _worst(launches)
    width = _narrowest(launches) if worst.verdict == "proved" else ""
    stages = " ".join(f"{_median(launches, stage):8.1f}" for stage in ("decode_ms", "execute_ms", "prove_ms"))
    return f"{worst.verdict:9} {width:6} {stages}  {name}  {worst.reason[:160]}"


def _row(name: str, launches: Sequence[Judged]) -> str:
    worst = _worst(launches)
    counts = collections.Counter(each.verdict for each in launches)
    several = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    verdicts = several if len(counts) > 1 else worst.verdict
    width = _narrowest(launches) if worst.verdict == "proved" else ""
    codes = " ".join(dict.fromkeys(worst.codes))
    slowest = max(each.total_ms for each in launches)
    return (
        f"| `{name}` | {len(launches)} | {verdicts} | {width} | {codes} "
        f"| {_median(launches, 'total_ms'):.0f} | {slowest:.0f} |"
    )


def _summary(by_kernel: dict[str, list[Judged]]) -> None:
    judged = {name: launches for name, launches in by_kernel.items() if launches}
    print(f"\n{sys.version.split()[0]}, {solver_version()}, {platform.machine()}")
    _counts("kernels", [_worst(launches) for launches in judged.values()], [*judged.values()])
    launches = [each for found in judged.values() for each in found]
    _counts("launches", launches, [[each] for each in launches])
    print(f"undetermined (TV403) {sum(bool(each.undetermined) for each in launches)} launches")
    print(f"not said to be deterministic, without a warning {sum(each.doubted for each in launches)} launches")
    open_ones = [each for each in launches if each.verdict != "proved"]
    reasons = collections.Counter(" ".join(sorted(set(each.codes))) or each.verdict for each in open_ones)
    for reason, count in reasons.most_common():
        print(f"  {count:4}  {reason}")
    for stage in ("decode_ms", "execute_ms", "prove_ms", "total_ms"):
        times = sorted(getattr(each, stage) for each in launches)
        late = times[min(len(times) - 1, int(0.95 * len(times)))]
        print(f"{stage:10}  median {statistics.median(times):.1f}  95 % {late:.1f}  max {times[-1]:.1f}")


def _counts(what: str, worst: Sequence[Judged], groups: Sequence[Sequence[Judged]]) -> None:
    print(f"{len(worst)} {what}")
    for verdict in _ORDER:
        count = sum(each.verdict == verdict.value for each in worst)
        print(f"  {verdict.value:10} {count:4}  {100 * count / max(1, len(worst)):5.1f} %")
    proved = [group for each, group in zip(worst, groups, strict=True) if each.verdict == "proved"]
    for width in _WIDEST_FIRST[:3]:
        count = sum(_narrowest(group) == width for group in proved)
        print(f"    for {width:6} {count:4}  {100 * count / max(1, len(proved)):5.1f} % of those proved")


if __name__ == "__main__":
    sys.exit(main())
