"""Protocols between tile blocks: tickets, counters, flags, turns and locks."""

from .facts import Protocols
from .instances import watched

__all__ = ["Protocols", "watched"]
