"""Walking over the ops of an entry: which values anybody sees, and which no address depends on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from .model import Block, Entry, Op, TensorViewType, TileType, Value
from .optable import FLOAT_OPS


def walk(block: Block) -> Iterator[Op]:
    """Every op of ``block`` in pre-order: a region op comes before its body."""
    for op in block.ops:
        yield op
        for region in op.regions:
            for body in region.blocks:
                yield from walk(body)


def makers(block: Block) -> dict[Value, Op]:
    """The op that each value of ``block`` comes from, parameters and what loops carry left out."""
    return {result: op for op in walk(block) for result in op.results}


# ------------------------------------------------------------------------------------------------------------- liveness
# Which values of an entry anything can depend on that somebody sees: memory, the host, or the path.


def used_values(entry: Entry) -> frozenset[Value]:
    """Values that reach an access, a branch, a loop, the host or the end of a block.

    Definitions come before uses, so one walk from the end meets every use of a value before the value.
    """
    used: set[Value] = set()
    for op in reversed(list(walk(entry.body))):
        pure = op.declaration.effect == "none" and not op.regions and not op.declaration.terminator
        if not pure or any(result in used for result in op.results):
            used.update(operands(op))
    return frozenset(used)


def read_values(entry: Entry) -> frozenset[Value]:
    """Values that some op takes, whatever becomes of what it makes of them."""
    return frozenset(value for op in walk(entry.body) for value in operands(op))


def operands(op: Op) -> Iterator[Value]:
    """Every value that ``op`` itself takes, not its bodies."""
    for operand in op.operands.values():
        for value in operand if isinstance(operand, tuple) else (operand,):
            if value is not None:
                yield value


_LANE_BY_LANE: Final = frozenset({*(each.name for each in FLOAT_OPS), "ftof", "itof", "bitcast"})


def works_lane_by_lane(op: Op) -> bool:
    """Whether a lane of the one result is a function of that lane of each operand, and of nothing else."""
    return op.name in _LANE_BY_LANE and all(_shape(each) == _shape(op.result) for each in operands(op))


def _shape(value: Value) -> tuple[int, ...] | None:
    return value.type.shape if isinstance(value.type, TileType) else None


# ---------------------------------------------------------------------------------------------------------------- inert
# Values that no address depends on: strides of dimensions whose size is 1.
#
# cuTile's frontend assumes that the stride of a dimension of size 1 is divisible by 4 or 8, be it the constant 1 that
# it puts in for it, which is not, or what a launch passes, which need not be.  Such a stride is only ever multiplied by
# the coordinate 0, so the promise is without effect, and it is not the kernel's author who could keep it.  It is
# reported as a note, not as TV401.


@lru_cache(maxsize=64)
def inert_assumptions(entry: Entry) -> frozenset[Op]:
    """The ``assume`` ops whose result is used for nothing but strides of dimensions of static size 1."""
    uses: dict[Value, list[tuple[Op, bool]]] = {}
    for op in walk(entry.body):
        harmless = _unit_strides(op)
        for operand in op.operands.values():
            for value in operand if isinstance(operand, tuple) else (operand,):
                if value is not None:
                    uses.setdefault(value, []).append((op, value in harmless))
    inert: set[Op] = set()

    def is_inert(value: Value) -> bool:
        return all(harmless or op in inert for op, harmless in uses.get(value, []))

    # Uses follow definitions, so the last assume of a chain is met first.
    for op in reversed(list(walk(entry.body))):
        if op.name == "assume" and uses.get(op.result) and is_inert(op.result):
            inert.add(op)
    return frozenset(inert)


def _unit_strides(op: Op) -> frozenset[Value]:
    """The values that ``op`` takes as strides of dimensions of size 1, and as nothing else."""
    if op.name != "make_tensor_view":
        return frozenset()
    view = op.result.type
    assert isinstance(view, TensorViewType)
    dynamic = [d for d, stride in enumerate(view.strides) if stride is None]
    strides = op.group("strides")
    unit = {value for d, value in zip(dynamic, strides, strict=True) if view.shape[d] == 1}
    others = {value for d, value in zip(dynamic, strides, strict=True) if view.shape[d] != 1}
    return frozenset(unit - others - set(op.group("shape")) - {op.value("base")})
