"""Numbers of things in words."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """``1 launch``, ``2 launches``, ``0 kernels``."""
    ending = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count} {noun}{'' if count == 1 else ending}"
