"""A contract and bytecode mean the same bits: whoever brings both together refuses other widths.

A proof takes a size for what its bytecode can hold, a guard for what the contract says.  Where these differ, launches
run that nobody proved; each test here is one of the places where they meet.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.launch import LaunchSpec, Role
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import RawLaunch
from tileverify.frontend.bytecode import encode
from tileverify.frontend.bytecode.builder import F32, F64, I1, I8, I16, I32, I64, ModuleBuilder, pointer, tile
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.frontend.sources.abi import entry_parameters, fitting_parameters, mismatch
from tileverify.pipeline import check_paths
from tileverify.results import Verdict
from tileverify.system.errors import SpecError

WIDTHS = {8: I8, 16: I16, 32: I32, 64: I64}


def last_element(size: ScalarType, stride: ScalarType) -> bytes:
    """``x[N - 1] = 1`` in each block of one, where N is read in the width that the bytecode says."""
    builder = ModuleBuilder((13, 4))
    with builder.entry("last_element", [tile(pointer(F32)), tile(size), tile(stride)]) as f:
        x, n, _ = f.parameters
        place = f.op("subi", lhs=n, rhs=f.constant(tile(size), 1))
        wide = place if size == I64 else f.op("exti", s=place, results=[tile(I64)], sgn="signed")
        f.op("store_ptr_tko", ptr=f.op("offset", ptr=x, off=wide), val=f.constant(tile(F32), 1))
        f.op("return")
    return encode(builder.build())


def written(folder: Path, code: bytes, array: str) -> Path:
    path = folder / "last_element.tileirbc"
    path.write_bytes(code)
    (folder / "last_element.tileverify.toml").write_text(
        f'[[launch]]\nkernel = "last_element"\ngrid = [1]\nrequires = ["N >= 1"]\nargs = {{ x = "{array}" }}\n'
    )
    return path


@pytest.mark.parametrize("said", [32, 64])
@pytest.mark.parametrize(("size", "stride"), list(product(WIDTHS, WIDTHS)))
def test_sizes_and_strides_are_as_wide_as_the_contract_says(tmp_path: Path, size: int, stride: int, said: int) -> None:
    array = "f32[N]" if said == 32 else "f32[N; index=i64]"
    (result,) = check_paths([str(written(tmp_path, last_element(WIDTHS[size], WIDTHS[stride]), array))]).results
    if size == stride == said:
        assert (result.verdict, result.requires) == (Verdict.PROVED, ())
        return
    wrong = size if size != said else stride
    what = f"the {'size' if size != said else 'stride'} 0 of 'x'".replace("size", "shape")
    assert result.verdict is Verdict.ERROR
    assert what in result.findings[0].message
    assert f"the type i{wrong}, but the launch passes i{said}" in result.findings[0].message


def launch(args: str) -> LaunchSpec:
    raw = RawLaunch({"kernel": "k", "args": json.loads(args)}, "k.tileverify.toml", 1, 0)
    return build_launch(raw, "0", None)


@pytest.mark.parametrize("type_", ELEMENT_TYPES)
def test_a_scalar_is_of_its_own_type(type_: str) -> None:
    spec = launch(f'{{"s": "{type_}"}}')
    names = {name for element in ELEMENT_TYPES.values() for name in element.tile_ir}
    for name in names:
        fits = name in ELEMENT_TYPES[type_].tile_ir
        assert (mismatch(entry_parameters(spec), spec, [name], "k") is None) == fits
    assert mismatch(entry_parameters(spec), spec, ["ptr<i32>"], "k") is not None


def test_every_role_has_one_width() -> None:
    """Every parameter in turn in every other type: none may pass."""
    spec = launch(
        '{"x": "f16[M, N; strides=(ld, 1)]", "xs": {"list": "f32[K]", "length": "L"}, "s": "u8", "b": "bool", '
        '"o": "&mut f16[M] @ [32]", "ys": {"addresses": "f32[K]", "length": "L"}}'
    )
    parameters = entry_parameters(spec)
    types = [
        "ptr<f16>",
        "i32",
        "i32",
        "i32",
        "i32",
        "ptr<i64>",
        "i32",
        "i8",
        "i1",
        "ptr<f16>",
        "i32",
        "i32",
        "i32",
        "i32",
        "ptr<i64>",
    ]
    assert fitting_parameters(spec, types, "k") == parameters
    others = ["i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64", *(f"ptr<{name}>" for name in ("i8", "i64", "f16"))]
    for place, parameter in enumerate(parameters):
        allowed = {types[place]} | ({"i1", "i8"} if parameter.argument == "b" else set())
        for other in set(others) - allowed:
            changed = [*types[:place], other, *types[place + 1 :]]
            problem = mismatch(parameters, spec, changed, "k")
            assert problem is not None
            assert f"'{parameter.argument}'" in problem
            assert other in problem
            with pytest.raises(SpecError):
                fitting_parameters(spec, changed, "k")
    assert {parameter.role for parameter in parameters} == set(Role)


# --------------------------------------------------------------------- where a proof meets other bytecode later
def test_a_certificate_of_another_width_is_rejected(tmp_path: Path, tileverify: CommandLine) -> None:
    """One who writes certificates by hand leaves the hashes right and changes what the contract says."""
    path = written(tmp_path, last_element(I32, I32), "f32[N]")
    assert tileverify("check", str(path), "--certificate", str(tmp_path / "out")).code == 0
    (file,) = (tmp_path / "out").glob("*.tvcert.json")
    assert tileverify("recheck", str(file), "--bytecode", str(path)).code == 0
    document = json.loads(file.read_text())
    document["launch"]["arguments"][0]["is"] = "f32[N; index=i64]"
    file.write_text(json.dumps(document))
    assert tileverify("recheck", str(file), "--bytecode", str(path)).code == 1


def test_floats_have_widths_too(tmp_path: Path) -> None:
    builder = ModuleBuilder((13, 4))
    with builder.entry("last_element", [tile(F64), tile(I1)]) as f:
        f.op("return")
    path = tmp_path / "last_element.tileirbc"
    path.write_bytes(encode(builder.build()))
    for a, b, fits in (("f64", "bool", True), ("f32", "bool", False), ("f64", "i32", False), ("i64", "bool", False)):
        spec = f'[[launch]]\nkernel = "last_element"\nargs = {{ a = "{a}", b = "{b}" }}\n'
        (tmp_path / "last_element.tileverify.toml").write_text(spec)
        (result,) = check_paths([str(path)]).results
        assert (result.verdict is Verdict.PROVED) == fits, result.findings
