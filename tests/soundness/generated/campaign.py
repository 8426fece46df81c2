"""Generated kernels against the prover, thousands of them.

    python -m tests.soundness.generated.campaign --count 5000 --seed 1 [--jobs 2] [--keep DIR] [--shrink]

Kernel ``N`` of a seed is the same in every run, whatever the prover says of the others, so that the summaries of two
commits can be compared line by line.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import multiprocessing
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tileverify.results import KernelResult, Verdict

from .draws import replayed, seeded
from .judgement import judge
from .keeping import keep
from .kernels import Generated, generate
from .shrinking import shrunk

TRUTHS = ("right", "faulty", "mixed", "open")


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
    judged = judge(generated)
    return Record(
        number, judged.result.verdict.value, judged.truth, judged.wrong, judged.result.requires,
        tuple(sorted(_reasons(judged.result))), _ops(generated), generated.features, judged.launches, judged.seconds,
    )  # fmt: skip


def _ops(generated: Generated) -> frozenset[str]:
    from tileverify.frontend.bytecode import decode
    from tileverify.frontend.bytecode.traverse import walk

    (entry,) = decode(generated.unit.bytecode).entries
    return frozenset(op.name for op in walk(entry.body))


def _reasons(result: KernelResult) -> set[str]:
    """The codes of the findings, with the obligation that an undecided one is about."""
    return {f"{f.code}/{f.obligation}" if f.obligation else f.code for f in result.findings}


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
    parser.add_argument("--json", type=Path, help="write one JSON line for each kernel")
    parser.add_argument("--keep", type=Path, help="write kernels with a wrong verdict into this folder")
    parser.add_argument("--shrink", action="store_true", help="make kernels with a wrong verdict small first")
    parser.add_argument("--stop", action="store_true", help="stop at the first wrong verdict")
    options = parser.parse_args(arguments)
    found: list[Record] = []
    log = options.json.open("w") if options.json else None
    for record in records(options.seed, range(options.first, options.first + options.count), options.jobs):
        found.append(record)
        if log:
            print(json.dumps([*record.outcome, record.truth, record.wrong, round(record.seconds, 4)]), file=log)
        if record.wrong:
            print(f"WRONG #{record.number} {record.verdict}: {record.wrong}", flush=True)
            _keep(options, record)
            if options.stop:
                break
    print(summary(found, options.seed))
    seconds = [each.seconds for each in found]
    print(f"time for a verdict: median {1000 * median(seconds):.1f} ms, longest {max(seconds):.1f} s", file=sys.stderr)
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
