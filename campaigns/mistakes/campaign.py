"""Mistakes that people make, in every kernel at hand: are those that break it refuted, and none of them green?

    python -m campaigns.mistakes.campaign [--count 300] [--minutes 30] [--jobs 2] [--json FILE] [--folder DIR]

A mistake is made in the source of a kernel, which is compiled again, or in its launch spec (`source`, `contracts`);
kernels without a source have it in their bytecode.  The contract is what is written, whatever clauses a verdict adds:
the interpreter runs small launches of it before the prover is asked (`judge`).  Kernels are those of the corpus that
are labelled `proved`, one launch of each library kernel, and those of ``--folder`` with specs beside them.  Mistake N
of a seed is the same in every run on the same kernels, and the first ones are a sample of all kinds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

from tileverify.contract.launch import KernelUnit
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult

from ..mutants.written import limits_of, open_clauses
from .judge import Contract, Judged, Prover
from .subjects import KINDS, Launch, Mistake, corpus, in_folder, library, mistakes
from .table import NO_KERNEL, Line, table

TIMEOUT = 60.0
BATCH = 1000
"""Mistakes that are judged kernel by kernel, before the next ones of the sample are."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """The prover, known by its limit also in another process."""

    timeout_s: float | None

    def __call__(self, unit: KernelUnit) -> KernelResult:
        return check_unit(unit, CheckOptions(timeout_s=self.timeout_s))


@lru_cache(maxsize=1)
def _original(launch: Launch, prove: Prover) -> tuple[KernelUnit, Contract, str] | None:
    """The kernel without a mistake, its contract, and what speaks against it; ``None`` where it does not compile."""
    unit = launch.unit()
    if unit is None:
        return None
    # Any grid would do, so the kernel itself says which ones it is meant for.
    contract = Contract(unit, () if unit.launch.grid else open_clauses(unit.launch, prove(unit).requires))
    fault = contract.truths.of(unit).fault
    return unit, contract, "" if fault is None else f"{fault.code} {fault.text}"


def judged(mistake: Mistake, prove: Prover) -> Line:
    """One line for a mistake; a judge that breaks down costs no other its judgement."""
    try:
        return _judged(mistake, prove)
    except Exception as broken:
        return _line(mistake, f"the judge broke down: {broken!r}", "error", None)


def _judged(mistake: Mistake, prove: Prover) -> Line:
    original = _original(mistake.of, prove)
    if original is None:
        return _line(mistake, "the original does not compile", NO_KERNEL, None)
    unit, contract, fault = original
    if fault:
        return _line(mistake, f"the original is at fault: {fault}", NO_KERNEL, None)
    changed = mistake.unit(unit)
    if changed is None:
        return _line(mistake, "no kernel, or the same one", NO_KERNEL, None)
    if changed.launch != unit.launch:
        contract = Contract(changed, contract.given)
    found = contract.judge(changed, prove)
    return _line(mistake, found.truth.why, found.outcome, found)


def _line(mistake: Mistake, why: str, outcome: str, found: Judged | None) -> Line:
    fault = found.truth.fault if found else None
    result = found.result if found else None
    return Line(
        mistake=mistake.name,
        kernel=mistake.of.name,
        kind=mistake.kind,
        line=mistake.line,
        change=mistake.change,
        truth=_truth(mistake, found.truth.kind) if found else "",
        shows="" if fault is None else f"{fault.code} {fault.text}",
        breaks=found.breaks if found else "",
        why=why,
        outcome=outcome,
        verdict=result.verdict.value if result else "",
        requires=tuple(result.requires) if result else (),
        limits=limits_of(result) if result else (),
        codes=tuple(sorted({each.code for each in result.findings})) if result else (),
        wrong=(found.wrong if found else "") or (why if outcome == "error" else ""),
        prove_s=round(found.prove_s, 3) if found else 0.0,
        judge_s=round(found.judge_s, 3) if found else 0.0,
    )


def _truth(mistake: Mistake, kind: str) -> str:
    """What a fact would make up for that was left out is a matter of contents: the original shows no fault."""
    return "data" if (mistake.kind, kind) == ("spec-data", "broken") else kind


def all_judged(chosen: Sequence[Mistake], prove: Prover, jobs: int) -> Iterator[Line]:
    """Those of a kernel one after another, in one process: its original is judged once."""
    for threads in ("OPENBLAS", "MKL", "OMP"):  # threads of a product of tiles wait for each other longer than it takes
        os.environ.setdefault(f"{threads}_NUM_THREADS", "1")
    kernels: dict[str, list[Mistake]] = {}
    for each in chosen:
        kernels.setdefault(each.of.name, []).append(each)
    work = partial(_of_one_kernel, prove=prove)
    if jobs == 1:
        yield from chain.from_iterable(map(work, kernels.values()))
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from chain.from_iterable(pool.imap_unordered(work, kernels.values()))


def _of_one_kernel(chosen: Sequence[Mistake], prove: Prover) -> list[Line]:
    return [judged(each, prove) for each in chosen]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="break the kernels below this folder that have specs beside them")
    parser.add_argument("--kind", action="append", default=[], choices=KINDS, help="only these mistakes")
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    parser.add_argument("--count", type=int, help="so many broken or unbroken kernels (default: all)")
    parser.add_argument("--minutes", type=float, help="judge no further one after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT, help="seconds for a verdict (default 60, 0: no limit)"
    )
    parser.add_argument(
        "--json", type=Path, help="one JSON line for each; those that the file has are not judged again"
    )
    options = parser.parse_args(arguments)
    launches = in_folder(options.folder) if options.folder else [*corpus(), *library()]
    chosen = mistakes([each for each in launches if options.only in each.name], options.seed)
    chosen = [each for each in chosen if not options.kind or each.kind in options.kind]
    lines = _read(options.json)
    known = {line.mistake for line in lines}
    begun, log = time.monotonic(), options.json.open("a") if options.json else None
    count = sum(line.outcome != NO_KERNEL for line in lines)
    left = [each for each in chosen if each.name not in known]
    late = False
    while left and not late and (options.count is None or count < options.count):
        batch = BATCH if options.count is None else min(BATCH, options.count - count)
        now, left = left[:batch], left[batch:]
        for line in all_judged(now, Verifier(options.timeout or None), options.jobs):
            lines.append(line)
            count += line.outcome != NO_KERNEL
            if log:
                print(json.dumps(asdict(line)), file=log, flush=True)
            if line.wrong:
                print(line, file=sys.stderr, flush=True)
            late = options.minutes is not None and time.monotonic() - begun > 60 * options.minutes
            if late:
                break
    print(table(lines, options.seed))
    return 1 if any(line.wrong for line in lines) else 0


def _read(file: Path | None) -> list[Line]:
    """The lines of an earlier run; one that was cut off is forgotten."""
    if file is None or not file.exists():
        return []
    whole = file.read_text().rpartition("\n")[0]
    file.write_text(f"{whole}\n" if whole else "")
    return [Line.of(json.loads(text)) for text in whole.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
