"""Names of other modules that mean the same in every process, as long as versions and the environment are the same."""

from __future__ import annotations

from typing import Final

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
