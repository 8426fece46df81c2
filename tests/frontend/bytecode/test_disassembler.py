"""Freshly made bytecode against the installed tileirdisasm, op for op."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.toolkit import find_tool

from tileverify.frontend.bytecode import decode, encode
from tileverify.system.errors import DecodeError

from .disassembly import Refused, difference, disassemble, find_disassembler
from .mutation import mutated
from .producers import KERNELS, Version, compile_cpp, cutile_kernels, export, exports
from .recorded import FILES
from .samples import sample, samples

DISASSEMBLER = find_disassembler()
NVCC = find_tool("nvcc")
KERNEL_MODULE = cutile_kernels()

needs_disassembler = pytest.mark.assembler("tileirdisasm")
needs_nvcc = pytest.mark.assembler("nvcc")


def compare(data: bytes, folder: Path) -> None:
    assert DISASSEMBLER is not None
    file = folder / "module.tileirbc"
    file.write_bytes(data)
    try:
        theirs = disassemble(file, DISASSEMBLER, locations=True)
    except Refused as refusal:
        if refusal.too_new:
            pytest.skip(f"this tileirdisasm is older than bytecode {data[8]}.{data[9]}")
        raise
    assert difference(decode(data), theirs, locations=True) == []


@pytest.mark.parametrize(("name", "version"), exports(KERNEL_MODULE), ids=str)
def test_exported_kernel_comes_back_byte_for_byte(name: str, version: Version) -> None:
    data = export(KERNEL_MODULE, name, version)
    module = decode(data)
    assert module.version == version
    assert [entry.name for entry in module.entries] == [name]
    assert encode(module) == data


@needs_disassembler
@pytest.mark.parametrize(("name", "version"), exports(KERNEL_MODULE), ids=str)
def test_exported_kernel_reads_as_tileirdisasm_reads_it(name: str, version: Version, tmp_path: Path) -> None:
    compare(export(KERNEL_MODULE, name, version), tmp_path)


@needs_disassembler
def test_an_opcode_of_ours_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "module.tileirbc"
    file.write_bytes(encode(sample("foreign", (13, 4))))
    assert DISASSEMBLER is not None
    with pytest.raises(Refused, match="unsupported opcode"):
        disassemble(file, DISASSEMBLER, locations=True)


@needs_disassembler
@pytest.mark.parametrize(("name", "version"), [each for each in samples() if each[0] != "foreign"], ids=str)
def test_hand_made_module_is_accepted_and_reads_the_same(name: str, version: Version, tmp_path: Path) -> None:
    compare(encode(sample(name, version)), tmp_path)


@needs_disassembler
@needs_nvcc
@pytest.mark.parametrize("source", sorted(KERNELS.glob("*.cu")), ids=lambda file: file.stem)
def test_tile_cpp_reads_as_tileirdisasm_reads_it(source: Path, tmp_path: Path) -> None:
    assert NVCC is not None
    target = tmp_path / "made.tileirbc"
    compile_cpp(source, target, NVCC)
    data = target.read_bytes()
    assert encode(decode(data)) == data
    compare(data, tmp_path)


@needs_disassembler
@pytest.mark.fuzz
def test_what_both_accept_both_read_alike(fuzz_inputs: int, tmp_path: Path) -> None:
    """A changed file that is still valid must mean the same to the verifier as to NVIDIA's reader."""
    assert DISASSEMBLER is not None
    file = tmp_path / "mutated.tileirbc"
    sources = [recorded.read_bytes() for recorded in FILES]
    compared = 0
    for seed in range(fuzz_inputs // 2):
        data = mutated(seed, sources)
        try:
            module = decode(data)
        except DecodeError:
            continue
        # Names of hints are printed raw, line breaks included.
        if any(not key.isidentifier() for entry in module.entries for key in entry.hints):
            continue
        file.write_bytes(data)
        try:
            theirs = disassemble(file, DISASSEMBLER)
        except Refused:
            continue
        assert difference(module, theirs) == [], f"seed {seed}"
        compared += 1
    assert compared > 0
