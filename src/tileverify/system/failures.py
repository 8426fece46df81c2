"""Errors that are nobody's but ours."""

from __future__ import annotations

from typing import Final

TRACEBACK: Final = "TILEVERIFY_TRACEBACK"
"""The environment variable that asks for tracebacks."""


def failure_sentence(error: BaseException) -> str:
    """One sentence for an unexpected exception."""
    detail = " ".join(str(error).split())
    name = type(error).__name__ + (f": {detail}" if detail else "")
    return f"tileverify failed ({name}); please report this, {TRACEBACK}=1 shows where it happened"
