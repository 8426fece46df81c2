"""Changed kernels: are the broken ones refuted, and none of them proved?

    python -m campaigns.mutants.campaign [--recorded DIR] [--seed 1] [--jobs 2] [--json FILE]
    python -m campaigns.mutants.campaign --drawn 3000 [--first 0] [--recorded DIR] [--again]
    python -m campaigns.mutants.campaign --folder triton [--drawn 3000]

First every kind of change on every kernel: the corpus' launches with the label `proved`, with ``--folder`` those of one
of its folders (``triton`` only so: it needs the extra), or with ``--recorded`` those that `tileverify record` left.
Each gets ``--per-kind`` mutants of each kind that has a place in it, one change each.  With ``--drawn`` so many mutants
of one to three changes instead, each of a launch that is drawn, whatever its label.  The interpreter says which mutants
are broken before the prover is asked (`judgement`).  Mutants are the same in every run on the same kernels; with
``--json`` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tileverify.corpus.labels import LABEL_SUFFIX, ROOT
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

from .judgement import Judge, Judged
from .making import Mutant, drawn, mutants_of
from .mutators import MUTATORS
from .subjects import Subject, corpus_subjects, drawn_from, recorded_subjects
from .summary import Line, summary
from .truth import Truth


@dataclass(frozen=True, slots=True)
class Task:
    """The mutants of one kernel: those that were ``drawn``, or ``per_kind`` of these ``kinds`` (all if empty)."""

    subject: Subject
    seed: int
    per_kind: int
    kinds: tuple[str, ...]
    timeout_s: float | None
    keep: Path | None
    drawn: tuple[Mutant, ...] = ()

    def mutants(self) -> Iterator[Mutant]:
        return iter(self.drawn) if self.drawn else mutants_of(self.subject, self.seed, self.per_kind, self.kinds)


def drawn_tasks(
    subjects: Sequence[Subject], seed: int, numbers: Sequence[int], timeout_s: float | None = None,
    keep: Path | None = None,
) -> list[Task]:  # fmt: skip
    """The mutants of these numbers, those of one kernel together."""
    chosen: dict[str, Subject] = {}
    mutants: dict[str, list[Mutant]] = {}
    for subject, mutant in drawn(subjects, seed, numbers):
        chosen[subject.name] = subject
        mutants.setdefault(subject.name, []).append(mutant)
    return [Task(chosen[name], seed, 0, (), timeout_s, keep, tuple(mine)) for name, mine in mutants.items()]


def run(task: Task) -> list[Line]:
    """One line for the kernel itself and one for each of its mutants; a judge that breaks down costs no other kernel
    its judgement."""
    try:
        return _run(task)
    except Exception as broken:
        why = f"the judge broke down: {broken!r}"
        return [Line(task.subject.name, "", "", "open", "", why, "error", "", (), (), why, False, 0.0, 0.0)]


def _run(task: Task) -> list[Line]:
    subject = task.subject
    started = time.perf_counter()
    original = check_unit(subject.unit, CheckOptions(timeout_s=task.timeout_s))
    seconds = time.perf_counter() - started
    proved = original.verdict is Verdict.PROVED
    own = Judged(original, Truth("open", why="not judged" if proved else "not proved"), prove_s=seconds)
    if not proved and not task.drawn:
        return [_line(Mutant(subject.name, "", "", b""), own)]
    requires, observed = (original.requires, original.observed) if proved else ((), ())
    judge = Judge(subject, requires, task.timeout_s, observed)
    if not task.drawn:
        own = judge.judge(subject.unit)
    lines = [_line(Mutant(subject.name, "", "", b""), own)]
    for mutant in task.mutants():
        judged = judge.judge(mutant.unit(subject.unit))
        lines.append(_line(mutant, judged))
        if task.keep and (judged.wrong or judged.outcome == "undecided"):
            _keep(task.keep, mutant)
    return lines


def _line(mutant: Mutant, judged: Judged) -> Line:
    fault = judged.truth.fault
    return Line(
        mutant=mutant.name,
        kind=mutant.kind,
        change=mutant.change,
        truth=judged.truth.kind,
        shows="" if fault is None else f"{fault.code} blocks {fault.blocks}: {fault.text}",
        open=judged.truth.why,
        outcome=judged.outcome,
        holds_for=judged.result.holds_for or "",
        requires=judged.result.requires,
        codes=tuple(sorted(_reasons(judged.result))),
        wrong=judged.wrong or "",
        confirmed=judged.confirmed,
        prove_s=round(judged.prove_s, 3),
        judge_s=round(judged.judge_s, 3),
        said=_said(judged.result),
    )


def _said(result: KernelResult) -> str:
    findings = tuple((f.code, f.obligation, f.message, f.witness) for f in result.findings)
    return hashlib.sha256(repr((result.verdict.value, result.requires, findings)).encode()).hexdigest()[:16]


def otherwise(task: Task, lines: Sequence[Line]) -> Iterator[str]:
    """Mutants of which the prover says something else when it decides them again, the last one first."""
    known = {line.mutant: line for line in lines if line.kind and "TV903" not in line.codes}
    for mutant in reversed(list(task.mutants())):
        if mutant.name in known:
            again = check_unit(mutant.unit(task.subject.unit), CheckOptions(timeout_s=task.timeout_s))
            if _said(again) != known[mutant.name].said:
                yield f"another verdict the second time: {known[mutant.name]}"


def _reasons(result: KernelResult) -> set[str]:
    """The codes of the findings, with the obligation that an undecided one is about."""
    return {f"{f.code}/{f.obligation}" if f.obligation else f.code for f in result.findings}


def _keep(folder: Path, mutant: Mutant) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{mutant.name.replace('/', '_')}.tileirbc").write_bytes(mutant.bytecode)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--recorded", type=Path, help="change the launches that `tileverify record` left here")
    which.add_argument("--folder", default="", choices=_folders(), help="change the launches of this folder alone")
    parser.add_argument("--per-kernel", type=int, default=1, help="recorded launches of each kernel (default 1)")
    parser.add_argument("--per-kind", type=int, default=1, help="mutants of each kind for each kernel (default 1)")
    parser.add_argument("--kind", action="append", default=[], choices=sorted(MUTATORS), help="only these kinds")
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="only every n-th kernel (default 1: all)")
    parser.add_argument("--drawn", type=int, metavar="N", help="N mutants of one to three changes, of drawn launches")
    parser.add_argument("--first", type=int, default=0, help="number of the first one that is drawn (default 0)")
    parser.add_argument("--again", action="store_true", help="decide all again, last first, and compare")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for a verdict (default 60, 0: no limit)")
    parser.add_argument(
        "--json", type=Path, help="one JSON line for each mutant; kernels that it has are not run again"
    )
    parser.add_argument("--keep", type=Path, help="write the bytecode of wrong and undecided mutants into this folder")
    parser.add_argument("--verbose", action="store_true", help="a line for each mutant on stderr")
    options = parser.parse_args(arguments)
    tasks = _tasks(options)
    lines = _read(options.json)
    left = list(_left(tasks, {line.mutant for line in lines}))
    log = options.json.open("a") if options.json else None
    for found in _all(left, options.jobs):
        lines += found
        for line in reversed(found):  # the kernel's own line comes last: with it the kernel is done
            if log:
                print(json.dumps(asdict(line)), file=log, flush=True)
            if options.verbose or line.wrong:
                print(line, file=sys.stderr, flush=True)
    lines = list({line.mutant: line for line in lines}.values())
    print(summary(lines, options.seed))
    changed = [told for task in reversed(tasks) for told in otherwise(task, lines)] if options.again else []
    print(*changed, sep="\n", end="\n" if changed else "")
    return 1 if changed or any(line.wrong for line in lines) else 0


def _folders() -> list[str]:
    return sorted({file.parent.name for file in ROOT.glob(f"*/*{LABEL_SUFFIX}")})


def _tasks(options: argparse.Namespace) -> list[Task]:
    timeout_s, recorded = options.timeout or None, options.recorded
    if options.drawn:
        numbers = range(options.first, options.first + options.drawn)
        subjects = [subject for subject in drawn_from(recorded, options.folder) if options.only in subject.name]
        return drawn_tasks(subjects, options.seed, numbers, timeout_s, options.keep)
    subjects = recorded_subjects(recorded, options.per_kernel) if recorded else corpus_subjects(options.folder)
    subjects = [subject for subject in subjects if options.only in subject.name][:: options.every]
    return [
        Task(subject, options.seed, options.per_kind, tuple(options.kind), timeout_s, options.keep)
        for subject in subjects
    ]


def _left(tasks: Sequence[Task], known: Container[str]) -> Iterator[Task]:
    """What is to be judged yet: kernels that are not known, and of known ones mutants that were not drawn before."""
    for task in tasks:
        drawn = tuple(mutant for mutant in task.drawn if mutant.name not in known)
        if drawn or task.subject.name not in known:
            yield replace(task, drawn=drawn)


def _all(tasks: Sequence[Task], jobs: int) -> Iterator[list[Line]]:
    for library in ("OPENBLAS", "MKL", "OMP"):  # threads of a product of tiles wait for each other longer than it takes
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run, tasks)


def _read(file: Path | None) -> list[Line]:
    """The lines of an earlier run, but for those of a kernel at which it was stopped."""
    if file is None or not file.exists():
        return []
    lines: list[Line] = []
    pending: list[Line] = []
    for text in file.read_text().splitlines():
        record = json.loads(text)
        line = Line(**{**record, "requires": tuple(record["requires"]), "codes": tuple(record["codes"])})
        pending.append(line)
        if not line.kind:
            lines += pending
            pending = []
    if pending:
        file.write_text("".join(json.dumps(asdict(line)) + "\n" for line in lines))
    return lines


if __name__ == "__main__":
    sys.exit(main())
