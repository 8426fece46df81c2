"""What a newcomer reads of Triton kernels: conditions without a spec, wrapped indices, denied limits, the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

from tileverify.frontend.sources.fixed_inputs import scan_python
from tileverify.frontend.triton.triton_kernels import inferred_triton_unit, triton_kernels_of_file

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"

TILE = """def tile(out, x, n_rows, n_cols, stride, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    at = rows[:, None] * stride + cols[None, :]
    tl.store(out + at, tl.load(x + at, mask=mask) * 2, mask=mask)
"""
ROWS = """def rows(out, x, stride, n_rows, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    tl.store(out + row * stride + cols, tl.load(x + row * stride + cols, mask=cols < n_cols), mask=cols < n_cols)
"""
PERSISTENT = """def softmax(out, x, x_stride, out_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        value = tl.load(x + row * x_stride + cols, mask=cols < n_cols, other=-float("inf"))
        tl.store(out + row * out_stride + cols, value / tl.sum(value, axis=0), mask=cols < n_cols)
"""
MATMUL = """def matmul(a, b, c, M, N, K, am, ak, bk, bn, cm, cn,
           BM: tl.constexpr = 64, BN: tl.constexpr = 64, BK: tl.constexpr = 32, GROUP: tl.constexpr = 8):
    pid = tl.program_id(0)
    in_group = GROUP * tl.cdiv(N, BN)
    first = pid // in_group * GROUP
    rows_left = min(tl.cdiv(M, BM) - first, GROUP)
    pid_m, pid_n = first + pid % in_group % rows_left, pid % in_group // rows_left
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    cols = (pid_n * BN + tl.arange(0, BN)) % N
    inner = tl.arange(0, BK)
    left, right = a + rows[:, None] * am + inner[None, :] * ak, b + inner[:, None] * bk + cols[None, :] * bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        first_part = tl.load(left, mask=inner[None, :] < K - k * BK, other=0.0)
        total = tl.dot(first_part, tl.load(right, mask=inner[:, None] < K - k * BK, other=0.0), total)
        left += BK * ak
        right += BK * bk
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + cm * rows[:, None] + cn * cols[None, :], total, mask=mask)
"""


def write(source: str, spec: str = "") -> str:
    Path("kernels.py").write_text(HEAD + source, encoding="utf-8")
    if spec:
        Path("kernels.tileverify.toml").write_text(f"[[launch]]\n{spec}", encoding="utf-8")
    return "kernels.py"


def checked(tileverify: CommandLine, *arguments: str) -> dict[str, Any]:
    (result,) = json.loads(tileverify("check", *arguments, "--format", "json", "--no-cache").out)["results"]
    assert isinstance(result, dict)
    return result


# ------------------------------------------------------------------------------------------------ without a spec
def test_a_tile_needs_rows_that_do_not_overlap(tileverify: CommandLine) -> None:
    result = checked(tileverify, write(TILE))
    assert result["verdict"] == "proved"
    assert set(result["requires"]) == {
        "n_cols <= stride",
        "(n_rows - 1) * stride + n_cols <= x_size",
        "(n_rows - 1) * stride + n_cols <= out_size",
        "grid.z == 1",
    }


def test_only_rows_that_are_written_are_kept_apart(tileverify: CommandLine) -> None:
    result = checked(tileverify, write(PERSISTENT))
    assert result["verdict"] == "proved"
    assert set(result["requires"]) == {
        "n_cols <= out_stride",
        "(n_rows - 1) * x_stride + n_cols <= x_size",
        "(n_rows - 1) * out_stride + n_cols <= out_size",
        "grid.y == 1",
        "grid.z == 1",
    }
    assert result["limits"] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n_cols)\n", "n_rows)\n"),  # the mask of a column asks for rows
        ("& (cols[None, :] < n_cols)", ""),
        ("rows[:, None] * stride", "rows[:, None] * 1"),
    ],
)
def test_a_wrong_tile_gets_no_plain_proof(tileverify: CommandLine, old: str, new: str) -> None:
    assert old in TILE
    result = checked(tileverify, write(TILE.replace(old, new)))
    right = {"n_cols <= stride", "(n_rows - 1) * stride + n_cols <= out_size"}
    assert result["verdict"] != "proved" or not right <= set(result["requires"])


def test_strides_and_sizes_of_a_grouped_product_are_read_off_its_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = Path(write(MATMUL))
    (kernel,) = triton_kernels_of_file(source, scan_python(source))
    (note,) = inferred_triton_unit(kernel).launch.notes
    for array in (
        'a = "f32[M, K; strides=(am, ak)]"',
        'b = "f32[K, N; strides=(bk, bn)]"',
        'c = "f32[M, N; strides=(cm, cn)]"',
        "strides keep the elements of an array apart",
    ):
        assert array in note


@pytest.mark.slow
def test_what_is_inferred_of_a_product_is_written_and_proved_again(tileverify: CommandLine) -> None:
    ran = tileverify("init", write(MATMUL))
    assert "proved as written: 1" in ran.out + ran.err
    text = Path("kernels.tileverify.toml").read_text(encoding="utf-8")
    assert 'c = "f32[M, N; strides=(cm, cn)]"' in text
    assert 'grid = ["cdiv(M, 64) * cdiv(N, 64)"]' in text


def test_init_keeps_the_names_of_parameters(tileverify: CommandLine) -> None:
    assert tileverify("init", write(TILE)).code == 0
    text = Path("kernels.tileverify.toml").read_text(encoding="utf-8")
    assert '"n_cols <= stride"' in text
    assert 'out = "f32[out_size]"' in text


@pytest.mark.slow
def test_a_grouped_product_is_proved_without_a_spec(tileverify: CommandLine) -> None:
    result = checked(tileverify, write(MATMUL))
    assert result["verdict"] == "proved"
    assert set(result["requires"]) == {"grid.x <= cdiv(M, 64) * cdiv(N, 64)", "grid.y == 1", "grid.z == 1"}
    assert "strides keep the elements of an array apart" in str(result["notes"])


@pytest.mark.parametrize(("old", "new"), [("tl.float32", "tl.float32"), ("tl.float32", "tl.float16")])
def test_operands_of_a_product_get_a_type_that_triton_accepts(tileverify: CommandLine, old: str, new: str) -> None:
    source = """def product(out, a, b, BLOCK: tl.constexpr = 16):
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    left = tl.load(a + at).to(tl.float32)
    tl.store(out + at, tl.dot(left, tl.load(b + at)))
"""
    result = checked(tileverify, write(source.replace(old, new)))
    assert result["verdict"] == "proved"
    assert f'b = "{"f16" if new == "tl.float16" else "f32"}[b_size]"' in str(result["notes"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [("& (cols[None, :] < N)", "& (cols[None, :] < M)"), ("pid % in_group // rows_left", "pid % in_group")],
)
def test_a_wrong_product_is_not_proved_under_the_same_condition(tileverify: CommandLine, old: str, new: str) -> None:
    assert old in MATMUL
    result = checked(tileverify, write(MATMUL.replace(old, new)))
    right = {"grid.x <= cdiv(M, 64) * cdiv(N, 64)", "grid.y == 1", "grid.z == 1"}
    assert result["verdict"] != "proved" or set(result["requires"]) != right


# ------------------------------------------------------------------------------------------------ wrapped indices
WRAPPED = """kernel = "rows"
grid = [70000]
args = { out = "ARRAY", x = "ARRAY", stride = "i32 = 40000", n_rows = "i32 = 70000", n_cols = "i32 = 300", BLOCK = 512 }
""".replace("ARRAY", "f32[70000, 300; strides=(40000, 1)]")


def test_a_wrapped_index_is_named_and_widened(tileverify: CommandLine) -> None:
    ran = tileverify("check", write(ROWS, WRAPPED), "--no-cache")
    assert ran.code == 1
    first = next(line for line in ran.out.splitlines() if "error[TV302]" in line)
    assert "a 32-bit index wraps: `program_id(0)*40000` is " in first
    assert "which exceeds 2**31 - 1" in first
    assert ".to(tl.int64)" in ran.out
    assert "mask the access" not in ran.out


def test_what_leaves_an_array_without_a_wrap_is_masked(tileverify: CommandLine) -> None:
    small = WRAPPED.replace("70000", "70").replace("40000", "400").replace('"i32 = 300"', '"i32 = 500"')
    ran = tileverify("check", write(ROWS, small), "--no-cache")
    assert ran.code == 1
    assert "error[TV302]" in ran.out
    assert "wraps" not in ran.out
    assert "mask the access" in ran.out


def test_the_same_of_cutile(tileverify: CommandLine) -> None:
    pytest.importorskip("cuda.tile")
    Path("tiles.py").write_text(
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef rows(x, out, stride, TILE: ct.Constant[int]):\n"
        "    at = ct.bid(0) * stride + ct.arange(TILE, dtype=ct.int32)\n"
        "    ct.scatter(out, at, ct.gather(x, at, check_bounds=False), check_bounds=False)\n",
        encoding="utf-8",
    )
    Path("tiles.tileverify.toml").write_text(
        '[[launch]]\nkernel = "rows"\ngrid = [70000]\n'
        'args = { x = "f32[2799960768; index=i64]", out = "f32[2799960768; index=i64]", stride = "i32 = 40000", '
        "TILE = 256 }\n",
        encoding="utf-8",
    )
    out = tileverify("check", "tiles.py", "--no-cache").out
    assert "a 32-bit index wraps: `bid.x*40000 + lane` is " in out
    assert "ct.astype(ct.bid(0), ct.int64)" in out
    assert "check_bounds=True" not in out


# ------------------------------------------------------------------------------------------ denied limits, the gate
STRIDED = """kernel = "softmax"
args = { out = "ARRAY", x = "ARRAY", x_stride = "i32 = s", out_stride = "i32 = s", n_rows = "i32", n_cols = "i32",\
 BLOCK = 512 }
""".replace("ARRAY", "f32[n_rows, n_cols; strides=(s, 1)]")


def test_denied_limits_say_why_a_proved_kernel_fails(tileverify: CommandLine) -> None:
    source = write(PERSISTENT, STRIDED + 'limits = "deny"\n')
    ran = tileverify("check", source, "--no-cache")
    assert ran.code == 1
    assert 'exit code 1: 1 proved kernel fails this run, as size limits count as errors (--deny-limits, or limits = ' \
        '"deny")' in ran.out  # fmt: skip
    assert ">= 1" not in ran.out  # arrays may be empty: nothing needs them to have elements
    assert "exit code 1" in tileverify("check", source, "--no-cache", "-q").out


def test_where_nothing_wraps_nothing_is_denied(tileverify: CommandLine) -> None:
    wide = PERSISTENT.replace("row *", "row.to(tl.int64) *")
    ran = tileverify("check", write(wide, STRIDED), "--no-cache", "--deny-limits")
    assert ran.code == 0
    assert "limit " not in ran.out
    assert "exit code" not in ran.out


def test_a_needed_limit_says_what_the_proof_leaves_out(tileverify: CommandLine) -> None:
    first = "def first(out, BLOCK: tl.constexpr):\n    tl.store(out, 1.0)\n"
    spec = 'kernel = "first"\ngrid = [1]\nlimits = "deny"\nargs = { out = "f32[n]", BLOCK = 1 }\n'
    ran = tileverify("check", write(first, spec), "--no-cache")
    assert ran.code == 1
    assert "the proof needs the limit `n >= 1` and says nothing of launches with empty arrays" in ran.out
    assert 'add requires = ["n >= 1"] to the launch spec' in ran.out


def test_the_gate_says_that_it_refuses_warnings(tileverify: CommandLine) -> None:
    source = write(PERSISTENT, STRIDED)
    ran = tileverify("gate", source, "--spec", "kernels.tileverify.toml", "--allow-requires")
    assert ran.code == 1
    (answer,) = map(json.loads, ran.out.splitlines())
    assert answer["verdict"] == "proved"
    assert not answer["accepted"]
    (said,) = [reason for reason in answer["reasons"] if reason.startswith("warning")]
    assert "the kernel is proved, but the gate refuses warnings too" in said
    assert "compute the index in 64 bits" in said


GUESSED = """import triton
import triton.language as tl


@triton.jit
def norm(out, x, n, eps, scale, rounds, count: tl.int32, BLOCK: tl.constexpr, num_stages: tl.constexpr, S: tl.constexpr,
         WARPS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    for step in tl.range(0, rounds, num_stages=S):
        value += 1.0
    tl.store(out + at, value / (count + eps) * tl.full((BLOCK,), 1.0, tl.float32) * scale, mask=at < n)
"""


def test_what_only_makes_floats_is_a_float_and_options_are_small(tileverify: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "norm.py"
    file.write_text(GUESSED)
    code, out, _ = tileverify("check", str(file), "--no-cache")
    assert code == 0
    assumed = 'n = "i32"; eps = "i32"; scale = "f32"; rounds = "i32"; count = "i32"'
    assert assumed in out  # the sum of eps and an integer is an integer
    assert "BLOCK = 128; num_stages = 3; S = 3; WARPS = 4" in out
    file.write_text(GUESSED.replace("count + eps", "value + eps"))
    _, out, _ = tileverify("check", str(file), "--no-cache")
    assert 'eps = "f32"; scale = "f32"; rounds = "i32"; count = "i32"' in out
