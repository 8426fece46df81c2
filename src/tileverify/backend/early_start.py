"""Kernels that may be started before the one ahead of them on their stream has ended (programmatic dependent launch).

Such a kernel runs beside its predecessor up to its ``gdc_wait``, which waits until that one has ended and all that it
wrote is visible (PTX, ``griddepcontrol.wait``).  Nothing that a launch touches depends on the early start if

    every block passes a gdc_wait          it stands at the top of the entry, behind nothing that could end the block
    every access waits for it by tokens    token of the access <- ... <- token of the gdc_wait

The first also keeps the order of all that follows: such a kernel ends behind its predecessor.  Tokens that a loop or a
branch hands on count for nothing here; cuTile joins that of the wait to every one of them.

Reads that do not wait, of weights that are loaded ahead, are fine where it is known that nothing writes there as long
as any kernel may still run that the launch did not wait for: in a graph, whose launches are known (`launching.graphs`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..frontend.bytecode.model import Entry, Op, TokenType, Value
from ..frontend.bytecode.traverse import walk

_WAIT = "gdc_wait_tko"
_READ = "read"


def waits_first(entry: Entry) -> bool:
    """Whether an early start of the entry cannot be told from a start in order."""
    return reads_ahead(entry) == frozenset()


def reads_ahead(entry: Entry) -> frozenset[int] | None:
    """The reads, by their offsets in the bytecode, that need not wait; ``None`` where anything else need not.

    If nothing writes what they read, an early start of the entry cannot be told from a start in order.
    """
    behind: set[Value] = set()
    ahead: set[int] = set()
    for op in entry.body.ops:
        if op.name == _WAIT:
            break
        if op.regions:
            return None
    else:
        return None
    for op in walk(entry.body):
        waits = any(token in behind for token in _awaited(op))
        if op.declaration.touches_memory and not waits:
            if op.declaration.effect != _READ:
                return None
            ahead.add(op.offset)
        if op.name == _WAIT or (waits and not op.regions):
            behind.update(value for value in op.results if isinstance(value.type, TokenType))
    return frozenset(ahead)


def _awaited(op: Op) -> Iterator[Value]:
    """The tokens that an op takes."""
    for operand in op.operands.values():
        for value in operand if isinstance(operand, tuple) else (operand,):
            if isinstance(value, Value) and isinstance(value.type, TokenType):
                yield value
