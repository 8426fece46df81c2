"""The gate's side of the sandbox: starts a worker, sends it jobs, and starts another one where it died."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import IO, Final, Protocol, TypeVar

import msgspec

from ..gated import IsolationUnavailable, SandboxFailure
from ..jobs.job_messages import JobRequest
from .isolation import Isolation, command, environment, usable_kinds

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


# --------------------------------------------------------------------------------------------------------------- frames
# Messages between the gate and its processes: a small JSON header and bytes, both with their lengths in front.


_LENGTHS: Final = struct.Struct(">IQ")
LONGEST_HEADER: Final = 1 << 22


class BrokenFrame(Exception):
    """The other side is gone, or does not speak this protocol."""


def write_frame(stream: IO[bytes], header: object, payload: bytes = b"") -> None:
    """``header``: of a type that the other side reads.  Raises OSError where nobody reads."""
    text = msgspec.json.encode(header)
    stream.write(_LENGTHS.pack(len(text), len(payload)) + text + payload)
    stream.flush()


class Readable(Protocol):
    """What bytes are read from; fewer than were asked for come at the end alone."""

    def read(self, count: int, /) -> bytes: ...


def read_frame(stream: Readable, longest: int, kind: type[Header]) -> tuple[Header, bytes] | None:
    """The next message, ``None`` at the end.

    Raises `BrokenFrame` for a header that is not of this kind, and where the payload has more than ``longest``.
    """
    lengths = stream.read(_LENGTHS.size)
    if not lengths:
        return None
    if len(lengths) < _LENGTHS.size:
        raise BrokenFrame
    header_length, payload_length = _LENGTHS.unpack(lengths)
    if header_length > LONGEST_HEADER or payload_length > longest:
        raise BrokenFrame
    text, payload = stream.read(header_length), stream.read(payload_length)
    if len(text) < header_length or len(payload) < payload_length:
        raise BrokenFrame
    try:
        return msgspec.json.decode(text, type=kind), payload
    except (msgspec.DecodeError, RecursionError):
        raise BrokenFrame from None


# --------------------------------------------------------------------------------------------------------------- orders
# What goes between the gate and its worker in front of the bytes: orders, how a job ended, what stands around it.


class JobKind(StrEnum):
    """What a confined process can be asked for."""

    COMPILE = "compile"
    PROVE = "prove"
    TRY = "try"
    EXACT = "exact"
    PROPOSE = "propose"


class CutOff(StrEnum):
    """The limit that the worker itself watches, where a job broke it."""

    WALL = "wall"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What one job may use: seconds of the processor and of the clock; bytes of address space beyond what the worker
    has, and of output."""

    cpu_s: int
    wall_s: float
    memory: int
    output: int


@dataclass(frozen=True, slots=True)
class JobOrder:
    """One job.  ``request``: the JSON of what it is asked, which the confined child alone reads."""

    job: JobKind
    limits: JobLimits
    request: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a job ended.  ``stopped``: the limit that cut it off; ``signal``: what killed it, or 0; ``exit``: its
    status."""

    stopped: CutOff | None
    signal: int
    exit: int
    cpu_s: float
    memory_kib: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Walls:
    """The worker's first message: the layers around it, and what is wrong with them, if anything is."""

    layers: tuple[str, ...]
    broken: str | None
