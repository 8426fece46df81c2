"""``tileverify footprint``: bytes that a launch moves, and what the assembler says of accesses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import CommandLine, Ran

from tileverify.backend.assembler import Assembler

KERNELS = """
import cuda.tile as ct

@ct.kernel
def add_bias(x, bias, out):
    b = ct.load(bias, index=(0,), shape=(256,), padding_mode=ct.PaddingMode.ZERO)
    t = ct.load(x, index=(ct.bid(0), 0), shape=(1, 256), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(ct.bid(0), 0), tile=t + b)
"""
SPEC = """
[[launch]]
kernel = "add_bias"
name = "rows"
grid = ["M"]
requires = ["N <= 256"]
args = { x = "f32[M, N]", bias = "f32[N]", out = "f32[M, N]" }

[[launch]]
kernel = "add_bias"
name = "these"
grid = [512]
args = { x = "f32[512, 200]", bias = "f32[200]", out = "f32[512, 200]" }
"""
REMARKS = """--- !Failure
Pass:            Memory
Name:            RemarkMemoryTmaLoadFailed
DebugLoc:        { File: '{FILE}', Line: 7, Column: 9 }
Function:        add_bias
Hotness:         3
Args:
  - RemarkId:    1
  - Remark:      Failed to select TMA load instruction
  - Reason:      'loc("{FILE}":7:9): it''s too narrow'
  - Reason:      'loc("{FILE}":7:9): it''s too narrow'
...
--- !Passed
Pass:            Memory
Name:            RemarkMemoryLoadInstructionSelected
DebugLoc:        { File: '{FILE}', Line: 7, Column: 9 }
Args:
  - Instruction: Global-memory load instruction
...
--- !Analysis
Pass:            Loop
Name:            RemarkLoopFullUnroll
DebugLoc:        { File: '{FILE}', Line: 7, Column: 9 }
Args:
  - Remark:      'Full unroll applied: trip count 4'
...
"""


def one_sentence(ran: Ran) -> str:
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    return ran.err


@pytest.fixture(autouse=True)
def kernels(tileverify: CommandLine) -> None:
    Path("kernels.py").write_text(KERNELS)
    Path("kernels.tileverify.toml").write_text(SPEC)


def test_bytes_are_told_for_sizes_and_as_expressions(tileverify: CommandLine) -> None:
    ran = tileverify("footprint", "kernels.py::add_bias::rows", "--bytes", "--at", "M=1000,N=100")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "kernels.py::add_bias [rows]"
    assert lines[1] == "at M = 1000, N = 100: moves 1.50 times the least (1.14 MiB, least 782 KiB)"
    assert lines[2] == "  most of it: load bias, kernels.py:6, 33.3%"
    assert "  moves: 12 * M * N" in lines
    assert "  least: 8 * M * N + 4 * N" in lines
    assert any(line.split() == ["bias", "read", "400", "bytes", "1000", "times", "4", "*", "N"] for line in lines)
    assert "the interpreter moved the same bytes in 3 small launches" in lines[-1]


def test_sizes_of_the_spec_are_counted_without_being_asked_for(tileverify: CommandLine) -> None:
    ran = tileverify("footprint", "kernels.py::add_bias::these", "--bytes")
    assert "at the sizes of the launch (grid 512 x 1 x 1): moves 1.50 times the least" in ran.out
    assert " * " not in ran.out, "there is no size to speak of"


def test_json_has_numbers_and_expressions(tileverify: CommandLine) -> None:
    ran = tileverify("footprint", "kernels.py::add_bias::rows", "--at", "M=8,N=100", "--format", "json")
    (row,) = json.loads(ran.out)
    assert (row["file"], row["kernel"], row["launch"]) == ("kernels.py", "add_bias", "rows")
    counted = row["bytes"]
    assert counted["at"] == {"M": 8, "N": 100}
    assert counted["moves"] == {"bytes": [9600, 9600], "expression": "12 * M * N"}
    assert counted["least"]["bytes"] == [6800, 6800]
    assert counted["times_the_least"] == [9600 / 6800] * 2
    assert [(each["access"], each["array"], each["line"]) for each in counted["accesses"]] == [
        ("load", "bias", 6),
        ("load", "x", 7),
        ("store", "out", 8),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--at", "Q=3"], "no free size, scalar or grid axis 'Q' (there are: M, N)"),
        (["--at", "N=300"], "'N <= 256' does not hold for N = 300"),
        (["--at", "N"], "write --at NAME=VALUE"),
        (["--at", "N=x"], "'x' is no integer"),
        (["--format", "json"], "say --bytes or --compiled"),
        (["--compiled", "sm_1"], "'sm_1' is not one of sm_80"),
    ],
)
def test_a_wrong_option_is_one_sentence(tileverify: CommandLine, options: list[str], told: str) -> None:
    ran = tileverify("footprint", "kernels.py::add_bias::rows", *options)
    assert ran.code == 2
    assert told in one_sentence(ran)


# ------------------------------------------------------------------------------------------------ remarks
def test_remarks_stand_beside_the_access(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of memory alone, what was taken first, each reason once; other keys are passed over."""
    file = str(Path("kernels.py").resolve())
    monkeypatch.setattr("tileverify.backend.assembler.find_assembler", lambda: Assembler(Path("tileiras")))
    monkeypatch.setattr(Assembler, "remarks", lambda *_: REMARKS.replace("{FILE}", file))
    ran = tileverify("footprint", "kernels.py::add_bias::rows", "--compiled", "sm_90")
    assert ran.code == 0
    assert ran.out == (
        "kernels.py::add_bias [rows]\n"
        "compiled for sm_90\n"
        "  load bias, kernels.py:6\n    tileiras says nothing of it\n"
        "  load x, kernels.py:7\n    global-memory load\n    no TMA load: it's too narrow\n"
        "  store out, kernels.py:8\n    tileiras says nothing of it\n"
    )


def test_without_an_assembler_one_sentence_says_so(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    ran = tileverify("footprint", "kernels.py::add_bias::rows", "--compiled", "sm_90")
    assert ran.code == 2
    assert "there is no tileiras here" in one_sentence(ran)


@pytest.mark.assembler("tileiras")
def test_the_assembler_of_this_machine_names_its_loads(tileverify: CommandLine) -> None:
    ran = tileverify("footprint", "kernels.py::add_bias::these", "--compiled", "sm_90", "--format", "json")
    (row,) = json.loads(ran.out)
    loads = [each for each in row["compiled"]["sm_90"] if each["access"] == "load"]
    assert [each["line"] for each in loads] == [6, 7]
    assert all(each["remarks"] for each in loads)
