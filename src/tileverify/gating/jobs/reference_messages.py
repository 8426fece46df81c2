"""What the gate asks of a reference's process, and what that answers, in front of the bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..gated import Reason


@dataclass(frozen=True, slots=True)
class ReferenceRequest:
    """``load``: ``FILE.py::FUNCTION``; without it the payload, which `trial_job` sent, is compared, or with ``exact``
    that of `exact_job`."""

    load: str | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """``usage``: the caller's mistake; ``failed``: why these launches could not be compared; ``unreadable``: what came
    is no trial; else ``reasons`` say how kernel and reference differ, and ``equal`` what comes of exact numbers."""

    usage: str | None = None
    failed: str | None = None
    unreadable: bool = False
    undefined: tuple[int, ...] = ()
    """Launches by number at which the reference has no value, so that nothing is compared."""
    reasons: tuple[Reason, ...] = ()
    equal: dict[str, Any] | None = None
