"""Clauses of a proof that take launches away which somebody vouched for.

A proof may add what a launch spec leaves open: the grid where it has none, strides that are names of their own, the
alignment of addresses.  What a launch of numbers obeys leaves nothing out.  And there are limits, which hold of every
launch of sizes below 2^30 whose arrays are not empty and have fewer than 2^31 elements.  Anything else is a narrower
contract than the one that was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from math import prod
from typing import Final

import numpy as np

from ...backend.numbers.conditions import ContractInNumbers
from ...contract.expressions import GRID_NAMES, constant_value, free_names, parse_condition
from ...contract.launch import Apply, Expression, LaunchSpec, SameArray
from ...contract.operators import Undefined
from ...system.errors import TileVerifyError

LARGEST: Final = (1 << 30) - 1
MOST_ELEMENTS: Final = (1 << 31) - 1
_DRAWN: Final = 256


def narrowing(launch: LaunchSpec, clauses: Iterable[str]) -> tuple[str, ...]:
    """Those of ``clauses`` that speak of no open part of the launch, and are no limit."""
    contract, open_names = ContractInNumbers(launch), _open_names(launch)
    return tuple(clause for clause in clauses if not _is_harmless(clause, contract, open_names))


def _is_harmless(clause: str, contract: ContractInNumbers, open_names: frozenset[str]) -> bool:
    try:
        said = parse_condition(clause)
        return not isinstance(said, SameArray) and all(
            bool(_names(each, contract) & open_names) or _is_met(each, contract) or _is_limit(each, contract)
            for each in _parts(said)
        )
    except (TileVerifyError, KeyError, Undefined):
        return False


def _parts(said: Expression) -> Iterator[Expression]:
    if isinstance(said, Apply) and said.op == "and":
        for each in said.args:
            yield from _parts(each)
    else:
        yield said


def _open_names(launch: LaunchSpec) -> frozenset[str]:
    arrays = list(launch.arrays())
    strides = {name for array in arrays for stride in array.strides or () for name in free_names(stride)}
    written = {name for array in arrays for size in array.shape for name in free_names(size)}
    written |= {name for each in launch.requires if not isinstance(each, SameArray) for name in free_names(each)}
    written |= {name for axis in launch.grid or () for name in free_names(axis)}
    addresses = {f"{array.name}.address" for array in arrays}
    return frozenset({*(strides - written), *addresses, *(() if launch.grid else GRID_NAMES)})


def _names(said: Expression, contract: ContractInNumbers) -> frozenset[str]:
    """As they stand there, and what they stand for: ``x.strides[0]`` may be a name of the spec."""
    return free_names(said) | free_names(contract.resolved(said))


def _is_met(said: Expression, contract: ContractInNumbers) -> bool:
    """A launch of numbers is proved as it stands; the clause is of the contract that it was widened to."""
    condition = contract.condition(said)
    return not condition.names and condition.holds({})


def _is_limit(said: Expression, contract: ContractInNumbers) -> bool:
    """Of a clause that bounds something by 2^30 or more, or by 1 from below, whether launches within limits obey."""
    if not isinstance(said, Apply) or len(said.args) != 2:
        return False
    left, right = map(constant_value, said.args)
    above = said.op in ("<", "<=") and right is not None and right >= LARGEST
    below = said.op in (">", ">=") and right is not None and right <= 1 - (said.op == ">")
    turned = said.op in (">", ">=") and left is not None and left >= LARGEST
    condition = contract.condition(said)
    names, numbers = sorted(condition.names), condition.names & {*contract.scalars}
    within = (values for values in _launches(names, numbers) if _within(values, contract))
    return (above or below or turned) and not any(condition.broken_by(values) for values in within)


def _launches(names: list[str], numbers: Iterable[str]) -> Iterator[Mapping[str, int]]:
    """``numbers``: scalars, which may be negative."""
    ones = dict.fromkeys(names, 1)
    yield ones
    yield from ({**ones, name: number} for name in numbers for number in (0, -1, -LARGEST))
    for count in (1, 2, 3):
        side = min(LARGEST, int(MOST_ELEMENTS ** (1 / count)))
        for chosen in combinations(names, count):
            yield {**ones, **dict.fromkeys(chosen, side)}
    source = np.random.default_rng(0)
    for sizes in 2.0 ** source.uniform(0, 30, (_DRAWN, len(names))):
        yield {name: min(LARGEST, int(size)) for name, size in zip(names, sizes, strict=True)}


def _within(values: Mapping[str, int], contract: ContractInNumbers) -> bool:
    for array in contract.spec.arrays():
        known = [size for size in array.shape if free_names(contract.resolved(size)) <= values.keys()]
        lengths = [contract.value(size, values) for size in known]
        if min(lengths, default=1) < 1 or prod(lengths) > MOST_ELEMENTS:
            return False
    return True
