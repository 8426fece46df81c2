"""``check --fix``: what was proved is written, whole, and nothing else is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.pipeline import CheckOptions, check_paths
from tileverify.pipeline.repair.fixing import ALL, SAFE, Judge, fixed, judge_of
from tileverify.reports.snippets import text_digest
from tileverify.results import Edit, Finding, Hint, KernelResult, SourceSite, Verdict
from tileverify.system.errors import UsageError

MISTAKES = Path(__file__).parent / "mistakes"
TWO = """import cuda.tile as ct


@ct.kernel
def counts(values, out, T: ct.Constant[int]):
    v = ct.load(values, index=(ct.bid(0),), shape=(T,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (0,), ct.load(out, (0,), (T,)) + v)


@ct.kernel
def halves(x, out, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(T,), padding_mode=ct.PaddingMode.ZERO))
"""
MENDED = TWO.replace(
    "ct.store(out, (0,), ct.load(out, (0,), (T,)) + v)", "out.tiled_view((T,)).atomic_store_add((0,), v)"
)


@pytest.fixture
def two(tileverify: CommandLine) -> Path:
    file = Path("two.py")
    file.write_text(TWO)
    return file


def test_safe_repairs_are_made(two: Path, tileverify: CommandLine) -> None:
    ran = tileverify("check", "two.py", "--no-cache", "--fix")
    assert ran.code == 1  # of what is left
    assert two.read_text() == MENDED
    assert "mended: two.py::counts: " in ran.err
    assert "not mended: two.py::halves: its repair may change what is meant; --unsafe-fixes makes it" in ran.err
    ran = tileverify("check", "two.py", "--no-cache", "--fix", "--unsafe-fixes")
    assert two.read_text() == MENDED.replace("i // 2", "i")
    assert ran.code == 0
    assert "1 of 1 launch with findings now proved; 0 left" in ran.err
    assert tileverify("check", "two.py", "--no-cache").code == 0
    assert "nothing to mend" in tileverify("check", "two.py", "--no-cache", "--fix").err


def test_a_difference_can_be_applied(two: Path, tileverify: CommandLine) -> None:
    ran = tileverify("check", "two.py", "--no-cache", "--diff", "--unsafe-fixes")
    assert two.read_text() == TWO
    assert ran.code == 1  # nothing was written
    assert ran.err.count("to mend: ") == 2
    subprocess.run(["git", "apply", "-"], input=ran.out, text=True, check=True)
    assert two.read_text() == MENDED.replace("i // 2", "i")


def test_a_folder_is_mended_file_by_file(tileverify: CommandLine) -> None:
    """The exit code is that of what the files hold afterwards, also of those that nothing mends."""
    Path("kernels/deep").mkdir(parents=True)
    only_counts = TWO[: TWO.index("@ct.kernel\ndef halves")]
    for name in ("kernels/one.py", "kernels/deep/other.py"):
        Path(name).write_text(only_counts)
    ran = tileverify("check", "kernels", "--no-cache", "--fix")
    assert ran.code == 0
    assert ran.out.count("error[") == 2  # the report tells what was found
    assert "2 of 2 launches" in ran.err
    mended = MENDED[: MENDED.index("@ct.kernel\ndef halves")]
    assert [Path(name).read_text() for name in ("kernels/one.py", "kernels/deep/other.py")] == [mended] * 2
    assert tileverify("check", "kernels", "--no-cache").code == 0
    Path("kernels/one.py").write_text(only_counts)
    Path("kernels/smooth.py").write_text((MISTAKES / "stencil_in_place.py").read_text())
    ran = tileverify("check", "kernels", "--no-cache", "--fix")
    assert ran.code == 1
    assert "1 of 2 launches with findings now proved; 1 left" in ran.err
    assert Path("kernels/one.py").read_text() == mended


def test_a_file_that_cannot_be_written_stays_refuted(
    two: Path, tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr("tileverify.pipeline.repair.fixing.write_whole", full)
    ran = tileverify("check", "two.py", "--no-cache", "--fix", "--unsafe-fixes")
    assert (ran.code, two.read_text()) == (1, TWO)
    assert "not mended: cannot write 'two.py': no space left" in ran.err


def test_what_has_no_repair_is_told(tileverify: CommandLine) -> None:
    source = (MISTAKES / "stencil_in_place.py").read_text()
    Path("smooth.py").write_text(source)
    ran = tileverify("check", "smooth.py", "--no-cache", "--fix")
    assert "not mended: smooth.py::smooth: no repair was proved" in ran.err
    assert Path("smooth.py").read_text() == source


def test_windows_line_ends_stay(tileverify: CommandLine) -> None:
    Path("two.py").write_bytes(TWO.replace("\n", "\r\n").encode())
    tileverify("check", "two.py", "--no-cache", "--fix")
    assert Path("two.py").read_bytes() == MENDED.replace("\n", "\r\n").encode()


def test_options_that_contradict(tileverify: CommandLine) -> None:
    assert "give one of them" in tileverify("check", "two.py", "--unsafe-fixes").err
    assert "none to make" in tileverify("check", "two.py", "--fix", "--no-repair").err


def test_another_launch_keeps_its_proof(tmp_path: Path) -> None:
    """A repair that costs another launch its proof is not made."""
    file = tmp_path / "halves.py"
    file.write_text(TWO)
    (tmp_path / "halves.tileverify.toml").write_text(
        """[[launch]]
kernel = "halves"
name = "wrong"
grid = ["4"]
args = { x = "f32[512]", out = "f32[512]", T = 128 }

[[launch]]
kernel = "halves"
name = "one-tile"
grid = ["1"]
args = { x = "f32[512]", out = "f32[512]", T = 128 }
"""
    )
    results = check_paths([f"{file}::halves"], options=CheckOptions(quick_repairs=True)).results
    assert [each.verdict for each in results] == [Verdict.REFUTED, Verdict.PROVED]
    asked: list[str] = []

    def judge(_: Path, text: str) -> dict[tuple[str, str], frozenset[str]]:
        asked.append(text)
        return {("halves", "wrong" if len(asked) > 1 else "one-tile"): frozenset()}

    (left,) = fixed(results, judge, ALL)
    assert left.text == TWO
    assert left.left == (f"{file}::halves: with the repair halves [one-tile] is not proved",)
    (made,) = fixed(results, judge_of(CheckOptions()), ALL)
    assert made.text == TWO.replace("i // 2", "i")


def result_with(file: Path, *hints: Hint) -> KernelResult:
    site = SourceSite(str(file), 1, 0, "store", "x")
    finding = Finding("TV101", "two blocks store", (site,), hints=hints)
    return KernelResult(str(file), "k", "0", Verdict.REFUTED, findings=(finding,))


def judged(*answers: bool) -> Judge:
    left = list(answers)
    return lambda file, text: {("k", "0"): frozenset()} if left.pop(0) else {}


def test_a_file_that_changed_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text("one\n")
    edit = Edit(1, 0, 1, 3, "two")
    hint = Hint("use-atomic", "safe", "mend it", (edit,), text_digest("one\n"))
    (made,) = fixed([result_with(file, hint)], judged(False, True), SAFE)
    assert (made.before, made.text) == ("one\n", "two\n")
    file.write_text("three\n")
    with pytest.raises(UsageError, match="has changed since it was checked"):
        made.write()
    (late,) = fixed([result_with(file, hint)], judged(False, True), SAFE)
    assert (late.text, late.left) == ("three\n", (f"{file}::k: the file has changed since it was checked",))


def test_what_is_not_proved_as_it_would_be_written_is_not(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text("one\n")
    hint = Hint("use-atomic", "safe", "mend it", (Edit(1, 0, 1, 3, "two"),), text_digest("one\n"))
    (made,) = fixed([result_with(file, hint)], judged(False, False), SAFE)
    assert (made.text, made.done) == ("one\n", ())
    assert made.left == (f"{file}::k: with the repair k is not proved",)
