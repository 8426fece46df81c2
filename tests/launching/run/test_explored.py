"""`tileverify run --explore N`: races and both outcomes, or that all schedules agree."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tileverify.commands import cli

KERNELS = """\
import cuda.tile as ct


@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=2 * ct.load(x, index=(i,), shape=(16,)))


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(16,)))


@ct.kernel
def total(x, out):
    ct.atomic_add(out, (0,), ct.sum(ct.load(x, index=(ct.bid(0),), shape=(16,))))
"""
SPEC = """\
[[launch]]
kernel = "*"
name = "any"
grid = ["cdiv(N, 16)"]
args = { x = "i32[N]", out = "i32[N]" }
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernels.py").write_text(KERNELS)
    specs = [SPEC.replace("*", name) for name in ("double", "halves", "total")]
    (tmp_path / "kernels.tileverify.toml").write_text("\n".join(specs))
    return tmp_path / "kernels.py"


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["tileverify", "run", *arguments])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    out, err = capsys.readouterr()
    return int(leaving.value.code or 0), out, err


@pytest.mark.parametrize("kernel", ["double", "total"])
def test_agreement(
    kernel: str, kernels: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = run(capsys, monkeypatch, f"kernels.py::{kernel}", "--size", "N=64", "--explore", "5")
    assert code == 0
    assert "explored 5 schedules of grid (4, 1, 1)" in out
    assert out.endswith("all schedules agree; no race was seen\n")


def test_a_race_and_its_two_outcomes(
    kernels: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = ("kernels.py::halves", "--size", "N=64", "--unproved")
    code, out, _ = run(capsys, monkeypatch, *target, "--explore", "4")
    assert code == 1
    lines = out.splitlines()
    place = lines.index("TV101: race on out[0], seen with blocks in order")
    assert lines[place + 1 : place + 3] == [
        "    store in block (0, 0, 0): kernels.py:13",
        "    store in block (1, 0, 0): kernels.py:13",
    ]
    assert "two outcomes: (1) blocks in order; (2) blocks in reverse order" in lines
    assert any(line.startswith("    out[0]: (1) ") for line in lines)
    assert lines[-1] == "1 race; the outcome depends on the schedule"


def test_what_is_not_proved_is_refused(
    kernels: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run(capsys, monkeypatch, "kernels.py::halves", "--size", "N=64", "--explore", "4")
    assert code == 1
    assert not out
    assert "--unproved" in err


def test_there_is_no_one_result_to_save(
    kernels: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = run(capsys, monkeypatch, "kernels.py::double", "--explore", "2", "--save", "out.npz")
    assert code == 2
    assert "--save" in err
