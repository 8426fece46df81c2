"""The HTML report as text: what stands in it, and that nothing from outside can."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import pytest
from tests.command_line import command_line

from tileverify.corpus import ROOT
from tileverify.reports.html.overview import overview
from tileverify.reports.html.report import html_report
from tileverify.results import (
    Applicability,
    ComparedCode,
    Edit,
    Finding,
    Hint,
    KernelResult,
    PlaybackFile,
    Report,
    SourceSite,
    Suppression,
    SuppressionKind,
    Verdict,
    Witness,
)
from tileverify.results.codes import Tier
from tileverify.results.details import (
    AccessDetail,
    Drawing,
    IrLine,
    KernelDetails,
    ObligationDetail,
    SideDrawing,
    State,
    Step,
    Track,
)
from tileverify.results.json_report import json_report

from .checked import blocks, page, report

HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{1234*5678}}\x1b[31m\u202e"


class Tags(HTMLParser):
    """Every tag with its attributes, and that all are closed."""

    VOID = frozenset(("meta", "link", "input", "br", "img"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser


def fragments(text: str) -> list[str]:
    """The pages of all launches."""
    shards = (block for name, block in blocks(text).items() if name.startswith("shard"))
    return [kernel["html"] for shard in shards for kernel in shard["kernels"].values()]


# --------------------------------------------------------------------------------------------- the page
def test_every_tag_is_closed_and_ids_are_unique() -> None:
    ids = [attributes["id"] for _, attributes in tags(page()).seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    for fragment in fragments(page()):
        own = [attributes["id"] for _, attributes in tags(fragment).seen if "id" in attributes]
        assert len(own) == len(set(own))
        assert not set(own) & set(ids)


def test_nothing_is_loaded_from_anywhere() -> None:
    for text in (page(), *fragments(page())):
        for tag, attributes in tags(text).seen:
            assert tag not in ("iframe", "object", "embed", "img", "base")
            assert not {"src", "srcset", "style", "onclick", "onload", "onerror", "action"} & attributes.keys()
            if (target := attributes.get("href")) is not None:
                assert target.startswith(("#", "data:image/svg+xml,"))


def test_the_policy_allows_exactly_the_scripts_and_the_style_of_the_page() -> None:
    (policy,) = [
        attributes["content"] or ""
        for _, attributes in tags(page()).seen
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", page(), re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page(), re.DOTALL)
    assert (len(scripts), len(styles)) == (3, 1)
    for texts, rule in ((scripts, rules["script-src"]), (styles, rules["style-src"])):
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert rule == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert rules["default-src"] == "'none'"


def test_a_row_for_every_launch_and_the_report_for_programs() -> None:
    rows = [attributes for tag, attributes in tags(page()).seen if tag == "tr" and "data-id" in attributes]
    rows.sort(key=lambda row: int(row["data-place"] or ""))
    assert [row["data-verdict"] for row in rows] == [result.verdict.value for result in report().results]
    assert blocks(page())["report"] == json_report(report())
    states = dict(
        zip([result.kernel for result in report().results], (row["data-states"] for row in rows), strict=True)
    )
    assert "TV101:refuted" in (states["fill_windows"] or "")
    assert "TV301:proved" in (states["fill_windows"] or "")
    assert "TV101:proved" in (states["vector_add"] or "")


def test_the_page_of_a_race_has_both_sides_and_their_values() -> None:
    (text,) = [fragment for fragment in fragments(page()) if "fill_windows" in fragment]
    for words in ("two tile blocks store to the same element", "out[64]: block A stores 0, block B stores 1"):
        assert words in text
    assert "overlapping_store.py:11:5" in text
    assert "A grid of ⌈N / 64⌉ tile blocks." in text


def test_the_page_of_a_proof_has_its_obligations_and_what_is_trusted() -> None:
    (text,) = [fragment for fragment in fragments(page()) if "matmul_swizzled" in fragment]
    assert "linear integers" in text
    assert "Every launch within the contract is safe." in text
    assert "tileiras, ptxas, driver, hardware, solver" in text
    (result,) = [result for result in report().results if result.kernel == "matmul_swizzled"]
    assert result.details is not None
    assert len(result.details.obligations) == result.obligations.total


def test_the_page_of_compared_code_says_for_each_architecture_what_was_seen() -> None:
    compared = (
        ComparedCode("sm_90", "13.4.92", "compared at 2 launches", "proved for all launches", 2),
        ComparedCode("sm_100", "13.4.92", "not looked at (no <PTX>)"),
    )
    (first, *_) = report().results
    text = html_report(replace(report(), results=(replace(first, compared_code=compared),)))
    (fragment,) = fragments(text)
    assert "<dt>Compiled, sm_90</dt><dd>compared at 2 launches; footprints proved for all launches" in fragment
    assert "<dt>Compiled, sm_100</dt><dd>not looked at (no &lt;PTX&gt;)" in fragment
    assert "tileiras 13.4.92" in fragment


def test_the_same_report_gives_the_same_page() -> None:
    assert html_report(report()) == page()


# -------------------------------------------------------------------------------------------- hostile
def hostile_report(tmp_path: Path) -> Report:
    source = tmp_path / "<img src=x onerror=alert(3)>.py"
    source.write_text("def k():\n    return '</script><script>alert(4)</script>'  # <b>\n")
    site = SourceSite(str(source), 2, 4, "store", HOSTILE, HOSTILE, ((str(source), 1, 0),), HOSTILE)
    witness = Witness(
        sizes={HOSTILE: 3},
        grid=(2, 1, 1),
        block_a=(0, 0, 0),
        block_b=(1, 0, 0),
        element=HOSTILE,
        scalars={HOSTILE: 1},
        data={HOSTILE: (1, 2)},
        variables=((HOSTILE, 1, 2),),
        confirmed_by=HOSTILE,
        launch={"x": HOSTILE},
    )
    hint = Hint(HOSTILE, cast(Applicability, HOSTILE), HOSTILE)
    finding = Finding("TV101", HOSTILE, (site, site), witness, hints=(hint,))
    track = Track((0, 0, 0), (Step((((0, 2),),), 2, (0,)),))
    side = SideDrawing(HOSTILE, site, (HOSTILE,), (track, track), (0, 0))
    details = KernelDetails(
        ir=(IrLine(HOSTILE, str(source), 2), IrLine(f'  "{HOSTILE}"')),
        obligations=(ObligationDetail("TV101", State.REFUTED, (site,), HOSTILE, "", cast(Tier, HOSTILE), 1.0),),
        accesses=(AccessDetail(site, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,)),),
        drawings=(Drawing(0, HOSTILE, HOSTILE, (4,), (1,), (), (2, 1, 1), (side, side), (((0, 1),),), HOSTILE),),
    )
    result = KernelResult(
        str(source), HOSTILE, HOSTILE, Verdict.REFUTED, findings=(finding,), requires=(HOSTILE,), assumes=(HOSTILE,),
        stated=(HOSTILE,), notes=(HOSTILE,), line=1, details=details, playback=(PlaybackFile(HOSTILE, HOSTILE),),
    )  # fmt: skip
    return Report((result, replace(result, details=None, verdict=Verdict.ERROR)), HOSTILE, HOSTILE, (HOSTILE,))


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    text = html_report(hostile_report(tmp_path))
    for part in (text, *fragments(text)):
        kinds = [tag for tag, _ in tags(part).seen]
        assert "img" not in kinds
        assert "\x1b" not in part
        assert "\u202e" not in part
        assert str(1234 * 5678) not in part
    assert [tag for tag, attributes in tags(text).seen if tag == "script" and not attributes] == ["script"] * 3
    for fragment in fragments(text):
        assert "<script" not in fragment
    for block in (block for name, block in blocks(text).items() if name.startswith("shard")):
        for line in (
            *(line for lines in block["sources"].values() for line in lines),
            *(h for ir in block["ir"] for h in ir["html"]),
        ):
            assert {tag for tag, _ in tags(line).seen} <= {"i"}


# --------------------------------------------------------------------------------------------- command
def test_the_command_writes_a_page_or_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = command_line(capfd)
    kernel = str(ROOT / "racy" / "overlapping_store.py")
    ran = run("check", "--no-cache", "--format", "html", "--output", str(tmp_path / "page.html"), kernel)
    assert (ran.code, ran.out) == (1, "")
    assert "fill_windows" in (tmp_path / "page.html").read_text()
    assert run("check", "--no-cache", "--format", "html", "--output", str(tmp_path), kernel).code == 1
    assert (tmp_path / "index.html").exists()
    assert json.loads((tmp_path / "report.json").read_text())["results"][0]["kernel"] == "fill_windows"
    ran = run("check", "--no-cache", "--output", str(tmp_path), kernel)
    assert (ran.code, ran.err) == (2, f"error: --output: '{tmp_path}' is a folder\n")


def test_without_its_libraries_there_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    ran = command_line(capfd)("check", "--format", "html", str(ROOT / "showcase"))
    sentence = "error: the HTML report needs Jinja2 and Pygments; install them with: pip install 'tileverify[html]'\n"
    assert (ran.code, ran.out, ran.err) == (2, "", sentence)


def test_the_page_tells_what_changed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = command_line(capfd)
    kernel = str(ROOT / "racy" / "overlapping_store.py")
    old, new = tmp_path / "old.json", tmp_path / "new.html"
    (racy,) = (result for result in report().results if result.kernel == "fill_windows")
    before = replace(racy, verdict=Verdict.PROVED, holds_for="any", findings=())
    old.write_text(json_report(Report((before, replace(before, kernel="gone")), "1", "z3")))
    assert run("check", "--no-cache", "--format", "html", "--output", str(new), "--since", str(old), kernel).code == 1
    assert "1 worse, 1 gone, 0 unchanged" in new.read_text()
    assert "proved -&gt; refuted" in new.read_text()
    ran = run("check", "--since", str(old), kernel)
    assert (ran.code, ran.err[:14]) == (2, "error: --since")


def test_suppressed_findings_say_why() -> None:
    (racy,) = (result for result in report().results if result.kernel == "fill_windows")
    known = Suppression(SuppressionKind.COMMENT, "<b>benign</b>", "2099-01-01", racy.file, 3)
    finding = replace(racy.findings[0], suppression=known)
    edits = (Edit(11, 4, 11, 9, "ct.atomic_add"),)
    hints = [Hint("use-atomic", "safe", "use an atomic", edits), Hint("widen-scope", "maybe", "", edits, "of old")]
    finding = replace(finding, hints=tuple(hints))
    about = Finding("TV006", "a suppression is out of date", (SourceSite(racy.file, 3, 0, "", ""),))
    text = html_report(replace(report(), results=(replace(racy, findings=(finding,)),), findings=(about,)))
    (fragment,) = fragments(text)
    assert "&lt;b&gt;benign&lt;/b&gt;" in fragment
    assert '<span class="in">+11:     ct.atomic_add' in fragment
    assert fragment.count("<code>ct.atomic_add</code>") == 1  # the source has changed since
    assert "a suppression is out of date" in text


def test_an_empty_report_is_a_page() -> None:
    assert "No kernel was found" in html_report(Report((), "1", "z3"))


def test_a_row_counts_mistakes_and_not_what_follows_from_them() -> None:
    first, second = Finding("TV101", "stores meet", cause="c"), Finding("TV102", "a load meets a store", cause="c")
    for findings, message in (
        ((first, second), "stores meet"),
        ((first, replace(second, cause="d")), "stores meet (and 1 more)"),
    ):
        result = KernelResult("a.py", "k", "0", Verdict.REFUTED, findings=findings)
        assert overview(Report((result,), "1", "z3")).rows[0].message == message


def test_a_cause_has_one_card() -> None:
    """What else comes of it is folded into the card, with evidence of its own."""
    site = SourceSite("a.py", 3, 0, "store", "out")
    advice, other_advice = Hint("use-atomic", "safe", "add at once"), Hint("reduce-grid", "maybe", "fewer blocks")
    first = Finding("TV101", "stores meet", (site,), hints=(advice,), cause="c")
    second = Finding("TV102", "a load meets a store", (site,), hints=(advice, other_advice), cause="c")
    third = Finding("TV301", "out of bounds", (site,), cause="d")
    result = KernelResult("a.py", "k", "0", Verdict.REFUTED, findings=(first, second, third))
    (fragment,) = fragments(html_report(Report((result,), "1", "z3")))
    seen = tags(fragment).seen
    kinds = [(tag, (at["id"] or "")[-3:]) for tag, at in seen if (at.get("id") or "").endswith(("-f1", "-f2", "-f3"))]
    assert kinds == [("article", "-f1"), ("details", "-f2"), ("article", "-f3")]
    assert fragment.count("add at once") == 1
    assert "fewer blocks" in fragment
    assert '<h2 id="findings-title">Findings</h2>' in fragment


def test_a_page_shows_the_bytes_that_a_launch_moves() -> None:
    """One line, and tables behind it; of a kernel with a fault, too."""
    (product,) = (text for text in fragments(page()) if "matmul_swizzled" in text)
    line = re.search(r'<h2 id="bytes-title">Bytes moved</h2>\s*<p>(.*?)</p>', product)
    assert line is not None
    assert line[1].startswith("at M = 4096, K = 4096, N = 4096: moves 21.7 times the least (2.03 GiB, least 96 MiB)")
    assert "footprint --bytes has expressions in the sizes" in product
    assert all('id="bytes"' in text for text in fragments(page()))
