"""Whether the text of a module decides what importing it makes of it, and what its kernels compile to.

Importing a module runs code, and code may depend on anything: clocks, devices, files, versions, addresses.  A text is
*settled* if all that runs while it is imported, or while a kernel of it is compiled, is made of constants, names of
its own and of what `KNOWN` and `CALLABLE` list.  Nothing else may even be named there: what is named can be called
by something else.  Whoever is not sure says no.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_IMPLICIT: Final = frozenset({"_missing_", "_generate_next_value_"})
_MODULE_NAMES: Final = frozenset({"__name__", "__file__", "__doc__", "__debug__"})
_UNSETTLED: Final = (
    ast.Await | ast.Yield | ast.YieldFrom | ast.JoinedStr | ast.Match | ast.Global | ast.Nonlocal | ast.AsyncFor
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Unsettled(Exception):
    """Something that runs is not decided by the text."""


@dataclass(frozen=True, slots=True)
class Import:
    """``module`` as written ("" for a relative one); ``bound``: the names that it binds, and what each stands for.

    ``guarded``: it stands in a ``try``, so that what is bound depends on what is installed.  ``runs``: it runs while
    the module is imported, not in a function or under ``if __name__ == "__main__"``.
    """

    module: str
    bound: tuple[tuple[str, str], ...]
    guarded: bool
    runs: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def imports_of(tree: ast.Module) -> Iterator[Import]:
    """All imports of a module, wherever they stand; raises `Unsettled` for ``import *``."""
    guarded, later = set[int](), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try | ast.TryStar):
            guarded |= set(map(id, ast.walk(node)))
        elif isinstance(node, Function) or (isinstance(node, ast.If) and _is_main(node.test)):
            later |= {id(each) for statement in node.body for each in ast.walk(statement)}
    for node in ast.walk(tree):
        where = (id(node) in guarded, id(node) not in later)
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                yield Import(alias.name, ((name, alias.name if alias.asname else name),), *where)
        elif isinstance(node, ast.ImportFrom):
            if any(alias.name == "*" for alias in node.names):
                raise Unsettled
            module = "" if node.level else node.module or ""
            bound = tuple((alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names)
            yield Import(module, bound, *where)


def is_settled(tree: ast.Module, local: frozenset[str], *, whole: bool) -> bool:
    """``local``: the modules that are files of the user and settled themselves.  ``whole``: any function of this module
    may be a part of a kernel, because others import it."""
    try:
        if _may_format(tree):
            return False
        text = _Text.of(tree, local)
        text.look(tree.body)
        text.look_at_kernels(whole)
    except (Unsettled, RecursionError):
        return False
    return True


@dataclass
class _Text:
    """``foreign``: what each name that an import binds stands for; ``own``: all other names that are bound anywhere;
    ``strings``: those that may hold a text, which an annotation must not."""

    foreign: Mapping[str, str]
    own: frozenset[str]
    functions: Mapping[str, list[Function]]
    strings: frozenset[str]
    _run: set[int] = field(default_factory=set)
    _types: bool = False
    """Whether what is looked at are types, which nothing calls."""

    @classmethod
    def of(cls, tree: ast.Module, local: frozenset[str]) -> _Text:
        foreign: dict[str, str] = {}
        own: set[str] = set()
        functions: dict[str, list[Function]] = {}
        strings: set[str] = set()
        for each in imports_of(tree):
            for name, stands_for in each.bound:
                if each.module in local or foreign.setdefault(name, stands_for) != stands_for:
                    own.add(name)
        for node in ast.walk(tree):
            if isinstance(node, Function | ast.ClassDef):
                own.add(node.name)
                if not isinstance(node, ast.ClassDef):
                    functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.arg):
                own.add(node.arg)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                own.add(node.name)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                own.add(node.id)
            if isinstance(node, ast.Assign) and any(map(_is_text, ast.walk(node.value))):
                strings |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return cls(foreign, frozenset(own), functions, frozenset(strings))

    # ---------------------------------------------------------------------------- what runs at import
    def look(self, nodes: Iterable[ast.AST], *, in_class: bool = False) -> None:
        """Raises `Unsettled` for what is not decided by the text."""
        for node in nodes:
            self._look_at(node, in_class)

    def _look_at(self, node: ast.AST, in_class: bool) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(node, in_class)
            case ast.ClassDef():
                if node.keywords:
                    raise Unsettled  # a metaclass runs
                self._decorate(node.decorator_list)
                self._bases(node.bases)
                self.look(node.body, in_class=True)
            case ast.If() if _is_main(node.test):
                self.look(node.orelse)
            case ast.AnnAssign():
                self._annotation(node.annotation)
                self.look([node.target, *([node.value] if node.value else [])])
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                self._look_at_expression(node)

    def _look_at_expression(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                self._call(node)
            case ast.Name():
                self._name(node)
            case ast.Attribute():
                self._attribute(node)
            case ast.Lambda():
                self.look([*_defaults(node.args), node.body])
            case _:
                if isinstance(node, _UNSETTLED) or _shows_addresses(node):
                    raise Unsettled
                self.look(ast.iter_child_nodes(node))

    def _define(self, node: Function, in_class: bool) -> None:
        self._decorate(node.decorator_list)
        self.look(_defaults(node.args))
        for each in (*_arguments(node.args), node):
            annotation = each.annotation if isinstance(each, ast.arg) else each.returns
            if annotation is not None:
                self._annotation(annotation)
        if in_class and (_is_dunder(node.name) or node.name in _IMPLICIT):
            self._run_body(node)  # Python calls it by itself

    def _decorate(self, decorators: Iterable[ast.expr]) -> None:
        for each in decorators:
            if isinstance(each, ast.Call):
                self._call(each)
            elif not self._is_callable(each):
                raise Unsettled

    def _call(self, node: ast.Call) -> None:
        if not self._is_callable(node.func):
            raise Unsettled
        self.look(node.args)
        self.look(keyword.value for keyword in node.keywords)

    def _is_callable(self, function: ast.expr) -> bool:
        dotted = self._dotted(function)
        if dotted is None:
            return isinstance(function, ast.Name) and function.id in BUILTINS and function.id not in self._bound
        return dotted in CALLABLE

    def _name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load) or node.id in _MODULE_NAMES:
            return
        if node.id in self.own:
            self._named(node.id)
        elif node.id in self.foreign:
            if not is_known(self.foreign[node.id], types=self._types):
                raise Unsettled
        elif not (is_plain_builtin(node.id) or (self._types and node.id in TEXTS)):
            raise Unsettled

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            raise Unsettled
        dotted = self._dotted(node)
        if dotted is not None:
            if not is_known(dotted, types=self._types):
                raise Unsettled
            return
        if _is_dunder(node.attr) or node.attr in LEADING_OUT:
            raise Unsettled
        self._named(node.attr)
        self.look([node.value])

    def _named(self, name: str) -> None:
        """A function that is named while the module runs may be called by whoever gets it; a kernel cannot be."""
        for function in self.functions.get(name, ()):
            if not any(self._is_kernel(each) for each in function.decorator_list):
                self._run_body(function)

    def _run_body(self, function: Function) -> None:
        if id(function) not in self._run:
            self._run.add(id(function))
            if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function)):
                raise Unsettled
            self.look(function.body)

    def _annotation(self, node: ast.expr) -> None:
        """Annotations of kernels are evaluated, those that are texts, too."""
        for each in ast.walk(node):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                try:
                    self._annotation(ast.parse(each.value, mode="eval").body)
                except (SyntaxError, ValueError):
                    raise Unsettled from None
            if isinstance(each, ast.Name) and each.id in self.strings:
                raise Unsettled
            if isinstance(each, ast.Attribute) and self._dotted(each) is None:
                raise Unsettled
        self._look_at_types([node])

    def _bases(self, bases: Sequence[ast.expr]) -> None:
        """A class of texts makes texts of objects, but for an enumeration."""
        members = any((self._dotted(base) or "").startswith("enum.") for base in bases)
        (self._look_at_types if members else self.look)(bases)

    def _look_at_types(self, nodes: Iterable[ast.AST]) -> None:
        before, self._types = self._types, True
        self.look(nodes)
        self._types = before

    # ------------------------------------------------------------------------- what runs in a compiler
    def look_at_kernels(self, whole: bool) -> None:
        """Raises `Unsettled` for kernels, and functions that they name, that depend on more than the text."""
        left = [
            function
            for functions in self.functions.values()
            for function in functions
            if whole or any(self._is_kernel(each) for each in function.decorator_list)
        ]
        seen: set[int] = set()
        while left:
            function = left.pop()
            if id(function) in seen:
                continue
            seen.add(id(function))
            nodes: list[ast.AST] = list(function.body)
            while nodes:
                node = nodes.pop()
                if self._evaluated(node):
                    continue
                dotted = self._dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None
                if dotted is None:
                    left += self.functions.get(_word(node), ())
                    nodes += ast.iter_child_nodes(node)
                elif not is_known(dotted, compiled=True):
                    raise Unsettled

    def _evaluated(self, node: ast.AST) -> bool:
        """Whether Python evaluates a part of a kernel, while the kernel is compiled."""
        if not isinstance(node, ast.Call) or self._dotted(node.func) not in COMPILED:
            return False
        self.look([*node.args, *(keyword.value for keyword in node.keywords)])
        return True

    # --------------------------------------------------------------------------------------------- names
    @property
    def _bound(self) -> frozenset[str]:
        return self.own | frozenset(self.foreign)

    def _is_kernel(self, decorator: ast.expr) -> bool:
        return self._dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) in KERNELS

    def _dotted(self, node: ast.expr) -> str | None:
        """``cuda.tile.cdiv`` of ``ct.cdiv``; ``None`` for what does not begin with an imported module or name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.own or node.id not in self.foreign:
            return None
        return ".".join([self.foreign[node.id], *reversed(parts)])


def _shows_addresses(node: ast.AST) -> bool:
    """The order of texts or objects in a set is another one in every process."""
    if isinstance(node, ast.Set):
        return not all(isinstance(each, ast.Constant) and type(each.value) is int for each in node.elts)
    return isinstance(node, ast.SetComp)


def _may_format(tree: ast.Module) -> bool:
    """Whether there are a text with a percent sign and an operator that may put objects into it.

    Texts of objects hold addresses, which are others in every process."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said)
    percent = any("%" in text if isinstance(text, str) else isinstance(text, bytes) and b"%" in text for text in texts)
    return percent and any(
        isinstance(node, ast.Mod)
        or (isinstance(node, ast.Attribute) and node.attr == "mod")
        or (isinstance(node, ast.alias) and node.name == "mod")
        for node in ast.walk(tree)
    )


def _is_main(test: ast.expr) -> bool:
    """``__name__ == "__main__"``: false where a file is imported."""
    match test:
        case ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]):
            return True
    return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _word(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (each for each in (arguments.vararg, arguments.kwarg) if each is not None)


def _defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    yield from (*arguments.defaults, *(each for each in arguments.kw_defaults if each is not None))


# -------------------------------------------------------------------------------------------------------- settled names
# Names of other modules that mean the same in every process, as long as versions and the environment are the same.


STANDARD: Final = frozenset(
    {"__future__", "abc", "collections", "dataclasses", "enum", "functools", "itertools", "math", "operator", "types"}
    | {"typing"}
)
QUIET: Final = frozenset({"cupy", "jax", "numpy", "torch", "typing_extensions"})
"""Packages that host code uses: they may be imported, and only their types may be named where it counts."""


def _members(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


KERNELS: Final = frozenset({"cuda.tile.kernel", "tileverify.kernel"})
COMPILED: Final = _members("cuda.tile", "static_eval static_assert static_iter")
"""Functions whose arguments the compiler evaluates as plain Python."""

CALLABLE: Final = (
    KERNELS
    | {"tileverify.launch"}
    | _members("cuda.tile", "function cdiv ByTarget ArrayAnnotation ConstantAnnotation ListAnnotation ScalarAnnotation")
    | _members("abc", "abstractmethod")
    | _members("collections", "ChainMap Counter OrderedDict defaultdict deque namedtuple")
    | _members("dataclasses", "dataclass field")
    | _members("enum", "Enum Flag IntEnum IntFlag StrEnum auto unique")
    | _members("functools", "cache lru_cache partial reduce total_ordering wraps")
    | _members("itertools", "accumulate chain combinations compress count cycle dropwhile filterfalse groupby islice")
    | _members("itertools", "pairwise permutations product repeat starmap takewhile zip_longest")
    | _members(
        "math", "ceil comb copysign cos dist erf exp exp2 expm1 fabs factorial floor fmod fsum gcd hypot isclose"
    )
    | _members("math", "isclose isfinite isinf isnan isqrt lcm ldexp log log10 log1p log2 perm pow prod remainder sin")
    | _members("math", "sqrt tan tanh trunc")
    | _members("operator", "add and_ eq floordiv ge gt index inv le lshift lt mod mul ne neg not_ or_ pos pow rshift")
    | _members("operator", "sub truediv xor")
    | _members("types", "MappingProxyType SimpleNamespace")
    | _members("typing", "NamedTuple NewType ParamSpec TypeVar cast final overload runtime_checkable")
)
"""They call nothing but what they are given."""

_VALUES: Final = (
    CALLABLE
    | COMPILED
    | _members("math", "pi e tau inf nan")
    | {"cuda.tile.__version__", "tileverify.__version__", "collections.abc"}
)
_WITH_CLASSES: Final = ("typing", "collections.abc", "enum", "abc", "dataclasses", "typing_extensions")
_UNORDERED: Final = frozenset({"AbstractSet", "FrozenSet", "ItemsView", "KeysView", "MutableSet", "Set", "Text"})
"""Names of types that stand for something to call: a set, whose order is another one in every process, or `str`."""
_NOT_OF_TILE: Final = frozenset({"tune", "compilation", "launch", "compiler_timeout"})

_NUMBERS: Final = frozenset(
    {"bool_", "bfloat16", "float16", "float32", "float64", "half", "float", "int8", "int16", "int32", "int64", "uint8"}
    | {"uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "complex64", "complex128"}
)
_TYPES: Final = {
    **{module: _NUMBERS | {"ndarray", "dtype"} for module in ("numpy", "cupy", "jax.numpy")},
    "torch": _NUMBERS | {"Tensor", "dtype", "device"},
    "jax": frozenset({"Array"}),
}

BUILTINS: Final = frozenset(
    {"abs", "bool", "classmethod", "dict", "divmod", "enumerate", "float", "int", "len", "list", "max", "min", "pow"}
    | {"property", "range", "reversed", "round", "sorted", "staticmethod", "sum", "tuple", "zip"}
)
"""Builtins that may be called; they call nothing but what they are given."""
_PLAIN: Final = BUILTINS | {"complex", "object", "NotImplemented", "Ellipsis"}
LEADING_OUT: Final = (
    frozenset({"ag_code", "ag_frame", "cr_code", "cr_frame", "cr_origin", "gi_code", "gi_frame", "gi_yieldfrom"})
    | frozenset({"f_back", "f_builtins", "f_code", "f_globals", "f_locals", "tb_frame", "tb_next", "pyfunc", "type"})
    | frozenset({"format", "format_map", "items", "keys"})
)
"""Attributes that lead from a value to what its module does not hold (a frame's builtins, the type of a field), to
texts of objects, or to views that sets are made of."""
TEXTS: Final = frozenset({"bytes", "str"})
"""Types that make a text of whatever they are given, with its address."""


def is_plain_builtin(name: str) -> bool:
    """Builtins that may be named: those that may be called, types and exceptions."""
    return name in _PLAIN or name.endswith(("Error", "Exception", "Warning"))


def is_known(dotted: str, *, compiled: bool = False, types: bool = False) -> bool:
    """Whether a member of a module is the same everywhere; ``compiled``: where cuda.tile reads a kernel, and what it
    does not know is an error; ``types``: where nothing calls it."""
    if dotted in _VALUES:
        return True
    *modules, name = dotted.split(".")
    module = ".".join(modules)
    if name.startswith("__"):
        return False
    if dotted.startswith("cuda.tile."):
        return _is_of_tile(*dotted.split(".")[2:])
    if module in _WITH_CLASSES:
        return name[:1].isupper() and (types or name not in _UNORDERED)
    if module in _TYPES:
        return name in _TYPES[module]
    return compiled and module in STANDARD


def _is_of_tile(name: str, *members: str) -> bool:
    """A public name, or a member of a class: modules in there have names of modules of the standard library."""
    if name.startswith("_") or name in _NOT_OF_TILE:
        return False
    return not members or (name[:1].isupper() and len(members) == 1 and not members[0].startswith("_"))


# ------------------------------------------------------------------------------------------------------------ tampering
# Whether a file that was run has changed the compiler, or Python itself, for those that are run after it.
#
# All files of a check are imported into one process.  One that assigns to ``cuda.tile.cdiv`` decides what the others
# compile to, which a process that does not run it first would not say.


_before: dict[tuple[str, str], object] = {}


def remember() -> None:
    """Note the functions, classes and switches of the compiler and the library as they are, before a file is run."""
    if not _before:
        _before.update(_parts())


def is_untouched() -> bool:
    """Whether all that was noted is still there; what was added since does not count."""
    now = dict(_parts())
    return all(now.get(key) is value for key, value in _before.items())


def _parts() -> Iterator[tuple[tuple[str, str], object]]:
    for module, loaded in list(sys.modules.items()):
        if module == "builtins" or module == "cuda.tile" or module.startswith("cuda.tile.") or module in STANDARD:
            for name, value in list(vars(loaded).items()):
                if callable(value) or isinstance(value, bool):
                    yield (module, name), value
