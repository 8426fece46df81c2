"""Launches on host arrays that touch the same bytes take turns, in the order in which they were made.

    launch L waits for W   iff   W began to wait or run before L, has not ended, and an access of W and one of L share
                                 a byte that at least one of both writes

Who waits for somebody waits for an earlier one alone, so nobody waits for ever.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..backend.ledger import ByteAccess
from ..backend.ledger.ordered_work import conflicts


@dataclass(eq=False, slots=True)
class _Turn:
    accesses: Sequence[ByteAccess]


@dataclass
class Turns:
    """Threads share one object."""

    _changed: threading.Condition = field(default_factory=threading.Condition)
    _all: list[_Turn] = field(default_factory=list)  # in the order in which they came

    @contextmanager
    def turn(self, accesses: Sequence[ByteAccess]) -> Iterator[None]:
        """Nobody who conflicts with ``accesses`` runs inside."""
        mine = _Turn(accesses)
        with self._changed:
            self._all.append(mine)
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._waits(mine))
            yield
        finally:
            with self._changed:
                self._all.remove(mine)
                self._changed.notify_all()

    def _waits(self, mine: _Turn) -> bool:
        before = self._all[: self._all.index(mine)]
        return any(next(conflicts(mine.accesses, other.accesses), None) is not None for other in before)


_turns = Turns()


def turns() -> Turns:
    """Those of this process."""
    return _turns


def _in_child() -> None:
    """Threads that held a turn are not there in a child."""
    global _turns
    _turns = Turns()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
