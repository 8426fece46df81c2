"""Whole runs: the same answers from every engine, and from a run that was killed and continued."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command_line import CommandLine, interruptible

from tileverify.commands.shell import INTERRUPTED
from tileverify.gating import GateOptions, GateResult, Submission
from tileverify.gating.runs.gate_run import GatePlan, longest_s, open_table, stream, tabulate
from tileverify.gating.runs.workers import (
    CandidateFile,
    Failed,
    LocalWorkers,
    OnStdin,
    Ready,
    Task,
    WorkerAnswer,
    Workers,
    candidates,
    stopped,
)

SOURCE = Path(__file__).resolve().parents[3] / "src"
OPTIONS = ("--trust-specs", "--no-hints")


def gate(*words: object) -> list[str]:
    return [sys.executable, "-m", "tileverify", "gate", *map(str, words)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])}


def ran(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(gate(*words), env=environment(), capture_output=True, text=True, timeout=600, check=False)


def table(path: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as database:
        return database.execute("SELECT * FROM kernels").fetchall()


def without_times(lines: str) -> list[dict[str, object]]:
    documents = [json.loads(line) for line in lines.splitlines()]
    return [{key: value for key, value in each.items() if key not in ("time_ms", "cached")} for each in documents]


def judged_here(folder: Path, results: Path) -> str:
    """The table that a run in this process makes; returns what the command would say at its end."""
    counts = tabulate(
        GatePlan(_candidates(folder), OPTIONS_ALONE, True, _inline, lambda candidate, result: None),
        open_table(results, OPTIONS_ALONE, True),
    )
    return f"{counts.accepted} of {counts.kernels} accepted\n"


def test_a_killed_run_goes_on_and_gives_the_same_table(folder: Path, tileverify: CommandLine, tmp_path: Path) -> None:
    """The same as a run of one process that nobody killed."""
    whole, half = tmp_path / "whole.sqlite", tmp_path / "half.sqlite"
    done = judged_here(folder, whole)
    assert len({row[0] for row in table(whole)}) == 12

    killed = subprocess.Popen(gate(folder, *OPTIONS, "-j", "2", "--results", half), env=environment())
    deadline = time.monotonic() + 300
    while not half.exists() or not _some(half):
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = table(half)
    assert 0 < len({row[0] for row in before}) < 12
    assert set(before) <= set(table(whole))

    again = tileverify("gate", str(folder), *OPTIONS, "-j", "1", "--results", str(half))
    assert (again.code, again.out) == (1, ""), again.err
    assert again.err.endswith(done)
    assert table(half) == table(whole)
    # A complete table is not made again; so fast that no worker can have started.
    idle = tileverify("gate", str(folder), *OPTIONS, "--results", str(half))
    assert idle.err == done
    assert table(half) == table(whole)


def _some(path: Path) -> bool:
    try:
        return len({row[0] for row in table(path)}) >= 2
    except sqlite3.Error:
        return False


def test_lines_are_in_order_and_say_what_the_table_says(folder: Path, tmp_path: Path) -> None:
    results = tmp_path / "answers.sqlite"
    lines = ran(folder, *OPTIONS, "-j", "2")
    assert lines.returncode == 1, lines.stderr
    assert lines.stderr.endswith(judged_here(folder, results))
    documents = without_times(lines.stdout)
    names = [str(each["file"]).rsplit("/", 1)[-1] for each in documents]
    assert names == [row[0] for row in table(results)] == sorted(names)
    columns = ("kernel", "launch", "verdict", "accepted")
    assert [tuple(each[name] for name in columns) for each in documents] == [
        (row[3], row[4], row[5], bool(row[6])) for row in table(results)
    ]
    assert {"proved", "refuted", "rejected"} <= {row[5] for row in table(results)}


def test_only_what_changed_is_judged_again(folder: Path, tmp_path: Path) -> None:
    found = _candidates(folder)[:3]
    options = GateOptions(hints=False)
    judged: list[str] = []

    def keep(candidate: CandidateFile | OnStdin, result: GateResult) -> None:
        judged.append(candidate.name)

    def go(of: tuple[CandidateFile, ...]) -> None:
        answers = open_table(tmp_path / "answers.sqlite", options, True)
        tabulate(GatePlan(of, options, True, _inline, keep), answers)
        answers.close()
        judged.sort()

    go(found)
    assert judged == [each.name for each in found]
    judged.clear()
    go(found)
    assert not judged
    found[1].path.write_text(found[1].path.read_text() + "\n# changed\n")
    go(found[1:])
    assert judged == [found[1].name]
    assert {row[0] for row in table(tmp_path / "answers.sqlite")} == {each.name for each in found[1:]}


CLOCKS = ("limit-time", "worker-crash", "worker-hung")


@pytest.mark.parametrize("suffix", ["sqlite", "parquet"])
def test_what_time_alone_stopped_is_judged_again(suffix: str, tmp_path: Path) -> None:
    """Once more in the next run, and then no more; what took too much of the processor is an answer."""
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs the extra 'parquet'")
    first = {"a.py": "answer", "b.py": "limit-cpu", **{f"{id_}.py": id_ for id_ in CLOCKS}}
    folder = tmp_path / "candidates"
    folder.mkdir()
    for name in first:
        (folder / name).write_text("import os\n")

    def go(said: dict[str, str]) -> list[str]:
        """The files that are judged."""
        judged: list[str] = []
        answers = open_table(tmp_path / f"a.{suffix}", OPTIONS_ALONE, False)
        plan = GatePlan(
            _candidates(folder),
            OPTIONS_ALONE,
            False,
            lambda most: _Saying(said),
            lambda candidate, result: judged.append(candidate.name),
        )
        tabulate(plan, answers)
        answers.close()
        return sorted(judged)

    assert go(first) == sorted(first)
    assert go(dict.fromkeys(first, "import")) == sorted(f"{id_}.py" for id_ in CLOCKS)
    assert go(dict.fromkeys(first, "never")) == []
    if suffix == "sqlite":
        told = {str(row[0]): row[8] for row in table(tmp_path / "a.sqlite")}
        assert told == {"a.py": "answer", "b.py": "limit-cpu", **{f"{id_}.py": "import" for id_ in CLOCKS}}


OPTIONS_ALONE = GateOptions(hints=False)


class _Saying:
    """One worker that answers each file with a reason."""

    def __init__(self, said: dict[str, str]) -> None:
        self.count = 1
        self.said = said
        self.heard: list[tuple[int, WorkerAnswer]] = []

    def start(self, worker: int) -> None:
        self.heard.append((worker, Ready()))

    def send(self, worker: int, task: Task) -> None:
        self.heard.append((worker, stopped(task, self.said[task.submission.file], "")))

    def wait(self, timeout_s: float) -> list[tuple[int, WorkerAnswer]]:
        heard, self.heard = self.heard, []
        return heard

    def close(self) -> None:
        pass


def _candidates(folder: Path) -> tuple[CandidateFile, ...]:
    return candidates(folder, lambda file: file.name)


def _inline(most: int) -> Workers:
    from tileverify.gating.runs.workers import ThisProcess

    return ThisProcess()


def test_a_worker_that_is_killed_is_replaced(folder: Path) -> None:
    workers = LocalWorkers(1)
    try:
        workers.start(0)
        assert _first(workers) == Ready()
        os.kill(workers.process_id(0), signal.SIGKILL)
        assert isinstance(_first(workers), Failed)
        workers.start(0)
        assert _first(workers) == Ready()
        workers.send(0, Task(0, Submission(b"import os\n"), GateOptions()))
        answer = _first(workers)
        assert isinstance(answer, GateResult)
        assert answer.kernels[0].verdict == "rejected"
    finally:
        workers.close()


def _first(workers: Workers) -> object:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for _, answer in workers.wait(1.0):
            return answer
    raise AssertionError("no answer")


def test_workers_end_with_a_killed_run(folder: Path) -> None:
    run = subprocess.Popen(gate(folder, *OPTIONS, "-j", "1"), env=environment(), stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    run.stdout.readline()
    children = _descendants(run.pid)
    assert len(children) >= 2  # a worker and its sandbox
    run.kill()
    run.wait()
    run.stdout.close()
    deadline = time.monotonic() + 60
    while any(map(_alive, children)):
        assert time.monotonic() < deadline, [pid for pid in children if _alive(pid)]
        time.sleep(0.1)


def _descendants(pid: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{pid}/task/{pid}").glob("children"):
        for child in map(int, path.read_text().split()):
            found += [child, *_descendants(child)]
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_an_interrupted_run_ends_quietly(folder: Path, tmp_path: Path) -> None:
    run = subprocess.Popen(
        gate(folder, *OPTIONS, "-j", "1", "--results", tmp_path / "a.sqlite"),
        env=environment(), stderr=subprocess.PIPE, text=True, preexec_fn=interruptible,
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while not (tmp_path / "a.sqlite").exists() or not _some(tmp_path / "a.sqlite"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (INTERRUPTED, "interrupted\n")


def test_ray_gives_the_same_table(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra 'ray'")
    local, spread = tmp_path / "local.sqlite", tmp_path / "ray.sqlite"
    assert ran(folder, *OPTIONS, "-j", "2", "--results", local).returncode == 1
    on_ray = ran(folder, *OPTIONS, "-j", "2", "--engine", "ray", "--results", spread)
    assert on_ray.returncode == 1, on_ray.stderr
    assert table(spread) == table(local)


def test_without_ray_it_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tileverify.gating.runs.workers import RayWorkers
    from tileverify.system.errors import UsageError

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"tileverify\[ray\]"):
        RayWorkers(1)


def test_parquet_holds_the_same_rows(folder: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra 'parquet'")
    found = _candidates(folder)[:4]
    options = GateOptions(hints=False)
    for name in ("a.sqlite", "a.parquet"):
        tabulate(
            GatePlan(found, options, True, _inline, lambda candidate, result: None),
            open_table(tmp_path / name, options, True),
        )
    rows = [tuple(row.values()) for row in parquet.read_table(tmp_path / "a.parquet").to_pylist()]
    assert rows == table(tmp_path / "a.sqlite")
    assert not (tmp_path / "a.parquet.journal").exists()


def test_workers_may_take_longer_than_the_limits() -> None:
    limits = GateOptions().limits
    allowed = longest_s(Task(0, Submission(b""), GateOptions()))
    assert allowed > limits.compile_wall_s + limits.prove_wall_s


def test_lines_come_in_order_whatever_the_order_of_the_answers(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.py").write_text("import os\n")
    lines: list[str] = []
    plan = GatePlan(
        _candidates(tmp_path), GateOptions(), False, lambda most: _Backwards(most), lambda candidate, result: None
    )
    counts = stream(plan, lines.append)
    assert counts.kernels == 4
    assert [json.loads(line)["file"] for line in lines] == ["a.py", "b.py", "c.py", "d.py"]


class _Backwards:
    """Answers the last task first."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.ready: list[tuple[int, WorkerAnswer]] = []
        self.tasks: list[tuple[int, Task]] = []

    def start(self, worker: int) -> None:
        self.ready.append((worker, Ready()))

    def send(self, worker: int, task: Task) -> None:
        self.tasks.append((worker, task))

    def wait(self, timeout_s: float) -> list[tuple[int, WorkerAnswer]]:
        if self.ready:
            ready, self.ready = self.ready, []
            return list(ready)
        worker, task = self.tasks.pop()
        return [(worker, stopped(task, "answer", ""))]

    def close(self) -> None:
        pass
