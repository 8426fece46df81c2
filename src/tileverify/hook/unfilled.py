"""Memory of an imitated GPU that holds zeros only because nobody has filled it.

Kernels do not run there.  What an array holds is known where the program itself put it in: numbers that differ were
computed on the host; equal numbers may be what ``empty`` gave, or what should have been overwritten by a kernel.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from .spans import DisjointSpans, Span, meet, without

Writer = tuple[int, str]
"""The number that the notes have for a specialisation, and one of its parameters."""


class User(NamedTuple):
    """A kernel with a parameter.  ``writers``: through which of its parameters it would write there, if it does;
    ``None``: through others than the notes have, too."""

    kernel: Hashable
    parameter: str
    writers: frozenset[Writer] | None = None


_from_empty = DisjointSpans()
_users: dict[Span, set[User]] = {}
"""Who was given memory since the program filled it."""


def note_empty(start: int, size: int) -> None:
    """``empty`` gave this memory."""
    note_filled(start, size)
    if size:
        _from_empty.add((start, start + size))


def note_filled(start: int, size: int) -> None:
    """The program asked for this memory with numbers in it: whoever had it before has let it go."""
    filled = start, start + size
    _from_empty.drop(filled)
    for span in [span for span in _users if meet(span, filled)]:
        del _users[span]


def note_put(start: int, size: int, *, known: bool) -> None:
    """The program put numbers into this part of some memory; ``known``: not such as are unknown themselves."""
    put = start, start + size
    for span in [span for span in _users if meet(span, put)]:
        users = _users.pop(span)
        for rest in without(span, put):
            _users.setdefault(rest, set()).update(users)
    _from_empty.cut(put)
    if size and not known:
        _from_empty.add(put)


def note_given(span: Span, user: User) -> None:
    """``user`` may have been meant to write there."""
    _users.setdefault(span, set()).add(user)


def forget_numbers() -> None:
    """The notes begin anew, as they do in a fork."""
    for span, users in _users.items():
        _users[span] = {user._replace(writers=None) for user in users}


def is_from_empty(span: Span) -> bool:
    return _from_empty.meets(span)


def is_unknown(span: Span) -> bool:
    """Part of this memory came from ``empty``, or a kernel may have been meant to write there."""
    return is_from_empty(span) or any(meet(span, used) for used in _users)


def other_writers(span: Span, user: User) -> frozenset[Writer] | None:
    """Through which parameters memory of this span may have been written, by another kernel than the user's or
    through another parameter of it; ``None``: through any."""
    found: set[Writer] = set()
    for used, users in _users.items():
        if meet(span, used):
            for other in users:
                if other[:2] != user[:2]:
                    if other.writers is None:
                        return None
                    found |= other.writers
    return frozenset(found)
