"""The modules of all tests, imported before they are collected, by each process of a run in another order.

In a fresh checkout that compiles them and all that they need: what one process has compiled, the others read.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Final

import pytest

from .shared import in_parts

ROOT: Final = Path(__file__).parents[1]
PART: Final = 5
"""Modules that a process imports before it asks what is left."""


def by_all(config: pytest.Config) -> None:
    """Import what nobody has imported yet, if this process is one of several that run all tests."""
    if not hasattr(config, "workerinput") or config.args != config.getini("testpaths"):
        return
    names = modules()

    def work(first: int) -> str:
        for name in names[first : first + PART]:
            _imported(name)
        return ""

    in_parts("imported", range(0, len(names), PART), work)


def modules() -> list[str]:
    """Their names, but of those in packages, whose names are for pytest to find."""
    files = sorted(file for folder in ("tests", "campaigns") for file in (ROOT / folder).rglob("test_*.py"))
    return [
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in files
        if not (file.parent / "__init__.py").exists()
    ]


def _imported(name: str) -> None:
    """A module that cannot be imported, or is skipped as a whole, is for pytest to tell of."""
    try:
        importlib.import_module(name)
    except (Exception, pytest.skip.Exception):
        return
