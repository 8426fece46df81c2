"""How many proofs a second solver confirms, on every launch of the corpus that is proved.

    python -m benchmarks.recheck [--limit N] [--markdown FILE] [PATH ...]

Each kernel under PATH (default: the corpus) is verified, its proof is written down as a certificate, and the
certificate is checked: every question derived again from the bytecode and compared, then every proof put to cvc5.
``certify`` is what writing costs beside the verdict, ``recheck`` all of checking.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions, check_unit, solver_version
from tileverify.results import Verdict
from tileverify.results.tiers import THEORIES, Tier
from tileverify.verifier.certificate.model import CertificateError
from tileverify.verifier.certificate.recheck import Rechecked, Rechecking, recheck
from tileverify.verifier.certificate.second_solver import LIMIT, SecondSolver

TIERS = (Tier.STRUCTURAL, *THEORIES)


@dataclass(frozen=True, slots=True)
class Row:
    """One proved launch; times in milliseconds, ``size`` of the certificate in bytes."""

    launch: str
    problem: str = ""
    found: Rechecked | None = None
    check_ms: float = 0.0
    certify_ms: float = 0.0
    recheck_ms: float = 0.0
    size: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=[str(ROOT)], metavar="PATH")
    parser.add_argument("--limit", type=int, default=LIMIT, help="cvc5's resource units for one script (%(default)s)")
    parser.add_argument("--markdown", type=Path, help="write a table of all launches to this file")
    options = parser.parse_args(arguments)
    solver = SecondSolver(options.limit)
    rows = []
    for row in measured(options.paths, solver):
        rows.append(row)
        print(_line(row), flush=True)
    summary = "\n".join(_summary(rows, solver))
    print(summary)
    if options.markdown:
        options.markdown.write_text(_markdown(rows, summary), encoding="utf-8")
    return 1 if any(row.found is None or row.found.count(Rechecking.REJECTED) for row in rows) else 0


def measured(paths: Sequence[str], solver: SecondSolver) -> Iterator[Row]:
    """A row for each launch that is proved."""
    for unit in discover(paths):
        if not isinstance(unit, KernelUnit):
            continue
        check_unit(unit)  # fills the caches of imports and terms
        start = time.perf_counter()
        verdict = check_unit(unit).verdict
        checked = time.perf_counter()
        if verdict is not Verdict.PROVED:
            continue
        result = check_unit(unit, CheckOptions(certificate=True))
        written = time.perf_counter()
        name = f"{unit.file.parent.name}/{unit.file.name}::{unit.kernel}[{unit.launch.name}]"
        if result.certificate is None:
            yield Row(name, result.notes[-1])
            continue
        text = result.certificate.text
        try:
            found = recheck(text, name, bytecode=result.certificate.bytecode, solver=solver)
        except CertificateError as error:
            yield Row(name, error.message)
            continue
        check, both, again = (1000 * t for t in (checked - start, written - checked, time.perf_counter() - written))
        yield Row(name, "", found, check, max(both - check, 0.0), again, size=len(text))


def _line(row: Row) -> str:
    if row.found is None:
        return f"no certificate: {row.launch}: {row.problem}"
    total = len(row.found.answers)
    confirmed = row.found.count(Rechecking.CONFIRMED)
    mark = "" if confirmed == total else "  <- not all"
    times = f"{row.check_ms:8.1f}{row.certify_ms:8.1f}{row.recheck_ms:8.1f} ms"
    return f"{confirmed:4} of {total:3}  {times}  {row.launch}{mark}"


def _summary(rows: Sequence[Row], solver: SecondSolver) -> Iterator[str]:
    found = [row.found for row in rows if row.found is not None]
    yield f"{len(rows)} proved launches, {len(found)} certificates; limit {solver.limit}"
    for tier in (*TIERS, None):
        counts = [sum(each.count(answer, *([tier] if tier else [])) for each in found) for answer in Rechecking]
        total, confirmed = sum(counts), counts[0]
        share = f"{100 * confirmed / total:.1f} %" if total else "-"
        yield f"{tier or 'all obligations':20}{confirmed:6} of {total:5} confirmed ({share}), {counts[2]} rejected"
    questions = sum(len(each.certificate.questions) for each in found)
    lemmas = sum(len(each.certificate.lemmas) for each in found)
    equal = sum(len(question.equal) for each in found for question in each.certificate.questions)
    yield f"{questions} questions, {equal} equalities of twins, {lemmas} lemma instances"
    for what in ("check_ms", "certify_ms", "recheck_ms", "size"):
        values = sorted(float(getattr(row, what)) for row in rows if row.found is not None)
        if values:
            late = values[int(0.9 * len(values))]
            yield f"{what:11} median {statistics.median(values):8.1f}  90 % {late:8.1f}  largest {values[-1]:8.1f}"
    yield f"Python {sys.version.split()[0]}, {solver_version()}, {solver.version}, {platform.machine()}"


def _markdown(rows: Sequence[Row], summary: str) -> str:
    lines = [f"```\n{summary}\n```\n", "| launch | obligations | confirmed | check | certify | recheck | bytes |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        if row.found is None:
            lines.append(f"| `{row.launch}` | no certificate: {row.problem} | | | | | |")
            continue
        times = " | ".join(f"{value:.0f}" for value in (row.check_ms, row.certify_ms, row.recheck_ms))
        confirmed = row.found.count(Rechecking.CONFIRMED)
        lines.append(f"| `{row.launch}` | {len(row.found.answers)} | {confirmed} | {times} | {row.size} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
