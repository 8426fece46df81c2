"""Triton kernels of a running program and of a notebook's cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cuda.tile", reason="the Python interface imports it")
pytest.importorskip("triton", reason="kernels are compiled")
pytest.importorskip("IPython", reason="runs cells")

import tileverify
from tileverify.api import launcher
from tileverify.launching.checking import checked_cell
from tileverify.results import Verdict
from tileverify.system.errors import UsageError

IMPORTS = "import triton\nimport triton.language as tl\nimport tileverify\n"
COPY = """@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, doubled(tl.load(x + i)), mask=i < n)
"""
HELPER = "@triton.jit\ndef doubled(x):\n    return x * 2\n\n"
LAUNCH = '--grid "cdiv(n, 64)" --arg x=f32[n] --arg out=f32[n] --arg n=i32 --arg BLOCK=64'


@pytest.fixture
def shell(shell: Any) -> Any:
    assert shell.run_cell(IMPORTS, store_history=True).success
    return shell


def test_a_kernel_at_hand_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "at_hand.py").write_text(IMPORTS + HELPER + COPY.replace("x + i)", "x + i, mask=i < n)"))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__("at_hand")
    arguments = {"x": "f32[n]", "out": "f32[n]", "n": "i32", "BLOCK": 64}
    found = tileverify.check(module.copy, grid=["cdiv(n, 64)"], args=arguments)
    assert found.results[0].verdict is Verdict.PROVED
    assert found
    found = tileverify.check(module.copy, grid=["n"], args={**arguments, "out": "f32[n - 1]"})
    assert {finding.code for finding in found.results[0].findings} == {"TV302"}
    with pytest.raises(UsageError, match="describe the arguments of a Triton kernel by name"):
        tileverify.check(module.copy, grid=(1,), args=[1, 2, 3, 4])


def test_a_repair_of_a_cell_is_tried_without_running_the_cell(shell: Any) -> None:
    """Also where another cell holds what the kernel calls, which is no kernel itself."""
    assert shell.run_cell(HELPER, store_history=True).success
    result = checked_cell(shell, launcher(), LAUNCH, "runs = globals().get('runs', 0) + 1\n" + COPY)
    assert result is not None
    (each,) = result.results
    assert (each.kernel, each.verdict) == ("copy", Verdict.REFUTED)
    (finding,) = each.findings
    assert finding.code == "TV302"
    assert any(hint.edits for hint in finding.hints)
    assert "tl.load(x + i, mask=i < n" in str(result)
    assert "Cell In[" in str(result)
    assert shell.user_ns["runs"] == 1


def test_helpers_of_a_cell_are_no_kernels(shell: Any) -> None:
    result = checked_cell(shell, launcher(), LAUNCH, HELPER + COPY.replace("x + i)", "x + i, mask=i < n)"))
    assert result is not None
    assert [each.kernel for each in result.results] == ["copy"]
    assert result


def test_a_cell_without_kernels(shell: Any) -> None:
    with pytest.raises(UsageError, match=r"no @ct\.kernel and no @triton\.jit kernel"):
        checked_cell(shell, launcher(), "", "x = 1\n")
