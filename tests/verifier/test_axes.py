"""What clauses may not do: give an axis that the kernel reads one block, or keep the kernel from its work otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.written_kernel import judged

from tileverify.backend.replay.replay import Replayer
from tileverify.pipeline import CheckOptions, check_paths
from tileverify.results import KernelResult, Verdict
from tileverify.results.claim import Shown
from tileverify.verifier.abduction import clause_candidates
from tileverify.verifier.obligations.limits import ContractParts

KERNEL = """
@ct.kernel
def {name}(x, out):
    a, b, c = ct.bid({first}), ct.bid({second}), ct.bid({third})
    {body}
"""
LAUNCH = """
[[launch]]
kernel = "{name}"
args = {{ x = "f32[A, B, C]", out = "{dtype}[A, B]" }}
"""

READS = {
    "load": "ct.store(out, (a, b), ct.load(out, (a, b), (1, 1)) + ct.load(x, (a, b, c), (1, 1, 1)).reshape((1, 1)))",
    "integer": "ct.store(out, (a, b), ct.full((1, 1), c, ct.int32))",
    "float": "ct.store(out, (a, b), ct.full((1, 1), c, ct.float32) * 0.5)",
    "condition": "if c < x.shape[2]:\n        ct.store(out, (a, b), ct.full((1, 1), 1, ct.float32))",
    "trips": "for k in range(c, x.shape[2]):\n        ct.store(out, (a, b), ct.full((1, 1), k, ct.float32))",
    "carried": "t = c\n    for k in range(x.shape[2]):\n        t = t + k\n"
    "    ct.store(out, (a, b), ct.full((1, 1), t, ct.int32))",
    "mask": "lane = ct.arange(2, dtype=ct.int32)\n    value = ct.full((2,), 1, ct.float32)\n"
    "    ct.scatter(out, (a, 2 * b + lane), value, mask=lane < x.shape[2] - c)",
    "summed": "ct.store(out, (a, b), ct.sum(ct.full((4, 1, 1), c, ct.int32), axis=0))",
    "chosen": "ct.store(out, (a, b), ct.full((1, 1), b if c > 1 else a, ct.int32))",
}
"""What a kernel that stores to (a, b) makes of the number of its block along a third axis."""

IGNORES = {
    "nothing": "ct.store(out, (a, b), ct.full((1, 1), 1, ct.float32))",
    "count": "ct.store(out, (a, b), ct.full((1, 1), ct.num_blocks({third}), ct.float32))",
    "unused": "d = c + 1\n    ct.store(out, (a, b), ct.full((1, 1), 1, ct.float32))",
    "printed": "ct.printf('%d', c)\n    ct.store(out, (a, b), ct.full((1, 1), 1, ct.float32))",
}
"""What is no use of that number."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelResult]:
    """Each of these, for each of the axes: ``load_2``."""
    kernels, launches = ["import cuda.tile as ct\n"], []
    for use, body in (READS | IGNORES).items():
        for third in range(3):
            name, (first, second) = f"{use}_{third}", (axis for axis in range(3) if axis != third)
            body_here = body.replace("{third}", str(third))
            kernels.append(KERNEL.format(name=name, first=first, second=second, third=third, body=body_here))
            launches.append(LAUNCH.format(name=name, dtype="i32" if use in INTEGERS else "f32"))
    folder = tmp_path_factory.mktemp("axes")
    (folder / "kernel.py").write_text("".join(kernels))
    (folder / "kernel.tileverify.toml").write_text("".join(launches))
    return {result.kernel: result for result in check_paths([str(folder / "kernel.py")]).results}


INTEGERS = {"integer", "carried", "summed", "chosen"}


def checked(folder: Path, source: str, spec: str = "", *, deny: bool = False) -> KernelResult:
    return judged(folder, source, spec, CheckOptions(deny_requires=deny))


def differing_axes(result: KernelResult) -> set[int]:
    """The axes along which the blocks of a witness differ."""
    witnesses = [finding.witness for finding in result.findings if finding.witness is not None]
    pairs = [(each.block_a, each.block_b) for each in witnesses if each.block_b is not None]
    return {axis for a, b in pairs for axis in range(3) if a[axis] != b[axis]}


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("use", READS)
def test_an_axis_that_is_read_is_never_pinned(results: dict[str, KernelResult], use: str, axis: int) -> None:
    result = results[f"{use}_{axis}"]
    assert result.verdict is Verdict.REFUTED, result.findings
    assert differing_axes(result) == {axis}


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("use", IGNORES)
def test_an_axis_that_is_not_read_has_one_block(results: dict[str, KernelResult], use: str, axis: int) -> None:
    result = results[f"{use}_{axis}"]
    assert result.verdict is Verdict.PROVED, result.findings
    assert f"grid.{'xyz'[axis]} == 1" in result.requires


def test_no_witness_differs_in_an_axis_that_is_not_read(tmp_path: Path) -> None:
    source = """
import cuda.tile as ct

@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, (i // 2,), ct.load(x, (i,), (64,)))
"""
    result = checked(tmp_path, source)
    assert result.verdict is Verdict.REFUTED
    assert differing_axes(result) == {0}


def test_a_kernel_that_reads_no_axis_is_one_for_a_single_block_unless_its_grid_is_written(tmp_path: Path) -> None:
    source = """
import cuda.tile as ct

@ct.kernel
def first(x, out):
    ct.store(out, (0,), ct.load(x, (0,), (64,)))
"""
    alone = checked(tmp_path, source)
    assert (alone.verdict, alone.conditional) == (Verdict.PROVED, True)
    assert {"grid.x == 1", "grid.y == 1", "grid.z == 1"} <= set(alone.requires)
    written = checked(
        tmp_path, source, 'kernel = "first"\nnames = ["N"]\ngrid = ["N"]\nargs = { x = "f32[64]", out = "f32[64]" }'
    )
    assert written.verdict is Verdict.REFUTED
    assert differing_axes(written) == {0}


INDIRECT = [
    # K <= 64 would leave one block along y
    'grid = ["cdiv(M, 128)", "cdiv(K, 64)"]\nargs = { x = "f32[M, K]", out = "f32[M]" }',
    'grid = ["M", "K"]\nargs = { x = "f32[M, 64 * K]", out = "f32[M]" }',
    'grid = ["M", "K // 64"]\nrequires = ["K >= 64"]\nargs = { x = "f32[M, K]", out = "f32[M]" }',
    'requires = ["grid.y == parts"]\nargs = { x = "f32[M, 64 * parts]", out = "f32[M]" }',
    'requires = ["grid.y <= N"]\nargs = { x = "f32[M, 64 * N]", out = "f32[M]" }',
]


@pytest.mark.parametrize("spec", INDIRECT)
def test_no_clause_over_sizes_pins_an_axis_that_is_read(tmp_path: Path, spec: str) -> None:
    source = """
import cuda.tile as ct

@ct.kernel
def rows(x, out):
    part = ct.sum(ct.load(x, (ct.bid(0), ct.bid(1)), (1, 64)), axis=1)
    ct.store(out, (ct.bid(0),), ct.load(out, (ct.bid(0),), (1,)) + part)
"""
    result = checked(tmp_path, source, f'kernel = "rows"\n{spec}')
    assert result.verdict is Verdict.REFUTED
    assert differing_axes(result) == {1}


@pytest.mark.parametrize("grid", ["[4]", "[4, 1]"])
@pytest.mark.parametrize("value", ["ct.sum(ct.load(x, (i, j), (1, 64)), axis=1)", "ct.full((1,), j, ct.float32)"])
def test_a_launch_of_one_block_along_an_axis_that_is_read_is_not_widened(tmp_path: Path, grid: str, value: str) -> None:
    source = f"""
import cuda.tile as ct

@ct.kernel
def rows(x, out):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (i,), {value})
"""
    spec = f'kernel = "rows"\ngrid = {grid}\nargs = {{ x = "f32[4, 640]", out = "f32[4]" }}'
    result = checked(tmp_path, source, spec)
    assert (result.verdict, result.holds_for, result.requires) == (Verdict.PROVED, "launch", ())


STEPS = """
import cuda.tile as ct

@ct.kernel
def loop(x, n, step):
    i = ct.bid(0)
    while i < n:
        ct.store(x, (i,), ct.load(x, (i,), (1,)) * 2)
        i += {step}
"""


@pytest.mark.parametrize(
    ("step", "more", "limits"),
    [
        ("ct.num_blocks(0)", "", {"N + grid.x <= 2 ** 31"}),
        ("ct.num_blocks(0)", 'requires = ["N <= 2**30"]', set()),
    ],
)
def test_a_loop_may_run_as_often_as_its_counter_holds(tmp_path: Path, step: str, more: str, limits: set[str]) -> None:
    spec = f'kernel = "loop"\n{more}\nargs = {{ x = "f32[N]", n = "i32 = N", step = "i32" }}'
    result = checked(tmp_path, STEPS.format(step=step), spec)
    assert (result.verdict, set(result.requires)) == (Verdict.PROVED, {"grid.y == 1", "grid.z == 1"})
    assert set(result.limits) == limits


def test_a_fault_in_the_second_iteration_is_not_shut_out(tmp_path: Path) -> None:
    spec = 'kernel = "loop"\nargs = { x = "f32[N]", n = "i32 = N", step = "i32" }'
    result = checked(tmp_path, STEPS.format(step="ct.num_blocks(0) - 1"), spec)
    assert result.verdict is not Verdict.PROVED


def test_a_flag_may_switch_off_one_access_but_not_all_of_them(tmp_path: Path) -> None:
    source = """
import cuda.tile as ct

@ct.kernel
def marked(out, mark, flag):
    if flag > 0:
        ct.store(mark, (0,), ct.full((1,), 1, ct.float32))
    {rest}
"""
    spec = 'kernel = "marked"\norigin = "inferred"\ngrid = ["N"]\nrequires = ["N >= 2"]\n'
    spec += 'args = { out = "f32[N]", mark = "f32[1]", flag = "i32" }'
    whole = checked(tmp_path, source.format(rest="ct.store(out, (ct.bid(0),), ct.full((1,), 1, ct.float32))"), spec)
    assert (whole.verdict, whole.requires) == (Verdict.PROVED, ("flag <= 0",))
    assert checked(tmp_path, source.format(rest="pass"), spec).verdict is Verdict.REFUTED


def test_two_faults_of_a_kernel_are_both_shown(tmp_path: Path) -> None:
    source = """
import cuda.tile as ct

@ct.kernel
def wrong(x, out):
    i = ct.bid(0) + ct.num_tiles(x, axis=0, shape=(64,))
    ct.store(out, (0,), ct.load(x, (i,), (64,)))
"""
    spec = 'kernel = "wrong"\ngrid = ["cdiv(N, 64)"]\nrequires = ["N > 64"]\nargs = { x = "f32[N]", out = "f32[N]" }'
    result = checked(tmp_path, source, spec)
    assert {finding.code for finding in result.findings if finding.witness} == {"TV301", "TV101"}
    assert len(result.findings) == 2


def test_an_undecided_kernel_hears_of_clauses_that_are_not_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the clause on the counter, only one that leaves no second iteration would do; no replay tells."""
    monkeypatch.setattr(clause_candidates, "counting", lambda conditions: ())
    monkeypatch.setattr(ContractParts, "has_limits", False)
    monkeypatch.setattr(Replayer, "__call__", lambda self, launch, claim: None)
    monkeypatch.setattr(Replayer, "anywhere", lambda self, launch, claim: Shown(claim, None, True))
    source = """
import cuda.tile as ct

@ct.kernel
def loop(x, out, n):
    i = ct.bid(0)
    while i < n:
        ct.store(out, (i,), ct.load(x, (i,), (1,)) + 1)
        i += ct.num_blocks(0)
"""
    result = checked(tmp_path, source, 'kernel = "loop"\nargs = { x = "f32[N]", out = "f32[N]", n = "i32 = N" }')
    assert result.verdict is Verdict.UNDECIDED
    for finding in result.findings:
        assert "it holds under `N <= grid.x`" in finding.message
        assert finding.message.endswith("which keeps the kernel from some of its work")
    assert "N <= grid.x" not in result.requires
