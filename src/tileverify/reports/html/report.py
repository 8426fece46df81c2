"""`html_report`: the whole report as one file that works offline, and needs nothing but a browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from ...results import Report, Verdict
from ...results.codes import CODES
from ...results.details import DrawnDifference, EqualitySection, UnequalValues
from ...results.json_report import Json, json_report
from ...system.errors import UsageError
from ...system.printable import printable
from ..findings import never_written
from ..history import History
from ..snippets import Snippets
from .overview import Overview

if TYPE_CHECKING:
    from jinja2 import Environment

    from ...results.details import IrLine
    from .highlighting import Sources
    from .overview import Row

TIERS: Final = {
    "structural": "decided without a solver",
    "as written": "decided by their own words",
    "linear integers": "by linear integers",
    "non-linear integers": "by non-linear integers",
    "bit-vectors": "by bit-vectors",
    "enumerated": "by a run of all blocks",
}
"""How an obligation was decided, after a number of them."""

MISSING: Final = "the HTML report needs Jinja2 and Pygments; install them with: pip install 'tileverify[html]'"


def available() -> None:
    """Raises `UsageError` where the libraries that make pages are missing."""
    try:
        import jinja2  # noqa: F401
        import pygments  # noqa: F401
    except ImportError:
        raise UsageError(MISSING) from None


def html_report(report: Report, history: History | None = None, equality: Sequence[EqualitySection] = ()) -> str:
    """One page, with what changed since an earlier report.

    ``equality``: of each result, whether it is its reference.

    Raises `UsageError` without the libraries of the extra ``html``.
    """
    available()
    from . import content_policy, packed
    from .highlighting import Sources
    from .overview import overview

    view, sources, snippets, environment = with_answers(overview(report), equality), Sources(), Snippets(), templates()
    shards: dict[str, _Shard] = {}
    for row in view.rows:
        section = equality[row.place] if equality else None
        shards.setdefault(row.result.file, _Shard(sources, snippets)).add(row, report, environment, section)
    numbers = {row.id: list(shards).index(row.result.file) for row in view.rows}
    style, drawing, difference, page = map(asset, ("style.css", "drawing.js", "difference.js", "page.js"))
    return environment.get_template("page.html").render(
        report=report,
        view=view,
        headline=_headline(report, headline_of(equality)),
        codes=CODES,
        symbols={verdict.value: symbol for verdict, symbol in _symbols().items()},
        shard_of=numbers,
        shards=[packed(shard.document) for shard in shards.values()],
        json=packed(json_report(report)),
        changes=None if history is None else _changes(view.rows, history),
        policy=content_policy(scripts=[drawing, difference, page], styles=[style]),
        style=raw(style),
        drawing_script=raw(drawing),
        difference_script=raw(difference),
        page_script=raw(page),
    )


def _changes(rows: Sequence[Row], history: History) -> Json:
    """What changed, each with the page of its launch, if that is still there."""
    pages = {(row.result.file, row.result.kernel, row.result.launch): row.id for row in rows}
    shown = [(change, pages.get((change.file, change.kernel, change.launch))) for change in history.changes]
    return {"sentence": history.sentence, "shown": shown}


def _symbols() -> dict[Verdict, str]:
    from .overview import VERDICT_SYMBOLS

    return VERDICT_SYMBOLS


def _headline(report: Report, compared: str) -> str:
    """What is worst; ``compared``: the same of kernels beside their references."""
    verdicts = [result.verdict for result in report.results]
    if Verdict.ERROR in verdicts:
        return "Something could not be checked"
    for verdict, words in ((Verdict.REFUTED, "Not safe"), (Verdict.UNDECIDED, "Not everything is proved")):
        if count := verdicts.count(verdict):
            return f"{words}: {count} of {len(verdicts)} {'is' if count == 1 else 'are'} {verdict.value}"
    if not verdicts:
        return "No kernel was found"
    under = f", {report.conditional} of {len(verdicts)} under conditions" if report.conditional else ""
    return (compared or "Everything is proved") + under


# ------------------------------------------------------------------------------------------------ kernels
@dataclass
class _Shard:
    """The launches of one file, which share sources and mostly Tile IR: unpacked when one of them is opened."""

    sources: Sources
    snippets: Snippets
    document: Json = field(default_factory=lambda: {"kernels": {}, "sources": {}, "ir": []})
    _known_ir: dict[tuple[tuple[IrLine, ...], tuple[str, ...]], int] = field(default_factory=dict)

    def add(self, row: Row, report: Report, environment: Environment, equality: EqualitySection | None = None) -> None:
        from ..traffic_tables import TrafficView
        from .highlighting import excerpts
        from .kernel import drawing_json, file_html, kernel_view, source_panes

        result, details = row.result, row.result.details
        panes = source_panes(result, self.sources)
        files = [pane["file"] for pane in panes]
        for pane, name in zip(panes, files, strict=True):
            pane["file"] = printable(name)
            self.document["sources"].setdefault(pane["file"], file_html(name, self.sources))
        drawings = [] if details is None else details.drawings
        findings = result.findings
        html = environment.get_template("kernel.html").render(
            row=row,
            result=result,
            report=report,
            view=kernel_view(result),
            excerpts=[excerpts(finding, self.snippets) for finding in findings],
            panes=bool(panes) or bool(details and details.ir),
            accesses=() if details is None else details.accesses,
            traffic=None if details is None or details.traffic is None else TrafficView(details.traffic),
            example=[number for number, drawing in enumerate(drawings) if drawing.finding is None],
            wider={drawing.finding: number for number, drawing in enumerate(drawings) if drawing.wider},
            codes=CODES,
            tiers=TIERS,
            equality=equality,
            states=STATES,
            symbols=SYMBOLS_OF_ANSWERS,
        )
        difference = None if equality is None else equality.difference
        self.document["kernels"][row.id] = {
            "html": html,
            "panes": panes,
            "ir": None if not details or not details.ir else self._ir(details.ir, files),
            "drawings": [
                drawing_json(each, None if each.finding is None else findings[each.finding]) for each in drawings
            ],
            "difference": None if difference is None else difference_json(difference),
            "playback": {printable(each.name): each.text for each in result.playback},
        }

    def _ir(self, lines: tuple[IrLine, ...], files: Sequence[str]) -> int:
        """The number of a Tile IR text; launches that share it share its lines."""
        from .kernel import ir_pane

        key = lines, tuple(files)
        if key not in self._known_ir:
            self._known_ir[key] = len(self.document["ir"])
            self.document["ir"].append(ir_pane(lines, files))
        return self._known_ir[key]


# ----------------------------------------------------------------------------------------------- assets
def asset(name: str) -> str:
    """The text of a file of `assets`."""
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def raw(text: str) -> Any:
    """Text of this package that stands in the page as it is."""
    from markupsafe import Markup

    return Markup(text)


def _shown(value: Any) -> Any:
    """What templates print: text from files, bytecode and user code without control characters."""
    return printable(value) if type(value) is str else value


def _with_code(text: str) -> Any:
    """What stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in printable(text).split("`")]
    if len(parts) % 2 == 0:
        return escape(printable(text))
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


@cache
def templates() -> Environment:
    """The templates of all pages, with what they print escaped and without control characters."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    from .overview import duration

    environment = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_shown
    )
    environment.filters["duration"] = duration
    environment.filters["code"] = _with_code
    environment.filters["never_written"] = never_written
    return environment


# ------------------------------------------------------------------------------------------------------------- equality
# Pages of kernels that stand beside a reference: what was answered, and the difference for the page's script.


STATES: Final = {"equal": "proved", "different": "refuted", "not decided": "undecided"}
"""The colours of answers, by those of verdicts."""
SYMBOLS_OF_ANSWERS: Final = {"equal": "=", "different": "≠", "not decided": "?"}

Sections = Sequence[EqualitySection]
"""One for each result of a report, in its order; or none at all."""


def with_answers(view: Overview, sections: Sections) -> Overview:
    """The overview with each answer beside its kernel, where nothing else is said of it, the worst first."""
    if not sections:
        return view
    rows = [row if row.message else replace(row, message=_short(sections[row.place])) for row in view.rows]
    verdicts = list(dict.fromkeys(row.result.verdict for row in rows))
    answers = ("different", "not decided", "equal")
    rows.sort(key=lambda row: (verdicts.index(row.result.verdict), answers.index(sections[row.place].answer)))
    return replace(view, rows=tuple(rows))


def _short(section: EqualitySection) -> str:
    if section.difference is None:
        return f"{section.answer}: {section.reference}"
    return f"{section.sentence} ({section.reference})"


def headline_of(sections: Sections) -> str:
    """What is worst of the answers, empty where there are none."""
    for answer, words in (("different", "Not the same function"), ("not decided", "Not everything is decided")):
        if count := sum(section.answer == answer for section in sections):
            return f"{words}: {count} of {len(sections)} {'is' if count == 1 else 'are'} {answer}"
    return "Everything is proved, and equal to its reference" if sections else ""


def difference_json(drawn: DrawnDifference) -> Json:
    """The difference for the page's script; ``boxes`` as flat lists ``[start, end, start, end, ...]``."""
    shape = list(drawn.shape) or [1]
    return {
        "array": printable(drawn.array),
        "dtype": drawn.dtype,
        "shape": shape,
        "count": drawn.count,
        "chosen": _index(drawn.chosen),
        "elements": [[_index(each), _number(each.kernel), _number(each.reference)] for each in drawn.elements],
        "boxes": _boxes([_index(each) for each in drawn.elements]),
    }


def _index(element: UnequalValues) -> list[int]:
    return list(element.index) or [0]


def _boxes(indices: Sequence[list[int]]) -> list[list[int]]:
    """Elements in ascending order as boxes, neighbours along the last axis in one."""
    boxes: list[list[int]] = []
    for index in indices:
        *lead, last = index
        outer = [edge for each in lead for edge in (each, each + 1)]
        if boxes and boxes[-1][:-2] == outer and boxes[-1][-1] == last:
            boxes[-1][-1] = last + 1
        else:
            boxes.append([*outer, last, last + 1])
    return boxes


def _number(value: float) -> str:
    """As Python writes it, short where it is long."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.9g}" if len(repr(value)) > 12 else repr(value)
