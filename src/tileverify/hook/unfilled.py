"""Memory of an imitated GPU that holds zeros only because nobody has filled it.

Kernels do not run there.  What an array holds is known where the program itself put it in: numbers that differ were
computed on the host; equal numbers may be what ``empty`` gave, or what should have been overwritten by a kernel.
"""

from __future__ import annotations

from collections.abc import Hashable

Span = tuple[int, int]
"""First byte and the one behind the last."""

_from_empty: dict[Span, None] = {}
_users: dict[Span, set[Hashable]] = {}
"""Kernels, each with a parameter, that were given memory since the program filled it."""


def note_empty(start: int, size: int) -> None:
    """``empty`` gave this memory."""
    note_filled(start, size)
    if size:
        _from_empty[start, start + size] = None


def note_filled(start: int, size: int) -> None:
    """The program asked for this memory with numbers in it: whoever had it before has let it go."""
    for span in [span for span in (*_from_empty, *_users) if span[0] < start + size and start < span[1]]:
        _from_empty.pop(span, None)
        _users.pop(span, None)


def note_put(start: int, size: int, *, known: bool) -> None:
    """The program put numbers into this part of some memory; ``known``: not such as are unknown themselves."""
    put = start, start + size
    for span in list(_from_empty):
        rests = _without(span, put)
        if rests is not None:
            del _from_empty[span]
            _from_empty.update(dict.fromkeys(rests))
    for span in list(_users):
        rests = _without(span, put)
        if rests is not None:
            users = _users.pop(span)
            for rest in rests:
                _users.setdefault(rest, set()).update(users)
    if size and not known:
        _from_empty[put] = None


def _without(span: Span, put: Span) -> list[Span] | None:
    """What is left of ``span``; ``None`` where nothing is taken away."""
    if span[1] <= put[0] or put[1] <= span[0]:
        return None
    return [(start, end) for start, end in ((span[0], put[0]), (put[1], span[1])) if start < end]


def note_given(span: Span, user: Hashable) -> None:
    """``user``, a kernel and its parameter, may have been meant to write there."""
    _users.setdefault(span, set()).add(user)


def is_from_empty(span: Span) -> bool:
    return any(start < span[1] and span[0] < end for start, end in _from_empty)


def is_unknown(span: Span) -> bool:
    """Part of this memory came from ``empty``, or a kernel may have been meant to write there."""
    return is_from_empty(span) or any(start < span[1] and span[0] < end for start, end in _users)


def was_given_to_others(span: Span, user: Hashable) -> bool:
    """Another kernel, or another parameter, had memory of this span."""
    return any(start < span[1] and span[0] < end and users - {user} for (start, end), users in _users.items())
