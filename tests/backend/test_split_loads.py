"""Kernels of which tileiras makes something else than was proved are not made, nor run from a bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.backend.assembler import Assembler, AssemblyError, refuse_split_loads
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.launching.bundle.build import build_bundle
from tileverify.launching.bundle.model import BundleRefused
from tileverify.launching.bundle.trust import trusted_cubin
from tileverify.pipeline import CheckOptions, check_unit
from tileverify.results import Verdict

WAITS_BY_LOADS = ROOT / "protocols" / "turns.py"
WAITS_BY_ATOMICS = ROOT / "protocols" / "lock.py"


def unit_of(file: Path, kernel: str) -> KernelUnit:
    (unit,) = (unit for unit in discover([f"{file}::{kernel}"]) if isinstance(unit, KernelUnit))
    return unit


def test_a_kernel_that_waits_by_a_load_is_proved_with_a_note() -> None:
    result = check_unit(unit_of(WAITS_BY_LOADS, "add_in_turn"))
    assert result.verdict is Verdict.PROVED
    (note,) = (note for note in result.notes if "tileiras" in note)
    assert note.startswith("line 14: ")


def test_it_is_not_assembled() -> None:
    unit = unit_of(WAITS_BY_LOADS, "add_in_turn")
    with pytest.raises(AssemblyError, match=r"turns.py:14: tileiras makes this acquire load once in each warp.*TV503"):
        Assembler(Path("tileiras")).assemble(unit.bytecode, "sm_90")


def test_a_bundle_of_it_does_not_run() -> None:
    unit = unit_of(WAITS_BY_LOADS, "add_in_turn")
    bundle = build_bundle(unit, check_unit(unit, CheckOptions(certificate=True)), "z3 0", None, [])
    with pytest.raises(BundleRefused, match="TV503"):
        trusted_cubin(bundle, "sm_90", "turns.tvk", assembler=Assembler(Path("tileiras")))


def test_relaxed_loads_are_refused_too() -> None:
    unit = unit_of(ROOT / "protocols" / "tickets.py", "fill_by_read_ticket")
    with pytest.raises(AssemblyError, match="this relaxed load"):
        refuse_split_loads(unit.bytecode)


@pytest.mark.parametrize("kernel", ["add_locked", "add_rows_locked"])
def test_waits_by_atomics_and_plain_loads_pass(kernel: str) -> None:
    unit = unit_of(WAITS_BY_ATOMICS, kernel)
    refuse_split_loads(unit.bytecode)
    assert not [note for note in check_unit(unit).notes if "tileiras" in note]


def test_what_cannot_be_read_is_left_to_tileiras() -> None:
    refuse_split_loads(b"no bytecode")
