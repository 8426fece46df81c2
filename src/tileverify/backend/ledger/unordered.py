"""Graphs of work, checked before they run: two nodes without a path between them touch nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .touched_bytes import Access, conflicts


@dataclass(frozen=True, slots=True)
class Node:
    """``after``: positions of the nodes that it waits for, all smaller than its own."""

    name: str
    accesses: tuple[Access, ...]
    after: tuple[int, ...] = ()


def unordered_conflicts(nodes: Sequence[Node]) -> Iterator[tuple[int, int, Access, Access]]:
    """Pairs of nodes (by position) without a path between them that share a byte which one of both writes."""
    ancestors = _ancestors(nodes)
    for later, node in enumerate(nodes):
        for earlier in range(later):
            if not ancestors[later] >> earlier & 1:
                pair = next(conflicts(nodes[earlier].accesses, node.accesses), None)
                if pair is not None:
                    yield earlier, later, *pair


def _ancestors(nodes: Sequence[Node]) -> Mapping[int, int]:
    """A bit for every node that comes before."""
    found: dict[int, int] = {}
    for position, node in enumerate(nodes):
        found[position] = 0
        for other in node.after:
            assert other < position, "nodes come behind what they wait for"
            found[position] |= found[other] | 1 << other
    return found
