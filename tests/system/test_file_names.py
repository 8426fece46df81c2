"""Names that data wants to give to files lead nowhere but into the folder, and no two become one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tileverify.system.printable import FreeNames, distinct_stem, plain_stem

NAMES = ["../../x", "/etc/passwd", "..", ".", "", "a\0b", "CON", "nul.txt", "COM1", "a" * 5000, "\ud800", "a\\b", "C:x",
         " a ", "-rf", "~root", "a\nb", "\x1b[31m", "größe", ".hidden", "a.", "com1.a"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    for stem in (plain_stem(name), distinct_stem(name), FreeNames().stem(name)):
        file = tmp_path / f"{stem}.tvcert.json"
        assert file.resolve().parent == tmp_path.resolve()
        file.write_text("")
        assert file.parent == tmp_path


@given(st.text())
@example("CON")
@example("NUL.CON")
@example("0-")
def test_any_name_is_plain(name: str) -> None:
    for stem in (plain_stem(name), distinct_stem(name)):
        assert re.fullmatch(r"[\w\[\]](?:[\w.=+\[\]-]*[\w\[\]])?", stem)
        assert len(stem.encode()) <= 255 - len(".launch.tvcert.json")
        assert not re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", stem)


@given(st.lists(st.text(max_size=6), max_size=20))
def test_no_two_get_one_name(names: list[str]) -> None:
    free = FreeNames()
    given_names = [free.stem(name).lower() for name in names]
    assert len(set(given_names)) == len(names) == len(free)


@given(st.text(max_size=60), st.text(max_size=60))
@example("a/b", "a_b")
def test_distinct_names_stay_distinct(first: str, second: str) -> None:
    assert (distinct_stem(first) == distinct_stem(second)) == (first == second)


def test_usual_names_stay_as_they_are() -> None:
    for name in ("matmul.gemm-f16", "xs[0]", "größe", "a.b=c+d"):
        assert plain_stem(name) == name


SOURCE = Path(__file__).resolve().parents[2] / "src" / "tileverify"
ASKED = {"FreeNames", "distinct_stem", "plain_stem"}

HARMLESS = {
    "pipeline/verdict_cache.py": "a digest",
    "pipeline/known_files.py": "a digest",
    "system/crash_report.py": "a digest; and numbers, of members of an archive",
    "launching/launcher.py": "a digest",
    "hook/notes.py": "a digest",
    "record/recording.py": "digests, which the recorder wrote; names of kernels go through plain_stem",
    "verifier/certificate/scripts.py": "numbers of questions and lemmas",
    "record/pytest_plugin/launch_session.py": "the number of a process",
    "frontend/sources/fixed_inputs.py": "only looked at, never written",
    "serving/lsp/shown_sources.py": "a digest",
    "serving/lsp/concerned.py": "only looked for, beside a file that is there",
    "gating/runs/workers.py": "only looked at, beside a file that is there",
    "gating/runs/gate_run.py": "beside the file that the user named",
}
"""Modules that put something into a file's name without asking `printable`, and why nothing can come of it."""


def names_imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def names_made(module: Path) -> Iterator[str]:
    """Paths in a module that end in a text with something put into it."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        made: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            made = [node.right]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Path", "with_name", "joinpath"):
            made = node.args
        if any(isinstance(each, ast.FormattedValue) for one in made for each in ast.walk(one)):
            yield ast.unparse(node)


def test_every_writer_asks_for_its_names() -> None:
    makers = {
        module.relative_to(SOURCE).as_posix(): list(names_made(module))
        for module in SOURCE.rglob("*.py")
        if module.relative_to(SOURCE).parts[0] != "corpus"
    }
    found = {module for module, made in makers.items() if made}
    asking = {module for module in found if ASKED & set(names_imported(SOURCE / module))}
    assert found - asking <= set(HARMLESS), "make the name with tileverify.system.printable, or say why it is harmless"
    assert set(HARMLESS) <= found
