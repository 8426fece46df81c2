"""A second kernel in the place of a reference: it runs on the same numbers, with a grid of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..backend.interpreter import Budget
from ..backend.numbers.conditions import ContractInNumbers, scalars
from ..backend.numbers.trial_launches import constants_of
from ..contract.concrete import ConcreteArray, ConcreteLaunch
from ..contract.contiguous import strides_of
from ..contract.element_types import ELEMENT_TYPES
from ..contract.launch import KernelUnit, Name
from ..system.errors import UsageError
from .deciding import SHARE
from .field import Array
from .launch_outcomes import arrays_of
from .points import TrialPoint
from .running import ExactKernel, run_exactly
from .undecided import Undecided


@dataclass(frozen=True, slots=True)
class RivalKernel:
    """A kernel that was proved: ``contract`` with the clauses of its proof; ``unordered``: why one order of its blocks
    says little, empty if it says all."""

    name: str
    unit: KernelUnit
    kernel: ExactKernel
    contract: ContractInNumbers
    unordered: str = ""

    def beside(self, unit: KernelUnit, name: str) -> Beside:
        """What it does on launches of ``unit``: arguments of the same names, or in the same places.

        :raises UsageError: it takes another number of arrays.
        """
        ours = [array.name for array in unit.launch.arrays()]
        theirs = [array.name for array in self.unit.launch.arrays()]
        if len(ours) != len(theirs):
            raise UsageError(f"{self.name} takes {len(theirs)} arrays, {name} takes {len(ours)}")
        pairs = _paired(theirs, ours)
        floats = _paired(float_scalars(self.unit), float_scalars(unit))

        return Beside(self, name, pairs or {}, floats)

    def launch(self, point: TrialPoint, arrays: Mapping[str, ConcreteArray]) -> ConcreteLaunch:
        """With its own grid and scalars.

        :raises UsageError: its contract does not allow the launch.
        :raises Undecided: it has sizes of its own, or takes arrays of other shapes.
        """
        known = {**point.inputs.launch.scalars, **point.inputs.values}
        values = {name: known[name] for name in self.contract.roots if name in known}
        if missing := set(self.contract.roots) - set(values):
            raise Undecided(f"{self.name} has the size {min(missing)} of its own")
        for array in self.unit.launch.arrays():
            given = arrays[array.name]
            wanted = tuple(self.contract.value(size, values) for size in array.shape)
            if wanted != given.shape or _kind(array.dtype) != _kind(given.dtype):
                shown = ", ".join(map(str, wanted))
                raise Undecided(f"{self.name} takes {array.name} as {array.dtype}[{shown}], another array")
            strides = tuple(self.contract.value(stride, values) for stride in strides_of(array))
            if any(one != two for one, two, size in zip(strides, given.strides, wanted, strict=True) if size > 1):
                raise Undecided(f"{self.name} takes {array.name} with other strides")
        for condition in self.contract.conditions:
            if condition.broken_by(values):
                raise UsageError(f"{self.name} does not allow the launch: {condition.violation(values)}")
        self._share_as_allowed(arrays)
        grid = tuple(self.contract.value(axis, values) for axis in self.contract.grid)
        numbers = {
            each.name: self.contract.value(Name(each.name), values)
            for each in scalars(self.unit.launch)
            if ELEMENT_TYPES[each.dtype].kind != "f"
        }
        return replace(point.inputs.launch, grid=(grid[0], grid[1], grid[2]), arrays=arrays, scalars=numbers)

    def _share_as_allowed(self, arrays: Mapping[str, ConcreteArray]) -> None:
        """Raises `Undecided` where arrays are one that its contract keeps apart, or two that it takes for one."""
        may, must = self.unit.launch.sharing(), self.unit.launch.same_arrays()
        for one, two in combinations(arrays, 2):
            shared, pair = arrays[one].allocation == arrays[two].allocation, {one, two}
            if shared and not any(pair <= group for group in may):
                raise Undecided(f"{self.name} does not allow {one} and {two} to be one array")
            if not shared and any(pair <= group for group in must):
                raise Undecided(f"{self.name} takes {one} and {two} for one array")


@dataclass(frozen=True, slots=True)
class Beside:
    """A rival on launches of the kernel ``name``; ``pairs``: its arrays and those of that kernel, ``floats``: float
    scalars likewise, None where that kernel lacks some."""

    rival: RivalKernel
    name: str
    pairs: Mapping[str, str]
    floats: Mapping[str, str] | None

    def __call__(
        self, point: TrialPoint, arrays: Mapping[str, Array], arguments: Mapping[str, object]
    ) -> Mapping[str, Array]:
        rival = self.rival
        if rival.unordered:
            raise Undecided(f"{rival.name}: {rival.unordered}")
        if self.floats is None:
            raise Undecided(f"{rival.name} takes float scalars that {self.name} does not take")
        launch = rival.launch(point, {mine: point.inputs.launch.arrays[known] for mine, known in self.pairs.items()})
        numbers = {mine: point.floats[known] for mine, known in self.floats.items()}
        inputs = replace(point.inputs, launch=launch)
        after = run_exactly(rival.kernel, inputs, point.contents, numbers, Budget(SHARE))
        return {name: np.asarray(array) for name, array in arrays_of(point, after)}

    def numbers(self) -> Iterable[float]:
        known = constants_of(self.rival.kernel.entry)
        return (*known.floats, *map(float, known.integers))

    def one_way(self) -> Iterable[str]:
        return (f"{self.rival.name}: {each}" for each in self.rival.kernel.ways.one_way())

    def stepped(self) -> Iterable[str]:
        return self.rival.kernel.ways.stepped

    def compared(self) -> Iterable[str]:
        return ()  # all of them: a kernel says of every array what it is


def _kind(dtype: str) -> str:
    """Floats are numbers of one kind here, whatever their format."""
    return "float" if ELEMENT_TYPES[dtype].kind == "f" else dtype


def float_scalars(unit: KernelUnit) -> list[str]:
    """The names of the runtime scalars that are floats."""
    return [each.name for each in scalars(unit.launch) if ELEMENT_TYPES[each.dtype].kind == "f"]


def _paired(theirs: Sequence[str], ours: Sequence[str]) -> dict[str, str] | None:
    """By name where the names are the same, else by place; None where they are not as many."""
    if set(theirs) == set(ours):
        return {name: name for name in theirs}
    return dict(zip(theirs, ours, strict=True)) if len(theirs) == len(ours) else None
