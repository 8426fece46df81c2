"""What a worker of any engine does with one task: the sandbox is the worker's own, and stays warm."""

from __future__ import annotations

from ...system.errors import UsageError
from ...system.failures import failure_sentence
from .. import IsolationUnavailable, SandboxFailure, judge
from ..gate import own_sandbox
from .candidates import Task
from .spreading import Failed, Ready, Unusable, WorkerAnswer, stopped


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
