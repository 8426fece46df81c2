"""Argument lists of cuTile Rust: shared tensors, partitioned outputs, and the grid that these give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.command_line import CommandLine

from tileverify.contract.arguments import parse_description, print_array
from tileverify.contract.launch import ArrayArgument, EntryParameter, LaunchSpec, Role
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import launches_of_text
from tileverify.corpus import ROOT
from tileverify.corpus.cutile_rust.generator.entry import Tensor, entry
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import F16, I32, ModuleBuilder
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.frontend.sources.abi import entry_parameters
from tileverify.frontend.sources.bytecode_file import bytecode_entries, entry_unit
from tileverify.launching.bundle.build import build_bundle
from tileverify.launching.bundle.manifest import bundle_bytes
from tileverify.launching.bundled import load
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.results import Verdict
from tileverify.system.errors import SpecError
from tileverify.verifier.certificate.launches import essence, launch_from_json, launch_to_json


def launch(*arguments: str, more: str = "") -> LaunchSpec:
    described = "\n".join(f'a{number} = "{text}"' for number, text in enumerate(arguments))
    (raw,) = launches_of_text(f'[[launch]]\nkernel = "k_entry"\n{more}\n[launch.args]\n{described}\n', Path("spec"))
    return build_launch(raw, "0", None)


# --------------------------------------------------------------------------------------------- descriptions
def test_a_shared_tensor_is_an_array() -> None:
    assert parse_description("x", "&f16[M, 128]") == parse_description("x", "f16[M, 128]")
    assert parse_description("x", "& f8e4m3fn[M; strides=(2,)]") == parse_description("x", "f8e4m3[M; strides=(2,)]")


@pytest.mark.parametrize("text", ["&mut f16[M, 2 * N] @ [1, 32]", "&mut f32[N; strides=(2)] @ [128]"])
def test_an_output_is_written_as_it_is_read(text: str) -> None:
    array = parse_description("out", text)
    assert isinstance(array, ArrayArgument)
    assert print_array(array) == text
    assert array.partition == ((1, 32) if "," in text else (128,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("&mut f16[M, N]", "whose tile stands behind it: '@ [1, 1]'"),
        ("&f16[M, N] @ [1, 32]", "a shared tensor has no partition"),
        ("&mut f16[M, N] @ [1]", "the tensor has 2 axes, the tile 1"),
        ("&mut f16[A, B, C, D] @ [1, 1, 1, 1]", "1 to 3"),
        ("&mut f16[M] @ 32", "stands in brackets"),
        ("&mut f16[M] @ [0]", "numbers from 1 on"),
        ("&mut f16[M] @ [T]", "numbers from 1 on"),
        ("&mut f16[M; index=i64] @ [32]", "index=i64 cannot be"),
        ("&mut half[M] @ [32]", ""),
        ("&mut f17[M] @ [32]", "unknown element type 'f17'"),
        ("&mut f16", "describes no tensor"),
        ("&i32", "describes no tensor"),
    ],
)
def test_a_mistake_is_named_with_its_key(text: str, words: str) -> None:
    if not words:
        assert isinstance(parse_description("a0", text), ArrayArgument)
        return
    with pytest.raises(SpecError) as raised:
        launch(text)
    assert words in raised.value.message
    assert "args.a0: " in raised.value.message


# ------------------------------------------------------------------------------------------------- the grid
@pytest.mark.parametrize(
    ("outputs", "grid", "requires"),
    [
        (["&mut f16[M] @ [64]"], ("cdiv(M, 64)",), ()),
        (["&mut f16[M, N] @ [1, 32]"], ("M", "cdiv(N, 32)"), ()),
        (["&mut f16[100, 256] @ [32, 64]"], ("4", "4"), ()),
        (["&mut f16[A, B, C] @ [1, 2, 4]"], ("A", "cdiv(B, 2)", "cdiv(C, 4)"), ()),
        (["&mut f32[B] @ [1]", "&mut i32[B] @ [1]"], ("B",), ()),
        (["&mut f32[M, N] @ [1, 64]", "&mut f32[M] @ [1]"], ("M", "cdiv(N, 64)"), ("cdiv(N, 64) == 1",)),
    ],
)
def test_the_grid_is_that_of_the_partitions(outputs: list[str], grid: tuple[str, ...], requires: Sequence[str]) -> None:
    found = launch("&f16[K]", *outputs)
    assert (found.grid_text, found.requires_text) == (grid, tuple(requires))
    assert launch("&f16[K]", *outputs, more='grid = ["K"]').grid_text == ("K",)


def test_outputs_of_different_grids_are_no_launch() -> None:
    with pytest.raises(SpecError, match="different numbers of tiles"):
        launch("&mut f16[64] @ [32]", "&mut f16[64] @ [16]")


# -------------------------------------------------------------------------------------- the entry's parameters
def test_arguments_fill_the_entry_s_parameters_in_order() -> None:
    found = entry_parameters(launch("&f16[M, 128]", "f32", "&mut f16[M, 128] @ [1, 32]"))
    assert found == (
        EntryParameter(Role.POINTER, "a0"),
        EntryParameter(Role.SHAPE, "a0", 0),
        EntryParameter(Role.SHAPE, "a0", 1),
        EntryParameter(Role.STRIDE, "a0", 0),
        EntryParameter(Role.STRIDE, "a0", 1, 1),
        EntryParameter(Role.SCALAR, "a1"),
        EntryParameter(Role.POINTER, "a2"),
        EntryParameter(Role.SHAPE, "a2", 0),
        EntryParameter(Role.SHAPE, "a2", 1),
        EntryParameter(Role.STRIDE, "a2", 0),
        EntryParameter(Role.STRIDE, "a2", 1, 1),
        EntryParameter(Role.PARTITION, "a2", 0, 1),
        EntryParameter(Role.PARTITION, "a2", 1, 32),
        EntryParameter(Role.PARTITION, "a2", 2),
        EntryParameter(Role.PARTITION, "a2", 3),
    )


def copied(fill_index: int | None = None) -> bytes:
    """``(x: &[-1, 32] of f16, n: i32, out: &mut [-1, 32] of f16)``: rows are copied; ``fill_index``: the number of the
    entry's parameters that it adds to the row that it reads."""
    module = ModuleBuilder((13, 3))
    tensors: list[Tensor | ScalarType] = [Tensor(F16, (None, 32)), I32, Tensor(F16, (None, 32), output=True)]
    with entry(module, "k", tensors) as k:
        x, out = k.views
        row, column, _ = k.blocks()
        place = row if fill_index is None else k.add(row, k.f.parameters[fill_index])
        out.store(x.load((1, 32), [place, column]), (1, 32), [row, column])
    return encode(module.build())


LIST = ("&f16[M, 32]", "i32", "&mut f16[M, 32] @ [1, 32]")
ROWS = ("&f16[16 * M, 32]", "i32", "&mut f16[16 * M, 32] @ [1, 32]")


def test_addresses_come_out_as_the_compiler_assumes_them_and_sizes_are_a_promise() -> None:
    (found,) = bytecode_entries(copied(), Path("k.tileirbc"))
    result = check_unit(entry_unit(found, launch(*ROWS)))
    assert result.verdict is Verdict.PROVED
    assert result.requires == ("a0.address % 16 == 0", "a2.address % 16 == 0")
    any_rows = check_unit(entry_unit(found, launch(*LIST)))
    assert any_rows.verdict is Verdict.REFUTED
    assert any_rows.findings[0].code == "TV401"
    assert [hint.requires for hint in any_rows.findings[0].hints if hint.requires] == [("M % 16 == 0",)]


@pytest.mark.parametrize("number", [11, 12, 13, 14])
def test_a_kernel_that_reads_a_number_of_its_partition_is_refused(number: int) -> None:
    (found,) = bytecode_entries(copied(number), Path("k.tileirbc"))
    result = check_unit(entry_unit(found, launch(*LIST)))
    assert (result.verdict, [finding.code for finding in result.findings]) == (Verdict.ERROR, ["TV002"])
    (finding,) = result.findings
    assert (
        f'launch 1 ("k_entry"), args.a2: the kernel reads number {number - 11} of those that come with a partition'
        in finding.message
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("&f16[M, 32]", "&mut f16[M, 32] @ [1, 32]"), "fill 14 entry parameters (a0 5, a1 9), but 'k_entry' has 15"),
        (("&f16[M, 32]", "i32", "&f16[M, 32]"), "fill 11 entry parameters"),
        (("&f16[M, 32]", "f32", "&mut f16[M, 32] @ [1, 32]"), "which has the type i32, but the launch passes f32"),
        (("&f16[M, 32]", "i32", "&mut f32[M, 32] @ [1, 32]"), "which has the type ptr<f16>"),
    ],
)
def test_a_list_that_is_not_the_function_s_is_refused(arguments: tuple[str, ...], words: str) -> None:
    (found,) = bytecode_entries(copied(), Path("k.tileirbc"))
    with pytest.raises(SpecError) as raised:
        entry_unit(found, launch(*arguments))
    assert words in raised.value.message


def test_certificates_hold_partitions() -> None:
    found = launch(*LIST)
    assert essence(launch_from_json(launch_to_json(found))) == essence(found)


# ------------------------------------------------------------------------------------------- what users do
def test_the_other_commands_take_such_lists(tmp_path: Path, tileverify: CommandLine) -> None:
    file, proofs = tmp_path / "rows.tileirbc", tmp_path / "proofs"
    file.write_bytes((ROOT / "cutile_rust" / "rows.tileirbc").read_bytes())
    source = ROOT / "cutile_rust" / "rows.tileverify.toml"
    file.with_name("rows.tileverify.toml").write_text(source.read_text())
    target = f"{file}::rms_norm_f16_entry"
    proofs.mkdir()
    assert tileverify("check", "--format", "json", "--certificate", str(proofs), target).code == 0
    assert "write out" in tileverify("footprint", target).out
    ran = tileverify("run", target, "--size", "M=1")
    assert ran.code == 0, ran.err
    (certificate,) = proofs.glob("*.tvcert.json")
    again = tileverify("recheck", str(certificate))
    assert again.code == 0, again.out
    assert "out = &mut f16[16 * M, 256] @ [1, 256]" in again.out


def test_a_bundle_runs_with_the_function_s_arguments(tmp_path: Path) -> None:
    (found,) = bytecode_entries(copied(), tmp_path / "k.tileirbc")
    unit = entry_unit(found, launch(*ROWS))
    bundle = build_bundle(unit, check_unit(unit, CheckOptions(certificate=True)), solver_version(), None, ())
    (tmp_path / "k.tvk").write_bytes(bundle_bytes(bundle))
    kernel = load(tmp_path / "k.tvk", trust_proof=True)
    x, out = (aligned(np.float16, 32, 32) for _ in range(2))
    x[:] = np.arange(1024).reshape(32, 32)
    kernel.launch(None, None, (x, 7, out))
    np.testing.assert_array_equal(out, x)


def aligned(dtype: type, *shape: int) -> NDArray[Any]:
    """Zeros at an address that is divisible by 16."""
    room = np.zeros(int(np.prod(shape)) * np.dtype(dtype).itemsize + 16, np.uint8)
    start = -room.ctypes.data % 16
    return room[start : start + len(room) - 16].view(dtype).reshape(shape)
