"""What is kept of a launch: plain data that crosses from one process to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import msgspec

from ...launching.checking import Checked
from ...pipeline import solver_version
from ...results import KernelResult, Verdict

REFUTED: Final = Verdict.REFUTED.value
PROVED: Final = Verdict.PROVED.value


@dataclass(frozen=True, slots=True)
class Judged:
    """One launch.  ``new``: it was verified for itself; else an earlier verdict covers it.  ``report`` is the text of
    one that is not proved; ``seconds`` is what the verdict took."""

    kernel: str
    verdict: str
    sentence: str
    report: str
    new: bool
    seconds: float

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


def judged(result: KernelResult, *, new: bool, seconds: float) -> Judged:
    if result.verdict is Verdict.PROVED:
        return Judged(result.kernel, PROVED, "", "", new, seconds)
    from ...system.version import __version__

    first = result.findings[0] if result.findings else None
    at = next((f" at {site.file}:{site.line}" for site in first.sites if site.line is not None), "") if first else ""
    why = f": {first.message} [{first.code}]{at}" if first else ""
    report = f"{Checked((result,), __version__, solver_version())}\n"
    return Judged(
        result.kernel, result.verdict.value, f"'{result.kernel}' is {result.verdict.value}{why}", report, new, seconds
    )


@dataclass
class LaunchCounts:
    """Of a test run, over all its processes."""

    launches: int = 0
    seconds: float = 0.0
    verdicts: dict[str, int] = field(default_factory=dict)

    def add(self, launch: Judged) -> None:
        self.launches += 1
        self.seconds += launch.seconds
        if launch.new:
            self._add({launch.verdict: 1})

    def add_all(self, other: LaunchCounts) -> None:
        """What another process counted."""
        self.launches += other.launches
        self.seconds += other.seconds
        self._add(other.verdicts)

    def _add(self, verdicts: Mapping[str, int]) -> None:
        self.verdicts = dict(Counter(verdicts) + Counter(self.verdicts))

    def line(self) -> str:
        """``12 launches, 3 verified: 2 proved, 1 refuted (4.1 s)``"""
        verdicts = Counter(self.verdicts)
        order = [verdict.value for verdict in Verdict if verdicts[verdict.value]]
        parts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in order)
        made = f"{self.launches} launch{'' if self.launches == 1 else 'es'} of cuda.tile"
        return f"{made}, {verdicts.total()} verified: {parts} ({self.seconds:.1f} s)" if parts else made


def not_passed(launches: Iterable[Judged], allow: frozenset[str]) -> list[Judged]:
    """Those that fail a test which lets ``allow`` pass, each kernel's sentence once."""
    found: dict[str, Judged] = {}
    for launch in launches:
        if launch.allowed not in allow:
            found.setdefault(launch.sentence, launch)
    return list(found.values())
