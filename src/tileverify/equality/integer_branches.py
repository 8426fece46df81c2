"""Comparisons of integers that a branch may hang on, so that what came out in one way alone has to be told.

Most of a kernel's say whether a lane lies in an array, and are true throughout where a tile fits; of those none is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from ..backend.interpreter.machine import uniform_ops
from ..frontend.bytecode.model import Constant, Entry, Op, Value
from ..frontend.bytecode.traverse import walk

_ASKING: Final = frozenset({"absi", "cmpi", "maxi", "mini"})
_CHOOSING: Final = frozenset({"if", "select"})
_PASSING: Final = {
    "broadcast": ("s",), "reshape": ("s",), "andi": ("lhs", "rhs"), "ori": ("lhs", "rhs"), "xori": ("lhs", "rhs"),
}  # fmt: skip
"""Operands by which a condition goes through an op."""


@lru_cache(maxsize=64)
def integer_branches(entry: Entry) -> frozenset[Op]:
    """Comparisons, maxima, minima and magnitudes of integers: of sizes and scalars alone; with a number that the
    bytecode holds (but 0, the least index); and those that an ``if`` or a choice of elements asks for.  Not those of
    numbers alone, nor the signs by which a compiler makes Python's remainder of the machine's."""
    ops = list(walk(entry.body))
    made = {result: op for op in ops for result in op.results}
    uniform = uniform_ops(entry)
    choices = [op for op in ops if op.name in _CHOOSING]
    chosen = set(_behind(made, (op.value("c") for op in choices)))
    signs = {sign for op in choices if op.name == "select" for sign in _signs_of_remainder(made, op)}
    asking = (op for op in ops if op.name in _ASKING and op not in signs)
    fixed = of_numbers(ops)
    return frozenset(
        op for op in asking if op.result not in fixed and (op in uniform or op in chosen or _holds_number(made, op))
    )


def of_numbers(ops: Iterable[Op], *, and_lanes: bool = False) -> set[Value]:
    """What is computed of nothing but constants, and so comes out in one way whatever the launch is; ``and_lanes``: and
    of the numbers of lanes."""
    fixed: set[Value] = set()
    for op in ops:
        operands = op.operands.values()
        if (
            op.name == "constant"
            or (and_lanes and op.name == "iota")
            or (
                operands
                and op.declaration.effect == "none"
                and not op.regions
                and all(each in fixed for each in operands)
            )
        ):
            fixed.update(op.results)
    return fixed


def _signs_of_remainder(made: Mapping[Value, Op], choice: Op) -> Iterator[Op]:
    """The comparisons of r and d with 0 in the condition of ``select c, r + d, r``, where ``r = remi n, d``."""
    rest, moved = made.get(choice.value("f")), made.get(choice.value("t"))
    if rest is None or moved is None or (rest.name, moved.name) != ("remi", "addi"):
        return
    parts = {rest.result, rest.value("rhs")}
    if {moved.value("lhs"), moved.value("rhs")} != parts:
        return
    for op in _behind(made, [choice.value("c")]):
        if op.name == "cmpi" and op.value("lhs") in parts and _is_zero(made, op.value("rhs")):
            yield op


@lru_cache(maxsize=64)
def floor_remainders(entry: Entry) -> frozenset[Op]:
    """The ops by which a compiler makes Python's remainder of the machine's, where signs alone decide."""
    ops = list(walk(entry.body))
    made = {result: op for op in ops for result in op.results}
    found: set[Op] = set()
    for choice in (op for op in ops if op.name == "select"):
        signs, behind = {*_signs_of_remainder(made, choice)}, {*_behind(made, [choice.value("c")])}
        if signs and all(op in signs or op.name in _PASSING for op in behind):
            found |= {*behind, made[choice.value("t")]}
    return frozenset(found)


def _is_zero(made: Mapping[Value, Op], value: Value) -> bool:
    source = made.get(value)
    return source is not None and source.name == "constant" and _number(made, value) == 0


def _holds_number(made: Mapping[Value, Op], op: Op) -> bool:
    return op.name != "absi" and any(_number(made, op.value(side)) for side in ("lhs", "rhs"))


def _number(made: Mapping[Value, Op], value: Value) -> int:
    """The constant that ``value`` is in every lane, or 0."""
    source = made.get(value)
    while source is not None and source.name in ("broadcast", "reshape"):
        source = made.get(source.value("s"))
    if source is None or source.name != "constant":
        return 0
    constant = source.attributes["value"]
    assert isinstance(constant, Constant)
    return constant.element(0) if constant.is_splat else 0


def _behind(made: Mapping[Value, Op], conditions: Iterable[Value]) -> Iterator[Op]:
    """The ops that these conditions come from, joins of conditions followed."""
    left, seen = list(conditions), set()
    while left:
        value = left.pop()
        source = made.get(value)
        if source is None or source in seen:
            continue
        seen.add(source)
        yield source
        left += [source.value(side) for side in _PASSING.get(source.name, ())]
