"""Launches that somebody let pass without a proof: local, with a reason, and listed.

    with tileverify.unproved(reason="the vendor's kernel, reviewed by hand"):
        tileverify.launch(stream, grid, kernel, args)

Nothing passes where the environment variable ``TILEVERIFY_STRICT`` is set to anything but 0.

A generator shares the context of whoever it yields to, so an opt-out in one counts only while it runs.  One that
`contextlib.contextmanager` makes a ``with`` of is part of the function that has the ``with``.
"""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Final

from ..system.errors import UsageError

STRICT: Final = "TILEVERIFY_STRICT"

_YIELDS: Final = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


@dataclass(frozen=True, eq=False, slots=True)
class _Open:
    """An opt-out that launches are in; ``generator``: the frame of the one that opened it."""

    reason: str
    generator: FrameType | None


_open: ContextVar[tuple[_Open, ...]] = ContextVar("tileverify_unproved", default=())
_noted: dict[tuple[str, str, str], OptOut] = {}


@dataclass(frozen=True, slots=True)
class OptOut:
    """A launch that ran unproved: why somebody let it, and why it was refused otherwise."""

    reason: str
    kernel: str
    file: str
    line: int
    refusal: str


class UnprovedLaunch(UserWarning):
    """A launch ran without a proof, as an opt-out around it says.

    >>> import warnings
    >>> import tileverify
    >>> warnings.simplefilter("error", tileverify.UnprovedLaunch)  # in a program that shall not have any
    """

    __module__ = "tileverify"


@contextmanager
def unproved(*, reason: str) -> Iterator[None]:
    """Let the launches inside pass without a proof.

    In a generator it counts while the generator runs, not for whoever it yields to.  Raises `UsageError` without a
    reason, and where opt-outs are forbidden.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def all_clear(out):
    ...     ct.store(out, (0,), ct.zeros((128,), ct.float32))
    >>> with tileverify.unproved(reason="every block stores the same"):
    ...     tileverify.launch(None, (2,), all_clear, (np.ones(128, np.float32),))
    """
    if not reason.strip():
        raise UsageError("tileverify.unproved needs a reason, for those who read it later")
    if os.environ.get(STRICT, "0") not in ("", "0"):
        raise UsageError(f"tileverify.unproved(reason={reason!r}) is forbidden: {STRICT} is set")
    mine = _Open(reason, _generator(sys._getframe()))
    _open.set((*_open.get(), mine))
    try:
        yield
    finally:  # a generator may end after what was opened later
        _open.set(tuple(each for each in _open.get() if each is not mine))


def current() -> str | None:
    """The reason of the innermost opt-out around the caller."""
    return next((each.reason for each in reversed(_open.get()) if _runs(each.generator)), None)


def _generator(frame: FrameType | None) -> FrameType | None:
    """The generator whose ``with`` enters the context manager of ``frame``; ``None`` where a function does."""
    while frame is not None and frame.f_code.co_flags & _YIELDS:
        around = frame.f_back
        if around is None or around.f_globals.get("__name__") != "contextlib":
            return frame
        while around is not None and around.f_globals.get("__name__") == "contextlib":
            around = around.f_back
        frame = around
    return None


def _runs(generator: FrameType | None) -> bool:
    """Whether the caller runs inside of the generator, where there is one."""
    if generator is None:
        return True
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame is not generator:
        frame = frame.f_back
    return frame is generator


def note(opt_out: OptOut) -> None:
    """List it; the first of its kind warns."""
    key = (opt_out.kernel, opt_out.file, opt_out.reason)
    if key not in _noted:
        warnings.warn(f"{opt_out.kernel} runs unproved ({opt_out.reason}): {opt_out.refusal}", UnprovedLaunch, 4)
    _noted[key] = opt_out


def unproved_launches() -> tuple[OptOut, ...]:
    """What ran unproved in this process so far, one for each kernel and reason.

    >>> import tileverify
    >>> seen = [(each.kernel, each.reason, each.refusal) for each in tileverify.unproved_launches()]
    """
    return tuple(_noted.values())
