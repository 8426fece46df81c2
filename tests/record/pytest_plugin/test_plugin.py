"""Whole runs of pytest with the plugin: which tests fail, and what their failures say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from .conftest import ROOT, Ended, RunTests

EXAMPLE = ROOT / "examples" / "tested_kernels"

SUITE = """
import multiprocessing, os, subprocess, sys, threading, unittest
import cuda.tile as ct
import numpy as np
import pytest

@ct.kernel
def scale(x, y, factor):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * factor)

@ct.kernel
def last_wins(x, y):
    ct.store(y, (0,), ct.load(x, (ct.bid(0),), (16,)))

@ct.kernel
def scattered(x, y):
    at = ct.load(x, (ct.bid(0),), (16,)).astype(ct.int32)
    ct.scatter(y, (at,), ct.bid(0), check_bounds=False)

def right():
    x = np.arange(64, dtype=np.float32)
    y = np.zeros_like(x)
    ct.launch(0, (4,), scale, (x, y, 3))
    assert (y == 3 * x).all()

def racy():
    x = np.arange(64, dtype=np.float32)
    y = np.zeros(16, np.float32)
    ct.launch(0, (4,), last_wins, (x, y))
    assert (y == x[48:]).all()

def undecided():
    ct.launch(0, (4,), scattered, (np.arange(64, dtype=np.float32), np.zeros(64, np.int32)))

if __name__ != "__main__":
    @pytest.fixture
    def made_badly():
        racy()

    def test_right(): right()
    def test_racy(): racy()
    def test_racy_and_wrong():
        racy()
        assert 1 == 2
    def test_racy_and_skipped():
        racy()
        pytest.skip("enough")
    def test_racy_fixture(made_badly): right()
    @pytest.mark.xfail(strict=True)
    def test_racy_as_expected(): racy()
    @pytest.mark.tileverify(allow="refuted", reason="shows what a race does")
    def test_racy_on_purpose(): racy()
    def test_undecided(): undecided()
    @pytest.mark.tileverify(allow=["undecided"])
    def test_undecided_on_purpose(): undecided()
    def test_thread():
        thread = threading.Thread(target=racy)
        thread.start()
        thread.join()
    def test_subprocess():
        subprocess.run([sys.executable, __file__], check=True)
    def test_fork():
        child = multiprocessing.get_context("fork").Process(target=racy)
        child.start()
        child.join()
        assert child.exitcode == 0
    def test_spawn():
        child = multiprocessing.get_context("spawn").Process(target=racy)
        child.start()
        child.join()
        assert child.exitcode == 0
    def test_what_does_not_compile():
        x = np.zeros(60, np.float32)
        with pytest.raises(TypeError):
            ct.launch(0, (4,), scale, (x, object(), 3))
        right()
    class TestOld(unittest.TestCase):
        def test_racy_in_a_class(self): racy()
else:
    racy()
"""

RACY = {
    "test_racy", "test_racy_and_wrong", "test_racy_and_skipped", "test_thread", "test_subprocess", "test_fork",
    "test_spawn", "test_racy_in_a_class",
}  # fmt: skip
FINE = {"test_right", "test_racy_on_purpose", "test_undecided_on_purpose", "test_what_does_not_compile"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("project")
    (folder / "test_suite.py").write_text(SUITE)
    return folder


@pytest.fixture(scope="module")
def ended(project: Path, run_tests: RunTests) -> Ended:
    return run_tests(project, "--tileverify-no-gpu")


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_the_example_fails_exactly_where_blocks_race(processes: list[str], run_tests: RunTests, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__"))
    ended = run_tests(tmp_path / "example", "--tileverify-no-gpu", *processes)
    assert ended.outcomes == {"test_sum_rows": "passed", "test_sum_all": "failed", "test_without_a_launch": "passed"}
    assert ended.code == 1
    assert "5 passed" not in ended.text
    assert "4 launches of tile kernels" in ended.text
    section = ended.section("test_sum_all")
    assert "'sum_all' is refuted: a tile block reads an element of `total` that another block writes" in section
    assert "error[TV102]" in section
    assert "block A (0, 0, 0): load total[0]" in section
    assert "Traceback" not in section


def test_only_what_the_launches_of_a_test_deserve(ended: Ended) -> None:
    outcomes = ended.outcomes
    assert {name for name, outcome in outcomes.items() if outcome == "failed"} == RACY
    assert {name for name, outcome in outcomes.items() if outcome == "error"} == {"test_racy_fixture"}
    assert {name for name, outcome in outcomes.items() if outcome == "passed"} == FINE | {"test_undecided"}
    assert outcomes["test_racy_as_expected"] == "xfail"


@pytest.mark.parametrize("test", ["test_racy", "test_thread", "test_subprocess", "test_fork", "test_spawn"])
def test_the_report_of_the_kernel_is_in_the_failure(ended: Ended, test: str) -> None:
    section = ended.section(test)
    assert "'last_wins' is refuted" in section
    assert "error[TV101]: two tile blocks store to the same element of `y`" in section


def test_a_failure_of_its_own_stays_and_the_report_comes_with_it(ended: Ended) -> None:
    section = ended.section("test_racy_and_wrong")
    assert "assert 1 == 2" in section
    assert "error[TV101]" in section


FAILING = """
import cuda.tile as ct
import numpy as np

@ct.kernel
def no_rank(x):
    ct.store(x, (0, 0), ct.load(x, (0, 0), (16, 16)))

@ct.kernel
def far(x, y):
    at = ct.load(x, (0,), (16,)).astype(ct.int32)
    ct.store(y, (0,), ct.gather(x, at + 100000, check_bounds=False))

def launch(kernel, count):
    ct.launch(0, (1,), kernel, (np.zeros(64, np.float32),) * count)

def test_that_does_not_compile():
    launch(no_rank, 1)

def test_that_stops():
    launch(far, 2)

def test_with_a_mistake_of_its_own():
    assert "this" == "that"
"""


def test_a_launch_that_fails_shows_the_line_that_makes_it(run_tests: RunTests, tmp_path: Path) -> None:
    """No frames of the plugin or of what it calls: they say nothing about the test."""
    (tmp_path / "test_failing.py").write_text(FAILING)
    ended = run_tests(tmp_path, "--tileverify-no-gpu")
    assert set(ended.outcomes.values()) == {"failed"}
    traceback = re.sub(r"-+ Captured tileverify .*?(?=^___)", "", ended.text, flags=re.M | re.S)  # the reports
    assert traceback.count("ct.launch(0, (1,), kernel") >= 2
    assert "SourceError" in traceback
    assert "RunStopped" in traceback
    assert 'assert "this" == "that"' in traceback
    for own in ("launch_hooks", "watcher", "def export_bytecode", "on_cpu.py"):
        assert own not in traceback


def test_what_is_let_pass_is_told(ended: Ended) -> None:
    assert "let pass: 'scattered' is undecided" in ended.text
    assert "let pass: 'last_wins' is refuted" in ended.text


def test_strict_wants_proofs(project: Path, run_tests: RunTests) -> None:
    chosen = ["-k", "undecided or right"]
    strict = run_tests(project, "--tileverify-no-gpu", "--tileverify-strict", *chosen)
    expected = {"test_right": "passed", "test_undecided": "failed", "test_undecided_on_purpose": "passed"}
    assert strict.outcomes == expected
    assert "TV901" in strict.section("test_undecided")
    (project / "pytest.ini").write_text("[pytest]\ntileverify_strict = true\ntileverify_allow =\n    scat*\n")
    try:
        assert run_tests(project, "--tileverify-no-gpu", *chosen).outcomes == dict.fromkeys(expected, "passed")
    finally:
        (project / "pytest.ini").unlink()


def test_a_launch_outside_of_tests_fails_the_run(run_tests: RunTests, tmp_path: Path) -> None:
    text = SUITE[: SUITE.index("if __name__")] + "racy()\ndef test_nothing(): pass\n"
    (tmp_path / "test_early.py").write_text(text)
    ended = run_tests(tmp_path, "--tileverify-no-gpu", "-k", "nothing")
    assert ended.code == 1
    assert "outside of tests: 'last_wins' is refuted" in ended.text


def test_a_marker_that_says_something_else_is_an_error(run_tests: RunTests, tmp_path: Path) -> None:
    mark = "import pytest\n@pytest.mark.tileverify(allow='everything')\ndef test_it(): pass\n"
    (tmp_path / "test_mark.py").write_text(mark)
    ended = run_tests(tmp_path, "--tileverify-no-gpu", "--strict-markers")
    assert "takes allow=... with 'undecided' or 'refuted'" in ended.text
    assert ended.code != 0


def test_without_the_option_nothing_is_loaded(run_tests: RunTests, tmp_path: Path) -> None:
    (tmp_path / "test_free.py").write_text(
        "import sys\n"
        "def test_free(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('tileverify')\n"
        "    loaded = {name for name in sys.modules if name.startswith('tileverify')}\n"
        "    record = {f'tileverify.record{below}' for below in ('', '.pytest_plugin', '.pytest_plugin.plugin')}\n"
        "    assert loaded == {'tileverify', 'tileverify.system', 'tileverify.system.version', *record}, loaded\n"
        "    assert not {'z3', 'numpy', 'cuda.tile'} & set(sys.modules)\n"
    )
    assert run_tests(tmp_path).outcomes == {"test_free": "passed"}


TORCH = (
    SUITE[: SUITE.index("def right")]
    + """
import torch
from concurrent.futures import ThreadPoolExecutor

def doubled(dtype):
    x = torch.arange(64, device="cuda").to(dtype)
    y = torch.zeros_like(x)
    ct.launch(torch.cuda.current_stream(), (4,), scale, (x, y, 2))
    torch.testing.assert_close(y, x * 2)
    assert y.is_cuda

@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_results(dtype): doubled(dtype)
def test_results_in_threads():
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(doubled, [torch.float32, torch.int32]))
def test_wrong():
    with pytest.raises(AssertionError):
        torch.testing.assert_close(torch.zeros(4, device="cuda"), torch.ones(4, device="cuda"))
def test_racy():
    x = torch.arange(64.0, device="cuda")
    ct.launch(torch.cuda.current_stream(), (4,), last_wins, (x, x.new_zeros(16)))
"""
)


def test_tensors_of_torch_without_a_gpu(run_tests: RunTests, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "test_torch.py").write_text(TORCH)
    ended = run_tests(tmp_path, "--tileverify-no-gpu")
    failed = {name for name, outcome in ended.outcomes.items() if outcome != "passed"}
    assert failed == {"test_racy"}, ended.text


WORKER = """
import sys
import cuda.tile as ct
import numpy as np

@ct.kernel
def scale(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)

@ct.kernel
def last(x, y):
    ct.store(y, (0,), ct.load(x, (ct.bid(0),), (16,)))

for line in sys.stdin:
    name, n = line.split()
    x = np.zeros(int(n), np.float32)
    ct.launch(0, (ct.cdiv(int(n), 16),), globals()[name], (x, np.zeros_like(x)))
    print("done", flush=True)
"""

ASKING = """
import subprocess, sys
import pytest

@pytest.fixture(scope="module")
def ask():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "worker.py"], **pipes) as worker:
        def answer(name, n):
            worker.stdin.write(f"{name} {n}\\n")
            worker.stdin.flush()
            assert worker.stdout.readline() == "done\\n"
        yield answer

def test_first(ask):
    for n in range(32, 32 + 16 * 8, 16):
        ask("scale", n)

def test_racy(ask):
    ask("last", 32)

def test_right(ask):
    ask("scale", 32)

def test_racy_again(ask):
    ask("last", 32)
"""


def test_a_process_that_outlives_tests_fails_those_in_which_it_makes_a_bad_launch(
    tmp_path: Path, run_tests: RunTests
) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "test_worker.py").write_text(ASKING)
    ended = run_tests(tmp_path, "--tileverify-no-gpu")
    expected = {"test_first": "passed", "test_racy": "failed", "test_right": "passed", "test_racy_again": "failed"}
    assert ended.outcomes == expected
    assert "11 launches of tile kernels" in ended.text
