"""Which way the comparisons of a reference come out, each by the line of the reference that makes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .branches import WaysTaken
from .field import Array


@dataclass(frozen=True, slots=True)
class AskedHere:
    """``what``: ``comparison >``, ``maximum``; ``line``: in the reference's file, None in another one."""

    what: str
    line: int | None

    def told(self, yes: bool) -> str:
        place = " of the reference" if self.line is None else f" at line {self.line} of the reference"
        if self.what in ("maximum", "minimum"):
            return f"the {self.what}{place} was its {'first' if yes else 'second'} operand at every point"
        return f"the {self.what}{place} was {'true' if yes else 'false'} at every point"


@dataclass(frozen=True, slots=True)
class _Watched:
    file: str
    ways: WaysTaken


_WATCHED: ContextVar[_Watched | None] = ContextVar("watched", default=None)


@contextmanager
def watching(function: Callable[..., object], ways: WaysTaken) -> Iterator[None]:
    """While it is open, what ``function`` compares is noted in ``ways``."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    token = _WATCHED.set(_Watched(file, ways))
    try:
        yield
    finally:
        _WATCHED.reset(token)


def note_rounding() -> None:
    """Something is rounded to an integer, which is noted where somebody watches."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.ways.rounds = True


def noted(what: str, lanes: Array) -> Array:
    """``lanes`` of a comparison, or of a maximum where it takes its first operand, noted where somebody watches."""
    watched = _WATCHED.get()
    if watched is not None and lanes.size:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename != watched.file:
            frame = frame.f_back
        line = frame.f_lineno if frame.f_code.co_filename == watched.file else None
        watched.ways.note(AskedHere(what, line), lanes)
    return lanes
