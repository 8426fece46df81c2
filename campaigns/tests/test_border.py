"""Campaigns use helpers of the tests; nothing that is tested or shipped knows a campaign."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def imported(file: Path) -> Iterator[str]:
    """Also inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def knowing(folder: Path) -> list[str]:
    files = sorted(folder.rglob("*.py"))
    return [str(file) for file in files if any(name.split(".")[0] == "campaigns" for name in imported(file))]


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_nothing_before_campaigns_knows_them(folder: str) -> None:
    assert len(list((ROOT / folder).rglob("*.py"))) > 500
    assert not knowing(ROOT / folder)


def test_whoever_knows_one_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    from campaigns.soak import main\n")
    (tmp_path / "b.py").write_text("import campaigns.seeds as seeds\nfrom .campaigns import x\n")
    (tmp_path / "c.py").write_text("from .campaigns import x\nimport campaign\n")
    assert knowing(tmp_path) == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]
