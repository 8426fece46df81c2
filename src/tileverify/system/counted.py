"""Numbers of things, in words."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """``1 launch``, ``3 launches``."""
    several = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else several}"
