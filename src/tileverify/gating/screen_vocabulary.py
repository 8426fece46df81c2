"""What a submission may speak of: modules and their names, builtins, attributes, annotations, constants.

Everything that is not listed is refused, so a new name of cuda.tile is refused until somebody has looked at it.
"""

from __future__ import annotations

import ast
import importlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from .gated import Reason
from .screen_tree import short
from .triton_vocabulary import AUTOTUNE, JIT, TRITON_MODULES, TRITON_PURE_CALLS, WHY_NOT


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TILE: Final = _words(
    """
    Array ArrayAnnotation ByTarget Constant ConstantAnnotation DType IndexedWithInt64 ListAnnotation MemoryOrder
    MemoryScope PaddingMode RoundingMode Scalar ScalarInt64 Slice Tile TiledView
    abs add arange argmax argmin assert_ assume_divisible_by astile astype atan2 atomic_add atomic_and atomic_cas
    atomic_max atomic_min atomic_or atomic_xchg atomic_xor bid bitcast bitwise_and bitwise_lshift bitwise_not bitwise_or
    bitwise_rshift bitwise_xor broadcast_to cat cdiv ceil cos cosh cumprod cumsum divmod ensure_constant equal exp exp2
    expand_dims extract floor floordiv full function gather greater greater_equal
    grid_dependency_control_launch_dependents grid_dependency_control_wait insert isnan kernel less less_equal load
    load_advanced_indexing log log2 matmul max maximum min minimum mma mma_scaled mod mul negative not_equal num_blocks
    num_tiles ones pack_to_bytes permute pow print printf prod reduce reshape rsqrt scan scatter sin sinh sqrt
    static_assert static_eval static_iter store store_advanced_indexing sub sum tan tanh transpose truediv
    unpack_from_bytes where zeros
    bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32 float64 tfloat32 float4_e2m1fn
    float8_e4m3fn float8_e5m2 float8_e5m3fnu float8_e8m0fnu
    """
)
"""Of ``cuda.tile``; left out are launches, tuning, the compiler's own functions and pointers from outside."""

_MATH: Final = _words(
    """
    acos asin atan atan2 ceil copysign cos cosh degrees e erf exp expm1 fabs floor fmod gcd hypot inf isfinite isinf
    isnan isqrt lcm log log10 log1p log2 nan pi pow radians sin sinh sqrt tan tanh tau trunc
    """
)
"""Of ``math``; left out is what makes large integers (``factorial``, ``comb``, ``perm``, ``prod``)."""

_TYPING: Final = _words("Annotated Any Final Literal Optional Tuple TypeAlias Union")

MODULES: Final[Mapping[str, frozenset[str]]] = {
    "cuda.tile": _TILE,
    **TRITON_MODULES,
    "math": _MATH,
    "dataclasses": frozenset({"dataclass", "field"}),
    "typing": _TYPING,
    "tileverify": frozenset({"launch"}),
    "__future__": frozenset({"annotations"}),
}
"""Module -> the names of it that a submission may use."""

PURE_CALLS: Final[Mapping[str, frozenset[str]]] = {
    "cuda.tile": frozenset(
        {
            "ArrayAnnotation",
            "ByTarget",
            "ConstantAnnotation",
            "IndexedWithInt64",
            "ListAnnotation",
            "ScalarInt64",
            "cdiv",
        }
    ),
    **TRITON_PURE_CALLS,
    "math": _MATH,
    "dataclasses": frozenset({"field"}),
}
"""What may be called while the module is imported: it has no effect, and costs nothing."""

DECORATORS: Final = frozenset(
    {
        ("cuda.tile", "kernel"),
        ("cuda.tile", "function"),
        JIT,
        AUTOTUNE,
        ("dataclasses", "dataclass"),
        ("tileverify", "launch"),
    }
)

BUILTINS: Final = _words(
    """
    abs bool divmod enumerate float int isinstance len list max min pow print range reversed round slice str sum tuple
    zip
    """
)
"""Builtins that a kernel or helper may name."""

CONSTANT_CALLS: Final = _words("abs bool float int len max min round slice tuple")
"""Builtins that may be called while the module is imported."""

INTROSPECTION: Final = _words(
    """
    ag_code ag_frame co_code co_consts cr_code cr_frame f_back f_builtins f_code f_globals f_lasti f_locals f_trace
    format format_map func_closure func_code func_globals gi_code gi_frame gi_yieldfrom im_class im_func im_self mro
    pyfunc tb_frame tb_lasti tb_next
    """
)
"""Attributes without an underscore that lead from a value to the interpreter's insides, or name others in a text."""


_HOST_MODULES: Final = frozenset({"torch", "numpy", "cupy", "jax"})


def no_import(module: str) -> str:
    top = module.partition(".")[0]
    advice = "; send the kernels alone, without the code that launches them" if top in _HOST_MODULES else ""
    return f"the module '{short(module)}' may not be imported{advice}"


def no_decorator(qualified: tuple[str, str] | None) -> str:
    if qualified is not None and qualified in WHY_NOT:
        return f"@{'.'.join(qualified)} may not decorate: {WHY_NOT[qualified]}"
    listed = "@ct.kernel, @ct.function, @triton.jit, @triton.autotune, @dataclass and @tileverify.launch"
    return f"only {listed} may decorate"


def not_listed(module: str, name: str, how: str) -> str:
    """Why a name of a module is refused: mostly somebody made it up.

    Only the module itself knows what it has.  It is one of our list; whoever screens may have no cuda.tile.
    """
    if (module, name) in WHY_NOT:
        return f"'{name}' of '{module}' may not be {how}: {WHY_NOT[module, name]}"
    with suppress(ImportError):
        if not hasattr(importlib.import_module(module), name):
            return f"the module '{module}' has no '{short(name)}'"
    return f"'{short(name)}' of '{module}' may not be {how}"


# ---------------------------------------------------------------------------------------------------------- annotations
# The screen's rule for annotations.  They are the one place where Python evaluates text that a value holds.
#
# ``typing.get_type_hints``, which cuda.tile asks for the hints of a kernel, takes a hint that *is* a text for code, at
# any depth of a generic type, whichever way the text came there: ``A.s`` of a dataclass with a default will do.  So
# what a hint evaluates to must be known from its form alone:
#
#     hint     ::= listed | own | None | hint '|' hint | listed '[' argument, ... ']'
#     argument ::= hint | '...' | metadata
#     metadata ::= number | listed '(' metadata, ... ')' | (metadata, ...)
#
# ``listed``: a name of the vocabulary, or a builtin type; none of them is a text.  ``own``: a dataclass, or a name that
# the module binds once, to a hint.


BUILTIN_TYPES: Final = frozenset({"bool", "float", "int", "list", "slice", "str", "tuple"})

Qualified = Callable[[ast.expr], tuple[str, str] | None]
"""(module, name) for a name of the vocabulary that a module is asked for, or that was imported."""


@dataclass(frozen=True, slots=True)
class Hints:
    """``own``: names of the module that stand for hints; ``bound``: all that it binds; ``pure``: what may be called."""

    own: frozenset[str]
    bound: frozenset[str]
    qualified: Qualified
    pure: Callable[[ast.expr], bool]

    def strange(self, node: ast.expr, hidden: frozenset[str] = frozenset()) -> Iterator[ast.expr]:
        """The parts of an annotation that no rule is for; ``hidden``: names that mean something else there."""
        match node:
            case ast.Name(id=name) if name in hidden:
                yield node
            case ast.Name() | ast.Attribute():
                if not self._is_named(node):
                    yield node
            case ast.Constant(value=None):
                pass
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                yield from self.strange(left, hidden)
                yield from self.strange(right, hidden)
            case ast.Subscript(value=generic, slice=argument):
                yield from self.strange(generic, hidden)
                for each in argument.elts if isinstance(argument, ast.Tuple) else [argument]:
                    if not self._is_metadata(each, hidden):
                        yield from self.strange(each, hidden)
            case _:
                yield node

    def _is_named(self, node: ast.Name | ast.Attribute) -> bool:
        if self.qualified(node) is not None:
            return True
        return isinstance(node, ast.Name) and (
            node.id in self.own or (node.id in BUILTIN_TYPES and node.id not in self.bound)
        )

    def _is_metadata(self, node: ast.expr, hidden: frozenset[str]) -> bool:
        """What ``Annotated`` and ``Literal`` take beside hints: never looked at as one."""
        match node:
            case ast.Constant(value=value):
                return value is ... or isinstance(value, bool | int | float)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
                return True
            case ast.Tuple(elts=elements):
                return all(self._is_metadata(each, hidden) for each in elements)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                qualified = self.qualified(function)
                given = [*arguments, *(keyword.value for keyword in keywords)]
                return (
                    qualified is not None
                    and qualified[0] == "cuda.tile"
                    and self.pure(function)
                    and all(self._is_metadata(each, hidden) for each in given)
                )
        return False


def hints_of(tree: ast.Module, names: Counter[str], qualified: Qualified, pure: Callable[[ast.expr], bool]) -> Hints:
    """``names``: how often the module's statements bind each name."""
    found = Hints(frozenset(), frozenset(names), qualified, pure)
    for name, value in _candidates(tree):
        if names[name] == 1 and (value is None or next(found.strange(value), None) is None):
            found = Hints(found.own | {name}, found.bound, qualified, pure)
    return found


def _candidates(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Names with what they are bound to, in order; a class stands for itself."""
    for statement in tree.body:
        match statement:
            case ast.ClassDef(name=name):
                yield name, None
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


# ------------------------------------------------------------------------------------------------------------- literals
# The size of what a constant expression evaluates to, without evaluating it where that would be costly.


MOST_BITS: Final = 1024
"""Of an integer constant."""


class TooLarge(Exception):
    """The value has more than `MOST_BITS` bits."""


def integer_value(node: ast.expr, names: Mapping[str, int]) -> int | None:
    """The integer that ``node`` stands for, ``None`` where it is none or not known; ``names``: known constants.

    Raises `TooLarge` where the value, or one on the way to it, is too large.
    """
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int(value)):
            return _checked(value)
        case ast.Name(id=name):
            return names.get(name)
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(op, integer_value(operand, names))
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, integer_value(left, names), integer_value(right, names))
    return None


def _checked(value: int) -> int:
    if value.bit_length() > MOST_BITS:
        raise TooLarge
    return value


def _unary(op: ast.unaryop, value: int | None) -> int | None:
    match op:
        case _ if value is None:
            return None
        case ast.USub():
            return -value
        case ast.Invert():
            return ~value
        case ast.UAdd():
            return value
    return None


def _binary(op: ast.operator, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    match op:
        case ast.Add():
            return _checked(left + right)
        case ast.Sub():
            return _checked(left - right)
        case ast.Mult():
            return _checked(left * right)
        case ast.FloorDiv() if right:
            return left // right
        case ast.Mod() if right:
            return left % right
        case ast.Pow() if right >= 0:
            if max(left.bit_length(), 1) * right > MOST_BITS and abs(left) > 1:
                raise TooLarge
            return _checked(left**right)
        case ast.LShift() if right >= 0:
            if left and left.bit_length() + right > MOST_BITS:
                raise TooLarge
            return _checked(left << right) if left else 0
        case ast.RShift() if right >= 0:
            return left >> right
    return None


# ---------------------------------------------------------------------------------------------------------- screen text
# The screen's look at the characters of a source: size, control characters, characters that reorder a line.


MOST_BYTES: Final = 256 * 1024
LONGEST_LINE: Final = 4096
"""Characters."""

_ALLOWED: Final = frozenset("\t\n\r")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that cannot be seen: controls, formats (with the bidirectional ones), surrogates,
private and unassigned ones, separators of lines that Python does not count."""


def text_reasons(text: str) -> Iterator[Reason]:
    """Reasons against the text itself, in its order."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            yield Reason("line-length", f"a line has more than {LONGEST_LINE} characters", number, LONGEST_LINE)
        column = _hidden(line.removesuffix("\r"))
        if column is not None:
            what = describe(line[column])
            yield Reason("control-character", f"the source holds {what}, which hides what a line says", number, column)


def hidden_in_literal(text: str) -> str | None:
    """A description of the first character of a string's value that a terminal might obey, if there is one."""
    column = _hidden(text.replace("\n", ""))
    return None if column is None else describe(text.replace("\n", "")[column])


def describe(character: str) -> str:
    return f"the character U+{ord(character):04X}"


def _hidden(line: str) -> int | None:
    if line.isascii() and line.isprintable():
        return None
    for column, character in enumerate(line):
        if character == "\r" or (character not in _ALLOWED and unicodedata.category(character) in _INVISIBLE):
            return column
    return None
