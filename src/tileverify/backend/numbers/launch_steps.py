"""Ops that make an integer of the launch alone by which no law goes on: remainders, quotients by what is no constant,
shifts, bits, casts to narrower words, and whether such or a product is one number.

What is right at a few launches says nothing of others there: ``1 // (1 + (m * m + 3 * n * n) % 10007)`` is 0 in nearly
all of them.  Sums, products and the quotient of a sum by a constant are left out: their borders are tried
(`odd_launches`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...frontend.bytecode.entry_uses import CONSTANT, NOWHERE, ValueOrigin, ValueUse, origins_of, uses_of
from ...frontend.bytecode.model import Entry, Op, ScalarType, TileType, Value
from ...frontend.bytecode.traverse import walk

STEPPING: Final = frozenset({"remi", "divi", "shri", "andi", "ori", "xori", "mulhii", "trunci", "exti", "cmpi"})
_STEERING: Final = ValueUse.BRANCH | ValueUse.BOUND


@lru_cache(maxsize=64)
def launch_steps(entry: Entry) -> frozenset[Op]:
    """Those ops, wherever their results go."""
    origins = origins_of(entry)
    bent: set[Value] = set()
    found: set[Op] = set()
    for op in walk(entry.body):
        operands = [value for value in op.operands.values() if isinstance(value, Value)]
        made_of = [origins.get(value, CONSTANT) for value in operands]
        if (
            op.regions
            or not any(ValueOrigin.LAUNCH in each for each in made_of)
            or ValueOrigin.CONTENTS in _joined(made_of)
        ):
            continue
        of_bent = not bent.isdisjoint(operands)
        if op.name in STEPPING and _steps(op, made_of, of_bent):
            found.add(op)
            of_bent = True
        if of_bent or (op.name == "muli" and all(each is not CONSTANT for each in made_of)):
            bent.update(op.results)
    return frozenset(found)


@lru_cache(maxsize=64)
def steered_by_steps(entry: Entry) -> bool:
    """Whether a branch or the rounds of a loop hang on such an op; or an address on one that is 0 or 1."""
    uses, origins = uses_of(entry), origins_of(entry)
    steps = launch_steps(entry)
    return any(
        uses.get(op.result, NOWHERE) & (ValueUse.BRANCH if op.name == "cmpi" else _STEERING)
        or (op.result in uses and op.name == "divi" and op.value("lhs") not in origins)
        or (op.result in uses and op.name == "exti")
        for op in steps
    )


def _joined(origins: list[ValueOrigin]) -> ValueOrigin:
    whole = CONSTANT
    for each in origins:
        whole |= each
    return whole


def _steps(op: Op, made_of: list[ValueOrigin], of_bent: bool) -> bool:
    match op.name:
        case "divi":
            return of_bent or made_of[1] is not CONSTANT
        case "andi" | "ori" | "xori":
            return _bits(op.result) > 1
        case "exti":  # a condition as a number
            return of_bent and _bits(op.value("s")) == 1
        case "cmpi":  # most ask whether an index is inside
            return of_bent and op.attributes["pred"] in ("equal", "not_equal")
        case "trunci":
            return _bits(op.result) < 32
    return True


def _bits(value: Value) -> int:
    element = value.type.element if isinstance(value.type, TileType) else None
    return element.bits if isinstance(element, ScalarType) else 0
