"""What a plain access beside atomics leaves of `deterministic`.

Blocks that read what others add up are races (TV103), so that a kernel which is proved reads its own block's sums
alone, in the order of tokens.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import written

from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\ndef k(total, out):\n    i = ct.bid(0)\n"
SPEC = 'kernel = "k"\ngrid = ["M"]\nrequires = ["M >= 2", "R >= M"]\nargs = { total = "i32[R]", out = "i32[M]" }\n'

OWN_SUM = """    ct.atomic_add(total, (i,), i)
    ct.atomic_add(total, (i,), 3)
    ct.store(out, (i,), ct.load(total, (i,), (1,)))
"""
OWN_SUM_OF_LANES = """    ct.atomic_add(total, (ct.full((4,), i, dtype=ct.int32),), ct.arange(4, dtype=ct.int32))
    ct.store(out, (i,), ct.load(total, (i,), (1,)))
"""
BETWEEN_TWO = """    ct.atomic_add(total, (i,), i)
    ct.store(total, (i,), ct.load(total, (i,), (1,)) * 2)
    ct.atomic_add(total, (i,), 3)
    ct.store(out, (i,), ct.load(total, (i,), (1,)))
"""
READ_BY_OTHERS = """    ct.atomic_add(total, (0,), i)
    ct.store(out, (i,), ct.load(total, (i,), (1,)))
"""
NEIGHBOUR = """    ct.atomic_add(total, ((i + 1) % ct.num_blocks(0),), i)
    ct.store(out, (i,), ct.load(total, (i,), (1,)))
"""
RESULT_STORED = """    ct.store(out, (i,), ct.atomic_add(total, (i % 2,), 1))
"""
RESULT_STEERS = """    if ct.atomic_add(total, (0,), 1) == 0:
        ct.store(out, (i,), ct.full((1,), 1, dtype=ct.int32))
"""
FLOATS_OF_LANES = """    ct.atomic_add(total, (ct.full((4,), i, dtype=ct.int32),), ct.full((4,), 0.1, dtype=ct.float32))
    ct.store(out, (i,), ct.load(total, (i,), (1,)))
"""


def judged(folder: Path, body: str, spec: str = SPEC) -> KernelResult:
    written(folder, HEAD + body, f"[[launch]]\n{spec}", "k")
    report = check_paths([str(folder / "k.py")])
    [result] = report.results
    assert isinstance(result, KernelResult)
    return result


@pytest.mark.parametrize("body", [OWN_SUM, OWN_SUM_OF_LANES, BETWEEN_TWO])
def test_sums_that_a_block_reads_itself_are_the_same_in_any_order(tmp_path: Path, body: str) -> None:
    result = judged(tmp_path, body)
    assert result.verdict is Verdict.PROVED
    assert result.deterministic is True


@pytest.mark.parametrize("body", [READ_BY_OTHERS, NEIGHBOUR])
def test_sums_that_another_block_reads_are_races(tmp_path: Path, body: str) -> None:
    result = judged(tmp_path, body)
    assert result.verdict is Verdict.REFUTED
    assert result.findings[0].code == "TV103"
    assert result.deterministic is None


@pytest.mark.parametrize("body", [RESULT_STORED, RESULT_STEERS])
def test_what_an_atomic_gives_back_depends_on_the_order(tmp_path: Path, body: str) -> None:
    assert judged(tmp_path, body).deterministic is not True


def test_lanes_of_one_float_addition_have_no_order(tmp_path: Path) -> None:
    result = judged(tmp_path, FLOATS_OF_LANES, SPEC.replace("i32[", "f32["))
    assert result.verdict is Verdict.PROVED
    assert result.deterministic is False
