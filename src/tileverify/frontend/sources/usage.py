"""What the syntax of a kernel says of its parameters: arrays and their ranks, lists, integers, and names for sizes.

The reading is a guess that only makes the search in :mod:`.infer` short: a launch made from it is compiled by cuTile,
which has the last word on types and ranks.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
import types
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ...contract.expressions import print_expression, substitute
from ...contract.launch import Argument, ArrayArgument, ConstantArgument, Expression, LaunchSpec, Name, SameArray, flat
from ...system.readings import read

_ACCESS = {"load": 1, "store": 1, "gather": 1, "scatter": 1, "load_advanced_indexing": 1, "store_advanced_indexing": 1}
"""Functions of cuda.tile that take an array and then the index; ``atomic_*`` are like them."""
_READS = frozenset({"load", "gather", "load_advanced_indexing"})
_INTEGER_CALLS = frozenset({"bid", "num_blocks", "num_tiles", "arange", "cdiv", "range"})
_NO_TAINT = frozenset({"argmax", "argmin", "len", "num_tiles"})
_ARRAY_ATTRIBUTES = frozenset({"shape", "strides", "ndim", "slice", "tiled_view", "dtype"})
_INTEGER_OPERATORS = (ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_MAX_DEPTH = 6
_PASSES = 3


@dataclass(slots=True)
class ParameterUse:
    """``rank`` where an access shows it, ``least_rank`` where only ``.shape[k]`` does; ``holds_indices``: what is
    loaded from the array becomes an index; ``integer``: a scalar used as one; ``tile_size`` and ``axis``: roles of a
    constant; ``lines`` are the lines of the file that mention the parameter."""

    array: bool = False
    list: bool = False
    rank: int | None = None
    least_rank: int = 0
    holds_indices: bool = False
    integer: bool = False
    tile_size: bool = False
    axis: bool = False
    lines: set[int] = field(default_factory=set)


def parameter_uses(function: types.FunctionType) -> dict[str, ParameterUse]:
    """The use of every parameter of a kernel function; without its source, nothing is known about any."""
    uses = {name: ParameterUse() for name in inspect.signature(function).parameters}
    definition = _definition(function)
    if definition is not None:
        scope = _Scope(function.__globals__, {name: name for name in uses}, {}, depth=0)
        for _ in range(_PASSES):
            _Reader(uses, scope).read(definition.body)
    return uses


@functools.lru_cache(maxsize=256)
def _definition(function: types.FunctionType) -> ast.FunctionDef | None:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    ast.increment_lineno(tree, first - 1)
    return next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)


@dataclass(slots=True)
class _Scope:
    """One call of one function: which variables are parameters of the kernel (a list's element is ``xs[]``), what
    tuples they hold, which parameters' contents reach them, and which are integers."""

    globals: Mapping[str, object]
    aliases: dict[str, str]
    tuples: dict[str, ast.Tuple]
    depth: int
    taints: dict[str, frozenset[str]] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)
    callees: dict[int, _Scope] = field(default_factory=dict)


class _Reader:
    def __init__(self, uses: dict[str, ParameterUse], scope: _Scope) -> None:
        self.uses = uses
        self.scope = scope

    def read(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            for node in ast.walk(statement):
                self._node(node)

    def _use(self, alias: str) -> ParameterUse:
        return self.uses[alias.removesuffix("[]")]

    def _node(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, value)
            case ast.AugAssign(target=target, value=value):
                self._flow(target, value)
            case ast.For(target=ast.Name(id=name), iter=iterable):
                self.scope.integers.add(name)
                self._integer(iterable)
            case ast.Call():
                self._call(node)
            case ast.Subscript(value=value, slice=index):
                self._subscript(value, index)
            case ast.Attribute(value=value, attr=attribute) if attribute in _ARRAY_ATTRIBUTES:
                self._attribute(value)
            case ast.BinOp(left=left, op=op, right=right):
                self._mark_scalars(left, right, certain=isinstance(op, _INTEGER_OPERATORS))
            case ast.Compare(left=left, comparators=rest):
                self._mark_scalars(left, *rest)
            case ast.Name(id=name) if name in self.scope.aliases:
                self._use(self.scope.aliases[name]).lines.add(node.lineno)

    # -- assignments ---------------------------------------------------------------------------------
    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            alias = self._array(value.value) if isinstance(value, ast.Attribute) else None
            if alias and isinstance(value, ast.Attribute) and value.attr in ("shape", "strides"):
                self._rank(alias, len(target.elts))
                self.scope.integers.update(each.id for each in target.elts if isinstance(each, ast.Name))
            elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                for each, part in zip(target.elts, value.elts, strict=True):
                    self._assign(each, part)
            else:
                for each in target.elts:
                    self._flow(each, value)
            return
        if isinstance(target, ast.Name):
            alias = self._array(value)
            if alias is not None:
                self.scope.aliases[target.id] = alias
            elif isinstance(value, ast.Tuple):
                self.scope.tuples[target.id] = value
            self._flow(target, value)

    def _flow(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            known = self.scope.taints.get(target.id, frozenset())
            self.scope.taints[target.id] = known | frozenset(self._taint(value))
            if self._is_integer(value):
                self.scope.integers.add(target.id)

    # -- expressions ---------------------------------------------------------------------------------
    def _array(self, node: ast.expr) -> str | None:
        """The parameter that an expression stands for: itself, an element of a list, a slice or a view of it."""
        match node:
            case ast.Name(id=name):
                return self.scope.aliases.get(name)
            case ast.Subscript(value=ast.Name(id=name)) if name in self.scope.aliases:
                return self.scope.aliases[name].removesuffix("[]") + "[]"
            case ast.Call(func=ast.Attribute(value=value, attr="slice" | "tiled_view" | "get_raw_memory")):
                return self._array(value)
        return None

    def _taint(self, node: ast.expr) -> Iterator[str]:
        """The parameters whose contents or values reach the expression."""
        if isinstance(node, ast.Name):
            alias = self.scope.aliases.get(node.id)
            yield from self.scope.taints.get(node.id, frozenset()) | ({alias} if alias else set())
            return
        if isinstance(node, ast.Call):
            name = _called_name(node.func)
            if name in _NO_TAINT:
                return
            array = self._accessed(node)
            if array is not None:
                yield array
                return
        if isinstance(node, ast.Attribute) and node.attr in _ARRAY_ATTRIBUTES and self._array(node.value):
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self._taint(child)
            elif isinstance(child, ast.keyword):
                yield from self._taint(child.value)

    def _accessed(self, node: ast.Call) -> str | None:
        """The array that a call reads, as ``ct.load(x, ...)`` or ``view.load(...)``."""
        name = _called_name(node.func)
        if name in _READS or name.startswith("atomic_"):
            if node.args and (array := self._array(node.args[0])):
                return array
            if isinstance(node.func, ast.Attribute):
                return self._array(node.func.value)
        return None

    def _is_integer(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.scope.integers
            case ast.Call(func=func):
                return _called_name(func) in _INTEGER_CALLS
            case ast.Subscript(value=ast.Attribute(attr="shape" | "strides")):
                return True
            case ast.BinOp(left=left, op=op, right=right):
                return not isinstance(op, ast.Div) and (self._is_integer(left) or self._is_integer(right))
            case ast.UnaryOp(operand=operand):
                return self._is_integer(operand)
        return False

    # -- evidence ------------------------------------------------------------------------------------
    def _integer(self, node: ast.expr) -> None:
        """Everything that reaches this place is an integer: it is an index, a bound or a count."""
        for alias in self._taint(node):
            use = self._use(alias)
            use.integer = True
            use.holds_indices = True

    def _mark_scalars(self, *nodes: ast.expr, certain: bool = False) -> None:
        """Scalars that meet an integer in an operation are integers."""
        if not certain and not any(self._is_integer(node) for node in nodes):
            return
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in self.scope.aliases:
                self._use(self.scope.aliases[node.id]).integer = True

    def _rank(self, alias: str, rank: int) -> None:
        use = self._use(alias)
        use.array = True
        use.list |= alias.endswith("[]")
        use.rank = max(use.rank or 0, rank)

    def _subscript(self, value: ast.expr, index: ast.expr) -> None:
        if isinstance(value, ast.Attribute) and value.attr in ("shape", "strides"):
            alias = self._array(value.value)
            if alias is not None and isinstance(index, ast.Constant | ast.UnaryOp):
                dim = ast.literal_eval(index)
                if isinstance(dim, int):
                    use = self._use(alias)
                    use.least_rank = max(use.least_rank, dim + 1 if dim >= 0 else -dim)
        elif isinstance(value, ast.Name) and value.id in self.scope.aliases:
            self._integer(index)

    def _attribute(self, value: ast.expr) -> None:
        alias = self._array(value)
        if alias is not None:
            self._use(alias).array = True
            self._use(alias).list |= alias.endswith("[]")

    def _call(self, node: ast.Call) -> None:
        name = _called_name(node.func)
        if name == "len" and node.args and isinstance(node.args[0], ast.Name):
            alias = self.scope.aliases.get(node.args[0].id)
            if alias:
                self._use(alias).list = True
        if name == "range":
            for argument in node.args:
                self._integer(argument)
        self._constants(node, name)
        if name in _ACCESS or name.startswith("atomic_") or name in ("num_tiles", "tiled_view", "slice"):
            self._access(node, name)
        else:
            self._enter(node)

    def _access(self, node: ast.Call, name: str) -> None:
        arguments = list(node.args)
        array = self._array(arguments[0]) if arguments else None
        if array is None and isinstance(node.func, ast.Attribute):
            array = self._array(node.func.value)
            arguments.insert(0, node.func.value)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        array = array or (self._array(keywords["array"]) if "array" in keywords else None)
        if array is None:
            return
        self._use(array).array = True
        self._use(array).list |= array.endswith("[]")
        position = {"tiled_view": "tile_shape", "num_tiles": "axis", "slice": "axis"}.get(name, "index")
        first = keywords.get(position) or keywords.get("indices") or (arguments[1] if len(arguments) > 1 else None)
        shape = keywords.get("shape") or (
            arguments[2] if name in ("load", "num_tiles") and len(arguments) > 2 else None
        )
        if name == "slice":
            for bound in (*arguments[2:], *keywords.values()):
                self._integer(bound)
            return
        for sizes in (shape, first if name != "num_tiles" else None):
            rank = None if sizes is None else self._length(sizes)
            if rank is not None:
                self._rank(array, rank)
        if first is not None and name not in ("tiled_view", "num_tiles"):
            self._integer(first)

    def _length(self, node: ast.expr) -> int | None:
        """The number of entries of an index or shape; one for anything that is no tuple."""
        if isinstance(node, ast.Name) and node.id in self.scope.tuples:
            node = self.scope.tuples[node.id]
        if isinstance(node, ast.Tuple | ast.List):
            return None if any(isinstance(each, ast.Starred) for each in node.elts) else len(node.elts)
        if isinstance(node, ast.Name | ast.Constant | ast.BinOp | ast.Call):
            return 1
        return None

    def _constants(self, node: ast.Call, name: str) -> None:
        """Roles of constants: a size in a shape, or the number of an axis."""
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        sizes = [value for key, value in keywords.items() if key in ("shape", "tile_shape")]
        if name in ("load", "full", "zeros", "ones", "arange", "tiled_view", "reshape", "broadcast_to"):
            sizes += node.args
        axes = [value for key, value in keywords.items() if key == "axis"]
        if name in ("bid", "num_blocks"):
            axes += node.args
        for values, role in ((sizes, "tile_size"), (axes, "axis")):
            for each in values:
                for leaf in ast.walk(each):
                    if isinstance(leaf, ast.Name) and leaf.id in self.scope.aliases:
                        setattr(self._use(self.scope.aliases[leaf.id]), role, True)

    def _enter(self, node: ast.Call) -> None:
        """Follow a call of a helper function of the user's, with the arguments' meaning for its parameters."""
        helper = self._helper(node.func)
        definition = None if helper is None or self.scope.depth >= _MAX_DEPTH else _definition(helper)
        if helper is None or definition is None:
            return
        names = [argument.arg for argument in (*definition.args.posonlyargs, *definition.args.args)]
        pairs = dict(zip(names, node.args, strict=False))
        pairs.update((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg)
        aliases = {name: alias for name, value in pairs.items() if (alias := self._array(value)) is not None}
        tuples = {
            name: value if isinstance(value, ast.Tuple) else self.scope.tuples[value.id]
            for name, value in pairs.items()
            if isinstance(value, ast.Tuple) or (isinstance(value, ast.Name) and value.id in self.scope.tuples)
        }
        inner = self.scope.callees.setdefault(
            id(node), _Scope(helper.__globals__, aliases, tuples, self.scope.depth + 1)
        )
        inner.taints.update((name, frozenset(self._taint(value))) for name, value in pairs.items())
        inner.integers.update(name for name, value in pairs.items() if self._is_integer(value))
        _Reader(self.uses, inner).read(definition.body)

    def _helper(self, node: ast.expr) -> types.FunctionType | None:
        value: object = None
        if isinstance(node, ast.Name):
            value = self.scope.globals.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = getattr(self.scope.globals.get(node.value.id), node.attr, None)
        value = inspect.unwrap(value) if callable(value) else None
        if not isinstance(value, types.FunctionType) or value.__module__.partition(".")[0] == "cuda":
            return None
        return value


def _called_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# ----------------------------------------------------------------------------------------------------------- size names
# What a kernel calls the sizes of its arrays, for launch specs that a person is going to read.
#
# Two axes are taken for one size where the kernel walks along them with one tile index: ``a[m, k]``, ``b[k, n]`` and
# ``c[m, n]`` have three sizes, not six.  A size is called, in this order:
#
# 1. what the kernel calls it: ``rows, columns = x.shape``;
# 2. what a constant that tiles it is named after: ``TILE_M``, ``BLOCK_M`` and ``tm`` say ``M``;
# 3. ``N``, ``M``, ``K``, ... as they come.
#
# All of that is a guess about what was meant: whoever asks says so.


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
    definition = _sized_definition(file, kernel)
    if definition is None or not axes:
        return launch, ()
    reader = _SizeReader({array.name: len(array.shape) for array in launch.arrays()})
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


def _sized_definition(file: Path, kernel: str) -> ast.FunctionDef | None:
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
class _SizeReader:
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


def _groups(axes: Iterable[Axis], reader: _SizeReader) -> list[list[Axis]]:
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


def _name(group: Iterable[Axis], reader: _SizeReader, constants: set[str]) -> str | None:
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
