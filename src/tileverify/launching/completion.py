"""When work in flight is done, told to whoever asked: one thread for all, which lives as long as somebody waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

E = TypeVar("E")  # the event of a driver

ASKED_FIRST_S: Final = 20e-6
ASKED_LAST_S: Final = 1e-3
"""Seconds between two questions to the driver, growing from the first to the last."""


@dataclass(eq=False, slots=True)
class _Awaited(Generic[E]):
    event: E
    settle: Callable[[], None]
    future: Future[None]


@dataclass(eq=False)
class Completion(Generic[E]):
    """``done(event)`` asks the driver.  An event is asked now and then, so that no launch needs a thread of its own."""

    done: Callable[[E], bool]
    _awaited: list[_Awaited[E]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def future(self, event: E, settle: Callable[[], None]) -> Future[None]:
        """Done behind ``event`` and ``settle()``, whose error is its own; callbacks run in the thread that asks."""
        future: Future[None] = Future()
        with self._lock:
            self._awaited.append(_Awaited(event, settle, future))
            if self._thread is None:
                self._thread = threading.Thread(target=self._ask, name="tileverify: work in flight", daemon=True)
                self._thread.start()
        return future

    def _ask(self) -> None:
        pause = ASKED_FIRST_S
        while True:
            with self._lock:
                waiting = list(self._awaited)
                if not waiting:
                    self._thread = None
                    return
            ready = [each for each in waiting if each.future.cancelled() or _over(self.done, each)]
            with self._lock:
                self._awaited = [each for each in self._awaited if each not in ready]
            for each in ready:
                if not each.future.cancelled():
                    _tell(each)
            if ready:
                pause = ASKED_FIRST_S
            else:
                time.sleep(pause)
                pause = min(2 * pause, ASKED_LAST_S)


def _over(done: Callable[[E], bool], each: _Awaited[E]) -> bool:
    """Also where the driver reports an error, which `_tell` meets again."""
    try:
        return done(each.event)
    except Exception as error:
        each.settle = _raising(error)
        return True


def _raising(error: Exception) -> Callable[[], None]:
    def settle() -> None:
        raise error

    return settle


def _tell(each: _Awaited[E]) -> None:
    if not each.future.set_running_or_notify_cancel():
        return
    try:
        each.settle()
    except Exception as error:
        each.future.set_exception(error)
    else:
        each.future.set_result(None)
