from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tileverify.system.atomic_file import write_whole


def test_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "text\n")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_text() == "text\n"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_an_old_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o604)
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


def test_a_failure_leaves_the_old_file_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(number: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "report"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "through")
    reader.join(10)
    assert read == ["through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_lone_surrogates_do_not_stop_a_report(tmp_path: Path) -> None:
    write_whole(tmp_path / "new", "\udcff")
    assert (tmp_path / "new").read_text() == "\\udcff"
