"""Why a finding does not fail a run, in words."""

from __future__ import annotations

from ..results import Suppression, SuppressionKind


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
