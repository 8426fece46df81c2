"""No output calls a conditional proof proved without its condition, or is silent about the limits of a proof."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tileverify.commands.watching import screen
from tileverify.gating.gated import GatedKernel, GateResult, prompt_text
from tileverify.launching.checking import Checked
from tileverify.record.pytest_plugin.judged import LaunchCounts, judged
from tileverify.reports import FORMATS, TEXT, renderer
from tileverify.reports.history import compare, history_markdown, history_text
from tileverify.reports.html.notebook import notebook_html
from tileverify.reports.text import Detail, text_report
from tileverify.results import KernelResult, Report, Verdict
from tileverify.results.conditional import conjunction, proved_if
from tileverify.serving.lsp import shown

from .pages.checked import blocks

SILENT = KernelResult("k.py", "k", "0", Verdict.PROVED, holds_for="any", line=3, contract="inferred")
LIMITED = replace(SILENT, limits=("M * N < 2**31",))
CONDITIONAL = replace(LIMITED, conditional=True, requires=("P % 4 == 0", "A == 1 or B == 1"))


def report_of(result: KernelResult) -> Report:
    return Report((result,), "0", "z3")


def in_format(name: str) -> Callable[[KernelResult], str]:
    def rendered(result: KernelResult) -> str:
        report = report_of(result)
        return text_report(report) if name == TEXT else renderer(name)(report)

    return rendered


def of_page(result: KernelResult) -> str:
    """The fragment of the launch alone, which lies packed in the page."""
    shards = [block for name, block in blocks(renderer("html")(report_of(result))).items() if name.startswith("shard")]
    return "".join(kernel["html"] for shard in shards for kernel in shard["kernels"].values())


def prompted(result: KernelResult) -> str:
    return prompt_text(GateResult((GatedKernel(result, accepted=True, reasons=()),), source=b""))


def watched(result: KernelResult) -> str:
    return screen(report_of(result), heading="", trouble="", color=False, height=None)


def diagnosed(result: KernelResult) -> str:
    (found,) = shown.diagnostics(report_of(result), Path("k.py"), Path()).values()
    return "\n".join(each.message for each in found)


def differing(result: KernelResult) -> str:
    return history_text(compare([SILENT], [result]))


def commented(result: KernelResult) -> str:
    return history_markdown(compare([SILENT], [result]), [result])


OUTPUTS: dict[str, Callable[[KernelResult], str]] = {
    **{name: in_format(name) for name in FORMATS},
    "verbose": lambda result: text_report(report_of(result), detail=Detail.VERBOSE),
    "page of a launch": of_page,
    "notebook": lambda result: notebook_html(report_of(result)) or "",
    "repr": lambda result: repr(Checked.of(report_of(result))),
    "watch": watched,
    "gate prompt": prompted,
    "diagnostics": diagnosed,
    "hover": shown.told,
    "report diff": differing,
    "comment on a pull request": commented,
}
"""Every output that tells of single launches; formats are taken from where they are declared."""

OF_CONDITIONS: dict[str, Callable[[KernelResult], str]] = {
    **OUTPUTS,
    "quiet": lambda result: text_report(report_of(result), detail=Detail.QUIET),
    "inlay hint": shown.label,
    "pytest plugin": lambda result: judged(result, new=True, seconds=0.0).sentence,
}
"""Those that have room for a condition alone, too: a limit leaves every usual launch."""


def spelled(text: str) -> str:
    """Text without what a format does to its characters."""
    plain = html.unescape(re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), text))
    return plain.replace("%25", "%").replace("\\u003c", "<")


@pytest.mark.parametrize("name", OF_CONDITIONS)
def test_a_conditional_proof_shows_its_condition(name: str) -> None:
    said, plain = (spelled(OF_CONDITIONS[name](each)) for each in (CONDITIONAL, SILENT))
    for clause in CONDITIONAL.requires:
        assert clause in said
        assert clause not in plain
    words = ('"conditional": true', "requires ") if name in ("json", "report diff", "comment on a pull request") else ()
    assert any(word in said for word in words or ("proved if",))
    assert "proved if" not in plain


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_limit_is_shown(name: str) -> None:
    (limit,) = LIMITED.limits
    for result in (LIMITED, CONDITIONAL):
        assert limit in spelled(OUTPUTS[name](result))
    assert limit not in spelled(OUTPUTS[name](SILENT))


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("json", "sarif", "junit", "html")])
def test_the_sum_counts_conditional_proofs(name: str) -> None:
    assert "1 kernel: 1 proved, 1 of them under conditions, 0 refuted" in in_format(name)(CONDITIONAL)
    assert "condition" not in in_format(name)(LIMITED)


def test_the_page_s_headline_and_index_say_it() -> None:
    report = Report((CONDITIONAL, replace(SILENT, launch="1")), "0", "z3")
    text = spelled(renderer("html")(report))
    assert '<h1 id="overview-title">Everything is proved, 1 of 2 under conditions</h1>' in text
    assert '<span class="conditional"><b>1</b> under conditions</span>' in text
    assert text.count('class="badge proved conditional"') == 1
    assert '<span class="message">proved if P % 4 == 0 and (A == 1 or B == 1)</span>' in text


def test_the_page_of_a_launch_speaks_of_the_condition_in_its_sentence() -> None:
    assert "Every launch within the contract is safe, if P % 4 == 0 and (A == 1 or B == 1)." in spelled(
        of_page(CONDITIONAL)
    )
    assert "Every launch within the contract is safe." in of_page(LIMITED)
    assert "What tileverify inferred" in of_page(replace(CONDITIONAL, stated=("any grid",)))


def test_quiet_stays_quiet_about_limits() -> None:
    assert text_report(report_of(LIMITED), detail=Detail.QUIET) == ""


def test_sarif_notes_a_condition_as_a_result_and_a_limit_as_a_notification() -> None:
    (run,) = json.loads(renderer("sarif")(report_of(CONDITIONAL)))["runs"]
    (note,) = run["results"]
    assert (note["ruleId"], note["level"]) == ("proved-if", "note")
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["level"] == "note"
    (run,) = json.loads(renderer("sarif")(report_of(LIMITED)))["runs"]
    assert run["results"] == []


def test_many_conditional_proofs_do_not_drown_on_github() -> None:
    """More than it annotates are told as lines; conditions come before limits."""
    results = [replace(LIMITED, launch="limited"), *(replace(CONDITIONAL, launch=f"{n}") for n in range(12))]
    lines = renderer("github")(Report(tuple(results), "0", "z3")).splitlines()
    notices = [line for line in lines if line.startswith("::notice ")]
    rest = [line for line in lines if line.startswith("- notice ")]
    assert len(notices) == 10
    assert all("proved if" in line for line in notices)
    assert len(rest) == 3
    assert "limit" in rest[-1]
    assert "proved if" not in rest[-1]


def test_the_editor_weighs_a_condition_more_than_a_limit() -> None:
    for result, severity in ((CONDITIONAL, 3), (LIMITED, 4)):
        (found,) = shown.diagnostics(report_of(result), Path("k.py"), Path()).values()
        assert [each.severity for each in found] == [severity]


def test_the_pytest_plugin_counts_conditional_proofs() -> None:
    counts, other = LaunchCounts(), LaunchCounts()
    counts.add(judged(CONDITIONAL, new=True, seconds=1.0))
    other.add(judged(SILENT, new=True, seconds=0.5))
    other.add(judged(CONDITIONAL, new=True, seconds=0.5))
    counts.add_all(other)
    assert counts.line() == "3 launches of tile kernels, 3 verified: 3 proved, 2 of them under conditions (2.0 s)"


def test_a_clause_with_or_keeps_its_meaning_beside_others() -> None:
    assert conjunction(("A == 1 or B == 1",)) == "A == 1 or B == 1"
    assert conjunction(("N >= 1", "A == 1 or B == 1")) == "N >= 1 and (A == 1 or B == 1)"
    assert proved_if(replace(CONDITIONAL, verdict=Verdict.REFUTED)) == ""
