"""Certificates of the corpus, each changed in one place, and what `recheck` says of them.

    python -m tests.soundness.tamper.campaign --count 10000 --seed 1 [--json FILE]

What is confirmed must still be true.  Two judges: the certificate states what the original states (contract, clauses,
entry, obligations), which the prover proved and which was confirmed, so that only its way there was changed; or the
prover proves the kernel anew under the contract that it states now, with as many obligations.  Anything else that is
confirmed is counted as ``false``, and printed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline import CheckOptions, check_unit
from tileverify.results import Verdict
from tileverify.system.errors import TileVerifyError
from tileverify.verifier.certificate.again import prove_again
from tileverify.verifier.certificate.document import digest_of, read_certificate
from tileverify.verifier.certificate.model import CertificateError
from tileverify.verifier.certificate.recheck import Rechecking, recheck
from tileverify.verifier.certificate.second_solver import SecondSolver

from .changes import KINDS, Json

LARGEST = 120_000
"""Characters of a certificate that is changed; larger ones cost as much as ten others."""

_STATED = ("symbol", "launch", "parameters", "requires")


@dataclass
class Tally:
    """What became of the changes, by kind and answer; ``false``: confirmed claims that nobody can vouch for."""

    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    false: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        columns = ("rejected", "not confirmed", "unchanged claim", "true claim", "false", "crashed")
        yield f"{'kind':22}" + "".join(f"{column:>17}" for column in columns)
        for kind in (*KINDS, None):
            counts = (
                sum(n for (k, a), n in self.answers.items() if a == each and kind in (k, None)) for each in columns
            )
            yield f"{kind or 'all':22}" + "".join(f"{count:17}" for count in counts)


@dataclass(frozen=True)
class Original:
    name: str
    document: Json
    bytecode: bytes


def originals(folders: Sequence[str]) -> list[Original]:
    """Certificates of what is proved in ``folders`` of the corpus."""
    found = []
    for folder in folders:
        for unit in discover([str(ROOT / folder)]):
            if isinstance(unit, KernelUnit):
                result = check_unit(unit, CheckOptions(certificate=True))
                if result.verdict is Verdict.PROVED and result.certificate is not None:
                    text = result.certificate.text
                    if len(text) <= LARGEST:
                        name = f"{folder}: {unit.kernel} [{unit.launch.name}]"
                        found.append(Original(name, json.loads(text), result.certificate.bytecode))
    return found


def run(pool: Sequence[Original], count: int, seed: int, solver: SecondSolver) -> Tally:
    """``count`` changes, each kind equally often; the same for the same seed and pool."""
    chance, tally = random.Random(seed), Tally()
    kinds = list(KINDS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        changed = None
        while changed is None:
            original = chance.choice(pool)
            changed = _changed(original.document, kind, chance)
        answer = _answer(original, changed, solver)
        tally.answers[kind, answer] += 1
        if answer in ("false", "crashed"):
            tally.false.append(f"{kind}, number {number}: {original.name}")
    return tally


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
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folders", nargs="*", default=sorted(file.name for file in ROOT.iterdir() if file.is_dir()))
    options = parser.parse_args(arguments)
    pool = originals([folder for folder in options.folders if any((ROOT / folder).glob("*.labels.toml"))])
    tally = run(pool, options.count, options.seed, SecondSolver())
    print(f"{options.count} changes of {len(pool)} certificates, seed {options.seed}")
    print("\n".join((*tally.lines(), *tally.false)))
    return 1 if tally.false else 0


if __name__ == "__main__":
    sys.exit(main())
