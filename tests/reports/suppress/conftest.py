"""A source with two racy kernels and reports about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.results import Finding, KernelResult, Report, SourceSite, Verdict, Witness

SOURCE = """\
import cuda.tile as ct


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(64,))
    ct.store(
        out,
        index=(i // 2,),
        tile=tile,
    )


@ct.kernel
def thirds(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i // 3,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
WITNESS = Witness({}, (2, 1, 1), (0, 0, 0), (1, 0, 0), "out[0:64]", confirmed_by="replay")


def race(line: int, code: str = "TV101", fingerprint: str = "a" * 32, file: str | None = "k.py") -> Finding:
    site = SourceSite(file, line, 4, "store", "out")
    return Finding(code, "two blocks store", (site, site), WITNESS, fingerprint=fingerprint)


def result(*findings: Finding, kernel: str = "halves", line: int | None = 5, **changes: object) -> KernelResult:
    verdict = Verdict.REFUTED if any(each.refutes for each in findings) else Verdict.UNDECIDED
    fields = {"file": "k.py", "launch": "0", "verdict": verdict if findings else Verdict.PROVED, **changes}
    return KernelResult(kernel=kernel, findings=findings, line=line, **fields)  # type: ignore[arg-type]


def report(*results: KernelResult) -> Report:
    return Report(results, "0", "z3")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
