"""Ops that give the same value in every block of a launch, which are therefore computed once."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...frontend.bytecode.model import Entry, Op, Value
from ...frontend.bytecode.traverse import walk

DIFFERING: Final = frozenset({"get_tile_block_id", "alloca", "int_to_ptr"})
"""Without an effect, but of this block, or of the memory that it made (`int_to_ptr` looks for what lies there).  Not a
property of their declarations: the prover derives the same from its terms, and is refereed by this."""


@lru_cache(maxsize=64)
def uniform_ops(entry: Entry) -> frozenset[Op]:
    """Ops without an effect, or a region, whose operands are parameters of the entry and results of such ops."""
    known: set[Value] = set(entry.parameters)
    found = set()
    for op in walk(entry.body):
        if op.regions or not op.results or op.declaration.effect != "none" or op.name in DIFFERING:
            continue
        operands = (
            value
            for operand in op.operands.values()
            for value in (operand if isinstance(operand, tuple) else (operand,))
        )
        if all(value is None or value in known for value in operands):
            found.add(op)
            known.update(op.results)
    return frozenset(found)
