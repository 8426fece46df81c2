"""Sums over the lanes of a tile by an addition that must not overflow: n times each lane fits, or nothing is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from tests.command_line import CommandLine

from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import I32, BodyBuilder, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import IntegerAttribute, Value
from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

LANES: Final = 64
TOO_MANY: Final = 2**31 // LANES
"""The first number of which 64 are more than an i32 holds."""

SPEC: Final = """[[launch]]
kernel = "k"
grid = [1]
args = { x = "i32[64]", out = "i32[64]" }
"""


def places(f: BodyBuilder, base: Value) -> Value:
    """Pointers to the elements of an array, one in each lane."""
    one = f.op("reshape", s=base, results=[tile(pointer(I32), 1)])
    wide = f.op("broadcast", s=one, results=[tile(pointer(I32), LANES)])
    made: Value = f.op("offset", ptr=wide, off=f.op("iota", results=[tile(I32, LANES)]))
    return made


def file_with(
    folder: Path, *, op: str = "scan", ovf: str = "nsw", start: int = 0, twice: bool = False, lanes: Sequence[int] = ()
) -> Path:
    """A kernel that sums up what `x` holds, or these ``lanes``; ``twice``: the body adds one side once more."""
    builder = ModuleBuilder((13, 4))
    with builder.entry("k", (tile(pointer(I32)), tile(pointer(I32)))) as f:
        x, out = f.parameters
        if lanes:
            values = f.constant(tile(I32, LANES), *lanes)
        else:
            values, _ = f.op("load_ptr_tko", ptr=places(f, x))
        combine = f.reduce if op == "reduce" else f.scan
        with combine([values], 0, [IntegerAttribute(I32, start)]) as body:
            one, other = body.arguments
            total = f.op("addi", lhs=other, rhs=one, ovf=ovf)
            f.op("yield", args=[f.op("addi", lhs=total, rhs=one, ovf=ovf) if twice else total])
        (result,) = body.results
        f.op("store_ptr_tko", ptr=out if op == "reduce" else places(f, out), val=result)
        f.op("return")
    kernel = folder / "k.tileirbc"
    kernel.write_bytes(encode(builder.build()))
    return kernel


def judged(kernel: Path, data: str = "") -> KernelResult:
    kernel.with_name("k.tileverify.toml").write_text(f'{SPEC}data = ["{data}"]\n' if data else SPEC)
    (result,) = check_paths([str(kernel)]).results
    return result


@pytest.mark.parametrize("op", ["reduce", "scan"])
@pytest.mark.parametrize("ovf", ["nsw", "nuw", "nw"])
@pytest.mark.parametrize("data", ["range(x, 0, 7)", f"range(x, 0, {TOO_MANY})"])
def test_sums_of_small_numbers_fit(tmp_path: Path, op: str, ovf: str, data: str) -> None:
    assert judged(file_with(tmp_path, op=op, ovf=ovf), data).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("ovf", "data", "proved"),
    [
        ("nsw", f"range(x, 0, {TOO_MANY + 1})", False),
        ("nuw", f"range(x, 0, {2 * TOO_MANY})", True),
        ("nuw", f"range(x, 0, {2 * TOO_MANY + 1})", False),
        ("nw", f"range(x, 0, {TOO_MANY + 1})", False),
        ("nsw", f"range(x, {-TOO_MANY}, 5)", True),
        ("nsw", f"range(x, {-TOO_MANY - 1}, 5)", False),
        ("nuw", "range(x, -1, 5)", False),
        ("nsw", "", False),
    ],
)
def test_the_border_is_exact(tmp_path: Path, ovf: str, data: str, proved: bool) -> None:
    result = judged(file_with(tmp_path, ovf=ovf), data)
    assert (result.verdict is Verdict.PROVED) is proved, result.findings
    assert proved or {finding.obligation or finding.code for finding in result.findings} == {"TV402"}


@pytest.mark.parametrize("other", [{"start": 1}, {"twice": True}])
def test_other_bodies_are_asked_of_any_two_numbers(tmp_path: Path, other: dict[str, int]) -> None:
    assert judged(file_with(tmp_path, **other), "range(x, 0, 7)").verdict is Verdict.UNDECIDED  # type: ignore[arg-type]


def test_without_flags_nothing_is_asked(tmp_path: Path) -> None:
    assert judged(file_with(tmp_path, ovf="none")).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("op", "lanes", "verdict"),
    [
        ("reduce", [1 << 30] * LANES, Verdict.REFUTED),
        ("scan", [1 << 30] * LANES, Verdict.REFUTED),
        # A scan keeps the order of its lanes, in which this fits; whoever reduces may add any two of them.
        ("reduce", [1 << 30, -(1 << 30)] * (LANES // 2), Verdict.REFUTED),
        ("scan", [1 << 30, -(1 << 30)] * (LANES // 2), Verdict.UNDECIDED),
        # 64 times the first lane would not fit.
        ("reduce", [1 << 30, *[0] * (LANES - 1)], Verdict.UNDECIDED),
        ("scan", [1 << 30, *[0] * (LANES - 1)], Verdict.UNDECIDED),
    ],
)
def test_only_sums_that_overflow_are_refuted(tmp_path: Path, op: str, lanes: list[int], verdict: Verdict) -> None:
    result = judged(file_with(tmp_path, op=op, lanes=lanes))
    assert result.verdict is verdict, result.findings
    assert {finding.obligation or finding.code for finding in result.findings} == {"TV402"}


@pytest.mark.parametrize("op", ["reduce", "scan"])
@pytest.mark.parametrize("ovf", ["nsw", "nw"])
def test_the_checker_asks_the_same(tmp_path: Path, tileverify: CommandLine, op: str, ovf: str) -> None:
    kernel = file_with(tmp_path, op=op, ovf=ovf)
    kernel.with_name("k.tileverify.toml").write_text(SPEC + 'data = ["range(x, 0, 7)"]\n')
    assert tileverify("check", str(kernel), "--no-cache", "--certificate", "proofs").code == 0
    checked = tileverify("recheck", "proofs")
    assert checked.code == 0, checked.out
    assert "bytecode read by the checker's own rules" in checked.out
