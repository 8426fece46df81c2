"""Writes through lists of arrays: the number of the array is a coordinate, unless the arrays may overlap."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify import kernels
from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict
from tileverify.results.claim import claim_from_json

KERNEL = """
import cuda.tile as ct

@ct.kernel
def k(xs, n, TILE: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(xs[{array}], index=({tile},), tile=ct.full((TILE,), i + j, dtype=ct.int32))
"""


def checked(folder: Path, array: str, tile: str, grid: str, *, extra: str = "", length: str = "4") -> KernelResult:
    args = f'args = {{ xs = {{ list = "i32[512]", length = {length} }}, n = "i32 = 3", TILE = 64 }}'
    return judged(folder, KERNEL.format(array=array, tile=tile), f'kernel = "k"\ngrid = [{grid}]\n{extra}{args}')


INDICES = ["i", "i // 2", "3 - i", "i ^ 1", "j // 2", "(i + j) % 4", "0"]
"""Each below 4 for i below 4 and j below 8."""


@pytest.mark.parametrize(("array", "tile"), [*product(INDICES, ["j", "j ^ (j >> 1)", "j // 2", "i + 4"])])
def test_different_pairs_of_array_and_tile_are_different_places(tmp_path: Path, array: str, tile: str) -> None:
    """The verdict is what counting says: whether two blocks name the same array and the same tile of it."""
    blocks = list(product(range(4), range(8)))
    places = {(eval(array, {"i": i, "j": j}), eval(tile, {"i": i, "j": j})) for i, j in blocks}
    result = checked(tmp_path, array, tile, "4, 8")
    assert result.verdict is (Verdict.PROVED if len(places) == len(blocks) else Verdict.REFUTED), result.findings
    assert {finding.code for finding in result.findings} <= {"TV101"}


@pytest.mark.parametrize("array", ["0", "i"])
def test_arrays_that_may_overlap_are_left_open(tmp_path: Path, array: str) -> None:
    result = checked(tmp_path, array, "j", "4, 8", extra='overlap = [["xs"]]\n')
    assert result.verdict is Verdict.UNDECIDED
    assert {finding.code for finding in result.findings} == {"TV906"}
    assert "the arrays of xs may overlap" in result.stated


@pytest.mark.parametrize("array", ["i + 1", "i - 1", "n + j", "i * 3"])
def test_an_array_outside_the_list_is_no_array(tmp_path: Path, array: str) -> None:
    result = checked(tmp_path, array, "j", "4, 8")
    assert result.verdict is Verdict.REFUTED
    assert "TV301" in {finding.code for finding in result.findings}


def test_a_tile_outside_its_array(tmp_path: Path) -> None:
    result = checked(tmp_path, "i", "j + 1", "4, 8")
    assert result.verdict is Verdict.REFUTED
    assert {finding.code for finding in result.findings} == {"TV301"}
    assert "xs[" in result.findings[0].witness.element  # type: ignore[union-attr]


ROWS = """
import cuda.tile as ct

@ct.kernel
def k(xs, TILE: ct.Constant[int]):
    e, r = ct.bid(0), ct.bid(1)
    x = xs[e]
    ct.{access}
"""
STORE = "store(x, index=({row}, 0), tile=ct.full((1, TILE), r, dtype=ct.int32))"
SCATTER = "scatter(x, ({row}, ct.arange(TILE, dtype=ct.int32)), ct.full((TILE,), r, dtype=ct.int32))"


@pytest.mark.parametrize("access", [STORE, SCATTER])
@pytest.mark.parametrize("layout", ["i32[8, 64; strides=(ld, 1)]", "i32[8, N; strides=(ld, 1)]", "i32[8, N]"])
@pytest.mark.parametrize(("row", "right"), [("r", True), ("7 - r", True), ("0", False), ("r // 2", False)])
def test_rows_of_arrays_in_a_list_are_apart(tmp_path: Path, access: str, layout: str, row: str, right: bool) -> None:
    """A named row stride keeps rows apart, as no stride does; one row for several blocks is a race in any layout."""
    spec = f'kernel = "k"\ngrid = ["L", 8]\nargs = {{ xs = {{ list = "{layout}", length = "L" }}, TILE = 64 }}'
    result = judged(tmp_path, ROWS.format(access=access.format(row=row)), spec)
    codes = {finding.code for finding in result.findings}
    if access is STORE and "N" in layout:
        assert result.limits == ("xs.shape[1] >= 1",), "an array without columns has no tile"
    if right:
        assert result.verdict is Verdict.PROVED, result.findings
    assert codes == (set() if right else {"TV101"}), result.findings


@pytest.mark.parametrize(
    ("length", "grid", "holds_for"),
    [("4", "4, 8", "launch"), ("4", '4, "n"', "sizes"), ('"L"', "1, 8", "any")],
)
def test_a_launch_whose_arrays_are_all_in_a_list_has_sizes(
    tmp_path: Path, length: str, grid: str, holds_for: str
) -> None:
    spec = 'requires = ["L >= 1"]\n' if length == '"L"' else 'requires = ["n <= 8"]\n' if "n" in grid else ""
    array = "0" if length == '"L"' else "i"
    result = checked(tmp_path, array, "j", grid, extra=spec, length=length)
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, holds_for)


def test_a_witness_has_no_sizes_of_billions(tmp_path: Path) -> None:
    """The sizes of arrays in a list are lowered together: one after the other would use up the questions."""
    device = Path(kernels.__file__).parent / "device"
    source = (device / "grouped_products.py").read_text()
    broken = source.replace("min(own_b.shape[1], own_out.shape[1])", "min(own_b.shape[0], own_out.shape[1])")
    assert broken != source
    (tmp_path / "grouped_products.py").write_text(broken)
    shutil.copy(device / "grouped_products.tileverify.toml", tmp_path)
    (result,) = check_paths([f"{tmp_path / 'grouped_products.py'}::matmul_list::bf16-any-sizes"]).results
    assert result.verdict is Verdict.REFUTED
    (witness,) = [finding.witness for finding in result.findings if finding.witness is not None]
    assert witness.launch is not None
    lists = claim_from_json(witness.launch)[0].lists
    sizes = [size for members in lists.values() for each in members for size in each.shape]
    assert sizes
    assert max(sizes) < 1 << 12
