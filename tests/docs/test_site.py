"""The reference of codes is whole and in step with the registry; no page of the site would ask another host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.codes_page import PAGE, codes_page
from tools.site_hooks import foreign

from tileverify.results import WARNINGS
from tileverify.results.codes import CODES, Family

DOCS = Path(__file__).parents[2] / "docs"


def test_codes_page_is_what_the_registry_says(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(codes_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == codes_page(), "run: python -m tools.codes_page"


def test_every_code_is_documented_and_every_refutable_one_has_examples() -> None:
    page = PAGE.read_text(encoding="utf-8")
    entries = {part[:5]: part for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]}
    assert list(entries) == list(CODES)
    for code, entry in entries.items():
        assert CODES[code].meaning in entry
        assert CODES[code].fix in entry
        if CODES[code].family in {Family.BETWEEN_BLOCKS, Family.INSIDE_BLOCK, Family.BOUNDS, Family.PROMISE}:
            assert (f"Proved, with {code}: " if code in WARNINGS else "Refuted: ") in entry
            assert "Proved: " in entry


def test_pages_speak_of_codes_that_exist() -> None:
    told = {
        code for page in DOCS.rglob("*.md") for code in re.findall(r"\bTV\d{3}\b", page.read_text(encoding="utf-8"))
    }
    assert told <= set(CODES)


def test_every_page_is_in_the_navigation() -> None:
    nav = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    assert sorted(re.findall(r"([\w-]+\.md)", nav)) == sorted(page.name for page in DOCS.glob("*.md"))


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/a.js"></script>',
        "<script async src=//cdn.example/a.js></script>",
        '<link href="https://fonts.example/css" rel="stylesheet">',
        '<link rel="preconnect" href="https://fonts.example">',
        '<img alt="a" src="http://example/a.png">',
        "@import 'https://example/a.css';",
        "src: url(https://example/a.woff2)",
    ],
)
def test_what_is_loaded_from_elsewhere_is_seen(text: str) -> None:
    assert foreign(f"<p>before</p>{text}<p>behind</p>")


def test_links_and_files_of_the_site_are_let_pass() -> None:
    assert not foreign(
        '<a href="https://example/page">a</a><script src="assets/a.js"></script><img src="a.svg">'
        '<link rel="stylesheet" href="assets/a.css"><link rel="canonical" href="https://example/">'
    )
