"""Run one function over many inputs in worker processes: results in order, a crash costs one input."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final, TypeVar

_Input = TypeVar("_Input")
_Output = TypeVar("_Output")

_AHEAD: Final = 4
"""Inputs submitted ahead for each worker: enough to keep them busy, few enough to bound memory."""


def map_ordered(
    function: Callable[[_Input], _Output],
    inputs: Iterable[_Input],
    *,
    jobs: int,
    crashed: Callable[[_Input], _Output],
    waited: Callable[[_Input], None] = lambda item: None,
) -> Iterator[_Output]:
    """``function`` of every input, in the order of ``inputs``, with ``jobs`` processes.

    An input whose process dies (a crash in native code, no memory) gives ``crashed(input)``; the others go on.
    ``waited`` is told the input whose output is the next one, when nothing else is left to do.
    ``function`` and its inputs must be picklable: workers are spawned, so they share nothing with this process.
    """
    pool = _pool(jobs)
    waiting: deque[tuple[_Input, Future[_Output]]] = deque()
    source = iter(inputs)
    exhausted = False
    try:
        while True:
            while not exhausted and len(waiting) < jobs * _AHEAD:
                try:
                    item = next(source)
                except StopIteration:
                    exhausted = True
                else:
                    waiting.append((item, pool.submit(function, item)))
            if not waiting:
                # A process that ends while the pool's thread does may write to a pipe that the thread just closed.
                pool.shutdown()
                return
            item, future = waiting.popleft()
            if not future.done():
                waited(item)
            try:
                yield future.result()
            except BrokenProcessPool:
                # Nobody knows which input broke the pool: this one runs alone, the others start again.
                yield _alone(function, item, crashed)
                pool.shutdown(wait=False, cancel_futures=True)
                pool = _pool(jobs)
                waiting = deque((other, pool.submit(function, other)) for other, _ in waiting)
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def usable_processors() -> int:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _alone(function: Callable[[_Input], _Output], item: _Input, crashed: Callable[[_Input], _Output]) -> _Output:
    with _pool(1) as pool:
        try:
            return pool.submit(function, item).result()
        except BrokenProcessPool:
            return crashed(item)


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker)


def _start_worker() -> None:
    """Ctrl-C ends a worker at once and silently; what it prints by accident stays out of the data on stdout."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.dup2(2, 1)
