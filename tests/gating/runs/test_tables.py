"""Tables of answers: what is written is there, and nothing that was made otherwise is mixed in."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tileverify.gating import GateOptions
from tileverify.gating.runs.gate_run import AnswerRow, AnswerTable, Counts, open_table
from tileverify.system.errors import UsageError

OPTIONS = GateOptions()
SUFFIXES = ("sqlite", "parquet")


def row(file: str, position: int = 0, accepted: int = 1, sha: str = "s") -> AnswerRow:
    return AnswerRow(file, position, sha, "k", "any", "proved", accepted, "", "", "", "ab", '{"é": "\\n"}')


@pytest.fixture(params=SUFFIXES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra 'parquet'")
    return tmp_path / f"answers.{request.param}"


@pytest.fixture
def opened(path: Path) -> Callable[[], AnswerTable]:
    return lambda: open_table(path, OPTIONS, False)


def test_rows_come_back_in_order(opened: Callable[[], AnswerTable], path: Path) -> None:
    table = opened()
    for answers in ((row("b.py", 0), row("b.py", 1, accepted=0)), (row("a.py"),), (row("a-b.py"),)):
        table.add(answers)
    assert [(each.file, each.position) for each in table.read()] == [
        ("a-b.py", 0),
        ("a.py", 0),
        ("b.py", 0),
        ("b.py", 1),
    ]
    assert table.counts() == Counts(4, 3)
    table.finish()
    table.close()
    again = opened()
    assert again.counts() == Counts(4, 3)
    assert next(iter(again.read())) == row("a-b.py")
    again.close()


def test_what_was_added_survives_without_an_end(opened: Callable[[], AnswerTable]) -> None:
    table = opened()
    table.add((row("a.py"),))
    other = opened()  # as the next run finds it
    assert other.known() == {"a.py": "s"}
    other.close()
    table.close()


def test_a_new_answer_replaces_all_rows_of_its_file(opened: Callable[[], AnswerTable]) -> None:
    table = opened()
    table.add((row("a.py", 0), row("a.py", 1)))
    table.add((row("a.py", 0, sha="t"),))
    assert [each.submission_sha256 for each in table.read()] == ["t"]
    table.keep_only(frozenset({"b.py"}))
    assert table.counts() == Counts()
    table.close()


def test_answers_of_other_options_are_refused(opened: Callable[[], AnswerTable], path: Path) -> None:
    table = opened()
    table.add((row("a.py"),))
    table.finish()
    table.close()
    with pytest.raises(UsageError, match="another options"):
        open_table(path, GateOptions(deny_requires=True), False)
    with pytest.raises(UsageError, match="another options"):
        open_table(path, OPTIONS, True)
    open_table(path, GateOptions(isolation="landlock"), False).close()


def test_the_reference_is_part_of_the_options(tmp_path: Path) -> None:
    code = tmp_path / "ref.py"
    code.write_text("def f(x): pass\n")
    options = GateOptions(reference=f"{code}::f")
    open_table(tmp_path / "a.sqlite", options, False).close()
    open_table(tmp_path / "a.sqlite", options, False).close()
    code.write_text("def f(x): return x\n")
    with pytest.raises(UsageError, match="another options"):
        open_table(tmp_path / "a.sqlite", options, False)


@pytest.mark.parametrize("contents", [b"no table", b"PAR1PAR1"])
def test_other_files_are_left_alone(path: Path, contents: bytes) -> None:
    path.write_bytes(contents)
    with pytest.raises(UsageError, match="is no table of answers"):
        open_table(path, OPTIONS, False)
    assert path.read_bytes() == contents
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_other_databases_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE kernels (name TEXT)")
    with pytest.raises(UsageError, match="is no table of answers"):
        open_table(path, OPTIONS, False)


def test_equal_answers_make_equal_parquet_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs the extra 'parquet'")
    written = []
    for number, files in enumerate((["a.py", "b.py"], ["b.py", "a.py"])):
        path = tmp_path / f"{number}.parquet"
        table = open_table(path, OPTIONS, False)
        for file in files:
            table.add((row(file),))
        table.finish()
        table.close()
        written.append(path.read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["answers.csv", "no/folder.sqlite"])
def test_names_that_say_nothing_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="--results"):
        open_table(tmp_path / name, OPTIONS, False)


def test_the_seed_of_a_table_is_drawn_once(opened: Callable[[], AnswerTable], path: Path, tmp_path: Path) -> None:
    """A run that was ended goes on with the inputs that it began with; another table has others."""
    table = opened()
    table.add((row("a.py"),))
    seed = table.seed()
    assert table.seed() == seed
    table.close()  # ended in the middle
    again = opened()
    assert again.seed() == seed
    again.finish()
    again.close()
    complete = opened()
    assert complete.seed() == seed
    assert complete.known() == {"a.py": "s"}
    complete.close()
    other = open_table(tmp_path / f"other{path.suffix}", OPTIONS, False)
    assert other.seed() != seed
    other.close()
