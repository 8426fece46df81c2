"""Folders that somebody else made: whatever lies there is answered for itself, and stops no other."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterable
from pathlib import Path, PurePath

import pytest

from tileverify.gating import GatedKernel, GateOptions, GateResult
from tileverify.gating.runs.gate_run import GatePlan, open_table, stream, tabulate
from tileverify.gating.runs.workers import (
    CandidateFile,
    OnStdin,
    ThisProcess,
    Workers,
    answered_name,
    candidates,
    judged,
    tasks,
)
from tileverify.results import KernelResult, Verdict

OPTIONS = GateOptions(hints=False)
REFUSED = "import os\n"


def listed(folder: Path) -> tuple[CandidateFile, ...]:
    return candidates(folder, lambda file: file.relative_to(folder).as_posix())


def unread(of: Iterable[CandidateFile]) -> dict[str, str | None]:
    return {task.submission.file: task.unread for task in tasks(tuple(of), OPTIONS, False)}


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder of what is no plain file, and one that is."""
    folder = tmp_path / "odd"
    (folder / "folder.py").mkdir(parents=True)
    (folder / "folder.py" / "inner.py").write_text(REFUSED)
    (folder / "plain.py").write_text(REFUSED)
    secret = tmp_path / "secret.py"
    secret.write_text("tell nobody")
    (folder / "link.py").symlink_to(secret)
    (folder / "dangling.py").symlink_to("/nowhere")
    (folder / "loop.py").symlink_to("loop.py")
    (folder / "of-a-folder.py").symlink_to("/etc")
    (folder / "elsewhere").symlink_to("/etc")
    os.mkfifo(folder / "pipe.py")
    return folder


def test_what_is_no_plain_file_is_not_read(odd: Path) -> None:
    assert unread(listed(odd)) == {
        "folder.py/inner.py": None, "plain.py": None,
        **dict.fromkeys(("dangling.py", "link.py", "loop.py", "of-a-folder.py", "pipe.py"), "it is no plain file"),
    }  # fmt: skip


def test_it_is_answered_and_not_accepted(odd: Path) -> None:
    task = next(each for each in tasks(listed(odd), OPTIONS, False) if each.submission.file == "link.py")
    answer = judged(task)
    assert isinstance(answer, GateResult)
    (kernel,) = answer.kernels
    assert (kernel.verdict, kernel.accepted) == ("rejected", False)
    assert [str(reason) for reason in kernel.reasons] == ["not-read: it is no plain file"]
    assert "tell nobody" not in answer.lines()


def test_a_link_that_is_named_is_followed(odd: Path) -> None:
    (named,) = candidates(odd / "link.py", lambda file: file.name)
    assert (named.name, named.submission().source) == ("link.py", b"tell nobody")


@pytest.mark.parametrize("kind", ["missing", "link", "pipe"])
def test_what_changes_after_it_was_listed(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(REFUSED)
    found = listed(tmp_path)
    file.unlink()
    if kind == "link":
        file.symlink_to("/etc/passwd")
    elif kind == "pipe":
        os.mkfifo(file)
    problem = unread(found)["a.py"]
    assert problem == ("it cannot be read (No such file or directory)" if kind == "missing" else "it is no plain file")


def test_a_link_that_comes_between_look_and_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").symlink_to("/etc/passwd")
    plain = os.stat_result((stat.S_IFREG, *[0] * 9))
    monkeypatch.setattr(Path, "lstat", lambda path: plain)
    assert "cannot be read" in str(unread([CandidateFile(tmp_path / "a.py", "a.py")])["a.py"])


def test_specs_are_plain_files_too(tmp_path: Path) -> None:
    for name in ("pipe", "link", "folder", "plain"):
        (tmp_path / f"{name}.py").write_text(REFUSED)
    os.mkfifo(tmp_path / "pipe.tileverify.toml")
    (tmp_path / "link.tileverify.toml").symlink_to("/etc/passwd")
    (tmp_path / "folder.tileverify.toml").mkdir()
    (tmp_path / "plain.tileverify.toml").write_bytes(b"\xff")
    found = {task.submission.file: task.submission.own_spec for task in tasks(listed(tmp_path), OPTIONS, False)}
    assert found == {"pipe.py": None, "link.py": None, "folder.py": None, "plain.py": "\ufffd"}


def test_a_folder_may_be_deeper_than_recursion_goes(tmp_path: Path) -> None:
    deepest = tmp_path
    for _ in range(1500):
        deepest /= "a"
        deepest.mkdir()
    (deepest / "s.py").write_text(REFUSED)
    try:
        assert [(each.submission().source, len(each.folder.parts)) for each in listed(tmp_path)] == [
            (REFUSED.encode(), 1500)
        ]
    finally:  # no recursive removal gets there
        (deepest / "s.py").unlink()
        while deepest != tmp_path:
            deepest.rmdir()
            deepest = deepest.parent


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "open.py").write_text(REFUSED)
    scan = os.scandir

    def refused(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert unread(listed(tmp_path)) == {"closed": "it is no plain file", "open.py": None}


NAMES = (b"new\nline.py", b"new\\x0aline.py", b"\x1b[2J.py", b"no\xfftext.py", b"no\xfetext.py", b"n" * 252 + b".py")


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    folder = tmp_path / "strange"
    folder.mkdir()
    for name in NAMES:
        with open(os.fsencode(folder) + b"/" + name, "w") as file:
            file.write(REFUSED)
    return folder


def inline(most: int) -> Workers:
    return ThisProcess()


def test_any_name_is_shown_and_stored_and_stays_itself(strange: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    stream(GatePlan(listed(strange), OPTIONS, False, inline, lambda candidate, result: None), lines.append)
    shown = [json.loads(line)["file"] for line in lines]
    assert len(set(shown)) == len(NAMES)
    assert all(name.isprintable() for name in shown)
    results = tmp_path / "a.sqlite"
    tabulate(
        GatePlan(listed(strange), OPTIONS, False, inline, lambda candidate, result: None),
        open_table(results, OPTIONS, False),
    )
    with sqlite3.connect(results) as database:
        assert {name for (name,) in database.execute("SELECT file FROM kernels")} == set(shown)


def test_names_that_can_be_shown_stay_as_they_are() -> None:
    assert answered_name("a/b c-ä.py") == "a/b c-ä.py"
    assert answered_name("a\nb.py").startswith("a\\x0ab (")
    assert answered_name("a\nb.py") != answered_name("a\\x0ab.py")


def test_what_could_not_be_read_is_known_as_that(tmp_path: Path) -> None:
    """A table that holds its answer is asked again once there is something to read, though it be nothing."""
    found = (CandidateFile(tmp_path / "a.py", "a.py"),)
    (before,) = tasks(found, OPTIONS, False)
    (tmp_path / "a.py").touch()
    (after,) = tasks(found, OPTIONS, False)
    assert before.unread
    assert not after.unread
    assert before.sha256 != after.sha256


def accepted(file: str, kernel: str = "k", launch: str = "0") -> GateResult:
    result = KernelResult(file, kernel, launch, Verdict.PROVED)
    return GateResult((GatedKernel(result, accepted=True, bundle=f"{file} {kernel} {launch}".encode()),))


def test_bundles_lie_as_their_submissions_do(tmp_path: Path) -> None:
    places = [
        accepted(f"{folder}/same.py").write_bundles(tmp_path, PurePath(folder))[0] for folder in ("a", "b", "a/b")
    ]
    assert places == [tmp_path / folder / "same.k.0.tvk" for folder in ("a", "b", "a/b")]
    assert places[1].read_bytes() == b"b/same.py k 0"


def test_no_two_bundles_have_one_name(tmp_path: Path) -> None:
    launches = ["a b", "a.b", "a_b", "A_b", "-a", "a" * 60, "a" * 61, "a" * 1000, "..", "/etc/passwd", "\n", "ä", ""]
    written = [path for launch in launches for path in accepted("s.py", launch=launch).write_bundles(tmp_path)]
    # One that is named as another is called because of its hash.
    taken = written[0].name.split(".")[2]
    written += accepted("s.py", launch=taken).write_bundles(tmp_path)
    assert len({path.name.lower() for path in written}) == len(written) - 1  # "A_b" and "a_b"
    assert len(set(written)) == len(launches) + 1
    assert all(path.parent == tmp_path and len(path.name) < 200 and path.name.isascii() for path in written)
    assert written == [
        path for launch in [*launches, taken] for path in accepted("s.py", launch=launch).write_bundles(tmp_path)
    ]


def test_folders_lead_nowhere_else(tmp_path: Path) -> None:
    (path,) = accepted("s.py").write_bundles(tmp_path / "out", PurePath("..", "x\ny"))
    assert path.is_relative_to(tmp_path / "out")
    assert ".." not in path.parts
    assert "\n" not in str(path)


def test_folders_too_deep_for_a_path_are_one(tmp_path: Path) -> None:
    paths = [accepted("s.py").write_bundles(tmp_path, PurePath(*["a"] * depth))[0] for depth in (1500, 1501, 3000)]
    assert len(set(paths)) == 3
    assert all(path.parent.parent == tmp_path for path in paths)


def test_stdin_has_a_place_of_its_own() -> None:
    assert OnStdin().folder == PurePath()
