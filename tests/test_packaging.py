"""What is built must be what is in the tree: every module and data file in the sdist and in the wheel, nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/tileverify")
LINKED = ("verifier", "frontend", "backend", "corpus", "reports")
IGNORED = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*", "build", "dist")


@dataclass(frozen=True, slots=True)
class Built:
    """A source tree and what the build front end made of it."""

    source: Path
    sdist: Path
    wheel: Path


def tree_files(root: Path) -> set[str]:
    """Package files of a source tree, relative to ``src``."""
    files = (path for path in (root / PACKAGE).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root / "src").as_posix() for path in files}


def wheel_files(wheel: Path) -> dict[str, bytes]:
    """Package files of a wheel and their contents, metadata left out."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        return {name: archive.read(name) for name in names}


def build(source: Path, out: Path, *kinds: str) -> None:
    """Runs the build front end, without a private environment where the back end at hand is new enough."""
    at_hand = int(metadata.version("setuptools").split(".")[0]) >= 77
    command = [sys.executable, "-m", "build", *kinds, "--outdir", str(out), str(source)]
    if at_hand:
        command.insert(3, "--no-isolation")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Made from a copy of the tree, so that leftovers of other builds cannot slip in."""
    scratch = tmp_path_factory.mktemp("packaging")
    source, out = scratch / "source", scratch / "dist"
    source.mkdir()
    for name in (
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Makefile",
        "conftest.py",
    ):
        shutil.copy2(REPOSITORY / name, source)
    for name in ("src", "tests", "campaigns", "tools"):
        shutil.copytree(REPOSITORY / name, source / name, ignore=IGNORED)
    build(source, out, "--sdist", "--wheel")
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Built(source, sdist, wheel)


def test_wheel_holds_the_tree(built: Built) -> None:
    assert set(wheel_files(built.wheel)) == tree_files(built.source)
    assert "tileverify/py.typed" in wheel_files(built.wheel)  # without it, type checkers of users look at nothing


def test_sdist_holds_the_tree(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        members = {member.name.partition("/")[2] for member in archive.getmembers() if not member.isdir()}
    package = {name.removeprefix("src/") for name in members if name.startswith(f"{PACKAGE}/")}
    assert package == tree_files(built.source)
    assert {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "Makefile",
        "conftest.py",
        "tests/grids.py",
        "campaigns/soak.py",
    } <= members


def test_sdist_builds_the_same_wheel(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    build(source, tmp_path / "dist", "--wheel")
    (again,) = (tmp_path / "dist").glob("*.whl")
    assert wheel_files(again) == wheel_files(built.wheel)


def test_wheel_declares_command_and_license(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        texts = {Path(name).name: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" in name}
    assert "tileverify = tileverify.commands.program:main" in texts["entry_points.txt"]
    assert "License-Expression: Apache-2.0" in texts["METADATA"]
    assert "Apache License" in texts["LICENSE"]


@pytest.mark.parametrize("name", LINKED)
def test_root_link_points_into_the_package(name: str) -> None:
    link = REPOSITORY / name
    assert link.is_symlink()
    assert link.readlink() == PACKAGE / name
    assert link.is_dir()
