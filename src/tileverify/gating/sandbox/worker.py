"""The worker: a process that has loaded everything once, and forks a confined child for each job.

``python -I -c ...`` starts it (see `sandbox`); requests come on stdin, answers go to stdout (`sandbox`).  It never
reads what a child sends, only counts it, and it ends a child that takes too long or says too much.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import IO, Final, TypeAlias, TypeVar

import msgspec

from .isolation import Confinement, Isolation, broken_wall, confine, layers
from .sandbox import BrokenFrame, CutOff, JobEnd, JobKind, JobOrder, Walls, read_frame, write_frame

LARGEST_REQUEST: Final = 1 << 28
_CHUNK: Final = 1 << 16

Send: TypeAlias = Callable[[bytes], None]
Job: TypeAlias = Callable[[bytes, bytes, Send], None]
"""Takes the JSON of a request, and the bytes that it is about."""

Request = TypeVar("Request")


def main(kind: str) -> None:
    """Serve until stdin ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.chdir("/dev")  # paths are shown relative to the working folder: no submission's is below this one
    jobs = _jobs()
    gc.collect()
    gc.freeze()  # what is loaded is never looked at again, so children share its pages
    write_frame(answers, Walls(layers(Isolation(kind)), broken_wall()))
    while True:
        try:
            ordered = read_frame(requests, LARGEST_REQUEST, JobOrder)
        except BrokenFrame:
            return
        if ordered is None:
            return
        order, payload = ordered
        _serve(jobs[order.job], order, payload, answers)


def _jobs() -> dict[JobKind, Job]:
    from ..jobs.compile_job import compile_submission
    from ..jobs.exact_job import run_kernel
    from ..jobs.job_messages import ProposalRequest, SubmissionRequest, TrialRequest
    from ..jobs.prove_job import propose_edits, prove_submission
    from ..jobs.trial_job import try_kernel
    from .preload import preload

    preload()
    return {
        JobKind.COMPILE: _reading(SubmissionRequest, compile_submission),
        JobKind.PROVE: _reading(SubmissionRequest, prove_submission),
        JobKind.TRY: _reading(TrialRequest, try_kernel),
        JobKind.EXACT: _reading(TrialRequest, run_kernel),
        JobKind.PROPOSE: _reading(ProposalRequest, propose_edits),
    }


def _reading(kind: type[Request], job: Callable[[Request, bytes, Send], None]) -> Job:
    decoder = msgspec.json.Decoder(kind)
    return lambda request, payload, send: job(decoder.decode(request), payload, send)


def _serve(job: Job, order: JobOrder, payload: bytes, answers: IO[bytes]) -> None:
    reading, writing = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(job, order, payload, writing)
    os.close(writing)
    data, stopped = _collect(reading, started + order.limits.wall_s, order.limits.output)
    os.close(reading)
    if stopped is not None:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    end = JobEnd(
        stopped=stopped,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
        cpu_s=usage.ru_utime + usage.ru_stime,
        memory_kib=usage.ru_maxrss,
        wall_s=time.monotonic() - started,
    )
    write_frame(answers, end, data)


def _child(job: Job, order: JobOrder, payload: bytes, writing: int) -> None:
    """Never returns.  Before the submission is looked at, everything is given up."""
    status = 0
    try:
        confine(Confinement(order.limits.cpu_s, order.limits.memory), writing)
        job(bytes(order.request), payload, lambda data: _write_all(writing, data))
    except BaseException as error:
        status = EXIT_MEMORY if isinstance(error, MemoryError) else EXIT_FAILED
    finally:
        os._exit(status)


EXIT_FAILED: Final = 70
EXIT_MEMORY: Final = 71


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _collect(reading: int, deadline: float, most: int) -> tuple[bytes, CutOff | None]:
    """What the child wrote until it closed the pipe, and the limit that cut it off."""
    chunks: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return b"".join(chunks), CutOff.WALL
        chunk = os.read(reading, _CHUNK)
        if not chunk:
            return b"".join(chunks), None
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            return b"", CutOff.OUTPUT


def start() -> None:
    """The entry of the worker's command line: ``kind`` is its last argument."""
    main(sys.argv[-1])
