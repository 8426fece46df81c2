"""Premises of the prover's rules deleted one at a time: which of them does no kernel and no test guard?

    python -m campaigns.premises.campaign order locks [--folder protocols] [--units FILE] [--json FILE]

Words are modules of `verifier/obligations`.  ``--folder`` says which folders of the corpus are judged, ``--test``
which tests are run with what their labels did not notice.  A survivor is no bug: either another premise says the
same, or only effort and messages depend on it, or a kernel is missing that would be wrongly proved without it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.corpus.compiled import corpus_kernels
from tests.corpus.kept import kept

from tileverify.corpus import corpus_launches
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict
from tileverify.verifier import obligations

from .deletions import Deletion, deletions
from .judgement import Noticed, judge, subjects_of

OBLIGATIONS = Path(obligations.__file__).parent


def summary(noticed: Sequence[tuple[Deletion, Noticed]]) -> str:
    """One line for each module: deletions, and who noticed how many."""
    lines = [f"{'module':24}{'deleted':>8}{'wrong':>7}{'label':>7}{'broken':>8}{'test':>6}{'nobody':>8}{'not run':>9}"]
    for file in dict.fromkeys(deletion.file for deletion, _ in noticed):
        counts = Counter(found.how for deletion, found in noticed if deletion.file == file)
        lines.append(
            f"{file.stem:24}{counts.total():8}{counts['wrong']:7}{counts['label']:7}{counts['broken']:8}{counts['test']:6}"
            f"{counts['nobody']:8}{counts['not run']:9}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", nargs="+", choices=sorted(file.stem for file in OBLIGATIONS.rglob("*.py")))
    parser.add_argument("--folder", action="append", default=[], help="only kernels of this folder of the corpus")
    parser.add_argument("--broken", action="store_true", help="only launches that are not to be proved")
    parser.add_argument("--test", action="append", default=[], type=Path, help="a file of tests for the survivors")
    parser.add_argument("--line", type=int, help="only deletions that begin in this line")
    parser.add_argument(
        "--seconds",
        type=float,
        default=30.0,
        help="of the processor for one deletion, and again for its tests (%(default)s)",
    )
    parser.add_argument("--units", type=Path, metavar="FILE", help="the corpus, as tests.corpus.kept wrote it")
    parser.add_argument("--json", type=Path, help="write one JSON line for each deletion")
    options = parser.parse_args(arguments)
    labels = {(label.file, label.kernel, label.launch): label for label in corpus_launches()}
    units = [
        unit
        for unit in (kept(options.units) if options.units else corpus_kernels())
        if (not options.folder or unit.file.parent.name in options.folder)
        and not (options.broken and labels[unit.file, unit.kernel, unit.launch.name].verdict is Verdict.PROVED)
    ]
    check_unit(units[0])  # loads what a check loads
    subjects = subjects_of(units, labels, OBLIGATIONS, options.seconds)
    print(f"{len(subjects)} launches traced", file=sys.stderr, flush=True)
    noticed: list[tuple[Deletion, Noticed]] = []
    log = options.json.open("w") if options.json else None
    for name in options.module:
        for file in sorted(OBLIGATIONS.rglob(f"{name}.py")):
            for deletion in deletions(file):
                if options.line not in (None, deletion.lines[0]):
                    continue
                found = judge(deletion, subjects, options.test, options.seconds)
                noticed.append((deletion, found))
                if found.how in ("nobody", "not run"):
                    print(f"{found.how}: {deletion.name} ({found.judged} of {found.reached} launches)", flush=True)
                if log:
                    print(json.dumps({"deletion": deletion.name, **asdict(found)}), file=log, flush=True)
    print(summary(noticed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
