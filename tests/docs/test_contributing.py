"""CONTRIBUTING stays one page, and leads to every page about the inside."""

from __future__ import annotations

import re

from .names import ROOT

MOST_WORDS = 900


def contributing() -> str:
    return (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_contributing_is_one_page() -> None:
    assert len(contributing().split()) <= MOST_WORDS, "what one needs in one room belongs to docs/internals"


def test_every_page_about_the_inside_is_linked() -> None:
    linked = set(re.findall(r"\]\((docs/internals/[\w-]+\.md)", contributing()))
    assert linked == {f"docs/internals/{page.name}" for page in (ROOT / "docs" / "internals").glob("*.md")}
