"""TV403: the padding that is offered is the one under which lanes beyond the array change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pipeline.repair.offered import Offer

from tileverify.pipeline.repair.guards import combined_by, fills, modes
from tileverify.pipeline.repair.kernel_source import KernelSource

ROW = """
grid = ["M"]
requires = ["1 <= N", "N <= 32"]
args = {{ x = "{dtype}[M, N]", out = "{dtype}[M{columns}]", T = 32 }}
"""


def row(folder: Path, body: str, *, dtype: str = "f32", columns: bool = True, repair: bool = True) -> Offer:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    kernel = f"def row(x, out, T: ct.Constant[int]):\n    r = ct.bid(0)\n    t = ct.load(x, (r, 0), (1, T))\n{lines}"
    return Offer(folder, kernel, ROW.format(dtype=dtype, columns=", N" if columns else ""), repair=repair)


@pytest.mark.parametrize("repair", [True, False])
@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ("t = t - ct.max(t)\nct.store(out, (r, 0), t - ct.log(ct.sum(ct.exp(t))))", "NEG_INF"),
        ("e = ct.exp(t - ct.max(t))\nct.store(out, (r, 0), e / ct.sum(e))", "NEG_INF"),
        ("e = ct.exp(ct.min(t) - t)\nct.store(out, (r, 0), e / ct.sum(e))", "POS_INF"),
        ("ct.store(out, (r, 0), t * ct.rsqrt(ct.sum(t * t) + 1))", "ZERO"),
        ("low = ct.sum(ct.exp(t))\nct.store(out, (r, 0), t / low)", "NEG_INF"),
    ],
)
def test_all_that_a_load_reaches_says_which_padding_is_right(
    tmp_path: Path, body: str, mode: str, repair: bool
) -> None:
    offer = row(tmp_path, body, repair=repair)
    assert [finding.code for finding in offer.result.findings] == ["TV403"]
    assert offer.hint.id == "pad-load"
    assert offer.changes() == [f"t = ct.load(x, (r, 0), (1, T), padding_mode=ct.PaddingMode.{mode})"]


@pytest.mark.parametrize(
    ("body", "dtype", "value"),
    [
        ("ct.store(out, (r,), ct.prod(t, axis=1))", "f32", "1"),
        ("ct.store(out, (r,), ct.max(t, axis=1))", "i32", "-2147483648"),
        ("ct.store(out, (r,), ct.min(t, axis=1))", "i32", "2147483647"),
    ],
)
def test_where_no_mode_is_right_a_choice_is_offered(tmp_path: Path, body: str, dtype: str, value: str) -> None:
    offer = row(tmp_path, body, dtype=dtype, columns=False)
    assert (offer.hint.id, offer.hint.applicability) == ("pad-load", "maybe")
    inside = "ct.arange(T, dtype=ct.int32).reshape((1, T)) < x.shape[1]"
    assert offer.changes() == [f"t = ct.where({inside}, ct.load(x, (r, 0), (1, T)), {value})"]


@pytest.mark.parametrize(
    "body",
    [
        "d = t - ct.sum(t) / x.shape[1]\nct.store(out, (r, 0), d * ct.rsqrt(ct.sum(d * d) + 1))",  # 0 is no mean
        "ct.store(out, (r, 0), t * ct.sum(ct.cos(t)))",
    ],
)
def test_no_padding_is_offered_that_gives_other_values(tmp_path: Path, body: str) -> None:
    offer = row(tmp_path, body)
    assert offer.hints == [("pad-load", "display")]


WINDOW = """
def banded(weights, v, out, W: ct.Constant[int]):
    i = ct.bid(0)
    acc = ct.zeros((8, 16), dtype=ct.float32)
    for j in range(ct.num_tiles(v, axis=0, shape=(8, 16))):
        row = i * 8 + ct.arange(8, dtype=ct.int32).reshape((8, 1))
        column = j * 8 + ct.arange(8, dtype=ct.int32).reshape((1, 8))
        band = (column <= row) & (column > row - W) & (column < v.shape[0])
        near = ct.where(band, ct.load(weights, (i, j), (8, 8)), 0.0)
        acc = ct.mma(near, ct.load(v, (j, 0), (8, 16)), acc)
    ct.store(out, (i, 0), acc)
"""
OF_WINDOW = """
grid = ["cdiv(S, 8)"]
args = { weights = "f32[S, S]", v = "f32[S, 16]", out = "f32[S, 16]", W = 4 }
"""


def test_the_load_that_reaches_the_output_is_named_and_padded(tmp_path: Path) -> None:
    """The other one is masked: its lanes beyond the array are chosen away, but for rows that nobody stores."""
    offer = Offer(tmp_path, WINDOW, OF_WINDOW)
    (finding,) = offer.result.findings
    assert (finding.sites[0].array, finding.sites[0].line) == ("v", 13)
    assert finding.message.startswith("the load of `v` at line 13 has no padding mode")
    assert offer.changes() == ["acc = ct.mma(near, ct.load(v, (j, 0), (8, 16), padding_mode=ct.PaddingMode.ZERO), acc)"]


def test_both_factors_are_padded_where_both_reach_the_output(tmp_path: Path) -> None:
    offer = Offer(
        tmp_path,
        WINDOW.replace("ct.where(band, ct.load(weights, (i, j), (8, 8)), 0.0)", "ct.load(weights, (i, j), (8, 8))"),
        OF_WINDOW,
    )
    assert len(offer.hint.edits) == 2
    assert offer.mended().count("padding_mode=ct.PaddingMode.ZERO") == 2


@pytest.mark.parametrize(
    ("body", "combining", "first", "numbers"),
    [
        ("u = t - ct.max(t)\ns = ct.sum(ct.exp(u))", ["max", "exp", "sum"], "NEG_INF", ["-2147483648"]),
        ("u = ct.abs(t)\nv = u + 1\nw = ct.min(v)", ["abs", "min"], "POS_INF", ["2147483647"]),
        ("s = 0.0\nfor k in range(3):\n    s += t\np = ct.prod(s)", ["prod"], "ZERO", ["1"]),
        ("ct.store(out, (0,), ct.sum(x))", [], "ZERO", []),
    ],
)
def test_what_combines_lanes_is_found_through_names(
    body: str, combining: list[str], first: str, numbers: list[str]
) -> None:
    lines = "".join(f"    {line}\n" for line in f"t = ct.load(x, (0,), (8,))\n{body}".splitlines())
    source = KernelSource(f"import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x, out):\n{lines}")
    function = source.function_at(5)
    assert function is not None
    load = next(call for call in source.calls(function) if call.name == "load")
    assert sorted(combined_by(source, function, load)) == sorted(combining)
    assert modes(source, function, load)[0] == first
    assert fills(source, function, load) == numbers


@pytest.mark.parametrize("rest", ["ct.max(s, axis=1)", "ct.sum(ct.exp(s - ct.max(s, axis=1, keepdims=True)), axis=1)"])
def test_rows_that_nobody_stores_are_not_named(tmp_path: Path, rest: str) -> None:
    """Rows of `q` beyond the array give rows beyond `out`; columns beyond `k` are among those that are combined."""
    offer = Offer(
        tmp_path,
        f"""
def scores(q, k, out):
    i = ct.bid(0)
    keys = ct.permute(ct.load(k, (0, 0), (8, 16)), (1, 0))
    s = ct.mma(ct.load(q, (i, 0), (8, 16)), keys, ct.zeros((8, 8), dtype=ct.float32))
    ct.store(out, (i,), {rest})
""",
        """
grid = ["cdiv(S, 8)"]
requires = ["1 <= T", "T <= 8"]
args = { q = "f32[S, 16]", k = "f32[T, 16]", out = "f32[S]" }
""",
    )
    assert {finding.sites[0].array for finding in offer.result.findings} == {"k"}
    assert offer.hints == [("pad-load", "display")], "no key is as if it were not there"
