"""Kernels of which tileiras makes something else than was proved are not made, nor run from a bundle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.written_kernel import written

from tileverify.backend.assembler import (
    Assembled,
    Assembler,
    AssemblyError,
    CodeDiffers,
    find_assembler,
    refuse_split_loads,
)
from tileverify.backend.compiled import cubin_look
from tileverify.backend.compiled.both_runs import DifferenceKind
from tileverify.backend.compiled.cubin_look import Looked, ProvedEntry, looked, refuse_differences
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.bytecode.model import Entry, Op
from tileverify.frontend.sources.discover import discover
from tileverify.launching.bundle.build import build_bundle
from tileverify.launching.bundle.manifest import BundleRefused
from tileverify.launching.bundle.trust import trusted_cubin
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict

WAITS_BY_LOADS = ROOT / "protocols" / "turns.py"
WAITS_BY_ATOMICS = ROOT / "protocols" / "lock.py"

FOLLOWED = (
    "hand_over.py::hand_over",
    "hand_over.py::hand_over_across_system",
    "hand_over.py::hand_over_in_two_steps",
    "look_back.py::look_back",
    "look_back.py::look_back_by_status",
    "ticket_lock.py::add_served",
    "turns.py::add_in_turn",
    "turns.py::add_rows_in_turn",
)
NOT_FOLLOWED = ("grid_barrier.py::rotate_behind_barrier", "grid_barrier.py::rotate_twice")
"""The interpreter runs blocks one after another, and these wait for later ones."""

ALONE = """import cuda.tile as ct


@ct.kernel
def copy(x, out, T: ct.Constant[int]):
    i = ct.bid(0)
    order, scope = ct.MemoryOrder.RELAXED, ct.MemoryScope.DEVICE
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(T,), memory_order=order, memory_scope=scope))
"""
ALONE_SPEC = """[[launch]]
kernel = "copy"
grid = ["N // 128"]
requires = ["N % 128 == 0"]
args = { x = "i32[N]", out = "i32[N]", T = 128 }
"""


@dataclass(frozen=True)
class WithoutPtx(Assembler):
    """An assembler whose PTX is not seen."""

    @property
    def version(self) -> str:
        return "13.4.92"

    def assembled(self, bytecode: bytes, architecture: str) -> Assembled:
        return Assembled(b"\x7fELF", None, None)


def unit_of(file: Path, kernel: str) -> KernelUnit:
    (unit,) = (unit for unit in discover([f"{file}::{kernel}"]) if isinstance(unit, KernelUnit))
    return unit


def seen(unit: KernelUnit, assembler: Assembler, architecture: str) -> Looked:
    proved = ProvedEntry(unit.bytecode, unit.symbol, unit.parameters, unit.launch)
    return looked(proved, assembler.assembled(unit.bytecode, architecture), architecture)


def test_a_kernel_that_waits_by_a_load_is_proved_with_a_note() -> None:
    result = check_unit(unit_of(WAITS_BY_LOADS, "add_in_turn"))
    assert result.verdict is Verdict.PROVED
    (note,) = (note for note in result.notes if "tileiras" in note)
    assert note.startswith("line 14: ")


def test_it_is_refused_where_its_code_is_not_seen() -> None:
    found = seen(unit_of(WAITS_BY_LOADS, "add_in_turn"), WithoutPtx(Path("tileiras")), "sm_90")
    assert str(found) == "not looked at (the assembler's PTX was not seen); refused for a scoped load"
    with pytest.raises(CodeDiffers, match=r"turns.py:14: tileiras makes this acquire load once in each warp.*TV503"):
        refuse_differences(found)


def test_no_bundle_of_it_is_built() -> None:
    unit = unit_of(WAITS_BY_LOADS, "add_in_turn")
    result = check_unit(unit, CheckOptions(certificate=True))
    with pytest.raises(CodeDiffers, match=r"TV503.*wait with an atomic operation"):
        build_bundle(unit, result, "z3 0", WithoutPtx(Path("tileiras")), ["sm_90"])


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


@pytest.fixture
def no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison alone."""

    def nothing(entry: Entry) -> Iterator[Op]:
        return iter(())

    monkeypatch.setattr(cubin_look, "split_loads", nothing)


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("kernel", FOLLOWED)
def test_the_comparison_finds_split_loads_by_itself(kernel: str, architecture: str, no_rule: None) -> None:
    file, name = kernel.split("::")
    found = seen(unit_of(ROOT / "protocols" / file, name), find_assembler(), architecture)
    assert [each.kind for each in found.differences[:1]] == [DifferenceKind.TIMES], found.why_not


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize("kernel", NOT_FOLLOWED)
def test_what_the_comparison_cannot_follow_is_refused_by_the_rule(kernel: str) -> None:
    file, name = kernel.split("::")
    found = seen(unit_of(ROOT / "protocols" / file, name), find_assembler(), "sm_90")
    assert [each.kind for each in found.differences] == [DifferenceKind.SPLIT_LOAD]
    assert "waits for another block" in found.why_not


@pytest.mark.assembler("tileiras")
def test_a_scoped_load_that_compares_equal_is_refused_by_the_rule(tmp_path: Path) -> None:
    """Each thread loads elements of its own, once: no small launch shows what an acquire would have to order."""
    written(tmp_path, ALONE, ALONE_SPEC, "alone")
    found = seen(unit_of(tmp_path / "alone.py", "copy"), find_assembler(), "sm_90")
    assert found.launches == 2
    assert str(found) == "compared at 2 launches; refused for a scoped load"
    with pytest.raises(CodeDiffers, match=r"this relaxed load once in each warp.*no comparison shows otherwise"):
        refuse_differences(found)
