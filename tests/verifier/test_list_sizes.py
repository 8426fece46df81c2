"""Sizes in a list are 64-bit words; a kernel compiled for 32-bit sizes truncates them, whoever filled the list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.contract.arguments import read_argument
from tileverify.contract.as_table import launch_table
from tileverify.contract.launch import KernelUnit, LaunchSpec, ListArgument, Number
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.results import KernelResult, Verdict
from tileverify.results.claim import claim_from_json
from tileverify.system.errors import SpecError
from tileverify.verifier.certificate.launches import contract_lines, launch_from_json, launch_to_json


@pytest.fixture(scope="module")
def bytecode() -> bytes:
    units = discover([str(ROOT / "integers" / "list_sizes.py")])
    return next(u.bytecode for u in units if isinstance(u, KernelUnit) and u.launch.name == "within-31-bits")


@pytest.mark.parametrize(
    ("element", "verdict", "codes"),
    [
        ("u8[5000]", Verdict.PROVED, set()),
        ("u8[5000; index=i64]", Verdict.PROVED, set()),
        ("u8[2**31 - 1; index=i64]", Verdict.PROVED, set()),
        ("u8[2**31; index=i64]", Verdict.REFUTED, {"TV401"}),
        # within limits: what is promised of the truncated size holds, and an array has elements
        ("u8[N; index=i64]", Verdict.PROVED, set()),
        # 2**32 + 5000 is 5000 in 32 bits: a view of the first 5000 elements, in bounds and not what was meant
        ("u8[2**32 + 5000; index=i64]", Verdict.PROVED, set()),
    ],
)
def test_what_the_truncation_does(
    tmp_path: Path, bytecode: bytes, element: str, verdict: Verdict, codes: set[str]
) -> None:
    args = f'{{ xs = {{ list = "{element}", length = "L" }}, out = "u8[L, 128]" }}'
    result = judged(tmp_path, bytecode, f'kernel = "last_tiles"\ngrid = ["L"]\nargs = {args}')
    assert result.verdict is verdict, result.findings
    assert codes <= {finding.code for finding in result.findings}


PAIRS = """
import cuda.tile as ct

@ct.kernel
def k(xs, ys, TILE: ct.Constant[int]):
    g, r = ct.bid(0), ct.bid(1)
    x = xs[g]
    if r < ct.num_tiles(x, axis=0, shape=(TILE, TILE)):
        ct.store(ys[g], index=(r, 0), tile=ct.load(x, index=(r, 0), shape=(TILE, TILE)))
"""
ROWS = (64, 128, 32)


def pairs(folder: Path, xs: str, ys: str) -> KernelResult:
    return judged(folder, PAIRS, f'kernel = "k"\ngrid = [3, 8]\nargs = {{ xs = {xs}, ys = {ys}, TILE = 32 }}')


def listed(rows: Sequence[int], layout: str = "") -> str:
    each = ", ".join(f'"f32[{count}, 32{layout}]"' for count in rows)
    common = layout and "; strides=(ld, 1)"
    return f'{{ list = "f32[n, 32{common}]", length = {len(rows)}, elements = [{each}] }}'


@pytest.mark.parametrize("layout", ["", "; strides=(40, 1)"])
@pytest.mark.parametrize("rows", sorted(permutations(ROWS)))
def test_arrays_described_one_by_one_are_compared_one_by_one(
    tmp_path: Path, rows: tuple[int, ...], layout: str
) -> None:
    """Each array fits into the one of its number in the other list, or does not: then a witness has these sizes."""
    result = pairs(tmp_path, listed(ROWS, layout), listed(rows, layout))
    fits = all(x <= y for x, y in zip(ROWS, rows, strict=True))
    assert result.verdict is (Verdict.PROVED if fits else Verdict.REFUTED), result.findings
    for finding in result.findings:
        assert finding.witness is not None
        assert finding.witness.launch is not None
        launch, _ = claim_from_json(finding.witness.launch)
        assert [array.shape for array in launch.lists["ys"]] == [(count, 32) for count in rows]
        assert [array.shape for array in launch.lists["xs"]] == [(count, 32) for count in ROWS]
        assert finding.witness.element.startswith("ys[")
        assert "`ys`" in finding.message
        assert finding.sites[0].array == "ys"


@pytest.mark.parametrize(
    ("elements", "said"),
    [
        ('["f32[64, 32]"]', "describes 1 arrays, length is 2"),
        ('["f32[64, 32]", "f16[64, 32]"]', "is no f32"),
        ('["f32[64, 32]", "f32[m, 32]"]', "are numbers"),
        ('["f32[64, 32]", "f32[64, 32; strides=(40, 1)]"]', "contiguous"),
        ('["f32[64, 32]", 5]', "are texts"),
        ('["f32[64, 32]", "f32[64, 33]"]', "size 1 is 32"),
    ],
)
def test_elements_that_do_not_fit_the_list_are_errors(tmp_path: Path, elements: str, said: str) -> None:
    xs = f'{{ list = "f32[n, 32]", length = 2, elements = {elements} }}'
    result = pairs(tmp_path, xs, listed((64, 64)))
    assert result.verdict is Verdict.ERROR
    assert said in result.findings[0].message


@pytest.mark.parametrize(
    ("common", "element", "part"),
    [
        ("n, 32; strides=(ld, 1)", "64, 32; strides=(80, 2)", "stride 1 is 1"),
        ("n, 32; strides=(40, 1)", "64, 32; strides=(48, 1)", "stride 0 is 40"),
        ("4 * n, 32", "62, 32", "size 0 is 4 * n"),
        ("n * 4, 32", "62, 32", "size 0 is n * 4"),
        ("n, n", "64, 32", "size 1 is n"),
        ("n, 32; strides=(40, 1)", "1, 32; strides=(48, 1)", None),
        ("4 * n, 32", "64, 32", None),
    ],
)
def test_elements_are_what_the_compiler_was_told(common: str, element: str, part: str | None) -> None:
    """The compiler knows what the list says of all, the guard what each array is like: both hold."""
    value = {"list": f"f32[{common}]", "length": 1, "elements": [f"f32[{element}]"]}
    if part is None:
        assert isinstance(read_argument("xs", value, None), ListArgument)
        return
    with pytest.raises(SpecError, match=re.escape(part)):
        read_argument("xs", value, None)


def test_certificates_say_what_each_array_is_like() -> None:
    listed = read_argument("xs", {"list": "f32[n]", "length": 2, "elements": ["f32[32]", "f32[48]"]}, None)
    launch = LaunchSpec("k", "0", (listed,), (Number(1), Number(1), Number(1)))
    document = launch_to_json(launch)
    assert launch_from_json(document).arguments == (listed,)
    assert ("argument", "xs = a list of 2 arrays f32[n]: f32[32], f32[48]") in contract_lines(launch)
    document["arguments"][0]["elements"].pop()
    with pytest.raises(SpecError, match="describes 1 arrays, length is 2"):
        launch_from_json(document)


def test_a_recording_describes_arrays_that_differ(tmp_path: Path) -> None:
    def item(rows: int) -> dict[str, object]:
        return {"kind": "array", "dtype": "f32", "shape": [rows, 32], "strides": [32, 1], "index_bits": 32}

    lists = [{"kind": "list", "items": [item(rows) for rows in ROWS]}] * 2
    tile = {"kind": "constant", "value": 32}
    launch = {"grid": [3, 8, 1], "arguments": [*lists, tile], "overlaps": []}
    text = launch_table("k", ["xs", "ys", "TILE"], launch, constants=True, name="recorded")
    assert 'elements = ["f32[64, 32]", "f32[128, 32]", "f32[32, 32]"]' in text
    result = judged(tmp_path, PAIRS, text)
    assert result.verdict is Verdict.PROVED, result.findings
