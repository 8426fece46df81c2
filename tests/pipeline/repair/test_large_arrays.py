"""An index that wraps in arrays of 2**31 elements is offered in 64 bits, proved, and `--fix` makes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult, Verdict
from tileverify.verifier import large_arrays

KERNELS = """import cuda.tile as ct


@ct.kernel
def by_block(x, out, length):
    row = ct.bid(0)
    place = row * length + ct.arange(32, dtype=ct.int32)
    ct.scatter(out, (place,), ct.gather(x, (place,)))


@ct.kernel
def by_loop(x, out, rows, length):
    for row in range(ct.bid(0), rows, ct.num_blocks(0)):
        place = row * length + ct.arange(32, dtype=ct.int32)
        ct.scatter(out, (place,), ct.gather(x, (place,)))


@ct.kernel
def by_table(x, out, table, length):
    lanes = ct.arange(32, dtype=ct.int32)
    row = ct.gather(table, (ct.bid(0),))
    ct.scatter(out, (ct.bid(0) * 32 + lanes,), ct.gather(x, (lanes + length * row,)))
"""
BOTH = 'x = "f32[M * L; index=i64]", out = "f32[M * L; index=i64]"'
LAUNCHES = {
    "by_block": f'grid = ["M"]\nrequires = ["L >= 32"]\nargs = {{ {BOTH}, length = "i32 = L" }}',
    "by_loop": f'grid = [8]\nrequires = ["L >= 32"]\nargs = {{ {BOTH}, rows = "i32 = M", length = "i32 = L" }}',
    "by_table": 'grid = ["B"]\nrequires = ["L >= 32"]\ndata = ["range(table, 0, M)"]\n'
    'args = { x = "f32[M * L; index=i64]", out = "f32[32 * B]", table = "i32[B]", length = "i32 = L" }',
}


def written(folder: Path, kernel: str) -> Path:
    (folder / "rows.py").write_text(KERNELS)
    (folder / "rows.tileverify.toml").write_text(f'[[launch]]\nkernel = "{kernel}"\n{LAUNCHES[kernel]}\n')
    return folder / "rows.py"


def checked(source: Path, kernel: str, **more: bool) -> KernelResult:
    (result,) = check_paths([f"{source}::{kernel}"], options=CheckOptions(**more)).results  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize("kernel", LAUNCHES)
def test_an_index_in_64_bits_is_proved_and_made(tmp_path: Path, tileverify: CommandLine, kernel: str) -> None:
    source = written(tmp_path, kernel)
    warned = checked(source, kernel, quick_repairs=True)
    assert warned.verdict is Verdict.PROVED
    assert {finding.code for finding in warned.findings} == {"TV304"}
    hints = {hint.id: hint for finding in warned.findings for hint in finding.hints}
    assert (list(hints), hints["widen-index"].applicability) == (["widen-index"], "safe")
    assert hints["widen-index"].edits
    assert tileverify("check", f"{source}::{kernel}", "--fix").code == 0
    mended = checked(source, kernel)
    assert (mended.verdict, mended.limits, mended.findings) == (Verdict.PROVED, (), ())


def test_what_was_not_asked_to_its_end_mends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial whose account is spent tells nothing of large arrays."""
    find = large_arrays.LargeArrays.findings

    def spent(self: large_arrays.LargeArrays, *needed: object) -> tuple[object, ...]:
        found, notes = find(self, *needed)  # type: ignore[arg-type]
        return found, notes if found else (large_arrays.NOT_FOUND_OUT,)

    monkeypatch.setattr(large_arrays.LargeArrays, "findings", spent)
    warned = checked(written(tmp_path, "by_block"), "by_block", quick_repairs=True)
    assert {hint.applicability for finding in warned.findings for hint in finding.hints} == {"display"}
