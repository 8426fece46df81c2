"""How a kernel uses its parameters, read off its syntax: arrays and their ranks, lists, integers.

The reading is a guess that only makes the search in :mod:`.infer` short: a launch made from it is compiled by cuTile,
which has the last word on types and ranks.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

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
