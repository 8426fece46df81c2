"""Bytecode files and CUDA Tile C++ as sources: entries by symbol, arguments by position."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.written_kernel import written

from tileverify.contract.arguments import print_description
from tileverify.contract.launch import EntryParameter, KernelUnit, Role
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import I32, TOKEN, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.frontend.sources import bytecode_file
from tileverify.frontend.sources.bytecode_file import is_bytecode
from tileverify.frontend.sources.importing import import_file
from tileverify.pipeline import check_paths
from tileverify.results import Verdict
from tileverify.results.conditional import plain_name
from tileverify.system.errors import DecodeError, SourceError, SpecError

from .compiling import KERNELS, failed, results, unit

ADD = 'args = { x = "f32[N]", y = "f32[N]", out = "f32[N]" }\n'


needs_nvcc = pytest.mark.assembler("nvcc")


def bytecode(folder: Path, name: str = "add.tileirbc") -> Path:
    path = folder / name
    path.write_bytes(unit(f"{KERNELS / 'shapes.py'}::vector_add::any").bytecode)
    return path


def test_every_entry_under_every_spec_of_its_symbol(tmp_path: Path) -> None:
    path = bytecode(tmp_path)
    source = unit(f"{KERNELS / 'shapes.py'}::vector_add::any")
    (tmp_path / "add.tileverify.toml").write_text(f'[[launch]]\nkernel = "vector_add"\ngrid = ["cdiv(N, 128)"]\n{ADD}')
    of = unit(path)
    assert (of.kernel, of.symbol, of.launch.name) == ("vector_add", "vector_add", "0")
    assert of.bytecode == path.read_bytes()
    assert [(p.role, p.argument, p.dim) for p in of.parameters] == [
        (p.role, p.argument, p.dim) for p in source.parameters
    ]
    assert of.line == source.line


def test_without_a_spec_views_say_what_the_parameters_are(tmp_path: Path) -> None:
    of = unit(bytecode(tmp_path))
    assert of.launch.inferred
    assert of.launch.name == "inferred"
    assert [print_description(argument).strip('"') for argument in of.launch.arguments] == [
        "f32[arg1]", "i32", "i32",
        "f32[arg4]", "i32", "i32",
        "f32[arg7]", "i32", "i32",
    ]  # fmt: skip
    assert len(of.parameters) == 9


def of_unknown_type() -> bytes:
    """``odd(nibbles, places, out)``: each block marks the place that it finds."""
    builder = ModuleBuilder((13, 4))
    nibble = ScalarType("i4", 4)
    with builder.entry("odd", [tile(pointer(nibble)), tile(pointer(I32)), tile(pointer(I32))]) as f:
        _, places, out = f.parameters
        own = f.op("offset", ptr=places, off=f.op("get_tile_block_id")[0])
        place = f.op("load_ptr_tko", ptr=own, results=[tile(I32), TOKEN])[0]
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=out, off=place), val=f.constant(tile(I32), 1))
        f.op("return")
    return encode(builder.build())


def test_a_parameter_without_a_word_for_its_type_has_no_meaning(tmp_path: Path) -> None:
    path = bytecode(tmp_path)
    path.write_bytes(of_unknown_type())
    of = unit(path)
    assert (of.launch.name, of.launch.arguments, of.parameters) == ("inferred", (), ())
    assert of.notes == ("no launch spec for 'odd': the meaning of its parameters is unknown",)
    (result,) = check_paths([str(path)]).results
    assert result.verdict is Verdict.UNDECIDED  # and no internal error: what is in memory decides, and nobody knows it


def jit_bytecode(folder: Path, *parameters: object) -> Path:
    """What cuTile makes of a kernel under a symbol of its own, as its JIT does."""
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    kernel = vars(import_file(KERNELS / "shapes.py"))["scale_rows"]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v2())
    path = folder / "jit.tileirbc"
    with path.open("wb") as file:
        export_kernel(kernel, [signature], file, output_format="tileir_bytecode", bytecode_version="13.3")
    return path


def array_constraint(ndim: int, **facts: object) -> object:
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint

    plain = {"index_dtype": ct.int32, "stride_lower_bound_incl": 0, "alias_groups": (), "may_alias_internally": False}
    return ArrayConstraint(ct.float32, ndim, **{**plain, **facts})


def test_a_mangled_symbol_says_what_the_parameters_are(tmp_path: Path) -> None:
    import cuda.tile as ct
    from cuda.tile.compilation import ScalarConstraint

    contiguous = array_constraint(2, stride_constant=(None, 1), shape_divisible_by=16, base_addr_divisible_by=16)
    strided = array_constraint(2, shape_constant=(None, 1), index_dtype=ct.int64)
    scalars = (ScalarConstraint(ct.float32), ScalarConstraint(ct.int32))
    path = jit_bytecode(tmp_path, contiguous, strided, *scalars, 64)
    of = unit(path)
    assert of.kernel.startswith("scale_rows_Kt2_")
    assert {argument.name: print_description(argument) for argument in of.launch.arguments} == {
        "p0": '"f32[p0_0, p0_1]"',
        "p1": '"f32[p1_0, 1; strides=(p1_stride0, p1_stride1); index=i64]"',
        "p2": '"f32"',
        "p3": '"i32"',
    }
    assert of.launch.inferred
    assert [(p.role, p.argument) for p in of.parameters[-2:]] == [(Role.SCALAR, "p2"), (Role.SCALAR, "p3")]
    assert of.notes[0].startswith('no launch spec: the symbol says p0 = "f32[p0_0, p0_1]"; p1 = ')


def test_a_mangled_symbol_with_overlapping_elements_is_left_alone(tmp_path: Path) -> None:
    import cuda.tile as ct
    from cuda.tile.compilation import ScalarConstraint

    overlapping = array_constraint(2, stride_constant=(None, 1), may_alias_internally=True)
    scalars = (ScalarConstraint(ct.float32), ScalarConstraint(ct.int32))
    of = unit(jit_bytecode(tmp_path, overlapping, overlapping, *scalars, 64))
    assert (of.launch.arguments, of.parameters) == ((), ())


def test_bytecode_is_known_by_its_magic(tmp_path: Path) -> None:
    path = bytecode(tmp_path, "module.bin")
    (tmp_path / "other.bin").write_bytes(b"\x7fELF")
    assert is_bytecode(path)
    assert not is_bytecode(tmp_path / "other.bin")
    assert not is_bytecode(tmp_path)
    assert [each.file for each in results(tmp_path)] == [path]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ('{ x = "f32[N]" }', "fill 3 entry parameters (x 3), but 'vector_add' has 9"),
        ('{ x = "f32[N]", y = "f32[N]", out = "f32[N, M]" }', "fill 11 entry parameters (x 3, y 3, out 5)"),
        ('{ x = "f16[N]", y = "f32[N]", out = "f32[N]" }', "the pointer of 'x' would be entry parameter 0"),
        ('{ x = "f32[N]", y = "f32[N]", a = "i32", b = "i32", c = "i32" }', "the scalar of 'a' would be entry"),
        ('{ z = "i32", x = "f32[N, M]", out = "f32[N]" }', "the scalar of 'z' would be entry parameter 0"),
    ],
)
def test_arguments_must_fit_the_entry(tmp_path: Path, args: str, problem: str) -> None:
    path = bytecode(tmp_path)
    (tmp_path / "add.tileverify.toml").write_text(f'[[launch]]\nkernel = "vector_add"\nargs = {args}\n')
    error = failed(path).error
    assert isinstance(error, SpecError)
    assert problem in error.message
    assert str(tmp_path / "add.tileverify.toml") in str(error)


def test_a_spec_for_an_entry_that_does_not_exist(tmp_path: Path) -> None:
    path = bytecode(tmp_path)
    (tmp_path / "add.tileverify.toml").write_text('[[launch]]\nkernel = "vector_ad"\n')
    first, _ = results(path)
    assert "there is no kernel 'vector_ad'; did you mean 'vector_add'?" in str(first.error)  # type: ignore[union-attr]


def test_a_source_of_the_same_name_shares_the_spec(tmp_path: Path) -> None:
    path = bytecode(tmp_path)
    written(tmp_path, "", '[[launch]]\nkernel = "of_the_python_file"\n', "add")
    assert unit(path).launch.inferred


def test_corrupt_bytecode(tmp_path: Path) -> None:
    path = bytecode(tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    assert isinstance(failed(path).error, DecodeError)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("vector_add", "vector_add"),
        ("_Z5saxpyPfPKffi", "saxpy"),
        ("_ZN3foo3barEPf", "bar"),
        ("_Z6kernelIfEvPT_", "kernel"),
        ("_ZN12_GLOBAL__N_13fooEPf", "foo"),
        ("_rms_norm_Kt2_A2f32_1v4l0_2t1_p16_I128", "_rms_norm"),
        ("_Z", "_Z"),
        ("_Z9999x", "_Z9999x"),
    ],
)
def test_plain_names_of_symbols(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


SAXPY = """
#include <cuda_tile.h>
namespace ct = cuda::tiles;
using row = ct::tile<float, ct::shape<128>>;
using ints = ct::tile<int, ct::shape<128>>;

__tile_global__ void saxpy(float* __restrict__ x, float const* __restrict__ y, float a, int n) {
  auto lane = ct::iota<ints>() + int(ct::bid().x) * 128;
  auto live = lane < n;
  ct::store_masked(x + lane, a * ct::load_masked(x + lane, live) + ct::load_masked(y + lane, live), live);
}
"""


@needs_nvcc
def test_tile_cpp(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY)
    (tmp_path / "saxpy.tileverify.toml").write_text(
        '[[launch]]\nkernel = "saxpy"\nargs = { x = "f32[n]", y = "f32[n]", a = "f32", n = "i32" }\n'
    )
    of = unit(path)
    assert (of.kernel, of.symbol, of.line) == ("saxpy", "_Z5saxpyPfPKffi", 7)
    assert of.parameters == (
        EntryParameter(Role.POINTER, "x"),
        EntryParameter(Role.POINTER, "y"),
        EntryParameter(Role.SCALAR, "a"),
        EntryParameter(Role.SCALAR, "n"),
    )
    assert of.compile_ms > 0
    assert unit(f"{path}::_Z5saxpyPfPKffi").bytecode == of.bytecode


@needs_nvcc
def test_tile_cpp_that_does_not_compile(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY.replace("lane < n;", "lane < m;"))
    error = failed(path).error
    assert isinstance(error, SourceError)
    assert (error.file, error.line) == (str(path), 9)
    assert error.message == 'nvcc: identifier "m" is undefined'


def test_tile_cpp_without_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode_file, "find_nvcc", lambda: None)
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY)
    error = failed(path).error
    assert isinstance(error, SourceError)
    assert "pip install" in error.message


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo \"nvcc fatal   : Unknown option '--enable-tile'\" >&2; exit 1", "this nvcc cannot compile tile code"),
        ("echo 'segmentation fault' >&2; exit 139", "nvcc failed: segmentation fault"),
        ("exit 0", "nvcc failed: no message"),
        ("sleep 60", "nvcc took more than 0 seconds"),
    ],
)
def test_an_nvcc_that_misbehaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, problem: str) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{script}\n")
    nvcc.chmod(0o755)
    subprocess.run(["/bin/sh", "-n", str(nvcc)], check=True)
    monkeypatch.setattr(bytecode_file, "find_nvcc", lambda: nvcc)
    monkeypatch.setattr(bytecode_file, "TIMEOUT_S", 0.4)
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY)
    assert problem in failed(path).error.message


def test_ordinary_cuda_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "plain.cu").write_text("__global__ void k() {}\n")
    bytecode(tmp_path)
    assert [type(each) for each in results(tmp_path)] == [KernelUnit]
