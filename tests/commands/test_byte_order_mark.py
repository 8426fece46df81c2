"""Files that begin with a byte order mark, as some editors write them, are like all others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..command_line import command_line

KERNEL = """\
import cuda.tile as ct


@ct.kernel
def row_largest(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    ct.store(out, index=(i,), tile=ct.max(row, axis=1))


@ct.kernel
def last_one(x, out):
    ct.store(out, (0,), ct.load(x, (ct.bid(0),), (1,)))  # tileverify: ignore[TV101] -- any of them will do
"""
SPEC = """\
[[launch]]
kernel = "row_largest"
grid = ["M"]
args = { x = "f32[M, N]", out = "f32[M]", TILE = 256 }
requires = ["1 <= N", "N <= 256"]

[[launch]]
kernel = "last_one"
grid = ["N"]
args = { x = "f32[N]", out = "f32[1]" }
"""
MARK = b"\xef\xbb\xbf"


@pytest.fixture(params=[b"", MARK], ids=["plain", "marked"])
def file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    mark: bytes = request.param
    Path("kernels.py").write_bytes(mark + KERNEL.encode())
    Path("kernels.tileverify.toml").write_text(SPEC, encoding="utf-8")
    return Path("kernels.py")


def test_findings_are_suppressed_shown_and_repaired(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = command_line(capfd)
    report = json.loads(run("check", str(file), "--format", "json", "--no-cache").out)
    largest, last = report["results"]
    assert [hint["id"] for finding in largest["findings"] for hint in finding["hints"]] == ["pad-load"]
    (finding,) = last["findings"]
    assert (finding["code"], finding["suppression"]["reason"]) == ("TV101", "any of them will do")
    shown = run("check", str(file), "--no-cache").out
    assert "^" * len("ct.store(out, index=(i,), tile=ct.max(row, axis=1))") in shown
    before = file.read_bytes()
    run("check", str(file), "--fix", "--unsafe-fixes")
    after = file.read_bytes()
    assert after.startswith(MARK) == before.startswith(MARK)
    assert after.removeprefix(MARK).decode() == KERNEL.replace(
        "shape=(1, TILE))", "shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF)"
    )
