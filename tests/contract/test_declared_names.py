"""``names``: integers that stand in ``grid`` or ``requires`` alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import unit_at, written

from tileverify.backend.guard import ArrayValue, LaunchRefused, compile_guard
from tileverify.contract.launch import KernelParameter, KernelUnit
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import launches_of_text
from tileverify.contract.spec_text import spec_text
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict
from tileverify.system.errors import SpecError, UsageError
from tileverify.verifier.certificate.launches import contract_lines, essence, launch_from_json, launch_to_json

KERNEL = """
import cuda.tile as ct

@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (64,)) * 2)
"""
TABLE = """[[launch]]
kernel = "double"
names = ["G"]
grid = ["2 * G - 2"]
requires = ["x.shape[0] >= 64 * (2 * G - 2)"]
args = { x = "f32[N]", out = "f32[N]" }
"""


def unit(folder: Path, table: str = TABLE) -> KernelUnit:
    return unit_at(written(folder, KERNEL, table, "k"))


def test_a_proof_for_every_value_of_a_declared_name(tmp_path: Path) -> None:
    result = check_unit(unit(tmp_path))
    assert result.verdict is Verdict.PROVED
    assert result.requires == ()


def test_a_witness_gives_it_a_value(tmp_path: Path) -> None:
    result = check_unit(unit(tmp_path, TABLE.replace(">= 64 * (2 * G - 2)", "== 64 * G").replace("2 * G - 2", "2 * G")))
    assert result.verdict is Verdict.REFUTED
    witness = result.findings[0].witness
    assert witness is not None
    count = witness.sizes["G"]
    assert witness.grid[0] == 2 * count
    assert witness.sizes["N"] == 64 * count


@pytest.mark.parametrize(
    ("grid", "size", "why"),
    [
        (4, 256, ""),
        (3, 256, "grid.x is 2 * G - 2"),
        (4, 255, "x.shape[0] >= 64 * (2 * G - 2)"),
    ],
)
def test_a_launch_has_to_have_such_a_number(tmp_path: Path, grid: int, size: int, why: str) -> None:
    guard = compile_guard(unit(tmp_path).launch, (), frozenset({"out"}))
    arrays = [ArrayValue(address, (size,), (1,), "f32") for address in (1 << 20, 1 << 30)]
    if not why:
        guard.check(arrays, (grid, 1, 1))
        assert guard.named(arrays, (grid, 1, 1))["G"] == 3
        return
    with pytest.raises(LaunchRefused) as refused:
        guard.check(arrays, (grid, 1, 1))
    assert why in refused.value.message


def test_it_is_not_negative(tmp_path: Path) -> None:
    table = TABLE.replace("2 * G - 2", "G + 3").replace('"x.shape[0] >= 64 * (G + 3)"', '"G <= 5"')
    guard = compile_guard(unit(tmp_path, table).launch, (), frozenset({"out"}))
    arrays = [ArrayValue(address, (640,), (1,), "f32") for address in (1 << 20, 1 << 30)]
    guard.check(arrays, (3, 1, 1))
    with pytest.raises(LaunchRefused, match="G is negative"):
        guard.check(arrays, (2, 1, 1))


def test_a_name_that_no_launch_shows_is_not_guarded(tmp_path: Path) -> None:
    table = TABLE.replace('"2 * G - 2"', '"4"').replace("2 * G - 2", "G")
    with pytest.raises(UsageError, match="speaks of 'G', which no launch shows"):
        compile_guard(unit(tmp_path, table).launch, (), frozenset({"out"}))


def test_it_is_written_and_read_again(tmp_path: Path) -> None:
    launch = unit(tmp_path).launch
    assert launch.names == ("G",)
    (raw,) = launches_of_text(spec_text(launch, "0", ()), Path("k.tileverify.toml"))
    parameters = [KernelParameter("x"), KernelParameter("out")]
    assert essence(build_launch(raw, "0", parameters)) == essence(launch)
    document = launch_to_json(launch)
    assert document["names"] == ["G"]
    assert essence(launch_from_json(document)) == essence(launch)
    assert ("names", "G, not negative") in list(contract_lines(launch))
    with pytest.raises(SpecError, match="'x' stands in the launch's arguments"):
        launch_from_json({**document, "names": ["x"]})


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ('names = ["G"]', 'names = "G"', 3, 'names: must be a list of names, as in names = ["G"]'),
        ('names = ["G"]', 'names = ["G", "x"]', 3, "names: 'x' stands in the launch's arguments, or twice"),
        ('names = ["G"]', 'names = ["G", "N"]', 3, "names: 'N' stands in the launch's arguments, or twice"),
        ('names = ["G"]', 'names = ["G", "G"]', 3, "names: 'G' stands in the launch's arguments, or twice"),
        ('names = ["G"]', 'names = ["G", "H"]', 3, "names[1]: 'H' stands neither in 'grid' nor in 'requires'"),
        ('names = ["G"]', 'names = ["G", "2G"]', 3, "names: '2G' is no name that expressions can use"),
        ('names = ["G"]', 'names = ["G", "and"]', 3, "names: 'and' is no name that expressions can use"),
        ('names = ["G"]', 'names = ["H"]', 4, "grid[0]: unknown name 'G'"),
        ("f32[N]", "f32[G]", 3, "names: 'G' stands in the launch's arguments, or twice"),
    ],
)
def test_mistakes_stand_at_their_place(old: str, new: str, line: int, problem: str) -> None:
    (raw,) = launches_of_text(TABLE.replace(old, new), Path("k.tileverify.toml"))
    with pytest.raises(SpecError) as raised:
        build_launch(raw, "0", [KernelParameter("x"), KernelParameter("out")])
    assert problem in raised.value.message
    assert raised.value.line == line
