"""How long work on a kernel may take, and what it may not be disturbed by."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

OBJECTS_BETWEEN_SEARCHES: Final = 20_000
"""How many more objects there must be before Python searches for cycles: loading the tool makes 90,000 that stay."""


class KernelTimeout(BaseException):
    """Time is up for this kernel.  No Exception, so that no handler of the code it interrupts can swallow it."""


class Clock:
    """Tells how long each stage took."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        """Milliseconds since the last lap."""
        last, self._last = self._last, time.perf_counter()
        return (self._last - last) * 1000


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Without Python's search for cycles: terms make none, and it would walk over them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_seldom() -> None:
    """For a process of the tool alone: few searches for cycles, and none when it ends, as the system then frees all."""
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES)
    atexit.register(_keep_all)


def _keep_all() -> None:
    """Search no more; Triton's bindings complain of every object that is left when the process ends."""
    if "triton" not in sys.modules:
        gc.freeze()


_late = False
"""Whether the time of the innermost `deadline` is up."""


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raises `KernelTimeout` inside the block when time is up; no more than a wish where there are no signals."""
    global _late
    if not seconds or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        with interruptible():
            yield
        return

    armed, around = True, _late
    _late = False

    def expire(number: int, frame: FrameType | None) -> None:
        global _late
        if armed:
            _late = True
            raise KernelTimeout

    before = signal.signal(signal.SIGALRM, expire)
    # Again and again: an exception in a finaliser is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        with interruptible():
            yield
    finally:
        try:
            armed = False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            _late = around


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """What a signal raises comes out as it is.

    C code may make another exception of it: `ctypes` makes an ArgumentError of whatever ends the conversion of an
    argument.
    """
    try:
        yield
    except Exception as error:
        if _late:
            raise KernelTimeout from error
        if isinstance(error, ctypes.ArgumentError) and KeyboardInterrupt.__name__ in str(error):
            raise KeyboardInterrupt from error
        raise
