"""What is said of kernels in a notebook's cells: repairs of the cell, and errors at the place that IPython names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("cuda.tile", reason="kernels are compiled")
pytest.importorskip("IPython", reason="runs cells")

from tileverify.api import launcher
from tileverify.frontend.sources.cutile import edited_unit
from tileverify.launching.checking import Checked, checked_cell
from tileverify.system import readings
from tileverify.system.errors import SourceError, TileVerifyError
from tileverify.system.printable import display_path

IMPORTS = "import cuda.tile as ct\nimport tileverify\n"
HALVE = """@ct.kernel
def halve(x, out):
    i = ct.bid(0)
    ct.store(out, (i // 2,), ct.load(x, (i,), (128,)))
"""
KEPT = "result = tileverify.check(halve)\n"
DIFFERENCE = ["-4:     ct.store(out, (i // 2,)", "+4:     ct.store(out, (i,)"]


@pytest.fixture
def shell(shell: Any) -> Any:
    assert shell.run_cell(IMPORTS, store_history=True).success
    return shell


def run(shell: Any, cell: str) -> Checked:
    """The ``result`` of a cell."""
    assert shell.run_cell(cell, store_history=True).success
    found = shell.user_ns["result"]
    assert isinstance(found, Checked)
    return found


def differences(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith(("-", "+"))]


# --------------------------------------------------------------------------------------------- repairs
def test_a_proved_repair_is_shown_as_a_difference_of_the_cell(shell: Any) -> None:
    """Although what the cell needs was imported by another one."""
    result = run(shell, HALVE + KEPT)
    shown = [line for line in differences(str(result)) if not line.startswith("-->")]
    assert [line.partition(", ct.load")[0] for line in shown] == DIFFERENCE
    page = result._repr_html_() or ""
    assert '<span class="tv-out">-4: ' in page
    assert '<span class="tv-in">+4:     ct.store(out, (i,), ct.load(x, (i,), (128,)))</span>' in page


def test_so_it_is_below_the_magic(shell: Any) -> None:
    result = checked_cell(shell, launcher(), "", HALVE)
    assert "+5:     ct.store(out, (i,), ct.load(x, (i,), (128,)))" in differences(str(result))


def test_a_cell_is_not_run_again(shell: Any) -> None:
    result = run(shell, "runs = globals().get('runs', 0) + 1\n" + HALVE + KEPT)
    assert result.results[0].findings[0].hints[0].edits
    assert shell.user_ns["runs"] == 1
    assert shell.user_ns["halve"] is not None


def test_a_call_of_a_kernel_with_constants_gets_one_too(shell: Any) -> None:
    """A call does not describe what is compiled in: the changed kernel is compiled as the call was."""
    tiled = HALVE.replace("x, out", "x, out, TILE: ct.Constant[int]").replace("(128,)", "(TILE,)")
    shell.user_ns["arrays"] = arrays()
    result = run(shell, tiled + "result = tileverify.check(halve, args=(*arrays, 64), grid=(4,))\n")
    shown = [line.partition(", ct.load")[0] for line in differences(str(result)) if not line.startswith("-->")]
    assert shown == DIFFERENCE
    (finding,) = result.results[0].findings
    assert finding.code == "TV101"


DISTURBED = {
    "a decorator of one's own": "def noted(f):\n    globals()['seen'] = seen + 1\n    return f\n\n@noted\n" + HALVE,
    "a default that is computed": "def one():\n    globals()['seen'] = seen + 1\n    return 1\n\n"
    + HALVE.replace("x, out", "x, out, n: ct.Constant[int] = one()"),
    "a name that was changed since": "WIDTH = 64\n" + HALVE.replace("128", "WIDTH") + "WIDTH = 128\n",
    "two definitions": HALVE + HALVE,
}


@pytest.mark.parametrize("cell", DISTURBED.values(), ids=DISTURBED)
def test_what_is_more_than_a_definition_is_not_tried(shell: Any, cell: str) -> None:
    """What would run the user's code again, or give another kernel than the cell's."""
    shell.user_ns["seen"] = 0
    changed = "WIDTH = 128\n" in cell
    shell.run_cell(cell.replace("WIDTH = 128\n", ""), store_history=True)
    given = (*arrays(), 1) if "one()" in cell else arrays()
    unit = launcher().asked(None, shell.user_ns["halve"], given).compiled((2, 1, 1))
    unit = replace(unit, launch=replace(unit.launch, name="0"), kernel="halve")
    if changed:
        shell.user_ns["WIDTH"] = 128
    seen = shell.user_ns["seen"]
    text = readings.cell_text(str(unit.file))
    assert text is not None
    with pytest.raises(SourceError, match="a changed 'halve' cannot be tried"):
        edited_unit(unit, text.replace("i // 2", "i"))
    assert shell.user_ns["seen"] == seen


def test_edits_elsewhere_in_the_cell_are_not_tried(shell: Any) -> None:
    shell.run_cell("WIDTH = 128\n" + HALVE, store_history=True)
    unit = launcher().asked(None, shell.user_ns["halve"], arrays()).compiled((2, 1, 1))
    text = readings.cell_text(str(unit.file))
    assert text is not None
    with pytest.raises(SourceError, match="more than the kernel was changed"):
        edited_unit(unit, text.replace("i // 2", "i").replace("WIDTH = 128", "WIDTH = 64"))


def arrays() -> tuple[Any, Any]:
    import numpy as np

    return np.zeros(256, np.float32), np.zeros(256, np.float32)


# ---------------------------------------------------------------------------------------------- errors
CALL = "result = tileverify.check(halve, grid=['cdiv({size}, 128)'], args={{'x': 'f32[N]', '{out}': 'f32[N]'}})\n"
DECORATED = "@tileverify.launch(\n    grid=['cdiv({size}, 128)'],\n    args={{'x': 'f32[N]', '{out}': 'f33[N]'}},\n)\n"


def marked(text: str) -> tuple[str, str]:
    """The place behind the first arrow, and what the first carets point at."""
    lines = text.splitlines()
    place = next(line.partition("--> ")[2] for line in lines if "--> " in line)
    number = next(number for number, line in enumerate(lines) if line.lstrip().startswith("| ") and "^" in line)
    start, width = lines[number].index("^"), lines[number].count("^")
    return place, lines[number - 1][start : start + width]


def test_an_error_of_a_call_points_at_the_field(shell: Any) -> None:
    run(shell, HALVE + KEPT)
    assert marked(str(run(shell, CALL.format(size="M", out="out")))) == ("Cell In[3], line 1", "M")
    assert marked(str(run(shell, "\n" + CALL.format(size="N", out="oot")))) == ("Cell In[4], line 1", "args")


def test_an_error_of_a_decorator_points_at_the_field(shell: Any) -> None:
    result = run(shell, DECORATED.format(size="M", out="out") + HALVE + KEPT)
    assert marked(str(result)) == ("Cell In[2], line 3", "f33")
    result = run(shell, DECORATED.replace("f33", "f32").format(size="M", out="out") + HALVE + KEPT)
    assert marked(str(result)) == ("Cell In[3], line 2", "M")


def test_an_error_of_the_magic_points_at_the_option(shell: Any) -> None:
    result = checked_cell(shell, launcher(), "--grid 'cdiv(M, 128)' --arg x=f32[N] --arg out=f32[N]", HALVE)
    place, words = marked(str(result))
    assert (place.startswith("Cell In["), place.endswith("], line 1"), words) == (True, True, "M")
    result = checked_cell(shell, launcher(), "--grid 'cdiv(N, 128)' --arg x=f32[N] --arg out=f33[N]", HALVE)
    assert marked(str(result))[1] == "f33"


def test_what_the_compiler_refuses_is_marked(shell: Any) -> None:
    result = run(shell, HALVE.replace("ct.load", "ct.lood") + KEPT)
    assert marked(str(result)) == ("Cell In[2], line 4", "ct.lood(x, (i,), (128,))")
    assert 'tileverify.check(halve, grid=["1"], args={"x": "f32", "out": "f32[out0]"})' in str(result)
    assert "ipython" not in str(result)
    assert "ipython" not in (result._repr_html_() or "")


def test_a_contract_that_contradicts_itself_is_shown_in_the_cell(shell: Any) -> None:
    call = CALL.format(size="N", out="out").replace("args=", "requires=['N > 3', 'N < 2'], args=")
    assert marked(str(run(shell, HALVE + call))) == ("Cell In[2], line 5", "'N > 3'")


def test_errors_name_the_cell(shell: Any) -> None:
    run(shell, HALVE + KEPT)
    file = shell.user_ns["result"].results[0].file
    assert display_path(file) == file
    assert str(TileVerifyError("no", file, 4, 2)) == "Cell In[2], line 4: no"
    assert readings.shown_place(file, None) == "Cell In[2]"
    assert readings.shown_place("k.py", 4, 2) == "k.py:4:3"
