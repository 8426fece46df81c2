"""Why a finding does not fail a run, in words."""

from __future__ import annotations

from ..results import KernelResult, Suppression, SuppressionKind
from ..results.codes import TV


def suppressed_because(suppression: Suppression) -> str:
    """``known in the baseline`` or ``blocks write equal values (until 2027-12-31), kernels.py:4``."""
    if suppression.kind is SuppressionKind.BASELINE:
        return suppression.reason
    until = f" (until {suppression.until})" if suppression.until else ""
    place = f", {position(suppression.file, suppression.line)}" if suppression.file else ""
    return f"{suppression.reason}{until}{place}"


def position(file: str | None, line: int | None) -> str:
    """``kernels.py:4``."""
    return f"{file or '<unknown>'}:{line}" if line is not None else file or "<unknown>"


def undetermined(result: KernelResult) -> bool:
    """Whether results may depend on what the specification leaves open, and not only on the order of atomics."""
    found = any(finding.code == TV.UNDETERMINED for finding in result.findings)
    return found or any(note.endswith("(TV403)") for note in result.notes)
