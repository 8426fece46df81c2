"""Modules that a test has loaded anew, and that are as they were once it ends."""

from __future__ import annotations

import sys

import pytest


def forget_modules(monkeypatch: pytest.MonkeyPatch, *prefixes: str) -> None:
    """Modules whose names begin so are loaded again where they are imported.

    A package has its modules as attributes, too: those that the test loads would stay there, beside those that
    `sys.modules` has again, and whoever patches the one would not change the other.
    """
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        parent, _, own = name.rpartition(".")
        held = getattr(sys.modules.get(parent), own, None)
        if held is not None:
            monkeypatch.setattr(sys.modules[parent], own, held)
        monkeypatch.delitem(sys.modules, name)
