"""The SARIF report: golden files, the standard's schema, what GitHub takes, and places that editors can follow."""

from __future__ import annotations

import copy
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from tileverify.reports import sarif
from tileverify.reports.sarif import CONDITIONAL, sarif_report
from tileverify.reports.snippets import text_digest
from tileverify.results import Edit, Finding, Hint, KernelResult, Report, SourceSite, Verdict, Witness
from tileverify.results.codes import CODES

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def run_of(report: Report) -> Any:
    document = json.loads(sarif_report(report))
    VALIDATOR.validate(document)
    (run,) = document["runs"]
    return run


def test_sarif_is_as_expected_and_valid(report: Report, golden: str) -> None:
    run = run_of(report)
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [*CODES, CONDITIONAL]
    del run["tool"]["driver"]["rules"]  # what `explain` says changes more often than the form
    assert json.dumps(run, indent=1) + "\n" == golden


def test_the_schema_finds_mistakes() -> None:
    document = json.loads(sarif_report(Report((), "0", "z3")))
    changes: tuple[dict[str, Any], ...] = ({"version": "2.0.0"}, {"runs": [{}]}, {"results": []})
    for change in changes:
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate({**copy.deepcopy(document), **change})


def test_one_result_for_every_finding_with_its_rule_and_a_line(report: Report) -> None:
    run = run_of(report)
    findings = [*report.findings, *(finding for result in report.results for finding in result.findings)]
    notes = [CONDITIONAL] * report.conditional
    assert [result["ruleId"] for result in run["results"]] == [*(finding.code for finding in findings), *notes]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1


@pytest.mark.parametrize("report", ["refuted-one-place", "refuted-two-places"], indirect=True)
def test_a_thread_flow_for_every_tile_block(report: Report) -> None:
    findings = [finding for result in report.results for finding in result.findings]
    for finding, result in zip(findings, run_of(report)["results"], strict=True):
        assert finding.witness is not None
        blocks = {finding.witness.block_a, finding.witness.block_b} - {None}
        (flow,) = result["codeFlows"]
        assert len(flow["threadFlows"]) == len(blocks)
        accesses = [
            step
            for thread in flow["threadFlows"]
            for step in thread["locations"]
            if step.get("importance") == "essential"
        ]
        assert len(accesses) == max(len(finding.sites), len(blocks))


@pytest.mark.parametrize("report", ["refuted-two-places"], indirect=True)
def test_columns_are_utf16_code_units(report: Report) -> None:
    Path("stencil.py").write_text(Path("stencil.py").read_text("utf-8").replace("寬度", "𝄞ü"), "utf-8")
    region = run_of(report)["results"][0]["locations"][0]["physicalLocation"]["region"]
    line = Path("stencil.py").read_text("utf-8").splitlines()[6].encode("utf-16-le")
    units = line[2 * (region["startColumn"] - 1) : 2 * (region["endColumn"] - 1)].decode("utf-16-le")
    assert units == "ct.load(a, index=(i - 1,), shape=(16,))"


@pytest.mark.parametrize("report", ["suppressed"], indirect=True)
def test_what_is_suppressed_is_shown_as_suppressed(report: Report) -> None:
    results = run_of(report)["results"]
    kinds = [[each["kind"] for each in result["suppressions"]] for result in results]
    assert kinds == [[], [], ["inSource"], ["external"], ["external"], []]
    assert results[2]["suppressions"][0]["justification"] == "blocks write equal values (until 2027-12-31)"
    assert "suppressions" not in run_of(replace(report, results=(), findings=()))


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/ü.py", "a b/ü.py"),
        ("a:b.py", "a:b.py"),
        ("100%.py", "100%.py"),
        ("../out.py", None),
        ("/abs/o.py", None),
    ],
)
def test_artifacts_are_relative_to_the_repository_or_absolute(file: str, uri: str | None) -> None:
    result = KernelResult(file, "k", "0", Verdict.UNDECIDED, findings=(Finding("TV903", "m"),), line=3)
    place = run_of(Report((result,), "0", "z3"))["results"][0]["locations"][0]["physicalLocation"]
    artifact = place["artifactLocation"]
    assert place["region"] == {"startLine": 3}
    if uri is not None:
        assert unquote(artifact["uri"]) == uri
        assert artifact["uriBaseId"] == "%SRCROOT%"
        assert ":" not in artifact["uri"]
    else:
        assert unquote(artifact["uri"]) == Path(file).resolve().as_uri()


def test_in_a_runner_files_are_named_from_its_workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "repository" / "kernels").mkdir(parents=True)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "repository"))
    monkeypatch.chdir(tmp_path / "repository" / "kernels")
    result = KernelResult("k.py", "k", "0", Verdict.UNDECIDED, findings=(Finding("TV903", "m"),))
    place = run_of(Report((result,), "0", "z3"))["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "kernels/k.py"


def many(count: int, message: str = "m") -> Report:
    witness = Witness({}, (1, 1, 1), (0, 0, 0), None, "x[0]", confirmed_by="replay")
    site = SourceSite("k.py", 1, 0, "load", "x")
    right = KernelResult("k.py", "u", "0", Verdict.UNDECIDED, findings=(Finding("TV903", message),))
    wrong = KernelResult("k.py", "r", "0", Verdict.REFUTED, findings=(Finding("TV301", message, (site,), witness),))
    return Report((*(right,) * (count - 1), wrong), "0", "z3")


def test_what_github_would_refuse_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 3)
    run = run_of(many(5))
    assert [result["ruleId"] for result in run["results"]] == ["TV301", "TV903", "TV903"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "2 findings are left out" in told["message"]["text"]


def test_a_file_that_github_would_refuse_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(gzip.compress(sarif_report(many(400)).encode(), compresslevel=6))
    monkeypatch.setattr(sarif, "LARGEST", whole - 1)
    text = sarif_report(many(400))
    assert len(gzip.compress(text.encode(), compresslevel=6)) < whole
    assert json.loads(text)["runs"][0]["results"][0]["ruleId"] == "TV301"


def test_proved_repairs_are_fixes(tmp_path: Path) -> None:
    """Columns count UTF-16 code units from 1; a file that is another text has none."""
    file = tmp_path / "k.py"
    file.write_text("𝒜 = a // 2\nlast")
    edits = (Edit(1, 4, 1, 10, "a"), Edit(2, 0, 3, 0, "end"))
    hint = Hint("split-output-index", "maybe", "`a` for `a // 2` (proved)", edits, text_digest(file.read_text()))
    advice = Hint("split-output-index", "display", "an index of its own")
    finding = Finding("TV101", "two", (SourceSite(str(file), 1, 0, "store", "x"),), hints=(advice, hint))
    result = KernelResult(str(file), "k", "0", Verdict.REFUTED, findings=(finding,))
    (found,) = run_of(Report((result,), "0", "z3"))["results"]
    (fix,) = found["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"].endswith("/k.py")
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 1, "startColumn": 6, "endLine": 1, "endColumn": 12},
            "insertedContent": {"text": "a"},
        },
        {
            "deletedRegion": {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 5},
            "insertedContent": {"text": "end"},
        },
    ]
    file.write_text("another text")
    (found,) = run_of(Report((result,), "0", "z3"))["results"]
    assert "fixes" not in found
