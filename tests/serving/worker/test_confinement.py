"""A worker does nothing for a process that the system lets do less, or something else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.serving.worker import confined
from tests.serving.worker.worker import Workers, workers

from tileverify import corpus
from tileverify.serving.worker import client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux")


@pytest.fixture(scope="module")
def warm() -> Iterator[Workers]:
    with workers() as made:
        assert made.command("worker", "start").code == 0
        yield made


def asked_from(workers: Workers, way: str) -> str:
    """What comes of a request to the one worker that is there, of a process confined so."""
    (lock,) = workers.runtime.glob("tileverify/*.lock")
    file = corpus.ROOT / "showcase/vector_add.py"
    done = subprocess.run(
        [sys.executable, confined.__file__, way, str(lock.parent), lock.stem, str(workers.root), str(file)],
        env=workers.environment(), cwd=workers.root, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_process_that_may_do_the_same_is_answered(warm: Workers) -> None:
    assert asked_from(warm, "not_at_all") == "exit 0"


@pytest.mark.parametrize("way", confined.WAYS)
def test_a_process_that_may_do_less_is_not(warm: Workers, way: str) -> None:
    said = asked_from(warm, way)
    if said.startswith("no "):
        pytest.skip(f"the system does not confine itself so: {said}")
    assert said == "this process is confined in another way than the worker"


def test_who_has_not_looked_into_the_worker_is_not(warm: Workers) -> None:
    assert "confined in another way" in asked_from(warm, "0" * 32)


def test_a_confined_process_has_a_worker_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    here = client.place("/")
    assert here is not None
    status = client._status
    monkeypatch.setattr(client, "_status", lambda process: {**status(process), "NoNewPrivs": "1"})
    there = client.place("/")
    assert there is not None
    assert there.key != here.key


@pytest.mark.parametrize(
    ("own", "first", "readable"),
    [
        ({"Seccomp": "0", "Seccomp_filters": "0"}, {}, True),
        ({"Seccomp": "2", "Seccomp_filters": "1"}, {"Seccomp_filters": "1"}, True),  # in a container
        ({"Seccomp": "2", "Seccomp_filters": "2"}, {"Seccomp_filters": "1"}, False),
        ({"Seccomp": "2"}, {}, False),
    ],
)
def test_filters_that_nobody_can_compare(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, str], first: dict[str, str], readable: bool
) -> None:
    monkeypatch.setattr(client, "_status", lambda process: first if process == 1 else own)
    assert client.readable() is readable
