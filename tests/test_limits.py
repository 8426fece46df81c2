"""Size limits as users deny them: on the command line, in the configuration, for one launch."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

from tileverify import check as tileverify_check
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import launches_of_text
from tileverify.contract.spec_text import spec_text
from tileverify.pipeline import unit_check
from tileverify.results import Finding, KernelResult, Report, Verdict
from tileverify.results.conditional import limits_denied

KERNEL = """import cuda.tile as ct


@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)) + ct.load(x, (i,), (128,)))
"""
LAUNCH = """[[launch]]
kernel = "double"
name = "{}"
grid = ["cdiv(N, 128)"]
{}args = {{ x = "f32[N]", out = "f32[N]" }}
"""
LIMIT = "N <= 2147483520"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel of two launches whose proofs have a limit."""
    file = tmp_path / "double.py"
    file.write_text(KERNEL)
    file.with_suffix(".tileverify.toml").write_text(LAUNCH.format("a", "") + LAUNCH.format("b", ""))
    decide = unit_check._decide

    def limited(*arguments: Any) -> KernelResult:
        return replace(decide(*arguments), limits=(LIMIT,))

    monkeypatch.setattr(unit_check, "_decide", limited)
    monkeypatch.chdir(tmp_path)
    return file


def failing(ran: str) -> list[str]:
    """The launches with a denied limit, in a JSON report."""
    found = []
    for result in json.loads(ran)["results"]:
        assert result["verdict"] == "proved"
        for finding in result["findings"]:
            assert (finding["code"], finding["level"]) == ("TV304", "error")
            assert LIMIT in finding["message"]
            assert [(Path(site["file"]).name, site["line"]) for site in finding["sites"]] == [("double.py", 5)]
            assert finding["fingerprint"]
            found.append(result["launch"])
    return found


def test_a_limit_fails_nothing_unless_it_is_denied(tileverify: CommandLine, kernel: Path) -> None:
    said = ("check", str(kernel), "--format", "json", "-j", "1", "--no-cache")
    assert tileverify(*said).code == 0
    ran = tileverify(*said, "--deny-limits")
    assert ran.code == 1
    assert failing(ran.out) == ["a", "b"]


def test_limits_of_the_configuration(tileverify: CommandLine, kernel: Path) -> None:
    said = ("check", str(kernel), "--format", "json", "-j", "1", "--no-cache")
    Path("pyproject.toml").write_text('[tool.tileverify]\nlimits = "deny"\n')
    assert failing(tileverify(*said).out) == ["a", "b"]
    assert tileverify(*said, "--config", "limits=allow").code == 0
    wrong = tileverify(*said, "--config", "limits=never")
    assert wrong.code == 2
    assert '\'limits\' must be "deny" or "allow"' in wrong.err


def test_limits_of_one_launch(tileverify: CommandLine, kernel: Path) -> None:
    spec = LAUNCH.format("a", "") + LAUNCH.format("b", 'limits = "deny"\n')
    kernel.with_suffix(".tileverify.toml").write_text(spec)
    for _ in range(2):  # the second time from what is kept of the first
        ran = tileverify("check", str(kernel), "--format", "json", "-j", "1")
        assert failing(ran.out) == ["b"]
        assert ran.code == 1
    assert failing(tileverify("check", str(kernel), "--format", "json", "-j", "1", "--deny-limits").out) == ["a", "b"]
    kernel.with_suffix(".tileverify.toml").write_text(spec.replace('"deny"', "true"))
    ran = tileverify("check", str(kernel))
    assert ran.code == 2
    assert 'launch "b", limits: must be "deny" or "allow"' in ran.out + ran.err


def test_the_key_of_a_launch_is_written_as_it_is_read() -> None:
    (raw,) = launches_of_text(LAUNCH.format("b", 'limits = "deny"\n'), Path("k.toml"))
    launch = build_launch(raw, "b", None)
    assert launch.deny_limits
    (again,) = launches_of_text(spec_text(launch, "b", ()), Path("k.toml"))
    assert build_launch(again, "b", None).deny_limits


def test_a_limit_with_a_finding_is_denied_once() -> None:
    warning = Finding("TV304", f"`i * ld` wraps beyond the limit `{LIMIT}`")
    proof = KernelResult("k.py", "k", "0", Verdict.PROVED, limits=(LIMIT, "K >= 1"), findings=(warning,))
    report = Report((proof,), "0", "z3")
    assert (report.exit_code, report.warnings) == (0, 1)
    denied = limits_denied(proof)
    assert [(each.code, each.level) for each in denied.findings] == [("TV304", "error")] * 2
    assert "K >= 1" in denied.findings[1].message
    assert replace(report, results=(denied,)).exit_code == 1


def test_a_denied_limit_is_an_error_in_python(kernel: Path) -> None:
    assert tileverify_check(str(kernel), cache=False)
    denied = tileverify_check(str(kernel), cache=False, deny_limits=True)
    assert not denied
    assert {each.code for result in denied.results for each in result.findings} == {"TV304"}


def test_no_bundle_of_a_proof_with_a_denied_limit(tileverify: CommandLine, kernel: Path) -> None:
    said = ("build", f"{kernel}::double", "--arch", "none", "-o", "built")
    ran = tileverify(*said, "--deny-limits")
    assert ran.code == 1
    assert "double [a] is proved, with what is denied: no bundle of it was written" in ran.err
    assert not list(Path("built").iterdir())
    kernel.with_suffix(".tileverify.toml").write_text(LAUNCH.format("a", "") + LAUNCH.format("b", 'limits = "deny"\n'))
    ran = tileverify(*said)
    assert ran.code == 1
    assert [file.name for file in Path("built").iterdir()] == ["double.a.tvk"]
