"""The reference of codes is whole and in step with the registry; no page of the site would ask another host."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest
from tests.corpus.judged import results_of
from tools.codes_page import FOLDER, INDEX, judged_now, page_of, pages
from tools.race_picture import pictures
from tools.site_hooks import for_site, foreign

from tileverify.corpus.examples import Example
from tileverify.results import WARNINGS, KernelResult
from tileverify.results.codes import CODES, Code, Family

DOCS = Path(__file__).parents[2] / "docs"


def test_pages_of_codes_are_what_the_registry_and_the_tool_say(request: pytest.FixtureRequest) -> None:
    found = pages(_judged)
    if request.config.getoption("--update-golden"):
        for path, page in found.items():
            path.write_text(page, encoding="utf-8")
    there = {path: path.read_text(encoding="utf-8") for path in (INDEX, *sorted(FOLDER.glob("*.md")))}
    assert there == found, "run: python -m tools.codes_page"


def _judged(example: Example) -> KernelResult:
    """What a test run judges once; examples with a finding again, with the repairs that the command line tries."""
    if example.judged != "proved":
        return judged_now(example)
    file, kernel, launch = example.target.split("::")
    return results_of(Path(file))[kernel, launch]


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.code)
def test_every_code_has_a_page_and_every_refutable_one_shows_what_the_tool_says(code: Code) -> None:
    page = page_of(code.code).read_text(encoding="utf-8")
    for part in (code.name, code.fault, code.meaning, code.formula, code.fix):
        assert part in page
    if code.family in {Family.BETWEEN_BLOCKS, Family.INSIDE_BLOCK, Family.BOUNDS, Family.PROMISE}:
        warned = code.code in WARNINGS
        assert (f"Proved, with {code.code}: " if warned else "Refuted: ") in page
        assert f"\n  {'warning' if warned else 'error'}[{code.code}]: " in page
        assert "Proved: " in page
        assert page.index(f"[{code.code}]: ") < page.index("## What to do") < page.rindex("\nproved     corpus/")


def test_pictures_of_the_first_page_are_what_the_tool_found(request: pytest.FixtureRequest) -> None:
    found = pictures()
    if request.config.getoption("--update-golden"):
        for path, picture in found.items():
            path.write_text(picture, encoding="utf-8")
    assert {path: path.read_text(encoding="utf-8") for path in found} == found, "run: python -m tools.race_picture"
    first = (DOCS / "index.md").read_text(encoding="utf-8")
    for path, picture in found.items():
        assert f"](images/{path.name})" in first
        assert foreign(picture) == []
        assert parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_pages_speak_of_codes_that_exist() -> None:
    told = {
        code for page in DOCS.rglob("*.md") for code in re.findall(r"\bTV\d{3}\b", page.read_text(encoding="utf-8"))
    }
    assert told <= set(CODES)


def test_every_page_is_in_the_navigation() -> None:
    nav = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    assert sorted(re.findall(r"([\w/-]+\.md)", nav)) == sorted(
        page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")
    )


@pytest.mark.parametrize(
    ("page", "link", "on_site"),
    [
        ("trust.md", "[a](soundness.md#2-theorem)", "[a](soundness.md#2-theorem)"),
        ("trust.md", "[a](../benchmarks/results/gate.md)", "[a](benchmarks/results/gate.md)"),
        ("internals/op.md", "[a](../checker.md)", "[a](../checker.md)"),
        ("internals/testing.md", "[a](../../benchmarks/results/tests.md)", "[a](../benchmarks/results/tests.md)"),
        ("benchmarks/results/gate.md", "[a](../../docs/findings.md)", "[a](../../findings.md)"),
        ("benchmarks/results/gate.md", "[a](generated.md)", "[a](generated.md)"),
        ("trust.md", "[`simplify.py`](../src/tileverify/verifier/obligations/simplify.py)", "`simplify.py`"),
        ("faq.md", "[a](../CONTRIBUTING.md#the-one-rule)", "a"),
        ("faq.md", "[a](https://example/page) [b](#here) ![c](images/race.svg)", None),
        ("faq.md", "[a](../no/such/page.md)", None),
    ],
)
def test_links_of_the_repository_are_links_of_the_site(page: str, link: str, on_site: str | None) -> None:
    assert for_site(link, page) == (link if on_site is None else on_site)


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
