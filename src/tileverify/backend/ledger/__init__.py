"""Work in flight: which bytes it reads and writes, and what comes before what on the streams of a machine."""

from .index import LaunchBytes
from .ledger import InFlightConflict, Ledger, Ticket
from .streams import LEGACY, PER_THREAD, EventMark, Order, StreamId, Work
from .touched_bytes import ByteAccess, WrittenBytes, merged
from .unordered import GraphNode, unordered_conflicts

__all__ = [
    "LEGACY",
    "PER_THREAD",
    "ByteAccess",
    "EventMark",
    "GraphNode",
    "InFlightConflict",
    "LaunchBytes",
    "Ledger",
    "Order",
    "StreamId",
    "Ticket",
    "Work",
    "WrittenBytes",
    "merged",
    "unordered_conflicts",
]
