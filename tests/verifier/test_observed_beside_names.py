"""A recorded launch that somebody wrote other sizes into: what was observed stands beside sizes that have names."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.results import Verdict

PICK = """
import cuda.tile as ct

@ct.kernel
def pick(table, rows, count, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    chosen = ct.load(rows, (i,), (TILE,))
    ct.scatter(out, (i * TILE + ct.arange(TILE, dtype=ct.int32),), ct.gather(table, (chosen,), check_bounds=False))
"""
LAUNCH = """
kernel = "pick"
grid = ["cdiv(N, 64)"]
requires = ["N % 64 == 0"]
observed = [{observed}]
args = {{ table = "f32[M]", rows = "i32[N]", count = "i32[{count}]", out = "f32[N]", TILE = 64 }}
"""


@pytest.mark.parametrize("count", ["1", "M", "N"])
@pytest.mark.parametrize(
    ("observed", "suffices"),
    [
        (("range(rows, 0, M)",), True),
        (("range(rows, 0, table.shape[0])", "injective(rows)"), True),
        (("range(rows, M - M, M)", "range(count, 1, 9)"), True),
        (("range(rows, 0, N)", "range(count, 0, M)"), False),  # whether there is a fault hangs on N and M
    ],
)
def test_there_is_a_verdict(tmp_path: Path, observed: tuple[str, ...], count: str, suffices: bool) -> None:
    facts = ", ".join(f'"{each}"' for each in observed)
    result = judged(tmp_path, PICK, LAUNCH.format(observed=facts, count=count))
    assert result.verdict in ({Verdict.PROVED} if suffices else {Verdict.UNDECIDED, Verdict.REFUTED}), result
    assert all(fact in observed for fact in result.assumes)
