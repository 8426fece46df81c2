"""Whether the verdict on a broken kernel is right under the contract as it is written.

The interpreter speaks first (`mutants.truth`), of small launches that the contract allows; the prover is asked after
it.  Nobody wrote the clauses that a verdict adds, so a launch that breaks the kernel counts whether or not it keeps
them; but for clauses on what the contract leaves open: the grid where it names none, strides that have names of their
own, addresses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tileverify.backend.interpreter import Budget, Memory, run_block
from tileverify.backend.replay.replay import ONLY_OPEN, is_claimed, uses
from tileverify.contract.expressions import constant_value
from tileverify.contract.launch import KernelUnit, LaunchSpec
from tileverify.frontend.bytecode.traverse import walk
from tileverify.results import KernelResult, Verdict
from tileverify.results.claim import claim_from_json
from tileverify.results.codes import TV

from ...corpus.launches import VARIANTS, Drawn
from ...corpus.values import arrays_of
from ..faults import STEPS, Fault, Watched
from ..hunt import NotUnderstood, admitting
from ..mutants.judgement import left_idle, unreal
from ..mutants.launches import counted_contents
from ..mutants.subjects import Subject
from ..mutants.truth import Truth, Truths
from ..mutants.written import open_clauses, within_limits
from .launches import FURTHER_BELOW, drawn_of, holds, small_launches, told

LAUNCHES, WITH_FACTS, FURTHER = 12, 6, 24
"""Launches that are looked at first, those of a contract with facts on contents, and more of them where a kernel is
proved in which none of those shows a fault."""
OPENED = 4
"""Launches in which padding that nobody chose is followed."""
Prover = Callable[[KernelUnit], KernelResult]


class WrittenTruths(Truths):
    """What a changed kernel is in small launches of the contract as it is written."""

    def _own_launches(self) -> list[Drawn]:
        spec = self.unit.launch
        count, variants = (WITH_FACTS, VARIANTS) if spec.data else (LAUNCHES, 1)
        return small_launches(spec, count, variants, admits=admitting(self.requires))

    @property
    def _steered_by_contents(self) -> bool:
        """A fact that is missing may be what is wrong, wherever integers are loaded."""
        return any(array.dtype[0] in "iu" for array in arrays_of(self.unit.launch))


@dataclass(frozen=True, slots=True)
class Judged:
    """``outcome``: the verdict, but ``green`` where it is `proved` and must not be, with ``wrong`` in words.

    ``shows``: the fault, ``breaks``: the launch that has it.
    """

    truth: Truth
    result: KernelResult | None
    outcome: str
    wrong: str = ""
    breaks: str = ""
    prove_s: float = 0.0
    judge_s: float = 0.0


@dataclass(frozen=True)
class Contract:
    """A kernel's launch as it is written, and the launches that stand for it; ``given``: clauses on its open parts."""

    unit: KernelUnit
    given: tuple[str, ...] = ()

    @cached_property
    def truths(self) -> WrittenTruths:
        seen = tuple(fact.text for fact in self.unit.launch.observed)
        return WrittenTruths(Subject(self.unit.kernel, self.unit, recorded=False), self.given, seen)

    @property
    def spec(self) -> LaunchSpec:
        """With what was observed: the proof is of that."""
        return self.truths.unit.launch

    def judge(self, unit: KernelUnit, prover: Prover) -> Judged:
        """``unit``: the kernel, or a changed one under the same contract."""
        started = time.perf_counter()
        truth = self.truths.of(unit)
        judged = time.perf_counter()
        result = prover(unit)
        proved = time.perf_counter()
        outcome, wrong, breaks = self._outcome(unit, truth, result)
        judge_s = judged - started + time.perf_counter() - proved
        return Judged(truth, result, outcome, wrong, breaks, proved - judged, judge_s)

    def _outcome(self, unit: KernelUnit, truth: Truth, result: KernelResult) -> tuple[str, str, str]:
        breaks = self._told(truth.fault)
        if result.verdict is Verdict.REFUTED:
            wrong = next(unreal(unit, result), "") or self._beyond_limits(truth, result)
            return ("false alarm" if wrong else "refuted", wrong, breaks)
        if result.verdict is Verdict.ERROR and (truth.kind == "broken" or not left_idle(result)):
            return "error", f"error: {result.findings[0].message}", breaks
        if result.verdict is not Verdict.PROVED:
            return result.verdict.value, "", breaks
        for fault in self._faults(unit, truth):
            green = self._green(unit, result, fault)
            return (*green, self._told(fault)) if green else ("open parts", "", self._told(fault))
        if not _told_open(result):
            use = next(self._open_uses(unit), "")
            if use:
                return "green, padding", f"proved without TV403, but {use}", ""
        return "proved", "", ""

    def _beyond_limits(self, truth: Truth, result: KernelResult) -> str:
        """Why witnesses do not count: limits exclude them, and no small launch of the contract is at fault."""
        witnesses = [each.witness.launch for each in result.findings if each.witness and each.witness.launch]
        launches = [claim_from_json(each)[0] for each in witnesses]
        empty = {each.name for each in self.spec.arrays() if any(constant_value(size) == 0 for size in each.shape)}
        alone = truth.fault is None and not any(within_limits(each, empty) for each in launches)
        return f"refuted by launches beyond the limits alone: {launches[0]}" if alone and launches else ""

    def _told(self, fault: Fault | None) -> str:
        if fault is None:
            return ""
        drawn = drawn_of([*self.truths.own, *self._further], fault.launch)
        sizes = ", ".join(f"{name} {list(array.shape)}" for name, array in fault.launch.arrays.items())
        return told(drawn) if drawn else f"{sizes}, grid {fault.launch.grid}"

    # ----------------------------------------------------------------------------------------------- proved
    @cached_property
    def _further(self) -> list[Drawn]:
        variants = 2 if self.spec.data else 1
        return small_launches(self.spec, FURTHER, variants, 2, admitting(self.given), FURTHER_BELOW)

    def _faults(self, unit: KernelUnit, truth: Truth) -> Iterator[Fault]:
        """The fault that is known, or the first that shows in further launches."""
        if truth.fault is not None:
            yield truth.fault
        else:
            yield from self._shown(unit, self._further)

    def _shown(self, unit: KernelUnit, launches: Sequence[Drawn]) -> Iterator[Fault]:
        for drawn in launches:
            for launch in drawn.launches:
                for contents in counted_contents(self.spec, launch):
                    fault, _ = self.truths.fault(unit, launch, contents)
                    if fault is not None:
                        yield fault

    def _green(self, unit: KernelUnit, result: KernelResult, fault: Fault) -> tuple[str, str] | None:
        """Why a proof is wrong though the launch at fault may break a clause; ``None`` where only open parts do."""
        shows = f"{fault.code} shows: {fault.text}"
        drawn = drawn_of([*self.truths.own, *self._further], fault.launch)
        try:
            if not result.requires or (drawn and holds(self.spec, drawn, admitting(result.requires))):
                return "green, unsound", f"proved, but {shows}"
            only_open = open_clauses(self.spec, result.requires)
            if drawn is None or holds(self.spec, drawn, admitting(only_open)):
                return "green", f"proved under clauses that nobody wrote, but {shows}"
            left = small_launches(self.spec, LAUNCHES, VARIANTS if self.spec.data else 1, 3, admitting(only_open))
        except NotUnderstood as clause:
            return "green", f"proved under a clause that cannot be read: {clause}"
        for other in self._shown(unit, left):
            known = drawn_of(left, other.launch)
            kept = known is not None and holds(self.spec, known, admitting(result.requires))
            return "green, unsound" if kept else "green", f"proved, but {other.code} shows: {other.text}"
        return None

    # -------------------------------------------------------------------------------------- padding
    def _open_uses(self, unit: KernelUnit) -> Iterator[str]:
        """Values that the specification leaves open and that decide something, or reach an element of an array."""
        for drawn in self.truths.own[:OPENED]:
            watched = Watched(unit, drawn.launches[0])
            if not watched.logs:
                continue
            ops = {op.offset: op for op in walk(watched.entry.body)}
            for block in watched.blocks:
                bound = watched.bound
                log = run_block(
                    bound.program, bound.arguments, Memory(bound.image), watched.launch.grid, block,
                    Budget(STEPS), conduct=ONLY_OPEN,
                )  # fmt: skip
                for use in uses(log):
                    if use.source is not None and is_claimed(ops[use.source]):
                        yield f"{use} in block {block} of {told(drawn)}"


def _told_open(result: KernelResult) -> bool:
    """Whether the verdict says, as a finding or in a note, that values which are left open may decide something."""
    code = TV.UNDETERMINED
    return code in {each.code for each in result.findings} or any(f"({code.value})" in note for note in result.notes)
