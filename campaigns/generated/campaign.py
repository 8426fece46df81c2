"""Generated kernels against the prover, thousands of them.

    python -m campaigns.generated.campaign --count 5000 --seed 1 [--jobs 2] [--keep DIR] [--shrink]

Kernel ``N`` of a seed is the same in every run, whatever the prover says of the others, so that the summaries of two
commits can be compared line by line.  With `--json FILE` a run that was ended goes on where it was: kernels that the
file tells of are not judged again.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import multiprocessing
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from tileverify.results import KernelResult, Verdict

from .draws import replayed, seeded
from .judgement import judge
from .keeping import keep
from .kernels import Generated, generate
from .shrinking import shrunk

TRUTHS = ("right", "faulty", "mixed", "open")
SEARCHED = 8
"""Of refuted kernels, every so many-th is asked for a clause that was missed."""
PATIENCE = 300
"""Seconds of processor time for one kernel, which takes a fraction of one: who needs more has no end."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the campaign remembers of kernel ``number``."""

    number: int
    verdict: str
    truth: str
    wrong: str | None
    requires: tuple[str, ...]
    codes: tuple[str, ...]
    ops: frozenset[str]
    features: frozenset[str]
    launches: int
    seconds: float
    remarks: tuple[str, ...] = ()

    @property
    def outcome(self) -> tuple[object, ...]:
        """What must be the same in every run."""
        return (self.number, self.verdict, self.requires, self.codes)


def kernel(seed: int, number: int) -> Generated:
    """Kernel ``number`` of a seed."""
    return generate(seeded(f"{seed}:{number}"))


def records(seed: int, numbers: Iterable[int], jobs: int = 1) -> Iterator[Record]:
    """The verdicts on the kernels of these numbers, in order."""
    tasks = ((seed, number) for number in numbers)
    if jobs == 1:
        yield from map(_record, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(_record, tasks, chunksize=16)


def _record(task: tuple[int, int]) -> Record:
    seed, number = task
    generated = kernel(seed, number)
    try:
        with _ending():
            judged = judge(generated, searching=number % SEARCHED == 0)
    except _NoEndError:
        wrong = f"endless: more than {PATIENCE} seconds"
        return Record(number, "error", "open", wrong, (), (), ops_of(generated), generated.features, 0, PATIENCE)
    except Exception as error:  # one mistake shall not end a run of hours
        wrong = f"crash: {''.join(traceback.format_exception(error)[-3:])}"
        return Record(number, "error", "open", wrong, (), (), ops_of(generated), generated.features, 0, 0)
    return Record(
        number, judged.result.verdict.value, judged.truth, judged.wrong, judged.result.clauses,
        reasons(judged.result), ops_of(generated), generated.features, judged.launches, judged.seconds,
        judged.remarks,
    )  # fmt: skip


class _NoEndError(BaseException):
    """No kernel takes so long; no handler of errors may take this for one of its own."""


@contextmanager
def _ending() -> Iterator[None]:
    """End what is done inside after `PATIENCE` seconds; only the main thread of a process can be told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise _NoEndError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def ops_of(generated: Generated) -> frozenset[str]:
    """The names of the ops that a kernel uses."""
    from tileverify.frontend.bytecode import decode
    from tileverify.frontend.bytecode.traverse import walk

    (entry,) = decode(generated.unit.bytecode).entries
    return frozenset(op.name for op in walk(entry.body))


def reasons(result: KernelResult) -> tuple[str, ...]:
    """The codes of the findings, with the obligation that an undecided one is about, sorted."""
    return tuple(sorted({f"{f.code}/{f.obligation}" if f.obligation else f.code for f in result.findings}))


# --------------------------------------------------------------------------------------------- a run's file
def to_json(record: Record, seed: int) -> str:
    """One line, from which `from_json` makes the record again."""
    plain = {key: sorted(value) if isinstance(value, frozenset) else value for key, value in asdict(record).items()}
    return json.dumps({"seed": seed, **plain})


def from_json(line: Mapping[str, Any]) -> Record:
    """The record that a line of a run's file holds."""
    lists = {"requires": tuple, "codes": tuple, "remarks": tuple, "ops": frozenset, "features": frozenset}
    return Record(**{each.name: lists.get(each.name, lambda value: value)(line[each.name]) for each in fields(Record)})


def known_records(path: Path | None, seed: int) -> dict[int, Record]:
    """What a run of this seed has already found; a line that was being written when the run ended is left out."""
    found: dict[int, Record] = {}
    for text in path.read_text().splitlines() if path is not None and path.exists() else ():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if line["seed"] == seed:
            found[line["number"]] = from_json(line)
    return found


# ------------------------------------------------------------------------------------------------- summary
def summary(found: Sequence[Record], seed: int) -> str:
    """Verdicts, truths and reasons, without times: equal texts for equal behaviour."""
    total = max(1, len(found))
    lines = [f"{len(found)} generated kernels, seed {seed}, numbers {found[0].number} to {found[-1].number}"]
    lines.append(f"  {sum(each.launches for each in found)} launches interpreted")
    lines.append(f"  wrong verdicts: {sum(each.wrong is not None for each in found)}")
    lines.append("verdict         kernels          truth: " + "  ".join(f"{truth:>7}" for truth in TRUTHS))
    for verdict in Verdict:
        mine = [each for each in found if each.verdict == verdict.value]
        by_truth = collections.Counter(each.truth for each in mine)
        counts = "  ".join(f"{by_truth[truth]:7}" for truth in TRUTHS)
        lines.append(f"  {verdict.value:10} {len(mine):6}  {100 * len(mine) / total:5.1f} %           {counts}")
    lines.append(f"  proved under clauses: {sum(bool(e.requires) for e in found if e.verdict == 'proved')}")
    for verdict in (Verdict.REFUTED, Verdict.UNDECIDED):
        counted = collections.Counter(code for e in found if e.verdict == verdict.value for code in e.codes)
        lines.append(f"findings where {verdict.value}")
        lines += [f"  {code:16}{count:6}" for code, count in sorted(counted.items(), key=lambda i: (-i[1], i[0]))]
    lines.append("features: kernels, undecided")
    for feature in sorted(frozenset[str]().union(*(each.features for each in found))):
        mine = [each for each in found if feature in each.features]
        open_ = sum(each.verdict == Verdict.UNDECIDED.value for each in mine)
        lines.append(f"  {feature:28}{len(mine):6}{open_:6}  {100 * open_ / len(mine):5.1f} %")
    remarks = collections.Counter(remark.split(":")[0] for each in found for remark in each.remarks)
    asked = sum(e.verdict == Verdict.REFUTED.value and e.number % SEARCHED == 0 for e in found)
    lines.append(f"remarks ({asked} refuted kernels were searched for a clause)")
    lines += [f"  {remark:64}{count:6}" for remark, count in sorted(remarks.items())]
    ops = collections.Counter(op for each in found for op in each.ops)
    lines.append("kernels that use an op: " + ", ".join(f"{op} {count}" for op, count in sorted(ops.items())))
    digest = hashlib.sha256("\n".join(repr(each.outcome) for each in found).encode()).hexdigest()[:16]
    lines.append(f"digest of all verdicts: {digest}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many kernels (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (default 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--json", type=Path, help="one line for each kernel; a run goes on behind them")
    parser.add_argument("--keep", type=Path, help="write kernels with a wrong verdict into this folder")
    parser.add_argument("--shrink", action="store_true", help="make kernels with a wrong verdict small first")
    parser.add_argument("--stop", action="store_true", help="stop at the first wrong verdict")
    options = parser.parse_args(arguments)
    numbers = range(options.first, options.first + options.count)
    known = known_records(options.json, options.seed)
    found = [known[number] for number in numbers if number in known]
    left = [number for number in numbers if number not in known]
    with options.json.open("a") if options.json else nullcontext() as log:
        for record in records(options.seed, left, options.jobs):
            found.append(record)
            if log:
                print(to_json(record, options.seed), file=log, flush=True)
            if record.wrong:
                print(f"WRONG #{record.number} {record.verdict}: {record.wrong}", flush=True)
                _keep(options, record)
                if options.stop:
                    break
    found.sort(key=lambda record: record.number)
    print(summary(found, options.seed))
    seconds = [each.seconds for each in found]
    print(
        f"processor time for a verdict: median {1000 * median(seconds):.1f} ms, longest {max(seconds):.1f} s",
        file=sys.stderr,
    )
    return 1 if any(each.wrong for each in found) else 0


def _keep(options: argparse.Namespace, record: Record) -> None:
    generated = kernel(options.seed, record.number)
    if options.shrink:
        kind = (record.wrong or "").split()[0]
        generated = generate(replayed(shrunk(generated.tape, lambda tape: same_flaw(tape, kind))))
        print(f"  shrunk to {len(generated.tape)} draws: {judge(generated).wrong}", flush=True)
    if options.keep:
        path = keep(generated, options.keep, f"generated_{options.seed}_{record.number}")
        print(f"  kept as {path}; `tileverify dis {path}` shows it", flush=True)


def same_flaw(tape: Sequence[int], kind: str) -> bool:
    """The tape's kernel has a wrong verdict of the same kind (the first word of `Judged.wrong`)."""
    try:
        wrong = judge(generate(replayed(tape))).wrong
    except Exception:
        traceback.print_exc()
        return False
    return wrong is not None and wrong.split()[0] == kind


if __name__ == "__main__":
    sys.exit(main())
