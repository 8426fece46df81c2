"""What a campaign came to: by kind of mistake, how many broke the kernel, and what the tool said of those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .subjects import KINDS

NO_KERNEL = "no kernel"
GREEN = ("green", "green, unsound", "green, padding")


@dataclass(frozen=True, slots=True)
class Line:
    """What is remembered of a mistake; `judge.Judged` has most of it in full."""

    mistake: str
    kernel: str
    kind: str
    line: int
    change: str
    truth: str
    shows: str
    breaks: str
    why: str
    outcome: str
    verdict: str
    requires: tuple[str, ...]
    limits: tuple[str, ...]
    codes: tuple[str, ...]
    wrong: str
    prove_s: float
    judge_s: float

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Line:
        read: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in record.items()}
        return cls(**read)

    @property
    def broken(self) -> bool:
        """Whether some launch of the contract breaks it, whatever its arrays hold."""
        return self.truth == "broken" and self.outcome != "open parts"

    def __str__(self) -> str:
        parts = [f"{self.outcome:14} {self.mistake}: {self.change}", f"at {self.breaks}" if self.breaks else ""]
        return "  ".join(filter(None, [*parts, *(f"[{clause}]" for clause in self.requires), self.wrong]))


def table(lines: Sequence[Line], seed: int) -> str:
    """Counts only, no times: equal texts for equal behaviour."""
    return "\n".join(_table([line for line in lines if line.outcome != NO_KERNEL], seed))


def _table(lines: Sequence[Line], seed: int) -> Iterator[str]:
    broken = [line for line in lines if line.broken]
    refuted = sum(line.outcome == "refuted" for line in broken)
    yield f"{len(lines)} mistakes in {len({line.kernel for line in lines})} kernels, seed {seed}"
    yield f"broken by some launch of the written contract: {len(broken)}"
    yield f"  refuted: {refuted} ({100 * refuted / max(1, len(broken)):.1f} %)"
    yield f"green, though a launch breaks it: {sum(line.outcome in GREEN for line in lines)}"
    yield f"  with a clause that nobody wrote: {sum(line.outcome == 'green' for line in lines)}"
    yield f"  with none that the launch breaks: {sum(line.outcome == 'green, unsound' for line in lines)}"
    yield f"  with padding that nobody chose: {sum(line.outcome == 'green, padding' for line in lines)}"
    yield f"refuted without a fault: {sum(line.outcome == 'false alarm' for line in lines)}"
    yield ""
    yield "                          broken                        by contents        no fault seen          not"
    yield "mistake            all |  all refuted undecided green |  all refuted green |  all refuted green | followed"
    for kind in (*KINDS, "all"):
        mine = [line for line in lines if kind in (line.kind, "all")]
        if mine:
            yield _row(kind, mine)


def _row(kind: str, mine: Sequence[Line]) -> str:
    def count(truth: str, *outcomes: str) -> int:
        known = [line for line in mine if line.truth == truth and line.outcome != "open parts"]
        return sum(not outcomes or line.outcome in outcomes for line in known)

    broken, data, unseen = (f"{count(truth):4} {count(truth, 'refuted'):7} " for truth in ("broken", "data", "unseen"))
    return (
        f"{kind:16}{len(mine):6} | {broken}{count('broken', 'undecided'):9} {count('broken', *GREEN):5} | "
        f"{data}{count('data', *GREEN):5} | {unseen}{count('unseen', *GREEN):5} | {count('open'):8}"
    )
