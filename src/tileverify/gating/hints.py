"""Repairs of submissions: a changed source is as untrusted as the one that came, and goes the same way.

Edits are proposed in the sandbox (`propose_job`); each changed text is screened, compiled and proved there as any
submission is, for the kernel and the launch at fault alone.  Only then is it called proved.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from ..pipeline.repair.catalogue import KINDS
from ..pipeline.repair.edits import edited, well_placed
from ..pipeline.repair.proposals import Proposal
from ..pipeline.repair.repairing import Prove, Trials, can_be_mended, repaired
from ..results import Edit, Hint, KernelResult, Verdict
from ..results.json_report import result_from_json, result_to_json
from .model import GatedKernel, GateResult, Limits
from .sandbox.sandbox import Outcome, Sandbox
from .screen.plain_values import harmless

_MIB: Final = 1 << 20
_PROPOSE_CPU_S: Final = 5
_MOST_EDITS: Final = 100
"""Of one proposal."""


def with_hints(result: GateResult, request: dict[str, Any], limits: Limits, box: Sandbox) -> GateResult:
    """``result`` with hints on its findings; ``request``: what the submission was compiled and proved with.

    Verdicts, reasons and bundles stay what they are.
    """
    budget = _Budget(limits, box)
    kernels = []
    for kernel in result.kernels:
        proved = frozenset(each.result.launch for each in result.kernels if _is_proved(each, kernel.result.kernel))
        kernels.append(
            _with_hints(kernel, proved, result.source, {**request, "bundles": False, "complete": False}, budget)
        )
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

    def run(self, job: str, request: dict[str, Any], payload: bytes) -> Outcome | None:
        """An outcome that came to its own end."""
        limits = self.limits
        left = int(limits.hint_cpu_s - self.cpu_s)
        if left <= 0:
            return None
        cpu, wall, mib = {
            "propose": (_PROPOSE_CPU_S, limits.compile_wall_s, limits.compile_memory_mib),
            "compile": (limits.compile_cpu_s, limits.compile_wall_s, limits.compile_memory_mib),
            "prove": (limits.prove_cpu_s, limits.prove_wall_s, limits.prove_memory_mib),
        }[job]
        allowed = {
            "cpu_s": min(cpu, left),
            "wall_s": wall,
            "memory": mib * _MIB,
            "output": limits.output_mib * _MIB,
        }
        outcome = self.box.run(job, request, payload, allowed)
        self.cpu_s += outcome.cpu_s
        return outcome if outcome.data and not (outcome.stopped or outcome.signal or outcome.exit) else None


def _with_hints(
    kernel: GatedKernel, proved: frozenset[str], source: bytes, request: dict[str, Any], budget: _Budget
) -> GatedKernel:
    """``proved``: launches under which this kernel is proved as it is."""
    result = kernel.result
    if kernel.rejected or not any(map(can_be_mended, result.findings)):
        return kernel
    proposed = _proposals(result, source, budget)
    sandboxed = _Sandboxed(source, {**request, "only": [result.kernel, result.launch]}, budget)
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
    """Compiles and proves changed sources where the submission was."""

    source: bytes
    request: dict[str, Any]
    budget: _Budget

    def prepared(self, text: str | None) -> Prove | None:
        """As `Trials` wants it."""
        compiled = self.budget.run("compile", self.request, self.source if text is None else text.encode("utf-8"))
        if compiled is None:
            return None
        deny = bool(self.request["deny_requires"])
        return lambda exact: self._proved(compiled.data, any_grid=text is None, deny_requires=exact or deny)

    def _proved(self, compiled: bytes, **more: bool) -> KernelResult | None:
        results = _results(self.budget.run("prove", {**self.request, **more}, compiled))
        return results[0] if [[each.kernel, each.launch] for each in results] == [self.request["only"]] else None

    def launches(self, text: str) -> frozenset[str]:
        """Those under which the changed kernel is proved, of all that it has."""
        everywhere = {**self.request, "only": [self.request["only"][0], None]}
        compiled = self.budget.run("compile", everywhere, text.encode("utf-8"))
        if compiled is None:
            return frozenset()
        results = _results(self.budget.run("prove", everywhere, compiled.data))
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


def _results(outcome: Outcome | None) -> list[KernelResult]:
    """What the prover's process says of kernels; nothing if any of it is no such answer."""
    if outcome is None:
        return []
    try:
        lines = [json.loads(line) for line in outcome.data.splitlines()]
        wanted = [answer for answer in lines[1:] if not answer.get("forged")]
        return [result_from_json(answer["result"]) for answer in wanted]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _proposals(result: KernelResult, source: bytes, budget: _Budget) -> list[list[Proposal]]:
    """What the sandbox proposes for each finding; nothing if it says anything that is no proposal."""
    request = {"result": result_to_json(result), "most": budget.limits.hint_trials}
    outcome = budget.run("propose", request, source)
    if outcome is None:
        return []
    try:
        text, most = source.decode("utf-8"), budget.limits.hint_trials
        findings = json.loads(outcome.data)[: len(result.findings)]
        return [[_proposal(text, each) for each in harmless(found[:most])] for found in findings]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _proposal(source: str, document: dict[str, Any]) -> Proposal:
    edits = tuple(Edit(**each) for each in document["edits"][:_MOST_EDITS])
    placed = all(map(_is_edit, edits)) and well_placed(source, edits)
    if document["kind"] not in KINDS or len(document["edits"]) > _MOST_EDITS or not placed:
        raise ValueError("no proposal")
    return Proposal(document["kind"], str(document["text"]), edits, document["same_results"] is True)


def _is_edit(edit: Edit) -> bool:
    *places, text = asdict(edit).values()
    return type(text) is str and all(type(place) is int and 0 <= place < 1 << 31 for place in places) and edit.line > 0
