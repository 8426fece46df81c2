"""Spreading: whatever happens to a worker costs one submission."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from tileverify.gating import GateOptions, GateResult, IsolationUnavailable, SandboxFailure, Submission
from tileverify.gating.runs.workers import (
    ATTEMPTS,
    MOST_FAILED_STARTS,
    Failed,
    Ready,
    Task,
    Unusable,
    WorkerAnswer,
    spread,
    stopped,
)
from tileverify.system.errors import UsageError


def task(number: int) -> Task:
    return Task(number, Submission(b"", f"{number}.py"), GateOptions())


def answer(of: Task) -> GateResult:
    return stopped(of, "answer", str(of.number))


class Played:
    """Workers of which some die: ``deaths`` times at a task, at ``hangs`` they say nothing, ``starts`` says what they
    say first."""

    def __init__(
        self, count: int, deaths: dict[int, int], hangs: tuple[int, ...] = (), start: WorkerAnswer | None = None
    ) -> None:
        self.count = count
        self.left = Counter(deaths)
        self.hangs = hangs
        self.first = start or Ready()
        self.started: list[int] = []
        self.busy: set[int] = set()
        self.closed = False
        self._heard: list[tuple[int, WorkerAnswer]] = []

    def start(self, worker: int) -> None:
        self.started.append(worker)
        self.busy.discard(worker)
        self._heard.append((worker, self.first))

    def send(self, worker: int, task: Task) -> None:
        assert worker not in self.busy
        self.busy.add(worker)
        if task.number in self.hangs:
            return
        dies = self.left[task.number] > 0
        self.left[task.number] -= dies
        self._heard.append((worker, Failed("it died") if dies else answer(task)))

    def wait(self, timeout_s: float) -> list[tuple[int, WorkerAnswer]]:
        heard, self._heard = self._heard, []
        self.busy -= {worker for worker, _ in heard}
        return heard

    def close(self) -> None:
        self.closed = True


def run(workers: Played, count: int, allowed_s: float = 1000.0) -> dict[int, str]:
    answers = {
        of.number: result.kernels[0].reasons[0].id
        for of, result in spread(map(task, range(count)), workers, lambda of: allowed_s)
    }
    assert workers.closed
    return answers


@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_task_has_its_answer(count: int) -> None:
    assert run(Played(count, {}), 20) == dict.fromkeys(range(20), "answer")


def test_no_tasks_need_no_answers() -> None:
    assert run(Played(2, {}), 0) == {}


def test_a_death_is_followed_by_a_second_attempt() -> None:
    workers = Played(2, {3: 1, 4: 1})
    assert run(workers, 8) == dict.fromkeys(range(8), "answer")
    assert len(workers.started) == 2 + 2


def test_a_task_that_kills_its_workers_costs_itself_alone() -> None:
    assert run(Played(2, {3: ATTEMPTS}), 8) == {**dict.fromkeys(range(8), "answer"), 3: "worker-crash"}


def test_a_task_that_hangs_costs_itself_alone() -> None:
    workers = Played(2, {}, hangs=(0, 5))
    assert run(workers, 8, allowed_s=0.01) == {**dict.fromkeys(range(8), "answer"), 0: "worker-hung", 5: "worker-hung"}
    assert len(workers.started) == 4


def test_workers_that_never_start_end_the_run() -> None:
    workers = Played(1, {}, start=Failed("no library"))
    with pytest.raises(SandboxFailure, match="no library"):
        run(workers, 1)
    assert workers.closed
    assert len(workers.started) == MOST_FAILED_STARTS


class OneComesUp(Played):
    """Of its workers only the first ever starts: the others ``fail``, or say nothing."""

    def __init__(self, fail: bool) -> None:
        super().__init__(3, {})
        self.fail = fail

    def start(self, worker: int) -> None:
        if worker == 0:
            super().start(worker)
            return
        self.started.append(worker)
        if self.fail:
            self._heard.append((worker, Failed("no room")))


def test_one_that_came_up_goes_on_without_those_that_do_not() -> None:
    workers = OneComesUp(fail=True)
    assert run(workers, 20) == dict.fromkeys(range(20), "answer")
    assert len(workers.started) <= 3 + MOST_FAILED_STARTS


def test_workers_that_say_nothing_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileverify.gating.runs.workers.LONGEST_START_S", -1.0)
    assert run(OneComesUp(fail=False), 20) == dict.fromkeys(range(20), "answer")

    class Silent(Played):
        def start(self, worker: int) -> None:
            self.started.append(worker)

    silent = Silent(2, {})
    with pytest.raises(SandboxFailure, match="was not there after"):
        run(silent, 1)
    assert silent.closed


@pytest.mark.parametrize(("usage", "error"), [(False, IsolationUnavailable), (True, UsageError)])
def test_what_no_worker_can_do_ends_the_run(usage: bool, error: type[Exception]) -> None:
    with pytest.raises(error, match="why"):
        run(Played(2, {}, start=Unusable("why", usage)), 3)


def test_tasks_are_read_when_their_turn_comes() -> None:
    read = 0

    def endless() -> itertools.count[int]:
        return itertools.count()

    def counted() -> object:
        nonlocal read
        for number in endless():
            read += 1
            yield task(number)

    answers = spread(counted(), Played(3, {}), lambda of: 1000.0)  # type: ignore[arg-type]
    for _ in range(10):
        next(answers)
    assert read <= 10 + 2 * 3
