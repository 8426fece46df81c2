"""``list --obligations``: what is to be proved, and what it came to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.pipeline import known_files
from tileverify.system.errors import UnsupportedOperation

KERNELS = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
SPEC = "".join(
    f'[[launch]]\nkernel = "{name}"\ngrid = ["cdiv(N, 64)"]\nargs = {{ x = "f32[N]", out = "f32[N]" }}\n\n'
    for name in ("copy", "halves")
)


@pytest.fixture
def kernels(tileverify: CommandLine) -> None:
    Path("kernels.py").write_text(KERNELS)
    Path("kernels.tileverify.toml").write_text(SPEC)


@pytest.mark.usefixtures("kernels")
def test_obligations_are_counted_and_what_is_known_is_told(tileverify: CommandLine) -> None:
    ran = tileverify("list", "--obligations", "kernels.py")
    assert ran.code == 0
    assert "kernels.py::copy [0]: no verdict is kept; 4 obligations\n" in ran.out
    assert "      2  TV301  every tile index lies in its view's index space\n" in ran.out
    checked = json.loads(tileverify("check", "kernels.py", "--format", "json").out)["results"]
    ran = tileverify("list", "--obligations", "kernels.py")
    assert "kernels.py::copy [0]: proved; 4 obligations\n" in ran.out
    assert "      2  TV301  every tile index lies in its view's index space: proved\n" in ran.out
    assert "      1  TV101  no write/write race between tile blocks: broken\n" in ran.out
    rows = json.loads(tileverify("list", "kernels.py", "--obligations", "--format", "json").out)
    totals = [sum(each["count"] for each in row["obligations"].values()) for row in rows]
    assert totals == [each["obligations"]["total"] for each in checked]
    assert [row["verdict"] for row in rows] == ["proved", "refuted"]
    assert rows[1]["obligations"]["TV101"] == {"count": 1, "came_to": "broken"}
    assert rows[1]["obligations"]["TV301"]["came_to"] is None


@pytest.mark.usefixtures("kernels")
def test_a_verdict_of_other_settings_is_none_of_it(tileverify: CommandLine) -> None:
    tileverify("check", "kernels.py")
    Path("pyproject.toml").write_text("[tool.tileverify]\ndeny-requires = true\n")
    assert "copy [0]: no verdict is kept" in tileverify("list", "--obligations", "kernels.py").out
    Path("pyproject.toml").write_text("[tool.tileverify]\ncache = false\n")
    assert "copy [0]: no verdict is kept" in tileverify("list", "--obligations", "kernels.py").out


@pytest.mark.usefixtures("kernels")
def test_what_cannot_be_counted_is_told(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: object) -> None:
        raise UnsupportedOperation("no rule for 'odd'", op="odd")

    with monkeypatch.context() as planted:
        planted.setattr(known_files, "summary_of", unknown)
        ran = tileverify("list", "--obligations", "kernels.py")
        assert (ran.code, ran.out.splitlines()[0]) == (0, "kernels.py::copy [0]: no rule for 'odd'")
    Path("kernels.tileverify.toml").write_text(SPEC.replace('"f32[N]", out', '"f32[N, N]", out', 1))
    ran = tileverify("list", "--obligations", "kernels.py")
    assert ran.code == 2
    assert "copy" in ran.err
    assert "kernels.py::halves [0]: no verdict is kept; 4 obligations" in ran.out
