"""Whether size limits of a proof are errors: ``limits = "deny"`` of a launch, or of the configuration for all."""

from __future__ import annotations

from typing import Final

from ..system.errors import SpecError

DENY: Final = "deny"
ALLOW: Final = "allow"


def limits_are_denied(value: object) -> bool:
    """The meaning of ``limits``.  Raises `SpecError` for anything but the two words."""
    if value not in (DENY, ALLOW):
        raise SpecError(f'"{DENY}" or "{ALLOW}"')
    return value == DENY
