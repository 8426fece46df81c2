"""What the tool cannot do yet, each as a small test that is expected to fail.

A gap that users meet stands in ``docs/limits.md``, too.  A test that passes here fails the run: take the gap out of
both.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import CommandLine

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\n"
COUNTS_DOWN = (
    HEAD
    + """def counts_down(counter, out):
    ticket = ct.atomic_add(counter, (0,), -1)
    ct.scatter(out, (ticket - 1,), 1.0)
"""
)
ONE_BLOCK_EACH = """[[launch]]
kernel = "counts_down"
grid = ["8"]
data = ["range(counter, 8, 9)"]
args = { counter = "i32[1]", out = "f32[8]" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, kernel: str, launches: str) -> str:
    """The kernel with its launches, as a name for the command line."""
    (folder / "kernel.py").write_text(kernel, encoding="utf-8")
    (folder / "kernel.tileverify.toml").write_text(launches, encoding="utf-8")
    return "kernel.py"


@pytest.mark.xfail(strict=True, reason="counters that are counted down are no protocol yet (TV905)")
def test_tickets_that_are_counted_down_are_proved(tileverify: CommandLine, folder: Path) -> None:
    assert tileverify("check", write(folder, COUNTS_DOWN, ONE_BLOCK_EACH)).code == 0


@pytest.mark.xfail(strict=True, reason="the inverse of a grouped swizzle is named, but not confirmed")
def test_a_grouped_swizzle_is_seen_to_write_every_element(tileverify: CommandLine) -> None:
    corpus = Path(__file__).parents[1] / "corpus" / "showcase" / "matmul_swizzled.py"
    assert "every element of C" in tileverify("check", "--complete", str(corpus)).out
