"""Launches as small as a contract lets them be, in the sizes that are not what a launch is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...contract.expressions import GRID_NAMES
from ...system.errors import UsageError
from .choose import choose
from .conditions import ContractInNumbers
from .extents import cost, extent

_SMALL: Final = (3, 2, 1, 4, 8, 16, 32)
"""3 first: of one or two, rows and columns are easily taken for each other."""


def siblings(contract: ContractInNumbers, launches: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
    """For each launch but the first one with small values where it has those of the first, if that costs less."""
    found: list[Mapping[str, int]] = []
    for values in launches[1:]:
        small = sibling(contract, launches[0], values)
        if cost(contract, small) < cost(contract, values) and small not in found and small not in launches:
            found.append(small)
    return sorted(found, key=lambda values: cost(contract, values))


def sibling(contract: ContractInNumbers, usual: Mapping[str, int], values: Mapping[str, int]) -> Mapping[str, int]:
    """The launch ``values`` with small values where it has those of ``usual``, as far as the contract has such."""
    for name in _free(contract, values):
        if values[name] == usual.get(name):
            values = next(_smaller(contract, values, name, _SMALL), values)
    return values


def with_few_blocks(contract: ContractInNumbers, values: Mapping[str, int], most: int) -> Mapping[str, int]:
    """The launch with no more than ``most`` blocks, if smaller sizes give that; of such launches one with many
    elements."""
    blocks = extent(contract, values)[1]
    while blocks > most:
        found = [
            (extent(contract, small), small)
            for name in _free(contract, values)
            for small in _smaller(contract, values, name, (values[name] // 2, *sorted(_SMALL, reverse=True)))
        ]
        found = [each for each in found if each[0][1] < blocks]
        if not found:
            break
        (_, blocks), values = max(found, key=lambda each: (each[0][1] <= most, -max(each[0][1], most), each[0][0]))
    return values


def smallest(contract: ContractInNumbers, values: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Launches that differ from this one in one size, which is smaller, the smallest first."""
    for name in _free(contract, values):
        low = 0 if name in contract.scalars else 1
        steps = sorted({low, low + 1, values[name] // 4, values[name] // 2, values[name] - 1})
        yield from _smaller(contract, values, name, [step for step in steps if low <= step < values[name]])


def _free(contract: ContractInNumbers, values: Mapping[str, int]) -> list[str]:
    return [name for name in contract.roots if name in values and name not in GRID_NAMES]


def _smaller(
    contract: ContractInNumbers, values: Mapping[str, int], name: str, wanted: Sequence[int]
) -> Iterator[Mapping[str, int]]:
    """``values`` with another one for ``name``, all others kept, as far as the contract has such launches."""
    kept = {other: values[other] for other in _free(contract, values)}
    for value in wanted:
        if value >= values[name]:
            continue
        try:
            found = choose(contract, {**kept, name: value})
            if cost(contract, found) <= cost(contract, values):
                yield found
        except (UsageError, KeyError):
            continue
