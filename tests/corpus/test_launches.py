"""The launches that the judges draw are launches of the contract, also where sizes are large."""

from __future__ import annotations

import pytest

from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import KernelUnit, ListArgument

from .compiled import corpus_kernels
from .launches import SIZES, drawn_variants

LARGE = (*SIZES, 1 << 16, 46341, (1 << 31) - 1)


def _with_lists() -> list[KernelUnit]:
    return [unit for unit in corpus_kernels() if any(isinstance(each, ListArgument) for each in unit.launch.arguments)]


@pytest.mark.parametrize("sizes", [SIZES, LARGE], ids=["usual", "large"])
def test_lists_are_as_long_as_their_contract_says(sizes: tuple[int, ...]) -> None:
    seen = 0
    for unit in _with_lists():
        for drawn in drawn_variants(unit.launch, 8, 3, 1, sizes=sizes, most_blocks=None):
            for argument in unit.launch.arguments:
                if isinstance(argument, ListArgument):
                    (launch,) = drawn.launches
                    assert len(launch.lists[argument.name]) == evaluate(argument.length, drawn.values), unit.launch.name
                    seen += 1
    assert seen >= 8
