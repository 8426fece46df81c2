"""``clean`` removes verdicts, after which they are made anew, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import CommandLine

KERNEL = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (128,)))
"""


def test_verdicts_go_and_nothing_else(tileverify: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(folder))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.txt").write_text("of somebody else")
    (tmp_path / "copy.py").write_text(KERNEL)

    def check() -> str:
        ran = tileverify("check", str(tmp_path / "copy.py"), "--no-worker")
        assert ran.code == 0
        return ran.out

    check()
    assert "from the cache" in check()
    (folder / "notes.txt").write_text("mine")
    (folder / "cubins").mkdir()
    (folder / "cubins" / "one.cubin").write_text("mine")
    (folder / ("0" * 32)).symlink_to(elsewhere, target_is_directory=True)
    ran = tileverify("clean")
    assert ran.code == 0
    assert f"{folder}: " in ran.out
    assert " 0 files" not in ran.out
    left = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert left == {"notes.txt", "cubins", "cubins/one.cubin", "0" * 32}
    assert (elsewhere / "kept.txt").exists()
    assert "from the cache" not in check()


def test_a_folder_that_is_not_there_has_nothing(
    tileverify: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "none"))
    assert tileverify("clean").out == f"{tmp_path / 'none'}: 0 files removed, 0.0 MB\n"
    assert not (tmp_path / "none").exists()
