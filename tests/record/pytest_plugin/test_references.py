"""Runs of pytest in which tests, or the settings of the suite, state what kernels have to compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Ended, RunTests

SUITE = """
import os, subprocess, sys, multiprocessing
import cuda.tile as ct
import numpy as np
import pytest

@ct.kernel
def gelu(x, y, TILE: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(y, (ct.bid(0),), 0.5 * t * (1 + ct.tanh(0.797885 * (t + 0.044715 * t * t * t))))

@ct.kernel
def scale(x, y, factor):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * factor)

@ct.kernel
def picked(x, at, y):
    i = ct.load(at, (ct.bid(0),), (16,))
    ct.store(y, (ct.bid(0),), ct.gather(x, (i,)))

@ct.kernel
def bits(x, y):
    t = ct.load(x, (ct.bid(0),), (16,))
    ct.store(y, (ct.bid(0),), ct.bitcast(ct.bitcast(t, ct.int32) ^ 1, ct.float32))

@ct.kernel
def copy_columns(x, y):
    ct.store(y, (ct.bid(0), 2), ct.load(x, (ct.bid(0), 0), (1, 4)))

def run(kernel, *more, count=50):
    x = np.linspace(-1, 1, count).astype(np.float32)
    y = np.zeros_like(x)
    tile = more[0] if kernel is gelu else 16
    ct.launch(0, (ct.cdiv(count, tile),), kernel, (x, y, *more))
    return x, y

def gelu_reference(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

def scaled(x, factor):
    return {"y": factor * x}

def identity(x):
    return {"y": x}

if __name__ != "__main__":
    @pytest.mark.tileverify(reference=gelu_reference)
    def test_constant_is_rounded():
        x, y = run(gelu, 16)
        np.testing.assert_allclose(y, gelu_reference(x), rtol=1e-5)
    @pytest.mark.tileverify(reference={"sca*": "references.py::scaled"})
    def test_scaled():
        run(scale, 3.0)
        run(scale, 3.0)
        run(gelu, 16)
    @pytest.mark.tileverify(reference="references.py::no_such")
    def test_no_such_reference(): run(scale, 3.0)
    @pytest.mark.tileverify(reference=lambda x, size: x)
    def test_reference_that_takes_too_much(): run(scale, 3.0)
    @pytest.mark.tileverify(reference=3)
    def test_badly_marked(): run(scale, 3.0)
    @pytest.mark.tileverify(reference=identity)
    def test_not_decided(): run(bits)
    @pytest.mark.tileverify(reference=identity)
    @pytest.mark.xfail(strict=True)
    def test_different_as_expected(): run(scale, 3.0)
    @pytest.mark.tileverify(reference=identity)
    def test_large(): run(gelu, 4096, count=1 << 19)
    @pytest.mark.tileverify(reference=lambda x, at: {"y": x[at]})
    def test_picked():
        x = np.linspace(-1, 1, 16).astype(np.float32)
        at = np.arange(15, -1, -1).astype(np.int32)
        ct.launch(0, (1,), picked, (x, at, np.zeros_like(x)))
    @pytest.mark.tileverify(reference=lambda x, at: {"y": x[::-1]})
    def test_picked_by_the_integers_of_the_launch():
        x = np.linspace(-1, 1, 16).astype(np.float32)
        at = np.arange(15, -1, -1).astype(np.int32)
        ct.launch(0, (1,), picked, (x, at, np.zeros_like(x)))
    @pytest.mark.tileverify(reference=identity, allow="refuted")
    def test_shared_memory():
        x = np.linspace(-1, 1, 256).astype(np.float32).reshape(16, 16)
        ct.launch(0, (8,), copy_columns, (x[:, :8], x[:, 4:]))
    @pytest.mark.tileverify(reference=identity)
    def test_fork():
        child = multiprocessing.get_context("fork").Process(target=run, args=(scale, 3.0))
        child.start()
        child.join()
        assert child.exitcode == 0
    @pytest.mark.tileverify(reference=identity)
    def test_subprocess(): subprocess.run([sys.executable, __file__], check=True)
    def test_nothing_stated(): run(scale, 3.0)
else:
    run(scale, 3.0)
"""
REFERENCES = "def scaled(x, factor):\n    return {'y': factor * x}\ndef twice(x):\n    return {'y': x + x}\n"
UNEQUAL = {"test_constant_is_rounded", "test_fork"}
MISTAKEN = {"test_no_such_reference", "test_reference_that_takes_too_much"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("project")
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "references.py").write_text(REFERENCES)
    return folder


@pytest.fixture(scope="module")
def ended(project: Path, run_tests: RunTests) -> Ended:
    return run_tests(project, "--tileverify-no-gpu", "-k", "not badly_marked")


def test_what_is_different_fails_and_what_is_not_decided_does_not(ended: Ended) -> None:
    failed = {name for name, outcome in ended.outcomes.items() if outcome == "failed"}
    assert failed == UNEQUAL | MISTAKEN
    assert ended.outcomes["test_different_as_expected"] == "xfail"
    passed = {name for name, outcome in ended.outcomes.items() if outcome == "passed"}
    assert passed == {
        "test_scaled", "test_not_decided", "test_large", "test_picked", "test_picked_by_the_integers_of_the_launch",
        "test_subprocess", "test_nothing_stated", "test_shared_memory",
    }  # fmt: skip


def test_a_failure_says_what_equal_says(ended: Ended) -> None:
    section = ended.section("test_constant_is_rounded")
    assert "launches that are not what their references say:\n  'gelu' and" in section
    assert "not verified" not in section
    assert "'gelu' and gelu_reference at x[50], y[50]: different: y[" in section
    assert "the reference says" in section
    assert "Traceback" not in section
    assert "the file has no function 'no_such'" in ended.section("test_no_such_reference")
    wrong = ended.section("test_reference_that_takes_too_much")
    assert "it takes 'size', which the launch lacks (there are: factor, x, y)" in wrong


def test_the_summary_says_what_was_not_compared_and_how_sure_the_rest_is(ended: Ended) -> None:
    summary = ended.text.split("- tileverify -")[1]
    assert "not compared: 'bits' and identity at x[50], y[50]: not decided: " in summary
    assert "not compared: 'gelu' and identity at x[524288], y[524288]: not decided: " in summary
    assert (
        "not compared: 'scale' and identity: not decided: it was launched in a process that a test started" in summary
    )
    shared = "not decided: x and y share a part of their memory"
    assert f"not compared: 'copy_columns' and identity at x[16, 8], y[16, 12]: {shared}" in summary
    assert "11 launches compared with references: 3 equal (a wrong yes is less likely than 2^-" in summary
    assert "2 different, 4 not decided, 2 unusable" in summary


def test_a_marker_that_is_wrong_is_told(project: Path, run_tests: RunTests) -> None:
    ended = run_tests(project, "--tileverify-no-gpu", "-k", "badly_marked")
    assert ended.code != 0
    assert "reference= takes a function, 'FILE.py::FUNCTION', or a table of these by name of the kernel" in ended.text


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_the_settings_state_references_of_a_whole_suite(
    processes: list[str], tmp_path: Path, run_tests: RunTests
) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "references.py").write_text(REFERENCES)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntileverify_references =\n    scal? = references.py::twice\n")
    ended = run_tests(tmp_path, "--tileverify-no-gpu", "-k", "nothing_stated or test_scaled", *processes)
    assert ended.outcomes == {"test_nothing_stated": "failed", "test_scaled": "passed"}
    assert "2 launches compared with references: 1 equal" in ended.text
    (tmp_path / "pytest.ini").write_text("[pytest]\ntileverify_references = scale\n")
    ended = run_tests(tmp_path, "--tileverify-no-gpu")
    assert ended.code == 4
    assert "tileverify_references: 'scale' is not PATTERN = FILE.py::FUNCTION" in ended.text


def test_without_its_option_nothing_is_compared(project: Path, run_tests: RunTests) -> None:
    ended = run_tests(project, "-k", "nothing_stated")
    assert "compared with references" not in ended.text
