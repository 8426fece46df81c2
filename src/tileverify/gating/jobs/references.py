"""The gate's side of a reference: a process that has loaded it, and is ended where it takes too long."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import IO, Any, Final

from ...system.errors import UsageError
from ...system.printable import printable
from ..gated import GatedKernel, Reason
from ..sandbox.sandbox import BrokenFrame, read_frame, write_frame
from .job_messages import ReferenceAnswer, ReferenceRequest

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


# ------------------------------------------------------------------------------------------------------------ exactness
# What comes of a kernel's run on exact numbers (`exact_job`), once it was held against the reference.


_NOT_DECIDED: Final = "not decided"
_LIMITS: Final = frozenset({"limit-time", "limit-cpu", "limit-memory", "limit-output"})
"""Of a run that is longer than that of floats, which says nothing else against a kernel."""

_FEW: Final = 3
_WRAPPING: Final = ("i8", "i16")
"""Sums that are refused where something wider is made of them; of 32 bits they are told, as counts fit."""
_IDLE: Final = (
    "what it computes at {} changed nothing at any input that was tried, so nobody saw what it is for: take it out, or"
    " --allow-idle accepts it"
)
_NARROW: Final = (
    "it adds up in {}, which wraps, and makes the sum wider afterwards: add up in i32, however small the trials are"
)
_OTHER_RESULTS: Final = frozenset({"wrong-result", "not-written", "written-elsewhere", "constant-output"})


def worth_asking(kernel: GatedKernel) -> bool:
    """Of a kernel that agreed on floats, or has other results there: whether these are rounding, the answer tells."""
    return kernel.trial is not None and all(reason.id in _OTHER_RESULTS for reason in kernel.reasons)


def with_equality(
    kernel: GatedKernel,
    data: bytes,
    stopped: Reason | None,
    reference: ReferenceProcess,
    *,
    allow_idle: bool = False,
) -> GatedKernel:
    """The kernel with the answer: one that is different, of which it is not decided, or that computes what changes
    nothing (unless ``allow_idle``), is not accepted, and one that was refused for its floats stays so.

    ``stopped``: why the run did not come to its own end.
    """
    if stopped is not None:
        if stopped.id in _LIMITS:
            return _not_decided(kernel, _undecided(stopped.message))
        return _refused(kernel, stopped)
    found = _with_answer(kernel, reference.compare(data, exact=True))
    lost = () if found.trial is None else found.trial.rounding
    if lost and (found.equal is None or found.equal["answer"] != "equal"):
        return _refused(found, Reason("wrong-result", lost[0]))
    if found.equal is None:
        return found
    idle = [] if allow_idle else _list(found.equal, "idle")
    if idle:
        return _refused(found, Reason("idle-value", _IDLE.format(printable("; ".join(map(str, idle[:_FEW]))))))
    for narrow in _list(found.equal.get("rounding"), "narrow_sums"):
        if narrow["widened"] and narrow["format"] in _WRAPPING:
            return _refused(found, Reason("narrow-sum", _NARROW.format(narrow["format"]), narrow["line"]))
    return found


def _list(fields: object, name: str) -> list[Any]:
    held = fields.get(name) if isinstance(fields, Mapping) else None
    return held if isinstance(held, list) else []


def _with_answer(kernel: GatedKernel, answer: ReferenceAnswer) -> GatedKernel:
    if answer.unreadable:
        return _refused(kernel, Reason("crash", "running it on exact numbers gave no answer"))
    if answer.equal is None:
        return _not_decided(kernel, _undecided(answer.usage or answer.failed or "the reference gave no answer"))
    found = {**answer.equal, "reason": _shown(answer.equal.get("reason"))}
    if answer.reasons:
        wrong = tuple(replace(each, message=printable(each.message)) for each in answer.reasons)
        return replace(kernel, accepted=False, reasons=kernel.reasons or wrong, bundle=None, equal=found)
    if found["answer"] == "equal" and not kernel.result.deterministic:
        # Whoever accepts kernels that may have more than one result was told so.
        reason = "it is not known that every order of blocks gives the same result"
        return replace(kernel, equal={**found, "answer": _NOT_DECIDED, "reason": reason, "probability_log2": None})
    return _not_decided(kernel, found) if found["answer"] == _NOT_DECIDED else replace(kernel, equal=found)


def _not_decided(kernel: GatedKernel, equal: Mapping[str, object]) -> GatedKernel:
    """A submission can see to it that nothing is decided: what it does with bits, or how long it takes, is its own."""
    said = f"whether it is its reference is not decided: {equal['reason']}; --no-exact accepts what agrees on floats"
    return _refused(replace(kernel, equal=equal), Reason("not-decided", said))


def _refused(kernel: GatedKernel, reason: Reason) -> GatedKernel:
    return replace(kernel, accepted=False, reasons=kernel.reasons or (reason,), bundle=None)


def _shown(reason: object) -> str | None:
    return printable(reason) if isinstance(reason, str) else None


def _undecided(reason: str) -> Mapping[str, object]:
    """As `equality.answer_text.fields` has it."""
    return {
        "answer": _NOT_DECIDED,
        "launches": [],
        "points": 0,
        "probability_log2": None,
        "reason": printable(reason),
        "left_out": [],
        "one_way": [],
        "tried": [],
        "idle": [],
        "steps": 0,
        "difference": None,
    }
