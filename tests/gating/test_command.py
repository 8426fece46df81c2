"""`tileverify gate` as a program: lines, exit codes, stdin, folders, bundles, and the API."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

import tileverify

from .bombs import SPEC
from .hostile import HONEST

RACY = HONEST.replace("index=(i,), tile", "index=(0,), tile")


def gate(*arguments: str, text: str = "") -> tuple[int, list[dict[str, Any]], str]:
    run = subprocess.run(
        [sys.executable, "-m", "tileverify", "gate", *arguments],
        input=text, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return run.returncode, [json.loads(line) for line in run.stdout.splitlines()], run.stderr


Gate = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def gate_here(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """The same in this process."""

    def run(*arguments: str, text: str = "") -> tuple[int, list[dict[str, Any]], str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        ran = tileverify("gate", *arguments)
        return ran.code, [json.loads(line) for line in ran.out.splitlines()], ran.err

    return run


def test_stdin(gate_here: Gate) -> None:
    code, (line,), told = gate("-", text=HONEST)
    assert (code, line["verdict"], line["accepted"], line["reasons"]) == (0, "proved", True, [])
    assert "seccomp" in line["isolation"]
    assert line["file"] == "<stdin>"
    assert "1 of 1 accepted" in told
    code, (line,), _ = gate_here(text="import os")
    assert (code, line["verdict"], line["accepted"]) == (1, "rejected", False)
    assert line["reasons"] == ["import: the module 'os' may not be imported (line 1, column 1)"]


def test_what_is_wrong_has_its_cause(gate_here: Gate) -> None:
    """As in the report of `check`: one mistake may show as several findings."""
    code, (line,), _ = gate_here("-", text=RACY)
    assert (code, line["verdict"]) == (1, "refuted")
    fingerprints = [finding["fingerprint"] for finding in line["findings"]]
    assert {finding["cause"] for finding in line["findings"]} <= set(fingerprints)


def test_a_reason_is_one_line(gate_here: Gate) -> None:
    """An example of a spec, which the message holds, too."""
    code, (line,), _ = gate_here("-", text=HONEST.replace("i = ct.bid(0)", "i = ct.bid(x, x)"))
    assert (code, line["verdict"]) == (1, "error")
    assert "for example: [[launch]] kernel =" in line["reasons"][0]
    assert "\\x0a" not in line["reasons"][0]


def test_folder(gate_here: Gate, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("submissions")
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text(HONEST)
    (tmp_path / "inner" / "b.py").write_text(RACY)
    (tmp_path / "c.py").write_text("while True: pass")
    (tmp_path / "d.txt").write_text("no Python")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "a.tileverify.toml").write_text(SPEC)
    bundles = tmp_path.with_name(f"{tmp_path.name}-bundles")
    code, lines, _ = gate_here(str(tmp_path), "--bundle", str(bundles))
    assert code == 1
    assert [(Path(line["file"]).name, line["verdict"], line["accepted"]) for line in lines] == [
        ("a.py", "proved", True),
        ("c.py", "rejected", False),
        ("b.py", "refuted", False),
        ("link.py", "rejected", False),
    ]
    assert lines[0]["launch"] == "0"
    assert lines[2]["reasons"][0].startswith("TV101: ")
    assert lines[3]["reasons"] == ["not-read: it is no plain file"]
    assert [path.name for path in bundles.iterdir()] == ["a.k.0.tvk"]


def test_bad_usage(gate_here: Gate, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("submissions")
    assert gate_here(str(tmp_path / "nowhere"))[0] == 2
    assert gate_here("-", "--spec", "x.toml", "--trust-specs", text=HONEST)[0] == 2
    assert gate_here("-", "--spec", str(tmp_path / "nowhere.toml"), text=HONEST)[0] == 2
    assert gate_here("-", "--reference", "nothing", text=HONEST)[0] == 2
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[[launch]]\nkernel =\n")
    code, lines, told = gate_here(os.devnull)
    assert (code, lines) == (2, [])
    assert "gate - <" in told
    code, lines, told = gate_here("-", "--spec", str(wrong), text=HONEST)
    assert (code, lines) == (2, [])
    assert "wrong.toml:2" in told
    assert gate_here(str(tmp_path))[0] == 4
    (tmp_path / "a.py").write_text(HONEST)
    wrong.unlink()
    for option in ("--bundle", "--results"):
        code, lines, told = gate_here(str(tmp_path), option, str(tmp_path / "inside.sqlite"))
        assert (code, lines) == (2, [])
        assert "lies among the submissions" in told
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_modules_of_the_working_folder_are_not_those_of_the_program(tmp_path: Path) -> None:
    """What `python -m` puts first on the path may be full of submissions."""
    for name in ("click", "numpy", "z3", "pathlib", "json", "linecache", "ast"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'touched')!r}, 'w')\n" + HONEST)
    found = subprocess.run(
        [sys.executable, "-m", "tileverify", "gate", "."],
        env={**os.environ, "PYTHONPATH": str(Path(tileverify.__file__).parents[1])},
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert not (tmp_path / "touched").exists()
    assert found.returncode == 1, found.stderr
    assert {json.loads(line)["verdict"] for line in found.stdout.splitlines()} == {"rejected"}


def test_api() -> None:
    result = tileverify.gate(HONEST, file="mine.py", spec=SPEC)
    assert result.accepted
    assert result.kernels[0].result.file == "mine.py"
    assert not tileverify.gate(RACY, spec=SPEC).accepted
    assert "seccomp" in result.isolation
