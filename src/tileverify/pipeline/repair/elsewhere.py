"""What a repair does under other launches of its kernel: one that was tried under a single one is not called safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...results import Edit, Hint, KernelResult

_NOT_TRIED = "not tried under its other launches"


def weighed(results: Sequence[KernelResult]) -> list[KernelResult]:
    """``results`` with repairs called safe only where every launch of the kernel among them has the same one."""
    launches: dict[tuple[str, str], list[frozenset[tuple[Edit, ...]]]] = {}
    for result in results:
        safe = (hint.edits for finding in result.findings for hint in finding.hints if _is_safe(hint))
        launches.setdefault((result.file, result.kernel), []).append(frozenset(safe))

    def hint_of(result: KernelResult, hint: Hint) -> Hint:
        everywhere = all(hint.edits in safe for safe in launches[result.file, result.kernel])
        if everywhere or not _is_safe(hint):
            return hint
        return replace(hint, applicability="maybe", text=f"{hint.text}; {_NOT_TRIED}")

    def result_of(result: KernelResult) -> KernelResult:
        if not any(_is_safe(hint) for finding in result.findings for hint in finding.hints):
            return result
        findings = (
            replace(finding, hints=tuple(hint_of(result, hint) for hint in finding.hints))
            for finding in result.findings
        )
        return replace(result, findings=tuple(findings))

    return [result_of(result) for result in results]


def _is_safe(hint: Hint) -> bool:
    return hint.applicability == "safe" and bool(hint.edits)
