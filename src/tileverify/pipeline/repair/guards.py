"""Repairs of accesses beyond an array: guards that leave them out, and padding for loads.

What hangs on a load are the statements that use what it gives, directly or through names; a store hangs on nothing but
itself.  A guard is right only if every other effect of the block stays: other stores, atomics, what the host sees.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ...results import Edit
from .kernel_source import FaultyPlace, Found, KernelSource, TileCall, holds

_HARMLESS: Final = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "range", "slice", "tuple", "zip"})
"""Functions of Python that a kernel may call, which do nothing but give a value."""
_EFFECTS: Final = ("assert", "atomic", "print", "scatter", "store")
"""How functions and methods of cuda.tile begin that do something else."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Statements of one body, ``first`` to ``last``, that are to run only where ``condition`` holds."""

    condition: str
    body: Sequence[ast.stmt]
    first: int
    last: int

    @property
    def statements(self) -> Sequence[ast.stmt]:
        return self.body[self.first : self.last + 1]


class Guards:
    """What may be left out of one function."""

    def __init__(self, source: KernelSource, function: ast.FunctionDef) -> None:
        self.source = source
        self.function = function

    def place(self, node: ast.AST) -> tuple[list[ast.stmt], int] | None:
        """The innermost body with the statement that holds ``node``, and its number; none for the head of a loop."""
        for body in _bodies(self.function):
            for number, statement in enumerate(body):
                if any(each is node for each in ast.walk(statement)):
                    return None if _is_compound(statement) else (body, number)
        return None

    def around(self, node: ast.AST, condition: str) -> Guarded | None:
        """A guard of the access ``node`` and all that hangs on it, if these stand together with nothing between."""
        found = self.place(node)
        if found is None:
            return None
        body, first = found
        names = _assigned(body[first])
        if isinstance(body[first], ast.AugAssign) or not self._is_alone(body[first]):
            return None
        last = first
        for number in range(first + 1, len(body)):
            if _used(body[number]) & names:
                last = number
                names |= {name for each in body[first + 1 : number + 1] for name in _assigned(each)}
        guarded = Guarded(condition, body, first, last)
        inside = {id(each) for statement in guarded.statements for each in ast.walk(statement)}
        every = (each for each in ast.walk(self.function) if isinstance(each, ast.Name))
        kept = names & {each.id for each in every if id(each) not in inside}
        whole = not any(map(self._has_several_lines, guarded.statements))
        alone = not self.leaves_out(guarded.statements[1:], _assigned(body[first]))
        return guarded if not kept and whole and alone else None

    def may_return(self, node: ast.AST) -> ast.stmt | None:
        """The statement of the function with ``node``, if the block may return in front of it: whatever it does from
        there on hangs on the access."""
        found = self.place(node)
        if found is None or found[0] is not self.function.body:
            return None
        body, number = found
        statement = body[number]
        rest = body[number + 1 :]
        return None if not self._is_alone(statement) or self.leaves_out(rest, _assigned(statement)) else statement

    def leaves_out(self, statements: Sequence[ast.stmt], names: Iterable[str]) -> bool:
        """Whether some effect of ``statements`` does not hang on what ``names`` stand for."""
        known = set(names)
        while True:
            more = {
                name for each in statements for part in _simple(each) if _used(part) & known for name in _assigned(part)
            }
            if more <= known:
                break
            known |= more
        return any(self._does_else(each, known) for each in statements)

    def _does_else(self, statement: ast.stmt, known: set[str]) -> bool:
        if _is_compound(statement):
            heads = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.expr)]
            if any(_used(head) & known for head in heads):
                return False
            inner = [each for body in _own_bodies(statement) for each in body]
            return any(map(self._has_effect, heads)) or any(self._does_else(each, known) for each in inner)
        return self._has_effect(statement) and not _used(statement) & known

    def _has_effect(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise | ast.Assert):
            return True
        return any(isinstance(each, ast.Call) and self._acts(each) for each in ast.walk(node))

    def _acts(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(attr=name):
                return name.startswith(_EFFECTS)
            case ast.Name(id=name):
                return name not in _HARMLESS
        return True

    def _is_alone(self, statement: ast.stmt) -> bool:
        """Whether no other statement stands on its lines."""
        before = self.source.lines.before(statement, [""]).text
        others = [each for body in _bodies(self.function) for each in body if each is not statement]
        return not before.strip() and not any(
            each.lineno in (statement.lineno, statement.end_lineno) and not holds(each, statement) for each in others
        )

    def _has_several_lines(self, statement: ast.stmt) -> bool:
        """A text of several lines would be another one where it is indented."""
        return any(
            isinstance(each, ast.Constant | ast.JoinedStr) and each.lineno != each.end_lineno
            for each in ast.walk(statement)
        )


def edits_of(source: KernelSource, guards: Sequence[Guarded]) -> tuple[Edit, ...]:
    """The guards as edits of whole lines; of two one may stand in the other."""
    merged: dict[tuple[int, int], Guarded] = {}
    for each in guards:
        where = each.statements[0].lineno, each.statements[-1].end_lineno or 0
        known = merged.get(where)
        both = each.condition if known is None else f"{known.condition} and {each.condition}"
        merged[where] = replace(each, condition=both)
    guards = list(merged.values())
    first = {id(each): each.statements[0].lineno for each in guards}
    last = {id(each): each.statements[-1].end_lineno or 0 for each in guards}
    outer = [
        each
        for each in guards
        if not any(
            first[id(other)] <= first[id(each)] and last[id(each)] <= last[id(other)]
            for other in guards
            if other is not each
        )
    ]
    edits = []
    for each in outer:
        lines = []
        for number in range(first[id(each)], last[id(each)] + 1):
            around = [g for g in guards if first[id(g)] <= number <= last[id(g)]]
            text = source.lines.line(number)
            indent = text[: len(text) - len(text.lstrip())]
            begins = sorted((g for g in around if first[id(g)] == number), key=lambda g: -last[id(g)])
            for depth, begun in enumerate(begins, start=len(around) - len(begins)):
                lines.append(f"{indent}{'    ' * depth}if {begun.condition}:\n")
            lines.append(f"{'    ' * len(around)}{text}\n" if text.strip() else f"{text}\n")
        edits.append(Edit(first[id(each)], 0, last[id(each)] + 1, 0, "".join(lines)))
    return tuple(edits)


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function, inner ones before those around them."""
    for statement in function.body:
        yield from _bodies_in(statement)
    yield function.body


def _bodies_in(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for body in _own_bodies(statement):
        for each in body:
            yield from _bodies_in(each)
        yield body


def _own_bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    parts = (getattr(statement, name, None) for name in ("body", "orelse", "finalbody"))
    return [part for part in parts if isinstance(part, list) and part]


def _is_compound(statement: ast.stmt) -> bool:
    return bool(_own_bodies(statement)) or isinstance(statement, ast.Match)


def _simple(statement: ast.stmt) -> Iterator[ast.AST]:
    """The simple statements in a statement, and the targets of loops with what they go through."""
    if not _is_compound(statement):
        yield statement
        return
    if isinstance(statement, ast.For):
        yield ast.Assign([statement.target], statement.iter)
    for body in _own_bodies(statement):
        for each in body:
            yield from _simple(each)


def _assigned(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _used(node: ast.AST) -> set[str]:
    """The names that a statement reads; what it adds to, it reads as well."""
    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    added = (each.target for each in ast.walk(node) if isinstance(each, ast.AugAssign))
    return read.union(*map(_assigned, added))


# ------------------------------------------------------------------------------------------------------ guard proposals
# Guards that might mend an access whose tile lies outside its array.


_Comparison: TypeAlias = tuple[str, str, str]
"""An index, how it is compared, and with what."""


def return_early(place: FaultyPlace) -> Found:
    """The block returns in front of an access outside the array, if all that it has left to do hangs on that."""
    guards = Guards(place.source, place.function)
    for accesses, conditions in _conditions(place):
        statement = guards.may_return(accesses[0].node) if len(accesses) == 1 else None
        if statement is not None:
            yield "return before the access", (_return(place, statement, conditions[0]),)


def guard_access(place: FaultyPlace) -> Found:
    """The access, and what hangs on it, only where its tile lies in the array."""
    guards = Guards(place.source, place.function)
    for accesses, conditions in _conditions(place):
        if len(accesses) == 1 and guards.may_return(accesses[0].node):
            continue
        around = [
            guards.around(access.node, " and ".join(map(_negated, outside)))
            for access, outside in zip(accesses, conditions, strict=True)
        ]
        found = [each for each in around if each is not None]
        if len(found) == len(accesses):
            told = " and ".join(dict.fromkeys(f"`if {each.condition}`" for each in found))
            yield f"{told} around it", edits_of(place.source, found)


def return_anyway(place: FaultyPlace) -> Found:
    """The block returns, although it has other things to do."""
    guards = Guards(place.source, place.function)
    for accesses, conditions in _conditions(place):
        for access, outside in zip(accesses[:1], conditions, strict=False):
            found = guards.place(access.node)
            if found is not None and found[0] is place.function.body:
                edit = _return(place, found[0][found[1]], outside)
                yield "return before the access, which leaves out all that the block does behind it", (edit,)


def _return(place: FaultyPlace, statement: ast.stmt, outside: Sequence[_Comparison]) -> Edit:
    lines = [line for each in outside for line in (f"if {' '.join(each)}:", "    return")]
    return place.source.lines.before(statement, lines)


def _negated(outside: _Comparison) -> str:
    index, compared, end = outside
    return f"{index} {'<' if compared == '>=' else '>='} {end}"


def _conditions(place: FaultyPlace) -> Iterator[tuple[tuple[TileCall, ...], list[list[_Comparison]]]]:
    """Accesses to guard together, and when the tile of each lies outside: those at fault first, along the axis at fault
    and on the side where it was seen; more only where that does not do."""
    said = re.search(r"\(axis (\d+)\)", place.finding.message)
    every, none = frozenset(range(5)), frozenset[int]()
    own = every if said is None else frozenset({int(said[1])})
    before = place.finding.witness is not None and bool(place.finding.witness.negative_tiles)
    sides = dict.fromkeys(
        ((own, none) if before else (none, own), (own, own), (none, every), (own, every), (every, every))
    )
    tried: list[tuple[list[int], list[list[_Comparison]]]] = []
    of_array = [
        call
        for call in place.source.calls(place.function)
        if any(place.of(call.arguments["array"]) == place.of(each.arguments["array"]) for each in place.accesses)
    ]
    for accesses in (place.accesses[:1], place.accesses, place.named, tuple(of_array)):
        for below, above in sides:
            outside = [
                _outside(place, each, below, above) if each in place.accesses else _outside(place, each, none, every)
                for each in accesses
            ]
            key = [id(access.node) for access in accesses], outside
            if accesses and all(outside) and key not in tried:
                tried.append(key)
                yield accesses, outside


def _outside(place: FaultyPlace, access: TileCall, below: frozenset[int], above: frozenset[int]) -> list[_Comparison]:
    """When a tile lies before the array along axes ``below``, or behind it along those ``above``."""
    shape = _shape(place, access)
    if shape is None:
        return []
    array, found = place.of(access.arguments["array"]), list[_Comparison]()
    for axis, component in enumerate(access.components):
        if not isinstance(component, ast.Constant):
            index = place.of(component)
            single = f"{array}.shape[{axis}]"
            tiles = f"{place.source.module}.num_tiles({array}, axis={axis}, shape={shape})"
            found += [(index, "<", "0")] if axis in below else []
            found += [(index, ">=", single if shape == "()" else tiles)] if axis in above else []
    return found


def _shape(place: FaultyPlace, access: TileCall) -> str | None:
    """The shape of the tile that is loaded or stored."""
    if "shape" in access.arguments:
        return place.of(access.arguments["shape"])
    return _shape_of(place, access.arguments.get("tile"))


def _shape_of(place: FaultyPlace, tile: ast.expr | None) -> str | None:
    """How a tile's shape may be written; that of one part of a sum, since the proof finds out if it is another one."""
    match tile:
        case ast.Name(id=name):
            return f"{name}.shape"
        case ast.UnaryOp(operand=operand):
            return _shape_of(place, operand)
        case ast.BinOp(left=left, right=right):
            return _shape_of(place, left) or _shape_of(place, right)
        case ast.Call(args=[shape, *_]) if place.source.called(tile) in ("full", "ones", "zeros"):
            return place.of(shape)
        case ast.Call():
            loads = [call for call in place.source.calls(tile) if "shape" in call.arguments]
            return place.of(loads[0].arguments["shape"]) if loads else None
    return None


# -------------------------------------------------------------------------------------------------------------- padding
# Padding for loads that leave open what lies beyond the array (TV403).
#
# Any padding is one of the values that the specification allows, so that nothing changes which was determined before.
# Whether it is the value that is meant is another question: it is if all that combines lanes of the tile, directly or
# of what is computed from it, does as if they were not there.  The uses of a load say what to try first; runs say
# whether it is right (`small_runs`).


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
