"""Workers on a Ray cluster: one actor each, with a sandbox of its own.  Needs the extra ``ray``.

The nodes of the cluster must have tileverify, and Linux to isolate with; a node that cannot ends the run.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ...system.errors import UsageError
from .candidates import Task
from .spreading import Failed, WorkerAnswer


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
        from .judging import ready

        return ready(isolation)

    def judge(self, task: Task) -> WorkerAnswer:
        from .judging import judged

        return judged(task)
