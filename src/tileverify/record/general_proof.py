"""Which general launches are worth keeping: those that are proved, under the grid that was meant."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Final

import numpy as np

from ..backend.audit.legal_launches import tile_sizes
from ..backend.guard.arguments import Grid
from ..backend.interpreter import InterpreterStop
from ..backend.interpreter.values import KEEP_GOING
from ..backend.numbers.blocks import execute_launch
from ..backend.numbers.choose import ContractInNumbers, choose, cost, scalars
from ..backend.numbers.inputs import Given, Inputs, elements_with, make_inputs
from ..contract.as_table import NotExpressible
from ..contract.expression_parser import parse_size
from ..contract.expressions import GRID_NAMES, evaluate, free_names
from ..contract.launch import KernelUnit, LaunchSpec
from ..frontend.bytecode import decode
from ..frontend.bytecode.model import Module
from ..hook.described_launch import ConstraintWords, Described, DescribedArray
from ..launching.calls import named_values
from ..launching.proofs import proof_of, touched_by
from ..pipeline import CheckOptions
from ..pipeline.unit_check import check_unit
from ..pipeline.unit_summary import entry_of
from ..results import Verdict
from ..system.errors import TileVerifyError, UsageError
from .generalise import FittingGrid, GeneralLaunch, general_launches, items_of
from .recorded import (
    Generalised,
    GeneralWords,
    NotGeneralised,
    RecordedArgument,
    RecordedArray,
    RecordedLaunch,
    RecordedSpecialisation,
    unit_of_launch,
)

MOST_PROOFS: Final = 4
"""Of general launches of one kernel, over all its specialisations."""

_PAGE: Final = 4096


def generalise(
    specialisations: Mapping[str, RecordedSpecialisation], bytecode: Mapping[str, Path], options: CheckOptions
) -> None:
    """Add to each specialisation (as in ``index.json``, by stem) its general launches: ``generalised``, ready for
    `spec.launch_table`, and ``not_generalised``, each with the reason."""
    proofs: Counter[str] = Counter()
    for stem, entry in specialisations.items():
        if len(entry["launches"]) < 2:
            continue
        kernel = entry["source"]["id"]
        kept: list[Generalised] = []
        left: list[NotGeneralised] = []
        attempts = _Attempts(entry, bytecode[stem].read_bytes(), options)
        for fitted in attempts.launches():
            proofs[kernel] += 1
            if proofs[kernel] > MOST_PROOFS:
                left.append({"launches": fitted.positions, "why": f"the kernel has had {MOST_PROOFS} proofs"})
                continue
            try:
                general = attempts.with_grid(fitted)
                clauses = attempts.proved(general)
            except TileVerifyError as error:
                left.append({"launches": fitted.positions, "why": str(error)})
                continue
            name = f"general-{len(kept) + 1}" if kept else "general"
            kept.append(
                {
                    "name": name,
                    "launches": general.positions,
                    "names": general.names,
                    "clauses": clauses,
                    **general.launch,
                }
            )
        if kept:
            entry["generalised"] = kept
        if left:
            entry["not_generalised"] = left


@dataclass(slots=True)
class _Attempts:
    """On one specialisation; ``written``: the arrays that its kernel writes, once its launches are known."""

    entry: RecordedSpecialisation
    bytecode: bytes
    options: CheckOptions
    written: frozenset[str] = frozenset()

    def launches(self) -> list[GeneralLaunch]:
        """None for a kernel that the tool cannot read."""
        try:
            unit = unit_of_launch(self.entry, self.bytecode, self.entry["launches"][0])
            self.written = touched_by(unit).written
            tiles = tile_sizes(entry_of(decode(unit.bytecode, file=str(unit.file)), unit))
        except (TileVerifyError, NotExpressible):
            return []
        return list(general_launches(self.entry, self.written, tiles))

    def with_grid(self, general: GeneralLaunch) -> GeneralLaunch:
        """With the grid that was meant, or any; raises a `TileVerifyError`."""
        return with_meant_grid(general, partial(unit_of_launch, self.entry, self.bytecode), self.written)

    def proved(self, general: GeneralLaunch) -> list[str]:
        """The clauses of the proof; raises a `TileVerifyError` where there is none that admits what was recorded."""
        unit = unit_of_launch(self.entry, self.bytecode, general.launch)
        result = check_unit(unit, self.options)
        if result.verdict is not Verdict.PROVED:
            first = f": {result.findings[0].message} [{result.findings[0].code}]" if result.findings else ""
            raise UsageError(f"in general it is {result.verdict.value}{first}")
        guard = proof_of(unit, result).guard
        assert guard is not None  # there are no lists in it
        for position in general.positions:
            launch = self.entry["launches"][position]
            x, y, z = launch["grid"]
            grid: Grid = (x, y, z)
            values = dict(named_values(self.entry["parameters"], list(_placed(self.entry, launch))))
            guard.check(list(values.values()), grid)
        return list(result.requires)


def _placed(entry: RecordedSpecialisation, launch: RecordedLaunch) -> Iterator[Described]:
    """The arguments with addresses, which a recording forgets: arrays apart from each other, except those that were
    one array, each as aligned as the JIT saw it, and no better."""
    same = {pair["second"]: pair["first"] for pair in launch["overlaps"] if pair["same"]}
    addresses: dict[str, int] = {}
    end = _PAGE

    def placed(name: str, argument: RecordedArray, constraint: ConstraintWords) -> DescribedArray:
        nonlocal end
        first = same.get(name, name)
        if first not in addresses:
            last = sum((n - 1) * step for n, step in zip(argument["shape"], argument["strides"], strict=True))
            addresses[first] = end + argument.get("aligned", constraint.get("base_addr_divisible_by", 1)) % _PAGE
            end += (max(0, last + 1) * argument["bits"] // 8 // _PAGE + 2) * _PAGE
        addresses[name] = addresses[first]
        return {**argument, "address": addresses[name]}

    def place(name: str, argument: RecordedArgument, constraint: ConstraintWords) -> Described:
        if argument["kind"] == "array":
            return placed(name, argument, constraint)
        if argument["kind"] == "tuple":
            fields = argument.get("fields")
            paths = [f".{field}" for field in fields] if fields else [f"[{n}]" for n in range(len(argument["items"]))]
            parts = zip(paths, argument["items"], items_of(constraint), strict=True)
            return {**argument, "items": [place(f"{name}{path}", item, each) for path, item, each in parts]}
        assert argument["kind"] != "list"  # launches with lists or descriptors are left as they are
        assert argument["kind"] != "descriptor"
        return argument

    named = zip(entry["parameters"], launch["arguments"], entry["signature"], strict=True)
    yield from (place(name, argument, constraint) for name, argument, constraint in named)


# ---------------------------------------------------------------------------------------------------------- grid trials
# Which of the grids that fit several launches was meant: one whose blocks write what the recorded launches wrote.
#
# A grid fits few launches by chance: 9 and 2 blocks are ``cdiv(M, 8)`` as well as ``cdiv(M, 32) * cdiv(N, 32)``.  So
# the kernel runs in the interpreter, once with the recorded sizes and then with other small ones under each grid:
#
# 1. *Whole* arrays are those of which the recorded launches wrote every element.  Where these are too large to run, it
# is those that one of the grids always writes whole.  An array that has one size in all launches does not count. 2. A
# grid that leaves an element of a whole array unwritten is dropped. 3. Of the first group that has any left, the grid
# is taken if it is the only one, or all of them come to the same.  A tile that the kernel has nowhere is taken only if
# runs bear it out. 4. Else the launch has any grid, and its remark says which ones fit.


TILES: Final = 2
"""Around whose extents sizes are chosen, the largest first."""
STEPS: Final = 1 << 24
"""Of the interpreter in one launch."""
MOST_COST: Final = 1 << 20
"""Of a launch that is run."""


def with_meant_grid(
    general: GeneralLaunch, unit_of: Callable[[GeneralWords], KernelUnit], written: frozenset[str]
) -> GeneralLaunch:
    """``general`` with the grid that its launches had, or with any.  ``written``: the arrays that the kernel writes."""
    return _Trials(general, unit_of, written).chosen() if general.grids else general


@dataclass
class _Trials:
    general: GeneralLaunch
    unit_of: Callable[[GeneralWords], KernelUnit]
    written: frozenset[str]
    _left: dict[tuple[int, tuple[int, ...]], frozenset[str] | None] = field(default_factory=dict)

    def chosen(self) -> GeneralLaunch:
        whole = self._whole()
        fitting: list[FittingGrid] = []
        for group in self.general.grids:
            kept = [grid for grid in group if self._writes(grid, whole)]
            fitting += kept
            if kept and all(self._same(kept[0], other) for other in kept[1:]):
                return self.general.with_grid(kept[0].axes)
            if kept:
                break
        told = fitting or [grid for group in self.general.grids for grid in group]
        why = "several grids fit" if fitting else "these grids fit, but leave elements unwritten at other sizes"
        return self.general.with_grid(None, f"any grid: {why}: {', '.join(map(_words, told))}")

    # ---------------------------------------------------------------------------------- what is written whole
    def _whole(self) -> frozenset[str]:
        """The arrays that are written whole in all recorded launches, as far as these can be run.

        Those whose size stays say nothing about a grid.
        """
        unit = self._unit(self.general.grids[0][0])  # all that fit are one at the recorded sizes
        tries = (self._unwritten(unit, inputs) for inputs in self._recorded(ContractInNumbers(unit.launch)))
        runs = [left for left in tries if left is not None]
        grow = {array.name for array in unit.launch.arrays() if any(map(free_names, array.shape))} & self.written
        if runs:
            return frozenset(grow).difference(*runs)
        tried = (list(self._leaves(grid)) for grid in chain(*self.general.grids))
        return frozenset(chain(*(grow.difference(*left) for left in tried if left)))

    def _recorded(self, contract: ContractInNumbers) -> Iterator[Inputs]:
        for position in range(len(self.general.positions)):
            numbers = {name: column[position] for name, column in self.general.names.items()}
            try:
                if cost(contract, numbers) <= MOST_COST:
                    yield make_inputs(contract, Given(numbers, {}, {}))
            except TileVerifyError:  # contents or strides that nobody makes up
                continue

    # ------------------------------------------------------------------------------------------ a grid's runs
    def _writes(self, grid: FittingGrid, whole: frozenset[str]) -> bool:
        """Whether ``grid`` writes what was written, as far as is known: of guesses that has to be seen."""
        if not whole:
            return not grid.guessed
        ran = False
        for left in self._leaves(grid):
            if left & whole:
                return False
            ran = True
        return ran or not grid.guessed

    def _leaves(self, grid: FittingGrid) -> Iterator[frozenset[str]]:
        """The arrays that launches under ``grid`` do not write whole, one after the other, as far as they can be run.

        Grids that fit are mostly the same at small sizes, too: each launch is run once.
        """
        unit = self._unit(grid)
        contract = ContractInNumbers(unit.launch)
        for number, sizes in enumerate(self._sizes):
            try:
                inputs = make_inputs(contract, Given(sizes, {}, {}, seed=number))
                launch = number, inputs.launch.grid
                if launch not in self._left:
                    self._left[launch] = self._unwritten(unit, inputs)
            except TileVerifyError:  # no grid at these sizes, or contents that nobody makes up
                continue
            left = self._left[launch]
            if left is not None:
                yield left

    @cached_property
    def _sizes(self) -> list[Mapping[str, int]]:
        """Small ones that are legal, whatever the grid is: of one tile and a bit, one of them long, one of them 1, and
        one of them beyond all that was recorded; the smallest launch first."""
        unit = self.unit_of(self.general.launch)
        tiles = tile_sizes(entry_of(self._module, unit))[:TILES] or [1]
        sizes = sorted(_sizes_of(unit.launch))
        contract = ContractInNumbers(unit.launch, self._scalars_as_recorded(unit.launch))
        beyond = ({**dict.fromkeys(sizes, 1), name: 2 * max(self.general.names[name])} for name in sizes)
        found, expense = list[Mapping[str, int]](), list[int]()
        for wanted in chain(*(_around(sizes, tile) for tile in tiles), beyond):
            numbers = {name: self._legal(name, number) for name, number in wanted.items()}
            with contextlib.suppress(UsageError):  # conditions may tie sizes to each other
                chosen = choose(contract, numbers)
                small = {name: number for name, number in chosen.items() if name not in GRID_NAMES}
                if small not in found and (costs := cost(contract, chosen)) <= MOST_COST:
                    found.append(small)
                    expense.append(costs)
        return [sizes for _, sizes in sorted(zip(expense, found, strict=True), key=itemgetter(0))]

    def _legal(self, name: str, number: int) -> int:
        step = self.general.divisors.get(name, 1)
        return -(-number // step) * step

    def _scalars_as_recorded(self, launch: LaunchSpec) -> list[str]:
        """Numbers that are no sizes say what the kernel does: they stay those of the first launch."""
        free = {scalar.name for scalar in scalars(launch)} - _sizes_of(launch)
        return [f"{name} == {column[0]}" for name, column in self.general.names.items() if name in free]

    def _same(self, one: FittingGrid, other: FittingGrid) -> bool:
        """Whether two grids come to the same at all sizes that were tried."""
        pairs = [[parse_size(str(axis)) for axis in grid.axes] for grid in (one, other)]
        return all(
            evaluate(first, sizes) == evaluate(second, sizes)
            for sizes in self._sizes
            for first, second in zip(*pairs, strict=True)
        )

    def _unwritten(self, unit: KernelUnit, inputs: Inputs) -> frozenset[str] | None:
        """The arrays of which a launch leaves an element unwritten; ``None`` where it does not run, or goes wrong."""
        module = self._module
        try:
            with np.errstate(all="ignore"):
                run = execute_launch(
                    module, entry_of(module, unit), unit.parameters, inputs.launch, inputs.memory, KEEP_GOING, STEPS
                )
        except InterpreterStop:
            return None
        if run.stopped is not None or any(told.events for told in run.told):
            return None
        return frozenset(
            name
            for name, array in inputs.launch.arrays.items()
            if array.allocation in run.written
            and not elements_with(run.written[array.allocation], array, run.contents[array.allocation]).all()
        )

    @cached_property
    def _module(self) -> Module:
        """The kernel, which is the same under all grids."""
        unit = self.unit_of(self.general.launch)
        return decode(unit.bytecode, file=str(unit.file))

    def _unit(self, grid: FittingGrid) -> KernelUnit:
        return self.unit_of(self.general.with_grid(grid.axes).launch)


def _sizes_of(launch: LaunchSpec) -> frozenset[str]:
    return frozenset[str]().union(*(free_names(size) for array in launch.arrays() for size in array.shape))


def _around(sizes: Sequence[str], tile: int) -> Iterator[dict[str, int]]:
    medium, one = dict.fromkeys(sizes, tile + 1), dict.fromkeys(sizes, 1)
    yield from (medium, one)
    for name in sizes:
        yield {**one, name: 3 * tile + 1}
        yield {**medium, name: 1}


def _words(grid: FittingGrid) -> str:
    axes = list(grid.axes)
    while len(axes) > 1 and axes[-1] == 1:
        axes.pop()
    return f"({', '.join(map(str, axes))})"
