"""Submissions over workers, one at a time each, so that whatever kills a worker costs one submission."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, Protocol, TypeAlias

from ...results import KernelResult, Verdict
from ...system.errors import UsageError, failure_sentence
from ...system.printable import printable
from .. import GatedKernel, GateResult, IsolationUnavailable, Reason, SandboxFailure, judge
from ..gate import own_sandbox
from .candidates import Task

ATTEMPTS: Final = 2
"""A worker may die of its neighbours (memory), so a submission is given a second one."""
MOST_FAILED_STARTS: Final = 3
"""In a row, without one worker that came up."""
LONGEST_START_S: Final = 600.0
"""Until a worker says that it is there; on a cluster it may wait for a machine."""
_POLL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has its sandbox."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """No worker will be able to judge anything: nothing isolates here, or the options are wrong (``usage``)."""

    problem: str
    usage: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The judging itself went wrong, or the worker died."""

    problem: str


WorkerAnswer: TypeAlias = Ready | Unusable | Failed | GateResult


class Workers(Protocol):
    """An engine: workers by number, each of which starts itself and says `Ready`, then answers one task at a time."""

    count: int

    def start(self, worker: int) -> None:
        """Start the worker, a new one in place of one that there is."""

    def send(self, worker: int, task: Task) -> None:
        """To a worker that waits; the answer comes by `wait`, also where the worker is already dead."""

    def wait(self, timeout_s: float) -> list[tuple[int, WorkerAnswer]]:
        """What has been heard since the last call, after ``timeout_s`` at the latest."""

    def close(self) -> None:
        """End all workers."""


def spread(
    tasks: Iterator[Task], workers: Workers, allowed_s: Callable[[Task], float]
) -> Iterator[tuple[Task, GateResult]]:
    """The answers to ``tasks`` as they come.  A worker that says nothing for ``allowed_s`` of its task is replaced.

    Raises `SandboxFailure` where no worker can be started, `IsolationUnavailable` where one cannot isolate, and
    `UsageError` where the options cannot be used.
    """
    turns = _Turns(tasks, workers, allowed_s)
    try:
        for worker in range(workers.count):
            turns.start(worker)
        while turns.go_on():
            for worker, answer in workers.wait(_POLL_S):
                yield from turns.heard(worker, answer)
            yield from turns.overdue()
    finally:
        workers.close()


@dataclass(frozen=True, slots=True)
class _Turn:
    task: Task
    attempt: int = 1
    deadline: float = 0.0


_Answered: TypeAlias = Iterator[tuple[Task, GateResult]]


@dataclass(slots=True)
class _Turns:
    """Who works at what, and what comes next: first what lost its worker."""

    tasks: Iterator[Task]
    workers: Workers
    allowed_s: Callable[[Task], float]
    again: deque[_Turn] = field(default_factory=deque)
    idle: set[int] = field(default_factory=set)
    busy: dict[int, _Turn] = field(default_factory=dict)
    starting: dict[int, float] = field(default_factory=dict)  # worker -> deadline
    failed_starts: int = 0
    exhausted: bool = False

    def start(self, worker: int) -> None:
        """Wait for it no longer than a start may take."""
        self.starting[worker] = time.monotonic() + LONGEST_START_S
        self.workers.start(worker)

    def go_on(self) -> bool:
        """Give work to all who wait; whether there is anything left to wait for."""
        while self.idle:
            turn = self._next()
            if turn is None:
                break
            worker = self.idle.pop()
            self.busy[worker] = replace(turn, deadline=time.monotonic() + self.allowed_s(turn.task))
            self.workers.send(worker, turn.task)
        return bool(self.busy or self.again or not self.exhausted)

    def _next(self) -> _Turn | None:
        if self.again:
            return self.again.popleft()
        task = None if self.exhausted else next(self.tasks, None)
        self.exhausted = task is None
        return None if task is None else _Turn(task)

    def heard(self, worker: int, answer: WorkerAnswer) -> _Answered:
        """What the worker said, as the answer to its task if it is one."""
        self.starting.pop(worker, None)
        match answer:
            case Ready():
                self.failed_starts = 0
                self.idle.add(worker)
            case GateResult():
                self.idle.add(worker)
                yield self.busy.pop(worker).task, answer
            case Unusable(problem, usage):
                raise UsageError(problem) if usage else IsolationUnavailable(problem)
            case Failed(problem):
                yield from self._lost(worker, problem)

    def _lost(self, worker: int, problem: str) -> _Answered:
        self.idle.discard(worker)
        turn = self.busy.pop(worker, None)
        if turn is None:
            self.failed_starts += 1
            if self.failed_starts >= MOST_FAILED_STARTS:
                if not self.busy and not self.idle:
                    raise SandboxFailure(f"no worker can be started: {problem}")
                return  # the others go on without it
        elif turn.attempt < ATTEMPTS:
            self.again.append(replace(turn, attempt=turn.attempt + 1))
        else:
            yield turn.task, stopped(turn.task, "worker-crash", f"its worker failed twice ({problem})")
        self.start(worker)

    def overdue(self) -> _Answered:
        """End the workers that have said nothing for too long."""
        now = time.monotonic()
        for worker in [worker for worker, turn in self.busy.items() if turn.deadline < now]:
            turn = self.busy.pop(worker)
            self.start(worker)
            yield turn.task, stopped(turn.task, "worker-hung", "its worker gave no answer, and was ended")
        for worker in [worker for worker, deadline in self.starting.items() if deadline < now]:
            del self.starting[worker]
            yield from self._lost(worker, f"it was not there after {LONGEST_START_S:.0f} s")


def stopped(task: Task, id_: str, message: str) -> GateResult:
    """The answer for a submission that has none."""
    result = KernelResult(printable(task.submission.file), kernel="", launch="", verdict=Verdict.ERROR)
    return GateResult((GatedKernel(result, accepted=False, reasons=(Reason(id_, message),), rejected=True),))


# -------------------------------------------------------------------------------------------------------------- judging
# What a worker of any engine does with one task: the sandbox is the worker's own, and stays warm.


def ready(isolation: str) -> Ready | Unusable | Failed:
    """Start the sandbox of this process."""
    try:
        own_sandbox(isolation)
    except IsolationUnavailable as error:
        return Unusable(error.message)
    except Exception as error:
        return Failed(failure_sentence(error))
    return Ready()


def judged(task: Task) -> WorkerAnswer:
    """The answer to one task; whatever goes wrong is said, not raised."""
    if task.unread is not None:
        return stopped(task, "not-read", task.unread)
    try:
        return judge(task.submission, task.options)
    except UsageError as error:
        return Unusable(error.message, usage=True)
    except SandboxFailure as error:
        return Failed(error.message)
    except Exception as error:
        return Failed(failure_sentence(error))


class ThisProcess:
    """The one worker of a run with one submission: no other process is worth its start."""

    def __init__(self, isolation: str = "auto") -> None:
        self.count = 1
        self._isolation = isolation
        self._heard: list[tuple[int, WorkerAnswer]] = []

    def start(self, worker: int) -> None:
        self._heard.append((worker, ready(self._isolation)))

    def send(self, worker: int, task: Task) -> None:
        self._heard.append((worker, judged(task)))

    def wait(self, timeout_s: float) -> list[tuple[int, WorkerAnswer]]:
        heard, self._heard = self._heard, []
        return heard

    def close(self) -> None:
        """The sandbox stays warm for what this process may judge next."""


# -------------------------------------------------------------------------------------------------------- local workers
# Worker processes on this machine, each at the end of a pipe.


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


# ---------------------------------------------------------------------------------------------------------- ray workers
# Workers on a Ray cluster: one actor each, with a sandbox of its own.  Needs the extra ``ray``.
#
# The nodes of the cluster must have tileverify, and Linux to isolate with; a node that cannot ends the run.


class RayWorkers:
    """``count`` actors (0: one for each processor of the cluster) on the cluster at ``address``; without an address on
    the one that ``RAY_ADDRESS`` names or that runs here, else on one that is started for this run."""

    def __init__(self, count: int, isolation: str = "auto", address: str | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise UsageError("--engine ray needs Ray: pip install 'tileverify[ray]'") from None
        self._ray = ray
        self._isolation = isolation
        self._joined = not ray.is_initialized()
        if self._joined:
            try:
                ray.init(
                    address=address,
                    log_to_driver=False,
                    logging_level="error",
                    include_dashboard=None if address else False,
                )
            except Exception as error:
                raise UsageError(f"there is no Ray cluster to be had: {str(error).splitlines()[0]}") from None
        processors = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self.count = min(count, processors) if count else processors
        self._actor_class = ray.remote(num_cpus=1, max_restarts=0)(_Judge)
        self._actors: dict[int, Any] = {}
        self._pending: dict[Any, int] = {}

    def start(self, worker: int) -> None:
        self._end(worker)
        actor = self._actor_class.remote()
        self._actors[worker] = actor
        self._pending[actor.ready.remote(self._isolation)] = worker

    def send(self, worker: int, task: Task) -> None:
        self._pending[self._actors[worker].judge.remote(task)] = worker

    def wait(self, timeout_s: float) -> list[tuple[int, WorkerAnswer]]:
        done, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=timeout_s)
        return [(self._pending.pop(reference), self._heard(reference)) for reference in done]

    def _heard(self, reference: Any) -> WorkerAnswer:
        try:
            answer: WorkerAnswer = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return Failed(f"its actor died: {str(error).splitlines()[0]}")
        return answer

    def _end(self, worker: int) -> None:
        actor = self._actors.pop(worker, None)
        if actor is not None:
            self._pending = {reference: each for reference, each in self._pending.items() if each != worker}
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)

    def close(self) -> None:
        for worker in list(self._actors):
            self._end(worker)
        if self._joined:
            self._ray.shutdown()


class _Judge:
    """The actor."""

    def ready(self, isolation: str) -> WorkerAnswer:

        return ready(isolation)

    def judge(self, task: Task) -> WorkerAnswer:

        return judged(task)
