"""Kernels of CUDA Tile C++ that nobody wrote a launch spec for: what they need comes out, what is wrong is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tileverify.corpus import ROOT
from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

ONE_ROW = ("grid.z == 1", "grid.y == 1")
TILES = ("grid.x <= cdiv(m, 32)", "grid.y <= cdiv(n, 32)")

PROVED = {
    "attention_of_head": ("keys <= 2147483584", "grid.x <= cdiv(queries, 64)", *ONE_ROW),
    "product": ("k <= 2147483632", *TILES, "grid.z == 1"),
    "product_in_parts": ("k <= 2147483616", *TILES),
    "transposed": ("grid.x <= cdiv(rows, 32)", "grid.y <= cdiv(columns, 32)", "grid.z == 1"),
    "softmax_rows": (
        "(grid.x - 1) * in_stride + columns <= in_size",
        "(grid.x - 1) * out_stride + columns <= out_size",
        "columns <= out_stride",
        *ONE_ROW,
    ),
    "rms_norm_rows": (
        "grid.x * n <= x_size",
        "grid.x <= rstd_size",
        "n <= weight_size",
        "grid.x * n <= y_size",
        *ONE_ROW,
    ),
    "add_vectors": ("n <= a_size", "n <= b_size", "n <= c_size", *ONE_ROW),
    "sum_vector": ("n <= x_size", "sum_size >= 1"),
    "mean_of_three": ("n <= in_size", "n <= out_size", *ONE_ROW),
    "gather_rows": ("grid.x <= ids_size", "columns * rows <= table_size", "columns * grid.x <= out_size", *ONE_ROW),
}
"""The clauses that a launch has to keep."""

REFUTED = {
    "attention_of_head_twice": {"TV101"},
    "product_one_column": {"TV101"},
    "product_in_parts_stored": {"TV101"},
    "transposed_in_place": {"TV102"},
    "softmax_rows_to_one": {"TV101"},
    "rms_norm_rows_one_scale": {"TV101"},
    "add_vectors_half": {"TV101"},
    "sum_vector_plain": {"TV101", "TV102"},
    "mean_of_three_from_before": {"TV302"},
    "mean_of_three_in_place": {"TV102"},
}
"""The codes of what is wrong, whatever sizes the arrays have."""

UNDECIDED = {"count_bins": {"TV901"}}
"""Whether two lanes meet, the contents of an array decide."""


def judged(folder: Path, stem: str) -> list[KernelResult]:
    """The kernels of a file of the corpus, away from its spec."""
    shutil.copy(ROOT / "tile_cpp" / f"{stem}.cu", folder)
    return list(check_paths([str(folder / f"{stem}.cu")]).results)


@pytest.mark.assembler("nvcc")
@pytest.mark.parametrize("stem", ["heads", "matrices", "rows", "vectors"])
def test_verdicts_without_a_spec(tmp_path: Path, stem: str) -> None:
    results = judged(tmp_path, stem)
    proved = {each.kernel: {*each.clauses} for each in results if each.verdict is Verdict.PROVED}
    refuted = {each.kernel: codes(each) for each in results if each.verdict is Verdict.REFUTED}
    undecided = {each.kernel: codes(each) for each in results if each.verdict is Verdict.UNDECIDED}
    names = {each.kernel for each in results}
    assert proved == {name: {*clauses} for name, clauses in PROVED.items() if name in names}
    assert refuted == {name: found for name, found in REFUTED.items() if name in names}
    assert undecided == {name: found for name, found in UNDECIDED.items() if name in names}
    assert names <= PROVED.keys() | REFUTED.keys() | UNDECIDED.keys()
    assert all(each.notes[0].startswith("no launch spec: assumed ") for each in results)


def codes(result: KernelResult) -> set[str]:
    return {str(finding.code) for finding in result.findings}


BEHIND = """
#include <cuda_tile.h>
namespace ct = cuda::tiles;
using lanes = ct::tile<int, ct::shape<128>>;

__tile_global__ void fill(int* out, int const* sizes, int n) {
  auto at = ct::iota<lanes>() + int(ct::bid().x) * 128;
  ct::store_masked(out + (at ^ n), at, at < n);
}
"""


@pytest.mark.assembler("nvcc")
def test_an_end_that_nobody_knows_refutes_nothing(tmp_path: Path) -> None:
    """No clause says how far ``at ^ n`` reaches: that ``out`` is too small is no fault that was seen."""
    source = tmp_path / "fill.cu"
    source.write_text(BEHIND)
    (result,) = check_paths([str(source)]).results
    assert (result.verdict, codes(result)) == (Verdict.UNDECIDED, {"TV906"})
    assert "nobody said how large `out` is" in result.findings[0].message
