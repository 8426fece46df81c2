"""A failure of the tool leaves one archive to report it with; an error of the user leaves none."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.command_line import Ran, command_line
from tests.serving.worker.worker import SOURCE, workers

from tileverify import pipeline
from tileverify.system import crash_report
from tileverify.system.crash_report import CrashContents, crash_folder, write_crash

KERNEL = """\
import cuda.tile as ct


@ct.kernel
def moved(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
SPEC = '[[launch]]\nkernel = "moved"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'

PLANT = """\
import importlib.util
import sys


def verify(summary, launch, *arguments, **options):
    password = "local-value"
    if launch.kernel in ("moved", "other"):
        raise ZeroDivisionError("planted")
    return right(summary, launch, *arguments, **options)


class Plant:
    def find_spec(self, name, path, target=None):
        if name != "tileverify.verifier.verify":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def exec_module(module):
            global right
            run(module)
            right, module.verify = module.verify, verify

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Plant())
"""
"""A `sitecustomize` by which the proofs of two kernels fail, in every process that is started."""


@pytest.fixture(autouse=True)
def _archives_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere in a run of the tests none are."""
    monkeypatch.delenv(crash_report.FOLDER, raising=False)


def archives(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.zip"))


def members(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def holds_the_kernel(archive: Path) -> None:
    """The archive that `PLANT` leads to."""
    found = members(archive)
    assert "ZeroDivisionError: planted" in found["traceback.txt"].decode()
    told = json.loads(found["crash.json"])
    assert (told["error"], told["message"]) == ("ZeroDivisionError", "planted")
    assert told["about"]["kernel"] == "moved"
    assert told["command"][0] == "check"
    assert {"python", "z3-solver", "cuda-tile", "tileverify"} <= set(told["versions"])
    by_name = {name.rpartition("/")[2]: found[member] for member, name in told["files"].items()}
    assert by_name["moved.py"].decode() == KERNEL
    assert by_name["moved.tileverify.toml"].decode() == SPEC
    assert by_name["bytecode.tileirbc"].startswith(b"\x7fTileIR")
    assert json.loads(by_name["launch.json"])
    every = b"".join(found.values())
    assert b"TOKEN_OF_MINE" not in every
    assert b"do-not-tell" not in every
    assert b"local-value" not in found["crash.json"]
    assert archive.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("how", ["alone", "--jobs", "worker"])
def test_a_failure_of_a_proof_leaves_one_archive(how: str, tmp_path: Path) -> None:
    plant = tmp_path / "plant"
    plant.mkdir()
    (plant / "sitecustomize.py").write_text(PLANT)
    with workers() as made:
        for name in ("moved", "other"):
            (made.root / f"{name}.py").write_text(KERNEL.replace("def moved", f"def {name}"))
            (made.root / f"{name}.tileverify.toml").write_text(SPEC.replace('"moved"', f'"{name}"'))
        more = {"PYTHONPATH": str(plant), "TOKEN_OF_MINE": "do-not-tell", "TILEVERIFY_CACHE_DIR": str(tmp_path / "c")}
        if how == "worker":
            assert made.command("worker", "start", more=more).code == 0
        words = ("check", "-v", "moved.py", "other.py", *(["--jobs", "2"] if how == "--jobs" else []))
        ran = made.command(*words, *([] if how == "worker" else ["--no-worker"]), more=more)
        (archive,) = archives(made.root)
        assert how != "worker" or ran.by_worker
        assert ran.code == 2
        assert ran.out.count(f"TV005]: tileverify failed (ZeroDivisionError: planted); please report this with "
                             f"'{archive.name}'") == 2  # fmt: skip
        if how == "--jobs":  # either of the two was first
            assert json.loads(members(archive)["crash.json"])["about"]["kernel"] in ("moved", "other")
        else:
            holds_the_kernel(archive)
        assert not list(made.root.glob(".*.part"))


def test_traceback_is_printed_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(PLANT)
    (tmp_path / "moved.py").write_text(KERNEL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(SOURCE)]), "TILEVERIFY_WORKER": "0"}
    words = ["--traceback", "check", "--no-cache", "moved.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "tileverify", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert 'raise ZeroDivisionError("planted")' in ran.stderr
    assert archives(tmp_path)


# ------------------------------------------------------------------------------------------ outside of a kernel
@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def failing(monkeypatch: pytest.MonkeyPatch, words: list[str], capfd: pytest.CaptureFixture[str]) -> Ran:
    """A command line that fails before it comes to a kernel."""

    def fail(*arguments: object, **options: object) -> None:
        raise LookupError("planted")

    monkeypatch.setattr(pipeline, "check_paths", fail)
    monkeypatch.setattr(sys, "argv", ["tileverify", *words])
    return command_line(capfd)(*words)


def test_a_failure_of_a_command_takes_the_files_that_it_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("moved.py").write_text(KERNEL)
    Path("moved.tileverify.toml").write_text(SPEC)
    Path("private.pem").write_text("do-not-tell")
    ran = failing(monkeypatch, ["check", "moved.py::moved", "private.pem"], capfd)
    (archive,) = archives(folder)
    assert ran.code == 2
    assert ran.err == (
        "error: tileverify failed (LookupError: planted); please report this with "
        f"'{archive.name}', which says where it happened\n"
    )
    found = members(archive)
    assert sorted(found) == ["README.txt", "crash.json", "file-1.py", "file-2.toml", "traceback.txt"]
    assert not any(b"do-not-tell" in content for content in found.values())


def test_words_of_another_program_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tileverify", "record", "-o", "specs", "--", "train.py", "--token=do-not-tell"])
    assert crash_report.command_words() == ["record", "-o", "specs", "--"]


def test_where_archives_go(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "there").mkdir()
    monkeypatch.setenv(crash_report.FOLDER, str(folder / "there"))
    assert "'there/tileverify-crash-" in failing(monkeypatch, ["check", "x.py"], capfd).err
    assert len(archives(folder / "there")) == 1
    for nowhere in ("", str(folder / "missing")):
        monkeypatch.setenv(crash_report.FOLDER, nowhere)
        assert "TILEVERIFY_TRACEBACK=1 shows" in failing(monkeypatch, ["check", "x.py"], capfd).err
    assert not archives(folder)
    monkeypatch.delenv(crash_report.FOLDER)
    monkeypatch.chdir("/")
    assert crash_folder() not in (None, Path("/"))


@pytest.mark.parametrize(
    "words", [["check", "missing.py"], ["check", "wrong.py"], ["check", "--nonsense"], ["explain", "TV777"]]
)
def test_an_error_of_the_user_leaves_nothing(folder: Path, words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    Path("wrong.py").write_text(KERNEL + "\n\nraise RuntimeError('of the user')\n")
    assert command_line(capfd)(*words).code == 2
    assert not archives(folder)


def test_one_cause_has_one_archive_and_it_stays(tmp_path: Path) -> None:
    error = ValueError("odd")
    path = write_crash(error, CrashContents(files={"a.py": b"1"}), tmp_path)
    assert path is not None
    before = path.read_bytes()
    assert write_crash(error, CrashContents(files={"a.py": b"1"}), tmp_path) == path
    assert path.read_bytes() == before
    assert write_crash(TypeError("odd"), CrashContents(files={"a.py": b"1"}), tmp_path) != path


def test_odd_names_and_large_files(tmp_path: Path) -> None:
    large = b"x" * (crash_report.MOST_BYTES + 1)
    path = write_crash(ValueError("\ud800"), CrashContents(files={"../../a": b"1", "b.py": large}), tmp_path)
    assert path is not None
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        assert archive.namelist() == ["README.txt", "traceback.txt", "crash.json", "file-1"]
        assert json.loads(archive.read("crash.json"))["files"] == {"file-1": "../../a", "file-2.py": "b.py"}


def test_what_cannot_be_written_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    assert write_crash(ValueError("odd"), CrashContents(), tmp_path) is None
    assert not list(tmp_path.iterdir())
