"""The table of a mutation campaign: by kind of change, what the broken mutants and the others came to."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .mutators import MUTATORS

NARROWED = ("narrowed", "narrowed-data")


@dataclass(frozen=True, slots=True)
class Line:
    """What is remembered of a mutant; ``kind``: one, several with spaces between, or empty for the kernel itself.

    ``said``: a digest of all that the prover said, which is the same in every run.
    """

    mutant: str
    kind: str
    change: str
    truth: str
    shows: str
    open: str
    outcome: str
    holds_for: str
    requires: tuple[str, ...]
    codes: tuple[str, ...]
    wrong: str
    confirmed: bool
    prove_s: float
    judge_s: float
    said: str = ""

    def __str__(self) -> str:
        parts = [f"{self.truth:7} {self.outcome:9} {self.mutant}: {self.change}", *self.codes, self.shows, self.open]
        parts += [f"[{clause}]" for clause in self.requires]
        return "  ".join(filter(None, [*parts, f"WRONG {self.wrong}" if self.wrong else ""]))


def summary(lines: Sequence[Line], seed: int) -> str:
    """Counts only, no times: equal texts for equal behaviour."""
    return "\n".join(_summary(lines, seed))


def _summary(lines: Sequence[Line], seed: int) -> Iterator[str]:
    originals = [line for line in lines if not line.kind]
    mutants = [line for line in lines if line.kind]
    proved = [line for line in originals if line.outcome == "proved"]
    yield f"{len(mutants)} mutants of {len(proved)} proved kernels (of {len(originals)}), seed {seed}"
    yield f"  kernels that show a fault themselves: {sum(bool(line.shows) for line in proved)}"
    for kind in ("broken", "data", "unseen", "open"):
        mine = [line for line in mutants if line.truth == kind]
        counted = collections.Counter(_outcome(line) for line in mine)
        told = ", ".join(f"{counted[name]} {name}" for name in counted)
        yield f"  {kind:7}{len(mine):6}  {told}"
    broken = [line for line in mutants if line.truth == "broken"]
    decided = [line for line in broken if _outcome(line) not in NARROWED]
    refuted = sum(line.outcome == "refuted" for line in decided)
    yield f"broken and proved: {sum(_outcome(line) == 'WRONGLY PROVED' for line in mutants)}"
    yield f"broken and refuted: {refuted} of {len(decided)} ({100 * refuted / max(1, len(decided)):.1f} %)"
    yield f"refuted without a fault: {sum(_outcome(line) == 'WRONGLY REFUTED' for line in mutants)}"
    yield ""
    yield "                       broken                                   no fault seen               data        open"
    yield "kind          mutants   all refuted narrowed undecided proved | all refuted confirmed | all refuted |  all"
    for name in (*MUTATORS, "all"):
        mine = [line for line in mutants if name in (*line.kind.split(), "all")]
        if mine:
            yield _row(name, mine)
    yield ""
    yield "broken and undecided, by reason"
    reasons = collections.Counter(code for line in broken if line.outcome == "undecided" for code in line.codes)
    yield from (f"  {code:16}{count:6}" for code, count in sorted(reasons.items(), key=lambda i: (-i[1], i[0])))


def _outcome(line: Line) -> str:
    if line.wrong:
        return f"WRONGLY {line.wrong.split()[0].rstrip(',:').upper()}"
    return line.outcome


def _row(name: str, mine: Sequence[Line]) -> str:
    def count(truth: str, *outcomes: str) -> int:
        return sum(line.truth == truth and (not outcomes or _outcome(line) in outcomes) for line in mine)

    confirmed = sum(line.truth == "unseen" and line.confirmed for line in mine)
    return (
        f"{name:14}{len(mine):7} {count('broken'):5} {count('broken', 'refuted'):7} {count('broken', *NARROWED):8} "
        f"{count('broken', 'undecided'):9} {count('broken', 'WRONGLY PROVED'):6} | {count('unseen'):3} "
        f"{count('unseen', 'refuted', 'WRONGLY REFUTED'):7} {confirmed:9} | {count('data'):3} "
        f"{count('data', 'refuted'):7} | {count('open'):4}"
    )
