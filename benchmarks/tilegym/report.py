"""What the checker makes of recorded launches: decoded, executed, verdict, reason, milliseconds, one line a kernel.

    python -m benchmarks.tilegym.report DIR [--per-kernel N] [--json FILE]

``DIR`` is a folder that ``tileverify record`` wrote.  A kernel is a qualified name and its source; its line shows the
worst verdict among the specialisations that were checked, and the narrowest of what the proofs hold for.
"""

from __future__ import annotations

import argparse
import collections
import json
import platform
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tileverify.pipeline import CheckOptions, check_paths, solver_version
from tileverify.results import KernelResult, Verdict

_WIDEST_FIRST = ("any", "sizes", "launch", "")
_ORDER = {Verdict.PROVED: 0, Verdict.UNDECIDED: 1, Verdict.REFUTED: 2, Verdict.ERROR: 3}


@dataclass
class Line:
    """One kernel over its checked specialisations; times in ms: medians of one launch.

    ``undetermined``: the first warning of a proved launch (TV403); ``doubted``: without one, a proof does not say
    ``deterministic``.
    """

    kernel: str
    launches: int
    decoded: bool
    executed: bool
    verdict: str
    holds_for: str
    reason: str
    requires: str
    decode_ms: float
    execute_ms: float
    prove_ms: float
    undetermined: str
    doubted: bool


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--per-kernel", type=int, default=2, help="specialisations checked per kernel (default 2)")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds per launch (default 20)")
    parser.add_argument("--json", type=Path, help="write the lines as JSON too")
    options = parser.parse_args(arguments)
    lines = []
    for name, files in sorted(kernels(options.folder, options.per_kernel).items()):
        lines.append(_check(name, files, options.timeout))
        print(_text(lines[-1]), flush=True)
    _summary(lines)
    if options.json:
        options.json.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
    return 0


def kernels(folder: Path, per_kernel: int) -> dict[str, list[Path]]:
    """The bytecode of the first specialisations of every recorded kernel."""
    index = json.loads((folder / "index.json").read_text())
    found: dict[str, list[Path]] = {}
    for entry in index["specialisations"]:
        source = entry["source"]
        name = f"{source['module'].removeprefix('tilegym.')}:{source['qualname']}#{source['id'][:6]}"
        bytecode = folder / entry["bytecode"]
        if len(found.setdefault(name, [])) < per_kernel and bytecode not in found[name]:
            found[name].append(bytecode)
    return found


def _check(name: str, files: list[Path], timeout: float) -> Line:
    results: list[KernelResult] = []
    for file in files:
        results += check_paths([str(file)], options=CheckOptions(timeout_s=timeout)).results
    worst = max(results, key=lambda r: _ORDER[r.verdict])
    faults = [finding for finding in worst.findings if finding.code != "TV403"]
    codes = collections.Counter(f"{f.code}/{f.obligation}" if f.obligation else f.code for f in faults)
    first = faults[0].message if faults else ""
    left_open = [f.message for r in results if r.verdict is Verdict.PROVED for f in r.findings if f.code == "TV403"]
    return Line(
        kernel=name,
        launches=len(results),
        decoded=all(r.time_ms.decode > 0 for r in results),
        executed=all(r.time_ms.execute > 0 for r in results),
        verdict=worst.verdict.value,
        holds_for=max((r.holds_for or "" for r in results), key=_WIDEST_FIRST.index) if not faults else "",
        reason=" ".join(f"{c}x{n}" for c, n in codes.items()) + (f" {first}" if first else ""),
        requires="; ".join(worst.requires),
        decode_ms=statistics.median(r.time_ms.decode for r in results),
        execute_ms=statistics.median(r.time_ms.execute for r in results),
        prove_ms=statistics.median(r.time_ms.prove for r in results),
        undetermined=left_open[0] if left_open else "",
        doubted=not left_open and any(r.verdict is Verdict.PROVED and r.deterministic is not True for r in results),
    )


def _text(line: Line) -> str:
    flags = ("d" if line.decoded else "-") + ("x" if line.executed else "-")
    times = f"{line.decode_ms:7.1f} {line.execute_ms:7.1f} {line.prove_ms:8.1f}"
    return f"{flags} {line.verdict:9} {line.holds_for:6} {times}  {line.kernel}  {line.reason[:160]}"


def _summary(lines: list[Line]) -> None:
    print(f"\n{len(lines)} kernels; {sys.version.split()[0]}, {solver_version()}, {platform.machine()}")
    for title, group in (
        ("decoded", sum(line.decoded for line in lines)),
        ("executed", sum(line.executed for line in lines)),
        *((verdict.value, sum(line.verdict == verdict.value for line in lines)) for verdict in _ORDER),
    ):
        print(f"{title:10} {group:4}  {100 * group / max(1, len(lines)):5.1f} %")
    proved = [line for line in lines if line.verdict == "proved"]
    for width in _WIDEST_FIRST[:3]:
        group = sum(line.holds_for == width for line in proved)
        print(f"  for {width:6} {group:3}  {100 * group / max(1, len(proved)):5.1f} % of those proved")
    print(f"  undetermined (TV403) {sum(bool(line.undetermined) for line in proved)}")
    print(f"  not said to be deterministic, without a warning {sum(line.doubted for line in proved)}")
    reasons = collections.Counter(_codes(line) for line in lines if line.verdict != "proved")
    for reason, count in reasons.most_common():
        print(f"  {count:4}  {reason}")
    for stage in ("decode_ms", "execute_ms", "prove_ms"):
        times = sorted(getattr(line, stage) for line in lines)
        late = times[int(0.9 * len(times))]
        print(f"{stage:10}  median {statistics.median(times):.1f}  90 % {late:.1f}  max {times[-1]:.1f}")


def _codes(line: Line) -> str:
    return " ".join(sorted({word.rsplit("x", 1)[0] for word in _words(line.reason)})) or line.verdict


def _words(reason: str) -> Iterator[str]:
    for word in reason.split():
        if not word.startswith("TV"):
            return
        yield word


if __name__ == "__main__":
    sys.exit(main())
