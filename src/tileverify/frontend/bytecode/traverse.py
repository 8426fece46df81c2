"""Walking over the ops of an entry."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Block, Op, Value


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
