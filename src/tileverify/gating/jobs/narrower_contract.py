"""Clauses of a proof that take launches away which somebody vouched for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...backend.numbers.choose import ContractInNumbers
from ...contract.expression_parser import parse_condition
from ...contract.expressions import GRID_NAMES, Undefined, free_names
from ...contract.launch import Apply, Expression, LaunchSpec, SameArray
from ...system.errors import TileVerifyError


def narrowing(launch: LaunchSpec, clauses: Iterable[str]) -> tuple[str, ...]:
    """Those of ``clauses`` that speak of no open part of the launch."""
    contract, open_names = ContractInNumbers(launch), _open_names(launch)
    return tuple(clause for clause in clauses if not _is_harmless(clause, contract, open_names))


def _is_harmless(clause: str, contract: ContractInNumbers, open_names: frozenset[str]) -> bool:
    try:
        said = parse_condition(clause)
        return not isinstance(said, SameArray) and all(
            bool(_names(each, contract) & open_names) or _is_met(each, contract) for each in _parts(said)
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
