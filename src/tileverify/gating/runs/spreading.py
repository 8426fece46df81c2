"""Submissions over workers, one at a time each, so that whatever kills a worker costs one submission."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias

from ...results import KernelResult, Verdict
from ...system.errors import UsageError
from ...system.printable import printable
from .. import GatedKernel, GateResult, IsolationUnavailable, Reason, SandboxFailure
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
