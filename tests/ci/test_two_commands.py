"""Continuous integration runs the README's two commands as they stand, and what needs more afterwards, unskipped."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def commands(text: str) -> list[str]:
    return [line.split("#")[0].strip() for line in text.splitlines() if line.startswith("make ")]


def test_the_readme_s_commands_come_first_and_as_they_stand() -> None:
    block = re.search(r"## Two commands.*?```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    wanted = commands(block[1])
    assert wanted == ["make check", "make test"]
    assert commands((ROOT / ".ci" / "run").read_text())[:2] == wanted


def test_what_needs_the_toolkit_runs_and_is_not_skipped() -> None:
    assert any(line.startswith("make oracle") for line in commands((ROOT / ".ci" / "run").read_text()))
    target = (ROOT / "Makefile").read_text().split("\noracle:")[1].split("\n\n")[0]
    assert "test,assemble" in target
    assert "-m assembler --assembler" in target


def test_tests_that_use_the_assembler_say_so() -> None:
    files = sorted(file for folder in ("tests", "campaigns") for file in (ROOT / folder).rglob("test_*.py"))
    unmarked = [where for file in files for where in _unmarked(file)]
    assert unmarked == []


def _unmarked(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef):
            called = {
                call.func.id
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            }
            if "find_assembler" in called and not any(
                "assembler(" in ast.unparse(each) for each in node.decorator_list
            ):
                yield f"{file.name}::{node.name}"
