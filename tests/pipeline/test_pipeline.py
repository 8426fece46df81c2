"""The pipeline: what each failure of one kernel becomes, time limits, worker processes, paths in results."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.written_kernel import unit_at, written

from tileverify.contract.launch import ArrayArgument, KernelUnit, LaunchSpec, Name, SameArray
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.pipeline.unit_check import check_unit
from tileverify.reports.html.kernel import in_words
from tileverify.results import KernelResult, Verdict
from tileverify.system.errors import NoKernelFound, SpecError, UnsupportedOperation, UsageError
from tileverify.verifier.budgets import KERNEL_EFFORT

KERNEL = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
SPEC = '[[launch]]\nkernel = "copy"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]" }\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    written(tmp_path, KERNEL, SPEC, "copy")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unit(folder: Path) -> KernelUnit:
    return unit_at("copy.py")


def replace_verify(monkeypatch: pytest.MonkeyPatch, body: Any) -> None:
    monkeypatch.setattr("tileverify.verifier.verify.verify", lambda *arguments, **options: body())


def raiser(error: BaseException) -> Any:
    def fail() -> NoReturn:
        raise error

    return fail


def only_finding(result: KernelResult) -> str:
    (finding,) = result.findings
    return f"{finding.code}: {finding.message}"


def test_a_kernel_is_proved_with_times_and_hash(unit: KernelUnit) -> None:
    result = check_unit(unit)
    assert (result.file, result.kernel, result.launch, result.line) == ("copy.py", "copy", "0", 5)
    assert result.verdict is Verdict.PROVED
    assert len(result.bytecode_sha256) == 64
    assert min(dataclasses.astuple(result.time_ms)) > 0
    assert result.obligations.total >= 1


def test_an_op_without_a_rule_is_undecided(unit: KernelUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_verify(
        monkeypatch, raiser(UnsupportedOperation("no rule for 'gdc_wait_tko'", "copy.py", 7, 4, "gdc_wait_tko"))
    )
    result = check_unit(unit)
    assert result.verdict is Verdict.UNDECIDED
    assert only_finding(result) == "TV902: no rule for 'gdc_wait_tko'"
    assert result.findings[0].sites[0].line == 7


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SpecError("launch 0, requires: unknown name 'Q'"), "TV002: launch 0, requires: unknown name 'Q'"),
        (ValueError("odd"), "TV005: tileverify failed (ValueError: odd); please report this"),
        (RecursionError("deep"), "TV005: tileverify failed (RecursionError: deep)"),
        (MemoryError(), "TV005: tileverify failed (MemoryError)"),
    ],
)
def test_an_error_in_the_pipeline_is_a_result(
    unit: KernelUnit, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    replace_verify(monkeypatch, raiser(error))
    result = check_unit(unit)
    assert result.verdict is Verdict.ERROR
    assert only_finding(result).startswith(told)


def test_corrupt_bytecode_and_a_missing_entry_are_errors(unit: KernelUnit) -> None:
    corrupt = check_unit(dataclasses.replace(unit, bytecode=unit.bytecode[:40]))
    assert corrupt.verdict is Verdict.ERROR
    assert only_finding(corrupt).startswith("TV003: copy.py: offset 0x")
    missing = check_unit(dataclasses.replace(unit, symbol="other"))
    assert missing.verdict is Verdict.ERROR
    assert "no entry 'other'" in only_finding(missing)


def test_a_time_limit_interrupts_what_does_not_watch_it(unit: KernelUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    def forever() -> None:
        while True:
            try:
                time.sleep(0.01)
            except Exception:
                continue

    replace_verify(monkeypatch, forever)
    started = time.monotonic()
    result = check_unit(unit, CheckOptions(timeout_s=0.2))
    assert time.monotonic() - started < 5
    assert result.verdict is Verdict.UNDECIDED
    assert only_finding(result) == "TV903: the time limit of 0.2 s for this kernel was reached"


def test_a_time_limit_that_is_not_reached_leaves_no_alarm(unit: KernelUnit) -> None:
    assert check_unit(unit, CheckOptions(timeout_s=0.6)).verdict is Verdict.PROVED
    time.sleep(1)


def test_time_limit_and_denied_clauses_reach_the_verifier(unit: KernelUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def verify(*arguments: Any, options: Any, **rest: Any) -> NoReturn:
        seen.append(options)
        raise ValueError

    monkeypatch.setattr("tileverify.verifier.verify.verify", verify)
    check_unit(unit, CheckOptions(timeout_s=50, deny_requires=True))
    check_unit(unit)
    limited, free = seen
    assert 40 < limited.timeout_s < 50
    assert (limited.deny_requires, free.timeout_s, free.deny_requires) == (True, None, False)


def test_the_effort_reaches_the_verifier_and_the_key_of_what_is_kept(
    unit: KernelUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def verify(*arguments: Any, options: Any, **rest: Any) -> NoReturn:
        seen.append(options.effort)
        raise ValueError

    monkeypatch.setattr("tileverify.verifier.verify.verify", verify)
    more, usual = CheckOptions(effort=4), CheckOptions()
    check_unit(unit, more)
    check_unit(unit, usual)
    assert seen == [4 * KERNEL_EFFORT, KERNEL_EFFORT]
    assert more.decisive != usual.decisive


def test_kernels_after_a_bad_one_are_verified(folder: Path) -> None:
    written(folder, KERNEL.replace("ct.bid(0)", "ct.bid(7)"), SPEC, "a_bad")
    (folder / "a_worse.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef f(:\n")
    report = check_paths(["."])
    assert [(each.file, each.verdict) for each in report.results] == [
        ("a_bad.py", Verdict.ERROR),
        ("a_worse.py", Verdict.ERROR),
        ("copy.py", Verdict.PROVED),
    ]
    assert report.results[0].findings[0].sites[0].line == 6
    assert report.results[1].findings[0].sites[0].line == 3
    assert report.exit_code == 2


def test_progress_is_told_in_the_order_of_the_report(folder: Path) -> None:
    for name in "dcab":
        (folder / f"{name}.py").write_text(KERNEL)
        (folder / f"{name}.tileverify.toml").write_text(SPEC)
    told: list[KernelResult] = []
    report = check_paths(["."], options=CheckOptions(jobs=2), progress=told.append)
    assert [each.file for each in told] == ["a.py", "b.py", "c.py", "copy.py", "d.py"]
    assert tuple(told) == report.results
    assert report.exit_code == 0


def test_a_dead_worker_costs_one_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileverify.pipeline._check", _die_on_copy)
    written(folder, KERNEL.replace("def copy", "def other"), SPEC.replace('"copy"', '"other"'), "other")
    report = check_paths(["."], options=CheckOptions(jobs=2))
    first, second = report.results
    assert only_finding(first).startswith("TV005: the process that verified this kernel died")
    assert second.verdict is Verdict.UNDECIDED


def _die_on_copy(item: KernelUnit, options: CheckOptions) -> KernelResult:
    if item.kernel == "copy":
        os._exit(11)
    return KernelResult(item.file.name, item.kernel, item.launch.name, Verdict.UNDECIDED)


def test_wrong_paths_and_empty_folders_are_raised(folder: Path) -> None:
    with pytest.raises(UsageError):
        check_paths(["missing.py"])
    (folder / "empty").mkdir()
    with pytest.raises(NoKernelFound):
        check_paths(["empty"])


def test_sites_are_spelled_as_the_user_spelled_the_file(folder: Path) -> None:
    racy = folder / "deep" / "racy.py"
    racy.parent.mkdir()
    racy.write_text(KERNEL.replace("index=(i,), tile", "index=(0,), tile"))
    racy.with_name("racy.tileverify.toml").write_text(SPEC)
    (folder / "link").symlink_to("deep")
    for target in ("deep/racy.py", "link/racy.py", str(racy)):
        (result,) = check_paths([target]).results
        assert result.verdict is Verdict.REFUTED
        files = {site.file for finding in result.findings for site in finding.sites}
        assert files == {result.file} == {"deep/racy.py" if target == str(racy) else target}


@pytest.mark.parametrize(
    ("same", "alias", "overlap", "groups"),
    [
        ([], [], [], []),
        (["xy"], [], ["uv"], ["xy", "uv"]),
        (["xy"], ["yz"], [], ["xyz", "xy"]),
        (["xy", "zu", "yz"], [], [], ["xyzu"]),
        (["xy", "zu"], ["yz"], ["v"], ["xyzu", "v", "xy", "zu"]),
    ],
)
def test_arguments_that_are_one_array_may_overlap(
    same: list[str], alias: list[str], overlap: list[str], groups: list[str]
) -> None:
    launch = LaunchSpec(
        "k",
        "0",
        tuple(ArrayArgument(name, "f32", (Name("N"),)) for name in "xyzuv"),
        requires=tuple(SameArray(*pair) for pair in same),
        alias=tuple(map(frozenset, alias)),
        overlap=tuple(map(frozenset, overlap)),
    )
    assert set(launch.sharing()) == set(map(frozenset, groups))


@pytest.mark.parametrize(
    ("grid", "size", "line"),
    [
        ("grid = [8]", "512", "any grid; the launch's own is (8)"),
        ('grid = ["cdiv(N, 64)"]', "N", "grid = (cdiv(N, 64))"),
        ("", "N", "any grid"),
    ],
)
def test_a_grid_that_was_written_is_not_called_any(folder: Path, grid: str, size: str, line: str) -> None:
    """Also where a launch of numbers is proved with many others."""
    args = f'{{ x = "f32[{size}]", out = "f32[{size}]" }}'
    (folder / "copy.tileverify.toml").write_text(f'[[launch]]\nkernel = "copy"\n{grid}\nargs = {args}\n')
    (result,) = check_paths(["copy.py"]).results
    assert result.verdict is Verdict.PROVED
    assert result.stated[0] == line
    if size == "N":
        assert result.arguments == ('x = "f32[N]"', 'out = "f32[N]"')
    assert in_words(result.stated[0])
