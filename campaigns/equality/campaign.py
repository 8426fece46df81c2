"""Changed kernels beside their references.

    python -m campaigns.equality.campaign mutants|rewrites COUNT [SEED] [--again] [--jobs N] [--units FILE]

References of the corpus are written for the sizes of a table.  With ``--again`` a mutant that is equal there is held
against the kernel that it was made of, at the launches that ``tileverify equal`` chooses: one that is equal at all of
those, too, computes the same function as far as anybody sees.  ``--units``: the corpus that was compiled elsewhere, as
``python -m tests.corpus.kept FILE`` writes it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.corpus.references import NUMBERS, REFERENCES
from tests.equality.corpus import LABELS, exact_case, other_of, take_units, values_of

from tileverify.backend.numbers.choose import ContractInNumbers
from tileverify.corpus import Labelled
from tileverify.equality.answer_text import difference
from tileverify.equality.deciding import Decision, ExactAnswer, decide
from tileverify.equality.points import Options
from tileverify.equality.targets import RivalKernel, kernel_of
from tileverify.pipeline.unit_check import check_unit

from .changes import MUTANTS, REWRITES, Changed, DoesNotApply, changed, changed_loop, changes_of

TOO_LARGE = "no launch was small enough"
MOST_STEPS = 1 << 26


def cases(table_name: str, only: Sequence[str] = ("",)) -> list[tuple[str, Changed]]:
    """(label, change) for all kernels of the corpus that have numbers, and a name with one of these words."""
    table = MUTANTS if table_name == "mutants" else REWRITES
    found = []
    for label in with_numbers():
        if not any(word in label.id for word in only):
            continue
        _, kernel = exact_case(label)
        found += [(label.id, one) for one in changes_of(kernel, table)]
    return found


def with_numbers() -> list[Labelled]:
    """The launches of the corpus that are small enough to be run whole."""
    return [label for label in LABELS.values() if label.id in NUMBERS and NUMBERS[label.id].blocks is None]


def judged(name: str, one: Changed, *, mutant: bool) -> ExactAnswer | None:
    """The answer for a changed kernel; None where the change does not apply, or a mutant's op gives what it gave."""
    label = LABELS[name]
    unit, kernel = exact_case(label)
    options = Options(values=values_of(label), steps=MOST_STEPS)
    seen: list[bool] = []
    try:
        other = other_of(REFERENCES[label.kernel])
        contract = ContractInNumbers(unit.launch, label.adds)
        with changed_loop(one, seen):
            found = decide(unit, changed(kernel, one, seen), contract, other, options)
        return found if any(seen) or not mutant else None
    except DoesNotApply:
        return None


def judged_again(name: str, one: Changed) -> ExactAnswer:
    """The changed kernel beside the one that it was made of, at sizes beside the borders of tiles; at those of the
    table, with all contents, where none of these is small enough."""
    unit, kernel = exact_case(LABELS[name])
    contract = ContractInNumbers(unit.launch, check_unit(unit).requires)
    plain = RivalKernel("the kernel", unit, kernel_of(unit), contract)
    with changed_loop(one, []):
        other = plain.beside(unit, name)
        found = decide(unit, changed(kernel, one, []), contract, other, Options(seed=3))
        if found.answer is not Decision.NOT_DECIDED or found.launches or found.reason != TOO_LARGE:
            return found
        sizes = Options(seed=3, values=values_of(LABELS[name]), steps=8 * MOST_STEPS)
        return decide(unit, changed(kernel, one, []), contract, other, sizes)


@dataclass(frozen=True)
class Seen:
    """What is told of one case; ``answer`` is None where the change does not apply."""

    answer: Decision | None
    reason: str = ""
    again: Decision | None = None
    more: str = ""


def looked_at(number: int) -> Seen:
    """One of `CASES`."""
    (name, one), mutant, again = CASES[number], TABLE[0] == "mutants", TABLE[1]
    found = judged(name, one, mutant=mutant)
    if found is None:
        return Seen(None)
    if not again or found.answer is not Decision.EQUAL:
        return Seen(found.answer, found.reason)
    other = judged_again(name, one)
    told = other.reason if other.difference is None else difference(other.difference)
    return Seen(found.answer, found.reason, other.answer, f"at {len(other.launches)} launches {told}")


CASES: list[tuple[str, Changed]] = []
TABLE: list[Any] = []
"""The table's name, and whether what is equal is looked at again; both are set before processes are forked."""


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", choices=["mutants", "rewrites"])
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--units", type=Path)
    asked = parser.parse_args(words)
    if asked.units is not None:
        take_units(asked.units)
    CASES[:] = cases(asked.table)
    TABLE[:] = asked.table, asked.again
    random.Random(asked.seed).shuffle(CASES)
    print(f"{len(CASES)} {asked.table} of {len({name for name, _ in CASES})} launches")
    with get_context("fork").Pool(asked.jobs) as pool:
        report(asked.table, asked.count, pool.imap(looked_at, range(len(CASES))))


def report(table: str, wanted: int, found: Iterable[Seen]) -> None:
    """A line for each case that is worth reading, and the counts."""
    counted: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    odd = Decision.EQUAL if table == "mutants" else Decision.DIFFERENT
    for (name, one), seen in zip(CASES, found, strict=True):
        if seen.answer is None:
            counted["does not apply"] += 1
            continue
        counted[seen.answer.value] += 1
        kinds[f"{one.op.name}: {one.name}"] += 1
        if seen.answer in (odd, Decision.NOT_DECIDED):
            place = f"{name}, {one.op.name} at {one.op.offset:#x}"
            print(f"{seen.answer.value}: {place}: {one.name} {seen.reason[:150]}", flush=True)
        if seen.again is not None:
            print(f"  beside the kernel: {seen.again.value} {seen.more}", flush=True)
            counted[f"equal, beside the kernel {seen.again.value}"] += 1
        if sum(kinds.values()) == wanted:
            break
    print(dict(counted))
    print(dict(kinds))


if __name__ == "__main__":
    main(sys.argv[1:])
