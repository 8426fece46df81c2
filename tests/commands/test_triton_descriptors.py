"""Tensor descriptors that the host passes to Triton kernels: described, proved, refuted, run, with their errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify import LaunchRefused, TileVerifyError, launch, load

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

HEAD = "import triton\nimport triton.language as tl\n\n\n"
DOUBLE = """@triton.jit
def part(d, i, j):
    return d.load([i, j])


@triton.jit
def double(x, out, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM
    target = out
    for j in range(0, x.shape[1], BN):
        target.store([i, j], part(x, i, j) * 2)
"""
LAUNCH = """[[launch]]
kernel = "double"
grid = ["cdiv(M, 16)"]
requires = ["N % 4 == 0", "N < 2 ** 30"]
args.x = { desc = "f32[M, N]", block = [16, 32] }
args.out = { desc = "f32[M, N]", block = [16, 32] }
args.BM = 16
args.BN = 32
"""


def write(source: str, spec: str = "", name: str = "kernels") -> str:
    Path(f"{name}.py").write_text(HEAD + source, encoding="utf-8")
    if spec:
        Path(f"{name}.tileverify.toml").write_text(spec, encoding="utf-8")
    return f"{name}.py"


def result_of(tileverify: CommandLine, source: str) -> dict[str, object]:
    (result,) = json.loads(tileverify("check", source, "--format", "json").out)["results"]
    assert isinstance(result, dict)
    return result


def test_what_triton_demands_of_addresses_comes_out_as_clauses(tileverify: CommandLine) -> None:
    result = result_of(tileverify, write(DOUBLE, LAUNCH))
    assert result["verdict"] == "proved"
    assert result["requires"] == ["x.address % 16 == 0", "out.address % 16 == 0"]


def test_rows_that_are_not_aligned_are_at_fault(tileverify: CommandLine) -> None:
    ran = tileverify("check", write(DOUBLE, LAUNCH.replace('"N % 4 == 0", ', "")))
    assert ran.code == 1
    assert "error[TV401]" in ran.out
    assert "would be proved if `N % 4 == 0`" in ran.out


def test_a_block_of_a_neighbour_is_a_race(tileverify: CommandLine) -> None:
    source = write(DOUBLE.replace("program_id(0) * BM", "program_id(0) * 8"), LAUNCH)
    assert {finding["code"] for finding in result_of(tileverify, source)["findings"]} == {"TV101"}  # type: ignore[attr-defined]


def test_a_descriptor_without_a_spec_is_guessed_at(tileverify: CommandLine) -> None:
    source = write(DOUBLE.replace("BM: tl.constexpr, BN: tl.constexpr", "BM: tl.constexpr = 16, BN: tl.constexpr = 64"))
    result = result_of(tileverify, source)
    assert 'x = { desc = "f32[x_0, x_1]", block = [16, 64] }' in str(result["notes"])
    assert {"x.address % 16 == 0", "x_1 % 4 == 0"} <= set(result["requires"])  # type: ignore[call-overload]
    assert tileverify("init", source).code == 0
    assert "{ desc = " in Path("kernels.tileverify.toml").read_text(encoding="utf-8")
    assert tileverify("check", source).code == 0


def test_wide_sizes_are_refused_where_the_launcher_passes_32_bits(tileverify: CommandLine) -> None:
    wide = LAUNCH.replace("f32[M, N]", "f32[M, N; index=i64]").replace(', "N < 2 ** 30"', "")
    result = result_of(tileverify, write(DOUBLE, wide))
    assert result["verdict"] == "proved"
    assert {"M < 2 ** 31", "N < 2 ** 31"} & set(result["limits"])  # type: ignore[call-overload]


def test_descriptors_are_certified_run_built_and_compared(tileverify: CommandLine) -> None:
    source = write(DOUBLE, LAUNCH.replace("N % 4 == 0", '", "'.join(("N % 4 == 0", *ALIGNED))))
    assert tileverify("check", source, "--certificate", "proofs").code == 0
    assert tileverify("recheck", "proofs").out.startswith("confirmed")
    assert tileverify("run", f"{source}::double", "--size", "M=20", "--size", "N=36").code == 0
    reference = "def right(x, out):\n    return {'out': 2 * x}\n\n\ndef wrong(x, out):\n    return {'out': x}\n"
    Path("reference.py").write_text(reference, encoding="utf-8")
    assert tileverify("equal", f"{source}::double", "--reference", "reference.py::right").code == 0
    assert tileverify("equal", f"{source}::double", "--reference", "reference.py::wrong").code == 1
    assert tileverify("build", f"{source}::double", "-o", "double.tvk", "--arch", "none").code == 0
    Path("kernels.py").unlink()
    assert tileverify("show", "double.tvk", "--prove").code == 0


ALIGNED = ("x.address % 16 == 0", "out.address % 16 == 0")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("block = [16, 32]", "block = [16]", "block = [16] has 1 axes, 'f32[M, N]' has 2; both have as many, 1 to 5"),
        ("block = [16, 32]", "block = [16, 24]", "the block of a tensor descriptor is a list of powers of two"),
        ("block = [16, 32]", "block = [16, 2]", "block = [16, 2] is 8 bytes wide; Triton takes 16 or more"),
        ("block = [16, 32]", "block = [2048, 1024]", "has more than 1048576 elements"),
        ("block = [16, 32]", "blocks = [16, 32]", "unknown key 'blocks'; did you mean 'block'?"),
        ("block = [16, 32]", 'block = [16, 32], padding = "one"', "loads of f32 pad with 'zero' or 'nan'"),
        ("f32[M, N]", "f32[M, N; strides=(1, M)]", "the last stride of a tensor descriptor is 1"),
        ("f32[M, N]", "i32", "'i32' is no array; a tensor descriptor is { desc ="),
    ],
)
def test_a_wrong_description_is_one_sentence_at_its_line(
    tileverify: CommandLine, old: str, new: str, told: str
) -> None:
    ran = tileverify("check", write(DOUBLE, LAUNCH.replace(old, new, 1)))
    assert ran.code == 2
    assert told in ran.out
    assert "kernels.tileverify.toml:5:" in ran.out


def test_a_pointer_in_place_of_a_descriptor_is_refused_at_its_use(tileverify: CommandLine) -> None:
    ran = tileverify("check", write(DOUBLE, LAUNCH.replace('{ desc = "f32[M, N]", block = [16, 32] }', '"f32[M, N]"')))
    assert ran.code == 2
    assert "Triton rejects 'double'" in ran.out


def test_a_cutile_kernel_takes_no_descriptor(tileverify: CommandLine) -> None:
    pytest.importorskip("cuda.tile")
    source = "@ct.kernel\ndef double(x, out):\n    ct.store(out, (0,), ct.load(x, (0,), (16,)))\n"
    Path("tiles.py").write_text(f"import cuda.tile as ct\n\n\n{source}", encoding="utf-8")
    Path("tiles.tileverify.toml").write_text(LAUNCH.replace("args.BM = 16\nargs.BN = 32\n", ""), encoding="utf-8")
    ran = tileverify("check", "tiles.py")
    assert ran.code == 2
    assert "'double' is no Triton kernel, so it takes no tensor descriptor" in ran.out


def test_ir_of_the_cache_has_the_block_that_the_spec_says(tileverify: CommandLine) -> None:
    from tileverify.frontend.sources.fixed_inputs import scan_python
    from tileverify.frontend.triton.triton_kernels import triton_ir, triton_kernels_of_file

    source = Path(write(DOUBLE))
    kernel = next(each for each in triton_kernels_of_file(source, scan_python(source)) if each.name == "double")
    passed = dict.fromkeys(("x", "out"), "tensordesc<fp32[16, 32]>")
    constants = {"BM": 16, "BN": 32}
    text = triton_ir(kernel, {**passed, **dict.fromkeys(constants, "constexpr")}, constants, {})
    Path("double.ttir").write_text(text, encoding="utf-8")
    spec = Path("double.tileverify.toml")
    spec.write_text(LAUNCH.replace("args.BM = 16\nargs.BN = 32\n", ""), encoding="utf-8")
    assert result_of(tileverify, "double.ttir")["verdict"] == "proved"
    spec.write_text(spec.read_text(encoding="utf-8").replace("[16, 32]", "[16, 64]", 1), encoding="utf-8")
    assert "args.x: 'double' takes a tensor descriptor with block = [16, 32]" in tileverify("check", "double.ttir").out
    spec.unlink()
    assert result_of(tileverify, "double.ttir")["verdict"] == "proved"


ORDER = """@triton.jit
def both(x, d, N, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * N + tl.arange(0, BN)[None, :]
    {first}
    tl.debug_barrier()
    {second}
"""
ORDER_LAUNCH = """[[launch]]
kernel = "both"
grid = [1]
requires = ["x is d", "x.address % 16 == 0"]
args = { x = "f32[16, 32]", d = { desc = "f32[16, 32]", block = [16, 32] }, N = "i32 = 32", BM = 16, BN = 32 }
"""


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("tl.store(x + at, 1.0)", "d.store([0, 0], d.load([0, 0]) + 1)", "undecided"),
        ("tl.store(x + at, 1.0)", "d.store([0, 0], tl.full((BM, BN), 1.0, tl.float32))", "undecided"),
        ("d.store([0, 0], d.load([0, 0]) + 1)", "tl.store(x + at, tl.load(x + at) + 1)", "proved"),
    ],
)
def test_no_barrier_orders_a_descriptor_behind_plain_stores(
    tileverify: CommandLine, first: str, second: str, verdict: str
) -> None:
    source = write(ORDER.format(first=first, second=second), ORDER_LAUNCH)
    assert result_of(tileverify, source)["verdict"] == verdict
    Path("kernels.tileverify.toml").write_text(ORDER_LAUNCH + 'order = "program"\n', encoding="utf-8")
    assert result_of(tileverify, source)["verdict"] == "proved"


class Tensor(np.ndarray):
    """As much of a tensor of torch as Triton's host code asks for."""

    def data_ptr(self) -> int:
        return self.ctypes.data

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.itemsize for stride in self.strides)


def tensor(rows: int, columns: int) -> Tensor:
    """A tensor of f32 whose address 16 divides."""
    memory = np.zeros(rows * columns + 4, np.float32)
    start = -memory.ctypes.data % 16 // 4
    return memory[start : start + rows * columns].reshape(rows, columns).view(Tensor)


def test_a_launch_takes_the_descriptors_of_triton(tileverify: CommandLine) -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    write(DOUBLE, LAUNCH)
    assert tileverify("build", "kernels.py::double", "-o", "double.tvk", "--arch", "none").code == 0
    double = load("double.tvk")
    x, out = tensor(20, 36), tensor(20, 36)
    x[:] = np.arange(720).reshape(20, 36)
    block = [16, 32]
    whole = (TensorDescriptor.from_tensor(x, block), TensorDescriptor.from_tensor(out, block), 16, 32)
    launch(None, (2,), double, whole)
    assert (out == 2 * x).all()
    out[:] = 0
    part = [TensorDescriptor(each, [5, 36], [36, 1], block) for each in (x, out)]
    launch(None, (1,), double, (*part, 16, 32))
    assert (out[:5] == 2 * x[:5]).all()
    assert not out[5:].any()
    wider = TensorDescriptor.from_tensor(x, [16, 64])
    with pytest.raises(LaunchRefused, match=r"compiled for a descriptor `x` with block \[16, 32\] and padding 'zero'"):
        launch(None, (2,), double, (wider, *whole[1:]))
    longer = [TensorDescriptor(each, [21, 36], [36, 1], block) for each in (x, out)]
    with pytest.raises(TileVerifyError, match="the descriptor `x` of 'double' reaches behind its tensor"):
        launch(None, (2,), double, (*longer, 16, 32))
    odd = TensorDescriptor(x, [20, 32], [36, 1], block)
    with pytest.raises(LaunchRefused, match="TV502"):
        launch(None, (2,), double, (odd, *whole[1:]))
