"""Clauses are read back from their text as what was proved."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.launch import KernelUnit
from tileverify.contract.variables import GRID
from tileverify.corpus import ROOT
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.symbolic.summary import AccessSummary
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import summary_of
from tileverify.system.errors import SpecError
from tileverify.verifier.obligations.limits import clause_terms


def unit_of(target: str) -> tuple[KernelUnit, AccessSummary]:
    unit = next(iter(discover([str(ROOT / target)])))
    assert isinstance(unit, KernelUnit)
    return unit, summary_of(decode(unit.bytecode), unit)


def test_a_grid_and_a_size() -> None:
    unit, summary = unit_of("contract/any_grid.py")
    first, second, third = clause_terms(
        ["grid.x <= cdiv(N, 128)", "grid.y == 1", "N % 16 == 0 and not N < 32"], summary, unit.launch
    )
    (n,) = first.free - set(GRID)
    assert n.symbol.name == "N"
    assert first is t.le(GRID[0], t.ceildiv(n, t.const(128)))
    assert second is t.eq(GRID[1], t.ONE)
    assert third is t.and_(t.eq(t.floormod(n, t.const(16)), t.ZERO), t.le(t.const(32), n))


def test_names_of_parameters_mean_what_the_contract_makes_of_them() -> None:
    unit, summary = unit_of("contract/any_grid.py")
    size, named = clause_terms(["x.shape[0] >= 1", "N >= 1"], summary, unit.launch)
    assert size is named


@pytest.mark.parametrize("text", ["bid.x == 0", "nobody >= 1", "x is out", "N >=", "min(N)"])
def test_what_is_nothing_to_a_launch_is_refused(text: str) -> None:
    unit, summary = unit_of("contract/any_grid.py")
    with pytest.raises(SpecError):
        clause_terms([text], summary, unit.launch)


def test_every_clause_of_the_corpus_has_a_meaning() -> None:
    seen = 0
    for unit in discover([str(ROOT / "contract")]):
        assert isinstance(unit, KernelUnit)
        result = check_unit(unit)
        terms = clause_terms(result.requires, summary_of(decode(unit.bytecode), unit), unit.launch)
        assert all(term.free for term in terms)
        seen += len(terms)
    assert seen > 4
