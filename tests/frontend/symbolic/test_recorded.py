"""Recorded bytecode of every producer and version: all of it is summarised; C loops of nvcc have plain indices."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, Role
from tileverify.contract.terms import Scope, TermKind, const, eq, floormod, lt, postorder, scale, sub, var
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.location import user_frame
from tileverify.frontend.bytecode.model import Entry, Module
from tileverify.frontend.symbolic.execute import footprint_text, summarize
from tileverify.frontend.symbolic.summary import AccessSummary, OriginKind, PointerFootprint, earlier

from .agreement import compare

DATA = Path(__file__).parents[1] / "bytecode" / "data"
FILES = sorted(DATA.glob("*.tileirbc"))
NVCC = ("pointers_nvcc_13.4", "pointers_nvcc_13.5")
N = var("n", Scope.LAUNCH, -(2**31), 2**31 - 1)
TWO = (EntryParameter(Role.POINTER, "p"), EntryParameter(Role.SCALAR, "n"))


@cache
def load(name: str) -> Module:
    return decode((DATA / f"{name}.tileirbc").read_bytes())


def entry(name: str, kernel: str) -> tuple[Module, Entry]:
    module = load(name)
    (found,) = [entry for entry in module.entries if kernel in entry.name]
    return module, found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_recorded_entry_is_summarised(file: Path) -> None:
    module = decode(file.read_bytes())
    for found in module.entries:
        summary = summarize(module, found)
        assert isinstance(summary, AccessSummary)
        assert footprint_text(summary).startswith(f"{found.name}: ")
        numbers = {site.number for site in summary.sites}
        assert all(wait.site in numbers for site in summary.sites for wait in site.waits)


@pytest.mark.parametrize("name", NVCC)
def test_a_loop_of_c_over_a_local_array(name: str) -> None:
    """``for (i = 0; i < 32; ++i) buffer[i] = p[i]; p[0] = buffer[n & 31]``"""
    module, found = entry(name, "local_array")
    read, fill, pick, write = summarize(module, found, TWO).sites
    k = read.loops[0].iteration
    for site in (read, fill):
        assert isinstance(site.footprint, PointerFootprint)
        assert site.footprint.offset is scale(4, k)
    assert fill.origin.kind is OriginKind.LOCAL
    assert fill.origin.extent is const(128)
    assert isinstance(pick.footprint, PointerFootprint)
    assert pick.footprint.offset is scale(4, floormod(N, const(32)))
    assert [wait.site for wait in pick.waits] == [fill.number]
    assert write.origin.name == "p"


def test_only_the_last_iteration_is_awaited_behind_a_loop_of_nvcc() -> None:
    module, found = entry("pointers_nvcc_13.4", "local_array")
    _, fill, pick, _ = summarize(module, found, TWO).sites
    (wait,) = pick.waits
    (last,) = [part for part in postorder(wait.condition) if part.kind is TermKind.APPLY]
    assert wait.condition is eq(earlier(fill.loops[0].iteration), sub(last, const(1)))


@pytest.mark.parametrize("name", NVCC)
def test_an_early_return_of_c(name: str) -> None:
    module, found = entry(name, "inlined")
    for site in summarize(module, found, TWO).sites:
        assert [part for part in (site.guard, *site.guard.args) if part.kind is TermKind.LT and part.args[1] is N]
        place = user_frame(site.location)
        assert place is not None
        assert place.file.endswith("pointers.cu")


@pytest.mark.parametrize("n", [0, 5, 31, 77, -3])
@pytest.mark.parametrize("name", NVCC)
def test_local_arrays_agree_with_the_interpreter(name: str, n: int) -> None:
    module, found = entry(name, "local_array")
    launch = ConcreteLaunch((1, 1, 1), {"p": ConcreteArray("i32", (64,), (1,))}, {"n": n})
    outcome = compare(module, found, TWO, launch)
    assert outcome.blocks == 1
    assert not outcome.not_compared
    assert outcome.accesses == 66


def test_an_in_range_count_of_c() -> None:
    module, found = entry("pointers_nvcc_13.4", "local_array")
    read, *_ = summarize(module, found, TWO).sites
    assert lt(read.loops[0].iteration, const(32)) in (read.guard, *read.guard.args)
