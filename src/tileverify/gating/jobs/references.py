"""The gate's side of a reference: a process that has loaded it, and is ended where it takes too long."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import IO, Final

from ...system.errors import UsageError
from ..sandbox.frames import BrokenFrame, read_frame, write_frame
from .reference_messages import ReferenceAnswer, ReferenceRequest

_MIB: Final = 1 << 20
MEMORY: Final = 4096 * _MIB
"""Bytes that a reference may take beyond what it has when it is loaded."""
LOAD_S: Final = 300.0
COMPARE_S: Final = 120.0
"""Of the processor, for all launches of one kernel: how busy the machine is with others costs nobody his answer."""
EXACT_S: Final = 30.0
"""For those on exact numbers."""
WALL: Final = 5
"""So many times as long a reference may take by the clock, that waits instead of computing."""
_PROCESS_CLOCK: Final = 2
"""Linux: the processor's clock of all threads of a process."""
_LOOK_S: Final = 0.5
_LARGEST_ANSWER: Final = 1 << 20
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Of libraries that a reference calls: arrays are small, and other kernels are judged meanwhile."""
_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tileverify.gating.jobs.reference_worker import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


class ReferenceProcess:
    """One reference, ``FILE.py::FUNCTION``, loaded once.  Not for several threads at once.

    Raises `UsageError` for one that cannot be loaded.
    """

    def __init__(self, text: str, memory: int = MEMORY, compare_s: float = COMPARE_S) -> None:
        self._text, self._memory, self._compare_s = text, memory, compare_s
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def compare(self, payload: bytes, exact: bool = False) -> ReferenceAnswer:
        """What `reference_worker` says of a trial, or of one on exact numbers; ``failed`` where it did not come to its
        own end."""
        if self._process is None:
            self._start()
        longest = min(self._compare_s, EXACT_S) if exact else self._compare_s
        try:
            return self._asked(ReferenceRequest(exact=exact), payload, longest)
        except TimeoutError:
            self.close()
            return ReferenceAnswer(failed=f"the reference took longer than {longest:.0f} s of the processor")
        except (OSError, BrokenFrame):
            self.close()
            return ReferenceAnswer(failed="the reference ended its process")

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path), str(os.getpid()), str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**dict.fromkeys(_THREADS, "1"), **os.environ},
        )
        try:
            answer = self._asked(ReferenceRequest(self._text), b"", LOAD_S)
        except TimeoutError:
            self.close()
            raise UsageError(f"--reference {self._text}: it was not loaded after {LOAD_S:.0f} s") from None
        except (OSError, BrokenFrame):
            self.close()
            raise UsageError(f"--reference {self._text}: loading it ended its process") from None
        if answer.usage is not None:
            self.close()
            raise UsageError(answer.usage)

    def _asked(self, request: ReferenceRequest, payload: bytes, seconds: float) -> ReferenceAnswer:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        write_frame(process.stdin, request, payload)  # it reads before it does anything that takes time
        patient = _Patient(process.stdout, _processor_s(process.pid), seconds)
        answer = read_frame(patient, _LARGEST_ANSWER, ReferenceAnswer)
        if answer is None:
            raise BrokenFrame
        return answer[0]

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


def _processor_s(pid: int) -> Callable[[], float]:
    """What a child has used of the processor."""
    clock = (~pid << 3) | _PROCESS_CLOCK
    return lambda: time.clock_gettime(clock)


class _Patient:
    """A pipe that is read until ``used`` is ``seconds`` more than now, or far longer by the clock; raises TimeoutError
    then."""

    def __init__(self, stream: IO[bytes], used: Callable[[], float], seconds: float) -> None:
        self._stream, self._used, self._most = stream, used, used() + seconds
        self._deadline = time.monotonic() + WALL * seconds

    def read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            left = min(self._most - self._used(), self._deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError
            if not select.select([self._stream], [], [], min(left, _LOOK_S))[0]:
                continue
            more = os.read(self._stream.fileno(), count - len(found))
            if not more:
                break
            found += more
        return found


_own: dict[tuple[int, str], ReferenceProcess] = {}


def own_reference(text: str) -> ReferenceProcess:
    """The process of this one's own for a reference, which stays warm: a fork has to have its own."""
    key = (os.getpid(), text)
    if key not in _own:
        _own[key] = ReferenceProcess(text)
        atexit.register(_own[key].close)
    return _own[key]
