"""Repairs of sums that several blocks build: atomics in place of load, change and store; parts added, not overwritten.

What is recognised is exactly that: the place that is loaded is the one that is stored to, spelled the same, and what
happens in between is one sum, maximum or minimum.  Everything else is left alone: an atomic in place of a store that is
no accumulation would be wrong advice, and a proof that blocks do not race would not show it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ...results import Edit
from .kernel_source import KernelSource, TileCall, holds

_WRITES: Final = {"store": ("tile", "load"), "scatter": ("value", "gather")}
"""A function that writes -> its argument with what is written, and the function that loads from such a place."""
_KEPT: Final = frozenset({"check_bounds"})
_KNOWN: Final = _KEPT | {
    *("array", "index", "indices", "shape", "tile", "value"),
    *("latency", "allow_tma", "mask", "padding_value", "padding_mode"),
}
_EXTREMES: Final = {"maximum": "max", "minimum": "min"}
_PLAIN: Final = (ast.Name, ast.Call, ast.Constant, ast.Attribute, ast.Subscript)


@dataclass(frozen=True, slots=True)
class Accumulation:
    """``write`` stores what ``load`` gave, changed by ``mode`` (add, max, min) with ``change``, a text; ``gone``: the
    statements that are needed no more."""

    write: TileCall
    load: TileCall
    mode: str
    change: str
    gone: tuple[ast.stmt, ...]


def accumulations(source: KernelSource, function: ast.FunctionDef, writes: Sequence[TileCall]) -> list[Accumulation]:
    """Those of ``writes`` that are accumulations."""
    found = (_accumulation(source, function, write) for write in writes if write.name in _WRITES)
    return [each for each in found if each is not None]


def as_atomic(
    source: KernelSource, found: Accumulation, *, by_tiles: bool = False
) -> tuple[str, tuple[Edit, ...]] | None:
    """The call that does the same atomically, and the edits that put it in its place; ``None`` where there is none.

    ``by_tiles``: by a view also for tiles of one element, whose change has their shape and may not be a scalar's.
    """
    text = _atomic(source, found, by_tiles)
    if text is None:
        return None
    gone = tuple(source.lines.without(each) for each in found.gone)
    return text, (*gone, source.lines.replacing(found.write.node, text))


def _atomic(source: KernelSource, found: Accumulation, by_tiles: bool) -> str | None:
    write = found.write
    array, index = source.of(write.arguments["array"]), write.index
    if index is None:
        return None
    place, keywords = source.of(index), {each.arg: source.of(each.value) for each in write.node.keywords if each.arg}
    kept = "".join(f", {name}={text}" for name, text in keywords.items() if name in _KEPT)
    if write.name == "scatter":
        change = found.change
        if "mask" in keywords:
            if found.mode != "add":
                return None
            change = f"{source.module}.where({keywords['mask']}, {change}, 0)"
        return f"{source.module}.atomic_{found.mode}({array}, {place}, {change}{kept})"
    shape = found.load.arguments.get("shape")
    if shape is None or kept:
        return None
    if _is_single(shape) and not by_tiles:
        return f"{source.module}.atomic_{found.mode}({array}, {place}, {found.change})"
    return f"{array}.tiled_view({source.of(shape)}).atomic_store_{found.mode}({place}, {found.change})"


def _is_single(shape: ast.expr) -> bool:
    """Whether a tile of that shape is one element, so that the number of a tile is that of an element."""
    parts = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    return all(isinstance(part, ast.Constant) and part.value == 1 for part in parts)


# --------------------------------------------------------------------------------------- what is recognised
def _accumulation(source: KernelSource, function: ast.FunctionDef, write: TileCall) -> Accumulation | None:
    argument, loads = _WRITES[write.name]
    value = write.arguments.get(argument)
    if value is None or not _is_plain(write):
        return None
    reading = _Reading(source, function, write, loads)
    for mode, load, change, gone in reading.changes(value):
        if _is_one_step(source, function, load, write) and _unchanged(function, gone, write):
            return Accumulation(write, load, mode, change, gone)
    return None


def _is_plain(call: TileCall) -> bool:
    """Whether all that is said of an access is known here."""
    return all(each.arg in _KNOWN for each in call.node.keywords)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is stored, read as a change of what was loaded from the same place by ``loads``."""

    source: KernelSource
    function: ast.FunctionDef
    write: TileCall
    loads: str

    def changes(self, value: ast.expr) -> Iterator[tuple[str, TileCall, str, tuple[ast.stmt, ...]]]:
        """Mode, load, the text of the change, and the statements that it makes superfluous."""
        value, gone = self._named(value)
        if isinstance(value, ast.Name):
            yield from self._in_place(value)
        elif isinstance(value, ast.BinOp):
            yield from self._summed(value, gone)
        elif isinstance(value, ast.Call):
            mode = _EXTREMES.get(self.source.called(value) or "")
            if mode and len(value.args) == 2 and not value.keywords:
                for before, more in (value.args, value.args[::-1]):
                    if (loaded := self._loaded(before)) is not None:
                        yield mode, loaded[0], self.source.of(more), (*gone, *loaded[1])

    def _summed(
        self, value: ast.BinOp, gone: tuple[ast.stmt, ...]
    ) -> Iterator[tuple[str, TileCall, str, tuple[ast.stmt, ...]]]:
        terms = list(_terms(value))
        for number, (sign, term) in enumerate(terms):
            loaded = self._loaded(term) if sign == "+" else None
            if loaded is not None:
                yield "add", loaded[0], self._sum(terms[:number] + terms[number + 1 :]), (*gone, *loaded[1])

    def _sum(self, terms: Sequence[tuple[str, ast.expr]]) -> str:
        (first_sign, first), *others = terms
        if not others and first_sign == "+":
            return self.source.of(first)
        parts = [f"{'-' if first_sign == '-' else ''}{self._operand(first)}"]
        parts += [f"{sign} {self._operand(term)}" for sign, term in others]
        return " ".join(parts)

    def _operand(self, node: ast.expr) -> str:
        text = self.source.of(node)
        return text if isinstance(node, _PLAIN) else f"({text})"

    def _named(self, value: ast.expr) -> tuple[ast.expr, tuple[ast.stmt, ...]]:
        """What a name stands for that is used for nothing else, and its assignment."""
        if isinstance(value, ast.Name):
            definition = self.source.definitions(self.function).get(value.id)
            if definition is not None and _uses(self.function, value.id) == 1:
                return definition, tuple(_assignments(self.function, value.id))
        return value, ()

    def _loaded(self, node: ast.expr) -> tuple[TileCall, tuple[ast.stmt, ...]] | None:
        """``node`` as the load of what is overwritten, perhaps by a name or as a scalar; anything done to it would be
        lost."""
        gone: tuple[ast.stmt, ...] = ()
        if isinstance(node, ast.Name):
            name = node.id
            definition = self.source.definitions(self.function).get(name)
            if definition is None or _uses(self.function, name) != 1:
                return None
            node, gone = definition, tuple(_assignments(self.function, name))
        load = self._load(node)
        return None if load is None else (load, gone)

    def _load(self, node: ast.expr) -> TileCall | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            node = node.func.value
        for call in self.source.calls(node):
            if call.node is node and call.name == self.loads and _is_plain(call) and self._same_place(call):
                return call
        return None

    def _same_place(self, load: TileCall) -> bool:
        write, of = self.write, self.source.of
        same = (of(load.arguments["array"]), [*map(of, load.components)]) == (
            of(write.arguments["array"]),
            [*map(of, write.components)],
        )
        masks = [next((of(k.value) for k in c.node.keywords if k.arg == "mask"), None) for c in (load, write)]
        return bool(write.components) and same and masks[0] in (None, masks[1]) and self._is_fixed(write)

    def _is_fixed(self, write: TileCall) -> bool:
        """Whether the names in an index mean the same wherever they are used: none is assigned twice."""
        stored = [
            node.id
            for node in ast.walk(self.function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        names = {part.id for each in write.components for part in ast.walk(each) if isinstance(part, ast.Name)}
        return all(stored.count(name) <= 1 for name in names)

    def _in_place(self, value: ast.Name) -> Iterator[tuple[str, TileCall, str, tuple[ast.stmt, ...]]]:
        """``t = load(...)``, ``t += more``, ``store(..., t)``, one behind the other."""
        body = next((each for each in _bodies(self.function) if any(holds(s, self.write.node) for s in each)), [])
        assigned = [each for each in body if _target(each) == value.id]
        everywhere = [n for n in ast.walk(self.function) if isinstance(n, ast.stmt) and _target(n) == value.id]
        if len(assigned) != 2 or len(everywhere) != 2 or _uses(self.function, value.id) != 1:
            return
        first, change = assigned
        if isinstance(first, ast.Assign) and isinstance(change, ast.AugAssign):
            load = self._load(first.value)
            if load is not None and isinstance(change.op, ast.Add | ast.Sub):
                more = self.source.of(change.value)
                if isinstance(change.op, ast.Sub):
                    more = f"-{self._operand(change.value)}"
                yield "add", load, more, (first, change)


def _terms(node: ast.expr, sign: str = "+") -> Iterator[tuple[str, ast.expr]]:
    """The terms of a sum with their signs."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _terms(node.left, sign)
        minus = isinstance(node.op, ast.Sub)
        yield from _terms(node.right, {"+": "-", "-": "+"}[sign] if minus else sign)
    else:
        yield sign, node


def _is_one_step(source: KernelSource, function: ast.FunctionDef, load: TileCall, write: TileCall) -> bool:
    """Whether load and store are made equally often, and nothing else writes to the array from one to the other, which
    would be lost before, and is not by an atomic."""
    array = source.of(write.arguments["array"])
    return _loop(function, load.node) is _loop(function, write.node) and not any(
        load.node.lineno < other.node.lineno < write.node.lineno
        for other in source.calls(function)
        if other.name not in ("load", "gather") and source.of(other.arguments["array"]) == array
    )


def _loop(function: ast.FunctionDef, node: ast.AST) -> ast.AST | None:
    """The innermost loop around ``node``."""
    around = [each for each in ast.walk(function) if isinstance(each, ast.For | ast.While) and holds(each, node)]
    return max(around, key=lambda each: each.lineno, default=None)


def _unchanged(function: ast.FunctionDef, gone: Sequence[ast.stmt], write: TileCall) -> bool:
    """Whether names in what is moved to the store mean the same there."""
    first = min((each.lineno for each in gone), default=write.node.lineno)
    moved = {node.id for each in gone for node in ast.walk(each) if isinstance(node, ast.Name)}
    own = {id(node) for each in gone for node in ast.walk(each)}
    return not any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id in moved
        and id(node) not in own
        and first < node.lineno < write.node.lineno
        for node in ast.walk(function)
    )


def _uses(function: ast.FunctionDef, name: str) -> int:
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in ast.walk(function)
    )


def _assignments(function: ast.FunctionDef, name: str) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(function) if isinstance(node, ast.stmt) and _target(node) == name)


def _target(node: ast.stmt) -> str | None:
    """The name that a statement assigns to, where it is the only one."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function, the innermost last to come, first to be told."""
    found = [
        body
        for node in ast.walk(function)
        for body in (getattr(node, "body", None), getattr(node, "orelse", None))
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt)
    ]
    return reversed(found)


# --------------------------------------------------------------------------------------------------------- partial sums
# Stores of a part of a sum by every block that has one (split-K): parts are to be added, not stored over each other.
#
# A store is taken for one only if what it stores is a sum, and depends on a block id that says nothing about where it
# is stored, but shares out the steps of the loop that sums; if it is the sum along an axis of a tile, and that block id
# says where the tile begins along this axis alone; or if it is the sum of a whole tile, and all blocks store to one
# place.  A product of each batch that is stored to one of them is no sum of batches, and is left alone as all else is.


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
