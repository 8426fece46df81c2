"""The launches that the judges draw are launches of the contract, also where sizes are large."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from tileverify import corpus
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import ConcreteLaunch, KernelUnit, ListArgument

from ..facts import keeps
from .compiled import corpus_kernels
from .launches import SIZES, drawn_variants
from .problems import problem
from .references import NUMBERS

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


def _with_facts() -> list[KernelUnit]:
    return [unit for unit in corpus_kernels() if (unit.launch.data or unit.launch.observed) and unit.launch.arrays()]


def _logical(launch: ConcreteLaunch) -> dict[str, NDArray[np.int64]]:
    """The elements of the arrays of integers."""
    found = {}
    for name, array in launch.arrays.items():
        if array.contents:
            places = np.zeros(array.shape, np.int64)
            for axis, stride in enumerate(array.strides):
                places += (
                    np.arange(array.shape[axis]).reshape([-1 if n == axis else 1 for n in range(places.ndim)]) * stride
                )
            values = [array.contents.get(int(place), array.fill) for place in places.reshape(-1)]
            found[name] = np.array(values, np.int64).reshape(array.shape)
    return found


def _kept(unit: KernelUnit, arrays: Mapping[str, NDArray[np.int64]], values: Mapping[str, int]) -> set[str]:
    """Whether facts that are said, or were observed, could be asked; all that can be asked are kept."""
    asked = set()
    for how, facts in (("said", unit.launch.data), ("observed", unit.launch.observed)):
        for fact in facts:
            if fact.array in arrays and (not fact.others or fact.others[0] in arrays):
                assert keeps(fact, arrays, lambda written: evaluate(written, values)), (unit.launch.name, fact, arrays)
                asked.add(how)
    return asked


def test_contents_that_are_drawn_keep_what_is_said_and_what_was_observed() -> None:
    asked = set()
    for unit in _with_facts():
        for drawn in drawn_variants(unit.launch, 2, 5, 4):
            for launch in drawn.launches:
                asked |= _kept(unit, _logical(launch), drawn.values)
    assert asked == {"said", "observed"}


def test_contents_beside_a_reference_keep_what_is_said_and_what_was_observed() -> None:
    asked = set()
    for unit in _with_facts():
        numbers = NUMBERS.get(f"{unit.file.relative_to(corpus.ROOT)}::{unit.kernel}[{unit.launch.name}]")
        if numbers is not None:
            given = problem(unit, numbers)
            arrays = {
                name: given.contents[array.allocation or name].reshape(array.shape)
                for name, array in given.launch.arrays.items()
                if array.dtype in ("i32", "i64")
            }
            asked |= _kept(unit, arrays, {name: int(value) for name, value in numbers.values.items()})
    assert asked == {"said", "observed"}
