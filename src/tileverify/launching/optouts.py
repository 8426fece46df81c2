"""Launches that somebody let pass without a proof: local, with a reason, and listed.

    with tileverify.unproved(reason="the vendor's kernel, reviewed by hand"):
        tileverify.launch(stream, grid, kernel, args)

Nothing passes where the environment variable ``TILEVERIFY_STRICT`` is set to anything but 0.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from ..system.errors import UsageError

STRICT: Final = "TILEVERIFY_STRICT"

_reason: ContextVar[str | None] = ContextVar("tileverify_unproved", default=None)
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

    Raises `UsageError` without a reason, and where opt-outs are forbidden.

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
    token = _reason.set(reason)
    try:
        yield
    finally:
        _reason.reset(token)


def current() -> str | None:
    """The reason of the innermost opt-out around the caller."""
    return _reason.get()


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
