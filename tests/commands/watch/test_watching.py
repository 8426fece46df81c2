"""`check --watch`: what a change concerns, and the whole of it in a process that is watched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.command_line import CommandLine, interruptible

from tileverify.commands import watching as rounds_of_watch
from tileverify.commands.watching import Round, Watch, affected, folders_of, ran, screen
from tileverify.reports.text import summary_line
from tileverify.results import Finding, KernelResult, Report, Verdict

SOURCE = Path(__file__).resolve().parents[3] / "src"
KERNEL = """\
import cuda.tile as ct
import helpers


@ct.kernel
def {name}(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i{change},), tile=ct.load(x, index=(i,), shape=(64,)))
"""
SPEC = '[[launch]]\nkernel = "{name}"\ngrid = ["cdiv(N, 64)"]\nargs = {{ x = "f32[N]", out = "f32[N]" }}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k").mkdir()
    return tmp_path


def write(name: str, change: str = "", imports: str = "") -> None:
    text = KERNEL.format(name=name, change=change).replace("import helpers\n", imports)
    Path("k", f"{name}.py").write_text(text)
    Path("k", f"{name}.tileverify.toml").write_text(SPEC.format(name=name))


def concerned(
    *changed: str, targets: tuple[str, ...] = ("k",), known: tuple[str, ...] = ("k/a.py", "k/b.py")
) -> tuple[str, ...]:
    return affected(targets, known, {Path(name).resolve() for name in changed})


def test_a_source_its_spec_and_what_it_imports_concern_it() -> None:
    write("a", imports="import helpers\n")
    write("b")
    Path("k/helpers.py").write_text("SIZE = 64\n")
    assert concerned("k/a.py") == ("k/a.py",)
    assert concerned("k/a.tileverify.toml") == ("k/a.py",)
    assert concerned("k/b.py", "k/a.py") == ("k/a.py", "k/b.py")
    assert concerned("k/helpers.py", known=("k/a.py", "k/b.py", "k/helpers.py")) == ("k/a.py", "k/helpers.py")
    assert concerned("k/notes.txt", "elsewhere/a.py") == ()


def test_where_inputs_cannot_be_told_any_source_concerns_a_file() -> None:
    write("a", imports="import os\n")
    write("b")
    assert concerned("elsewhere/x.py") == ("k/a.py",)
    assert concerned("elsewhere/x.txt") == ()


def test_new_files_of_a_folder_and_named_kernels() -> None:
    write("a")
    write("b")
    assert concerned("k/b.py", known=("k/a.py",)) == ("k/b.py",)
    named = ("k/a.py::a", "k/b.py::b::0")
    assert concerned("k/b.py", targets=named) == ("k/b.py::b::0",)
    assert concerned("k/c.py", targets=named) == ()


def test_modules_that_are_imported_are_watched_wherever_they_lie(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a", imports="import parts.sizes\nimport shared\nimport numpy\n")
    for name in ("k/parts/__init__.py", "k/parts/sizes.py", "lib/shared/__init__.py", "lib/shared/deeper/more.py"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("from . import deeper\n" if name.endswith("shared/__init__.py") else "")
    Path("lib/shared/deeper/__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(folder / "lib"))
    wanted = {"k", "k/parts", "lib/shared", "lib/shared/deeper"}
    assert folders_of(["k/a.py::a"], []) == {(folder / name).resolve() for name in wanted}
    assert folders_of(["k"], ["k/a.py"]) == {(folder / name).resolve() for name in wanted}
    assert folders_of(["k"], []) == {(folder / "k").resolve()}
    changed = {(folder / "lib/shared/__init__.py").resolve()}
    assert affected(["k/a.py"], ["k/a.py"], changed) == ("k/a.py",)


def test_a_module_in_another_folder_is_seen_to_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is imported since the watch began."""
    pytest.importorskip("watchfiles")
    for name in ("late", "later"):
        Path(name).mkdir()
        Path(name, f"{name}_sizes.py").write_text("")
        monkeypatch.syspath_prepend(str(folder / name))
    write("a", imports="import late_sizes\n")
    watch = Watch(("k/a.py",), ())
    monkeypatch.setattr(watch, "check", lambda targets: Round(targets, Report((), "0", "z3")))
    rounds = watch.rounds()
    next(rounds)
    Path("late/late_sizes.py").write_text("SIZE = 1\n")
    assert next(rounds).checked == ("k/a.py",)
    write("a", imports="import late_sizes, later_sizes\n")
    assert next(rounds).checked == ("k/a.py",)
    timer = threading.Timer(1.0, lambda: Path("later/later_sizes.py").write_text("SIZE = 1\n"))
    timer.start()
    assert next(rounds).checked == ("k/a.py",)
    timer.join()


def test_what_was_too_much_is_tried_harder_while_nothing_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("watchfiles")
    write("a")
    monkeypatch.setattr(rounds_of_watch, "_QUIET", 0)
    asked: list[tuple[tuple[str, ...], int]] = []
    hard = KernelResult("k/a.py", "a", "0", Verdict.UNDECIDED, findings=(Finding("TV903", "too much"),))
    watch = Watch(("k/a.py::a",), ("--effort", "2"))

    def check(targets: tuple[str, ...], effort: int, disturbed: Callable[[], bool] | None) -> Round | None:
        asked.append((targets, effort))
        watch._results["k/a.py"] = [hard]
        if effort == 16:
            Path("k/a.py").touch()
            assert disturbed is not None
            while not disturbed():
                pass
            return None
        return Round(targets, Report((hard,), "0", "z3"))

    monkeypatch.setattr(watch, "check_harder", check)
    rounds = watch.rounds()
    assert [next(rounds).checked for _ in range(3)] == [("k/a.py::a",)] * 3
    assert [effort for _, effort in asked] == [1, 4, 16, 1], "what was changed ends the harder round, and is checked"


def test_the_effort_of_the_options_is_multiplied_and_a_round_can_be_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a")
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    said: list[Sequence[str]] = []

    def words(each: Sequence[str], disturbed: Callable[[], bool] | None) -> tuple[int, str]:
        said.append(each)
        return 2, "error: no"

    monkeypatch.setattr(rounds_of_watch, "ran", words)
    watch = Watch(("k",), ("--effort", "0.5"))
    assert (found := watch.check_harder(("k/a.py",), 4, None)) is not None
    assert found.trouble == "error: no"
    assert list(said[0][2:6]) == ["--effort", "0.5", "--effort", "2.0"]
    assert ran(["check", "k"], lambda: True) is None


def test_settings_concern_everything() -> None:
    watch = Watch(("k",), (), (Path("specs.toml"),))
    assert watch.concerned({Path("pyproject.toml").resolve()}) == ("k",)
    assert watch.concerned({Path("specs.toml").resolve()}) == ("k",)
    assert watch.concerned({Path("Cargo.toml").resolve()}) == ()


def test_a_round_replaces_what_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(Path("cache").resolve()))
    write("a")
    write("b", " // 2")
    watch = Watch(("k",), ())
    assert summary_line(watch.check(("k",)).report) == "2 kernels: 1 proved, 1 refuted, 0 undecided"
    write("b")
    again = watch.check(("k/b.py",))
    assert summary_line(again.report) == "2 kernels: 2 proved, 0 refuted, 0 undecided"
    Path("k/a.py").unlink()
    assert watch.forget()
    assert not watch.forget()
    write("b", " // 2  # tileverify: ignore[TV101]")
    found = watch.check(("k/b.py",)).report
    assert [each.code for each in found.findings] == ["TV603"]
    write("b")
    assert not watch.check(("k/b.py",)).report.findings
    Path("k/b.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef f(:\n")
    assert [each.verdict for each in watch.check(("k/b.py",)).report.results] == [Verdict.ERROR]


def test_a_round_that_fails_says_so_and_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    write("a")
    watch = Watch(("k",), ("--isolated", "--no-cache"))
    watch.check(("k",))
    failed = watch.check(("missing.py",))
    assert "there is no file or folder 'missing.py'" in failed.trouble
    assert len(failed.report.results) == 1


def test_a_screen_is_as_high_as_the_terminal() -> None:
    proved = KernelResult("k.py", "right", "0", Verdict.PROVED, holds_for="any")
    wrong = KernelResult("k.py", "wrong\x1b[2J", "0", Verdict.UNDECIDED, findings=(Finding("TV903", "no\x1b[2J"),))
    text = screen(Report((*(proved,) * 50, wrong), "0", "z3"), heading="now", trouble="", color=False, height=24)
    lines = text.splitlines()
    assert len(lines) <= 24
    assert lines[2].startswith("undecided")
    assert "more lines" in lines[-3]
    assert lines[-1] == "51 launches of 2 kernels: 50 proved, 0 refuted, 1 undecided"
    assert "\x1b" not in text
    whole = screen(Report((*(proved,) * 50,), "0", "z3"), heading="now", trouble="t", color=False, height=None)
    assert whole.count("proved     k.py::right [0]") == 50


@pytest.mark.parametrize(
    "flags", [["--output", "x"], ["--format", "json"], ["--playback", "print"], ["--update-baseline"]]
)
def test_options_that_make_something_of_one_run_are_refused(tileverify: CommandLine, flags: list[str]) -> None:
    ran = tileverify("check", "k", "--watch", *flags)
    assert ran.code == 2
    assert f"--watch and {flags[0]} exclude each other" in ran.err


def test_without_the_extra_it_says_what_to_install(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    ran = tileverify("check", "k", "--watch")
    assert ran.code == 2
    assert "tileverify[watch]" in ran.err


@pytest.fixture
def watched(folder: Path) -> Iterator[subprocess.Popen[str]]:
    write("a", " // 2")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TILEVERIFY_CACHE_DIR": str(folder / "cache")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tileverify", "check", "k", "--watch", "--isolated", "--deny-requires"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=interruptible,
    )  # fmt: skip
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_change_is_seen_and_ctrl_c_ends(watched: subprocess.Popen[str]) -> None:
    def wait_for(text: str) -> None:
        assert watched.stdout is not None
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if text in watched.stdout.readline():
                return
        raise AssertionError(text)

    wait_for("1 kernel: 0 proved, 1 refuted, 0 undecided")
    write("a")
    wait_for("checked k/a.py;")
    wait_for("1 kernel: 1 proved, 0 refuted, 0 undecided")
    os.killpg(watched.pid, signal.SIGINT)
    assert watched.wait(30) == 130
    assert watched.stderr is not None
    assert watched.stderr.read() == "interrupted\n"
