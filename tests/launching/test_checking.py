"""`tileverify.check`: the same verdicts as the command's, on kernels at hand, on paths, on calls with arguments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cuda.tile", reason="kernels are compiled")
np = pytest.importorskip("numpy")

from tests.launching.checked_kernels import ARGS, COVER, described, double, move  # noqa: E402

import tileverify  # noqa: E402
from tileverify.contract.launch import KernelUnit  # noqa: E402
from tileverify.launching import checking  # noqa: E402
from tileverify.pipeline import CheckOptions  # noqa: E402
from tileverify.pipeline.unit_check import check_unit  # noqa: E402
from tileverify.results import KernelResult, Verdict  # noqa: E402
from tileverify.system.errors import SpecError, UsageError  # noqa: E402

SOURCE = """import cuda.tile as ct


@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)) * 2)
"""


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    return path


def verdicts(results: Sequence[KernelResult]) -> list[tuple[str, str, Verdict]]:
    return [(each.kernel, each.launch, each.verdict) for each in results]


def test_complete_is_an_option_and_a_field() -> None:
    """A list of names is the field of a launch spec."""
    short = ["max(1, N // 128)"]
    (told,) = tileverify.check(double, args=ARGS, grid=short, requires=["N >= 1"], complete=True).results
    assert told.verdict is Verdict.PROVED
    assert told.written is not None
    assert [each.witness.element for each in told.written.never] == ["out[128]"]
    for grid, verdict in ((short, Verdict.REFUTED), (COVER, Verdict.PROVED)):
        (asked,) = tileverify.check(double, args=ARGS, grid=grid, requires=["N >= 1"], complete=["out"]).results
        assert asked.verdict is verdict
    (empty,) = tileverify.check(double, args=ARGS, grid=COVER, empty=["x"]).results
    assert [finding.code for finding in empty.findings] == ["TV712"]
    (wrong,) = tileverify.check(double, args=ARGS, grid=COVER, complete=["y"]).results
    assert wrong.verdict is Verdict.ERROR
    assert "'y' is not an array argument" in wrong.findings[0].message


def test_a_kernel_with_described_arguments() -> None:
    good = tileverify.check(double, args=ARGS, grid=COVER)
    assert good
    assert verdicts(good.results) == [("double", "0", Verdict.PROVED)]
    assert good.results[0].holds_for == "any"
    assert good.results[0].line == double._annotated_function.pyfunc.__code__.co_firstlineno
    bad = tileverify.check(double, args=ARGS, grid=("cdiv(N, 128)", 2), name="two-rows")
    assert not bad
    assert [each.code for each in bad.results[0].findings] == ["TV101"]
    assert "checked_kernels.py::double [two-rows]" in str(bad)


def test_a_kernel_with_what_is_written_on_it() -> None:
    assert verdicts(tileverify.check(described).results) == [
        ("described", "any-size", Verdict.PROVED),
        ("described", "twice", Verdict.REFUTED),
    ]


def test_a_kernel_of_which_nothing_is_said_gets_a_guess() -> None:
    (result,) = tileverify.check(double).results
    assert (result.launch, result.verdict) == ("inferred", Verdict.PROVED)


def test_a_kernel_with_a_spec_file(tmp_path: Path) -> None:
    spec = tmp_path / "specs.toml"
    spec.write_text('[[launch]]\nkernel = "described"\nname = "mine"\ngrid = ["cdiv(N, 128)"]\n')
    spec.write_text(spec.read_text() + 'args = { x = "f32[N]", out = "f32[N]" }\n')
    assert verdicts(tileverify.check(described, spec=spec).results) == [("described", "mine", Verdict.PROVED)]
    with pytest.raises(UsageError, match="a spec file or as arguments, not both"):
        tileverify.check(described, spec=spec, grid=[1])


def test_a_call_with_its_own_arrays() -> None:
    x = np.ones(256, np.float32)
    assert tileverify.check(double, args=(x, x.copy()), grid=(2,))
    three = tileverify.check(double, args=(x, x.copy()), grid=(3,))
    assert not three
    assert {each.code for each in three.results[0].findings} == {"TV301"}
    assert (x == 1).all()


def test_a_call_for_any_grid_names_the_clauses() -> None:
    x = np.ones(256, np.float32)
    (result,) = tileverify.check(double, args=(x, x.copy())).results
    assert "grid.x <= 2" in result.requires


def test_a_call_that_no_proof_covers_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clauses that a proof adds may shut out the very launch that was asked about."""

    def judge_elsewhere(unit: KernelUnit, options: CheckOptions, compiled_as: object) -> KernelResult:
        result = check_unit(unit, options)
        return replace(result, requires=(*result.requires, "grid.x <= 1"))

    monkeypatch.setattr(checking, "check_unit", judge_elsewhere)
    x = np.ones(256, np.float32)
    checked = tileverify.check(double, args=(x, x.copy()), grid=(2,))
    assert not checked
    assert verdicts(checked.results) == [("double", "call", Verdict.UNDECIDED)]
    assert [each.code for each in checked.results[0].findings] == ["TV502"]


def test_facts_on_contents_are_looked_at() -> None:
    x, out = np.ones(512, np.float32), np.zeros(512, np.float32)
    assert tileverify.check(move, args=(x, np.array([2, 0, 3, 1], np.int32), out), grid=(4,))
    same = np.array([0, 0, 1, 2], np.int32)
    assert not tileverify.check(move, args=(x, same, out), grid=(4,))
    assert not tileverify.check(move, args=(x, same, out), grid=(4,), data=["injective(places)"])


def test_paths_as_on_a_command_line(file: Path) -> None:
    assert verdicts(tileverify.check(file).results) == [("double", "inferred", Verdict.PROVED)]
    assert verdicts(tileverify.check([str(file)], args=ARGS, grid=COVER).results) == [("double", "0", Verdict.PROVED)]
    assert tileverify.check(f"{file}::double", args=ARGS, grid=COVER, jobs=1, cache=False)


def test_an_error_of_one_kernel_is_a_result() -> None:
    checked = tileverify.check(double, args={"x": "f32[N]"}, grid=[1])
    assert not checked
    (result,) = checked.results
    assert result.verdict is Verdict.ERROR
    assert "missing 'out'" in result.findings[0].message


def test_mistakes_of_the_caller_are_one_sentence(file: Path) -> None:
    x = np.ones(256, np.float32)
    with pytest.raises(UsageError, match=r"describe its arguments by name"):
        tileverify.check(file, args=(x, x), grid=(2,))
    with pytest.raises(SpecError, match=r"test_checking.py:\d+:\d+: .*unknown key 'grd'; did you mean 'grid'\?"):
        tileverify.check(double, args=ARGS, grd=[1])
    with pytest.raises(UsageError, match="3 is not a kernel: decorate the function with"):
        tileverify.check(3)
    with pytest.raises(UsageError, match="there is no file or folder 'nowhere'"):
        tileverify.check("nowhere")
    with pytest.raises(UsageError, match="grid 0: one to three whole numbers"):
        tileverify.check(double, args=(x, x), grid=0)
    with pytest.raises(UsageError, match="takes no 'requires', only data, vouch"):
        tileverify.check(double, args=(x, x), grid=(2,), requires=["N >= 1"])
    file.write_text(SOURCE + SOURCE.replace("double", "other").replace("import cuda.tile as ct\n", ""))
    with pytest.raises(UsageError, match="given for one kernel, FILE::KERNEL; there is double, other in"):
        tileverify.check(file, args=ARGS, grid=COVER)


def test_it_says_what_the_command_says(file: Path) -> None:
    command = [sys.executable, "-m", "tileverify", "check", str(file), "--no-cache"]
    root = str(Path(tileverify.__file__).parents[1])
    ran = subprocess.run(command, env={"PYTHONPATH": root, "PATH": ""}, capture_output=True, text=True, check=True)

    def without_times(text: str) -> list[str]:
        return [line.rpartition(",")[0] if line.endswith("ms") else line for line in text.splitlines()]

    assert without_times(str(tileverify.check(file, cache=False))) == without_times(ran.stdout)
