"""Twelve usual mistakes, as somebody new to tiles writes them: one card each, with the line, the cause and a repair.

Ten have no launch spec at all.  The tail that sticks out has one with the sizes of a call, and the flag one that says
that it is 0 or 1 when the launch begins: without them neither is a mistake that anybody can show.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.reports.causes import cards
from tileverify.reports.snippets import edited
from tileverify.reports.text import text_report
from tileverify.results import KernelResult, Report, Verdict

FOLDER = Path(__file__).parent / "mistakes"


class Card(NamedTuple):
    """What the only card says: its code and line, the hint, and what the repair puts there (none: there is none)."""

    code: str
    line: int
    hint: str
    puts: str | None
    applicability: str = "safe"


CARDS = {
    "split_k": Card("TV101", 15, "use-atomic", "C.tiled_view(acc.shape).atomic_store_add((bm, bn), acc)", "maybe"),
    "two_sums": Card("TV102", 12, "use-atomic", "db.tiled_view((1, TILE)).atomic_store_add((0, col), g)"),
    "histogram": Card("TV202", 10, "use-atomic", "ct.atomic_add(counts, v, 1)", "maybe"),
    "missing_axis": Card("TV101", 13, "split-output-index", "index=(n, i, j), tile=x + y", "maybe"),
    "halved_index": Card("TV101", 10, "split-output-index", "ct.store(out, index=(i,)", "maybe"),
    "unmasked_tail": Card("TV302", 9, "mask-tail", "ct.gather(x, lanes, check_bounds=True)"),
    "padded_maximum": Card("TV403", 9, "pad-load", "padding_mode=ct.PaddingMode.NEG_INF", "maybe"),
    "wrong_stride": Card("TV101", 10, "split-output-index", "start = ct.bid(0) * TILE", "maybe"),
    "stencil_in_place": Card("TV102", 9, "separate-output", None, "display"),
    "block_scope": Card("TV103", 9, "widen-scope", "memory_scope=ct.MemoryScope.DEVICE"),
    "flag_without_order": Card("TV102", 10, "strengthen-order", "memory_order=ct.MemoryOrder.ACQ_REL"),
    "repeated_index": Card("TV901", 10, "declare-injective", None, "maybe"),
}


def checked(path: Path) -> KernelResult:
    """As the command line does."""
    (result,) = check_paths([str(path)], options=CheckOptions(quick_repairs=True)).results
    return result


def test_all_twelve_are_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(CARDS)
    assert len(CARDS) == 12
    assert sum(card.puts is not None for card in CARDS.values()) >= 9


@pytest.mark.parametrize("name", CARDS)
def test_a_mistake_is_one_card(name: str, tmp_path: Path) -> None:
    source = FOLDER / f"{name}.py"
    wanted = CARDS[name]
    result = checked(source)
    ((finding, others),) = cards(result.findings)
    assert finding.code == wanted.code
    assert wanted.line in [site.line for site in finding.sites]
    (hint,) = finding.hints
    assert (hint.id, hint.applicability) == (wanted.hint, wanted.applicability)
    text = text_report(Report((result,), "0", "none"))
    assert text.count("more: tileverify explain") == 1
    assert text.count("help:") == 1
    assert all(f"also {other.code}" in text for other in others)
    if wanted.puts is None:
        assert not hint.edits
        return
    assert wanted.puts in text
    mended = tmp_path / source.name
    mended.write_text(edited(source.read_text(), hint.edits))
    assert wanted.puts in mended.read_text()
    spec = source.with_suffix(".tileverify.toml")
    if spec.exists():
        (tmp_path / spec.name).write_text(spec.read_text())
    again = checked(mended)
    assert again.verdict is Verdict.PROVED
    assert not again.findings


MEANS = """import cuda.tile as ct


@ct.kernel
def row_means(x, out, TILE: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(row, col), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
    old = ct.load(out, index=(row,), shape=(1,))
    ct.store(out, index=(row,), tile=old + ct.sum(tile, axis=1) / x.shape[1])
"""


def test_a_tile_of_one_element_is_added_to_by_a_view(tmp_path: Path) -> None:
    source = tmp_path / "means.py"
    source.write_text(MEANS)
    ((finding, _),) = cards(checked(source).findings)
    (hint,) = finding.hints
    assert (hint.id, hint.applicability) == ("use-atomic", "safe")
    mended = edited(MEANS, hint.edits)
    assert "out.tiled_view((1,)).atomic_store_add((row,), ct.sum(tile, axis=1) / x.shape[1])" in mended
    source.write_text(mended)
    assert checked(source).verdict is Verdict.PROVED


ROW_SUMS = """import cuda.tile as ct


@ct.kernel
def row_sums(x, out, R: ct.Constant[int], C: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(row, col), shape=(R, C), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(row,), tile=ct.sum(tile * tile, axis=1))
"""
BATCHES = ROW_SUMS.replace("index=(row, col), shape=(R, C)", "index=(col, row, 0), shape=(1, R, C)").replace(
    "ct.sum(tile * tile, axis=1)", "ct.reshape(ct.sum(tile, axis=2), (R,))"
)


def test_sums_of_parts_of_a_row_are_added(tmp_path: Path) -> None:
    source = tmp_path / "row_sums.py"
    source.write_text(ROW_SUMS)
    (hint,) = checked(source).findings[0].hints
    assert (hint.id, hint.applicability) == ("use-atomic", "maybe")
    source.write_text(edited(ROW_SUMS, hint.edits))
    assert "out.tiled_view(part.shape).atomic_store_add((row,), part)" in source.read_text()
    assert checked(source).verdict is Verdict.PROVED


def test_batches_are_not_added(tmp_path: Path) -> None:
    """Each batch has sums of its own, and the mistake is that it has no place in the output."""
    source = tmp_path / "batches.py"
    source.write_text(BATCHES)
    result = checked(source)
    assert result.findings[0].code == "TV101"
    assert all(hint.id != "use-atomic" for hint in result.findings[0].hints)
