"""A message may have lines, an example of a launch spec mostly; no format shows where they end as an escape."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from tests.reports.pages.test_page import fragments

from tileverify.reports import FORMATS, renderer
from tileverify.reports.history import compare, history_markdown
from tileverify.reports.html.notebook import notebook_html
from tileverify.reports.text import text_report
from tileverify.results import Finding, KernelResult, Report, Verdict

_EXAMPLE: Final = '[[launch]]\nkernel = "k"\ngrid = ["1"]'
FINDING: Final = Finding("TV001", f"'k' has no launch; describe one, for example:\n{_EXAMPLE}")
RESULT: Final = KernelResult("k.py", "k", "", Verdict.ERROR, findings=(FINDING, replace(FINDING, code="TV002")))
WARNED: Final = replace(RESULT, kernel="other", verdict=Verdict.PROVED, findings=(replace(FINDING, code="TV403"),))
REPORT: Final = Report((RESULT, WARNED), "0", "none", findings=(FINDING,))


def test_a_message_has_a_sentence_and_an_example() -> None:
    assert FINDING.sentence == "'k' has no launch; describe one"
    assert FINDING.example == tuple(_EXAMPLE.split("\n"))
    assert (Finding("TV101", "one line").sentence, Finding("TV101", "one line").example) == ("one line", ())


@pytest.mark.parametrize("format_", [*FORMATS, "markdown", "notebook"])
def test_no_line_ends_in_an_escape(format_: str) -> None:
    match format_:
        case "text":
            shown = text_report(REPORT)
        case "markdown":
            shown = history_markdown(compare((), REPORT.results), REPORT.results)
        case "notebook":
            shown = notebook_html(REPORT) or ""
        case "html":
            page = renderer(format_)(REPORT)
            shown = "".join([page, *fragments(page)])
        case _:
            shown = renderer(format_)(REPORT)
    assert "TV001" in shown
    assert "has no launch; describe one" in shown
    assert r"\x0a" not in shown
    assert "x0akernel" not in shown
    if format_ not in ("concise", "github"):  # which have one line for each
        assert "kernel =" in shown
