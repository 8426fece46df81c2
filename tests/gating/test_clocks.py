"""The time of a submission is its own: how busy the machine is with others, or what another one made of the reference,
costs it nothing."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tileverify.gating import GateOptions, Submission
from tileverify.gating.jobs.references import COMPARE_S, LOAD_S, ReferenceProcess, _Patient
from tileverify.gating.runs.gate_run import longest_s
from tileverify.gating.runs.workers import Task


def heard(used_in_a_second: float, seconds: float, after_s: float) -> bytes:
    """What is read of a pipe that says something after a while, of a process that uses so much of the processor."""
    reading, writing = os.pipe()
    started = time.monotonic()
    timer = threading.Timer(after_s, lambda: os.write(writing, b"answer"))
    with os.fdopen(reading, "rb") as stream:
        timer.start()
        try:
            return _Patient(stream, lambda: used_in_a_second * (time.monotonic() - started), seconds).read(6)
        finally:
            timer.join()
            os.close(writing)


def test_a_reference_that_waits_for_the_processor_is_waited_for() -> None:
    assert heard(used_in_a_second=0.1, seconds=0.3, after_s=0.8) == b"answer"


@pytest.mark.parametrize("used", [1.0, 0.0])
def test_one_that_takes_it_or_waits_for_ever_is_not(used: float) -> None:
    with pytest.raises(TimeoutError):
        heard(used_in_a_second=used, seconds=0.1, after_s=0.9)


def test_what_one_submission_makes_of_a_reference_is_not_the_next_one_s(tmp_path: Path) -> None:
    """Each time it is asked, a reference has all of its time."""
    file = tmp_path / "reference.py"
    file.write_text("def same(x, y):\n    for _ in range(10**7):\n        pass\n    return {'out': x + y}\n")
    trial = (
        b'{"values": {"N": 1}, "constants": {}, "floats": {}, "filling": "normal", "lists": [], "stopped": null, '
        b'"arrays": {"x": {"dtype": "i32", "shape": [1], "before": "AAAAAA==", "after": null, "written": "AA=="}, '
        b'"y": {"dtype": "i32", "shape": [1], "before": "AAAAAA==", "after": null, "written": "AA=="}, '
        b'"out": {"dtype": "i32", "shape": [1], "before": "AAAAAA==", "after": null, "written": "AQ=="}}}\n'
        b'{"not_tried": []}\n'
    )
    process = ReferenceProcess(f"{file}::same", compare_s=8)
    assert [process.compare(trial).failed for _ in range(6)] == [None] * 6
    process.close()


def test_a_worker_may_take_as_long_as_its_parts() -> None:
    spec = '[[launch]]\nkernel = "k"\n' * 3
    options = GateOptions(spec, reference="r.py::f")
    alone = longest_s(Task(0, Submission(b""), GateOptions(spec)))
    assert longest_s(Task(0, Submission(b""), options)) >= alone + LOAD_S + 3 * COMPARE_S
