"""Padding for loads that leave open what lies beyond the array (TV403).

Any padding is one of the values that the specification allows, so that nothing changes which was determined before.
Whether it is the value that is meant is another question: it is if all that combines lanes of the tile, directly or of
what is computed from it, does as if they were not there.  The uses of a load say what to try first; runs say whether it
is right (`small_runs`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from .kernel_source import KernelSource, TileCall

_SUMS: Final = frozenset({"mma", "sum"})
_MODES: Final = {"max": "NEG_INF", "argmax": "NEG_INF", "min": "POS_INF", "argmin": "POS_INF"}
"""What combines the lanes of a tile -> the padding that changes nothing."""
_LEAST: Final = "-2147483648"
_GREATEST: Final = "2147483647"
_FILLS: Final = {"prod": "1", "max": _LEAST, "argmax": _LEAST, "min": _GREATEST, "argmin": _GREATEST}
"""The same as a number, where no padding mode is it: there is none for 1, and none but 0 for integers."""


def unpadded_loads(source: KernelSource, function: ast.FunctionDef, named: Sequence[TileCall]) -> list[list[TileCall]]:
    """Loads to try together: each one that a finding names, each other one, and all."""
    every = [call for call in source.calls(function) if _may_be_padded(call)]
    first = [call for call in every if any(call.node is each.node for each in named)]
    rest = [call for call in every if call not in first]
    return [*([call] for call in (*first, *rest)), *([every] if len(every) > 1 else [])]


def _may_be_padded(call: TileCall) -> bool:
    return call.name == "load" and "padding_mode" not in call.arguments


def is_only_summed(source: KernelSource, function: ast.FunctionDef, load: TileCall) -> bool:
    """Whether zeros beyond the array leave no doubt: the tile itself is only multiplied as a matrix, and summed."""
    names = {name for name, value in source.definitions(function).items() if value is load.node}
    uses = [source.called(user) or "" for user in _users(function, load.node, names)]
    return bool(uses) and _SUMS.issuperset(uses)


def modes(source: KernelSource, function: ast.FunctionDef, load: TileCall) -> list[str]:
    """Padding modes, the one first that what combines the lanes asks for."""
    wanted = [_MODES[name] for name in combined_by(source, function, load) if name in _MODES]
    return list(dict.fromkeys((*wanted, "ZERO", "NEG_INF", "POS_INF")))


def fills(source: KernelSource, function: ast.FunctionDef, load: TileCall) -> list[str]:
    """Numbers for lanes beyond the array that no padding mode gives."""
    return list(dict.fromkeys(_FILLS[name] for name in combined_by(source, function, load) if name in _FILLS))


def combined_by(source: KernelSource, function: ast.FunctionDef, load: TileCall) -> list[str]:
    """The functions of cuda.tile that take what the load gives, or what is computed from it, those nearest first."""
    found: dict[str, None] = {}
    nodes, names = list[ast.expr]([load.node]), set[str]()
    while nodes:
        node, nodes = nodes[0], nodes[1:]
        own = {node.id} if isinstance(node, ast.Name) else set[str]()
        for user in _users(function, node, own):
            if name := source.called(user):
                found.setdefault(name)
            if isinstance(user, ast.Assign | ast.AugAssign):
                targets = user.targets if isinstance(user, ast.Assign) else [user.target]
                for part in (part for target in targets for part in ast.walk(target)):
                    if isinstance(part, ast.Name) and part.id not in names:
                        names.add(part.id)
                        nodes.append(part)
            elif isinstance(user, ast.expr):
                nodes.append(user)
    return list(found)


def _users(function: ast.FunctionDef, node: ast.AST, names: set[str]) -> Iterator[ast.AST]:
    """What ``node`` stands in, or a use of one of ``names``."""
    for parent in ast.walk(function):
        for child in ast.iter_child_nodes(parent):
            used = isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load) and child.id in names
            if used or (child is node and not (isinstance(parent, ast.Assign) and names)):
                yield parent


def with_padding(source: KernelSource, load: TileCall, mode: str) -> str:
    """The text of the call with a padding mode."""
    text = source.of(load.node)
    assert text.endswith(")")
    inside = text[:-1].rstrip()
    comma = "" if inside.endswith((",", "(")) else ","
    return f"{inside}{comma} padding_mode={source.module}.PaddingMode.{mode})"


def with_fill(source: KernelSource, load: TileCall, value: str) -> str | None:
    """The text of a choice between what the call gives and ``value``, beyond the array; ``None`` for a shape that is
    not written there."""
    shape, index, module = load.arguments.get("shape"), load.components, source.module
    sizes = shape.elts if isinstance(shape, ast.Tuple) else [] if shape is None else [shape]
    if not sizes or len(sizes) != len(index):
        return None
    array, conditions = source.of(load.arguments["array"]), []
    for axis, (size, component) in enumerate(zip(sizes, index, strict=True)):
        if isinstance(size, ast.Constant) and size.value == 1:
            continue
        extent, at = source.of(size), source.of(component)
        at = at if isinstance(component, ast.Name | ast.Constant | ast.Call) else f"({at})"
        lanes = f"{module}.arange({extent}, dtype={module}.int32)"
        if len(sizes) > 1:
            whole = ", ".join(extent if other == axis else "1" for other in range(len(sizes)))
            lanes += f".reshape(({whole}))"
        start = "" if at == "0" else f"{at} * {extent} + "
        conditions.append(f"({start}{lanes} < {array}.shape[{axis}])")
    if not conditions:
        return None
    inside = " & ".join(conditions) if len(conditions) > 1 else conditions[0][1:-1]
    return f"{module}.where({inside}, {source.of(load.node)}, {value})"
