"""Work in flight: which bytes it reads and writes, and what comes before what on the streams of a machine."""

from .accesses import Access, merged
from .graphs import Node, unordered_conflicts
from .ledger import InFlightConflict, Ledger, Ticket
from .order import LEGACY, EventMark, Order, StreamId, Work

__all__ = [
    "LEGACY",
    "Access",
    "EventMark",
    "InFlightConflict",
    "Ledger",
    "Node",
    "Order",
    "StreamId",
    "Ticket",
    "Work",
    "merged",
    "unordered_conflicts",
]
