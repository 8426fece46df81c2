"""Clauses that a contract lacks: where nobody lets the tool add them, it says which would do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from ...results import Hint, KernelResult, Verdict


def with_lacking_clauses(result: KernelResult, proved_with_clauses: Callable[[], KernelResult]) -> KernelResult:
    """``result``, refuted, with a hint where the kernel is proved under clauses, on sizes of whole tiles say.

    ``proved_with_clauses`` judges the same kernel and may add some.
    """
    if result.verdict is not Verdict.REFUTED or not result.findings:
        return result
    allowed = proved_with_clauses()
    lacking = [clause for clause in allowed.requires if clause not in result.stated]
    if allowed.verdict is not Verdict.PROVED or not lacking:
        return result
    said = f"it is proved where {' and '.join(f'`{clause}`' for clause in lacking)}"
    text = f"{said}: if every launch is like that, add requires = {json.dumps(lacking)} to the launch spec (proved)"
    first, *others = result.findings
    hint = Hint("declare-requires", "maybe", text)
    return replace(result, findings=(replace(first, hints=(*first.hints, hint)), *others))
