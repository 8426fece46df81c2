"""How many untrusted kernels the gate judges in a second, from their sources.

    python -m benchmarks.gate [--jobs 2] [--made-up 60] [--every 6] [--tasks 0] [--isolation landlock]
                            [--language triton] [--no-reference] [--markdown FILE]

Submissions are made up from seeds (`tests/gating/made_up.py`, half of them racy), and every so manyth of the corpus
with its launch spec.  Each process of the pool has a worker of its own, as in use.  Besides wall clock, the processor's
time of everything that was started is told, for machines that are not idle.  ``--tasks 60``: instead of them so many
candidates for tasks with references (`gate_tasks`), compared on floats and, but for ``--no-exact``, on exact numbers,
or with ``--no-reference`` proved alone.  ``--language``: in which they are written.
"""

from __future__ import annotations

import argparse
import platform
import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.gating.made_up import made_up

from benchmarks import gate_tasks
from tileverify.corpus import ROOT
from tileverify.gating import GatedKernel, GateOptions, Sandbox, Submission, judge


@dataclass(frozen=True, slots=True)
class Row:
    """One submission: the verdict of each of its kernels, and seconds of wall clock."""

    verdicts: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Share:
    """What one process did.  ``cpu_s``: its worker and all that this one started, with the start of ``start_cpu_s``."""

    rows: tuple[Row, ...]
    cpu_s: float
    start_cpu_s: float
    wall_s: float
    layers: tuple[str, ...]


def submissions(made: int, every: int) -> Iterator[tuple[Submission, GateOptions]]:
    """Each with the options that the caller asks for."""
    for seed in range(made):
        one = made_up(seed)
        yield Submission(one.source.encode(), f"made_up_{seed}.py"), GateOptions(spec=one.spec)
    for path in sorted(ROOT.glob("*/*.py"))[::every] if every else []:
        spec = path.with_name(f"{path.stem}.tileverify.toml")
        text = spec.read_text() if spec.is_file() else None
        yield Submission(path.read_bytes(), path.name), GateOptions(spec=text)


def candidates(
    count: int, folder: Path, exact: bool = True, language: str = "cutile", compared: bool = True
) -> Iterator[tuple[Submission, GateOptions]]:
    """For the tasks; their references are written into ``folder``."""
    file = folder / "references.py"
    file.write_text(gate_tasks.REFERENCES, encoding="utf-8")
    for name, source, spec, function in gate_tasks.submissions(count, language):
        reference = f"{file}::{function}" if compared else None
        yield Submission(source.encode(), name), GateOptions(spec=spec, reference=reference, exact=exact, seed=1)


def share(work: Sequence[tuple[Submission, GateOptions]], isolation: str) -> Share:
    """Judge a part of the submissions in a sandbox of this process."""
    with Sandbox(isolation):
        pass
    start = _children()
    begun = time.perf_counter()
    rows = []
    with Sandbox(isolation) as sandbox:
        layers = sandbox.layers
        for submission, options in work:
            before = time.perf_counter()
            result = judge(submission, options, sandbox)
            rows.append(Row(tuple(map(_said, result.kernels)), time.perf_counter() - before))
    return Share(tuple(rows), _children() - start, start, time.perf_counter() - begun, layers)


def _said(kernel: GatedKernel) -> str:
    return kernel.verdict if kernel.equal is None else f"{kernel.verdict} and {kernel.equal['answer']}"


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


_DESTINATIONS: Final = {"exact": "exact", "reference": "compared"}


def report(shares: Sequence[Share], arguments: argparse.Namespace) -> str:
    rows = [row for each in shares for row in each.rows]
    verdicts = Counter(verdict for row in rows for verdict in row.verdicts)
    kernels = sum(verdicts.values())
    cpu = sum(each.cpu_s - each.start_cpu_s for each in shares)
    wall = max(each.wall_s for each in shares)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    what = f"--made-up {arguments.made_up} --every {arguments.every}"
    if arguments.tasks:
        what = f"--tasks {arguments.tasks} --language {arguments.language}"
        what += "".join(
            f" --no-{name}" for name in ("exact", "reference") if not getattr(arguments, _DESTINATIONS[name])
        )
    lines = [
        "# Gate: throughput",
        "",
        f"`python -m benchmarks.gate --jobs {arguments.jobs} {what}`"
        f" on {platform.machine()}, Python {platform.python_version()}, isolation {', '.join(shares[0].layers)}.",
        "",
        "| what | figure |",
        "|---|---|",
        f"| submissions, kernels under launches | {len(rows)}, {kernels} |",
        f"| verdicts | {told} |",
        f"| processor time of a submission, a kernel | {cpu / len(rows):.3f} s, {cpu / kernels:.3f} s |",
        f"| kernels a second on 2 idle cores, by processor time | {2 * kernels / cpu:.1f} |",
        f"| kernels a second in this run (wall clock, {arguments.jobs} processes) | {kernels / wall:.1f} |",
        f"| wall clock of a submission, median | {statistics.median(row.seconds for row in rows):.3f} s |",
        f"| start of a worker, processor time | {statistics.mean(each.start_cpu_s for each in shares):.2f} s |",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--made-up", type=int, default=60)
    parser.add_argument("--every", type=int, default=6, help="of the corpus; 0: none of it")
    parser.add_argument("--tasks", type=int, default=0, help="candidates for tasks with references, and nothing else")
    parser.add_argument("--no-exact", dest="exact", action="store_false", help="compare on floats alone")
    parser.add_argument("--no-reference", dest="compared", action="store_false", help="prove candidates, and no more")
    parser.add_argument("--language", choices=sorted(gate_tasks.LANGUAGES), default="cutile", help="of the candidates")
    parser.add_argument("--isolation", default="landlock", help="of bubblewrap, processor time cannot be told")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    context = get_context("spawn")
    with TemporaryDirectory() as folder, ProcessPoolExecutor(arguments.jobs, mp_context=context) as pool:
        if arguments.tasks:
            how = (arguments.exact, arguments.language, arguments.compared)
            work = list(candidates(arguments.tasks, Path(folder), *how))
        else:
            work = list(submissions(arguments.made_up, arguments.every))
        parts = [work[number :: arguments.jobs] for number in range(arguments.jobs)]
        shares = list(pool.map(partial(share, isolation=arguments.isolation), parts))
    text = report(shares, arguments)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
