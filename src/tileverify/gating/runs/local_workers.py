"""Worker processes on this machine, each at the end of a pipe."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Final

from .candidates import Task
from .spreading import Failed, WorkerAnswer

_PR_SET_PDEATHSIG: Final = 1
_END_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection


class LocalWorkers:
    """``count`` processes.  They are spawned, so they share nothing, and end with this one."""

    def __init__(self, count: int, isolation: str = "auto") -> None:
        self.count = count
        self._isolation = isolation
        self._workers: dict[int, _Worker] = {}

    def start(self, worker: int) -> None:
        self._end(worker)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._isolation, os.getpid()), daemon=True)
        process.start()
        theirs.close()
        self._workers[worker] = _Worker(process, ours)

    def process_id(self, worker: int) -> int:
        """Of the worker's process."""
        return self._workers[worker].process.pid or 0

    def send(self, worker: int, task: Task) -> None:
        with contextlib.suppress(OSError):  # a dead worker is found by `wait`
            self._workers[worker].pipe.send(task)

    def wait(self, timeout_s: float) -> list[tuple[int, WorkerAnswer]]:
        by_pipe = {worker.pipe: number for number, worker in self._workers.items()}
        answers: list[tuple[int, WorkerAnswer]] = []
        for pipe in wait(list(by_pipe), timeout_s):
            assert isinstance(pipe, Connection)
            answers.append((by_pipe[pipe], self._heard(by_pipe[pipe])))
        return answers

    def _heard(self, number: int) -> WorkerAnswer:
        worker = self._workers[number]
        try:
            answer: WorkerAnswer = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(_END_S)
            self._end(number)
            return Failed(f"its process ended with status {worker.process.exitcode}")
        return answer

    def _end(self, number: int) -> None:
        worker = self._workers.pop(number, None)
        if worker is not None:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()

    def close(self) -> None:
        for number in list(self._workers):
            self._end(number)


def _serve(pipe: Connection, isolation: str, parent: int) -> None:
    """The worker's main function: judge until the pipe closes."""
    _end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    os.dup2(2, 1)  # nothing but data may reach the parent's stdout
    from .judging import judged, ready

    pipe.send(ready(isolation))
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(judged(task))


def _end_with(parent: int) -> None:
    """The kernel ends this process with its parent, where it can: Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
