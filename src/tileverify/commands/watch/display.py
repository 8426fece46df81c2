"""One screen for a round: what is wrong first, then the others in a line each, then the summary."""

from __future__ import annotations

from dataclasses import replace

from ...reports.text import Detail, summary_line, text_report
from ...results import KernelResult, Report, Verdict
from ...results.conditional import behind_verdict, verdict_word
from ...system.printable import printable


def screen(report: Report, *, heading: str, trouble: str, color: bool, height: int | None) -> str:
    """Text of at most ``height`` lines (``None``: of any length) that ends with the summary and a newline."""
    first = [printable(heading), ""]
    last = [*([printable(trouble)] if trouble else []), summary_line(report)]
    failing = tuple(each for each in report.results if each.counts_as is not Verdict.PROVED)
    faults = text_report(replace(report, results=failing), detail=Detail.QUIET, color=color).rstrip("\n").split("\n")
    proved = [_line(result) for result in report.results if result.verdict is Verdict.PROVED]
    body = [*faults, *([""] if faults != [""] else []), *proved] if faults != [""] else proved
    room = len(body) if height is None else max(height - len(first) - len(last) - 2, 1)
    if len(body) > room:
        body = [*body[: room - 1], f"... {len(body) - room + 1} more lines: tileverify check"]
    return "\n".join([*first, *body, "", *last]) + "\n"


def _line(result: KernelResult) -> str:
    launch = f" [{result.launch}]" if result.launch else ""
    asked = behind_verdict(result)
    return printable(f"{verdict_word(result):9}  {result.file}::{result.kernel}{launch}{asked and f': {asked}'}")
