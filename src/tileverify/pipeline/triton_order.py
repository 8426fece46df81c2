"""Accesses that meet in one program of a Triton kernel: at fault, or undecided.

A unit's bytecode has the orders that Triton's compiler promises, and no others, so that a proof is one of what it
makes.  Data flow may order more.  A fault of order (TV201) is told only where it remains with all of these
(`KernelUnit.most_ordered`); every other is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..contract.launch import KernelUnit
from ..results import Finding, KernelResult, Verdict
from ..results.codes import TV

HELP = (
    "Triton orders them only by tl.debug_barrier(), or where a lane stores what it alone loaded from the same place; "
    'order = "program" proves the kernel as this tool builds it'
)


def with_doubtful_order(
    unit: KernelUnit, result: KernelResult, decide: Callable[[KernelUnit], KernelResult]
) -> KernelResult:
    """``result`` of ``unit`` with its findings of order held against the kernel with most orders, which ``decide``
    decides."""
    doubtful = [finding for finding in result.findings if _is_about_order(finding)]
    if unit.most_ordered is None or not doubtful:
        return result
    most_ordered = unit.most_ordered()
    if most_ordered == unit.bytecode:
        return result
    second = decide(replace(unit, bytecode=most_ordered, most_ordered=None))
    certain = [finding for finding in second.findings if finding.code == TV.UNORDERED_IN_BLOCK and finding.refutes]
    others = [finding for finding in result.findings if finding not in doubtful]
    kept = certain or [_undecided(finding) for finding in doubtful]
    refuted = any(finding.refutes for finding in (*others, *kept))
    return replace(
        result,
        findings=(*others, *kept),
        verdict=Verdict.REFUTED if refuted else Verdict.UNDECIDED,
    )


def _is_about_order(finding: Finding) -> bool:
    return TV.UNORDERED_IN_BLOCK in (finding.code, finding.obligation)


def _undecided(finding: Finding) -> Finding:
    if finding.code != TV.UNORDERED_IN_BLOCK:
        return finding
    message = f"not decided whether accesses that meet in one program are ordered: {HELP}"
    return replace(
        finding, code=TV.SYNCHRONISATION_PROTOCOL, message=message, witness=None, obligation=TV.UNORDERED_IN_BLOCK
    )
