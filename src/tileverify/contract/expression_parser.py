"""The expression language of launch specs: what it looks like, and how it is read.

Grammar (``docs/specs.md``)::

    condition  = size relation size {relation size} | not condition | condition and|or condition | name
    size       = integer | name | grid.x | a.shape[0] | a.strides[0] | -size | size (+ - * // % **) size
               | cdiv(size, size) | min(size, ...) | max(size, ...)

A fact may also be ``a.address % 16 == 0``, on its own or beside others: that an array is aligned (`alignments`).

A name that stands as a condition must be that of a bool; who knows the names sees to it (`flags`).
The text is read with Python's own parser and everything outside the grammar is refused.  Integers are
mathematical; ``//`` and ``%`` round towards minus infinity, ``cdiv`` towards plus infinity.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final, TypeGuard

from ..system.errors import SpecError
from .expressions import LARGEST_EXPONENT, MOST_BITS, OPERATORS, constant_value, free_names
from .launch import Apply, Expression, Name, Number, SameArray

_COMPUTED: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FUNCTIONS = {"cdiv": (2, 2), "min": (2, None), "max": (2, None)}
_MAX_TEXT = 4096
_NAME_BITS: Final = 64
_REMEMBERED: Final = 4096
"""Texts of a kind whose expressions are kept: launches of a program are described in the same words again and again."""


@lru_cache(_REMEMBERED)
def parse_size(text: str) -> Expression:
    """The integer expression ``text``; :class:`SpecError` says what is wrong and at which column."""
    parser = ExpressionParser(text)
    return parser.bounded(parser.size(parser.tree()))


@lru_cache(_REMEMBERED)
def parse_value(text: str) -> Expression:
    """What a bool scalar can be tied to: a condition, or an integer expression."""
    parser = ExpressionParser(text)
    tree = parser.tree()
    is_condition = isinstance(tree, ast.Compare | ast.BoolOp) or (
        isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    )
    return parser.bounded(parser.condition(tree) if is_condition else parser.size(tree))


@lru_cache(_REMEMBERED)
def parse_condition(text: str) -> Expression | SameArray:
    """A fact for ``requires``: a condition, or ``x is out``."""
    parser = ExpressionParser(text)
    tree = parser.tree()
    if isinstance(tree, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in tree.ops):
        if len(tree.ops) != 1 or not isinstance(tree.ops[0], ast.Is):
            raise parser.error(tree, "only 'x is out' with two array names can say that arrays are the same")
        return SameArray(parser.array(tree.left), parser.array(tree.comparators[0]))
    return parser.bounded(parser.condition(tree))


class ExpressionParser:
    """Reads one text; every error carries the text and a column (1-based)."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()

    def error(self, node: ast.AST | None, problem: str) -> SpecError:
        column = getattr(node, "col_offset", None)
        at = "" if column is None else f" at column {column + 1}"
        return SpecError(f"'{self.text}'{at}: {problem}")

    def tree(self) -> ast.expr:
        if not self.text:
            raise SpecError("an expression is empty")
        if len(self.text) > _MAX_TEXT:
            raise SpecError(f"an expression is longer than {_MAX_TEXT} characters")
        try:
            return ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            column = f" at column {error.offset}" if error.offset else ""
            raise SpecError(f"'{self.text}'{column}: not an expression") from None
        except (RecursionError, MemoryError, ValueError):
            raise SpecError(f"'{self.text[:60]}': not an expression that can be read") from None

    def bounded(self, expression: Expression) -> Expression:
        """The expression, if whoever computes it need not fear how large its numbers get."""
        try:
            bits = _bits(expression)
        except SpecError as error:
            raise SpecError(f"'{self.text}': {error.message}") from None
        if bits > MOST_BITS:
            raise SpecError(f"'{self.text}': a number in it may have more than {MOST_BITS} bits")
        return expression

    def size(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return Number(value)
            case ast.Name(id=name):
                return Name(name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if not isinstance(value, bool):
                return Number(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Apply("neg", (self.size(operand),))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
                return self._divisor_checked(node, Apply(_COMPUTED[type(op)], (self.size(left), self.size(right))))
            case ast.BinOp(op=ast.Div()):
                raise self.error(node, "'/' is not exact; use '//' or cdiv(a, b)")
            case ast.Call():
                return self._call(node)
            case ast.Attribute() | ast.Subscript():
                return self._member(node)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                raise self.error(node, "a condition stands where an integer is needed")
        known = "integers, names, + - * // % **, cdiv, min, max, grid.x, a.shape[0] and a.strides[0]"
        raise self.error(node, f"only {known} may stand here")

    def condition(self, node: ast.expr) -> Expression:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=rest):
                return self._comparison(node, [left, *rest], ops)
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                return Apply(word, tuple(self.condition(value) for value in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Apply("not", (self.condition(operand),))
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self.size(node)
        self.size(node)
        raise self.error(node, "a fact is a condition such as 'M >= 1', not a number")

    def array(self, node: ast.expr) -> str:
        """The name of an argument: ``x``, ``pair[0]`` or ``params.weight``."""
        match node:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=value, attr=attr):
                return f"{self.array(value)}.{attr}"
            case ast.Subscript(value=value, slice=ast.Constant(value=int() as index)):
                return f"{self.array(value)}[{index}]"
        raise self.error(node, "the name of an array argument is needed here")

    def _comparison(self, node: ast.expr, terms: list[ast.expr], ops: list[ast.cmpop]) -> Expression:
        for op in ops:
            if type(op) not in _COMPARED:
                raise self.error(node, "only == != < <= > >= compare sizes")
        sides = [self.size(term) for term in terms]
        parts = tuple(Apply(_COMPARED[type(op)], (sides[i], sides[i + 1])) for i, op in enumerate(ops))
        return parts[0] if len(parts) == 1 else Apply("and", parts)

    def _call(self, node: ast.Call) -> Expression:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name not in _FUNCTIONS:
            hint = "; use cdiv(a, b)" if name in {"ceil", "ceildiv", "ct.cdiv", "math.ceil"} else ""
            raise self.error(node, f"there is no function '{name}', only cdiv, min and max{hint}")
        least, most = _FUNCTIONS[name]
        if node.keywords or len(node.args) < least or (most is not None and len(node.args) > most):
            raise self.error(node, f"{name} takes {'two' if most else 'two or more'} integers")
        return self._divisor_checked(node, Apply(name, tuple(self.size(argument) for argument in node.args)))

    def _divisor_checked(self, node: ast.expr, expression: Apply) -> Apply:
        if OPERATORS[expression.op].divides and expression.args[1] == Number(0):
            raise self.error(node, "the divisor is 0")
        return expression

    def _member(self, node: ast.expr) -> Expression:
        match node:
            case ast.Attribute(value=ast.Name(id="grid"), attr=attr):
                if attr not in ("x", "y", "z"):
                    raise self.error(node, "the grid has the axes grid.x, grid.y and grid.z")
                return Name(f"grid.{attr}")
            case ast.Subscript(value=ast.Attribute(value=array, attr="shape" | "strides" as what), slice=index):
                if not isinstance(index, ast.Constant) or not _is_index(index.value):
                    raise self.error(node, f".{what}[...] needs a literal dimension, 0 or more")
                return Name(f"{self.array(array)}.{what}[{index.value}]")
            case ast.Attribute(attr="shape" | "strides" as what):
                raise self.error(node, f".{what} needs a dimension, as in .{what}[0]")
        return Name(self.array(node))


def _is_index(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# -------------------------------------------------------------------------------------------- large numbers
def _bits(expression: Expression) -> int:
    """How many bits the numbers of an expression have at most; no exponent is computed that is out of range.

    Raises :class:`SpecError` for such an exponent, unless it has names, whose values nobody knows yet.
    """
    if isinstance(expression, Number):
        return expression.value.bit_length()
    if isinstance(expression, Name):
        return _NAME_BITS
    if expression.op == "**":
        base, exponent = map(_bits, expression.args)
        if free_names(expression.args[1]):
            return base * LARGEST_EXPONENT
        number = constant_value(expression.args[1]) if exponent <= _NAME_BITS else None
        if number is None or not 0 <= number <= LARGEST_EXPONENT:
            raise SpecError(f"'**' needs an exponent between 0 and {LARGEST_EXPONENT}")
        return max(base * number, 1)
    sides = [_bits(argument) for argument in expression.args]
    if expression.op == "*":
        return sum(sides)
    return max(sides) + (expression.op in ("+", "-", "cdiv"))
