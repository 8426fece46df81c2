"""The report on a recording: what is judged, in which order, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.real import report
from tests.record.conftest import Run, run

from tileverify.results import KernelResult

__all__ = ["run"]

PROGRAM = """
@ct.kernel
def spill(x):
    ct.scatter(x, ct.arange(16, dtype=ct.int32) + ct.bid(0), 1.0, check_bounds=False)

x = np.zeros(64, np.float32)
for step in (1, 2, 4):
    ct.launch(STREAM, (1,), scale, (x[::step], np.zeros_like(x), 3, 16))
ct.launch(STREAM, (2,), spill, (x,))
"""


def test_verdicts_are_kept_and_not_asked_for_again(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, lines = run(PROGRAM).folder, tmp_path / "verdicts.jsonl"
    assert report.main([str(folder), "--per-kernel", "1", "--lines", str(lines)]) == 0
    first = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(line["kernel"].partition("#")[0], line["verdict"]) for line in first] == [
        ("__main__:scale", "proved"),
        ("__main__:spill", "refuted"),
    ]
    assert "TV101" in first[1]["codes"]
    told = capsys.readouterr().out
    assert all(words in told for words in ("2 kernels", "2 launches", "TV101"))

    asked = []
    check = report._check

    def asked_for(file: Path, timeout: float) -> Sequence[KernelResult]:
        asked.append(file.name)
        return check(file, timeout)

    monkeypatch.setattr(report, "_check", asked_for)
    assert report.main([str(folder), "--per-kernel", "2", "--lines", str(lines), "--table"]) == 0
    assert len(asked) == 1
    assert asked[0] not in {line["bytecode"] for line in first}
    told = capsys.readouterr().out
    assert all(words in told for words in ("| `__main__:scale#", "| 2 | proved |", "3 launches"))
