"""Every kind of change on every proved kernel: are the broken ones refuted, and none of them proved?

    python -m tests.soundness.mutants.campaign [--recorded DIR] [--seed 1] [--jobs 2] [--json FILE]

The kernels are the corpus' launches with the label `proved`, or with ``--recorded`` those that `tileverify record` left
in a folder.  Each gets ``--per-kind`` mutants of each kind that has a place in it, one change each.  The interpreter
says which mutants are broken before the prover is asked (`judgement`).  Mutants are the same in every run on the same
kernels; with ``--json`` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from tileverify.frontend.bytecode import decode
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import entry_of
from tileverify.results import KernelResult, Verdict

from .edits import finished, sites
from .judgement import Judge, Judged
from .mutators import MUTATORS
from .subjects import Subject, corpus_subjects, recorded_subjects
from .summary import Line, summary
from .truth import Truth


@dataclass(frozen=True, slots=True)
class Task:
    """The mutants of one kernel; ``kinds``: all if empty."""

    subject: Subject
    seed: int
    per_kind: int
    kinds: tuple[str, ...]
    timeout_s: float | None
    keep: Path | None


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    kind: str
    change: str
    bytecode: bytes


def mutants_of(subject: Subject, seed: int, per_kind: int, kinds: Sequence[str] = ()) -> Iterator[Mutant]:
    """Different mutants with one change each; a kind that has no place in the kernel has none."""
    known = {subject.unit.bytecode}
    for kind in kinds or MUTATORS:
        for number in range(per_kind):
            random = Random(f"{seed}:{subject.name}:{kind}:{number}")
            module = decode(subject.unit.bytecode, file=str(subject.unit.file))
            entry = entry_of(module, subject.unit)
            places = list(sites(entry.body))
            for place in random.sample(range(len(places)), len(places)):
                change = MUTATORS[kind](entry, places[place], random)
                if change is None:
                    continue
                data = finished(module)
                if data is not None and data not in known:
                    known.add(data)
                    yield Mutant(f"{subject.name}/{kind}-{number}", kind, change, data)
                    break
                module = decode(subject.unit.bytecode, file=str(subject.unit.file))
                entry = entry_of(module, subject.unit)
                places = list(sites(entry.body))


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
    if original.verdict is not Verdict.PROVED:
        own = Judged(original, Truth("open", why="not proved"), prove_s=seconds)
        return [_line(Mutant(subject.name, "", "", b""), own)]
    judge = Judge(subject, original.requires, task.timeout_s, original.observed)
    lines = [_line(Mutant(subject.name, "", "", b""), judge.judge(subject.unit))]
    for mutant in mutants_of(subject, task.seed, task.per_kind, task.kinds):
        judged = judge.judge(replace(subject.unit, bytecode=mutant.bytecode))
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
    )


def _reasons(result: KernelResult) -> set[str]:
    """The codes of the findings, with the obligation that an undecided one is about."""
    return {f"{f.code}/{f.obligation}" if f.obligation else f.code for f in result.findings}


def _keep(folder: Path, mutant: Mutant) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{mutant.name.replace('/', '_')}.tileirbc").write_bytes(mutant.bytecode)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, help="change the launches that `tileverify record` left here")
    parser.add_argument("--per-kernel", type=int, default=1, help="recorded launches of each kernel (default 1)")
    parser.add_argument("--per-kind", type=int, default=1, help="mutants of each kind for each kernel (default 1)")
    parser.add_argument("--kind", action="append", default=[], choices=sorted(MUTATORS), help="only these kinds")
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="only every n-th kernel (default 1: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for a verdict (default 60, 0: no limit)")
    parser.add_argument(
        "--json", type=Path, help="one JSON line for each mutant; kernels that it has are not run again"
    )
    parser.add_argument("--keep", type=Path, help="write the bytecode of wrong and undecided mutants into this folder")
    parser.add_argument("--verbose", action="store_true", help="a line for each mutant on stderr")
    options = parser.parse_args(arguments)
    subjects = recorded_subjects(options.recorded, options.per_kernel) if options.recorded else corpus_subjects()
    subjects = [subject for subject in subjects if options.only in subject.name][:: options.every]
    lines = _read(options.json)
    done = {line.mutant for line in lines if not line.kind}
    tasks = [
        Task(subject, options.seed, options.per_kind, tuple(options.kind), options.timeout or None, options.keep)
        for subject in subjects
        if subject.name not in done
    ]
    log = options.json.open("a") if options.json else None
    for found in _all(tasks, options.jobs):
        lines += found
        for line in reversed(found):  # the kernel's own line comes last: with it the kernel is done
            if log:
                print(json.dumps(asdict(line)), file=log, flush=True)
            if options.verbose or line.wrong:
                print(line, file=sys.stderr, flush=True)
    print(summary(lines, options.seed))
    return 1 if any(line.wrong for line in lines) else 0


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
