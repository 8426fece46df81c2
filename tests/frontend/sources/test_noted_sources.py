"""Debug information of bytecode names whatever its maker likes: only files of the user's folders are quoted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import F32, I32, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.location import Location

SECRET = "PASSWORD = 'tell-nobody-7f3a'"
SPEC = '[[launch]]\nkernel = "k"\ngrid = ["2"]\nargs = { out = "f32[N]" }\nrequires = ["N >= 1"]\n'


def racy(file: str) -> bytes:
    """Every block stores to the first element, in a line of ``file``; called from another line of it."""
    place = Location(file, 2, 0, "inner", Location(file, 1, 0, "outer"))
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", [tile(pointer(F32)), tile(I32), tile(I32)], location=place) as f:
        f.op("store_ptr_tko", ptr=f.parameters[0], val=f.constant(tile(F32), 0))
        f.op("return")
    return encode(builder.build())


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tileverify: CommandLine) -> tuple[Path, Path]:
    """Where the bytecode lies and the command runs, and where somebody's own file is."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
        (folder / "settings.py").write_text(f"{SECRET}\n{SECRET} + ''\n")
    monkeypatch.chdir(here)
    (here / "k.tileverify.toml").write_text(SPEC)
    return here, elsewhere


def shown(here: Path, file: str, tileverify: CommandLine) -> str:
    (here / "k.tileirbc").write_bytes(racy(file))
    said = ""
    for format_ in ("text", "json", "sarif", "github", "junit", "html"):
        output = here / f"report.{format_}"
        done = tileverify("check", "k.tileirbc", "--no-cache", "--format", format_, "--output", str(output))
        assert done.code == 1, done.err
        said += done.out + done.err + output.read_text()
        output.unlink()
    return said


@pytest.mark.parametrize("how", ["absolute", "relative", "link"])
def test_files_elsewhere_are_not_quoted(how: str, folders: tuple[Path, Path], tileverify: CommandLine) -> None:
    here, elsewhere = folders
    file = str(elsewhere / "settings.py")
    if how == "relative":
        file = "../elsewhere/settings.py"
    if how == "link":
        os.symlink(elsewhere / "settings.py", here / "linked.py")
        file = "linked.py"
    said = shown(here, file, tileverify)
    assert "tell-nobody" not in said
    assert "not read: " in said


def test_sources_beside_the_bytecode_are_quoted(folders: tuple[Path, Path], tileverify: CommandLine) -> None:
    here, _ = folders
    assert "tell-nobody" in shown(here, "settings.py", tileverify)
    assert "not read" not in shown(here, "/no/such/file.py", tileverify)
