"""Files that are none, never end, or are written in another way: one sentence at once, and no other verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import CommandLine

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices as POSIX has them")

KERNEL = """
import cuda.tile as ct


@ct.kernel
def shift(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i OFFSET,), (16,)))
"""
SPEC = """[[launch]]
kernel = "shift"
grid = ["cdiv(N, 16)"]
args = { x = "f32[N]", out = "f32[N]" }
"""
MARK = b"\xef\xbb\xbf"


@pytest.fixture(autouse=True)
def _project(tileverify: CommandLine) -> None:
    Path("shift.py").write_text(KERNEL.replace(" OFFSET", ""))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def nowhere(path: Path) -> None:
    path.symlink_to("gone")


def folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [pipe, device, nowhere, folder])
def test_a_spec_that_is_no_file_is_an_error(tileverify: CommandLine, make: Callable[[Path], None]) -> None:
    """Without a word the kernel would be judged under a contract that nobody wrote."""
    make(Path("shift.tileverify.toml"))
    ran = tileverify("check", "shift.py")
    assert ran.code == 2
    assert "shift.tileverify.toml" in ran.out
    assert "plain file" in ran.out or "there is no spec file" in ran.out


@pytest.mark.parametrize("make", [pipe, device])
@pytest.mark.parametrize(
    "words", [("shift.py",), ("--isolated", "shift.py"), ("--config", "pyproject.toml", "shift.py")]
)
def test_settings_that_are_no_file_are_an_error(
    tileverify: CommandLine, make: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    make(Path("pyproject.toml"))
    ran = tileverify("check", *words)
    assert ran.code == 2
    assert "it is no plain file" in ran.out + ran.err


@pytest.mark.parametrize("make", [pipe, device])
def test_a_source_that_is_no_file_is_passed_by(tileverify: CommandLine, make: Callable[[Path], None]) -> None:
    for name in ("other.py", "other.cu", "other.tileirbc", "other"):
        make(Path(name))
    assert tileverify("check", ".").code in (0, 2)


def test_a_spec_of_endless_size_is_not_read(tileverify: CommandLine) -> None:
    with Path("shift.tileverify.toml").open("wb") as file:
        file.truncate(1 << 40)  # of which the disk holds nothing
    ran = tileverify("check", "shift.py")
    assert ran.code == 2
    assert "it has more than 256 MiB" in ran.out


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_source_in_another_encoding_is_told(tileverify: CommandLine, encoding: str) -> None:
    Path("shift.py").write_text(KERNEL.replace(" OFFSET", ""), encoding=encoding)
    ran = tileverify("check", "shift.py")
    assert ran.code == 2
    assert "TV001" in ran.out
    assert "save it as UTF-8" in ran.out


def test_a_byte_order_mark_is_no_part_of_a_spec_or_of_settings(tileverify: CommandLine) -> None:
    Path("shift.tileverify.toml").write_bytes(MARK + SPEC.encode())
    Path("pyproject.toml").write_bytes(MARK + b'[tool.tileverify]\npaths = ["shift.py"]\n')
    ran = tileverify("check")
    assert ran.code == 0, ran
    assert "cdiv(N, 16)" in ran.out
    Path("shift.tileverify.toml").write_bytes(MARK + SPEC.replace("grid", "gird").encode())
    assert "shift.tileverify.toml:3:1" in tileverify("check").out


@pytest.mark.parametrize("place", ["beside", "inside"])
def test_a_line_of_megabytes_takes_no_minutes(tileverify: CommandLine, place: str) -> None:
    """Repairs look at every part of the kernel, each time at its text."""
    wrong = KERNEL.replace(" OFFSET", " + 1")
    long = f"DATA = {'ab' * 1_000_000!r}\n" if place == "beside" else f"    DATA = {'ab' * 1_000_000!r}\n"
    Path("shift.py").write_text(wrong + long)
    Path("shift.tileverify.toml").write_text(SPEC)
    start = time.process_time()
    ran = tileverify("check", "shift.py")
    assert ran.code == 1
    assert time.process_time() - start < 20
