"""What `check` says of recorded launches that it refutes."""

from __future__ import annotations

import pytest

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult, Verdict

from .conftest import Run

ROWS = """
    @ct.kernel
    def place(words, rows, flags, out):
        block = ct.bid(0)
        values = ct.bitcast(ct.load(words, (block, 0), (1, 16)), ct.bfloat16).astype(ct.float32)
        {body}

    words = np.arange(14215, 14215 + 64, dtype=np.int16).reshape(4, 16)
    rows, flags = np.zeros(4, np.int32), np.ones(4, np.int32)
    ct.launch(STREAM, (4,), place, (words, rows, flags, np.zeros((4, 16), np.float32)))
"""


def refuted(run: Run, program: str) -> KernelResult:
    report = check_paths([str(run(program).folder)], options=CheckOptions(quick_repairs=True))
    (result,) = report.results
    assert result.verdict is Verdict.REFUTED
    return result


@pytest.mark.parametrize(
    ("body", "deciding"),
    [
        ("ct.store(out, (ct.load(rows, (block,), (1,)).item(), 0), values)", {"rows"}),
        (
            "if ct.load(flags, (block,), (1,)).item() == 1:\n"
            "            ct.store(out, (ct.load(rows, (block,), (1,)).item(), 0), values)",
            {"rows", "flags"},
        ),
    ],
)
def test_only_what_was_seen_of_deciding_arrays_is_told(run: Run, body: str, deciding: set[str]) -> None:
    """The words are bits of numbers that are stored: what lies between which bounds is no part of the fault."""
    result = refuted(run, ROWS.format(body=body))
    told = [*result.assumes, *result.stated]
    assert not [fact for fact in told if "words" in fact]
    assert {name for name in ("rows", "flags") for fact in result.assumes if name in fact} == deciding
    assert set(result.observed) == set(result.assumes)


def test_accesses_without_an_order_come_with_advice(run: Run) -> None:
    result = refuted(
        run,
        """
        x = np.zeros(64, np.float32)
        ct.launch(STREAM, (4,), scale, (x, x, 2.0, 16))
    """,
    )
    (finding,) = result.findings
    assert finding.code == "TV201"
    assert [hint.id for hint in finding.hints] == ["order-accesses"]


def test_races_come_with_advice(run: Run) -> None:
    result = refuted(run, ROWS.format(body="ct.store(out, (0, 0), values)"))
    assert [[hint.id for hint in finding.hints] for finding in result.findings] == [["split-output-index"]]
