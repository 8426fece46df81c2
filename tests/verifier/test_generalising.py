"""Launches of numbers: proved for any sizes and grid where that is possible, under clauses that they keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.pipeline import CheckOptions
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.abduction import generalised_proof
from tileverify.verifier.abduction.abduce import fewest
from tileverify.verifier.abduction.generalised_proof import GeneralisedProof
from tileverify.verifier.abduction.generalising import Level
from tileverify.verifier.attempt import Outcome
from tileverify.verifier.budgets import WIDEST_TOTAL

ADD = """
import cuda.tile as ct

@ct.kernel
def add(x, y, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=a + ct.load(y, index=(i,), shape=(TILE,)))
"""
GATHERED = """
import cuda.tile as ct

@ct.kernel
def gathered(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (i,), ct.gather(x, (i,), padding_value=0))
"""
ROWS = """
import cuda.tile as ct

@ct.kernel
def scale_rows(x, out, n, TILE: ct.Constant[int]):
    for row in range(ct.bid(0), n, ct.num_blocks(0)):
        ct.store(out, index=(row, 0), tile=ct.load(x, index=(row, 0), shape=(1, TILE)) * 2)
"""


def checked(folder: Path, source: str, spec: str, *, deny: bool = False) -> KernelResult:
    return judged(folder, source, spec, CheckOptions(deny_requires=deny))


def clauses(result: KernelResult) -> set[str]:
    """Without what cuda.tile's JIT specialised on."""
    return {clause for clause in result.requires if "%" not in clause}


def test_sizes_and_grid_are_set_free(tmp_path: Path) -> None:
    spec = """
kernel = "add"
grid = [10]
args = { x = "f32[1200]", y = "f32[1200]", out = "f32[1200]", TILE = 128 }"""
    result = checked(tmp_path, ADD, spec)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "any")
    assert clauses(result) == {
        "grid.z == 1", "grid.y == 1",
        *(f"grid.x <= cdiv({name}.shape[0], 128)" for name in ("x", "y", "out")),
    }  # fmt: skip
    assert "x = f32[x.shape[0]; strides=(1)]" in result.stated


def test_a_masked_kernel_needs_a_bound_on_the_grid_only_where_indices_wrap(tmp_path: Path) -> None:
    spec = """
kernel = "gathered"
grid = [10]
args = { x = "f32[1200]", out = "f32[1200]", TILE = 128 }"""
    assert clauses(checked(tmp_path, GATHERED, spec)) == {"grid.z == 1", "grid.y == 1"}
    wider = checked(tmp_path, GATHERED, spec.replace("128", "1024").replace("[10]", "[2]"))
    assert wider.holds_for == "any"
    assert {"grid.z == 1", "grid.y == 1"} < clauses(wider)


def test_a_scalar_is_tied_to_the_size_that_it_stands_for(tmp_path: Path) -> None:
    spec = """
kernel = "scale_rows"
grid = [4]
args = { x = "f32[33, 64]", out = "f32[33, 64]", n = "i32 = 33", TILE = 64 }"""
    result = checked(tmp_path, ROWS, spec)
    assert result.holds_for == "any"
    assert {"n == x.shape[0]", "n == out.shape[0]"} <= clauses(result)


def test_denied_clauses_leave_the_launch_as_it_is(tmp_path: Path) -> None:
    spec = """
kernel = "gathered"
grid = [10]
args = { x = "f32[1200]", out = "f32[1200]", TILE = 128 }"""
    result = checked(tmp_path, GATHERED, spec, deny=True)
    assert result.holds_for in ("launch", None)
    assert not result.requires


def test_one_block_alone_is_no_wider_contract(tmp_path: Path) -> None:
    source = GATHERED.replace("ct.bid(0) * TILE + ", "")
    spec = """
kernel = "gathered"
grid = [1]
args = { x = "f32[1200]", out = "f32[1200]", TILE = 128 }"""
    result = checked(tmp_path, source, spec)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "launch")


def test_what_clauses_leave_one_block_is_looked_at_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch above: its kernel does not read a block's number, so that no contract is wider."""
    source = GATHERED.replace("ct.bid(0) * TILE + ", "")
    monkeypatch.setattr(GeneralisedProof, "_proved", None)  # is not called
    spec = 'kernel = "gathered"\ngrid = [1]\nargs = { x = "f32[1200]", out = "f32[1200]", TILE = 128 }'
    result = checked(tmp_path, source, spec)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "launch")


@pytest.mark.parametrize("limit", ["SEARCH_IN_VAIN", "WIDEST_AHEAD"])
def test_a_wider_contract_that_does_not_get_on_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """It costs the wider contract, never the proof."""
    spec = """
kernel = "scale_rows"
grid = [4]
args = { x = "f32[12, 128]", out = "f32[12, 128]", n = 12, TILE = 128 }"""
    plain = checked(tmp_path, ROWS, spec)
    assert (plain.verdict, plain.holds_for) == (Verdict.PROVED, "any")
    monkeypatch.setattr(generalised_proof, limit, -WIDEST_TOTAL)
    result = checked(tmp_path, ROWS, spec)
    assert result.verdict is Verdict.PROVED
    assert result.holds_for in {"sizes", "launch"}


def test_nobody_waits_for_the_launchs_own_proof_where_a_wider_one_comes_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_sizes(self: GeneralisedProof, level: Level) -> Outcome | None:
        return attempt(self, level) if level.holds_for == "sizes" else None

    attempt = GeneralisedProof.attempt
    monkeypatch.setattr(GeneralisedProof, "attempt", only_sizes)
    monkeypatch.setattr("tileverify.verifier.own_proof.OwnProof.attempt", None)  # is not called
    spec = 'kernel = "add"\ngrid = [10]\nargs = { x = "f32[1200]", y = "f32[1200]", out = "f32[1200]", TILE = 128 }'
    result = checked(tmp_path, ADD, spec)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "sizes")


def test_a_launch_that_is_refuted_is_not_widened(tmp_path: Path) -> None:
    spec = """
kernel = "add"
grid = [11]
args = { x = "f32[1200]", y = "f32[1200]", out = "f32[1200]", TILE = 128 }"""
    result = checked(tmp_path, ADD, spec)
    assert (result.verdict, result.holds_for, clauses(result)) == (Verdict.REFUTED, None, set())


@pytest.mark.parametrize("needed", [{3}, {0}, {1, 6}, {0, 1, 2}, {7}, set(range(8))])
def test_the_fewest_candidates_are_chosen(needed: set[int]) -> None:
    asked: list[Sequence[int]] = []

    def closes(chosen: Sequence[int]) -> bool:
        asked.append(chosen)
        return needed <= set(chosen)

    assert set(fewest(range(8), closes)) == needed


def test_of_two_that_would_do_the_first_is_chosen() -> None:
    assert fewest(["weak", "other", "strong"], lambda chosen: bool({"weak", "strong"} & set(chosen))) == ["weak"]
