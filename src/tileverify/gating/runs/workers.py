"""The submissions of a folder in a fixed order, over workers: one at a time each, so a lost worker costs one."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import multiprocessing
import os
import signal
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path, PurePath
from typing import Any, Final, Protocol, TypeAlias

from ...results import KernelResult, Verdict
from ...system.errors import UsageError, failure_sentence
from ...system.printable import printable
from .. import GatedKernel, GateOptions, GateResult, IsolationUnavailable, Reason, SandboxFailure, Submission, judge
from ..gate import own_sandbox

LARGEST: Final = 1 << 24
"""Bytes that are read of one submission; the screen's own limit is far below."""


HERE: Final = PurePath()


@dataclass(frozen=True, slots=True)
class CandidateFile:
    """A file that may be judged.  ``name``: what answers call it; ``spec``: the launch spec beside it; ``folder``:
    where it lies below the folder of candidates."""

    path: Path
    name: str
    spec: Path | None = None
    folder: PurePath = HERE

    def submission(self) -> Submission:
        """Raises `NotRead`."""
        # What is no text in an untrusted spec shall stop its own submission alone.
        spec = None if self.spec is None else _read_plain(self.spec).decode("utf-8", errors="replace")
        return Submission(_read_plain(self.path), self.name, spec)


@dataclass(frozen=True, slots=True)
class OnStdin:
    """The one submission on standard input."""

    name: str = "<stdin>"
    folder: PurePath = HERE

    def submission(self) -> Submission:
        return Submission(sys.stdin.buffer.read(LARGEST), self.name)


class NotRead(Exception):
    """The submission is not read, and why: it is answered without a look at it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A submission under its options; ``number``: its place in the run; ``unread``: why it is not to be judged."""

    number: int
    submission: Submission
    options: GateOptions
    unread: str | None = None

    @property
    def sha256(self) -> str:
        """Of all that the answer depends on and the options of the run do not say."""
        spec, own = self.options.spec, self.submission.own_spec
        source = hashlib.sha256(self.submission.source).hexdigest()
        text = json.dumps([source, self.submission.file, spec, own, self.unread])
        return hashlib.sha256(text.encode()).hexdigest()


def candidates(target: Path, name: Callable[[Path], str]) -> tuple[CandidateFile, ...]:
    """A file, or whatever is called ``.py`` under a folder and is none, in the order of their names."""
    if target.is_file():  # a link, too: the caller chose it
        return (CandidateFile(target.resolve(), answered_name(name(target)), _own_spec(target)),)
    return tuple(
        CandidateFile(file, answered_name(name(file)), _own_spec(file), file.relative_to(target).parent)
        for file in sorted(_below(target), key=lambda each: each.as_posix())
    )


def _below(folder: Path) -> Iterator[Path]:
    """What is called ``.py`` under ``folder``, however deep, and folders that cannot be listed; follows no links."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError:
            yield here
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(here / entry.name)
            elif entry.name.endswith(".py"):
                yield here / entry.name


def answered_name(name: str) -> str:
    """``name`` if it can be shown and stored everywhere, else what can be shown of it and a hash of all of it."""
    shown = printable(name)
    if shown == name:
        return name
    stem, suffix = os.path.splitext(shown)
    return f"{stem} ({hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}){suffix}"


def _own_spec(file: Path) -> Path | None:
    own = file.with_name(f"{file.stem}.tileverify.toml")
    try:
        return own if stat.S_ISREG(own.lstat().st_mode) else None
    except OSError:  # none there, or its name would be too long
        return None


def tasks(of: tuple[CandidateFile | OnStdin, ...], options: GateOptions, trust_specs: bool) -> Iterator[Task]:
    """``trust_specs``: the caller vouches for the launch specs beside the sources."""
    for number, candidate in enumerate(of):
        try:
            submission = candidate.submission()
        except NotRead as problem:
            yield Task(number, Submission(b"", candidate.name), options, str(problem))
        else:
            yield Task(number, submission, with_trust(options, submission) if trust_specs else options)


def with_trust(options: GateOptions, submission: Submission) -> GateOptions:
    """``options`` under which the submission's own launch spec counts as the caller's."""
    return options if submission.own_spec is None else replace(options, spec=submission.own_spec)


def read_text(path: Path, what: str) -> str:
    """The caller's own text; raises `UsageError` where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST).decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{what}: cannot read '{path}' ({error})") from None


def _read_plain(path: Path) -> bytes:
    """What a plain file holds.  A link would have the gate read, and quote, what it points to; a pipe or a device has
    no end, waits for one, or does something when it is opened."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise NotRead("it is no plain file")
        # Whoever may write there may have put something else in its place since.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotRead("it is no plain file")
            return stream.read(LARGEST)
    except OSError as error:
        raise NotRead(f"it cannot be read ({error.strerror or error})") from None


# -------------------------------------------------------------------------------------------------------------- workers
# Submissions over workers, one at a time each, so that whatever kills a worker costs one submission.


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
