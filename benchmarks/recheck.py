"""Which solver confirms which proof, on every launch under some paths that is proved.

    python -m benchmarks.recheck [--limit N] [--replay N] [--jobs N] [--markdown FILE] [--keep DIR] [--units FILE]
                                 [--per-kernel N] [PATH ...]

Each kernel under PATH (default: the corpus) is verified, its proof is written down as a certificate, and the
certificate is checked: every question derived again from the bytecode and compared, then every proof put to cvc5.
``certify`` is what writing costs beside the verdict, ``recheck`` all of checking.  ``--replay`` also runs launches of
each contract in the interpreter, and compares.  ``--units``: the corpus as `tests.corpus.kept` wrote it, where there
is no compiler.  ``--per-kernel``: PATHs are recordings, of which the first N specialisations of each kernel are taken.
``--keep``: certificates of which not all is confirmed, or with which a run disagrees, are written there with their
bytecode.
"""

from __future__ import annotations

import argparse
import collections
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.corpus.kept import kept

from benchmarks.real.report import kernels
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.second_readings import reading_of_certificate
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import KernelResult, SecondReading, Verdict
from tileverify.results.codes import THEORIES, Tier
from tileverify.system.errors import TileVerifyError
from tileverify.system.parallel import map_ordered
from tileverify.verifier.certificate.files import write_certificates
from tileverify.verifier.certificate.recheck import Rechecked, Rechecking, recheck
from tileverify.verifier.certificate.report import counted_means
from tileverify.verifier.certificate.second_solver import LIMIT, SecondSolver

TIERS = (Tier.STRUCTURAL, *THEORIES)


@dataclass(frozen=True, slots=True)
class Row:
    """One launch; ``result`` for `--keep`; times in milliseconds, ``size`` of the certificate in bytes."""

    launch: str
    result: KernelResult
    problem: str = ""
    found: Rechecked | None = None
    reading: SecondReading | None = None
    check_ms: float = 0.0
    certify_ms: float = 0.0
    recheck_ms: float = 0.0
    size: int = 0

    @property
    def whole(self) -> bool:
        """Everything confirmed, and no run that disagrees."""
        agrees = self.reading is None or self.reading.agrees
        return agrees and self.found is not None and self.found.answer is Rechecking.CONFIRMED


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=[str(ROOT)], metavar="PATH")
    parser.add_argument("--limit", type=int, default=LIMIT, help="cvc5's resource units for one script (%(default)s)")
    parser.add_argument("--replay", type=int, default=0, help="launches of each contract to compare with (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--markdown", type=Path, help="write a table of all launches to this file")
    parser.add_argument("--units", type=Path, metavar="FILE", help="take compiled launches from this file")
    parser.add_argument("--per-kernel", type=int, metavar="N", help="take PATHs for recordings: N specialisations each")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write what is not confirmed there")
    options = parser.parse_args(arguments)
    paths = options.paths
    if options.per_kernel:
        found = [kernels(Path(path), options.per_kernel) for path in paths]
        paths = [str(file) for each in found for files in each.values() for file in files]
    launches = kept(options.units) if options.units else discover(paths)
    units = (unit for unit in launches if isinstance(unit, KernelUnit))
    rows = []
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    for row in measured(units, limit=options.limit, replay=options.replay, jobs=options.jobs):
        rows.append(row)
        print(_line(row), flush=True)
        if options.keep and not row.whole:
            print(write_certificates([row.result], options.keep))
    summary = "\n".join(_summary(rows, SecondSolver(options.limit)))
    print(summary)
    if options.markdown:
        options.markdown.write_text(_markdown(rows, summary), encoding="utf-8")
    broken = any(row.found is None or row.found.count(Rechecking.REJECTED) for row in rows)
    return 1 if broken or any(row.reading is not None and not row.reading.agrees for row in rows) else 0


def measured(units: Iterable[KernelUnit], *, limit: int, replay: int, jobs: int) -> Iterator[Row]:
    """A row for each launch that is proved, in the order of ``units``."""
    one = partial(measure, limit=limit, replay=replay)
    rows = map(one, units) if jobs == 1 else map_ordered(one, units, jobs=jobs, crashed=_crashed)
    yield from (row for row in rows if row is not None)


def measure(unit: KernelUnit, *, limit: int, replay: int) -> Row | None:
    """``None`` for what is not proved."""
    start = time.perf_counter()
    result = check_unit(unit, CheckOptions(certificate=True))
    written = time.perf_counter()
    if result.verdict is not Verdict.PROVED:
        return None
    name = _name(unit)
    if result.certificate is None:
        return Row(name, result, result.notes[-1])
    text, bytecode = result.certificate.text, result.certificate.bytecode
    try:
        found = recheck(text, name, bytecode=bytecode, solver=SecondSolver(limit))
        again = time.perf_counter() - written
        reading = reading_of_certificate(found.certificate, bytecode, replay) if replay else None
    except TileVerifyError as error:
        return Row(name, result, error.message)
    check = result.time_ms.decode + result.time_ms.execute + result.time_ms.prove
    certify = max(1000 * (written - start) - check, 0.0)
    return Row(name, result, "", found, reading, check, certify, 1000 * again, size=len(text))


def _crashed(unit: KernelUnit) -> Row:
    return Row(_name(unit), check_unit(unit), "the process that measured it died")


def _name(unit: KernelUnit) -> str:
    return f"{unit.file.parent.name}/{unit.file.name}::{unit.kernel}[{unit.launch.name}]"


def _line(row: Row) -> str:
    if row.found is None:
        return f"no certificate: {row.launch}: {row.problem}"
    total = len(row.found.answers)
    confirmed = row.found.count(Rechecking.CONFIRMED)
    mark = "" if confirmed == total else "  <- not all"
    if row.reading is not None and not row.reading.agrees:
        mark += f"  <- disagreement: {row.reading.disagreement}"
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
    for words, count in counted_means(found):
        yield f"{count:6} by {words}"
    own = sum(each.reread is not None and each.reread.own for each in found)
    yield f"{own} of {len(found)} read by the checker's own rules"
    questions = sum(len(each.certificate.questions) for each in found)
    lemmas = sum(len(each.certificate.lemmas) for each in found)
    equal = sum(len(question.equal) for each in found for question in each.certificate.questions)
    yield f"{questions} questions, {equal} equalities of twins, {lemmas} lemma instances"
    for what in ("check_ms", "certify_ms", "recheck_ms", "size"):
        values = sorted(float(getattr(row, what)) for row in rows if row.found is not None)
        if values:
            late = values[int(0.9 * len(values))]
            yield (
                f"{what:11} median {statistics.median(values):8.1f}  90 % {late:8.1f}  largest {values[-1]:8.1f}"
                f"  sum {sum(values):10.1f}"
            )
    yield from _readings([row.reading for row in rows if row.reading is not None])
    yield f"Python {sys.version.split()[0]}, {solver_version()}, {solver.version}, {platform.machine()}"


def _readings(readings: Sequence[SecondReading]) -> Iterator[str]:
    """What was compared with runs, and what was not."""
    if not readings:
        return
    asked, launches, blocks, accesses, waits, unclaimed = (
        sum(getattr(each, name) for each in readings)
        for name in ("asked", "launches", "blocks", "accesses", "waits", "unclaimed")
    )
    yield f"second readings: {len(readings)}, launches {launches} of {asked}, blocks {blocks}"
    yield f"compared: {accesses} accesses, {waits} waits; {unclaimed} waits in loops that the summary leaves out"
    yield f"disagreements: {sum(not each.agrees for each in readings)}"
    yield f"certificates with nothing compared: {sum(not each.accesses for each in readings)}"
    reasons: collections.Counter[str] = collections.Counter()
    certificates: collections.Counter[str] = collections.Counter()
    for each in readings:
        reasons.update(each.not_compared)
        certificates.update(each.not_compared.keys())
    for reason, count in reasons.most_common():
        yield f"not compared, {count} times in {certificates[reason]} certificates: {reason}"


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
