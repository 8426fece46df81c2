"""What CUDA orders, without clocks: an edge for everything that orders, and paths.

Source: CUDA programming guide, "Streams" and "Events", as in `tileverify.backend.ledger.ordered_work`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tileverify.backend.ledger import LEGACY, ByteAccess, StreamId


@dataclass
class Model:
    """Nodes are work and recorded events; ``ancestors`` has a bit for every node that comes before."""

    ancestors: list[int] = field(default_factory=list)
    accesses: list[tuple[ByteAccess, ...]] = field(default_factory=list)
    streams: dict[StreamId, int] = field(default_factory=dict)  # bits of what the next node of a stream is behind
    host: int = 0

    def node(self, stream: StreamId, accesses: tuple[ByteAccess, ...], *, is_work: bool) -> int:
        behind = self.behind(stream, is_work=is_work)
        self.ancestors.append(behind)
        self.accesses.append(accesses)
        bit = 1 << (len(self.ancestors) - 1)
        self.streams[stream] = behind | bit
        return bit

    def behind(self, stream: StreamId, *, is_work: bool = True) -> int:
        behind = self.streams.get(stream, 0)
        if not is_work:
            return behind
        behind |= self.host
        for other, bits in self.streams.items():
            legacy = LEGACY in (other.handle, stream.handle)
            if other != stream and legacy and other.blocking and stream.blocking:
                behind |= bits
        return behind

    def unordered(self, stream: StreamId, accesses: tuple[ByteAccess, ...]) -> bool:
        """Whether a launch now would conflict with work that is not before it."""
        behind = self.behind(stream)
        return any(
            not behind >> node & 1 and any(a.conflicts_with(b) for a in accesses for b in theirs)
            for node, theirs in enumerate(self.accesses)
        )

    def races(self) -> list[tuple[int, int]]:
        return [
            (i, j)
            for j, behind in enumerate(self.ancestors)
            for i in range(j)
            if not behind >> i & 1
            if any(a.conflicts_with(b) for a in self.accesses[i] for b in self.accesses[j])
        ]
