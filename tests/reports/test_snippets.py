"""Spans of expressions in sources of every shape, and what may be read at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileverify.reports.snippets import Snippets
from tileverify.results import SourceSite


def marked(path: Path, line: int | None, column: int | None, access: str = "load") -> str | None:
    snippet = Snippets().at(SourceSite(str(path), line, column, access, "a"))
    if snippet is None:
        return None
    text = dict(snippet.lines)[snippet.marked]
    return text[snippet.start : snippet.start + snippet.width]


@pytest.mark.parametrize(
    ("line", "column", "access", "expected"),
    [
        ("y = ct.load(a, (i,)) + 1", 4, "load", "ct.load(a, (i,))"),
        ("y = ct.load(a, (i,)).astype(ct.int32)", 4, "load", "ct.load(a, (i,))"),
        ("ct.load(a, 0).store(b)", 0, "store", "ct.load(a, 0).store(b)"),
        ("ct.atomic_add(a, i, 1)", 0, "atomic", "ct.atomic_add(a, i, 1)"),
        ("helper(ct.load(a, 0))", 0, "load", "helper(ct.load(a, 0))"),
        ("y = i // d", 4, "divide", "i // d"),
        ("y = ct.load(a, 0)", None, "load", "y = ct.load(a, 0)"),
        ("    # no code here", 6, "load", "no code here"),
        ("def kernel(a): pass", 0, "assume", "def kernel(a): pass"),
        ("y = 1", 99, "load", "y = 1"),
    ],
)
def test_span_of_python_expression(tmp_path: Path, line: str, column: int | None, access: str, expected: str) -> None:
    source = tmp_path / "k.py"
    source.write_text(f"first\n{line}\n")
    assert marked(source, 2, column, access) == expected


def test_span_in_a_file_with_a_syntax_error(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("ct.load(a, f(i)) = = 1\n")
    assert marked(tmp_path / "k.py", 1, 0) == "ct.load(a, f(i))"


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("  ct::store<float>(p, f(x)); // y", 2, "ct::store<float>(p, f(x))"),
        ("  p[i] = 3;", 2, "p"),
        ("  *p = 3;", 2, "*"),
        ("  open(a, (b", 2, "open(a, (b"),
    ],
)
def test_span_without_a_syntax_tree(tmp_path: Path, line: str, column: int, expected: str) -> None:
    source = tmp_path / "k.cu"
    source.write_text(f"first\n{line}\n")
    assert marked(source, 2, column) == expected


def test_lines_are_counted_as_python_counts_them(tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    source.write_bytes("a = '\u2028\x0c'\r\nb = 1\rct.load(x)\n".encode())
    assert marked(source, 3, 0) == "ct.load(x)"


@pytest.mark.parametrize("name", ["k.txt", "shadow", "k.toml"])
def test_only_source_files_are_shown(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("secret\n")
    assert marked(tmp_path / name, 1, 0) is None


def test_pipes_folders_and_missing_files_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "short.py").write_text("x\n")
    assert marked(tmp_path / "pipe.py", 1, 0) is None
    assert marked(tmp_path / "folder.py", 1, 0) is None
    assert marked(tmp_path / "missing.py", 1, 0) is None
    assert marked(tmp_path / "short.py", 7, 0) is None
    assert marked(tmp_path / "short.py", None, None) is None
    assert marked(Path("nul\0.py"), 1, 0) is None
