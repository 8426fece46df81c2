"""Lines are counted as Python counts them, everywhere."""

from __future__ import annotations

import ast
import tokenize
from pathlib import Path
from typing import Final

import pytest

from tileverify.system.own_files import PACKAGE
from tileverify.system.printable import bare_lines, source_lines

ODD: Final = [chr(code) for code in range(0x3000) if len(f"a{chr(code)}b".splitlines()) == 2]
OF_MESSAGES: Final = {
    "backend/assembler.py", "backend/numbers/array_files.py", "commands/watching.py",
    "frontend/sources/bytecode_file.py",
    "frontend/triton/triton_kernels.py", "gating/mcp_server.py", "gating/runs/workers.py", "gating/sandbox/sandbox.py",
    "launching/run.py", "launching/tuning.py", "record/pytest_plugin/launch_session.py",
    "record/recorded_command.py", "reports/causes.py", "pipeline/stability.py",
    "serving/lsp/shown_sources.py",
}  # fmt: skip
"""Modules that split what programs say, and records of JSON: no line number points into that."""


def test_there_are_such_characters() -> None:
    assert {"\n", "\r", "\x0c", "\u2028"} <= set(ODD)


@pytest.mark.parametrize("odd", [*ODD, "\r\n"], ids=ascii)
def test_lines_are_those_of_python(odd: str, tmp_path: Path) -> None:
    text = f"x = '''{odd}'''\ny = 1\n"
    at = ast.parse(text).body[1].lineno
    assert bare_lines(text)[at - 1] == "y = 1"
    assert "".join(source_lines(text)) == text
    (tmp_path / "x.py").write_bytes(text.encode())
    with tokenize.open(str(tmp_path / "x.py")) as file:
        assert len(file.readlines()) == len(source_lines(text))


def test_an_unfinished_line_is_one() -> None:
    assert source_lines("") == []
    assert source_lines("a\r\nb") == ["a\r\n", "b"]
    assert bare_lines("a\r\n\nb\r") == ["a", "", "b"]


def test_nobody_counts_lines_otherwise() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "corpus" not in path.relative_to(PACKAGE).parts and ".splitlines(" in path.read_text(encoding="utf-8")
    }
    assert found == OF_MESSAGES
