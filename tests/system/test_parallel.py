"""Worker processes: order, crashes, interruption.  `eval` is the work: it can be sent anywhere and do anything."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Generator, Iterator

import pytest

from tileverify.system.parallel import map_ordered, usable_processors

CRASH = "__import__('os')._exit(9)"


def died(text: str) -> str:
    return f"died: {text}"


def test_results_come_in_the_order_of_the_inputs() -> None:
    inputs = ["__import__('time').sleep(0.3) or 0", *map(str, range(1, 20))]
    assert list(map_ordered(eval, inputs, jobs=2, crashed=died)) == list(range(20))


def test_nothing_of_the_pool_is_left_behind_the_last_result() -> None:
    """Its thread would close its pipes while Python ends, which writes to them then."""
    before = set(threading.enumerate())
    assert list(map_ordered(eval, ["1", "2"], jobs=2, crashed=died)) == [1, 2]
    assert not set(threading.enumerate()) - before


def test_a_crash_costs_one_input() -> None:
    inputs = ["1", CRASH, "2", CRASH, "3"]
    expected = [1, died(CRASH), 2, died(CRASH), 3]
    assert list(map_ordered(eval, inputs, jobs=2, crashed=died)) == expected


def test_inputs_are_taken_as_they_are_needed() -> None:
    taken = []

    def endless() -> Iterator[str]:
        for number in range(10_000):
            taken.append(number)
            yield str(number)

    results = map_ordered(eval, endless(), jobs=1, crashed=died)
    assert isinstance(results, Generator)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    results.close()
    assert len(taken) < 20


def test_who_waits_is_told_for_what() -> None:
    told: list[str] = []
    inputs = ["__import__('time').sleep(0.5) or 1", "2"]
    results = map_ordered(eval, inputs, jobs=1, crashed=died, waited=told.append)
    assert next(results) == 1
    assert told == inputs[:1]
    time.sleep(0.5)
    assert next(results) == 2
    assert told == inputs[:1]  # which was there already


def test_an_error_in_the_work_is_raised_and_ends_the_workers() -> None:
    inputs = ["1 // 0", "__import__('time').sleep(60)"]
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        list(map_ordered(eval, inputs, jobs=2, crashed=died))
    for process in multiprocessing.active_children():
        process.join(10)
    assert time.monotonic() - started < 30


def test_what_workers_print_is_no_data(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(map_ordered(eval, ["print('noise', flush=True)"], jobs=1, crashed=died)) == [None]
    out, err = capfd.readouterr()
    assert out == ""
    assert "noise" in err


def test_usable_processors_are_those_of_this_process() -> None:
    assert 1 <= usable_processors() <= (os.cpu_count() or 1)
