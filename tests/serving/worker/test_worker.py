"""A worker answers as a new process would: the same output and exit codes, and never what is no longer so."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import interruptible
from tests.pipeline.cache.test_stale import IN_PLACE, KERNEL, WAYS, Way, plant
from tests.serving.worker.worker import Workers, workers

from tileverify import corpus
from tileverify.serving.worker import client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux")


@pytest.fixture(scope="module")
def warm() -> Iterator[Workers]:
    with workers() as made:
        assert made.command("worker", "start").code == 0
        yield made


@pytest.fixture
def cold() -> Iterator[Workers]:
    with workers() as made:
        yield made


def without_times(text: str) -> str:
    return re.sub(r"[\d.e+]+ m?s\b|\"time_ms\": \{[^}]*\}", "T", text)


# ------------------------------------------------------------------------------------- the same as without one
SAME = [
    ("showcase/vector_add.py",),
    ("racy/permute_swapped.py",),
    ("racy/permute_swapped.py", "--format", "json"),
    ("racy/permute_swapped.py", "--format", "sarif"),
    ("racy/permute_swapped.py", "--color", "always", "--repair"),
    ("out_of_bounds/", "--quiet"),
    ("no/such/file.py",),
    ("showcase/vector_add.py", "--format", "nonsense"),
    ("showcase/vector_add.py", "--jobs", "2"),
]


@pytest.mark.parametrize("words", SAME, ids=" ".join)
def test_output_is_the_same(warm: Workers, words: tuple[str, ...]) -> None:
    line = ("check", "--no-cache", str(corpus.ROOT / words[0]), *words[1:])
    by_worker = warm.command(*line)
    alone = warm.command(*line, "--no-worker")
    assert by_worker.code == alone.code
    assert without_times(by_worker.out) == without_times(alone.out)
    assert without_times(by_worker.err) == without_times(alone.err)


def test_it_is_the_worker_that_answers(warm: Workers) -> None:
    found = warm.command("check", "--verbose", str(corpus.ROOT / "showcase" / "vector_add.py"))
    assert found.by_worker
    assert found.code == 0
    assert not warm.command("check", "--verbose", "--no-worker", "nothing.py").err.startswith("checked in")


def test_a_module_leaves_nothing_behind(warm: Workers) -> None:
    """The file counts how often it has run in its process, and changes the compiler for all after it."""
    text = "import sys\nsys.counted = getattr(sys, 'counted', 0) + 1\nSHIFT = sys.counted - 1\nct.bid = ct.bid"
    plant(warm.root / "counted", {"kernels/copy.py": KERNEL.format(extra=text)})
    for _ in range(2):
        found = warm.command("check", "-v", "--no-cache", "counted/kernels")
        assert (found.code, found.by_worker) == (0, True)


# ------------------------------------------------------------------------------------------ no stale verdict
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_change_is_noticed(warm: Workers, tmp_path: Path, way: Way) -> None:
    folder = warm.root / re.sub(r"\W+", "_", way.name)
    plant(folder, way.files)
    before = {name: value.format(folder=folder) for name, value in way.environment.items()}
    own = {"TILEVERIFY_CACHE_DIR": str(tmp_path / "cache")}
    if before:  # where modules are looked for belongs to a worker
        assert warm.command("worker", "start", folder=folder, more={**before, **own}).code == 0

    def verdict(more: dict[str, str]) -> str:
        found = warm.command("check", "kernels", "-v", "--format", "json", folder=folder, more={**more, **own})
        alone = "pyproject" in way.name or "named like" in way.name or more != before or "has changed" in found.err
        assert found.by_worker or alone, found.err
        return "".join(each["verdict"] for each in json.loads(found.out)["results"] if each["kernel"] == "copy")

    assert verdict(before) == "proved"
    assert verdict(before) == "proved"
    after = {**before, **(way.change(folder) or {})}
    assert verdict(after) != "proved"


def test_a_variable_of_the_compiler_belongs_to_the_worker(warm: Workers) -> None:
    plant(warm.root / "variable", {"kernels/copy.py": IN_PLACE.format(extra="")})
    words = ("check", "-v", "variable/kernels")
    assert warm.command(*words).by_worker
    found = warm.command(*words, more={"CUDA_TILE_TESTING_DISABLE_TOKEN_ORDER": "1"})
    assert (found.code, found.by_worker) == (1, False)


def test_a_module_of_a_name_that_the_worker_has_loaded(warm: Workers) -> None:
    """A new process has not loaded the solver when the file is run, so it gets the module beside it."""
    plant(warm.root / "beside", {"kernels/copy.py": KERNEL.format(extra="from z3 import SHIFT")})
    (warm.root / "beside" / "kernels" / "z3.py").write_text("SHIFT = 0\n")
    words = ("check", "beside/kernels/copy.py")
    found = warm.command(*words, "-v")
    assert not found.by_worker
    assert without_times(warm.command(*words).out) == without_times(warm.command(*words, "--no-worker").out)


def test_a_package_that_changes_ends_it(cold: Workers) -> None:
    library = cold.root.parent / "library"
    library.mkdir()
    more = {"PYTHONPATH": str(library)}
    target = str(corpus.ROOT / "showcase" / "vector_add.py")
    assert cold.command("worker", "start", more=more).code == 0
    assert cold.command("check", "-v", target, more=more).by_worker
    (library / "numpy.py").write_text("raise RuntimeError('another numpy')\n")
    found = cold.command("check", "-v", target, more=more)
    assert not found.by_worker
    assert "has changed since the worker was started" in found.err
    assert "no worker is running" in cold.command("worker", "status", more=more).out


# ------------------------------------------------------------------------------------------- ends and accidents
def test_started_on_demand_and_stopped(cold: Workers) -> None:
    target = str(corpus.ROOT / "showcase" / "vector_add.py")
    assert not cold.command("check", "-v", target).by_worker
    assert "no worker" in cold.command("worker", "status").out, "nobody is at a terminal"
    cold.command("check", target, more={"TILEVERIFY_WORKER": "1"})
    assert cold.command("worker", "start").code == 0
    assert cold.command("check", "-v", target).by_worker
    assert not cold.command("check", "-v", target, more={"TILEVERIFY_WORKER": "0"}).err
    assert cold.command("worker", "stop").out == "1 stopped\n"
    assert not cold.command("check", "-v", target).by_worker


def test_a_killed_worker_and_a_stale_socket(cold: Workers) -> None:
    assert cold.command("worker", "start").code == 0
    pid = int(cold.command("worker", "status").out.split()[1].rstrip(","))
    os.kill(pid, signal.SIGKILL)
    target = str(corpus.ROOT / "showcase" / "vector_add.py")
    found = cold.command("check", target)
    assert (found.code, found.err) == (0, "")
    assert cold.command("worker", "start").code == 0


def test_a_worker_that_dies_at_work(cold: Workers) -> None:
    """The child is killed while it checks, and the client does the work itself."""
    plant(cold.root, {"kernels/copy.py": KERNEL.format(extra="import os, signal\nSHIFT = 0\n"
        "if 'serve' in open('/proc/self/cmdline').read(): os.kill(os.getpid(), signal.SIGKILL)")})  # fmt: skip
    assert cold.command("worker", "start").code == 0
    found = cold.command("check", "-v", "kernels")
    assert found.code == 0
    assert "the work was ended by signal 9" in found.err


def test_ctrl_c_ends_the_work(cold: Workers) -> None:
    slow = "import pathlib, time\nSHIFT = 0\npathlib.Path(__file__).with_name('here').touch()\ntime.sleep(60)"
    plant(cold.root, {"kernels/copy.py": KERNEL.format(extra=slow)})
    assert cold.command("worker", "start").code == 0
    running = subprocess.Popen(
        [sys.executable, "-m", "tileverify", "check", "kernels"],
        env=cold.environment(), cwd=cold.root, stderr=subprocess.PIPE, text=True,
        preexec_fn=interruptible,
    )  # fmt: skip
    until = time.monotonic() + 20
    while not (cold.root / "kernels" / "here").exists() and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert (running.returncode, err) == (130, "interrupted\n")


def test_what_belongs_to_others_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    assert not client.is_own_folder(str(open_to_all))
    (tmp_path / "link").symlink_to(tmp_path)
    assert not client.is_own_folder(str(tmp_path / "link"))
    private = tmp_path / "private"
    assert client.is_own_folder(str(private), make=True)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not client.is_own_folder(str(private))


def test_an_answer_of_another_user_is_not_believed(cold: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    at = client.WorkerPlace(str(cold.runtime), "0" * 32, "/")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(at.address)
        listener.listen()
        client.connect(at).close()
        monkeypatch.setattr(client, "peer_of", lambda connection: (os.getpid(), 12345))
        with pytest.raises(client.NoWorker, match="another user"):
            client.connect(at)
