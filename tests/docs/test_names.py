"""Pages for people who read the code name modules and folders that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/soundness.md", "docs/proofs.md", "docs/trust.md")
PLACES = ("src/tileverify", "tests", "benchmarks", "tools", "docs", ".")
MADE_UP = {"NAME.py"}


def named(text: str) -> set[str]:
    """Paths of modules, and folders with a slash in them, that stand in backticks."""
    modules = set(re.findall(r"`([\w/.]+\.py)`", text)) - MADE_UP
    rooms = "contract|verifier|backend|frontend|launching|gating|record|reports"
    return modules | set(re.findall(rf"`((?:{rooms})/[\w/]+)`", text))


def is_there(name: str) -> bool:
    """At one of the usual places, or below one by the end of its path."""
    if any((ROOT / place / name).exists() for place in PLACES):
        return True
    found = [path for place in ("src", "tests", "benchmarks") for path in (ROOT / place).rglob(Path(name).name)]
    return any(path.as_posix().endswith(f"/{name}") for path in found)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    assert not [name for name in sorted(named((ROOT / page).read_text(encoding="utf-8"))) if not is_there(name)]


def test_a_name_that_is_gone_is_seen() -> None:
    assert named("`verifier/verify.py`, `backend/lunch` and `x`") == {"verifier/verify.py", "backend/lunch"}
    assert is_there("verifier/verify.py")
    assert not is_there("backend/lunch")
