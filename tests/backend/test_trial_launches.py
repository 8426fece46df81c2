"""The launches that kernels are tried with: which sizes they have, and how many blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tileverify.backend.numbers.choose import ContractInNumbers, extent
from tileverify.backend.numbers.trial_launches import (
    NARROW,
    USUAL_BLOCKS,
    WIDE,
    Chosen,
    Constants,
    Spread,
    chosen_launches,
    with_few_blocks,
)
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.sources.discover import discover

KERNEL = """import cuda.tile as ct

@ct.kernel
def k(x, out):
    ct.store(out, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (1, 64)))
"""
LAUNCHES = {
    "rows": ("M", "M >= 1", "f32[M, N]"),
    "even-rows": ("M", "M >= 2", "M % 2 == 0", "f32[M, N]"),
    "at-least-twenty": ("M", "M >= 20", "f32[M, N]"),
    "square": ("M", "M >= 1", "f32[M, M]"),
    "columns": ("cdiv(N, 64)", "N >= 1", "f32[3, N]"),
}


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ContractInNumbers]:
    folder: Path = tmp_path_factory.mktemp("trial_launches")
    (folder / "k.py").write_text(KERNEL)
    texts = []
    for name, (grid, *requires, array) in LAUNCHES.items():
        texts.append(
            f'[[launch]]\nkernel = "k"\nname = "{name}"\ngrid = ["{grid}"]\nrequires = {requires}\n'
            f'args = {{ x = "{array}", out = "{array}" }}\n'.replace("'", '"')
        )
    (folder / "k.tileverify.toml").write_text("".join(texts))
    units = [unit for unit in discover([str(folder / "k.py")]) if isinstance(unit, KernelUnit)]
    return {unit.launch.name: ContractInNumbers(unit.launch, ()) for unit in units}


def chosen(contract: ContractInNumbers, spread: Spread, *borders: int) -> Chosen:
    return chosen_launches(contract, Constants(borders, ()), np.random.default_rng(7), spread)


def blocks(contract: ContractInNumbers, found: Chosen) -> list[int]:
    return [extent(contract, values)[1] for values in found.launches]


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("spread", [WIDE, NARROW])
def test_all_are_launches_of_the_contract(launch: str, spread: Spread, contracts: dict[str, ContractInNumbers]) -> None:
    contract = contracts[launch]
    found = chosen(contract, spread, 32)
    assert len(found.launches) > 5
    assert len({tuple(sorted(values.items())) for values in found.launches}) == len(found.launches)
    for values in found.launches:
        assert not [each.text for each in contract.conditions if each.broken_by(values)]


@pytest.mark.parametrize("launch", LAUNCHES)
def test_where_many_are_tried_blocks_are_few(launch: str, contracts: dict[str, ContractInNumbers]) -> None:
    found = blocks(contracts[launch], chosen(contracts[launch], NARROW))
    assert found[0] <= (32 if launch == "at-least-twenty" else USUAL_BLOCKS)
    assert sum(found[1:]) <= NARROW.others
    assert len(found) <= 1 + NARROW.launches


def test_rows_are_many_elsewhere(contracts: dict[str, ContractInNumbers]) -> None:
    first, *others = blocks(contracts["rows"], chosen(contracts["rows"], WIDE))
    assert first == USUAL_BLOCKS
    assert NARROW.others < sum(others) <= WIDE.others


@pytest.mark.parametrize("spread", [WIDE, NARROW])
def test_borders_are_reached_in_any_case(spread: Spread, contracts: dict[str, ContractInNumbers]) -> None:
    """On both sides, as a size and as a count of blocks."""
    found = chosen(contracts["rows"], spread, 1000).launches
    for name in ("M", "N"):
        assert {999, 1000, 1001} <= {values[name] for values in found}


def test_at_a_border_other_sizes_are_those_of_the_usual_launch(contracts: dict[str, ContractInNumbers]) -> None:
    contract = contracts["rows"]
    first, *others = chosen(contract, NARROW, 1000).launches
    assert first["M"] == USUAL_BLOCKS
    assert {values["M"] for values in others if values["N"] == 1000} == {first["M"]}


def test_a_launch_with_few_blocks_keeps_what_costs_none(contracts: dict[str, ContractInNumbers]) -> None:
    assert with_few_blocks(contracts["rows"], {"M": 64, "N": 64}, 8) == {"M": 8, "N": 64}
    assert with_few_blocks(contracts["even-rows"], {"M": 64, "N": 64}, 7) == {"M": 4, "N": 64}
    assert with_few_blocks(contracts["columns"], {"N": 64}, 8) == {"N": 64}
    assert with_few_blocks(contracts["at-least-twenty"], {"M": 64, "N": 64}, 8)["M"] == 32
    assert with_few_blocks(contracts["square"], {"M": 64}, 8) == {"M": 8}


@pytest.mark.parametrize("spread", [WIDE, NARROW])
def test_all_sizes_are_beyond_a_border_at_once(spread: Spread, contracts: dict[str, ContractInNumbers]) -> None:
    """The largest that is cheap; as near as the contract lets them be."""
    assert {"M": 101, "N": 101} in chosen(contracts["rows"], spread, 20, 100, 5000).launches
    assert {"M": 102, "N": 101} in chosen(contracts["even-rows"], spread, 20, 100, 5000).launches
