"""Certificates of the corpus, each changed in one place, and what `recheck` says of them.

    python -m campaigns.tamper.campaign --count 10000 --seed 1 [--jobs 16] [--units FILE]

What is confirmed must still be true.  Two judges: the certificate states what the original states (contract, clauses,
entry, obligations), which the prover proved and which was confirmed, so that only its way there was changed; or the
prover proves the kernel anew under the contract that it states now, with as many obligations.  Anything else that is
confirmed is counted as ``false``, and printed.  Each change has a source of chance of its own, made of the seed and its
number, so that the number of processes changes nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.corpus.kept import kept

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict
from tileverify.system.errors import TileVerifyError
from tileverify.system.parallel import map_ordered
from tileverify.verifier.certificate.model import CertificateError, digest_of, read_certificate
from tileverify.verifier.certificate.recheck import Rechecking, recheck
from tileverify.verifier.certificate.second_solver import LIMIT, SecondSolver
from tileverify.verifier.certificate.write import prove_again

from .changes import KINDS, Json

LARGEST = 120_000
"""Characters of a certificate that is changed; larger ones cost as much as ten others."""

_STATED = ("symbol", "launch", "parameters", "requires")

_COLUMNS: Final = ("rejected", "not confirmed", "unchanged claim", "true claim", "false", "crashed")

_PARTS: Final = 4
"""Parts of the campaign for each process: one that takes long leaves the others to the rest."""


@dataclass
class Tally:
    """What became of the changes, by kind and answer; ``false``: confirmed claims that nobody can vouch for."""

    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.answers.update(other.answers)
        self.false += other.false

    def lines(self) -> Iterator[str]:
        yield f"{'kind':22}" + "".join(f"{column:>17}" for column in _COLUMNS)
        for kind in (*KINDS, None):
            counts = (
                sum(n for (k, a), n in self.answers.items() if a == each and kind in (k, None)) for each in _COLUMNS
            )
            yield f"{kind or 'all':22}" + "".join(f"{count:17}" for count in counts)


@dataclass(frozen=True)
class Original:
    name: str
    document: Json
    bytecode: bytes


def compiled(folders: Sequence[str]) -> list[KernelUnit]:
    """What stands in ``folders`` of the corpus."""
    return [unit for folder in folders for unit in discover([str(ROOT / folder)]) if isinstance(unit, KernelUnit)]


def originals(units: Sequence[KernelUnit], jobs: int = 1) -> list[Original]:
    """Certificates of what is proved of ``units``, with ``jobs`` processes."""
    found = map(_original, units) if jobs == 1 else map_ordered(_original, units, jobs=jobs, crashed=_no_original)
    return [original for original in found if original is not None]


def _original(unit: KernelUnit) -> Original | None:
    result = check_unit(unit, CheckOptions(certificate=True))
    if result.verdict is not Verdict.PROVED or result.certificate is None:
        return None
    text = result.certificate.text
    if len(text) > LARGEST:
        return None
    name = f"{unit.file.parent.name}: {unit.kernel} [{unit.launch.name}]"
    return Original(name, json.loads(text), result.certificate.bytecode)


def _no_original(unit: KernelUnit) -> None:
    """A process that dies while it proves would be found by other tests."""
    print(f"no certificate of {unit.kernel} [{unit.launch.name}]: the process died", file=sys.stderr)


def run(pool: Sequence[Original], count: int, seed: int, solver: SecondSolver, jobs: int = 1) -> Tally:
    """``count`` changes, each kind equally often; the same for the same seed and pool, whatever ``jobs`` are."""
    parts = 1 if jobs == 1 else min(_PARTS * jobs, max(count, 1))
    numbers = [range(first, count, parts) for first in range(parts)]
    one = partial(_part, tuple(pool), seed, solver)
    tally, start = Tally(), time.monotonic()
    done = map(one, numbers) if jobs == 1 else map_ordered(one, numbers, jobs=jobs, crashed=_died)
    for part in done:
        tally.add(part)
        if jobs > 1:
            said = f"{sum(tally.answers.values())} of {count} after {time.monotonic() - start:.0f} s"
            print(said, file=sys.stderr, flush=True)
    return tally


def _part(pool: Sequence[Original], seed: int, solver: SecondSolver, numbers: range) -> Tally:
    tally, kinds = Tally(), list(KINDS)
    for number in numbers:
        chance, kind = random.Random(f"{seed}:{number}"), kinds[number % len(kinds)]
        changed = None
        while changed is None:
            original = chance.choice(pool)
            changed = _changed(original.document, kind, chance)
        answer = _answer(original, changed, solver)
        tally.answers[kind, answer] += 1
        if answer in ("false", "crashed"):
            tally.false.append(f"{answer}: {kind}, number {number}: {original.name}")
    return tally


def _died(numbers: range) -> Tally:
    """Of a part whose process died nothing is known: all its changes count as crashes."""
    kinds = list(KINDS)
    answers = Counter((kinds[number % len(kinds)], "crashed") for number in numbers)
    return Tally(answers, [f"crashed: the process of changes {numbers.start}, {numbers.start + numbers.step}, ..."])


def _changed(document: Json, kind: str, chance: random.Random) -> Json | None:
    """A changed copy; ``None`` where there is nothing to change, or the change left everything as it was."""
    copy = deepcopy(document)
    if not KINDS[kind](copy, chance) or copy == document:
        return None
    copy["digest"] = digest_of(copy)
    return copy


def _answer(original: Original, changed: Json, solver: SecondSolver) -> str:
    text = json.dumps(changed)
    try:
        found = recheck(text, original.name, bytecode=original.bytecode, solver=solver)
    except CertificateError:
        return "rejected"
    except TileVerifyError:
        return "rejected"
    except Exception as error:
        print(f"{original.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return "crashed"
    if found.answer is not Rechecking.CONFIRMED:
        return "rejected" if found.answer is Rechecking.REJECTED else "not confirmed"
    if _claim(changed) == _claim(original.document):
        return "unchanged claim"
    return "true claim" if _is_true(changed, original) else "false"


def _claim(document: Json) -> list[Any]:
    """What a certificate says, apart from how it is proved, and from what `recheck` calls told and not looked at."""
    launch = {key: value for key, value in document["launch"].items() if key != "name"}
    stated = [launch if key == "launch" else document[key] for key in _STATED]
    places = [place[:3] for place in document["places"]]
    said = [
        [each["code"], each["level"], each["detail"], [places[number] for number in each["places"]]]
        for each in document["obligations"]
    ]
    return [*stated, said]


def _is_true(changed: Json, original: Original) -> bool:
    """Whether the prover proves just this, with as many obligations."""
    text = json.dumps(changed)
    try:
        prove_again(read_certificate(text, original.name), original.bytecode, original.name)
    except TileVerifyError:
        return False
    return len(changed["obligations"]) >= len(original.document["obligations"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="changes (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--limit", type=int, default=LIMIT, help="cvc5's resource units for one script (%(default)s)")
    parser.add_argument("--units", type=Path, metavar="FILE", help="the corpus, as tests.corpus.kept wrote it")
    parser.add_argument("folders", nargs="*", default=sorted(file.name for file in ROOT.iterdir() if file.is_dir()))
    options = parser.parse_args(arguments)
    start = time.monotonic()
    folders = [each for each in options.folders if any((ROOT / each).glob("*.labels.toml"))]
    if options.units:
        units = [unit for unit in kept(options.units) if unit.file.parent.name in folders]
    else:
        units = compiled(folders)
    pool = originals(units, options.jobs)
    if not pool:
        print("no kernel of these folders is proved", file=sys.stderr)
        return 2
    print(f"{len(pool)} certificates after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    tally = run(pool, options.count, options.seed, SecondSolver(options.limit), options.jobs)
    seconds = time.monotonic() - start
    print(f"{options.count} changes of {len(pool)} certificates, seed {options.seed}, {seconds:.0f} s")
    print("\n".join((*tally.lines(), *tally.false)))
    return 1 if tally.false else 0


if __name__ == "__main__":
    sys.exit(main())
