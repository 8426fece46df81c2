"""Neovim itself, without a screen: its client drives the language server as a person would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="needs the extra lsp")

from tests.serving.worker.worker import workers

from tileverify import corpus

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux"),
    pytest.mark.skipif(shutil.which("nvim") is None, reason="no Neovim (apt-get install neovim)"),
]


def test_a_session(tmp_path: Path) -> None:
    with workers() as place:
        for name in ("naive_reduction.py", "naive_reduction.tileverify.toml"):
            shutil.copy(corpus.ROOT / "racy" / name, place.root / name)
        extra = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(entry)]
        environment = place.environment()
        environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([environment["PYTHONPATH"], *extra]))
        more = {
            "COMMAND": json.dumps([sys.executable, "-m", "tileverify", "lsp"]),
            "ROOT": str(place.root),
            "SOURCE": str(place.root / "naive_reduction.py"),
            "ANSWER": str(tmp_path / "answer.json"),
            "TILEVERIFY_CACHE_DIR": str(tmp_path / "cache"),
            **{f"XDG_{name}_HOME": str(tmp_path / name) for name in ("STATE", "DATA", "CONFIG")},
        }
        script = str(Path(__file__).with_name("neovim.lua"))
        done = subprocess.run(
            ["nvim", "--headless", "-u", "NONE", "-n", "-c", f"luafile {script}", "-c", "qall!"],
            env={**environment, **more}, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert (tmp_path / "answer.json").exists(), done.stderr
        answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["code"] in ("TV101", "TV102")
    assert len(answer["related"]) == 2
    assert "block A" in answer["related"][0]["message"]
    assert answer["code"] in answer["hover"]
    assert any("atomic" in title for title in answer["actions"])
    assert f"Suppress {answer['code']} here, with a reason" in answer["actions"]
    assert [hint["label"].split(":")[0] for hint in answer["hints"]] == ["refuted"]
    assert "begin" in answer["progress"]
    assert "end" in answer["progress"]
    assert answer["cancelled"]
    assert answer["modified"], "the repair is in the buffer, not in the file"
    assert answer["left"] == 0
