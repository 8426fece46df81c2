"""The corpus under many solver seeds and resource limits: no broken launch is ever proved, no right one refuted.

    python -m tests.soundness.seeds [--seeds 20] [--only TEXT] [--labelled VERDICT] [--json FILE]

Limits are the usual ones, a tenth of them, and ten times as much.  What comes out as `undecided` is no failure: with
few resources much does.  With ``--json`` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tileverify.backend.replay.replay import Replayer
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import Labelled, corpus_launches
from tileverify.frontend.bytecode import decode
from tileverify.pipeline import entry_of, summary_of
from tileverify.results import Verdict
from tileverify.verifier.rules.answers import Limits
from tileverify.verifier.verify import VerifyOptions, verify

from ..corpus.compiled import corpus_kernels

SEEDS: Final = 20
_USUAL: Final = Limits()


LIMITS: Final = {"small": _USUAL.times(0.1), "usual": _USUAL, "large": _USUAL.times(10)}


DECIDED: Final = (Verdict.REFUTED, Verdict.PROVED)


@dataclass(frozen=True, slots=True)
class Run:
    """One launch under one seed and limit; ``wrong``: the verdict contradicts the label."""

    launch: str
    label: str
    limits: str
    seed: int
    verdict: str
    wrong: bool


def labelled_units(only: str = "", verdicts: Sequence[Verdict] = DECIDED) -> Iterator[tuple[Labelled, KernelUnit]]:
    """The corpus' launches that are labelled with one of ``verdicts``."""
    labels = {(str(one.file), one.kernel, one.launch): one for one in corpus_launches()}
    for unit in corpus_kernels():
        label = labels.get((str(unit.file), unit.kernel, unit.launch.name))
        if label is not None and label.verdict in verdicts and only in label.id:
            yield label, unit


def runs(
    label: Labelled, unit: KernelUnit, seeds: Iterable[int], limits: Sequence[str] = tuple(LIMITS)
) -> Iterator[Run]:
    module = decode(unit.bytecode, file=str(unit.file))
    summary = summary_of(module, unit)
    confirm = Replayer(module, entry_of(module, unit), unit.parameters)
    opposite = Verdict.REFUTED if label.verdict is Verdict.PROVED else Verdict.PROVED
    for seed in seeds:
        for name in limits:
            options = VerifyOptions(limits=LIMITS[name], seed=seed)
            found = verify(summary, unit.launch, unit.parameters, options=options, confirm=confirm)
            yield Run(label.id, label.verdict.value, name, seed, found.verdict.value, found.verdict is opposite)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many (default {SEEDS})")
    parser.add_argument("--only", default="", help="only launches whose name contains this")
    parser.add_argument("--labelled", choices=[each.value for each in DECIDED], help="only launches with this label")
    parser.add_argument("--json", type=Path, help="write one JSON line for each run; launches that it has are kept")
    options = parser.parse_args(arguments)
    verdicts = [Verdict(options.labelled)] if options.labelled else DECIDED
    found = _read(options.json, len(LIMITS) * options.seeds)
    done = {run.launch for run in found}
    log = options.json.open("a") if options.json else None
    for label, unit in labelled_units(options.only, verdicts):
        for run in runs(label, unit, range(options.seeds)) if label.id not in done else ():
            found.append(run)
            if log:
                print(json.dumps(asdict(run)), file=log, flush=True)
            if run.wrong:
                print(f"WRONG {run}", flush=True)
    counted = collections.Counter((run.label, run.limits, run.verdict) for run in found)
    wrong = sum(run.wrong for run in found)
    for (labelled, limits, verdict), count in sorted(counted.items()):
        print(f"labelled {labelled:8}  limits {limits:6}  {verdict:9} {count:7}")
    print(f"{counted.total()} runs, {wrong} wrong")
    return 1 if wrong else 0


def _read(file: Path | None, complete: int) -> list[Run]:
    """The runs of an earlier call, but for a launch at which it was stopped: that one is run again."""
    if file is None or not file.exists():
        return []
    read = [Run(**json.loads(line)) for line in file.read_text().splitlines()]
    counted = collections.Counter(run.launch for run in read)
    kept = [run for run in read if counted[run.launch] == complete]
    file.write_text("".join(json.dumps(asdict(run)) + "\n" for run in kept))
    return kept


if __name__ == "__main__":
    sys.exit(main())
