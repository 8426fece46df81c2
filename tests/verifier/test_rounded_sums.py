"""Sums of counts that are rounded up to whole tiles, by arithmetic that must not wrap: bounds for each iteration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import I32, ModuleBuilder, pointer, tile
from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

WORD = tile(I32)
SPEC = """[[launch]]
kernel = "k"
grid = [1]
args = { counts = "i32[64]", out = "i32[64]" }
"""


def judged(folder: Path, *, data: str, start: int = 0) -> KernelResult:
    """Ends of 64 groups, each of whole tiles of 64."""
    builder = ModuleBuilder()
    with builder.entry("k", (tile(pointer(I32)), tile(pointer(I32)))) as f:
        counts, out = f.parameters
        zero, one, tiles = (f.constant(WORD, value) for value in (0, 1, 64))
        with f.for_(zero, tiles, one, [f.constant(WORD, start)]) as loop:
            number, end = loop.arguments
            count = f.op("load_ptr_tko", ptr=f.op("offset", ptr=counts, off=number))[0]
            more = f.op("subi", lhs=f.op("addi", lhs=count, rhs=tiles, ovf="nsw"), rhs=one, ovf="nsw")
            whole = f.op("muli", lhs=f.op("divi", lhs=more, rhs=tiles, sgn="signed", rnd="zero"), rhs=tiles)
            end = f.op("addi", lhs=end, rhs=whole, ovf="nsw")
            f.op("store_ptr_tko", ptr=f.op("offset", ptr=out, off=number), val=end)
            f.op("continue", args=[end])
        f.op("return")
    kernel = folder / "k.tileirbc"
    kernel.write_bytes(encode(builder.build()))
    (folder / "k.tileverify.toml").write_text(f"{SPEC}data = [{data}]\n" if data else SPEC)
    (result,) = check_paths([str(kernel)]).results
    return result


@pytest.mark.parametrize("start", [0, 64, 7])
def test_sums_of_small_counts_fit(tmp_path: Path, start: int) -> None:
    assert judged(tmp_path, data='"range(counts, 0, 100000)"', start=start).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("data", "start"),
    [
        ("", 0),
        ('"range(counts, 0, 2147483000)"', 0),
        ('"range(counts, 0, 40000000)"', 0),  # 64 of them are more than 2**31
        ('"range(counts, 0, 100000)"', (1 << 31) - 64),
    ],
)
def test_sums_that_may_wrap_are_not_proved(tmp_path: Path, data: str, start: int) -> None:
    result = judged(tmp_path, data=data, start=start)
    assert result.verdict is not Verdict.PROVED
    assert {finding.obligation or finding.code for finding in result.findings} == {"TV402"}
