"""Other tiles for a launch of which the assembler makes other code than its bytecode says.

A tile is a constant of the launch, so it stands where the launch is made: what is offered is advice, without edits of
the kernel.  It is tried like an edit all the same: the grid counts the new tiles, small launches give what they gave
before, the kernel is proved under the same contract, and its code compares equal.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from ...contract.expressions import print_expression
from ...contract.launch import Apply, ConstantArgument, Expression, KernelUnit, LaunchSpec, Number
from ...frontend.sources.edited import edited_unit
from ...results import Finding, Hint, KernelResult
from ...system.errors import TileVerifyError
from .catalogue import KINDS
from .kernel_source import KernelSource
from .small_runs import Comparison, SmallRuns
from .trial_outcomes import Check, codes_of, compared_equal

MOST: Final = 4
"""Tiles that are compiled."""
_LARGEST: Final = 4096


@dataclass(frozen=True, slots=True)
class OtherTiles:
    """``result``: of the unit as it is."""

    unit: KernelUnit
    source: KernelSource
    result: KernelResult
    check: Check
    runs: SmallRuns

    def hint(self, finding: Finding) -> Hint | None:
        """The first other tile that is right."""
        launches = other_launches(self.unit.launch, self._constants(finding))
        return next(filter(None, (self._tried(*each) for each in islice(launches, MOST))), None)

    def _constants(self, finding: Finding) -> list[ConstantArgument]:
        """Constants that the accesses of the arrays at fault name."""
        line = next((site.line for site in finding.sites if site.line is not None), None)
        function = None if line is None else self.source.function_at(line)
        if function is None or line is None:
            return []
        calls = list(self.source.calls(function))
        at_fault = [each for each in calls if each.node.lineno <= line <= (each.node.end_lineno or 0)]
        arrays = {self.source.of(each.arguments["array"]) for each in at_fault}
        accesses = [each.node for each in calls if self.source.of(each.arguments["array"]) in arrays]
        named = {part.id for node in accesses for part in ast.walk(node) if isinstance(part, ast.Name)}
        return [
            each
            for each in self.unit.launch.arguments
            if isinstance(each, ConstantArgument) and each.name in named and type(each.value) is int and each.value > 1
        ]

    def _tried(self, what: str, launch: LaunchSpec) -> Hint | None:
        try:
            changed = edited_unit(replace(self.unit, launch=launch), self.source.text)
        except TileVerifyError:
            return None
        if self.runs.compared(changed) is not Comparison.SAME:
            return None
        outcome = self.check(changed, False)
        equal = compared_equal(outcome, codes_of(self.result))
        if not equal or not set(outcome.requires) <= set(self.result.requires):
            return None
        return Hint("other-tile", "maybe", f"{KINDS['other-tile'].text}: launch with {what} (proved, {equal})")


def other_launches(launch: LaunchSpec, constants: list[ConstantArgument]) -> Iterator[tuple[str, LaunchSpec]]:
    """What changes, in words, and the launch with it; larger tiles first, as too small ones repeat elements."""
    for constant in constants:
        size: int = constant.value
        for other in (2 * size, 4 * size, size // 2):
            if 1 <= other <= _LARGEST:
                arguments = tuple(replace(each, value=other) if each == constant else each for each in launch.arguments)
                grid = _grid(launch, {size: other})
                words = f"{constant.name} = {other} for {size}"
                if grid is not None and grid != launch.grid:
                    axes = [*map(print_expression, grid)]
                    while len(axes) > 1 and axes[-1] == "1":
                        axes.pop()
                    words += f" and grid = [{', '.join(axes)}]"
                yield words, replace(launch, arguments=arguments, grid=grid, grid_text=())


def _grid(launch: LaunchSpec, sizes: Mapping[int, int]) -> tuple[Expression, Expression, Expression] | None:
    """The grid with other numbers in the place of the tile's, and a block for what is left of the last tile."""
    if launch.grid is None:
        return None
    x, y, z = (_with(axis, sizes) for axis in launch.grid)
    return x, y, z


def _with(expression: Expression, sizes: Mapping[int, int]) -> Expression:
    if isinstance(expression, Number):
        return Number(sizes.get(expression.value, expression.value))
    if isinstance(expression, Apply):
        if expression.op == "//" and expression.args[1] in [*map(Number, sizes)]:
            expression = Apply("cdiv", expression.args)
        return Apply(expression.op, tuple(_with(each, sizes) for each in expression.args))
    return expression
