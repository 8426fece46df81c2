"""Work in a forked child: it has all modules loaded, and nothing that it changes or remembers comes back."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def in_child(work: Callable[[], Iterable[Any]], seconds: float) -> Iterator[Any]:
    """What ``work()`` yields, as JSON keeps it, done in a child.

    Raises `TimeoutError` when it has taken more processor time, `RuntimeError` if it breaks down.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # ends the process
        _answer(work, writing)
    os.close(writing)
    kind: str | None = None
    value: Any = None
    try:
        with os.fdopen(reading, "rb") as pipe:
            for line in pipe:
                kind, value = json.loads(line)
                if kind == "found":
                    yield value
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if kind == "broken":
        raise RuntimeError(value)
    if kind != "done":
        raise TimeoutError


def _answer(work: Callable[[], Iterable[Any]], writing: int) -> None:
    """Never returns."""
    gc.disable()  # it would write to every page, and each would be copied
    with contextlib.suppress(BaseException), os.fdopen(writing, "w") as pipe:
        try:
            for found in work():
                print(json.dumps(["found", found]), file=pipe, flush=True)
            print(json.dumps(["done", None]), file=pipe, flush=True)
        except BaseException as broken:
            print(json.dumps(["broken", repr(broken)[:300]]), file=pipe, flush=True)
    os._exit(0)
