"""Sizes in a list are 64-bit words; a kernel compiled for 32-bit sizes truncates them, whoever filled the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.check import check_paths
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.sources.launch import KernelUnit
from tileverify.results import Verdict


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
        ("u8[N; index=i64]", Verdict.REFUTED, {"TV401", "TV301"}),
        # 2**32 + 5000 is 5000 in 32 bits: a view of the first 5000 elements, in bounds and not what was meant
        ("u8[2**32 + 5000; index=i64]", Verdict.PROVED, set()),
    ],
)
def test_what_the_truncation_does(
    tmp_path: Path, bytecode: bytes, element: str, verdict: Verdict, codes: set[str]
) -> None:
    (tmp_path / "k.tileirbc").write_bytes(bytecode)
    (tmp_path / "k.tileverify.toml").write_text(
        f'[[launch]]\nkernel = "last_tiles"\ngrid = ["L"]\n'
        f'args = {{ xs = {{ list = "{element}", length = "L" }}, out = "u8[L, 128]" }}\n'
    )
    (result,) = check_paths([str(tmp_path / "k.tileirbc")]).results
    assert result.verdict is verdict, result.findings
    assert codes <= {finding.code for finding in result.findings}
