"""Expressions of a spec in the lanes of many launches at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from ...contract.expressions import Undefined
from ...contract.launch import Expression, Name, Number
from .elements import Array


def evaluated(expression: Expression, values: Mapping[str, Array]) -> Array:
    """The expression for each lane, where `operators.Operator.value` knows one launch.

    :raises Undefined: it has an operator that is not followed, or a name without a value.
    """
    if isinstance(expression, Number):
        return np.asarray(expression.value, np.int64)
    if isinstance(expression, Name):
        if expression.name not in values:
            raise Undefined(f"{expression.name} has no value")
        return values[expression.name]
    operator = _OPERATORS.get(expression.op)
    if operator is None:
        raise Undefined(f"'{expression.op}' is not followed")
    return np.asarray(operator(*(evaluated(each, values) for each in expression.args)))


def some(divisor: Array) -> Array:
    """A divisor that is not 0."""
    return np.where(divisor == 0, 1, divisor)


_OPERATORS: Final[Mapping[str, Callable[..., Array]]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "neg": np.negative, "min": np.minimum, "max": np.maximum,
    "//": lambda a, b: a // some(b), "%": lambda a, b: a % some(b), "cdiv": lambda a, b: -(-a // some(b)),
}  # fmt: skip
