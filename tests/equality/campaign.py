"""Changed kernels beside their references: ``python -m tests.equality.campaign mutants|rewrites COUNT [SEED]``."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from time import process_time

from tests.corpus.references import NUMBERS, REFERENCES

from tileverify.backend.numbers.conditions import ContractInNumbers
from tileverify.corpus import Labelled
from tileverify.equality.deciding import Decision, ExactAnswer, Options, decide

from .changes import MUTANTS, REWRITES, Changed, DoesNotApply, changed, changed_loop, changes_of
from .corpus import LABELS, exact_case, other_of, values_of

MOST_STEPS = 1 << 25


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


def main(words: list[str]) -> None:
    table, wanted = words[0], int(words[1])
    source = random.Random(int(words[2]) if len(words) > 2 else 1)
    all_cases = cases(table)
    source.shuffle(all_cases)
    print(f"{len(all_cases)} {table} of {len({name for name, _ in all_cases})} launches")
    counted: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    start = process_time()
    for name, one in all_cases:
        found = judged(name, one, mutant=table == "mutants")
        if found is None:
            counted["does not apply"] += 1
            continue
        counted[found.answer.value] += 1
        kinds[f"{one.op.name}: {one.name}"] += 1
        odd = Decision.EQUAL if table == "mutants" else Decision.DIFFERENT
        if found.answer in (odd, Decision.NOT_DECIDED):
            print(
                f"{found.answer.value}: {name}, {one.op.name} at {one.op.offset:#x}: {one.name} {found.reason[:150]}",
                flush=True,
            )
        if sum(kinds.values()) == wanted:
            break
    print(dict(counted), f"{process_time() - start:.0f} s")
    print(dict(kinds))


if __name__ == "__main__":
    main(sys.argv[1:])
