"""The accesses of all blocks in the order in which they happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .access_log import BlockLog, DynamicAccess

Event: TypeAlias = tuple[int, int]
"""An access of a trace: the number of its block in ``logs`` and its own in the block's log."""


@dataclass(frozen=True, slots=True)
class Trace:
    """``order``: every access of ``logs``, each behind all those that its token waits for.

    What a read returned follows from the order: the latest write before it, byte by byte.
    """

    logs: tuple[BlockLog, ...]
    order: tuple[Event, ...]

    @classmethod
    def in_order_of(cls, logs: Sequence[BlockLog], moments: Sequence[Sequence[tuple[int, int, int] | None]]) -> Trace:
        """The trace of accesses that happened at ``moments`` (per block and access; ``None``: never)."""
        happened = [
            (moment, (block, number))
            for block, times in enumerate(moments)
            for number, moment in enumerate(times)
            if moment is not None
        ]
        return cls(tuple(logs), tuple(event for _, event in sorted(happened)))

    def access(self, event: Event) -> DynamicAccess:
        block, number = event
        return self.logs[block].accesses[number]

    def accesses(self) -> Iterator[tuple[Event, DynamicAccess]]:
        """All accesses in the order in which they happened."""
        for event in self.order:
            yield event, self.access(event)
