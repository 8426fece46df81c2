"""The changelog can be read: releases, newest first, and one line an entry."""

from __future__ import annotations

import re

from tileverify.system.version import __version__

from .names import ROOT

MOST_ENTRIES = 120
LONGEST = 150


def test_changelog_has_releases_with_one_line_an_entry() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert unreleased.startswith("Unreleased\n")
    assert releases[0].startswith(f"{__version__} (")
    for release in (unreleased, *releases):
        lines = [line for line in release.splitlines()[1:] if line and not line.startswith("### ")]
        entries = [line for line in lines if line.startswith("- ")]
        assert len(entries) <= MOST_ENTRIES
        assert not [line for line in entries if len(line) > LONGEST]
        assert not [line for line in lines if line.startswith("  ")], "an entry is one line"
