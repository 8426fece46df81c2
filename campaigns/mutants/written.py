"""What a verdict may add to a contract as it is written: clauses on what that leaves open, and limits of size."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from tests.corpus.values import AXES, arrays_of

from tileverify.contract.expressions import free_names
from tileverify.contract.launch import ConcreteLaunch, LaunchSpec
from tileverify.results import KernelResult

from ..hunt import read_clause

LARGE, MOST_ELEMENTS = 1 << 30, 1 << 31
_MEMBER = re.compile(r".*\.(address|strides\[\d+\])")


def open_clauses(spec: LaunchSpec, requires: Sequence[str]) -> tuple[str, ...]:
    """Those that speak of the grid where the contract names none, of strides with names of their own, of addresses; all
    of a recorded contract, which nobody promised and whose proof is called conditional."""
    if spec.origin == "recorded":
        return tuple(requires)
    sizes = {name for array in arrays_of(spec) for size in array.shape for name in free_names(size)}
    strides = {name for array in arrays_of(spec) for stride in array.strides or () for name in free_names(stride)}
    left_open = (strides - sizes) | (set(AXES) if spec.grid is None else set())

    def is_open(name: str) -> bool:
        return name in left_open or _MEMBER.fullmatch(name) is not None

    return tuple(clause for clause in requires if any(map(is_open, free_names(read_clause(clause)))))


def limits_of(result: KernelResult) -> tuple[str, ...]:
    """Clauses that all launches keep whose sizes are not 0 and no absurd ones."""
    return result.limits


def within_limits(launch: ConcreteLaunch, empty: Container[str] = ()) -> bool:
    """Whether no array but those that are written as ``empty`` has no element, and none, and no number, is of a size at
    which 32-bit arithmetic may wrap."""
    arrays = [array for _, array in launch.named_arrays()]
    numbers = [*launch.scalars.values(), *(n for array in arrays for n in (*array.shape, *array.strides))]
    spans = [1 + sum((n - 1) * abs(s) for n, s in zip(a.shape, a.strides, strict=True)) for a in arrays]
    return (
        all(0 not in array.shape or name in empty for name, array in launch.named_arrays())
        and all(abs(number) < LARGE for number in numbers)
        and all(span < MOST_ELEMENTS for span in spans)
    )
