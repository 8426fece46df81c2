"""``%%tileverify`` in an IPython of this process."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cuda.tile", reason="kernels are compiled")
pytest.importorskip("IPython", reason="runs cells")

import tileverify
from tileverify.api import launcher
from tileverify.launching.checking import checked_cell
from tileverify.results import Verdict
from tileverify.system.errors import TileVerifyError

CELL = """import cuda.tile as ct

@ct.kernel
def keep(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)))

@ct.kernel
def halve(x, out):
    i = ct.bid(0)
    ct.store(out, (i // 2,), ct.load(x, (i,), (128,)))
"""
DESCRIBED = "--grid 'cdiv(N, 128)' --arg x=f32[N] --arg out=f32[N] "


def run(shell: Any, line: str, cell: str = CELL) -> Any:
    return checked_cell(shell, launcher(), line, cell)


def test_all_kernels_of_a_cell_in_the_order_of_their_lines(shell: Any) -> None:
    checked = run(shell, "")
    assert [(each.kernel, each.verdict) for each in checked.results] == [
        ("keep", Verdict.PROVED),
        ("halve", Verdict.REFUTED),
    ]
    assert checked.exit_code == 1
    assert str(checked) == repr(checked)


def test_one_of_them_with_a_launch(shell: Any) -> None:
    (result,) = run(shell, DESCRIBED + "keep").results
    assert (result.kernel, result.stated, result.requires) == ("keep", ("grid = (cdiv(N, 128))",), ())


def test_lines_have_the_numbers_that_people_see(shell: Any) -> None:
    (result,) = run(shell, "halve").results
    (site, *_) = result.findings[0].sites
    assert site.line == 12  # the magic's line is the first


def test_a_cell_that_is_run_again_with_other_text(shell: Any) -> None:
    assert not run(shell, "halve")
    assert run(shell, DESCRIBED + "halve", CELL.replace("i // 2", "i"))
    assert not run(shell, "halve")


def test_a_kernel_of_an_earlier_cell_is_not_checked_again(shell: Any) -> None:
    run(shell, "")
    with pytest.raises(TileVerifyError, match=r"the cell defines no @ct\.kernel"):
        run(shell, "", "other = keep\n")


def test_a_cell_that_fails_is_not_checked(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shell, "", CELL + "\n1 / 0\n") is None
    assert "ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--bogus", "unrecognized arguments: --bogus"),
        ("nobody", "defines no kernel nobody; there is keep, halve"),
        ("keep --arg x", "--arg 'x': give NAME=TYPE"),
        ("--arg x=f32[N]", "--arg describes one kernel"),
        ("keep 'open", "No closing quotation"),
    ],
)
def test_what_is_said_wrongly(shell: Any, line: str, words: str) -> None:
    with pytest.raises(TileVerifyError, match=words.replace("[", r"\[")):
        run(shell, line)


def test_the_magic_shows_errors_without_a_traceback(shell: Any) -> None:
    from IPython.core.error import UsageError

    tileverify.load_ipython_extension(shell)
    with pytest.raises(UsageError, match="unrecognized"):
        shell.run_cell_magic("tileverify", "--bogus", "1\n")
    assert shell.run_cell_magic("tileverify", DESCRIBED + "keep", CELL)
    assert "load_ipython_extension" not in dir(tileverify)
