"""The corpus' handwritten bytecode is what the tool that is said to have written it writes."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tileverify.corpus import ROOT

TOOL = Path(__file__).resolve().parents[2] / "tools" / "handwritten_bytecode.py"
WRITTEN: dict[str, Any] = runpy.run_path(str(TOOL))


@pytest.mark.parametrize("name", WRITTEN["MODULES"])
def test_file_is_what_the_tool_writes(name: str) -> None:
    assert (ROOT / f"{name}.tileirbc").read_bytes() == WRITTEN["bytecode"](name)
