"""One thing that was looked at."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class HealthState(enum.Enum):
    OK = "ok"
    ABSENT = "absent"  # something can do without it
    BROKEN = "broken"  # `check` needs it, or it is there and does not work


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``name`` is for machines, ``found`` what there is, ``advice`` what to do where something is amiss."""

    name: str
    state: HealthState
    found: str
    advice: str = ""
