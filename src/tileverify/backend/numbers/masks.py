"""Large negative constants where an element is masked: a kernel that has one takes no contents that are as large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ...frontend.bytecode.model import Constant, Entry, Op, ScalarType, Value
from ...frontend.bytecode.traverse import walk
from ..interpreter.tiles import constant_tile

_LEAST: Final = 1e4
_MASKING: Final = {"select": ("t", "f"), "mulf": ("lhs", "rhs"), "fma": ("lhs", "rhs")}
"""Operands that are a mask: chosen, or times 0 or 1.  A loop begins with one, too."""
_MOVING: Final = frozenset({"broadcast", "reshape"})


def masks(entry: Entry) -> frozenset[float]:
    """The numbers of -10000 and below that the kernel masks with, and does nothing else with."""
    ops = list(walk(entry.body))
    users: dict[Value, list[tuple[Op, str]]] = {}
    for op in ops:
        for name, operand in op.operands.items():
            for value in operand if isinstance(operand, tuple) else (operand,):
                if value is not None:
                    users.setdefault(value, []).append((op, name))
    masking: set[float] = set()
    others: set[float] = set()
    for op in (each for each in ops if each.name == "constant"):
        number = _number(op)
        if number is not None and number <= -_LEAST:
            only = all(_masks(use, name) for use, name in _uses(op.result, users))
            (masking if only else others).add(number)
    return frozenset(masking - others)


def _number(op: Op) -> float | None:
    constant = op.attributes["value"]
    if not isinstance(constant, Constant) or not constant.is_splat or not isinstance(constant.scalar, ScalarType):
        return None
    if not constant.scalar.is_float or not (data := constant_tile(constant).data).size:
        return None
    number = float(data.reshape(-1)[0])
    return number if np.isfinite(number) else None


def _uses(value: Value, users: dict[Value, list[tuple[Op, str]]]) -> Iterator[tuple[Op, str]]:
    for op, name in users.get(value, ()):
        if op.name in _MOVING:
            yield from _uses(op.result, users)
        else:
            yield op, name


def _masks(op: Op, name: str) -> bool:
    return name in _MASKING.get(op.name, ()) or (op.declaration.body == "loop" and name == "inits")
