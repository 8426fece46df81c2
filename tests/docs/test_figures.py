"""Every figure stands in ``benchmarks/figures.toml`` alone; pages show what stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import pytest
from tools import figures as tool
from tools.figures import ALL, README, RESULTS, Figures, figures, markdown, written

MOST_PAGES: Final = 15


@pytest.fixture(scope="module")
def data() -> Figures:
    return figures()


def test_every_page_shows_the_figures_of_the_data_file(data: Figures, request: pytest.FixtureRequest) -> None:
    expected = written(data)
    if request.config.getoption("--update-golden"):
        for page, text in expected.items():
            page.write_text(text, encoding="utf-8")
    assert {page: page.read_text(encoding="utf-8") for page in expected} == expected, "run: python -m tools.figures"


def test_results_have_one_page_a_topic(data: Figures) -> None:
    pages = {page.name for page in RESULTS.glob("*.md")}
    assert pages == {f"{page}.md" for page in data.pages}
    assert len(pages) <= MOST_PAGES


def test_every_topic_has_a_figure_a_date_and_a_command(data: Figures) -> None:
    for page in data.pages:
        text = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
        assert data.of(page)
        assert re.search(r"\b2026-\d\d-\d\d\b", text)
        assert re.search(r"^    .*(python|tileverify|make) ", text, re.MULTILINE)
        assert "<!-- figures -->\n" in text


def test_every_figure_and_table_is_shown_once(data: Figures) -> None:
    assert {each.page for each in data.figure} == data.pages.keys()
    places = [
        name
        for page in data.pages
        for name in re.findall(r"<!-- table: ([\w-]+) -->", (RESULTS / f"{page}.md").read_text(encoding="utf-8"))
    ]
    assert sorted(places) == sorted(each.name for each in data.table)
    assert all(len(row) == len(each.columns) for each in data.table for row in each.rows)
    what = [each.what for each in data.figure]
    assert len(set(what)) == len(what)


def test_tables_can_be_read_in_an_editor(data: Figures) -> None:
    for page in written(data).values():
        assert not [line for line in page.splitlines() if line.startswith("|") and len(line) >= 160]


def test_the_readme_shows_nothing_that_the_page_of_all_figures_lacks(data: Figures) -> None:
    everywhere = ALL.read_text(encoding="utf-8")
    shown = [each for each in data.figure if each.readme]
    assert shown
    for each in shown:
        assert f"| {each.value} |" in everywhere
        assert f"| {each.value} |" in README.read_text(encoding="utf-8")


def test_a_page_that_differs_is_found_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- figures -->\n| old |\n<!-- end -->\n\nAfter.\n", encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "written", lambda _: {page: tool._filled(page, {"figures": "| new |\n"})})
    monkeypatch.setattr(sys, "argv", ["figures", "--check"])
    assert tool.main() == 1
    assert "page.md differs" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["figures"])
    assert tool.main() == 0
    assert page.read_text(encoding="utf-8") == "Before.\n\n<!-- figures -->\n| new |\n<!-- end -->\n\nAfter.\n"
    monkeypatch.setattr(sys, "argv", ["figures", "--check"])
    assert tool.main() == 0


def test_a_table_that_the_data_file_lacks_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- table: lost -->\n<!-- end -->\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="has no table: lost"):
        tool._filled(page, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[pages]\n[[figure]]\npage =", "Invalid value"),
        (
            'table = []\n[pages]\n[[figure]]\npage = "a"\nraedme = true\n',
            r"unknown field `raedme` - at `\$.figure\[0\]`",
        ),
        ('table = []\n[pages]\n[[figure]]\npage = "a"\nwhat = "b"\nvalue = 3\n', r"Expected `str`, got `int`"),
    ],
)
def test_a_mistake_in_the_data_file_is_a_sentence(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "figures.toml"
    data.write_text(text, encoding="utf-8")
    monkeypatch.setattr(tool, "DATA", data)
    with pytest.raises(SystemExit, match=f"benchmarks/figures.toml: .*{message}"):
        figures()


def test_numbers_stand_to_the_right() -> None:
    assert markdown(["a", "b", "c"], [["1", "2.5 ms", "x"], ["3", "", "4"]]) == (
        "| a | b | c |\n|---|---:|---|\n| 1 | 2.5 ms | x |\n| 3 | | 4 |\n"
    )
