"""Mutants of kernels: every kind of change on one kernel, or a few changes at once on a kernel that is drawn.

The same seed makes the same mutants of the same kernels, in every run.
"""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.soundness.edits import finished, sites

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.pipeline.unit_summary import entry_of

from .mutators import KINDS, MUTATORS
from .subjects import Subject

CHANGES = (1, 1, 1, 1, 1, 2, 2, 3)
"""How many changes a drawn mutant gets, drawn from these."""
ATTEMPTS = 60
"""A mutant gets so many draws; then there is none."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """``kind``: one of `MUTATORS`, or several with spaces between; empty for the kernel itself."""

    name: str
    kind: str
    change: str
    bytecode: bytes

    def unit(self, original: KernelUnit) -> KernelUnit:
        """``original`` with this bytecode.  What it orders is all that is ordered, as it is for the interpreter: there
        is no version of it with further orders of Triton's compiler, which would leave its faults of order open."""
        return replace(original, bytecode=self.bytecode, most_ordered=None)


# ---------------------------------------------------------------------------------------------- one change each
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


# -------------------------------------------------------------------------------------------------- a few at once
def drawn(subjects: Sequence[Subject], seed: int, numbers: Iterable[int]) -> Iterator[tuple[Subject, Mutant]]:
    """The mutants of these numbers; each is made from ``seed`` and its number alone."""
    for number in numbers:
        random = Random(f"{seed}:{number}")
        for attempt in range(ATTEMPTS):
            subject = _chosen(subjects, f"{seed}:{number}:{attempt}")
            made = _changed(subject, number, random)
            if made is not None:
                yield subject, made
                break


def _chosen(subjects: Sequence[Subject], draw: str) -> Subject:
    """One that comes first by a hash, so that a kernel more or less leaves most mutants as they are."""
    copies: collections.Counter[str] = collections.Counter()

    def rank(subject: Subject) -> bytes:
        unit = subject.unit
        name = f"{unit.file.name}::{unit.kernel}[{unit.launch.name}]"
        copies[name] += 1
        return hashlib.blake2b(f"{draw}:{name}:{copies[name]}".encode(), digest_size=8).digest()

    return min(subjects, key=rank)


def _changed(subject: Subject, number: int, random: Random) -> Mutant | None:
    module = decode(subject.unit.bytecode, file=str(subject.unit.file))
    entry = entry_of(module, subject.unit)
    kinds: list[str] = []
    changes: list[str] = []
    for _ in range(random.choice(CHANGES)):
        kind = random.choice(KINDS)
        places = list(sites(entry.body))
        for site in random.sample(places, len(places)):
            change = MUTATORS[kind](entry, site, random)
            if change is not None:
                kinds.append(kind)
                changes.append(change)
                break
    data = finished(module) if changes else None
    if data is None or data == subject.unit.bytecode:
        return None
    return Mutant(f"#{number} {subject.name}", " ".join(kinds), "; ".join(changes), data)
