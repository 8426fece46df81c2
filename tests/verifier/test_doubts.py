"""More facts may prepare all parts of an access otherwise; what is asked about it is found at its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache

import pytest

from tileverify.contract.launch import KernelUnit
from tileverify.contract.terms import Term
from tileverify.corpus import ROOT
from tileverify.frontend.bytecode import decode
from tileverify.frontend.sources.discover import discover
from tileverify.pipeline.unit_summary import summary_of
from tileverify.verifier.abduction.fact_choice import key_of
from tileverify.verifier.attempt import Attempt, VerifyOptions
from tileverify.verifier.obligations.footprint_overlap import PreparedSite
from tileverify.verifier.obligations.obligations import every_obligation
from tileverify.verifier.obligations.prepare import terms_of
from tileverify.verifier.prover import PreparedKernel, Prover
from tileverify.verifier.smt import SolverContext

FILES = (
    "data/pages.py",
    "data/segments.py",
    "protocols/turns.py",
    "race_free/list_of_arrays.py",
    "race_free/matmul.py",
)


@cache
def kernels() -> tuple[PreparedKernel, ...]:
    paths = [str(ROOT / name) for name in FILES]
    found = []
    for unit in (each for each in discover(paths) if isinstance(each, KernelUnit)):
        summary = summary_of(decode(unit.bytecode), unit)
        prover = Prover.of(Attempt.of(summary, unit.launch, VerifyOptions(), started=0.0), SolverContext())
        prover.prepare()
        found.append(prover.kernel)
    return tuple(found)


def terms_in(value: object) -> Iterator[Term]:
    """All terms in the fields of a value, however deep."""
    if isinstance(value, Term):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from terms_in(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from terms_in(getattr(value, each.name))


def test_no_term_of_a_footprint_or_place_is_overlooked() -> None:
    sites: list[PreparedSite] = [each for kernel in kernels() for each in kernel.sites]
    assert len(sites) >= 20
    for each in sites:
        parts = each.site.footprint, each.place, (each.site.argument, each.site.compare) if each.site.atomic else ()
        assert set(terms_in(parts)) <= set(terms_of(each))


@pytest.mark.parametrize("part", ["argument", "shape"])
def test_such_parts_occur(part: str) -> None:
    sites = [each.site for kernel in kernels() for each in kernel.sites]
    assert any(getattr(site if part == "argument" else site.footprint, part, None) for site in sites)


@pytest.mark.parametrize("number", range(len(kernels())))
def test_obligations_at_a_place_are_those_that_stand_there(number: int) -> None:
    kernel = kernels()[number]
    contract = kernel.preparer.contract
    every = list(every_obligation(kernel.sites, kernel.promises, contract))
    places = {key_of(each)[1] for each in every}
    assert {len(place) for place in places} >= {1, 2}
    for place in places:
        found = list(every_obligation(kernel.sites, kernel.promises, contract, {place}))
        assert found == [each for each in every if key_of(each)[1] == place]
