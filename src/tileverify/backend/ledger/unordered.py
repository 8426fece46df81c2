"""Graphs of work, checked before they run: two nodes without a path between them touch nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .touched_bytes import ByteAccess, conflicts


@dataclass(frozen=True, slots=True)
class GraphNode:
    """``after``: positions of the nodes that it waits for, all smaller than its own."""

    name: str
    accesses: tuple[ByteAccess, ...]
    after: tuple[int, ...] = ()


def unordered_conflicts(nodes: Sequence[GraphNode]) -> Iterator[tuple[int, int, ByteAccess, ByteAccess]]:
    """Pairs of nodes (by position) without a path between them that share a byte which one of both writes."""
    ancestors = _ancestors(nodes)
    for later, node in enumerate(nodes):
        for earlier in range(later):
            if not ancestors[later] >> earlier & 1:
                pair = next(conflicts(nodes[earlier].accesses, node.accesses), None)
                if pair is not None:
                    yield earlier, later, *pair


def _ancestors(nodes: Sequence[GraphNode]) -> Mapping[int, int]:
    """A bit for every node that comes before."""
    found: dict[int, int] = {}
    for position, node in enumerate(nodes):
        found[position] = 0
        for other in node.after:
            assert other < position, "nodes come behind what they wait for"
            found[position] |= found[other] | 1 << other
    return found
