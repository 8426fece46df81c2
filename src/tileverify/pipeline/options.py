"""What a check is asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..results import MOST_REFUTATIONS

if TYPE_CHECKING:
    from ..frontend.sources.discover import Skip
    from ..verifier.effort import ResourceBudget
    from .configuration import FileSettings


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """``timeout_s``: wall clock for each kernel, without compilation; the solver's resource limit holds always.
    ``deny_requires``: add no clause to the user's contract.  ``deny_limits``: size limits are errors, in every launch.
    ``jobs``: processes, 0: as many as pay off; more than
    one needs a guarded ``__main__``.  ``cache``: folder, None: none.  ``playback``: write pytest files that reproduce
    what is refuted into the results.  ``certificate``: the same with the certificates of what is proved.  ``repair``:
    try repairs of what is refuted, and offer those that are proved as hints; each costs a compilation and a proof.
    ``quick_repairs``: the same with the likeliest few, as far as they cost little.  ``witnesses``: refute what is not
    proved; without them it is undecided, and nobody is told why.
    ``details``: collect what pages show of every kernel.  ``complete``: look which arrays a proved kernel writes whole.
    ``audit``: compare what is proved with runs of the interpreter (`second_readings`).  ``compiled``: and the code that
    the assembler makes of it for these architectures (`second_readings`).  ``per_file``: other limits for some files.
    ``skip``: which files in folders are none of our business.  ``effort``: how many times the usual account
    (`verifier.effort`) pays for the proof of each kernel.  ``under_way`` is told what is being verified. ``trust``:
    words of `contract.trustable`, for every launch.  ``seed`` of the solver and how many times the usual ``limits``
    each of its questions has: what `stability` varies.  ``archives``: the folder for what is needed to report a failure
    of the tool (`system.crash_report`), None: none.  ``refutations``: so many faults of a kernel are looked for."""

    timeout_s: float | None = None
    deny_requires: bool = False
    deny_limits: bool = False
    jobs: int = 1
    cache: Path | None = None
    playback: bool = False
    certificate: bool = False
    repair: bool = False
    quick_repairs: bool = False
    witnesses: bool = True
    details: bool = False
    complete: bool = False
    audit: bool = False
    compiled: tuple[str, ...] = ()
    per_file: tuple[FileSettings, ...] = ()
    skip: Skip | None = None
    effort: float = 1.0
    under_way: UnderWay | None = None
    trust: tuple[str, ...] = ()
    seed: int = 0
    limits: float = 1.0
    archives: Path | None = None
    refutations: int = MOST_REFUTATIONS

    def of(self, file: Path) -> CheckOptions:
        """The options for one file."""
        timeout_s, deny_requires, effort = self.timeout_s, self.deny_requires, self.effort
        resolved = file.resolve() if self.per_file else file
        for settings in self.per_file:
            if settings.matches(resolved):
                timeout_s = timeout_s if settings.timeout is None else settings.timeout
                deny_requires = deny_requires if settings.deny_requires is None else settings.deny_requires
                effort = effort if settings.effort is None else settings.effort
        return replace(self, timeout_s=timeout_s, deny_requires=deny_requires, effort=effort, per_file=())

    @property
    def anew(self) -> bool:
        """Whether more is wanted of a proof than its verdict, which is all that is kept of it."""
        return self.certificate or self.complete or self.audit or bool(self.compiled)

    @property
    def decisive(self) -> dict[str, object]:
        """Those on which a verdict depends that is kept."""
        key: dict[str, object] = {"deny_requires": self.deny_requires}
        varied = {"effort": (self.effort, 1), "seed": (self.seed, 0), "limits": (self.limits, 1)}
        varied["refutations"] = (self.refutations, MOST_REFUTATIONS)
        return key | {name: value for name, (value, usual) in varied.items() if value != usual}


USUAL: Final = CheckOptions()


# ------------------------------------------------------------------------------------------------------------ under way
# What is being verified at this moment, for people who wait.


@dataclass
class UnderWay:
    """Written by who works, read by another thread: ``kernel``, empty if none is under way, ``since`` when (of
    `time.monotonic`), and the account that says what its proof is at."""

    kernel: str = ""
    since: float = 0.0
    effort: ResourceBudget | None = None

    @contextmanager
    def at(self, kernel: str) -> Iterator[None]:
        """Meanwhile it is this kernel."""
        self.begin(kernel)
        try:
            yield
        finally:
            self.end()

    def begin(self, kernel: str) -> None:
        """From now on it is this kernel."""
        self.effort, self.since, self.kernel = None, time.monotonic(), kernel

    def end(self) -> None:
        """From now on it is none."""
        self.kernel = ""

    def proves(self, effort: ResourceBudget) -> None:
        """Its proof has begun, and is paid from this account."""
        self.effort = effort

    def words(self) -> str:
        """``kernel.py::add [0]: 3 s, clauses for the contract, TV101, the store of `out` at line 12``; empty if nothing
        is under way."""
        kernel, since, effort = self.kernel, self.since, self.effort
        if not kernel:
            return ""
        at = [f"{kernel}: {time.monotonic() - since:.0f} s"]
        if effort is not None:
            from ..verifier.messages import short

            stage, obligation = effort.stage, effort.obligation
            at += [each for each in (stage, short(obligation) if obligation is not None else "") if each]
        return ", ".join(at)

    @property
    def seconds(self) -> float:
        """For how long the kernel has been under way; 0 if none is."""
        return time.monotonic() - self.since if self.kernel else 0.0
