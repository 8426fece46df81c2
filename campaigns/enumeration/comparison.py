"""Enumerated launches beside verdicts: is a kernel that was proved ever seen at fault?

    python -m campaigns.enumeration.comparison LINES [LINES ...] --verdicts REPORT [REPORT ...]

``LINES`` are what `campaigns.enumeration.campaign` wrote, ``REPORT`` what ``benchmarks.real.report --lines`` wrote of a
recording of the same driver.  Kernels are joined by name and source, whatever module has them.  A kernel counts as
`proved` if every launch of it in the reports is, and as `clean` if a launch of it was enumerated and none showed a
fault.  Exit code 1: some kernel is proved and wrong.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OUTCOMES: Final = ("wrong", "synchronised", "clean", "not run")
"""The first that some launch of a kernel has is the kernel's."""
VERDICTS: Final = ("error", "refuted", "undecided", "proved")
"""The same of verdicts."""
UNKNOWN: Final = "no verdict"


@dataclass(frozen=True, slots=True)
class Enumerated:
    """``outcome``: of all launches; ``launches``: those that were clean; ``shows``: the first fault, or why not."""

    package: str
    kernel: str
    outcome: str
    verdict: str
    launches: int
    shows: str

    @property
    def contradicts(self) -> bool:
        return self.outcome == "wrong" and self.verdict == "proved"


def records(files: Iterable[Path]) -> Iterator[dict[str, object]]:
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            record: dict[str, object] = json.loads(line)
            yield record


def verdicts(files: Iterable[Path]) -> dict[str, str]:
    """The worst verdict of each kernel."""
    found: dict[str, list[str]] = {}
    for record in records(files):
        found.setdefault(_source(record), []).append(str(record["verdict"]))
    return {kernel: _first(VERDICTS, each) for kernel, each in found.items()}


def enumerated(files: Iterable[Path], known: Mapping[str, str]) -> list[Enumerated]:
    launches: dict[tuple[str, str], list[dict[str, object]]] = {}
    for record in records(files):
        launches.setdefault((str(record["package"]), _source(record)), []).append(record)
    found = []
    for (package, kernel), mine in sorted(launches.items()):
        outcome = _first(OUTCOMES, [str(record["outcome"]) for record in mine])
        first = next(record for record in mine if record["outcome"] == outcome)
        clean = sum(record["outcome"] == "clean" for record in mine)
        verdict = known.get(kernel, UNKNOWN)
        found.append(Enumerated(package, str(first["kernel"]), outcome, verdict, clean, _shows(first)))
    return found


def _source(record: Mapping[str, object]) -> str:
    """Qualified name and hash: copies of one kernel in two modules are one."""
    return str(record["kernel"]).rpartition(":")[2]


def _first(order: Sequence[str], found: Sequence[str]) -> str:
    return min(found, key=order.index)


def _shows(record: Mapping[str, object]) -> str:
    faults, lines = record["faults"], record["lines"]
    if not isinstance(faults, list) or not isinstance(lines, list) or not faults:
        return str(record["why"])
    fault = faults[0]
    against = f" against a {fault['against']} of program {fault['other']}" if fault["kind"] == "race" else ""
    return (
        f"{fault['kind']}: {fault['access']} of {fault['array']}, byte {fault['byte']}, by program {fault['program']}"
        f"{against}, grid {record['grid']}, {lines[0]}"
    )


def summary(kernels: Sequence[Enumerated]) -> Iterator[str]:
    """A table in Markdown, then every kernel that is wrong, and why launches did not run."""
    yield "| package | verdict | clean | launches | wrong | synchronised | not run |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for package in ("all", *dict.fromkeys(kernel.package for kernel in kernels)):
        for verdict in (*reversed(VERDICTS), UNKNOWN):
            mine = [each for each in kernels if each.verdict == verdict and package in ("all", each.package)]
            if mine:
                counts = collections.Counter(each.outcome for each in mine)
                launches = sum(each.launches for each in mine if each.outcome == "clean")
                cells = (counts["clean"], launches, counts["wrong"], counts["synchronised"], counts["not run"])
                yield f"| {package} | {verdict} | {' | '.join(map(str, cells))} |"
    for kernel in kernels:
        if kernel.outcome == "wrong":
            verdict = "WRONG proved" if kernel.contradicts else kernel.verdict
            yield f"{verdict}: {kernel.package} {kernel.kernel}, {kernel.shows}"
    reasons = collections.Counter(each.shows for each in kernels if each.outcome == "not run")
    yield from (f"not run, {count} kernels: {reason}" for reason, count in reasons.most_common())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path, nargs="+", metavar="LINES", help="what the campaign wrote")
    parser.add_argument("--verdicts", type=Path, nargs="+", default=[], metavar="REPORT", help="lines of verdicts")
    options = parser.parse_args(arguments)
    missing = [str(file) for file in (*options.lines, *options.verdicts) if not file.is_file()]
    if missing:
        parser.error(f"no such file: {', '.join(missing)}")
    kernels = enumerated(options.lines, verdicts(options.verdicts))
    print(*summary(kernels), sep="\n")
    return 1 if any(kernel.contradicts for kernel in kernels) else 0


if __name__ == "__main__":
    sys.exit(main())
