"""The facts of a recording under which a kernel is proved are found whatever the first looks may take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from tests.written_kernel import written

from tileverify.contract.launch import KernelUnit
from tileverify.contract.terms import Term
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.symbolic.summary import Promise, Site
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict
from tileverify.verifier.abduction import fact_choice, recorded_launch
from tileverify.verifier.abduction.nonvacuity import Nonvacuity
from tileverify.verifier.obligations.answers import Answer, Limits, Result
from tileverify.verifier.obligations.fact_use import FactUse
from tileverify.verifier.obligations.footprint_overlap import PreparedSite, place_terms
from tileverify.verifier.obligations.prepare import Preparer
from tileverify.verifier.prover import PreparedKernel, Prover
from tileverify.verifier.smt import WithBudget

KERNELS: Final = """
import cuda.tile as ct

@ct.kernel
def pick(x, idx, y, TILE: ct.Constant[int]):
    at = ct.load(idx, (ct.bid(0),), (TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (ct.bid(0),), ct.gather(x, (at,), check_bounds=False))

@ct.kernel
def rows(x, idx, y, TILE: ct.Constant[int]):
    row = ct.load(idx, (ct.bid(0),), shape=())
    for k in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        tile = ct.load(x, (ct.bid(0), k), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
        ct.store(y, (row, k), tile)

@ct.kernel
def packed(x, starts, lengths, y, TILE: ct.Constant[int]):
    start = ct.load(starts, (ct.bid(0),), shape=())
    length = ct.load(lengths, (ct.bid(0),), shape=())
    for k in range(ct.cdiv(length, TILE)):
        place = k * TILE + ct.arange(TILE, dtype=ct.int32)
        at = ct.where(place < length, start + place, -1)
        ct.scatter(y, (at,), ct.gather(x, (at,), padding_value=0.0))

@ct.kernel
def chosen(x, idx, y, n, TILE: ct.Constant[int]):
    row = ct.load(idx, (ct.bid(0),), shape=())
    ct.store(y, (row, 0), ct.load(x, (n, 0), (1, TILE)))

@ct.kernel
def chosen_for_few(x, idx, y, n, TILE: ct.Constant[int]):
    row = ct.load(idx, (ct.bid(0),), shape=())
    if row < 16:
        ct.store(y, (row, 0), ct.load(x, (n, 0), (1, TILE)))
"""

LAUNCHES: Final = """
[[launch]]
kernel = "pick"
grid = [4]
observed = ["range(idx, 0, 190)", "injective(idx)", "nondecreasing(idx)", "shares(idx, 6048)"]
args = { x = "f32[200]", idx = "i32[64]", y = "f32[64]", TILE = 16 }

[[launch]]
kernel = "rows"
grid = [8]
observed = ["range(idx, 1, 63)", "injective(idx)", "shares(idx, 300)"]
args = { x = "f32[8, 100]", idx = "i32[8]", y = "f32[64, 100]", TILE = 32 }

[[launch]]
kernel = "packed"
grid = [5]
observed = ["range(starts, 0, 400)", "injective(starts)", "nondecreasing(starts)", "range(lengths, 20, 90)",
            "segments(starts, lengths, 0, 470)"]
args = { x = "f32[500]", starts = "i32[5]", lengths = "i32[5]", y = "f32[500]", TILE = 32 }

[[launch]]
kernel = "chosen"
grid = [8]
observed = ["range(idx, 1, 63)", "injective(idx)"]
args = { x = "f32[8, 32]", idx = "i32[8]", y = "f32[64, 32]", n = "i32", TILE = 32 }

[[launch]]
kernel = "chosen_for_few"
grid = [8]
observed = ["range(idx, 1, 63)", "injective(idx)"]
args = { x = "f32[8, 32]", idx = "i32[8]", y = "f32[64, 32]", n = "i32", TILE = 32 }
"""


def _checked(folder: Path) -> list[KernelResult]:
    written(folder, KERNELS, LAUNCHES, "made")
    units = list(discover([str(folder / "made.py")]))
    assert len(units) == 5
    assert all(isinstance(unit, KernelUnit) for unit in units), units
    return [check_unit(unit) for unit in units if isinstance(unit, KernelUnit)]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> list[KernelResult]:
    return _checked(tmp_path_factory.mktemp("usual"))


def test_facts_are_found_where_the_first_looks_are_too_short(
    usual: list[KernelResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [result.verdict for result in usual] == [Verdict.PROVED] * 5
    assert all(result.observed for result in usual)
    assert [len(result.requires) for result in usual[3:]] == [1, 1]  # how large n may be, whatever idx holds
    for units in (100, 1_000, 10_000):
        short = Limits(linear=units, nonlinear=0, rounds=1 if units < 1_000 else 5, total=units, bits=0)
        monkeypatch.setattr(recorded_launch, "FIRST_LOOK", short)
        monkeypatch.setattr(fact_choice, "EVERY_LIMITS", short)
        found = _checked(tmp_path)
        assert [result.verdict for result in found] == [Verdict.PROVED] * 5, units
        for mine, other in zip(usual, found, strict=True):
            assert len(other.observed) <= len(mine.observed) + 1, (mine.observed, other.observed)


def test_facts_are_found_where_clauses_are_out_of_reach_without_them(
    usual: list[KernelResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    possible = Nonvacuity.possible

    def with_facts(self: Nonvacuity, conditions: Sequence[Term]) -> bool:
        return bool(self.prover.contract.data) and possible(self, conditions)

    monkeypatch.setattr(Nonvacuity, "possible", with_facts)
    found = _checked(tmp_path)
    assert [result.verdict for result in found] == [Verdict.PROVED] * 5
    assert [(result.observed, result.requires) for result in found] == [
        (result.observed, result.requires) for result in usual
    ]


def test_what_the_first_look_prepared_is_what_the_choice_would_prepare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_like, compared = Prover.prepare_like, list[Prover]()

    def with_comparison(self: Prover, other: Prover, use: FactUse | None = None) -> None:
        prepare_like(self, other, use)
        taken = self.kernel
        self.prepare()
        assert (taken.sites, taken.promises) == (self.kernel.sites, self.kernel.promises)
        assert taken.origins == self.kernel.origins
        compared.append(self)

    monkeypatch.setattr(Prover, "prepare_like", with_comparison)
    _checked(tmp_path)
    assert len(compared) >= 5
    assert any(prover.clauses for prover in compared)


def test_what_no_fact_can_prepare_otherwise_is_left_as_it_is(
    usual: list[KernelResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, prepared = Preparer.site, list[Site]()

    def counted(self: Preparer, site: Site) -> PreparedSite:
        prepared.append(site)
        return prepare(self, site)

    def every_place(self: PreparedKernel) -> Iterator[tuple[Site | Promise, list[Term]]]:
        yield from ((each.site, [each.guard, *place_terms(each.place)]) for each in self.sites)
        yield from ((each, [each.guard, each.condition]) for each in self.promises)

    monkeypatch.setattr(Preparer, "site", counted)
    _checked(tmp_path)
    few = len(prepared)
    monkeypatch.setattr(PreparedKernel, "doubts", every_place)
    found = _checked(tmp_path)
    assert 0 < few < len(prepared) - few
    assert [(each.verdict, each.observed, each.requires) for each in found] == [
        (each.verdict, each.observed, each.requires) for each in usual
    ]


@pytest.mark.parametrize("times", [2, 10**9])
def test_the_facts_are_the_same_however_many_are_offered_at_once(
    times: int, usual: list[KernelResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts further on in the list are not chosen where those ahead of them do."""
    monkeypatch.setattr(fact_choice, "MORE_FACTS", times)
    assert [each.observed for each in _checked(tmp_path)] == [each.observed for each in usual]


def test_fewer_facts_are_not_asked_about_for_longer_than_they_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, spent = WithBudget.decide, list[bool]()

    def counted(self: WithBudget, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        over, before = self.solver.spent > self.units, self.solver.spent
        result = asked(self, conditions, twins=twins)
        assert not over or (self.solver.spent == before and result.answer is Answer.UNKNOWN)
        spent.append(over)
        return result

    monkeypatch.setattr(WithBudget, "decide", counted)
    monkeypatch.setattr(fact_choice, "CHOICE_LEAST", -1)
    monkeypatch.setattr(fact_choice, "FEWER_FACTS", -1)
    _checked(tmp_path)
    assert any(spent)
