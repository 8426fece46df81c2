"""A finding is shown again by its fingerprint."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.command_line import CommandLine, command_line

KERNEL = """import cuda.tile as ct


@ct.kernel
def halves(x, out, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i // 2,), ct.load(x, (i,), (T,)))
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    Path("halves.py").write_text(KERNEL)
    return command_line(capfd)


def test_by_its_fingerprint(run: CommandLine) -> None:
    told = re.search(r"replay: tileverify replay ([0-9a-f]{12}) halves\.py", run("check", "-v", "halves.py").out)
    assert told is not None
    ran = run("replay", told[1], "halves.py")
    assert ran.code == 1
    assert "TV101 race-write-write: two tile blocks store to the same element of `out`" in ran.out
    assert ran.out.splitlines()[-1].startswith("seen again by the reference interpreter")
    report = json.loads(run("check", "halves.py", "--format", "json").out)
    (finding,) = report["results"][0]["findings"]
    assert finding["fingerprint"].startswith(told[1])
    Path("pyproject.toml").write_text('[tool.tileverify]\npaths = ["halves.py"]\n')
    assert run("replay", finding["fingerprint"].upper()).code == 1
    Path("halves.py").write_text(KERNEL.replace("i // 2", "i"))
    gone = run("replay", told[1], "halves.py")
    assert gone.code == 4
    assert "it is mended, or of other files" in gone.err


@pytest.mark.parametrize("fingerprint", ["abc", "halves.py", ""])
def test_what_is_no_fingerprint(run: CommandLine, fingerprint: str) -> None:
    ran = run("replay", fingerprint, "halves.py")
    assert (ran.code, ran.out) == (2, "")
    assert "is no fingerprint" in ran.err


def test_of_two_kernels(run: CommandLine) -> None:
    Path("halves.py").write_text(KERNEL + KERNEL[KERNEL.index("@ct.kernel") :].replace("halves", "others"))
    found = json.loads(run("check", "halves.py", "--format", "json").out)["results"]
    one, other = (each["findings"][0]["fingerprint"] for each in found)
    assert one != other
    assert run("replay", one, "halves.py").out.count("seen again") == 1
