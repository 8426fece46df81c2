"""What a kernel calls the sizes of its arrays, for launch specs that a person is going to read.

Two axes are taken for one size where the kernel walks along them with one tile index: ``a[m, k]``, ``b[k, n]`` and
``c[m, n]`` have three sizes, not six.  A size is called, in this order:

1. what the kernel calls it: ``rows, columns = x.shape``;
2. what a constant that tiles it is named after: ``TILE_M``, ``BLOCK_M`` and ``tm`` say ``M``;
3. ``N``, ``M``, ``K``, ... as they come.

All of that is a guess about what was meant: whoever asks says so.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ...contract.expressions import print_expression, substitute
from ...contract.launch import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    Expression,
    LaunchSpec,
    Name,
    SameArray,
    flat,
)
from ...system.readings import read

_ACCESSES: Final = {"load": ("array", "index", "shape"), "store": ("array", "index")}
_ABOUT_TILES: Final = frozenset({"tile", "tiles", "block", "blocks", "blk", "size", "per", "t", "b", "bs"})
_LETTER: Final = re.compile(r"(?:t|b|bs|blk)([a-z])", re.IGNORECASE)
_LAST: Final = ("N", "K", "M", "L", "P", "Q", "R", "S")
_OTHERS: Final = ("M", "B", "H", *_LAST)
"""Usual names of last axes, and of others."""
_RESERVED: Final = frozenset({"grid", "cdiv", "min", "max", "and", "or", "not", "is"})

Axis = tuple[str, int]
"""An array's name and the number of one of its axes."""


def with_size_names(launch: LaunchSpec, file: Path, kernel: str) -> tuple[LaunchSpec, tuple[str, ...]]:
    """An inferred launch of the kernel in a Python file with better names for its sizes, and in words which axes are
    taken for one size."""
    axes = {
        (array.name, axis): size.name
        for array in launch.arrays()
        for axis, size in enumerate(array.shape)
        if isinstance(size, Name)
    }
    definition = _definition(file, kernel)
    if definition is None or not axes:
        return launch, ()
    reader = _Reader({array.name: len(array.shape) for array in launch.arrays()})
    reader.read(definition)
    constants = {each.name for each in flat(launch.arguments) if isinstance(each, ConstantArgument)}
    taken = {argument.name.lower() for argument in flat(launch.arguments)} | _RESERVED
    groups = _groups(axes, reader)
    chosen: dict[int, str] = {}
    # What has a name of its own gets it; then the others get the usual letters.
    named = [(number, name) for number, group in enumerate(groups) if (name := _name(group, reader, constants))]
    for number, name in named:
        chosen[number] = _free([name], taken)
    for number, group in enumerate(groups):
        last = all(axis == reader.arrays[array] - 1 for array, axis in group)
        if number not in chosen:
            chosen[number] = _free(_LAST if last else _OTHERS, taken)
    names: dict[str, Expression] = {axes[axis]: Name(chosen[n]) for n, group in enumerate(groups) for axis in group}
    words = [
        f"{chosen[n]} is {' and '.join(f'{array}.shape[{axis}]' for array, axis in group)}"
        for n, group in enumerate(groups)
        if len(group) > 1
    ]
    return _renamed(launch, names), tuple(words)


def _definition(file: Path, kernel: str) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(read(file))
    except (OSError, SyntaxError, ValueError):
        return None
    name = kernel.rpartition(".")[2]
    return next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _renamed(launch: LaunchSpec, names: Mapping[str, Expression]) -> LaunchSpec:
    def of(argument: Argument) -> Argument:
        if not isinstance(argument, ArrayArgument):
            return argument
        strides = None if argument.strides is None else tuple(substitute(each, names) for each in argument.strides)
        return replace(argument, shape=tuple(substitute(each, names) for each in argument.shape), strides=strides)

    requires = tuple(each if isinstance(each, SameArray) else substitute(each, names) for each in launch.requires)
    texts = tuple(
        text if isinstance(each, SameArray) else print_expression(each)
        for each, text in zip(requires, launch.requires_text, strict=True)
    )
    return replace(launch, arguments=tuple(map(of, launch.arguments)), requires=requires, requires_text=texts)


@dataclass
class _Reader:
    """``own``: what the kernel calls an axis; ``indices``: the tile indices that walk along it, and ``tiles``: the
    extent of its tile, as text; ``places``: all indices of the first access of an array."""

    arrays: Mapping[str, int]
    own: dict[Axis, str] = field(default_factory=dict)
    indices: defaultdict[Axis, set[str]] = field(default_factory=lambda: defaultdict(set))
    tiles: dict[Axis, str] = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _meant: dict[str, str] = field(default_factory=dict)  # of names that are given a value once

    def read(self, function: ast.FunctionDef) -> None:
        nodes = list(ast.walk(function))
        given = Counter(name for node in nodes for name in _given(node))
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assign(node.targets[0], node.value, given)
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ACCESSES:
                self._access(node, _ACCESSES[node.func.attr])

    def _assign(self, target: ast.expr, value: ast.expr, given: Counter[str]) -> None:
        match target, value:
            case ast.Tuple(elts=names), ast.Attribute(value=ast.Name(id=array), attr="shape"):
                for axis, name in enumerate(names):
                    self._call_axis(array, axis, name, given)
            case (
                ast.Name(),
                ast.Subscript(
                    value=ast.Attribute(value=ast.Name(id=array), attr="shape"), slice=ast.Constant(value=int(axis))
                ),
            ):
                self._call_axis(array, axis, target, given)
            case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                for name, each in zip(names, values, strict=True):
                    self._assign(name, each, given)
            case ast.Name(id=name), _ if given[name] == 1:
                self._meant[name] = ast.unparse(value)

    def _call_axis(self, array: str, axis: int, name: ast.expr, given: Counter[str]) -> None:
        rank = self.arrays.get(array, 0)
        if isinstance(name, ast.Name) and -rank <= axis < rank and given[name.id] == 1 and name.id.strip("_"):
            self.own.setdefault((array, axis % rank), name.id)

    def _access(self, node: ast.Call, parameters: tuple[str, ...]) -> None:
        named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        given = dict(zip(parameters, node.args, strict=False)) | named
        array = given.get("array")
        if not isinstance(array, ast.Name) or array.id not in self.arrays:
            return
        places, tiles = (tuple(map(self._text, _entries(given.get(part)))) for part in ("index", "shape"))
        if len(places) == self.arrays[array.id]:
            self.places.setdefault(array.id, places)
            for axis, index in enumerate(places):
                self.indices[array.id, axis].add(index)
        if len(tiles) == self.arrays[array.id]:
            for axis, tile in enumerate(tiles):
                self.tiles.setdefault((array.id, axis), tile)

    def _text(self, node: ast.expr) -> str:
        return self._meant.get(node.id, node.id) if isinstance(node, ast.Name) else ast.unparse(node)

    def alike(self, one: Axis, other: Axis) -> bool:
        """Whether the kernel walks along both with one index, and neither calls nor tiles them differently."""
        shared = self.indices[one] & self.indices[other]
        if one[0] == other[0] or not shared:
            return False
        for known in (self.own, self.tiles):
            if one in known and other in known and known[one] != known[other]:
                return False
        if any(not index.lstrip("-").isdigit() for index in shared):
            return True
        # A number says little: both have that one alone, and are walked along alike, or their tiles are equal.
        if self.indices[one] != self.indices[other] or len(shared) > 1:
            return False
        whole = len(self.places[one[0]]) > 1 and self.places[one[0]] == self.places[other[0]]
        return whole or self.tiles.get(one, "1") == self.tiles.get(other, "") != "1"


def _groups(axes: Iterable[Axis], reader: _Reader) -> list[list[Axis]]:
    """Axes that are one size."""
    groups: list[list[Axis]] = []
    for axis in axes:
        for group in groups:
            if all(reader.alike(axis, other) for other in group):
                group.append(axis)
                break
        else:
            groups.append([axis])
    return groups


def _name(group: Iterable[Axis], reader: _Reader, constants: set[str]) -> str | None:
    group = list(group)
    own = (reader.own[axis] for axis in group if axis in reader.own)
    of_tiles = (_tiled(reader.tiles[axis]) for axis in group if reader.tiles.get(axis) in constants)
    return next(own, None) or next(filter(None, of_tiles), None)


def _tiled(tile: str) -> str | None:
    """What ``TILE_M``, ``rows_per_block`` or ``tm`` is a tile of."""
    words = [word for word in tile.split("_") if word.lower() not in _ABOUT_TILES]
    if len(tile.split("_")) == 1:
        found = _LETTER.fullmatch(tile)
        words = [found[1]] if found and found[0].lower() not in _ABOUT_TILES else []
    name = "_".join(words)
    return name.upper() if len(name) == 1 else name or None


def _free(names: Sequence[str], taken: set[str]) -> str:
    """The first that is not taken in any spelling, which is taken from now on."""
    name = next((each for each in names if each.lower() not in taken), names[0])
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _entries(node: ast.expr | None) -> list[ast.expr]:
    if node is None:
        return []
    return list(node.elts) if isinstance(node, ast.Tuple | ast.List) else [node]


def _given(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives a value."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign | ast.For | ast.AnnAssign):
        targets = [node.target]
    return (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
