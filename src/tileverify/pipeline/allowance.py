"""The help of a race in which a replay saw both blocks store one value: the word that would allow it (``allow``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..contract.allowed import same_value_stores
from ..contract.launch import KernelUnit
from ..results import Finding, Hint, KernelResult, Verdict
from ..results.codes import TV

ALLOW_EQUAL: Final = "allow-equal-stores"


def with_allowance(
    unit: KernelUnit, result: KernelResult, decide: Callable[[KernelUnit], KernelResult]
) -> KernelResult:
    """``result`` with the help, if ``decide`` proves the kernel where its launch allows such stores."""
    arrays = {site.array for finding in result.findings for site in finding.sites}
    known = {array.name for array in unit.launch.arrays()}
    asked = result.verdict is Verdict.REFUTED and arrays and arrays <= known and not unit.launch.allow
    if not asked or not all(map(_shows_one_value, result.findings)):
        return result
    words = tuple(sorted(map(same_value_stores, arrays)))
    if decide(replace(unit, launch=replace(unit.launch, allow=words))).verdict is not Verdict.PROVED:
        return result
    text = (
        "both blocks always store the same value: if that is meant, a person may add "
        f"allow = {json.dumps(list(words))} to the launch spec, and it is a note (proved)"
    )
    first, *others = result.findings
    return replace(result, findings=(replace(first, hints=(*first.hints, Hint(ALLOW_EQUAL, "display", text))), *others))


def _shows_one_value(finding: Finding) -> bool:
    values = None if finding.witness is None else finding.witness.values
    return finding.code == TV.RACE_WRITE_WRITE and values is not None and values.equal
