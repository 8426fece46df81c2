"""Mutation testing of the prover's soundness: changed kernels that it proves must show no fault when they run.

    python -m tests.soundness.mutation --count 3000 --seed 1 [--corpus] [--recorded DIR] [--only N] [--again]

Mutant ``N`` of a seed is the same in every run on the same kernels, so that summaries of two commits can be compared.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import corpus_launches
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import entry_of
from tileverify.results import KernelResult, Verdict

from ..corpus.compiled import corpus_kernels
from .faults import Fault
from .hunt import Hunter, NotUnderstood
from .mutants.edits import finished, sites
from .mutants.mutators import KINDS, MUTATORS
from .mutants.written import limits_of, open_clauses

CHANGES = (1, 1, 1, 1, 1, 2, 2, 3)
"""How many changes a mutant gets, drawn from these."""
PREFERENCE = 5
"""How much oftener a launch with the label `proved` is taken than any other."""
ATTEMPTS = 60
"""Draws of a changed kernel before a mutant is given up."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """``number`` of its seed; ``changes`` says what was done to the kernel of ``unit``, whose bytecode is changed."""

    number: int
    unit: KernelUnit
    original: KernelUnit
    kinds: tuple[str, ...]
    changes: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"#{self.number} {self.unit.file.stem}::{self.unit.kernel[:40]}[{self.unit.launch.name}]"


@dataclass(frozen=True, slots=True)
class Judged:
    """``fault``: what the interpreter saw though the verdict is `proved`; ``unread``: a clause without a meaning."""

    mutant: Mutant
    result: KernelResult
    fault: Fault | None
    unread: str | None
    seconds: float

    @property
    def outcome(self) -> tuple[Any, ...]:
        """What must be the same in every run."""
        r = self.result
        return (r.verdict.value, r.requires, tuple((f.code, f.obligation, f.message, f.witness) for f in r.findings))


def corpus_units() -> list[KernelUnit]:
    """The corpus' launches, those with the label `proved` several times: a change of the others is mostly refuted."""
    proved = {(str(one.file), one.kernel, one.launch) for one in corpus_launches() if one.verdict is Verdict.PROVED}
    found = _ordered(corpus_kernels())
    right = [unit for unit in found if (str(unit.file), unit.kernel, unit.launch.name) in proved]
    assert right, f"no label belongs to a kernel, such as {found[0].file}"
    return found + right * PREFERENCE


def units(targets: Sequence[str]) -> list[KernelUnit]:
    """The kernels to change, each launch for itself; ordered by file, kernel and launch."""
    return _ordered(unit for unit in discover(list(targets)) if isinstance(unit, KernelUnit))


def _ordered(kernels: Iterable[KernelUnit]) -> list[KernelUnit]:
    return sorted(kernels, key=lambda unit: (str(unit.file), unit.kernel, unit.launch.name))


def mutants(kernels: Sequence[KernelUnit], seed: int, numbers: Iterable[int]) -> Iterator[Mutant]:
    """The mutants of these numbers; each is made from ``seed`` and its number alone."""
    for number in numbers:
        source = random.Random(f"{seed}:{number}")
        for attempt in range(ATTEMPTS):
            made = _mutant(_chosen(kernels, f"{seed}:{number}:{attempt}"), number, source)
            if made is not None:
                yield made
                break


def _chosen(kernels: Sequence[KernelUnit], draw: str) -> KernelUnit:
    """One that comes first by a hash, so that a kernel more or less leaves most mutants as they are."""
    copies: collections.Counter[str] = collections.Counter()

    def rank(unit: KernelUnit) -> bytes:
        name = f"{unit.file.name}::{unit.kernel}[{unit.launch.name}]"
        copies[name] += 1
        return hashlib.blake2b(f"{draw}:{name}:{copies[name]}".encode(), digest_size=8).digest()

    return min(kernels, key=rank)


def _mutant(unit: KernelUnit, number: int, source: random.Random) -> Mutant | None:
    module = decode(unit.bytecode, file=str(unit.file))
    entry = entry_of(module, unit)
    kinds: list[str] = []
    changes: list[str] = []
    for _ in range(source.choice(CHANGES)):
        kind = source.choice(KINDS)
        places = list(sites(entry.body))
        for site in source.sample(places, len(places)):
            text = MUTATORS[kind](entry, site, source)
            if text is not None:
                kinds.append(kind)
                changes.append(text)
                break
    data = finished(module) if changes else None
    if data is None or data == unit.bytecode:
        return None
    return Mutant(number, replace(unit, bytecode=data), unit, tuple(kinds), tuple(changes))


class Campaign:
    """Judges mutants: the verdict of the prover and, where it is `proved`, a hunt for a fault."""

    def __init__(self, timeout_s: float | None = 20.0, *, small: int = 4, tiny: int = 2, large: int = 2) -> None:
        self._options = CheckOptions(timeout_s=timeout_s)
        self._launches = (small, tiny, large)
        self._hunters: dict[int, Hunter] = {}

    def verdict(self, mutant: Mutant) -> KernelResult:
        return check_unit(mutant.unit, self._options)

    def judge(self, mutant: Mutant) -> Judged:
        started = time.perf_counter()
        result = self.verdict(mutant)
        fault = unread = None
        if result.verdict is Verdict.PROVED:
            try:
                fault = self.hunt(mutant, result)
            except NotUnderstood as clause:
                unread = str(clause)
        return Judged(mutant, result, fault, unread, time.perf_counter() - started)

    def hunt(self, mutant: Mutant, result: KernelResult) -> Fault | None:
        """A fault that shows in one of a few launches of the contract as it is written, within its limits."""
        hunter = self._hunters.setdefault(id(mutant.original), Hunter(mutant.original, *self._launches))
        kept = (*open_clauses(mutant.unit.launch, result.requires), *limits_of(result))
        return hunter.first_fault(mutant.unit.bytecode, kept)


# ------------------------------------------------------------------------------------------------- summary
def reasons(result: KernelResult) -> set[str]:
    """The codes of the findings, with the obligation that an undecided one is about."""
    return {f"{f.code}/{f.obligation}" if f.obligation else f.code for f in result.findings}


def summary(judged: Sequence[Judged], seed: int, kernels: int) -> str:
    """Verdicts by kind of change and reasons, without times: equal texts for equal behaviour."""
    lines = [f"{len(judged)} mutants of {kernels} launches, seed {seed}"]
    verdicts = collections.Counter(each.result.verdict.value for each in judged)
    for verdict in Verdict:
        count = verdicts[verdict.value]
        lines.append(f"  {verdict.value:10} {count:6}  {100 * count / max(1, len(judged)):5.1f} %")
    lines.append(f"  proved, with a fault when run: {sum(each.fault is not None for each in judged)}")
    lines.append(f"  proved, under a clause that cannot be read: {sum(each.unread is not None for each in judged)}")
    lines.append("by kind of change: proved / undecided / refuted / error")
    for kind in MUTATORS:
        mine = collections.Counter(each.result.verdict for each in judged if kind in each.mutant.kinds)
        lines.append(f"  {kind:12}" + "".join(f"{mine[verdict]:6}" for verdict in Verdict))
    for verdict in (Verdict.REFUTED, Verdict.UNDECIDED, Verdict.ERROR):
        lines.append(f"findings where {verdict.value}")
        counted = collections.Counter(
            reason for each in judged if each.result.verdict is verdict for reason in reasons(each.result)
        )
        lines += [f"  {reason:16}{count:6}" for reason, count in sorted(counted.items(), key=lambda i: (-i[1], i[0]))]
    return "\n".join(lines)


def describe(each: Judged) -> str:
    """One line: verdict, time, kernel, changes, codes of the findings."""
    text = f"{each.result.verdict.value:9} {each.seconds:6.2f}s {each.mutant.name}: {'; '.join(each.mutant.changes)}"
    return "  ".join([text, *sorted(reasons(each.result)), *(f"[{clause}]" for clause in each.result.requires)])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many mutants (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one (default 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", action="store_true", help="change the corpus' kernels (default without --recorded)")
    parser.add_argument("--recorded", type=Path, help="change the launches that `tileverify record` left here")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for a verdict (default 20, 0: no limit)")
    parser.add_argument("--again", action="store_true", help="decide all again, last first, and compare")
    parser.add_argument("--json", type=Path, help="write one JSON line for each mutant")
    parser.add_argument("--keep", type=Path, help="write the bytecode of wrongly proved mutants into this folder")
    parser.add_argument("--verbose", action="store_true", help="a line for each mutant on stderr")
    options = parser.parse_args(arguments)
    kernels = corpus_units() if options.corpus or not options.recorded else []
    if options.recorded:
        kernels += units([str(options.recorded)])
    campaign, judged = Campaign(options.timeout or None), []
    numbers = range(options.first, options.first + options.count)
    log = options.json.open("w") if options.json else None
    for mutant in mutants(kernels, options.seed, numbers):
        each = campaign.judge(mutant)
        judged.append(each)
        if options.verbose or each.fault or each.unread or each.result.verdict is Verdict.ERROR:
            print(describe(each), file=sys.stderr, flush=True)
        if log:
            print(json.dumps(_record(each)), file=log, flush=True)
        if each.fault:
            _report(each, options.keep)
    print(summary(judged, options.seed, len(set(map(id, kernels)))))
    changed = _changed(campaign, judged) if options.again else []
    for each in changed:
        print(f"another verdict the second time: {describe(each)}")
    return 1 if changed or any(each.fault or each.result.verdict is Verdict.ERROR for each in judged) else 0


def _changed(campaign: Campaign, judged: Sequence[Judged]) -> list[Judged]:
    """Mutants whose result is another one when all are decided again in the opposite order."""
    settled = [each for each in reversed(judged) if "TV903" not in {f.code for f in each.result.findings}]
    return [each for each in settled if replace(each, result=campaign.verdict(each.mutant)).outcome != each.outcome]


def _record(each: Judged) -> dict[str, Any]:
    return {
        "number": each.mutant.number,
        "kernel": each.mutant.name,
        "kinds": each.mutant.kinds,
        "changes": each.mutant.changes,
        "verdict": each.result.verdict.value,
        "requires": each.result.requires,
        "findings": [(f.code, f.obligation, f.message) for f in each.result.findings],
        "outcome": repr(each.outcome),
        "seconds": round(each.seconds, 3),
    }


def _report(each: Judged, keep: Path | None) -> None:
    fault = each.fault
    assert fault is not None
    print(f"WRONGLY PROVED {describe(each)}\n  {fault.code} blocks {fault.blocks}: {fault.text}\n  {fault.launch}")
    print(f"  requires {each.result.requires}", flush=True)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"mutant-{each.mutant.number}.tileirbc").write_bytes(each.mutant.unit.bytecode)


if __name__ == "__main__":
    sys.exit(main())
