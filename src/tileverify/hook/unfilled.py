"""Memory of an imitated GPU that holds zeros only because nobody has filled it.

Kernels do not run there.  What an array holds is known where the program itself put it in: numbers that differ were
computed on the host; equal numbers may be what ``empty`` gave, or what should have been overwritten by a kernel.
"""

from __future__ import annotations

from collections.abc import Hashable

Span = tuple[int, int]
"""First byte and the one behind the last."""

_from_empty: dict[Span, None] = {}


def note_empty(start: int, size: int) -> None:
    """``empty`` gave this memory."""
    note_filled(start, size)
    if size:
        _from_empty[start, start + size] = None


def note_filled(start: int, size: int) -> None:
    """The program asked for this memory with numbers in it."""
    for span in [span for span in _from_empty if span[0] < start + size and start < span[1]]:
        del _from_empty[span]


def is_from_empty(span: Span) -> bool:
    return any(start < span[1] and span[0] < end for start, end in _from_empty)


class Launched:
    """Which kernels were given which memory, by what name."""

    def __init__(self) -> None:
        self._users: dict[Span, set[Hashable]] = {}

    def note(self, span: Span, user: Hashable) -> None:
        """``user``: a kernel and its parameter."""
        self._users.setdefault(span, set()).add(user)

    def used_by_others(self, span: Span, user: Hashable) -> bool:
        """Another kernel, or another parameter, had memory of this span, and may have been meant to write there."""
        return any(start < span[1] and span[0] < end and users - {user} for (start, end), users in self._users.items())
