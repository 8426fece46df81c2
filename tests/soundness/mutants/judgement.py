"""What a changed kernel is, by running it, and whether the prover's verdict on it is right.

The truth is the interpreter's alone: launches that were drawn before the prover was asked.

* ``broken``: a launch of the contract shows a fault, whatever index arrays hold of what the contract's facts allow, in
  all contents with which it does its work; for a race, values have room to keep a distance, if they have in any launch;
* ``data``: faults show with some contents of index arrays only (a further fact could exclude them, so that `undecided`
  with its name is the right answer);
* ``unseen``: no fault shows, and in some launch every block that was chosen ran to its end;
* ``open``: no fault shows, but in each launch some block could not be followed, or there is no launch.

A broken kernel may be `proved` under a clause that the launch at fault does not keep (``narrowed``), as the clause is
part of the verdict.  A `proved` kernel must show no fault in launches that keep its clauses, and the witness of a
`refuted` one must be a launch of the contract and show its fault.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tileverify.backend.interpreter import InterpreterStop
from tileverify.check import CheckOptions, check_unit
from tileverify.frontend.sources.launch import KernelUnit
from tileverify.results import Finding, KernelResult, Verdict
from tileverify.verifier.claim import ConcreteLaunch, claim_from_json

from ..faults import STEPS, Fault, Watched
from ..hunt import Hunter, NotUnderstood
from .admission import why_not_admitted
from .launches import counted_contents, launches_around, recorded_launch
from .subjects import Subject

RACES = ("TV101", "TV102", "TV103", "TV201", "TV202")
VARIANTS = 8
"""Contents of index arrays with facts that are tried."""
FEW_BLOCKS = 3
PATIENCE = 1 << 27
"""Steps for a recorded launch, and again for a few of its blocks if they were too few."""
WITNESS_STEPS = 1 << 28
AROUND = 4
"""Launches on which a wider proof of a recorded one is tried, each with `AROUND_STEPS`."""
AROUND_STEPS = 1 << 25


@dataclass(frozen=True, slots=True)
class Truth:
    """``kind`` as in the module's text; ``why`` it is open."""

    kind: str
    fault: Fault | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """``truth``: the interpreter's word; ``wrong``: why the verdict is wrong, in words that begin with the verdict.

    ``confirmed``: a witness shows its fault where the truth's own launches showed none.
    """

    result: KernelResult
    truth: Truth
    wrong: str | None = None
    confirmed: bool = False
    prove_s: float = 0.0
    judge_s: float = 0.0

    @property
    def outcome(self) -> str:
        """``narrowed`` where a broken kernel is rightly proved under clauses, else the verdict."""
        verdict = self.result.verdict
        if verdict is Verdict.PROVED and self.truth.kind in ("broken", "data") and not self.wrong:
            return "narrowed"
        return verdict.value


@dataclass
class Judge:
    """Judges changed versions of one subject; ``requires``: the clauses under which the subject itself was proved."""

    subject: Subject
    requires: tuple[str, ...]
    timeout_s: float | None = None
    _hunter: Hunter = field(init=False)
    _own: list[tuple[ConcreteLaunch, ...]] = field(init=False)

    def __post_init__(self) -> None:
        facts = self.subject.unit.launch.data
        self._hunter = Hunter(self.subject.unit, variants=VARIANTS if facts else 1)
        self._own = self._own_launches()

    def _own_launches(self) -> list[tuple[ConcreteLaunch, ...]]:
        if self.subject.recorded:
            launch = recorded_launch(self.subject.unit)
            return [] if launch is None else [(launch,)]
        return self._hunter.varied(self.requires)

    # ------------------------------------------------------------------------------------------- the truth
    def truth(self, unit: KernelUnit) -> Truth:
        """What the launches of the subject show of a changed version."""
        by_data: Fault | None = None
        crammed: Truth | None = None
        followed, why = False, "no launch of the contract was found"
        for variants in self._own:
            looked = self._look(unit, variants)
            if looked.kind == "broken":
                if looked.fault is None or looked.fault.code not in RACES or not self._crammed(variants):
                    return looked
                crammed = looked
            by_data = by_data or looked.fault
            followed, why = followed or not looked.why, looked.why or why
        if crammed is not None and all(map(self._crammed, self._own)):
            return crammed
        if by_data is not None:
            return Truth("data", by_data)
        return Truth("unseen") if followed else Truth("open", why=why)

    def _crammed(self, variants: Sequence[ConcreteLaunch]) -> bool:
        """Values that must differ have no room to keep a distance: fewer than two numbers for each."""
        facts = self.subject.unit.launch.data
        limited = {fact.array for fact in facts if fact.kind == "range"}
        distinct = {fact.array for fact in facts if fact.kind in ("injective", "disjoint_rows")}
        for name in limited & distinct:
            values = {value for launch in variants for value in launch.arrays[name].contents.values()}
            if values and max(values) - min(values) + 1 < 2 * len(variants[0].arrays[name].contents):
                return True
        return False

    def _look(self, unit: KernelUnit, variants: Sequence[ConcreteLaunch]) -> Truth:
        """What one launch shows with various contents."""
        seen: list[Fault] = []
        harmless: list[Watched] = []
        why = ""
        free = list(counted_contents(self.subject.unit.launch, variants[0]))
        turns = max(len(variants), len(free))
        tried = [(variants[turn % len(variants)], free[turn % len(free)]) for turn in range(turns)]
        if free != [{}]:
            tried.append((variants[0], {}))
        for launch, contents in tried:
            fault, watched = self._fault(unit, launch, contents)
            why = why or watched.open or ""
            if fault is not None:
                seen.append(fault)
            else:
                harmless.append(watched)
            if seen and any(each.at_stake(seen[0]) for each in harmless):
                break
        if seen and not any(each.at_stake(seen[0]) for each in harmless):
            return Truth("broken", seen[0])
        return Truth("open" if why else "unseen", seen[0] if seen else None, why)

    def _fault(
        self, unit: KernelUnit, launch: ConcreteLaunch, contents: Mapping[str, Any]
    ) -> tuple[Fault | None, Watched]:
        """The first fault, and the run, which says why there may be others."""
        own = any(launch in variants for variants in self._own)
        steps = 8 * STEPS // max(1, len(self._own))
        if self.subject.recorded:
            steps = PATIENCE if own else AROUND_STEPS
        watched = Watched(unit, launch, steps=steps, contents=contents)
        fault = next(watched.faults(), None)
        if fault is None and (watched.scoped or (not self.subject.recorded and launch is self._own[0][0])):
            fault = next(watched.explored(), None)
        if fault is None and own and watched.open and watched.logs and len(watched.blocks) > FEW_BLOCKS:
            few = [*watched.blocks[: FEW_BLOCKS - 1], watched.blocks[-1]]
            watched = Watched(unit, launch, steps=steps, contents=contents, blocks=few)
            fault = next(watched.faults(), None)
        return fault, watched

    # ----------------------------------------------------------------------------------------- the verdict
    def judge(self, unit: KernelUnit) -> Judged:
        started = time.perf_counter()
        truth = self.truth(unit)
        judged = time.perf_counter()
        result = check_unit(unit, CheckOptions(timeout_s=self.timeout_s))
        proved = time.perf_counter()
        wrong, confirmed = None, False
        if result.verdict is Verdict.PROVED:
            wrong = self._wrongly_proved(unit, result, truth)
        elif result.verdict is Verdict.REFUTED:
            wrong = next(self._unreal(unit, result), None)
            confirmed = wrong is None and truth.kind not in ("broken", "data")
        elif result.verdict is Verdict.ERROR:
            wrong = f"error: {result.findings[0].message}"
        judge_s = judged - started + time.perf_counter() - proved
        return Judged(result, truth, wrong, confirmed, proved - judged, judge_s)

    def _wrongly_proved(self, unit: KernelUnit, result: KernelResult, truth: Truth) -> str | None:
        if self.subject.recorded and truth.kind == "broken":
            assert truth.fault is not None
            return f"proved, but {truth.fault.code} shows in the recorded launch: {truth.fault.text}"
        try:
            launches = self._covered(result)
        except NotUnderstood as clause:
            return f"proved under a clause that cannot be read: {clause}"
        for launch in launches:
            contents = next(counted_contents(self.subject.unit.launch, launch))
            for each in (contents, {}) if contents else ({},):
                fault, _ = self._fault(unit, launch, each)
                if fault is not None:
                    return f"proved under {result.requires}, but {fault.code} shows: {fault.text} in {fault.launch}"
        return None

    def _covered(self, result: KernelResult) -> Sequence[ConcreteLaunch]:
        """Launches that the verdict speaks of."""
        if not self.subject.recorded:
            return self._hunter.launches(result.requires)
        if result.holds_for == "launch":
            return []
        return launches_around(self.subject.unit, result.requires, result.holds_for or "", AROUND)

    def _unreal(self, unit: KernelUnit, result: KernelResult) -> Iterator[str]:
        """Why a witness is none."""
        refuted = [finding for finding in result.findings if not finding.code.startswith("TV9")]
        if not refuted:
            yield "refuted without a finding"
        for finding in refuted:
            yield from self._unreal_finding(unit, finding)

    def _unreal_finding(self, unit: KernelUnit, finding: Finding) -> Iterator[str]:
        if finding.witness is None or finding.witness.launch is None:
            yield f"refuted: {finding.code} has no witness"
            return
        launch, claim = claim_from_json(finding.witness.launch)
        outside = why_not_admitted(unit.launch, launch, finding.witness)
        if outside is not None:
            yield f"refuted: the witness of {finding.code} is outside the contract: {outside}; {launch}"
        blocks = [block for block in (claim.block_a, claim.block_b) if block is not None]
        watched = Watched(unit, launch, steps=WITNESS_STEPS, blocks=blocks)
        seen = {fault.code for fault in watched.faults()}
        try:
            seen |= {fault.code for fault in watched.explored()}
        except InterpreterStop as stop:
            watched.open = watched.open or str(stop)
        if finding.code not in seen:
            yield f"refuted: the witness of {finding.code} shows {sorted(seen)} ({watched.open}): {launch}, {claim}"


def changed_unit(unit: KernelUnit, bytecode: bytes) -> KernelUnit:
    return replace(unit, bytecode=bytecode)
