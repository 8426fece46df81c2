"""Which values of an entry anything can depend on that somebody sees: memory, the host, or the path."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Entry, Op, Value
from .traverse import walk


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
