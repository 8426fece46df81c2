"""What a user can cause."""

from __future__ import annotations


class EngineError(Exception):
    """One sentence: what is wrong, where, and what to do."""
