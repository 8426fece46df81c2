"""What a proof takes for granted beyond what every proof does is told where its kernel is launched."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..contract.trustable import launched_text

_told: set[tuple[str, str]] = set()


def tell(kernel: str, file: str, trust: Sequence[str]) -> None:
    """Warn of the first launch of a kernel on a GPU; in the interpreter a failed assertion ends its block alone."""
    if trust and (kernel, file) not in _told:
        warnings.warn(f"{kernel} is proved under a trust: {launched_text(trust)}", RuntimeWarning, 5)
        _told.add((kernel, file))
