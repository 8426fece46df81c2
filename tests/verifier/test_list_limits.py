"""Limits speak of the arrays in lists as of any other: none is empty, their sizes are below 2**30."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.certificate.recheck import Rechecking, recheck
from tileverify.verifier.certificate.second_solver import SecondSolver

KERNELS = """import cuda.tile as ct


@ct.kernel
def doubled(arrays):
    array, row = arrays[ct.bid(1)], ct.bid(0)
    ct.store(array, (row, 0), ct.load(array, (row, 0), (1, 32)) * 2)
    for column in range({first}, ct.cdiv(array.shape[1], 32)):
        ct.store(array, (row, column{more}), ct.load(array, (row, column{more}), (1, 32)) * 2)


@ct.kernel
def masked(arrays):
    array, row = arrays[ct.bid(1)], ct.bid(0)
    for column in range(ct.cdiv(array.shape[1], 32)):
        place = column * 32 + ct.arange(32, dtype=ct.int32)
        inside = place + 1 <= array.shape[1]
        ct.scatter(array, (row, place), 1.0, mask=inside, check_bounds=False)
"""


def checked(folder: Path, kernel: str, more: str = "", requires: str = "") -> KernelResult:
    (folder / "k.py").write_text(KERNELS.replace("{first}", "1").replace("{more}", more))
    args = '{ arrays = { list = "f32[M, N]", length = "L" } }'
    conditions = ", ".join(f'"{each}"' for each in ("arrays.shape[0] >= R", requires) if each)
    spec = f'kernel = "{kernel}"\ngrid = ["R", "L"]\nnames = ["R"]\nrequires = [{conditions}]\nargs = {args}'
    (folder / "k.tileverify.toml").write_text(f"[[launch]]\n{spec}\n")
    (result,) = check_paths([f"{folder / 'k.py'}::{kernel}"], options=CheckOptions(certificate=True)).results
    return result


@pytest.mark.parametrize(
    ("kernel", "limit"), [("doubled", "arrays.shape[1] >= 1"), ("masked", "arrays.shape[1] < 2 ** 30")]
)
def test_a_limit_of_every_array_of_a_list_leaves_a_proof_a_proof(tmp_path: Path, kernel: str, limit: str) -> None:
    result = checked(tmp_path, kernel)
    assert (result.verdict, result.requires, result.limits) == (Verdict.PROVED, (), (limit,))
    assert result.certificate is not None
    found = recheck(result.certificate.text, "k", bytecode=result.certificate.bytecode, solver=SecondSolver())
    assert found.answer is Rechecking.CONFIRMED


def test_a_fault_within_limits_is_refuted(tmp_path: Path) -> None:
    result = checked(tmp_path, "doubled", more=" + 1")
    assert result.verdict is Verdict.REFUTED
    assert {finding.code for finding in result.findings} == {"TV301"}


def test_an_array_that_may_be_empty_as_somebody_wrote_may_be(tmp_path: Path) -> None:
    result = checked(tmp_path, "doubled", requires="arrays.shape[1] == 0 or arrays.shape[1] >= 32")
    assert result.verdict is Verdict.REFUTED
