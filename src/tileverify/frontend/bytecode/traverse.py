"""Walking over the ops of an entry."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Block, Op


def walk(block: Block) -> Iterator[Op]:
    """Every op of ``block`` in pre-order: a region op comes before its body."""
    for op in block.ops:
        yield op
        for region in op.regions:
            for body in region.blocks:
                yield from walk(body)
