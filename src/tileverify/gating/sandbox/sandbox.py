"""The gate's side of the sandbox: starts a worker, sends it jobs, and starts another one where it died."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Final, TypeVar

import msgspec

from ..gated import IsolationUnavailable, SandboxFailure
from ..jobs.requests import JobRequest
from .frames import BrokenFrame, read_frame, write_frame
from .isolation import Isolation, command, environment, usable_kinds
from .orders import JobEnd, JobKind, JobLimits, JobOrder, Walls

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tileverify.gating.sandbox.worker import start; start()"
)
_SLACK: Final = 1 << 20


Header = TypeVar("Header")


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What a job sent, untrusted, and how it ended."""

    data: bytes
    end: JobEnd


class Sandbox:
    """One worker, which does one job after the other.  Not for several threads at once.

    Raises `IsolationUnavailable` where this machine cannot isolate, `SandboxFailure` where the worker does not start.
    """

    def __init__(self, isolation: str = "auto") -> None:
        self._kinds = usable_kinds(isolation)
        self._worker: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self.layers: tuple[str, ...] = ()
        self._start()

    @property
    def process_id(self) -> int:
        """Of the worker, or of the bubblewrap around it."""
        return 0 if self._worker is None else self._worker.pid

    def run(self, job: JobKind, request: JobRequest, payload: bytes, limits: JobLimits) -> JobOutcome:
        """One job in a confined child; ``request``: of the kind that this job reads (`jobs.requests`)."""
        if self._worker is None or self._worker.poll() is not None:
            self._start()
        try:
            worker = self._worker
            assert worker is not None
            assert worker.stdin is not None
            order = JobOrder(job, limits, msgspec.Raw(msgspec.json.encode(request)))
            write_frame(worker.stdin, order, payload)
            end, data = self._answer(limits.output + _SLACK, JobEnd)
        except (OSError, BrokenFrame):
            self.close()
            raise SandboxFailure("the sandbox's worker died; this is no verdict on the submission") from None
        return JobOutcome(data, end)

    def _answer(self, longest: int, kind: type[Header]) -> tuple[Header, bytes]:
        assert self._worker is not None
        assert self._worker.stdout is not None
        answer = read_frame(self._worker.stdout, longest, kind)
        if answer is None:
            raise BrokenFrame
        return answer

    def _start(self) -> None:
        problems = []
        for kind in self._kinds:
            problem = self._started(kind)
            if problem is None:
                return
            problems.append(f"{kind}: {problem}")
            self.close()
        raise IsolationUnavailable(
            f"untrusted kernels cannot be isolated here, so nothing was run ({'; '.join(problems)})"
        )

    def _started(self, kind: Isolation) -> str | None:
        """Start a worker of this kind; why its walls do not stand, or ``None``."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the worker
        self._worker = subprocess.Popen(
            command(kind, ["-c", _START, json.dumps(sys.path), kind]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(),
            cwd="/",
            start_new_session=True,
        )
        try:
            walls, _ = self._answer(_SLACK, Walls)
        except (OSError, BrokenFrame):
            return f"its worker did not start: {self._last_error()}"
        self.layers = walls.layers
        return walls.broken

    def _last_error(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        lines = self._errors.read()[-4096:].decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "no reason was given"

    def close(self) -> None:
        """End the worker, and with it whatever it runs."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.wait()
            for stream in (worker.stdin, worker.stdout):
                if stream is not None:
                    stream.close()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
