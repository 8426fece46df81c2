"""Whether the prover's verdict on a changed kernel is right.

`truth` says what the kernel is, before the prover is asked.  A broken kernel may be `proved` under a clause that the
launch at fault does not keep only where the clause speaks of what the contract leaves open, such as a grid that it does
not name (``narrowed``); nobody wrote any other, so that the verdict is wrong.  It may be `undecided` under one beside
which contents of index arrays decide.  A `proved` kernel must show no fault in launches that keep its clauses, and the
witness of a `refuted` one must be a launch of the contract and show its fault.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.corpus.launches import SCHEDULES

from tileverify.backend.interpreter import InterpreterStop
from tileverify.backend.interpreter.ordering import Schedule
from tileverify.contract.launch import ConcreteLaunch, KernelUnit
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Finding, KernelResult, Verdict
from tileverify.results.claim import claim_from_json

from ..faults import Watched
from ..hunt import NotUnderstood
from .admission import why_not_admitted
from .launches import counted_contents, launches_around
from .subjects import Subject
from .truth import Truth, Truths
from .written import limits_of, open_clauses

WITNESS_STEPS = 1 << 28
WITNESS_SCHEDULES = 96
"""Schedules of a witness that fewer do not show: blocks that share out work meet in few orders."""
AROUND = 4
"""Launches on which a wider proof of a recorded one is tried."""


def left_idle(result: KernelResult) -> bool:
    """Whether nothing is wrong but that the contract leaves the changed kernel nothing to do (TV004)."""
    return {finding.code for finding in result.findings} == {"TV004"}


@dataclass(frozen=True, slots=True)
class Judged:
    """``truth``: the interpreter's word; ``wrong``: why the verdict is wrong, in words that begin with the verdict.

    ``confirmed``: a witness shows its fault where the truth's own launches showed none.  ``rest``: the truth of the
    launches that keep the clauses of an `undecided` verdict on a broken kernel.
    """

    result: KernelResult
    truth: Truth
    wrong: str | None = None
    confirmed: bool = False
    prove_s: float = 0.0
    judge_s: float = 0.0
    rest: Truth | None = None

    @property
    def outcome(self) -> str:
        """``narrowed`` where a broken kernel is rightly proved under clauses on open parts; ``narrowed-data`` where it
        is `undecided` under clauses that the launches at fault do not keep and contents decide what is left; else the
        verdict."""
        verdict = self.result.verdict
        if verdict is Verdict.PROVED and self.truth.kind in ("broken", "data") and not self.wrong:
            return "narrowed"
        if self.rest is not None and self.rest.kind in ("data", "unseen"):
            return "narrowed-data"
        return verdict.value


@dataclass
class Judge:
    """Judges changed versions of one subject; ``requires``: the clauses under which the subject itself was proved.

    ``observed``: what its proof took from the recording of the launch.
    """

    subject: Subject
    requires: tuple[str, ...]
    timeout_s: float | None = None
    observed: tuple[str, ...] = ()
    truths: Truths = field(init=False)

    def __post_init__(self) -> None:
        self.truths = Truths(self.subject, self.requires, self.observed)

    def judge(self, unit: KernelUnit) -> Judged:
        started = time.perf_counter()
        truth = self.truths.of(unit)
        judged = time.perf_counter()
        result = check_unit(unit, CheckOptions(timeout_s=self.timeout_s))
        proved = time.perf_counter()
        wrong, confirmed, rest = None, False, None
        if result.verdict is Verdict.PROVED:
            wrong = self._wrongly_proved(unit, result, truth)
        elif result.verdict is Verdict.REFUTED:
            wrong = next(unreal(unit, result), None)
            confirmed = wrong is None and truth.kind not in ("broken", "data")
        elif result.verdict is Verdict.UNDECIDED and truth.kind == "broken":
            rest = self._under_clauses(unit, result)
        elif result.verdict is Verdict.ERROR and (truth.kind == "broken" or not left_idle(result)):
            wrong = f"error: {result.findings[0].message}"
        judge_s = judged - started + time.perf_counter() - proved
        return Judged(result, truth, wrong, confirmed, proved - judged, judge_s, rest)

    def _under_clauses(self, unit: KernelUnit, result: KernelResult) -> Truth | None:
        """What is left under the clauses of a verdict; ``None`` where it has none of its own."""
        if self.subject.recorded or set(result.requires) <= set(self.requires):
            return None
        try:
            return self.truths.under(unit, result.requires)
        except NotUnderstood:
            return None

    def _wrongly_proved(self, unit: KernelUnit, result: KernelResult, truth: Truth) -> str | None:
        if self.subject.recorded and not set(result.observed) <= set(self.observed):
            observed = tuple(dict.fromkeys((*self.observed, *result.observed)))
            truth = Truths(self.subject, self.requires, observed).of(unit)
        if self.subject.recorded and truth.kind == "broken":
            assert truth.fault is not None
            return f"proved, but {truth.fault.code} shows in the recorded launch: {truth.fault.text}"
        try:
            if truth.kind == "broken" and not self.subject.recorded:
                open_parts = open_clauses(self.subject.unit.launch, result.requires)
                added = [clause for clause in result.requires if clause not in (*open_parts, *self.requires)]
                if added:
                    return f"proved under {added}, which nobody wrote, but {truth.fault and truth.fault.text} shows"
            launches = self._covered(result)
        except NotUnderstood as clause:
            return f"proved under a clause that cannot be read: {clause}"
        for launch in launches:
            contents = next(counted_contents(self.subject.unit.launch, launch))
            for each in (contents, {}) if contents else ({},):
                fault, _ = self.truths.fault(unit, launch, each)
                if fault is not None:
                    return f"proved under {result.requires}, but {fault.code} shows: {fault.text} in {fault.launch}"
        return None

    def _covered(self, result: KernelResult) -> Sequence[ConcreteLaunch]:
        """Launches that the verdict speaks of; none around a recorded one where it needs what was observed there."""
        if not self.subject.recorded:
            return self.truths.hunter.launches((*result.requires, *limits_of(result)))
        if result.holds_for == "launch" or result.observed:
            return []
        return launches_around(self.subject.unit, result.requires, result.holds_for or "", AROUND)


def unreal(unit: KernelUnit, result: KernelResult) -> Iterator[str]:
    """Why a witness is none."""
    refuted = [finding for finding in result.findings if not finding.code.startswith("TV9")]
    if not refuted:
        yield "refuted without a finding"
    for finding in refuted:
        yield from _unreal_finding(unit, finding)


def _unreal_finding(unit: KernelUnit, finding: Finding) -> Iterator[str]:
    if finding.witness is None or finding.witness.launch is None:
        yield f"refuted: {finding.code} has no witness"
        return
    launch, claim = claim_from_json(finding.witness.launch)
    outside = why_not_admitted(unit.launch, launch, finding.witness)
    if outside is not None:
        yield f"refuted: the witness of {finding.code} is outside the contract: {outside}; {launch}"
    blocks = [block for block in (claim.block_a, claim.block_b) if block is not None]
    watched = Watched(unit, launch, steps=WITNESS_STEPS, blocks=blocks)
    seen, why = _shown(watched)
    if finding.code not in seen and watched.scoped:  # blocks that wait for others
        watched = Watched(unit, launch, steps=WITNESS_STEPS)
        seen, why = _shown(watched)
    if finding.code not in seen and watched.scoped:
        seen |= _explored(watched, WITNESS_SCHEDULES)
    if finding.code not in seen:
        yield f"refuted: the witness of {finding.code} shows {sorted(seen)} ({why}): {launch}, {claim}"


def _shown(watched: Watched) -> tuple[set[str], str]:
    """The codes of the faults that show, and why there may be others."""
    seen = {fault.code for fault in watched.faults()} | _explored(watched, SCHEDULES)
    return seen, watched.open or ""


def _explored(watched: Watched, schedules: Sequence[Schedule] | int) -> set[str]:
    try:
        return {fault.code for fault in watched.explored(schedules)}
    except InterpreterStop as stop:
        watched.open = watched.open or str(stop)
        return set()
