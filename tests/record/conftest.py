"""Programs written for one test, recorded without a GPU."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tileverify.record.recorded_command import RecordOptions, RecordSummary, record

pytest.importorskip("cuda.tile", reason="recording runs programs that use cuda.tile")

PRELUDE = """
import numpy as np
import cuda.tile as ct

STREAM = 0

@ct.kernel
def scale(x, y, factor, tile: ct.Constant[int]):
    block = ct.bid(0)
    ct.store(y, (block,), ct.load(x, (block,), (tile,)) * factor)
"""


@dataclass(frozen=True)
class Recorded:
    """A recording and its index."""

    summary: RecordSummary
    folder: Path

    @property
    def index(self) -> dict[str, Any]:
        index: dict[str, Any] = json.loads((self.folder / "index.json").read_text())
        return index

    @property
    def specialisations(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.index["specialisations"]
        return found


Run = Callable[..., Recorded]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Record a program given as text (`PRELUDE` stands in front of it) into ``tmp_path/out``."""

    def run_text(text: str, *, append: bool = False, interpret: bool = False, **options: Any) -> Recorded:
        program = tmp_path / "program.py"
        program.write_text(PRELUDE + textwrap.dedent(text))
        output = tmp_path / "out"
        command = [sys.executable, str(program)]
        limits = RecordOptions(**options)
        summary = record(command, output=output, no_gpu=True, interpret=interpret, append=append, options=limits)
        return Recorded(summary, output)

    return run_text
