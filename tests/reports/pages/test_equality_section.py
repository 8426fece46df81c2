"""Pages of kernels beside a reference: the answer, and the difference drawn on its array."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import command_line

from tileverify.equality.answer_text import section_of
from tileverify.equality.targets import judge
from tileverify.reports.html.report import difference_json, html_report
from tileverify.results import KernelResult, Report, Verdict
from tileverify.results.details import DrawnDifference, EqualitySection, UnequalValues

from .checked import blocks
from .conftest import Open
from .test_in_browser import CONTRAST
from .test_page import HOSTILE, fragments, tags

KERNELS = '''
import cuda.tile as ct
import tileverify


@tileverify.launch(args={"x": "f32[4, 8, N]", "out": "f32[4, 8, N]"}, grid=["4"])
@ct.kernel
def twice(x, out):
    """Every second plane is wrong."""
    i = ct.bid(0)
    for k in range(ct.cdiv(x.shape[2], 16)):
        ct.store(out, (i, 0, k), ct.load(x, (i, 0, k), (1, 8, 16)) * (2 + i % 2))


@tileverify.launch(args={"x": "f32[4, 8, N]", "out": "f32[4, 8, N]"}, grid=["4"])
@ct.kernel
def doubled(x, out):
    i = ct.bid(0)
    for k in range(ct.cdiv(x.shape[2], 16)):
        held = ct.load(x, (i, 0, k), (1, 8, 16))
        ct.store(out, (i, 0, k), held + held)
'''
REFERENCE = "def twice(x):\n    return {'out': 2 * x}\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    kernels, reference = tmp_path / "kernels.py", tmp_path / "reference.py"
    kernels.write_text(KERNELS)
    reference.write_text(REFERENCE)
    return kernels, reference


def judged_page(files: tuple[Path, Path]) -> str:
    kernels, reference = files
    found = [each for name in ("doubled", "twice") for each in judge(f"{kernels}::{name}", f"{reference}::twice")]
    report = Report(tuple(each.verdict for each in found), "1", "z3")
    return html_report(report, None, [section_of(each) for each in found])


def result(name: str, verdict: Verdict = Verdict.PROVED) -> KernelResult:
    return KernelResult("kernels.py", name, "0", verdict)


def drawn(*elements: UnequalValues, shape: tuple[int, ...] = (4, 5)) -> DrawnDifference:
    return DrawnDifference("out", "f32", shape, elements[0], elements, len(elements))


def test_neighbours_are_drawn_as_one_box() -> None:
    places = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 0)]
    found = difference_json(drawn(*(UnequalValues(place, 1.0, 2.0) for place in places)))
    assert found["boxes"] == [[0, 1, 1, 3], [1, 2, 3, 4], [2, 3, 3, 5], [3, 4, 0, 1]]
    assert found["chosen"] == [0, 1]
    assert found["elements"][0] == [[0, 1], "1.0", "2.0"]


def test_an_array_without_axes_has_one_element_and_any_number_is_shown() -> None:
    found = difference_json(drawn(UnequalValues((), math.nan, 0.1 + 0.2), shape=()))
    assert (found["shape"], found["boxes"], found["elements"]) == ([1], [[0, 1]], [[[0], "nan", "0.3"]])


def test_the_headline_says_what_is_worst() -> None:
    equal = EqualitySection("equal", "equal over the real numbers", "r.py::f")
    different = EqualitySection("different", "different: out[0] is 1", "r.py::f")
    undecided = EqualitySection("not decided", "not decided: no rule", "r.py::f")

    def headline(*sections: EqualitySection, verdict: Verdict = Verdict.PROVED) -> str:
        report = Report(tuple(result(f"k{n}", verdict) for n in range(len(sections))), "1", "z3")
        return html_report(report, None, sections).partition('<h1 id="overview-title">')[2].partition("</h1>")[0]

    assert headline(equal) == "Everything is proved, and equal to its reference"
    assert headline(equal, undecided) == "Not everything is decided: 1 of 2 is not decided"
    assert headline(equal, undecided, different, different) == "Not the same function: 2 of 4 are different"
    assert headline(different, verdict=Verdict.UNDECIDED) == "Not everything is proved: 1 of 1 is undecided"


def test_what_differs_comes_first_and_each_kernel_has_its_own_answer(files: tuple[Path, Path]) -> None:
    text = judged_page(files)
    overview = text.partition('<table id="launches">')[2]
    assert overview.index("twice") < overview.index("doubled")
    pages = {}
    for block in (block for name, block in blocks(text).items() if name.startswith("shard")):
        for kernel in block["kernels"].values():
            title = re.findall(r"<h1[^>]*>(\w+)", kernel["html"])[0]
            pages[title] = kernel["difference"], re.findall(r"</span> (equal|different)</span>", kernel["html"])
    assert pages["doubled"] == (None, ["equal"])
    shown, answers = pages["twice"]
    assert answers == ["different"]
    assert (shown["shape"], shown["count"]) == ([4, 8, 1], 16)
    assert {index[0] for index, _, _ in shown["elements"]} == {1, 3}


def test_pages_without_an_answer_have_no_section() -> None:
    text = html_report(Report((result("k"),), "1", "z3"))
    assert all('id="equality"' not in fragment for fragment in fragments(text))


def test_hostile_names_of_references_stay_text() -> None:
    hostile = replace(
        drawn(UnequalValues((0, 0), 1.0, 2.0)),
        array=HOSTILE,
        launch=((HOSTILE, HOSTILE),),
        inputs=((HOSTILE, HOSTILE),),
    )
    section = EqualitySection(
        "different", HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,), (HOSTILE,), command=HOSTILE, difference=hostile
    )
    text = html_report(Report((result("k"),), "1", "z3"), None, [section])
    for part in (text, *fragments(text)):
        assert "img" not in [tag for tag, _ in tags(part).seen]
        assert "\x1b" not in part
        assert "\u202e" not in part


def test_the_command_writes_a_page_beside_its_text(
    files: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run, (kernels, reference) = command_line(capfd), files
    page, called = tmp_path / "page.html", ("equal", f"{kernels}::twice", "--reference", f"{reference}::twice")
    said = run(*called, "--output", f"html={page}")
    assert (said.code, said.out.count("different: out[1, 0, 0]")) == (1, 1)
    assert "Not the same function: 1 of 1 is different" in page.read_text()
    assert any(f"tileverify equal {kernels}::twice::0 --reference {reference}::twice" in each
               for each in fragments(page.read_text()))  # fmt: skip
    said = run(*called, "--format", "html", "--output", str(tmp_path / "again.html"))
    assert (said.code, said.out) == (1, "")
    assert "Not the same function" in (tmp_path / "again.html").read_text()
    said = run(*called, "--output", f"sarif={tmp_path / 'out.sarif'}")
    assert said.code == 2
    assert "equal writes text, json, html" in said.err


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reader_sees_the_elements_that_differ(files: tuple[Path, Path], open_page: Open, scheme: str) -> None:
    opened = open_page(judged_page(files), color_scheme=scheme)
    opened.open_launch("twice")
    section = opened.page.locator("#equality")
    drawing = section.locator(".drawing")
    assert "16 of 32 elements of out differ." in drawing.inner_text()
    assert section.locator("tbody tr").count() == 12
    assert section.locator("tbody tr").first.locator("td").all_inner_texts() == ["3.0", "2.0"]
    assert drawing.locator(".stage .foot.x").count() == 8  # of the plane that the first one lies in
    slider = opened.page.get_by_label("axis 0")
    assert slider.get_attribute("aria-valuetext") == "1"
    slider.focus()
    opened.page.keyboard.press("ArrowRight")
    assert drawing.locator(".stage .foot.x").count() == 0
    opened.page.keyboard.press("ArrowRight")
    assert drawing.locator(".stage .foot.x").count() == 8
    drawing.locator(".stage .foot.x").nth(2).hover()
    assert "out[3, 2, 0] kernel 3.0, reference 2.0" in drawing.inner_text()
    assert opened.page.evaluate(CONTRAST) == []
