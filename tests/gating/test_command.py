"""`tileverify gate` as a program: lines, exit codes, stdin, folders, bundles, and the API."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def test_stdin() -> None:
    code, (line,), told = gate("-", text=HONEST)
    assert (code, line["verdict"], line["accepted"], line["reasons"]) == (0, "proved", True, [])
    assert "seccomp" in line["isolation"]
    assert line["file"] == "<stdin>"
    assert "1 of 1 accepted" in told
    code, (line,), _ = gate(text="import os")
    assert (code, line["verdict"], line["accepted"]) == (1, "rejected", False)
    assert line["reasons"] == ["import: the module 'os' may not be imported (line 1, column 1)"]


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text(HONEST)
    (tmp_path / "inner" / "b.py").write_text(RACY)
    (tmp_path / "c.py").write_text("while True: pass")
    (tmp_path / "d.txt").write_text("no Python")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "a.tileverify.toml").write_text(SPEC)
    bundles = tmp_path / "bundles"
    code, lines, told = gate(str(tmp_path), "--bundle", str(bundles))
    assert code == 1
    assert [(Path(line["file"]).name, line["verdict"], line["accepted"]) for line in lines] == [
        ("a.py", "proved", True),
        ("c.py", "rejected", False),
        ("b.py", "refuted", False),
    ]
    assert lines[0]["launch"] == "0"
    assert lines[2]["reasons"][0].startswith("TV101: ")
    assert "left out" in told
    assert [path.name for path in bundles.iterdir()] == ["a.k.0.tvk"]


def test_bad_usage(tmp_path: Path) -> None:
    assert gate(str(tmp_path / "nowhere"))[0] == 2
    assert gate("-", "--spec", "x.toml", "--trust-specs", text=HONEST)[0] == 2
    assert gate("-", "--spec", str(tmp_path / "nowhere.toml"), text=HONEST)[0] == 2
    assert gate("-", "--reference", "nothing", text=HONEST)[0] == 2
    assert gate(str(tmp_path))[0] == 4


def test_api() -> None:
    result = tileverify.gate(HONEST, file="mine.py", spec=SPEC)
    assert result.accepted
    assert result.kernels[0].result.file == "mine.py"
    assert not tileverify.gate(RACY, spec=SPEC).accepted
    assert "seccomp" in result.isolation
