"""Stores of a part of a sum by every block that has one (split-K): parts are to be added, not stored over each other.

A store is taken for one only if what it stores is a sum, and depends on a block id that says nothing about where it is
stored, but shares out the steps of the loop that sums; if it is the sum along an axis of a tile, and that block id says
where the tile begins along this axis alone; or if it is the sum of a whole tile, and all blocks store to one place.  A
product of each batch that is stored to one of them is no sum of batches, and is left alone as all else is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from ...results import Edit
from .kernel_source import KernelSource, TileCall

_PRODUCTS: Final = frozenset({"mma", "matmul", "sum"})
_MOVING: Final = frozenset({"permute", "transpose", "reshape", "cat", "extract", "mma", "matmul", "sum", "expand_dims"})
"""What gives a tile other axes than that which it is made of."""
_ARGUMENTS: Final = {"store": "tile", "scatter": "value"}


def summed_by_atomic(
    source: KernelSource, function: ast.FunctionDef, write: TileCall
) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """The text of an atomic addition in place of ``write``, and its edits; nothing for what is no part of a sum."""
    value = write.arguments.get(_ARGUMENTS.get(write.name, ""))
    said = {each.arg for each in write.node.keywords} - {"index", "indices", "tile", "value", "array", "latency"}
    if value is None or write.index is None or said or not is_partial_sum(source, function, write, value):
        return
    array, place, text = source.of(write.arguments["array"]), source.of(write.index), source.of(value)
    if write.name == "scatter":
        atomic = f"{source.module}.atomic_add({array}, {place}, {text})"
        yield atomic, (source.lines.replacing(write.node, atomic),)
        return
    before: tuple[Edit, ...] = ()
    name = text
    if not isinstance(value, ast.Name):
        statement = _statement(function, write.node)
        if statement is None:
            return
        name = _fresh(function)
        before = (source.lines.before(statement, [f"{name} = {text}"]),)
    view = f"{array}.tiled_view({name}.shape).atomic_store_add({place}, {name})"
    yield view, (*before, source.lines.replacing(write.node, view))
    single = f"{source.module}.atomic_add({array}, {place}, {text})"  # of scalars, whose tile is one element
    yield single, (source.lines.replacing(write.node, single),)


def is_partial_sum(source: KernelSource, function: ast.FunctionDef, write: TileCall, value: ast.expr) -> bool:
    """Whether ``value`` is a sum over what a block has that shares the place of ``write`` with others."""
    names = ValueParts(source, function)
    own = frozenset[int]().union(*(names.axes(each) for each in write.components))
    shared = names.axes(value) - own
    if not shared or not names.is_sum(value):
        return False
    if names.shares_out_loop(value, shared) or names.shares_out_axis(value, shared):
        return True
    return not own and names.is_whole_sum(value)


class ValueParts:
    """What names of a function are made of, through all their assignments and loops."""

    def __init__(self, source: KernelSource, function: ast.FunctionDef) -> None:
        self.source = source
        self.made_of: dict[str, list[ast.expr]] = {}
        self.added_up: set[str] = set()
        self.counters: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assigned(target, node.value)
            elif isinstance(node, ast.AugAssign):
                self._assigned(node.target, node.value)
            elif isinstance(node, ast.For):
                self._assigned(node.target, node.iter)
                self.counters |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
                self._added_up_in(node)
            elif isinstance(node, ast.While):
                self._added_up_in(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._assigned(one, other)
            return
        for part in ast.walk(target):
            if isinstance(part, ast.Name):
                self.made_of.setdefault(part.id, []).append(value)

    def _added_up_in(self, loop: ast.For | ast.While) -> None:
        for node in ast.walk(loop):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
                self.added_up.add(node.target.id)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name, value = node.targets[0].id, node.value
                summed = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
                parts = [value.left, value.right] if isinstance(value, ast.BinOp) and summed else []
                if isinstance(value, ast.Call) and self.source.called(value) == "mma":
                    parts = [*value.args[2:], *(each.value for each in value.keywords if each.arg == "acc")]
                if any(isinstance(part, ast.Name) and part.id == name for part in parts):
                    self.added_up.add(name)

    def parts(self, node: ast.expr) -> Iterator[ast.AST]:
        """All that ``node`` is made of."""
        seen, pending = set[str](), [node]
        while pending:
            for part in ast.walk(pending.pop()):
                yield part
                if isinstance(part, ast.Name) and part.id not in seen:
                    seen.add(part.id)
                    pending += self.made_of.get(part.id, [])

    def axes(self, node: ast.expr) -> frozenset[int]:
        """The axes of the grid along which the block's id has a part in ``node``."""
        axes = map(self.source.axis_of, self.parts(node))
        return frozenset(axis for axis in axes if axis is not None)

    def shares_out_loop(self, value: ast.expr, shared: frozenset[int]) -> bool:
        """Whether the blocks along ``shared`` axes load for ``value`` what lies at different counts of a loop."""
        components = [
            component
            for part in self.parts(value)
            if isinstance(part, ast.Call)
            for call in self.source.calls(part)
            if call.node is part
            for component in call.components
            if shared & self.axes(component)
        ]
        return bool(components) and all(self._counts(component) for component in components)

    def _counts(self, component: ast.expr) -> bool:
        return any(isinstance(part, ast.Name) and part.id in self.counters for part in self.parts(component))

    def shares_out_axis(self, value: ast.expr, shared: frozenset[int]) -> bool:
        """Whether it is the sum of a tile along axes, and ``shared`` block ids number its tiles along these alone."""
        summed = self._sum_of(value)
        if summed is None:
            return False
        axes = _numbers(next((each.value for each in summed.keywords if each.arg == "axis"), None) or summed.args[1:2])
        calls = [part for part in self.parts(summed.args[0]) if isinstance(part, ast.Call)]
        if not axes or any(self.source.called(call) in _MOVING for call in calls):
            return False
        loads = [each for call in calls for each in self.source.calls(call) if each.node is call]
        return bool(loads) and all(
            isinstance(load.index, ast.Tuple)
            and {number for number, each in enumerate(load.components) if shared & self.axes(each)}
            == {axis % len(load.components) for axis in axes}
            for load in loads
        )

    def _sum_of(self, value: ast.expr) -> ast.Call | None:
        """The sum along axes that ``value`` is, perhaps converted or multiplied."""
        match value:
            case ast.Name(id=name) if len(self.made_of.get(name, [])) == 1:
                return self._sum_of(self.made_of[name][0])
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div()):
                return self._sum_of(left)
            case ast.Call(args=[_, *_]) if self.source.called(value) == "sum":
                return value
            case ast.Call(args=[argument, *_]) if self.source.called(value) in ("astype", "reshape"):
                return self._sum_of(argument)
            case ast.Call(func=ast.Attribute(value=argument, attr="astype" | "reshape")):
                return self._sum_of(argument)
        return None

    def is_whole_sum(self, value: ast.expr) -> bool:
        """Whether it is the sum of all elements of a tile."""
        if isinstance(value, ast.Name) and len(self.made_of.get(value.id, [])) == 1:
            return self.is_whole_sum(self.made_of[value.id][0])
        return (
            isinstance(value, ast.Call)
            and self.source.called(value) == "sum"
            and len(value.args) == 1
            and not any(each.arg == "axis" for each in value.keywords)
        )

    def is_sum(self, node: ast.expr, depth: int = 8) -> bool:
        """Whether a value is a sum, perhaps converted or multiplied by something, so that parts of it can be added."""
        if depth == 0:
            return False
        if isinstance(node, ast.Name):
            if node.id in self.added_up:
                return True
            values = self.made_of.get(node.id, [])
            return len(values) == 1 and self.is_sum(values[0], depth - 1)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.MatMult):
                return True
            both = (node.left, node.right) if isinstance(node.op, ast.Mult) else (node.left,)
            return isinstance(node.op, ast.Mult | ast.Div) and any(self.is_sum(each, depth - 1) for each in both)
        if isinstance(node, ast.Call):
            called = self.source.called(node)
            if called in _PRODUCTS:
                return True
            if called in ("astype", "reshape") and node.args:
                return self.is_sum(node.args[0], depth - 1)
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("astype", "reshape", "item"):
                return self.is_sum(node.func.value, depth - 1)
        return False


def _numbers(given: ast.expr | list[ast.expr]) -> set[int]:
    """The axes that an argument says: a number, or several; none if it says them in another way."""
    try:
        found = ast.literal_eval(given[0] if isinstance(given, list) else given) if given else ()
    except ValueError:
        return set()
    axes = found if isinstance(found, tuple) else (found,)
    return set(axes) if all(type(axis) is int for axis in axes) else set()


def _statement(function: ast.FunctionDef, node: ast.AST) -> ast.stmt | None:
    """The statement that is the call alone."""
    return next((each for each in ast.walk(function) if isinstance(each, ast.Expr) and each.value is node), None)


def _fresh(function: ast.FunctionDef) -> str:
    taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    taken |= {argument.arg for argument in function.args.args}
    return next(name for name in ("part", "partial_sum", "part_of_sum") if name not in taken)
