"""The gate's side of the sandbox: starts a worker, sends it jobs, and starts another one where it died."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Final

from ..model import IsolationUnavailable, SandboxFailure
from .frames import BrokenFrame, read_frame, write_frame
from .isolation import command, environment, usable_kinds

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tileverify.gating.sandbox.worker import start; start()"
)
_SLACK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended.  ``stopped``: ``wall`` or ``output`` where a limit cut it off; ``signal``: what killed it."""

    data: bytes
    stopped: str | None
    signal: int
    exit: int
    cpu_s: float
    memory_kib: int
    wall_s: float


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

    def run(self, job: str, request: dict[str, Any], payload: bytes, limits: dict[str, Any]) -> Outcome:
        """One job in a confined child; ``limits``: ``cpu_s``, ``wall_s``, ``memory`` and ``output`` (bytes)."""
        if self._worker is None or self._worker.poll() is not None:
            self._start()
        try:
            worker = self._worker
            assert worker is not None
            assert worker.stdin is not None
            write_frame(worker.stdin, {**request, **limits, "job": job}, payload)
            header, data = self._answer(limits["output"] + _SLACK)
        except (OSError, BrokenFrame):
            self.close()
            raise SandboxFailure("the sandbox's worker died; this is no verdict on the submission") from None
        return Outcome(data, **header)

    def _answer(self, longest: int) -> tuple[dict[str, Any], bytes]:
        assert self._worker is not None
        assert self._worker.stdout is not None
        answer = read_frame(self._worker.stdout, longest)
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

    def _started(self, kind: str) -> str | None:
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
            header, _ = self._answer(_SLACK)
        except (OSError, BrokenFrame):
            return f"its worker did not start: {self._last_error()}"
        self.layers = tuple(header["layers"])
        broken = header["broken"]
        return None if broken is None else str(broken)

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
