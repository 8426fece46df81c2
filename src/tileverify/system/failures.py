"""Errors that are nobody's but ours."""

from __future__ import annotations

from typing import Final

TRACEBACK: Final = "TILEVERIFY_TRACEBACK"
"""The environment variable that asks for tracebacks."""


def failure_sentence(error: BaseException, archive: str | None = None) -> str:
    """One sentence for an unexpected exception; ``archive``: the path of what was written down
    about it (`crash_report`)."""
    detail = " ".join(str(error).split())
    name = type(error).__name__ + (f": {detail}" if detail else "")
    if archive is not None:
        return f"tileverify failed ({name}); please report this with '{archive}', which says where it happened"
    return f"tileverify failed ({name}); please report this, {TRACEBACK}=1 shows where it happened"
