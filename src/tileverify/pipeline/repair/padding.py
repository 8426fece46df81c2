"""Padding modes for loads that leave open what lies beyond the array (TV403).

Any padding is one of the values that the specification allows, so that nothing changes which was determined before.
Whether it is the value that is meant is another question: 0 is, for tiles that are only multiplied and summed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .kernel_source import KernelSource, TileCall

_SUMS = frozenset({"mma", "sum"})
_EXTREMES = {"max": "NEG_INF", "argmax": "NEG_INF", "min": "POS_INF", "argmin": "POS_INF"}
"""What combines the lanes of a tile -> the padding that changes nothing."""


def unpadded_loads(source: KernelSource, function: ast.FunctionDef, named: Sequence[TileCall]) -> list[list[TileCall]]:
    """Loads to try together: those that a finding names, and all of the function."""
    first = [call for call in named if _may_be_padded(call)]
    every = [call for call in source.calls(function) if _may_be_padded(call)]
    return [group for number, group in enumerate((first, every)) if group and (number == 0 or len(every) > len(first))]


def _may_be_padded(call: TileCall) -> bool:
    return call.name == "load" and "padding_mode" not in call.arguments


def padding_of(source: KernelSource, function: ast.FunctionDef, load: TileCall) -> tuple[str, bool]:
    """The padding mode that the uses of a load suggest, and whether they leave no doubt."""
    uses = list(_uses(source, function, load))
    for name in uses:
        if name in _EXTREMES:
            return _EXTREMES[name], False
    return "ZERO", bool(uses) and _SUMS.issuperset(uses)


def _uses(source: KernelSource, function: ast.FunctionDef, load: TileCall) -> Iterator[str]:
    """The functions of cuda.tile that take the loaded tile, by its name or as it is; empty for all else."""
    names = {name for name, value in source.definitions(function).items() if value is load.node}
    for node in ast.walk(function):
        for child in ast.iter_child_nodes(node):
            used = isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) and child.id in names
            if used or (child is load.node and not isinstance(node, ast.Assign)):
                yield source.called(node) or ""


def with_padding(source: KernelSource, load: TileCall, mode: str) -> str:
    """The text of the call with a padding mode."""
    text = source.of(load.node)
    assert text.endswith(")")
    inside = text[:-1].rstrip()
    comma = "" if inside.endswith((",", "(")) else ","
    return f"{inside}{comma} padding_mode={source.module}.PaddingMode.{mode})"
