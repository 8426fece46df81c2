"""What the verdict on a changed kernel has to say for the change to be offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...contract.launch import KernelUnit
from ...results import KernelResult, Verdict
from ...results.codes import TV
from ...verifier.large_arrays import NOT_FOUND_OUT

Check: TypeAlias = Callable[[KernelUnit, bool], KernelResult]
"""The verdict on a changed kernel; with `True` under its contract alone, with no clause added."""


def fits_large_arrays(outcome: KernelResult) -> bool:
    """Whether the proof comes without the warning that an index wraps in large arrays, which was asked to its end."""
    return NOT_FOUND_OUT not in outcome.notes and all(each.code != TV.INDEX_WRAPS for each in outcome.findings)


def codes_of(result: KernelResult) -> frozenset[str]:
    return frozenset(each.code for each in result.findings)


def compared_equal(outcome: KernelResult, before: frozenset[str]) -> str:
    """For which architectures the code of a proved kernel compared equal, in words; empty where one did not, or where
    there are warnings of other codes than ``before``."""
    new = codes_of(outcome) - (before - {TV.LAUNCH_ARTIFACT})
    compared = outcome.compared_code
    if outcome.verdict is not Verdict.PROVED or new or not compared or not all(each.launches for each in compared):
        return ""
    return f"compiled code compared equal for {' and '.join(each.architecture for each in compared)}"
