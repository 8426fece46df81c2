"""Who says that a kernel is launched so: read from specs, written by what writes them, and kept on the way."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_args

import pytest

from tileverify.contract.as_table import launch_table
from tileverify.contract.launch import KernelParameter, LaunchSpec, Origin
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import launches_of_text
from tileverify.contract.spec_text import spec_text
from tileverify.frontend.sources.discover import SourceFailure, discover
from tileverify.system.errors import SpecError

KERNEL = """
import cuda.tile as ct

@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), 2 * ct.load(x, (i,), (64,)))
"""
TABLE = """[[launch]]
kernel = "double"
grid = ["cdiv(N, 64)"]
args = { x = "f32[N]", out = "f32[N]" }
"""
FILE = Path("k.tileverify.toml")


def launch(table: str) -> LaunchSpec:
    (raw,) = launches_of_text(table, FILE)
    return build_launch(raw, "0", [KernelParameter("x"), KernelParameter("out")])


def with_origin(value: str) -> str:
    return TABLE.replace("grid", f"origin = {value}\ngrid")


def test_a_spec_is_what_a_person_wrote() -> None:
    assert launch(TABLE).origin == "written"
    assert launch(TABLE).has_spec


@pytest.mark.parametrize("origin", get_args(Origin))
def test_it_is_read_and_written_again(origin: str) -> None:
    read = launch(with_origin(f'"{origin}"'))
    assert read.origin == origin
    assert read.inferred is (origin == "inferred")
    assert launch(spec_text(read, "0", ())).origin == origin


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('"record"', "must be one of 'written', 'recorded', 'inferred'; did you mean 'recorded'?"),
        ("3", "must be one of 'written', 'recorded', 'inferred'"),
        ('["recorded"]', "must be one of 'written', 'recorded', 'inferred'"),
    ],
)
def test_another_word_is_a_mistake_at_its_line(value: str, problem: str) -> None:
    with pytest.raises(SpecError) as raised:
        launch(with_origin(value))
    assert raised.value.message.endswith(f"origin: {problem}")
    assert raised.value.line == 3


def test_what_a_recording_writes_says_so() -> None:
    array = {"kind": "array", "dtype": "f32", "shape": [64], "strides": [1], "index_bits": 32, "bits": 32}
    seen = {"grid": [1, 1, 1], "arguments": [array, array], "overlaps": [], "test": ""}
    (table,) = tomllib.loads(launch_table("double", ["x", "out"], seen, constants=True, name="0"))["launch"]
    assert table["origin"] == "recorded"


def test_what_the_tool_makes_up_is_inferred_and_has_no_spec(tmp_path: Path) -> None:
    file = tmp_path / "double.py"
    file.write_text(KERNEL)
    (unit,) = discover([str(file)])
    assert not isinstance(unit, SourceFailure)
    assert (unit.launch.origin, unit.launch.has_spec) == ("inferred", False)
    (tmp_path / "double.tileverify.toml").write_text(with_origin('"inferred"'))
    (unit,) = discover([str(file)])
    assert not isinstance(unit, SourceFailure)
    assert (unit.launch.origin, unit.launch.has_spec) == ("inferred", True)
