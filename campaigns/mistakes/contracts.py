"""Mistakes that people make in a launch spec: a fact that is not true, a grid with a tail, a tile that does not fit."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, TypeAlias

from .text import Change, Text, inside

Fields: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loosened:
    """``fields``: those of the launch with the mistake in it."""

    kind: str
    was: str
    becomes: str
    fields: Fields

    @property
    def told(self) -> str:
        return f"{self.was} becomes {self.becomes or 'nothing'}"


Maker: TypeAlias = Callable[[Fields], Iterator[Loosened]]


def _listed(fields: Fields, name: str) -> list[Any]:
    written = fields.get(name, [])
    return list(written) if isinstance(written, list) else [written]


def forgotten_clauses(fields: Fields) -> Iterator[Loosened]:
    yield from _left_out(fields, "requires", "spec-requires")


def forgotten_facts(fields: Fields) -> Iterator[Loosened]:
    """A fact on contents that nobody wrote, or one that allows one value more."""
    yield from _left_out(fields, "data", "spec-data")
    for place, fact in enumerate(_listed(fields, "data")):
        call = ast.parse(fact, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range":
            yield _with_item(fields, "data", place, _further("spec-data", fact, call.args[2]))


def _left_out(fields: Fields, name: str, kind: str) -> Iterator[Loosened]:
    written = _listed(fields, name)
    for place, one in enumerate(written):
        yield Loosened(kind, str(one), "", {**fields, name: [*written[:place], *written[place + 1 :]]})


def looser_clauses(fields: Fields) -> Iterator[Loosened]:
    """``<=`` for ``<``, and ``N % 8 == 0`` where 16 was meant."""
    for place, clause in enumerate(_listed(fields, "requires")):
        for node in inside(ast.parse(clause, mode="eval").body) if " is " not in clause else ():
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Lt, ast.LtE)) and len(node.ops) == 1:
                yield _with_item(fields, "requires", place, _further("spec-requires", clause, node.comparators[0]))
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _number(node.right) > 1:
                half = Text(clause).replaced("spec-requires", node.right, str(_number(node.right) // 2))
                yield _with_item(fields, "requires", place, half)


def wrong_grids(fields: Fields) -> Iterator[Loosened]:
    """Tiles rounded the other way, a block too many on an axis, axes in another order, another tile's size."""
    grid = list(map(str, _listed(fields, "grid")))
    for place, axis in enumerate(grid):
        text = Text(axis)
        yield _with_item(fields, "grid", place, _further("spec-grid", axis, ast.parse(axis, mode="eval").body))
        for node in inside(ast.parse(axis, mode="eval").body):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
                rounded = f"cdiv({text.of(node.left)}, {text.of(node.right)})"
                for becomes in (rounded, f"{text.of(node)} + 1"):
                    yield _with_item(fields, "grid", place, text.replaced("spec-grid", node, becomes))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cdiv":
                first, second = node.args
                for becomes in (f"({text.of(first)}) // ({text.of(second)}) + 1", text.of(first)):
                    yield _with_item(fields, "grid", place, text.replaced("spec-grid", node, becomes))
                if _number(second) > 1:
                    half = text.replaced("spec-grid", second, str(_number(second) // 2))
                    yield _with_item(fields, "grid", place, half)
    if len(grid) > 1 and grid[0] != grid[1]:
        turned = [grid[1], grid[0], *grid[2:]]
        yield Loosened("spec-grid", ", ".join(grid), ", ".join(turned), {**fields, "grid": turned})


def wrong_constants(fields: Fields) -> Iterator[Loosened]:
    """A tile of twice or half the size, beside a grid for the old one."""
    for name, value in fields.get("args", {}).items():
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            for other in {2 * value, value // 2} - {0}:
                changed = {**fields["args"], name: other}
                yield Loosened("spec-tile", f"{name} = {value}", f"{name} = {other}", {**fields, "args": changed})


def wrong_sizes(fields: Fields) -> Iterator[Loosened]:
    """An array of its own size where two were of one, and one that is shorter by an element."""
    arrays = {n: d for n, d in fields.get("args", {}).items() if isinstance(d, str) and "[" in d and ";" not in d}
    for name, described in arrays.items():
        kind, _, sizes = described.partition("[")
        axes = [axis.strip() for axis in sizes.rstrip("]").split(",")]
        for place, axis in enumerate(axes):
            if axis.isidentifier() and sum(axis in other.partition("[")[2] for other in arrays.values()) > 1:
                own = f"{kind}[{', '.join([*axes[:place], f'{axis}_{name}', *axes[place + 1 :]])}]"
                yield Loosened("spec-size", described, own, {**fields, "args": {**fields["args"], name: own}})


def one_tensor_twice(fields: Fields) -> Iterator[Loosened]:
    """The output given as an input: work in place that the kernel was not made for."""
    described: dict[str, list[str]] = {}
    for name, value in fields.get("args", {}).items():
        if isinstance(value, str) and "[" in value and not {"alias", "overlap"} & fields.keys():
            described.setdefault(value, []).append(name)
    for names in described.values():
        for first, second in combinations(names, 2):
            clauses = [*_listed(fields, "requires"), f"{first} is {second}"]
            same = {**fields, "overlap": [[first, second]], "requires": clauses}
            yield Loosened("spec-in-place", "no overlap", f"{first} is {second}", same)


def _number(node: ast.expr) -> int:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else 0


def _further(kind: str, text: str, node: ast.expr) -> Change:
    return Text(text).replaced(kind, node, f"({Text(text).of(node)}) + 1")


def _with_item(fields: Fields, name: str, place: int, change: Change) -> Loosened:
    items = _listed(fields, name)
    written = change.of(str(items[place]))
    changed = {**fields, name: [*items[:place], written, *items[place + 1 :]]}
    return Loosened(change.kind, str(items[place]), written, changed)


MAKERS: Final[tuple[Maker, ...]] = (
    forgotten_clauses, forgotten_facts, looser_clauses, wrong_grids, wrong_constants, wrong_sizes, one_tensor_twice,
)  # fmt: skip
KINDS: Final = ("spec-requires", "spec-data", "spec-grid", "spec-tile", "spec-size", "spec-in-place")


def loosened(fields: Fields) -> Iterator[Loosened]:
    """Every mistake that fits somewhere in the launch with these fields, each once."""
    seen = [dict(fields)]
    for maker in MAKERS:
        for each in maker(fields):
            if each.fields not in seen:
                seen.append(dict(each.fields))
                yield each
