"""The worker: a process that has loaded everything once, and forks a confined child for each job.

``python -I -c ...`` starts it (see `sandbox`); requests come on stdin, answers go to stdout (`sandbox`).  It never
reads what a child sends, only counts it, and it ends a child that takes too long or says too much.
"""

from __future__ import annotations

import gc
import importlib
import linecache
import os
import pkgutil
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, TypeAlias, TypeVar

import msgspec

from ...equality import formulas
from ...frontend.triton.triton_kernels import keep_spare_ir_context
from ...pipeline.unit_summary import keep_spare_solver
from ...system.printable import source_lines
from ..jobs.compile_job import compiled_items, items_bytes
from ..jobs.job_messages import SubmissionRequest
from ..jobs.prove_job import prove_submission
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
    from ..jobs.job_messages import ProposalRequest, TrialRequest
    from ..jobs.prove_job import propose_edits
    from ..jobs.trial_job import run_kernel, try_kernel

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


# -------------------------------------------------------------------------------------------------------------- preload
# Loads everything that a job may need, because a confined child finds no files: modules, tables, lazy imports.
#
# Judging one small kernel from source to bundle runs through every module on the way; what only errors and rarer paths
# load is imported by name.


_PACKAGES: Final = (
    "contract", "results", "frontend", "verifier", "backend", "launching.bundle", "launching.run", "gating.jobs",
    "gating.screen", "gating.jobs.job_messages", "pipeline.repair",
)  # fmt: skip
"""Packages with all that is in them, and modules."""
_LEFT_OUT: Final = ("second_solver", "tileverify.backend.gpu")
"""What needs an extra or a GPU; nothing of it has a part in a verdict."""
_LIBRARY: Final = (
    "ast", "bisect", "contextlib", "copy", "dataclasses", "difflib", "encodings.ascii", "encodings.idna",
    "encodings.latin_1", "encodings.unicode_escape", "encodings.utf_8", "enum", "fractions", "functools", "inspect",
    "itertools", "json", "linecache", "math", "numbers", "operator", "string", "textwrap", "tokenize", "tomllib",
    "traceback", "typing", "unicodedata", "warnings", "numpy", "numpy.ma", "numpy.random", "numpy.lib.format", "z3",
    "cuda.tile", "cuda.tile.compilation",
)  # fmt: skip

_RIGHT: Final = b"""import cuda.tile as ct
ConstInt = ct.Constant[int]

@ct.kernel
def warm(x, out, tm: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(tm,)) * 2)
"""
_WRONG: Final = b"""import cuda.tile as ct

@ct.kernel
def warm():
    ct.load(ct.bid(0), index=(0,), shape=(1,))
"""
"""Without parameters nothing is guessed: one compilation, where others are tried dozens of times."""
_TRITON: Final = b"""import triton
import triton.language as tl

@triton.jit
def warm(x, out, n, BLOCK: tl.constexpr = 64):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.sum(tl.exp(at * 1.0)), mask=at < n)
"""


def preload() -> None:
    """Raises ImportError where a library is missing."""
    for module in _LIBRARY:
        importlib.import_module(module)
    root = __name__.split(".")[0]
    importlib.import_module(f"{root}.api")  # for the decorator
    for package in _PACKAGES:
        found = importlib.import_module(f"{root}.{package}")
        for info in pkgutil.walk_packages(getattr(found, "__path__", ()), f"{found.__name__}."):
            if not any(part in info.name for part in _LEFT_OUT):
                importlib.import_module(info.name)
    _rehearse()
    formulas.log(formulas.exp2(formulas.HALF))  # tables, of which one is a file
    _keep_sources("cuda.")


def _keep_sources(prefix: str) -> None:
    """The lines of modules that cuda.tile compiles from source: parts of its library are kernels' helpers."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith(prefix) and file is not None and file.endswith(".py"):
            text = Path(file).read_text(encoding="utf-8")
            # Without a time of change an entry is never compared with the file.
            linecache.cache[file] = (len(text), None, source_lines(text), file)


def _has_triton() -> bool:
    """Whether Triton, an extra, can be imported. A submission that needs it gets the error; the worker goes on."""
    try:
        importlib.import_module("triton")
    except (ImportError, OSError):
        return False
    return True


def _rehearse() -> None:
    """One kernel that is right and one with an error, in this process: they are our own."""
    request = SubmissionRequest(file="warm.py", bundles=True, complete=True)
    has_triton = _has_triton()
    for source in (_RIGHT, _WRONG, *([_TRITON] if has_triton else [])):
        prove_submission(request, items_bytes(compiled_items(request, source)), lambda data: None)
    keep_spare_solver()
    if has_triton:
        keep_spare_ir_context()
