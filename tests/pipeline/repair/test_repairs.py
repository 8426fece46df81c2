"""Repairs: what is offered for broken kernels of the corpus, and that it is what was proved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.corpus import ROOT
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.pipeline.repair import repairing
from tileverify.pipeline.repair.catalogue import KINDS
from tileverify.pipeline.repair.kernel_source import edited
from tileverify.results import Hint, KernelResult, Verdict
from tileverify.system.pace import KernelTimeout


def repaired(target: str) -> KernelResult:
    (result,) = check_paths([target], options=CheckOptions(repair=True)).results
    return result


def hints(result: KernelResult) -> list[tuple[str, str, str]]:
    return [(finding.code, hint.id, hint.applicability) for finding in result.findings for hint in finding.hints]


OFFERED = {
    "racy/naive_reduction.py::naive_total": [("TV102", "use-atomic", "safe"), ("TV101", "use-atomic", "safe")],
    "racy/split_k_plain.py::split_k_plain": [("TV101", "use-atomic", "maybe")],
    "racy/half_block.py::copy_to_half::any-size": [("TV101", "split-output-index", "maybe")],
    "racy/matmul_missing_batch.py::matmul_missing_batch": [("TV101", "split-output-index", "maybe")],
    "racy/short_stride.py::fill_short_stride": [("TV101", "split-output-index", "maybe")],
    "racy/block_scope.py::total_in_block_scope": [("TV103", "widen-scope", "safe")],
    "racy/index_wrap.py::fill::four-million-blocks": [("TV101", "widen-index", "maybe")],
    "racy/persistent_wrong_step.py::step_one_short": [("TV101", "mend-loop", "maybe")],
    "racy/missing_grid_axis.py::double": [("TV101", "fit-grid", "maybe"), ("TV101", "split-output-index", "display")],
    "racy/store_beside_atomic.py::initialise_and_add": [("TV103", "separate-launch", "display")],
    "racy/duplicate_lanes.py::fill_pairs": [("TV202", "separate-lanes", "display")],
    "racy/transpose_inplace.py::transpose_inplace": [("TV102", "separate-output", "display")],
    "racy/stencil_inplace.py::smooth_inplace": [("TV102", "separate-output", "display")],
    "out_of_bounds/unchecked_tail.py::double_unchecked": [("TV303", "mask-tail", "safe")] * 2,
    "out_of_bounds/loop_too_far.py::row_sums": [("TV301", "mend-loop", "maybe")],
    "out_of_bounds/grid_too_large.py::copy::sixteen-blocks-for-eight-tiles": [("TV301", "guard-launch", "safe")] * 2,
    "determined/product_tail.py::product_unpadded::any-depth": [("TV403", "pad-load", "safe")],
    "determined/row_largest.py::row_largest_unpadded::any-width": [("TV403", "pad-load", "maybe")],
    "protocols/look_back.py::look_back_relaxed_wait": [("TV102", "strengthen-order", "safe")],
}


@pytest.mark.parametrize(
    ("failure", "note"),
    [(ValueError("odd"), ["no repairs: tileverify failed (ValueError: odd)"]), (KernelTimeout(), [])],
    ids=["failure", "timeout"],
)
def test_a_verdict_outlives_its_repairs(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException, note: list[str]
) -> None:
    def fail(*arguments: object) -> None:
        raise failure

    monkeypatch.setattr(repairing, "with_repairs", fail)
    result = repaired(str(ROOT / "racy/naive_reduction.py"))
    assert result.verdict is Verdict.REFUTED
    assert [finding.code for finding in result.findings] == ["TV102", "TV101"]
    assert [each.partition(";")[0] for each in result.notes if "tileverify failed" in each] == note


@pytest.mark.parametrize("target", OFFERED)
def test_what_is_offered_was_proved(tmp_path: Path, target: str) -> None:
    """Each edit, made to a copy of the file beside its spec, is proved there."""
    name, *rest = target.split("::")
    result = repaired("::".join([str(ROOT / name), *rest]))
    assert hints(result) == OFFERED[target]
    for hint in {hint for finding in result.findings for hint in finding.hints if hint.edits}:
        copy = tmp_path / Path(name).name
        copy.write_text(edited((ROOT / name).read_text(), hint.edits))
        shutil.copy((ROOT / name).with_suffix(".tileverify.toml"), tmp_path)
        exact = CheckOptions(deny_requires=hint.applicability == "safe")
        (again,) = check_paths(["::".join([str(copy), *rest])], options=exact).results
        assert again.verdict is Verdict.PROVED
        assert not again.findings


def test_every_hint_is_in_the_catalogue() -> None:
    assert {hint for offered in OFFERED.values() for _, hint, _ in offered} <= KINDS.keys()
    assert all(kind.text and kind.codes for kind in KINDS.values())


SOURCE = """import cuda.tile as ct  # größer: ein Zeichen hat zwei Bytes


@ct.kernel
def halves(x, out, T: ct.Constant[int]):
    i = ct.bid(0)
    "→"; ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(T,)))
"""
SPEC = """[[launch]]
kernel = "halves"
requires = ["N >= 256"]
args = { x = "f32[N]", out = "f32[N]", T = 128 }
grid = ["cdiv(N, 128)"]
"""


def written(folder: Path, source: str = SOURCE) -> str:
    (folder / "halves.py").write_text(source)
    (folder / "halves.tileverify.toml").write_text(SPEC)
    return str(folder / "halves.py")


def the_hint(result: KernelResult) -> Hint:
    (finding,) = result.findings
    (hint,) = finding.hints
    return hint


def test_columns_count_characters(tmp_path: Path) -> None:
    hint = the_hint(repaired(written(tmp_path)))
    assert edited(SOURCE, hint.edits) == SOURCE.replace("i // 2", "i")
    (edit,) = hint.edits
    assert (edit.line, edit.column, edit.end_column) == (7, 30, 36)


def test_a_module_beside_the_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "shares.py").write_text("HALF = 2\n")
    source = "from shares import HALF\n" + SOURCE.replace("// 2", "// HALF")
    hint = the_hint(repaired(written(tmp_path, source)))
    assert edited(source, hint.edits) == source.replace("i // HALF", "i")


def test_a_package_keeps_advice_only(tmp_path: Path) -> None:
    """A changed file cannot be imported without the package around it."""
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "shares.py").write_text("HALF = 2\n")
    source = "from .shares import HALF\n" + SOURCE.replace("// 2", "// HALF")
    assert the_hint(repaired(written(tmp_path, source))).applicability == "display"


def test_proved_kernels_and_bytecode_are_left_alone(tmp_path: Path) -> None:
    right = written(tmp_path, SOURCE.replace("i // 2", "i"))
    assert not repaired(right).findings
    bytecode = sorted(ROOT.rglob("*.tileirbc"))[0]
    for result in check_paths([str(bytecode)], options=CheckOptions(repair=True)).results:
        assert not any(hint.edits for finding in result.findings for hint in finding.hints)


def test_the_command_tells_repairs(tileverify: CommandLine) -> None:
    folder = Path.cwd()
    written(folder)
    usual = tileverify("check", "halves.py", "--no-cache")
    without = tileverify("check", "halves.py", "--no-cache", "--no-repair")
    told = tileverify("check", "halves.py", "--no-cache", "--repair")
    assert usual.code == without.code == told.code == 1
    assert "help:" not in without.out
    for each in (usual, told):
        assert "`i` for `i // 2` (proved)" in each.out
        assert "-7:" in each.out
        assert "+7:" in each.out
    assert (folder / "halves.py").read_text() == SOURCE  # told, not made
    json = tileverify("check", "halves.py", "--no-cache", "--repair", "--format", "json")
    assert '"edits"' in json.out


def test_a_sum_of_something_else_is_no_addition(tmp_path: Path) -> None:
    """What is done to the loaded value would be lost: ``2 * before + part`` is not ``before + part``."""
    source = (ROOT / "racy" / "naive_reduction.py").read_text()
    doubled = source.replace("before + ct.sum(tile)", "2 * before + ct.sum(tile)")
    assert doubled != source
    (tmp_path / "naive_reduction.py").write_text(doubled)
    shutil.copy(ROOT / "racy" / "naive_reduction.tileverify.toml", tmp_path)
    result = repaired(f"{tmp_path / 'naive_reduction.py'}::naive_total")
    assert result.verdict is Verdict.REFUTED
    assert not any(hint.applicability == "safe" for finding in result.findings for hint in finding.hints)
    inline = doubled.replace("2 * before", "2 * ct.load(out, index=(0,), shape=(1,))")
    (tmp_path / "naive_reduction.py").write_text(inline)
    result = repaired(f"{tmp_path / 'naive_reduction.py'}::naive_total")
    assert not any(hint.applicability == "safe" for finding in result.findings for hint in finding.hints)
