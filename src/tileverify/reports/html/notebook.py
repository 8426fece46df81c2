"""`notebook_html`: verdicts and findings as one piece of HTML below a cell, without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...results import KernelResult, Report, Verdict
from ...results.codes import CODES
from ...results.conditional import is_conditional
from ...system.readings import shown_place
from ..causes import checked
from ..snippets import Snippets
from ..text import summary_line
from .highlighting import Excerpt, excerpts
from .kernel import KernelView, kernel_view
from .overview import VERDICT_SYMBOLS

CARDS: Final = 20
"""Launches with a card; those behind them are counted."""


@dataclass(frozen=True, slots=True)
class Card:
    """One launch; ``checked``: what was proved of it; ``excerpts``: those of each finding."""

    result: KernelResult
    conditional: bool
    symbol: str
    place: str
    view: KernelView
    checked: str
    excerpts: tuple[tuple[Excerpt, ...], ...]


def notebook_html(report: Report) -> str | None:
    """The cards of all launches, what is not proved first; ``None`` without the libraries of the extra ``html``."""
    try:
        from .report import asset, raw, templates
    except ImportError:
        return None
    snippets = Snippets()
    ordered = sorted(report.results, key=lambda result: (result.verdict is Verdict.PROVED, not is_conditional(result)))
    cards = [_card(result, snippets) for result in ordered[:CARDS]]
    return (
        templates()
        .get_template("card.html")
        .render(
            cards=cards,
            more=len(ordered) - len(cards),
            report=report,
            summary=summary_line(report),
            codes=CODES,
            style=raw(asset("card.css")),
        )
    )


def _card(result: KernelResult, snippets: Snippets) -> Card:
    return Card(
        result=result,
        conditional=is_conditional(result),
        symbol=VERDICT_SYMBOLS[result.verdict],
        place=shown_place(result.file, result.line),
        view=kernel_view(result),
        checked=checked(result) if result.verdict is Verdict.PROVED else "",
        excerpts=tuple(excerpts(finding, snippets) for finding in result.findings),
    )
