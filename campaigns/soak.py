"""Everything that can be run for as long as one likes, in rounds that can be compared between commits.

    python -m campaigns.soak --minutes 30 --seed 1 [--keep DIR]

A round is made of generated kernels against the prover, changed corpus kernels and people's mistakes in corpus and
library against the prover, random programs whose access summaries are compared with the interpreter's log, and broken
files for the decoder.  Round ``N`` of a seed is the same work in every run and its line says what came out, without
times: lines that differ between two commits are a change of behaviour.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.frontend.bytecode.mutation import mutated
from tests.frontend.bytecode.recorded import FILES
from tests.frontend.symbolic.agreement import OutOfReach, compare
from tests.frontend.symbolic.programs import ProgramMaker

from tileverify.backend.interpreter import InterpreterStop
from tileverify.frontend.bytecode import decode, encode, print_module
from tileverify.system.errors import DecodeError

from .generated.campaign import kernel, records
from .generated.keeping import keep
from .mistakes.campaign import Verifier, judged
from .mistakes.subjects import Mistake, corpus, library, mistakes
from .mutants.campaign import drawn_tasks, run
from .mutants.subjects import Subject, drawn_from

KERNELS, MUTANTS, MISTAKES, PROGRAMS, FILES_EACH = 200, 20, 40, 60, 2000
"""The work of one round."""
SLOW = 2.0
"""Seconds that no broken file may take."""


@dataclass
class Part:
    """What one kind of work came to: counted outcomes, a digest of all of them, and failures in words."""

    name: str
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)
    _hash: hashlib._Hash = field(default_factory=hashlib.sha256)

    def add(self, kind: str, detail: object = "") -> None:
        self.counts[kind] += 1
        self._hash.update(repr((kind, detail)).encode())

    def fail(self, text: str) -> None:
        self.failures.append(text)
        self.add("FAILED", text)

    def __str__(self) -> str:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return f"{self.name}: {counted} ({self._hash.hexdigest()[:8]})"


def generated(seed: int, numbers: Iterable[int], folder: Path) -> Part:
    part = Part("generated kernels")
    for record in records(seed, numbers):
        part.add(record.verdict, record.outcome)
        if record.wrong:
            path = keep(kernel(seed, record.number), folder, f"generated_{seed}_{record.number}")
            part.fail(f"generated kernel {record.number} of seed {seed}: {record.wrong}; kept as {path}")
    return part


def changed(subjects: Sequence[Subject], seed: int, numbers: Sequence[int]) -> Part:
    part = Part("changed kernels")
    for task in drawn_tasks(subjects, seed, numbers):
        for line in run(task):
            if line.kind:
                part.add(line.outcome, (line.mutant, line.truth, line.said))
            if line.wrong:
                part.fail(str(line))
    return part


def mistaken(chosen: Sequence[Mistake]) -> Part:
    part = Part("people's mistakes")
    for mistake in chosen:
        line = judged(mistake, Verifier(None))
        part.add(line.outcome, (line.mistake, line.truth, line.requires, line.limits, line.codes))
        if line.wrong:
            part.fail(str(line))
    return part


def programs(seed: int, numbers: Iterable[int]) -> Part:
    part = Part("random programs")
    for number in numbers:
        module, parameters, launch = ProgramMaker(seed * 1_000_003 + number).make()
        try:
            outcome = compare(module, module.entries[0], parameters, launch, budget=1 << 22)
        except (OutOfReach, InterpreterStop):
            part.add("out of reach")
        except AssertionError as difference:
            part.fail(f"program {number} of seed {seed}: its summary differs from what it does: {difference}")
        else:
            part.add("alike", (outcome.blocks, outcome.accesses))
    return part


def broken_files(seed: int, numbers: Iterable[int]) -> Part:
    part = Part("broken files")
    sources = [file.read_bytes() for file in FILES]
    for number in numbers:
        data = mutated(seed * 1_000_003 + number, sources)
        begun = time.perf_counter()
        try:
            module = decode(data, file="fuzzed")
            if print_module(decode(encode(module))) != print_module(module):
                part.fail(f"file {number} of seed {seed} is read, written and read as something else")
                continue
            part.add("read")
        except DecodeError as error:
            part.add("refused", str(error))
        except Exception as error:
            part.fail(f"file {number} of seed {seed}: {error!r}")
        if time.perf_counter() - begun > SLOW:
            part.fail(f"file {number} of seed {seed} takes more than {SLOW:g} s")
    return part


def numbers(round_number: int, count: int) -> range:
    return range(round_number * count, (round_number + 1) * count)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no round after so long (default 10)")
    parser.add_argument("--rounds", type=int, help="so many rounds instead, whatever time they take")
    parser.add_argument("--first", type=int, default=0, help="number of the first round (default 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("out/soak"), help="folder for kernels with a wrong verdict")
    options = parser.parse_args(arguments)
    begun, subjects = time.monotonic(), drawn_from(None)
    every_mistake = mistakes([*corpus(), *library()], options.seed)
    totals: dict[str, collections.Counter[str]] = {}
    failures = 0
    number = options.first
    while (
        number - options.first < options.rounds if options.rounds else time.monotonic() - begun < 60 * options.minutes
    ):
        seed = options.seed
        for part in (
            generated(seed, numbers(number, KERNELS), options.keep),
            changed(subjects, seed, numbers(number, MUTANTS)),
            mistaken(every_mistake[number * MISTAKES : (number + 1) * MISTAKES]),
            programs(seed, numbers(number, PROGRAMS)),
            broken_files(seed, numbers(number, FILES_EACH)),
        ):
            print(f"round {number}, {part}", flush=True)
            for failure in part.failures:
                print(f"  {failure}", flush=True)
            failures += len(part.failures)
            totals.setdefault(part.name, collections.Counter()).update(part.counts)
        number += 1
    print(f"rounds {options.first} to {number - 1} of seed {options.seed}, {failures} failures")
    for name, counts in totals.items():
        print(f"  {name}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    print(f"{(time.monotonic() - begun) / 60:.1f} minutes", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
