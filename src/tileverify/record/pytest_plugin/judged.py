"""What is kept of a launch: plain data that crosses from one process to another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import msgspec

from ...launching.checking import Checked
from ...pipeline.unit_summary import solver_version
from ...results import KernelResult, Verdict
from ...results.conditional import proved_if, under_conditions

REFUTED: Final = Verdict.REFUTED.value
PROVED: Final = Verdict.PROVED.value


EQUAL: Final = "equal"
DIFFERENT: Final = "different"
UNUSABLE: Final = "unusable"
"""Of a reference: it cannot be asked."""
NOT_DECIDED: Final = "not decided"


@dataclass(frozen=True, slots=True)
class LaunchEquality:
    """Of one launch and its reference.  ``answer``: that of `equal`, or `UNUSABLE`; ``bits``: a wrong "equal" is less
    likely than 2**-bits; ``new``: it was found for this launch, not for one before that was the same."""

    answer: str
    sentence: str
    report: str
    bits: float
    new: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """What fails a test: a sentence, and what its report says beside.  ``unequal``: it is about a reference."""

    sentence: str
    report: str
    unequal: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """One launch.  ``new``: it was verified for itself; else an earlier verdict covers it.  ``report`` is the text of
    one that is not proved; ``seconds`` is what the verdict took.  A proof has a sentence if it is conditional."""

    kernel: str
    verdict: str
    sentence: str
    report: str
    new: bool
    seconds: float
    equality: LaunchEquality | None = None

    @property
    def conditional(self) -> bool:
        return self.verdict == PROVED and self.sentence != ""

    @property
    def allowed(self) -> str:
        """The word for it in lists of what is let pass: an error of the tool is undecided, too."""
        return self.verdict if self.verdict in (PROVED, REFUTED) else Verdict.UNDECIDED.value

    def data(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, data: object) -> Judged:
        """The inverse of `data`; raises ValueError for anything else."""
        return msgspec.convert(data, cls)


def judged(result: KernelResult, *, new: bool, seconds: float, equality: LaunchEquality | None = None) -> Judged:
    if result.verdict is Verdict.PROVED:
        condition = proved_if(result)
        sentence = f"'{result.kernel}' is {condition}" if condition else ""
        return Judged(result.kernel, PROVED, sentence, "", new, seconds, equality)
    from ...system.version import __version__

    first = result.findings[0] if result.findings else None
    at = next((f" at {site.file}:{site.line}" for site in first.sites if site.line is not None), "") if first else ""
    why = f": {first.message} [{first.code}]{at}" if first else ""
    report = f"{Checked((result,), __version__, solver_version())}\n"
    return Judged(
        result.kernel,
        result.verdict.value,
        f"'{result.kernel}' is {result.verdict.value}{why}",
        report,
        new,
        seconds,
        equality,
    )


@dataclass
class LaunchCounts:
    """Of a test run, over all its processes."""

    launches: int = 0
    seconds: float = 0.0
    verdicts: dict[str, int] = field(default_factory=dict)
    conditional: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    bits: float | None = None

    def add(self, launch: Judged) -> None:
        self.launches += 1
        self.seconds += launch.seconds
        if launch.new:
            self._add({launch.verdict: 1})
            self.conditional += launch.conditional
        if launch.equality is not None and launch.equality.new:
            bits = launch.equality.bits if launch.equality.answer == EQUAL else None
            self._add_answers({launch.equality.answer: 1}, bits)

    def add_all(self, other: LaunchCounts) -> None:
        """What another process counted."""
        self.launches += other.launches
        self.seconds += other.seconds
        self._add(other.verdicts)
        self.conditional += other.conditional
        self._add_answers(other.answers, other.bits)

    def _add(self, verdicts: Mapping[str, int]) -> None:
        self.verdicts = dict(Counter(verdicts) + Counter(self.verdicts))

    def _add_answers(self, answers: Mapping[str, int], bits: float | None) -> None:
        self.answers = dict(Counter(answers) + Counter(self.answers))
        self.bits = min((each for each in (bits, self.bits) if each is not None), default=None)

    def compared(self) -> str:
        """``3 launches compared with references: 2 equal (a wrong yes is less likely than 2^-74), 1 not decided``, or
        nothing."""
        parts = []
        for answer in (EQUAL, DIFFERENT, NOT_DECIDED, UNUSABLE):
            if self.answers.get(answer):
                sure = f" (a wrong yes is less likely than 2^-{math.floor(min(self.bits or 0, 999))})"
                parts.append(f"{self.answers[answer]} {answer}{sure if answer == EQUAL else ''}")
        count = sum(self.answers.values())
        return (
            f"{count} launch{'' if count == 1 else 'es'} compared with references: {', '.join(parts)}" if parts else ""
        )

    def line(self) -> str:
        """``12 launches, 3 verified: 2 proved, 1 of them under conditions, 1 refuted (4.1 s)``"""
        verdicts = Counter(self.verdicts)
        order = [verdict.value for verdict in Verdict if verdicts[verdict.value]]
        under = {PROVED: under_conditions(self.conditional)}
        parts = ", ".join(f"{verdicts[verdict]} {verdict}{under.get(verdict, '')}" for verdict in order)
        made = f"{self.launches} launch{'' if self.launches == 1 else 'es'} of tile kernels"
        return f"{made}, {verdicts.total()} verified: {parts} ({self.seconds:.1f} s)" if parts else made


def unequal(launches: Iterable[Judged]) -> list[Failure]:
    """Those that are not what their references say, and references that cannot be asked, each sentence once."""
    found = (launch.equality for launch in launches)
    bad = (each for each in found if each is not None and each.answer in (DIFFERENT, UNUSABLE))
    return list({each.sentence: Failure(each.sentence, each.report, unequal=True) for each in bad}.values())


def not_passed(launches: Iterable[Judged], allow: frozenset[str]) -> list[Judged]:
    """Those that fail a test which lets ``allow`` pass, each kernel's sentence once."""
    found: dict[str, Judged] = {}
    for launch in launches:
        if launch.allowed not in allow:
            found.setdefault(launch.sentence, launch)
    return list(found.values())
