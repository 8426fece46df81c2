"""A recorded launch whose blocks count, themselves or in memory: what counters began with was observed, as a proof may
need."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tileverify.corpus import ROOT
from tileverify.pipeline import check_paths
from tileverify.results import KernelResult, Verdict

LAUNCH = """
[[launch]]
kernel = "{kernel}"
grid = [4]
observed = [{observed}]
[launch.args]
x = "i32[256]"
parts = "i32[4]"
counter = "i32[1]"
out = "i32[1]"
TILE = 64
PARTS = 16
"""


def judged(folder: Path, kernel: str, *observed: str) -> KernelResult:
    shutil.copy(ROOT / "protocols" / "last_block.py", folder)
    facts = ", ".join(f'"{each}"' for each in observed)
    (folder / "last_block.tileverify.toml").write_text(LAUNCH.format(kernel=kernel, observed=facts))
    (result,) = check_paths([f"{folder / 'last_block.py'}::{kernel}"]).results
    return result


def test_a_counter_that_began_with_0(tmp_path: Path) -> None:
    found = judged(tmp_path, "sum_by_last", "range(counter, 0, 1)", "range(x, -5, 9)")
    assert (found.verdict, found.assumes) == (Verdict.PROVED, ("range(counter, 0, 1)",))
    assert found.observed == ("range(counter, 0, 1)",)


@pytest.mark.parametrize("observed", [(), ("range(counter, 1, 2)",), ("range(x, 0, 1)",)], ids=str)
def test_nothing_is_taken_for_granted_of_any_other(tmp_path: Path, observed: tuple[str, ...]) -> None:
    assert judged(tmp_path, "sum_by_last", *observed).verdict is not Verdict.PROVED


def test_a_counter_that_does_not_order_does_not_help(tmp_path: Path) -> None:
    found = judged(tmp_path, "sum_by_last_relaxed", "range(counter, 0, 1)")
    assert (found.verdict, found.observed) == (Verdict.REFUTED, ())


OWN = """
[[launch]]
kernel = "number_by_kind"
grid = [4]
observed = [{observed}]
args = {{ kinds = "i32[128]", counts = "i32[32]", out = "i32[128]", E = 8, T = 32 }}
"""


@pytest.mark.parametrize(
    ("first", "right"), [("range(counts, 0, 1)", True), ("range(counts, 0, 2)", False), ("range(out, 0, 1)", False)]
)
def test_what_counters_of_one_block_began_with(tmp_path: Path, first: str, right: bool) -> None:
    shutil.copy(ROOT / "data" / "own_counters.py", tmp_path)
    (tmp_path / "own_counters.tileverify.toml").write_text(OWN.format(observed=f'"range(kinds, 0, 8)", "{first}"'))
    (found,) = check_paths([f"{tmp_path / 'own_counters.py'}::number_by_kind"]).results
    assert isinstance(found, KernelResult)
    assert (found.verdict is Verdict.PROVED) == right
    assert not right or set(found.observed) == {"range(kinds, 0, 8)", first}
