"""Changes of one op of a kernel: those that make another function of it, and those that write it differently.

A change stands for an edit of the source: its rule takes the place of the op's own while the kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tileverify.backend.interpreter.control import REGION_OPS
from tileverify.backend.interpreter.values import Tile
from tileverify.equality import exact, formulas, primitives
from tileverify.equality.op_rules import RULES as TYPED_RULES
from tileverify.equality.op_rules import ExactKernel
from tileverify.frontend.bytecode.model import Op, Value
from tileverify.frontend.bytecode.traverse import walk

RULES: dict[str, Callable[..., Any]] = dict(TYPED_RULES)
Change = Callable[[Any, Op], Any]


@dataclass(frozen=True)
class Changed:
    """``change`` of the op at a place of the bytecode."""

    name: str
    op: Op
    change: Change


def _float(value: Any) -> bool:
    return bool(value.data.dtype == exact.NUMBER)


def _two(compute: Callable[[Any, Any], Any], names: tuple[str, str] = ("lhs", "rhs")) -> Change:
    def change(run: Any, op: Op) -> Tile:
        first, second = (run.tile(op, name) for name in names)
        plain = RULES[op.name](run, op)
        return Tile(np.broadcast_to(compute(first.data, second.data), plain.data.shape), plain.taint)

    return change


def _after(compute: Callable[[Any], Any]) -> Change:
    def change(run: Any, op: Op) -> Any:
        found = RULES[op.name](run, op)
        if isinstance(found, Tile) and not _float(found):
            raise DoesNotApply
        if isinstance(found, tuple):
            first = found[0]
            return (Tile(compute(first.data), first.taint), *found[1:])
        return Tile(compute(found.data), found.taint)

    return change


def _one(compute: Callable[[Any], Any]) -> Change:
    def change(run: Any, op: Op) -> Tile:
        source = run.tile(op, "s")
        return Tile(compute(source.data), source.taint)

    return change


def _number(value: float) -> Any:
    return exact.numbers_of(np.asarray(value))


def _times(factor: float) -> Callable[[Any], Any]:
    return lambda x: exact.multiply(x, _number(factor))


def _lost_lane(run: Any, op: Op) -> Any:
    """A sum without its first element."""
    axis = op.attributes["dim"]
    tile = run.tiles(op, "inputs")[0]
    index = (slice(None),) * axis + (slice(1, None),)
    return (Tile(exact.total(tile.data[index], axis)),)


def _other_axis(run: Any, op: Op) -> Any:
    """A reduction or scan along another axis of as many lanes, so that the result has the shape that it had."""
    axis = op.attributes["dim"]
    shape = run.tiles(op, "inputs")[0].data.shape
    others = [place for place, size in enumerate(shape) if place != axis and size == shape[axis] > 1]
    if not others:
        raise DoesNotApply
    return RULES[op.name](run, replace(op, attributes={**op.attributes, "dim": others[0]}))


def _transposed(x: Any) -> Any:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise DoesNotApply
    return np.swapaxes(x, -1, -2)


def _transposed_factor(which: str) -> Change:
    def change(run: Any, op: Op) -> Tile:
        lhs, rhs, acc = (run.tile(op, name) for name in ("lhs", "rhs", "acc"))
        factors = {"lhs": lhs.data, "rhs": rhs.data}
        factors[which] = _transposed(factors[which])
        return Tile(add(exact.matmul(factors["lhs"], factors["rhs"]), acc.data), RULES[op.name](run, op).taint)

    return change


def _with_bound(name: str, move: Callable[[Any, Any], Any]) -> Change:
    """A ``for`` with another bound, which takes a value of its own: others may read that of the program."""

    def change(run: Any, op: Op) -> Op:
        value = Value(-1, op.value(name).type)
        bound, step = run.tile(op, name), run.tile(op, "step")
        run.values[value] = Tile(np.asarray(move(bound.data, step.data), bound.data.dtype))
        return replace(op, operands={**op.operands, name: value})

    return change


LOOPS: dict[str, Change] = {
    "one round short": _with_bound("upper", lambda bound, step: bound - step),
    "one round late": _with_bound("lower", lambda bound, step: bound + step),
}


def _accumulator(compute: Callable[[Any], Any]) -> Change:
    def change(run: Any, op: Op) -> Tile:
        lhs, rhs, acc = (run.tile(op, name) for name in ("lhs", "rhs", "acc"))
        product = exact.matmul(lhs.data, rhs.data)
        return Tile(exact.add(product, compute(acc.data)), RULES[op.name](run, op).taint)

    return change


def _halves(run: Any, op: Op) -> Tile:
    lhs, rhs, acc = (run.tile(op, name).data for name in ("lhs", "rhs", "acc"))
    half = lhs.shape[-1] // 2
    upper = exact.matmul(lhs[..., half:], rhs[..., half:, :])
    return Tile(exact.add(exact.add(acc, upper), exact.matmul(lhs[..., :half], rhs[..., :half, :])))


def _chosen(which: str) -> Change:
    def change(run: Any, op: Op) -> Tile:
        tile = run.tile(op, which)
        return Tile(np.broadcast_to(tile.data, RULES[op.name](run, op).data.shape), tile.taint, tile.origin)

    return change


def _rolled(x: Any) -> Any:
    if not x.ndim:
        raise DoesNotApply
    return np.roll(x, 1, axis=-1)


add, subtract, multiply, divide, negative = (
    exact.add, exact.subtract, exact.multiply, exact.divide, exact.negative,
)  # fmt: skip
ONE, TWO = formulas.ONE, formulas.TWO

MUTANTS: dict[str, dict[str, Change]] = {
    "addf": {
        "left term dropped": _two(lambda x, y: y),
        "right term dropped": _two(lambda x, y: x),
        "sign": _two(subtract),
        "off by 1e-4": _after(_times(1.0001)),
        "term twice": _two(lambda x, y: add(add(x, y), y)),
    },
    "subf": {
        "left term dropped": _two(lambda x, y: negative(y)),
        "right term dropped": _two(lambda x, y: x),
        "sign": _two(add),
        "off by 1e-4": _after(_times(0.9999)),
        "swapped": _two(lambda x, y: subtract(y, x)),
    },
    "mulf": {
        "left factor dropped": _two(lambda x, y: y),
        "right factor dropped": _two(lambda x, y: x),
        "scale applied twice": _two(lambda x, y: multiply(multiply(x, y), y)),
        "sign": _after(negative),
        "off by 1e-4": _after(_times(1.0001)),
    },
    "divf": {
        "not divided": _two(lambda x, y: x),
        "divided twice": _two(lambda x, y: divide(divide(x, y), y)),
        "swapped": _two(lambda x, y: divide(y, x)),
        "off by 1e-4": _after(_times(1.0001)),
    },
    "fma": {
        "product dropped": _two(lambda x, c: c, ("lhs", "acc")),
        "sum dropped": _two(multiply),
        "sign": _after(negative),
    },
    "exp": {"exp2 for exp": _one(formulas.exp2), "off by 1e-4": _after(_times(1.0001)), "left out": _one(lambda x: x)},
    "exp2": {"exp for exp2": _one(formulas.exp), "off by 1e-4": _after(_times(1.0001)), "left out": _one(lambda x: x)},
    "rsqrt": {
        "sqrt for rsqrt": _one(formulas.sqrt),
        "left out": _one(lambda x: x),
        "off by 1e-4": _after(_times(1.0001)),
    },
    "sqrt": {"left out": _one(lambda x: x), "off by 1e-4": _after(_times(1.0001))},
    "tanh": {"left out": _one(lambda x: x), "sigmoid for tanh": _one(formulas.sigmoid)},
    "negf": {"sign": _one(lambda x: x)},
    "absf": {"left out": _one(lambda x: x)},
    "maxf": {"min for max": _two(formulas.minimum), "left": _two(lambda x, y: x), "right": _two(lambda x, y: y)},
    "minf": {"max for min": _two(formulas.maximum), "left": _two(lambda x, y: x), "right": _two(lambda x, y: y)},
    "mmaf": {
        "accumulator dropped": _accumulator(lambda x: multiply(x, formulas.integers(0))),
        "accumulator twice": _accumulator(lambda x: add(x, x)),
        "accumulator subtracted": _accumulator(negative),
        "off by 1e-4": _after(_times(1.0001)),
        "left factor transposed": _transposed_factor("lhs"),
        "right factor transposed": _transposed_factor("rhs"),
    },
    "reduce": {"first lane left out": _lost_lane, "along another axis": _other_axis},
    "scan": {"along another axis": _other_axis},
    "for": LOOPS,
    "select": {"mask left out": _chosen("t"), "mask always": _chosen("f")},
    "load_view_tko": {
        "a neighbour's value": _after(_rolled),
        "off by 9e-5": _after(lambda x: add(x, _number(9e-5))),
        "transposed": _after(_transposed),
    },
    "load_ptr_tko": {"a neighbour's value": _after(_rolled), "off by 9e-5": _after(lambda x: add(x, _number(9e-5)))},
    "constant": {
        "off by 1e-4": _after(_times(1.0001)),
        "left out": _after(lambda x: multiply(x, formulas.integers(0))),
    },
    "permute": {"transposed back": _one(lambda x: x)},
}
for _name in (*MUTANTS, "floor", "ceil", "log", "log2", "sin", "cos"):
    if _name not in ("fma", "for", "scan"):
        MUTANTS[_name] = {
            **MUTANTS.get(_name, {}),
            "nothing": _after(lambda x: multiply(x, formulas.integers(0))),
            "off by 1e-3": _after(_times(1.001)),
            "one more": _after(lambda x: add(x, ONE)),
        }
REWRITES: dict[str, dict[str, Change]] = {
    "addf": {
        "commuted": _two(lambda x, y: add(y, x)),
        "as a difference": _two(lambda x, y: subtract(x, negative(y))),
        "shifted": _two(lambda x, y: subtract(add(add(x, ONE), y), ONE)),
    },
    "subf": {
        "as a sum": _two(lambda x, y: add(negative(y), x)),
        "negated": _two(lambda x, y: negative(subtract(y, x))),
    },
    "mulf": {
        "commuted": _two(lambda x, y: multiply(y, x)),
        "distributed": _two(lambda x, y: subtract(multiply(add(x, ONE), y), y)),
        "signs": _two(lambda x, y: multiply(negative(x), negative(y))),
    },
    "divf": {
        "by the reciprocal": _two(lambda x, y: multiply(x, divide(ONE, y))),
        "expanded": _two(lambda x, y: divide(multiply(x, TWO), multiply(TWO, y))),
    },
    "fma": {"commuted": _after(lambda x: add(x, formulas.integers(0)))},
    "exp": {
        "base 2": _one(lambda x: formulas.exp2(multiply(x, _number(float(np.log2(np.e)))))),
        "inverse": _one(lambda x: divide(ONE, formulas.exp(negative(x)))),
        "square of half": _one(lambda x: _squared(formulas.exp(multiply(x, formulas.HALF)))),
    },
    "exp2": {
        "base e": _one(lambda x: formulas.exp(multiply(x, _number(float(np.log(2)))))),
        "square of half": _one(lambda x: _squared(formulas.exp2(multiply(x, formulas.HALF)))),
    },
    "tanh": {"by sigmoid": _one(lambda x: subtract(multiply(TWO, formulas.sigmoid(add(x, x))), ONE))},
    "rsqrt": {"by sqrt": _one(lambda x: divide(ONE, formulas.sqrt(x)))},
    "sqrt": {"by rsqrt": _one(lambda x: divide(ONE, formulas.rsqrt(x)))},
    "maxf": {
        "commuted": _two(lambda x, y: formulas.maximum(y, x)),
        "by min": _two(lambda x, y: negative(formulas.minimum(negative(x), negative(y)))),
    },
    "minf": {"commuted": _two(lambda x, y: formulas.minimum(y, x))},
    "mmaf": {"in two halves": _halves},
    "constant": {"split": _after(lambda x: subtract(add(x, TWO), TWO))},
    "reduce": {"backwards": lambda run, op: _backwards(run, op)},
    "negf": {"times -1": _one(lambda x: multiply(x, formulas.integers(-1)))},
}


def _squared(x: Any) -> Any:
    return multiply(x, x)


def _backwards(run: Any, op: Op) -> Any:
    if op.regions[0].blocks[0].ops[0].name != "addf":
        return RULES["reduce"](run, op)
    tile = run.tiles(op, "inputs")[0]
    return (Tile(primitives.folded(add, None)(np.flip(tile.data, op.attributes["dim"]), op.attributes["dim"])),)


def changes_of(kernel: ExactKernel, table: dict[str, dict[str, Change]]) -> list[Changed]:
    """All changes of the table that some op of the kernel can take."""
    found = []
    combining = {
        id(op) for outer in walk(kernel.entry.body) if outer.name in ("reduce", "scan") for op in _inside(outer)
    }
    for op in walk(kernel.entry.body):
        if id(op) in combining:
            continue  # bodies of sums are not executed one by one
        for name, change in table.get(op.name, {}).items():
            if name == "first lane left out" and not _sums_one(op):
                continue
            found.append(Changed(name, op, change))
    return found


def _sums_one(op: Op) -> bool:
    return len(op.group("inputs")) == 1 and op.regions[0].blocks[0].ops[0].name == "addf"


def _inside(outer: Op) -> Iterator[Op]:
    return (op for region in outer.regions for block in region.blocks for op in block.ops)


class DoesNotApply(Exception):
    """The op has no floats, or the change leaves its value as it is."""


@contextmanager
def changed_loop(one: Changed, seen: list[bool]) -> Iterator[None]:
    """While this is open, the loop of the change (if it is one of a loop) has other bounds."""
    plain = REGION_OPS["for"]

    def steps(run: Any, op: Op) -> Any:
        if op is not one.op:
            return plain(run, op)
        lower, upper = (run.tile(op, name).data.astype(np.int64) for name in ("lower", "upper"))
        seen.append(bool(lower < upper))
        return plain(run, one.change(run, op))

    REGION_OPS["for"] = steps
    try:
        yield
    finally:
        REGION_OPS["for"] = plain


def changed(kernel: ExactKernel, one: Changed, seen: list[bool]) -> ExactKernel:
    """The kernel in which the op does what the change says; ``seen`` tells of each time whether its value changed.

    A loop is `changed_loop`'s.
    """
    if one.op.name == "for":
        return kernel

    def rule(run: Any, op: Op) -> Any:
        if op is not one.op:
            return RULES[op.name](run, op)
        plain = RULES[op.name](run, op)
        first = plain[0] if isinstance(plain, tuple) else plain
        if not isinstance(first, Tile) or not _float(first):
            raise DoesNotApply
        found = one.change(run, op)
        new = found[0] if isinstance(found, tuple) else found
        if new.data.shape != first.data.shape:
            raise DoesNotApply
        kept = exact.same(new.data, first.data) | (np.isnan(new.data["s"]) & np.isnan(first.data["s"]))
        seen.append(not bool(kept.all()))
        return found

    return replace(kernel, rules={**RULES, one.op.name: rule})
