"""What declarations say of the algebra of an op holds of the interpreter's rule.

Reductions of the prover and of the interpreter both trust that word, so that neither would find a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from operator import add, and_, mul, neg, or_, sub, xor
from typing import Final

import pytest

from tileverify.frontend.bytecode.builder import F32, I8, BodyBuilder, tile
from tileverify.frontend.bytecode.model import Value
from tileverify.frontend.bytecode.optable import FLOAT_OPS, INTEGER_OPS, OpDeclaration

from .helpers import lanes
from .test_floats import f32

MEANS: Final[dict[str, Callable[..., float]]] = {
    "sum": add,
    "difference": sub,
    "product": mul,
    "fused": lambda a, b, c: a * b + c,
    "negation": neg,
    "magnitude": abs,
    "maximum": max,
    "minimum": min,
    "and": and_,
    "or": or_,
    "xor": xor,
}
WITHOUT_LAWS: Final = {"quotient", "remainder", "shift", "comparison"}
"""Nobody asks more of these than which kind of op they are."""
INTEGERS: Final = (-128, -127, -7, -2, -1, 0, 1, 2, 5, 126, 127)
FLOATS: Final = (-3.0, -0.5, 0.0, 1.0, 2.5)
"""Sums and products of three of them are exact."""
IDENTITIES: Final = {
    "zero": (0, 0.0),
    "one": (1, 1.0),
    "ones": (-1, None),
    "least": (-128, float("-inf")),
    "greatest": (127, float("inf")),
}


def result(op: OpDeclaration, floats: bool, *columns: tuple[float, ...]) -> list[float]:
    """The lanes of ``op`` on these operands; integers of 8 bits, read as signed."""

    def build(f: BodyBuilder) -> Value:
        size = len(columns[0])
        kind = tile(F32 if floats else I8, size)
        given = [f32(f, *each) if floats else f.constant(kind, *map(int, each)) for each in columns]
        signed = {"sgn": "signed"} if any(attribute.name == "sgn" for attribute in op.attributes) else {}
        names = (operand.name for operand in op.operands)
        made: Value = f.op(op.name, results=None, flags=(), **dict(zip(names, given, strict=True)), **signed)
        return made

    found = lanes(build)
    return found if floats else [lane - 256 if lane > 127 else lane for lane in found]


def expected(means: Callable[..., float], floats: bool, *operands: float) -> float:
    number = means(*operands)
    return number if floats else (int(number) + 128) % 256 - 128


BY_LAWS: Final = [
    (op, floats) for ops, floats in ((INTEGER_OPS, False), (FLOAT_OPS, True)) for op in ops if op.algebra in MEANS
]
WITH_IDENTITY: Final = [(op, floats) for op, floats in BY_LAWS if op.identity]


@pytest.mark.parametrize(("op", "floats"), BY_LAWS, ids=lambda part: getattr(part, "name", ""))
def test_an_op_computes_what_its_algebra_says(op: OpDeclaration, floats: bool) -> None:
    assert op.algebra is not None
    rows = list(product(FLOATS if floats else INTEGERS, repeat=len(op.operands)))
    computed = result(op, floats, *zip(*rows, strict=True))
    assert computed == [expected(MEANS[op.algebra], floats, *row) for row in rows]


@pytest.mark.parametrize(("op", "floats"), WITH_IDENTITY, ids=lambda part: getattr(part, "name", ""))
def test_its_identity_leaves_all_as_it_is(op: OpDeclaration, floats: bool) -> None:
    assert op.identity is not None
    numbers = FLOATS if floats else INTEGERS
    identity = IDENTITIES[op.identity][floats]
    assert identity is not None
    same = (identity,) * len(numbers)
    assert result(op, floats, numbers, same) == result(op, floats, same, numbers) == list(numbers)


def test_every_algebra_is_looked_at() -> None:
    assert {op.algebra for op in (*INTEGER_OPS, *FLOAT_OPS)} - {None} == MEANS.keys() | WITHOUT_LAWS
