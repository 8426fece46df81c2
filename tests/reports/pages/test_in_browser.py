"""The HTML report in a browser: what a reader does with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileverify.reports.html.report import html_report
from tileverify.results import KernelResult

from .checked import page, report
from .conftest import Open
from .test_page import hostile_report

PHONE = {"viewport": {"width": 390, "height": 844}}

CONTRAST = """() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = element => {
    for (let each = element; each; each = each.parentElement) {
      const color = parse(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *:not(script):not(svg *)")) {
    const text = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!text || !element.checkVisibility() || element.closest(".hidden, .skip, option, [aria-hidden=true]")) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const name = element.tagName + "." + element.className + " " + element.textContent.trim().slice(0, 30);
    if (ratio < 4.5) poor.push(name + " " + ratio.toFixed(2));
  }
  return poor;
}"""
"""Elements with text whose contrast is below 4.5 to 1 (WCAG 2.2, AA)."""


ORDER = ["error", "refuted", "undecided", "proved"]


def worst_first() -> list[KernelResult]:
    return sorted(report().results, key=lambda result: ORDER.index(result.verdict.value))


# ------------------------------------------------------------------------------------------- overview
def test_the_overview_has_a_row_for_every_launch(open_page: Open) -> None:
    opened = open_page(page())
    assert opened.rows() == [result.kernel for result in worst_first()]
    assert opened.page.locator("#count").inner_text() == f"{len(report().results)} launches"


def test_search_and_filters_narrow_the_rows(open_page: Open) -> None:
    opened = open_page(page())
    everything = opened.rows()
    opened.page.fill("#search", "STENCIL tv102")
    assert opened.rows() == ["smooth_inplace", "smooth_into"]
    assert opened.page.locator("#count").inner_text() == f"2 of {len(everything)} launches"
    opened.page.fill("#search", "no such kernel")
    assert opened.rows() == []
    opened.page.click("#reset")
    assert opened.rows() == everything

    opened.page.click(".chip.undecided")
    assert set(opened.rows()) == {"write_first"}
    opened.page.click(".chip.proved")
    assert "vector_add" in opened.rows()
    opened.page.keyboard.press("a")
    assert opened.rows() == everything

    opened.page.select_option("#code", "TV303")
    assert opened.rows() == ["double_unchecked"]
    opened.page.select_option("#state", "proved")
    assert opened.rows() == []
    opened.page.keyboard.press("Escape")
    opened.page.keyboard.press("a")
    opened.page.click('th.c button[data-code="TV402"]')
    assert "matmul_swizzled" in opened.rows()
    assert opened.page.input_value("#code") == "TV402"


def test_the_worst_come_first_and_others_when_asked(open_page: Open) -> None:
    opened = open_page(page())
    verdicts = [str(row.get_attribute("data-verdict")) for row in opened.page.locator("#launches tbody tr").all()]
    assert verdicts == sorted(verdicts, key=ORDER.index)
    opened.page.select_option("#order", "checked")
    assert opened.rows() == [result.kernel for result in report().results]
    opened.page.select_option("#order", "")
    assert opened.rows() == [result.kernel for result in worst_first()]


def test_what_is_filtered_stands_in_the_address(open_page: Open) -> None:
    opened = open_page(page())
    opened.page.click(".chip.refuted")
    opened.page.fill("#search", "tv102 & more")
    opened.page.fill("#search", "tv102")
    opened.page.select_option("#order", "name")
    opened.page.wait_for_url("**&order=name")  # the browser tells of it when the page has long gone on
    address, rows = opened.page.url, opened.rows()
    assert 0 < len(rows) < len(report().results)
    opened.page.goto("about:blank")
    opened.page.goto(address)
    assert opened.rows() == rows
    assert opened.page.input_value("#search") == "tv102"
    opened.page.locator("tr:not([hidden]) a").first.click()
    opened.page.locator("#kernel h1").wait_for()
    opened.page.click(".way a")
    assert opened.rows() == rows
    opened.page.wait_for_url(lambda url: url == address)
    opened.page.keyboard.press("a")
    opened.page.select_option("#order", "")
    opened.page.wait_for_url(lambda url: "#" not in url)


def test_a_finding_begins_with_its_lines_and_what_its_code_means(open_page: Open) -> None:
    opened = open_page(page())
    opened.page.click("tr[data-search*=fill_windows] a")
    excerpt = opened.page.locator("article.finding pre.excerpt").first
    assert "^^^" in excerpt.inner_text()
    assert "block A and block B both store out[64]" in excerpt.inner_text()
    assert opened.page.locator("article.finding details[open]").count() == 1


# ------------------------------------------------------------------------------------------- keyboard
def test_the_keyboard_goes_everywhere(open_page: Open) -> None:
    opened = open_page(page())
    keys = opened.page.keyboard
    kernels = [result.kernel for result in worst_first()]
    for key in "jjk":
        keys.press(key)
    assert opened.page.locator("tr.chosen a").inner_text().startswith(kernels[0])
    keys.press("Enter")
    opened.page.locator("#kernel h1").wait_for()
    assert opened.page.locator("#kernel h1").inner_text().startswith(kernels[0])
    assert opened.page.title().startswith(kernels[0])
    keys.press("j")
    opened.page.locator("#kernel h1", has_text=kernels[1]).wait_for()
    keys.press("n")
    assert "finding" in opened.page.evaluate("document.activeElement.className")
    keys.press("u")
    opened.page.locator("#overview").wait_for()
    assert opened.page.locator("tr.chosen a").inner_text().startswith(kernels[1])
    keys.press("/")
    opened.page.wait_for_function("document.activeElement.id === 'search'")
    keys.type("jr?")
    assert opened.page.input_value("#search") == "jr?"
    keys.press("Escape")
    keys.press("a")
    keys.press("r")
    assert opened.page.locator('.chip.refuted[aria-pressed="true"]').count() == 1
    keys.press("?")
    assert opened.page.locator("#help").is_visible()
    keys.press("Escape")
    assert not opened.page.locator("#help").is_visible()


def test_back_and_deep_links_work(open_page: Open) -> None:
    opened = open_page(page())
    opened.open_launch("fill_windows")
    launch = opened.page.evaluate("location.hash")
    opened.page.go_back()
    opened.page.locator("#overview").wait_for()
    opened.page.evaluate("hash => { location.hash = hash + ':f1'; }", launch)
    opened.page.locator("#kernel h1").wait_for()
    opened.page.wait_for_function("document.activeElement.matches('.finding')")


# --------------------------------------------------------------------------------------------- drawing
def caption(opened: object, number: int = 0) -> str:
    text = opened.page.locator(".drawing figcaption p").nth(number).inner_text()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def test_the_drawing_of_a_race_shows_both_footprints(open_page: Open) -> None:
    opened = open_page(page())
    opened.open_launch("fill_windows")
    assert (
        caption(opened)
        == "Block (0, 0, 0) stores out[0:65]; block (1, 0, 0) stores out[64]. Both touch out[64]: 1 element."
    )
    for part in ("a", "b", "x"):
        assert opened.page.locator(f".drawing .stage svg[role=img] rect.foot.{part}").count() >= 1


def test_sliders_move_the_footprints(open_page: Open) -> None:
    opened = open_page(page())
    opened.open_launch("fill_windows")
    figure = opened.page.locator("[data-drawing]").first  # behind it, the same in a larger launch
    slider = figure.get_by_label("B block")
    assert slider.get_attribute("aria-valuetext") == "(1, 0, 0)"
    slider.focus()
    opened.page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "(0, 0, 0)"
    assert "That is one block: it does not race with itself." in caption(opened)
    assert figure.locator(".stage svg[role=img] rect.foot.x").count() == 0
    figure.get_by_role("button", name="Back to the fault").click()
    assert "Both touch out[64]" in caption(opened)


def test_the_same_fault_in_a_larger_launch(open_page: Open) -> None:
    opened = open_page(page())
    opened.open_launch("fill_windows")
    assert caption(opened).startswith("Block (0, 0, 0) stores out[0:65]; block (1, 0, 0) stores out[64].")
    larger = opened.page.locator("[data-drawing] ~ [data-example]").first
    assert "stores out[64:192]" in larger.inner_text()
    assert larger.locator(".stage svg[role=img] rect.foot.x").count() >= 1
    assert opened.page.get_by_text("The same fault in a larger launch").count() == 1


def test_a_slider_for_the_iterations_of_a_loop(open_page: Open) -> None:
    opened = open_page(page())
    opened.open_launch("row_sums")
    assert caption(opened) == (
        "Block (0, 0, 0) loads x[0, 128:256]. That is 128 elements outside: the shape is (1, 1)."
    )
    slider = opened.page.get_by_label(re.compile("loop at line"))
    assert slider.get_attribute("aria-valuetext") == "iteration 1"
    slider.focus()
    opened.page.keyboard.press("ArrowLeft")
    assert caption(opened) == "Block (0, 0, 0) loads x[0, 0]. Nothing is wrong here."


def test_a_click_on_a_block_chooses_it(open_page: Open) -> None:
    opened = open_page(page())
    opened.open_launch("permute_swapped")
    blocks = opened.page.locator(".drawing").first.locator("rect.block")
    assert blocks.count() == 64
    blocks.nth(9).click()
    assert "Block (1, 1, 0) stores" in caption(opened)
    blocks.nth(10).click(modifiers=["Shift"])
    assert "block (2, 1, 0) stores" in caption(opened)


# ---------------------------------------------------------------------------------------- source, copy
def test_a_source_line_lights_up_what_was_made_of_it(open_page: Open) -> None:
    opened = open_page(page())
    opened.open_launch("fill_windows")
    line = opened.page.locator(".pane .lines > .refuted")
    assert line.count() == 1
    assert "windows.store" in line.inner_text()
    assert "refuted: TV101; proved: TV202, TV301" in line.inner_text()
    line.click()
    lit = opened.page.locator(".pane").last.locator(".lit").all_inner_texts()
    assert any("store_view_tko" in text for text in lit)
    opened.page.locator(".sites button[data-line]").first.click()
    assert opened.page.locator(".lit").count() > 1


def test_the_playback_test_is_copied(open_page: Open) -> None:
    opened = open_page(page(), permissions=["clipboard-read", "clipboard-write"])
    opened.open_launch("fill_windows")
    opened.page.locator(".playback summary").click()
    opened.page.locator(".copy").click()
    opened.page.locator("#told", has_text="Copied").wait_for()
    (result,) = [result for result in report().results if result.kernel == "fill_windows"]
    assert opened.page.evaluate("navigator.clipboard.readText()") == result.playback[0].text
    assert opened.page.locator(".playback pre").inner_text() == result.playback[0].text


def test_the_json_report_is_saved(open_page: Open, tmp_path: Path) -> None:
    opened = open_page(page())
    with opened.page.expect_download() as saved:
        opened.page.click("#save")
    saved.value.save_as(tmp_path / "report.json")
    assert '"schema": "tileverify/report/1"' in (tmp_path / "report.json").read_text()


# --------------------------------------------------------------------------------- every page, every look
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_every_page(open_page: Open, scheme: str) -> None:
    opened = open_page(page(), color_scheme=scheme)
    assert opened.page.evaluate(CONTRAST) == []
    for name in ("fill_windows", "vector_add", "write_first"):
        opened.open_launch(name)
        assert opened.page.evaluate(CONTRAST) == []
        opened.page.go_back()


def test_every_launch_opens_on_a_phone_without_scrolling_sideways(open_page: Open) -> None:
    opened = open_page(page(), **PHONE)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    for row in opened.page.locator("#launches tbody tr").all():
        opened.page.evaluate("id => { location.hash = id; }", row.get_attribute("data-id"))
        title = opened.page.locator("#kernel h1")
        title.wait_for()
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        opened.page.go_back()


def test_the_choice_of_colours_stays(open_page: Open) -> None:
    opened = open_page(page(), color_scheme="light")
    before = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.page.keyboard.press("t")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"
    opened.page.reload()
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_print_shows_all_and_no_tools(open_page: Open) -> None:
    opened = open_page(page(), color_scheme="dark")
    opened.open_launch("fill_windows")
    opened.page.emulate_media(media="print")
    assert not opened.page.locator(".top").is_visible()
    assert not opened.page.locator(".knobs").first.is_visible()
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("article.finding details:not(.playback):not([open])").count() == 0
    assert opened.page.locator("#proof").is_visible()
    for waste in (".playback", ".pane.ir", "#save", ".drawing label", ".onscreen"):
        assert opened.page.locator(waste).count() >= 1
        assert not opened.page.locator(waste).first.is_visible()
    assert opened.page.evaluate("getComputedStyle(document.querySelector('.finding')).breakInside") == "auto"


def test_landmarks_and_names_for_screen_readers(open_page: Open) -> None:
    opened = open_page(page())
    for role in ("banner", "main", "contentinfo", "search"):
        assert opened.page.get_by_role(role).count() == 1
    opened.open_launch("fill_windows")
    unnamed = """() => [...document.querySelectorAll("button, a, input, select, [role=img], [role=region]")]
        .filter(each => each.checkVisibility() && !(each.ariaLabel || each.textContent.trim() || each.title ||
            (each.labels && each.labels.length))).map(each => each.outerHTML)"""
    assert opened.page.evaluate(unnamed) == []
    assert opened.page.locator("h1:visible").count() == 1
    opened.page.keyboard.press("u")
    assert opened.page.locator("h1:visible").count() == 1


def test_a_hostile_report_does_nothing(open_page: Open, tmp_path: Path) -> None:
    opened = open_page(html_report(hostile_report(tmp_path)))
    for row in opened.page.locator("#launches tbody tr").all():
        opened.page.evaluate("id => { location.hash = id; }", row.get_attribute("data-id"))
        opened.page.locator("#kernel h1").wait_for()
        assert opened.page.locator("img, #kernel script").count() == 0
        assert "</script><script>alert(1)</script>" in opened.page.locator("#kernel h1").inner_text()
        opened.page.go_back()
