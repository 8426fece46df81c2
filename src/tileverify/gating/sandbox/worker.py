"""The worker: a process that has loaded everything once, and forks a confined child for each job.

``python -I -c ...`` starts it (see `sandbox`); requests come on stdin, answers go to stdout (`frames`).  It never
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
from typing import IO, Any, Final

from .frames import BrokenFrame, read_frame, write_frame
from .isolation import Confinement, broken_wall, confine, layers

LARGEST_REQUEST: Final = 1 << 28
_CHUNK: Final = 1 << 16

Job = Callable[[dict[str, Any], bytes, Callable[[bytes], None]], None]


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
    write_frame(answers, {"layers": layers(kind), "broken": broken_wall()})
    while True:
        try:
            request = read_frame(requests, LARGEST_REQUEST)
        except BrokenFrame:
            return
        if request is None:
            return
        header, payload = request
        _serve(jobs[header["job"]], header, payload, answers)


def _jobs() -> dict[str, Job]:
    from ..jobs.compile_job import compile_submission
    from ..jobs.propose_job import propose_edits
    from ..jobs.prove_job import prove_submission
    from ..jobs.trial_job import try_kernel
    from .preload import preload

    preload()
    return {"compile": compile_submission, "prove": prove_submission, "try": try_kernel, "propose": propose_edits}


def _serve(job: Job, request: dict[str, Any], payload: bytes, answers: IO[bytes]) -> None:
    reading, writing = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(job, request, payload, writing)
    os.close(writing)
    data, stopped = _collect(reading, started + request["wall_s"], request["output"])
    os.close(reading)
    if stopped is not None:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    header = {
        "stopped": stopped,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "memory_kib": usage.ru_maxrss,
        "wall_s": time.monotonic() - started,
    }
    write_frame(answers, header, data)


def _child(job: Job, request: dict[str, Any], payload: bytes, writing: int) -> None:
    """Never returns.  Before the submission is looked at, everything is given up."""
    status = 0
    try:
        confine(Confinement(request["cpu_s"], request["memory"]), writing)
        job(request, payload, lambda data: _write_all(writing, data))
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


def _collect(reading: int, deadline: float, most: int) -> tuple[bytes, str | None]:
    """What the child wrote until it closed the pipe, and ``wall`` or ``output`` where it was cut off."""
    chunks: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return b"".join(chunks), "wall"
        chunk = os.read(reading, _CHUNK)
        if not chunk:
            return b"".join(chunks), None
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            return b"", "output"


def start() -> None:
    """The entry of the worker's command line: ``kind`` is its last argument."""
    main(sys.argv[-1])
