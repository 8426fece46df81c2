"""The size of what a constant expression evaluates to, without evaluating it where that would be costly."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

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
