"""Repairs of submissions: a changed source is as untrusted as the one that came, and goes the same way.

Edits are proposed in the sandbox (`propose_job`); each changed text is screened, compiled and proved there as any
submission is, for the kernel and the launch at fault alone.  Only then is it called proved.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Final, TypeAlias

import msgspec

from ..pipeline.repair.catalogue import KINDS
from ..pipeline.repair.edits import edited, well_placed
from ..pipeline.repair.proposals import Proposal
from ..pipeline.repair.repairing import Prove, Trials, can_be_mended, repaired
from ..results import Edit, Hint, KernelResult, Verdict
from ..results.json_report import result_to_json
from .gated import GatedKernel, GateResult, Limits
from .jobs.proved import read_proof
from .jobs.requests import JobRequest, ProposalRequest, SubmissionRequest
from .sandbox.orders import JobKind, JobLimits
from .sandbox.sandbox import JobOutcome, Sandbox
from .screen.plain_values import harmless_text

_MIB: Final = 1 << 20
_PROPOSE_CPU_S: Final = 5
_MOST_EDITS: Final = 100
"""Of one proposal."""

_Line: TypeAlias = Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]
_Column: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _ProposedEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An `Edit` as the sandbox sends it."""

    line: _Line
    column: _Column
    end_line: _Line
    end_column: _Column
    text: str


class _Proposed(msgspec.Struct, frozen=True):
    """A `Proposal` as the sandbox sends it."""

    kind: str
    text: str
    edits: Annotated[tuple[_ProposedEdit, ...], msgspec.Meta(max_length=_MOST_EDITS)]
    same_results: bool


def with_hints(result: GateResult, request: SubmissionRequest, limits: Limits, box: Sandbox) -> GateResult:
    """``result`` with hints on its findings; ``request``: what the submission was compiled and proved with.

    Verdicts, reasons and bundles stay what they are.
    """
    budget = _Budget(limits, box)
    kernels = []
    for kernel in result.kernels:
        proved = frozenset(each.result.launch for each in result.kernels if _is_proved(each, kernel.result.kernel))
        plain = replace(request, bundles=False, complete=False)
        kernels.append(_with_hints(kernel, proved, result.source, plain, budget))
    return replace(result, kernels=tuple(kernels))


def _is_proved(kernel: GatedKernel, name: str) -> bool:
    return kernel.result.kernel == name and kernel.result.verdict is Verdict.PROVED


@dataclass
class _Budget:
    """What is left for the repairs of one submission."""

    limits: Limits
    box: Sandbox
    cpu_s: float = 0.0
    trials: int = 0

    def run(self, job: JobKind, request: JobRequest, payload: bytes) -> JobOutcome | None:
        """An outcome that came to its own end."""
        limits = self.limits
        left = int(limits.hint_cpu_s - self.cpu_s)
        if left <= 0:
            return None
        cpu, wall, mib = {
            JobKind.PROPOSE: (_PROPOSE_CPU_S, limits.compile_wall_s, limits.compile_memory_mib),
            JobKind.COMPILE: (limits.compile_cpu_s, limits.compile_wall_s, limits.compile_memory_mib),
            JobKind.PROVE: (limits.prove_cpu_s, limits.prove_wall_s, limits.prove_memory_mib),
        }[job]
        allowed = JobLimits(min(cpu, left), wall, mib * _MIB, limits.output_mib * _MIB)
        outcome = self.box.run(job, request, payload, allowed)
        end = outcome.end
        self.cpu_s += end.cpu_s
        return outcome if outcome.data and not (end.stopped or end.signal or end.exit) else None


def _with_hints(
    kernel: GatedKernel, proved: frozenset[str], source: bytes, request: SubmissionRequest, budget: _Budget
) -> GatedKernel:
    """``proved``: launches under which this kernel is proved as it is."""
    result = kernel.result
    if kernel.rejected or not any(map(can_be_mended, result.findings)):
        return kernel
    proposed = _proposals(result, source, budget)
    sandboxed = _Sandboxed(result.kernel, source, replace(request, only=(result.kernel, result.launch)), budget)
    trials = Trials(
        source.decode("utf-8"),
        sandboxed.prepared,
        has_grid=True,  # where it has none, the trial finds what is known already
        most=budget.limits.hint_trials - budget.trials,
    )
    elsewhere = _Elsewhere(sandboxed, proved - {result.launch})
    findings = []
    for place, finding in enumerate(result.findings):
        mended = repaired(finding, proposed[place] if place < len(proposed) else (), trials)
        findings.append(replace(mended, hints=tuple(map(elsewhere.weighed, mended.hints))))
    budget.trials += trials.count
    return replace(kernel, result=replace(result, findings=tuple(findings)))


@dataclass
class _Sandboxed:
    """Compiles and proves changed sources where the submission was, for one kernel."""

    kernel: str
    source: bytes
    request: SubmissionRequest
    budget: _Budget

    def prepared(self, text: str | None) -> Prove | None:
        """As `Trials` wants it."""
        compiled = self.budget.run(JobKind.COMPILE, self.request, self.source if text is None else text.encode("utf-8"))
        if compiled is None:
            return None
        asked = replace(self.request, any_grid=text is None)
        return lambda exact: self._proved(compiled.data, replace(asked, deny_requires=exact or asked.deny_requires))

    def _proved(self, compiled: bytes, request: SubmissionRequest) -> KernelResult | None:
        results = _results(self.budget.run(JobKind.PROVE, request, compiled))
        return results[0] if [(each.kernel, each.launch) for each in results] == [request.only] else None

    def launches(self, text: str) -> frozenset[str]:
        """Those under which the changed kernel is proved, of all that it has."""
        everywhere = replace(self.request, only=(self.kernel, None))
        compiled = self.budget.run(JobKind.COMPILE, everywhere, text.encode("utf-8"))
        if compiled is None:
            return frozenset()
        results = _results(self.budget.run(JobKind.PROVE, everywhere, compiled.data))
        return frozenset(each.launch for each in results if each.verdict is Verdict.PROVED)


@dataclass
class _Elsewhere:
    """What a repair does to the launches under which the kernel was ``proved`` as it came."""

    sandboxed: _Sandboxed
    proved: frozenset[str]
    _known: dict[tuple[Edit, ...], frozenset[str]] = field(default_factory=dict)

    def weighed(self, hint: Hint) -> Hint:
        """``hint``, not called safe where another launch is no longer proved, or it is not known."""
        if hint.applicability != "safe" or not self.proved:
            return hint
        if hint.edits not in self._known:
            text = edited(self.sandboxed.source.decode("utf-8"), hint.edits)
            self._known[hint.edits] = self.sandboxed.launches(text)
        lost = self.proved - self._known[hint.edits]
        if not lost:
            return hint
        return replace(hint, applicability="maybe", text=f"{hint.text}; no longer under {', '.join(sorted(lost))}")


def _results(outcome: JobOutcome | None) -> list[KernelResult]:
    """What the prover's process says of kernels; nothing if any of it is no such answer."""
    if outcome is None:
        return []
    try:
        _, answers = read_proof(outcome.data)
        return [answer.kernel_result() for answer in answers if not answer.forged]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _proposals(result: KernelResult, source: bytes, budget: _Budget) -> list[list[Proposal]]:
    """What the sandbox proposes for each finding; nothing if it says anything that is no proposal."""
    request = ProposalRequest(result=result_to_json(result), most=budget.limits.hint_trials)
    outcome = budget.run(JobKind.PROPOSE, request, source)
    if outcome is None:
        return []
    try:
        text, most = source.decode("utf-8"), budget.limits.hint_trials
        findings = msgspec.json.decode(outcome.data, type=list[list[_Proposed]])[: len(result.findings)]
        return [[_proposal(text, each) for each in found[:most]] for found in findings]
    except (ValueError, RecursionError):
        return []


def _proposal(source: str, proposed: _Proposed) -> Proposal:
    edits = tuple(
        Edit(each.line, each.column, each.end_line, each.end_column, harmless_text(each.text))
        for each in proposed.edits
    )
    if proposed.kind not in KINDS or not well_placed(source, edits):
        raise ValueError("no proposal")
    return Proposal(proposed.kind, harmless_text(proposed.text), edits, proposed.same_results)
