"""TV403 as users meet it: a warning that leaves a proof a proof, denied, suppressed, known, mended; in every format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.reports import FORMATS
from tileverify.reports.ci_formats import github_report, junit_report
from tileverify.reports.sarif import sarif_report
from tileverify.reports.text import text_report
from tileverify.results import Report, Verdict
from tileverify.results.conditional import deny_undetermined
from tileverify.results.json_report import json_report, report_from_json

KERNEL = """import cuda.tile as ct


@ct.kernel
def row_max(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256))
    ct.store(out, (i,), ct.max(row, axis=1))
"""
SPEC = """[[launch]]
kernel = "row_max"
grid = ["M"]
requires = ["1 <= N", "N <= 256"]
args = { x = "f32[M, N]", out = "f32[M]" }
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "row_max.py"
    file.write_text(KERNEL)
    file.with_suffix(".tileverify.toml").write_text(SPEC)
    return file


@pytest.fixture
def report(kernel: Path) -> Report:
    return check_paths([str(kernel)])


def test_a_maximum_over_what_is_not_there_is_not_called_deterministic(report: Report) -> None:
    (result,) = report.results
    assert result.verdict is Verdict.PROVED
    assert result.deterministic is False
    (finding,) = result.findings
    assert (finding.code, finding.level) == ("TV403", "warning")
    assert [(site.line, site.access, site.array) for site in finding.sites] == [(7, "load", "x"), (8, "store", "out")]
    assert finding.witness is not None
    assert finding.witness.confirmed_by
    assert 1 <= finding.witness.sizes["N"] < 256
    assert "`N >= 256`" in finding.message
    assert report.exit_code == 0


@pytest.mark.parametrize("size", [256, 200])
def test_a_launch_of_numbers_is_asked_for_itself(kernel: Path, size: int) -> None:
    """The proof covers other widths as well, whatever this one is."""
    spec = f'[[launch]]\nkernel = "row_max"\ngrid = [64]\nargs = {{ x = "f32[64, {size}]", out = "f32[64]" }}\n'
    kernel.with_suffix(".tileverify.toml").write_text(spec)
    (result,) = check_paths([str(kernel)]).results
    assert result.verdict is Verdict.PROVED
    assert result.deterministic is (size == 256)
    assert [finding.code for finding in result.findings] == ([] if size == 256 else ["TV403"])
    if result.holds_for == "any" and size == 256:
        assert any("in other launches" in note for note in result.notes)


def test_denied_it_fails_like_a_refutation(tileverify: CommandLine, kernel: Path) -> None:
    assert tileverify("check", str(kernel)).code == 0
    denied = tileverify("check", str(kernel), "--deny-undetermined")
    assert denied.code == 1
    assert "error[TV403]" in denied.out
    assert tileverify("check", str(kernel), "--deny-undetermined", "-q").out.count("TV403")
    kernel.with_name("pyproject.toml").write_text("[tool.tileverify]\ndeny-undetermined = true\n")
    config = ("--config", str(kernel.with_name("pyproject.toml")))
    assert tileverify("check", str(kernel), *config).code == 1


def test_suppressed_or_known_it_does_not_fail(tileverify: CommandLine, kernel: Path) -> None:
    baseline = ("--baseline", str(kernel.with_name("baseline.json")))
    assert tileverify("check", str(kernel), "--deny-undetermined", *baseline, "--update-baseline").code == 0
    assert tileverify("check", str(kernel), "--deny-undetermined", *baseline).code == 0
    kernel.write_text(KERNEL.replace("256))", "256))  # tileverify: ignore[TV403] -- rows are padded by the caller"))
    ran = tileverify("check", str(kernel), "--deny-undetermined")
    assert ran.code == 0
    assert "suppressed" in ran.out
    assert "TV601" not in ran.out


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_takes_it(tileverify: CommandLine, kernel: Path, tmp_path: Path, format_: str) -> None:
    out = tmp_path / "out"
    assert tileverify("check", str(kernel), "--format", format_, "--output", str(out), "--no-cache").code == 0
    assert "TV403" in out.read_text(encoding="utf-8")


def test_formats_say_warning_until_it_is_denied(report: Report) -> None:
    for given, level in ((report, "warning"), (deny_undetermined(report), "error")):
        (told,) = json.loads(json_report(given))["results"][0]["findings"]
        assert told["level"] == level
        assert report_from_json(json.loads(json_report(given))).exit_code == given.exit_code
        (entry,) = json.loads(sarif_report(given))["runs"][0]["results"]
        assert entry["level"] == level
        assert github_report(given).startswith(f"::{level} ")
        assert f"{level}[TV403]" in text_report(given)
        assert ("<failure" in junit_report(given)) is (level == "error")
        assert "<skipped" not in junit_report(given)
    assert "1 warning" in text_report(report)


def test_a_cached_verdict_keeps_it(kernel: Path, tmp_path: Path) -> None:
    options = CheckOptions(cache=tmp_path / "cache")
    first, second = (check_paths([str(kernel)], options=options).results[0] for _ in range(2))
    assert second.cached
    assert replace(second, cached=False, time_ms=first.time_ms).findings == first.findings
    assert second.deterministic is False


def test_a_repair_sets_the_padding_and_is_proved(kernel: Path) -> None:
    (result,) = check_paths([str(kernel)], options=CheckOptions(repair=True)).results
    (hint,) = result.findings[0].hints
    assert (hint.id, hint.applicability) == ("pad-load", "maybe")
    (edit,) = hint.edits
    assert edit.text == "ct.load(x, (i, 0), (1, 256), padding_mode=ct.PaddingMode.NEG_INF)"
    kernel.write_text(KERNEL.replace("ct.load(x, (i, 0), (1, 256))", edit.text))
    (mended,) = check_paths([str(kernel)]).results
    assert (mended.verdict, mended.deterministic, mended.findings) == (Verdict.PROVED, True, ())


def test_a_playback_shows_it(kernel: Path) -> None:
    (result,) = check_paths([str(kernel)], options=CheckOptions(playback=True)).results
    (file,) = result.playback
    assert "TV403" in file.text


CHOICES = """import cuda.tile as ct


@ct.kernel
def best_bid(prices, bidders, winner, T: ct.Constant[int], NOBODY: ct.Constant[int]):
    round_ = ct.bid(0)
    price = ct.load(prices, (round_,), (T,))
    bidder = BIDDERS

    def better(a, who, b, other):
        first = (a > b) | ((a == b) & (who < other))
        return ct.where(first, a, b), ct.where(first, who, other)

    _, who = ct.reduce((price, bidder), 0, better, (LEAST, NOBODY))
    ct.store(winner, (round_,), who)
"""


@pytest.mark.parametrize(
    ("kind", "bidders", "nobody", "deterministic"),
    [
        ("u32", "ct.load(bidders, (round_,), (T,))", 0, False),  # bids of nothing, and the winner is nobody or somebody
        ("i32", "ct.load(bidders, (round_,), (T,))", 5, False),
        ("i32", "round_ * T + ct.arange(T, dtype=ct.int32)", 0, False),
        ("i32", "round_ * T + ct.arange(T, dtype=ct.int32)", 2**31 - 1, True),
        ("i32", "ct.arange(T, dtype=ct.int32)", 0, True),
        ("i32", "ct.arange(T, dtype=ct.int32)", 16, True),
        ("i32", "ct.arange(T, dtype=ct.int32)", -1, False),
    ],
)
def test_an_identity_that_equals_a_lane_in_one_input_alone_decides(
    tmp_path: Path, kind: str, bidders: str, nobody: int, deterministic: bool
) -> None:
    file = tmp_path / "bids.py"
    least = "0" if kind == "u32" else str(-(2**31))
    file.write_text(CHOICES.replace("BIDDERS", bidders).replace("LEAST", least).replace("NOBODY)", f"{nobody})"))
    args = f'prices = "{kind}[16 * R]", bidders = "i32[16 * R]", winner = "i32[R]", T = 16, NOBODY = {nobody}'
    file.with_suffix(".tileverify.toml").write_text(
        f'[[launch]]\nkernel = "best_bid"\ngrid = ["R"]\nargs = {{ {args} }}\n'
    )
    (result,) = check_paths([str(file)]).results
    assert result.verdict is Verdict.PROVED
    assert result.deterministic is deterministic
    assert any("TV403" in note for note in result.notes) is not deterministic
