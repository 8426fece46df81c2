"""A search for clauses ends where a launch near the recorded one satisfies all of them and is at fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.written_kernel import unit_at

from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Times, Verdict
from tileverify.verifier.abduction import abduce, generalised_proof
from tileverify.verifier.abduction.generalised_proof import GeneralisedProof
from tileverify.verifier.abduction.generalising import Level
from tileverify.verifier.abduction.near_launches import NearLaunches
from tileverify.verifier.attempt import Outcome

HEADS = """
module {
  tt.func public @heads(%x: !tt.ptr<f32>, %T: i32) {
    %three = arith.constant 3 : i32
    %sixteen = arith.constant 16 : i32
    %row = arith.constant 48 : i32
    %t = tt.get_program_id x : i32
    %bh = tt.get_program_id y : i32
    %b = arith.divsi %bh, %three : i32
    %h = arith.remsi %bh, %three : i32
    %bt = arith.muli %b, %T : i32
    %place = arith.addi %bt, %t : i32
    %rows = arith.muli %place, %row : i32
    %head = arith.muli %h, %sixteen : i32
    %start = arith.addi %rows, %head : i32
    %lanes = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %all = tt.splat %start : i32 -> tensor<16xi32>
    %offsets = arith.addi %all, %lanes : tensor<16xi32>
    %to = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %at = tt.addptr %to, %offsets : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %inside = arith.cmpi slt, %t, %T : i32
    %mask = tt.splat %inside : i1 -> tensor<16xi1>
    tt.store %at, %zero, %mask : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}
"""
"""Each program writes the 16 elements of one head, of three heads in each of T rows in each batch."""

FLAT = """
module {
  tt.func public @flat(%x: !tt.ptr<f32>, %T: i32) {
    %sixteen = arith.constant 16 : i32
    %t = tt.get_program_id x : i32
    %start = arith.muli %t, %sixteen : i32
    %lanes = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %all = tt.splat %start : i32 -> tensor<16xi32>
    %offsets = arith.addi %all, %lanes : tensor<16xi32>
    %to = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %at = tt.addptr %to, %offsets : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %end = tt.splat %T : i32 -> tensor<16xi32>
    %mask = arith.cmpi slt, %offsets, %end : tensor<16xi32>
    tt.store %at, %zero, %mask : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}
"""
"""Each program writes 16 of T elements."""


def checked(folder: Path, kernel: str, shape: str, grid: str, rows: int) -> KernelResult:
    name = "heads" if kernel is HEADS else "flat"
    file = folder / f"{name}.ttir"
    file.write_text(kernel)
    file.with_suffix(".tileverify.toml").write_text(
        f'[[launch]]\nkernel = "{name}"\norigin = "recorded"\ngrid = {grid}\n'
        f'[launch.args]\nx = "f32[{shape}]"\nT = "i32 = {rows}"\n'
    )
    return replace(check_unit(unit_at(file)), time_ms=Times())


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many times clauses were searched, for contracts of each width."""
    counted: dict[str, int] = {}
    attempt = GeneralisedProof.attempt
    width: list[str] = []

    def watched(self: GeneralisedProof, level: Level) -> Outcome | None:
        width.append(level.holds_for)
        return attempt(self, level)

    def counting(*arguments: object, **named: object) -> object:
        counted[width[-1]] = counted.get(width[-1], 0) + 1
        return abduce.abduce(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(GeneralisedProof, "attempt", watched)
    monkeypatch.setattr(generalised_proof, "abduce", counting)
    return counted


def test_no_clause_is_searched_where_a_near_launch_is_at_fault(tmp_path: Path, searches: dict[str, int]) -> None:
    """No clause says that the array has the three heads for which the kernel was compiled."""
    result = checked(tmp_path, HEADS, "2, 7, 3, 16", "[8, 6]", 7)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "sizes")
    assert searches.keys() == {"sizes"}


def test_clauses_are_found_where_no_near_launch_is_at_fault(tmp_path: Path, searches: dict[str, int]) -> None:
    result = checked(tmp_path, FLAT, "77", "[5]", 77)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "any")
    assert searches["any"] > 0


@pytest.mark.parametrize(
    ("kernel", "shape", "grid", "rows"),
    [
        (HEADS, "2, 7, 3, 16", "[8, 6]", 7),
        (HEADS, "2, 7, 3, 16", "[7, 6]", 7),
        (HEADS, "1, 7, 3, 16", "[7, 3]", 7),
        (HEADS, "4, 1, 3, 16", "[1, 12]", 1),
        (HEADS, "3, 3, 3, 16", "[3, 9]", 3),
        (HEADS, "2, 16, 48", "[16, 6]", 16),
        (HEADS, "2, 7, 4, 16", "[7, 6]", 7),
        (FLAT, "77", "[5]", 77),
        (FLAT, "7, 11", "[5]", 77),
        (FLAT, "16, 32", "[32]", 512),
        (FLAT, "33, 16", "[32]", 512),
    ],
)
def test_near_launches_change_no_verdict(
    kernel: str, shape: str, grid: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdict, width and clauses are those of a search that goes on to its end."""
    quick = checked(tmp_path, kernel, shape, grid, rows)
    monkeypatch.setattr(NearLaunches, "refute", lambda self, conditions, clauses: False)
    assert checked(tmp_path, kernel, shape, grid, rows) == quick
