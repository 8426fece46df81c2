"""Mangled symbols are called by their function's name where people read, and by themselves where programs do."""

from __future__ import annotations

import pytest

from tileverify.reports.html.report import html_report
from tileverify.reports.text import Detail, text_report
from tileverify.results import KernelResult, Report, Verdict
from tileverify.results.conditional import short_names
from tileverify.results.json_report import json_report

ROWS = "scale_rows_Kt1_f32_2_b16"
OTHER = "scale_rows_Kt1_f16_2_b16"
NESTED = "_ZN5outer5inner4stepEPfi"


def report(*kernels: tuple[str, str]) -> Report:
    results = (KernelResult(file, kernel, "0", Verdict.PROVED, holds_for="any") for file, kernel in kernels)
    return Report(tuple(results), "1", "z3 1")


@pytest.mark.parametrize(
    ("kernels", "names"),
    [
        ([("a", ROWS)], {("a", ROWS): "scale_rows"}),
        ([("a", ROWS), ("b", OTHER)], {("a", ROWS): "scale_rows", ("b", OTHER): "scale_rows"}),
        ([("a", ROWS), ("a", OTHER)], {}),
        ([("a", ROWS), ("a", "scale_rows")], {}),
        ([("a", ROWS), ("a", ROWS)], {("a", ROWS): "scale_rows"}),
        ([("a", NESTED), ("a", "plain")], {("a", NESTED): "step"}),
    ],
)
def test_a_short_name_tells_a_kernel_from_others_of_its_file(
    kernels: list[tuple[str, str]], names: dict[tuple[str, str], str]
) -> None:
    assert dict(short_names(report(*kernels).results)) == names


def test_the_text_has_short_names() -> None:
    found = report(("a.tileirbc", ROWS))
    assert "proved     a.tileirbc::scale_rows [0]" in text_report(found)
    assert ROWS not in text_report(found)
    assert f"kernel     {ROWS}" in text_report(found, detail=Detail.VERBOSE)
    assert f"a.tileirbc::{ROWS} [0]" in text_report(report(("a.tileirbc", ROWS), ("a.tileirbc", OTHER)))


def test_json_has_symbols() -> None:
    text = json_report(report(("a.tileirbc", ROWS)))
    assert f'"kernel": "{ROWS}"' in text


def test_the_page_has_the_symbol_as_a_title() -> None:
    pytest.importorskip("jinja2", reason="makes a page")
    pytest.importorskip("pygments", reason="makes a page")
    page = html_report(report(("a.tileirbc", ROWS)))
    assert f'title="{ROWS}">scale_rows' in page
