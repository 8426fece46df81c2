"""Small folders of candidates."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.gate_candidates import write_candidates


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve candidates: accepted, refuted, with errors, and refused by the screen."""
    path = tmp_path / "candidates"
    write_candidates(path, 10, 7)
    (path / "refused.py").write_text("import os\n")
    (path / "racy.py").write_text(RACY)
    return path


RACY = """\
import cuda.tile as ct


@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
