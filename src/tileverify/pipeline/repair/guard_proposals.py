"""Guards that might mend an access whose tile lies outside its array."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ...results import Edit
from .faulty_place import FaultyPlace, Found
from .guards import Guards, edits_of
from .kernel_source import TileCall

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
