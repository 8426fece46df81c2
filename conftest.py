"""Fixtures and options that all tests share: golden files, hardware and duration markers, the amount of fuzzing."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from tests import imported, leftovers, op_coverage, profiles
from tests.command_line import CommandLine, command_line
from tests.forked import Forked, forked
from tests.op_coverage import pytest_testnodedown
from tests.shared import FOLDER
from tests.toolkit import mark_missing

ROOT = Path(__file__).parent

__all__ = ["pytest_testnodedown"]  # a hook, found by its name


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tileverify")
    group.addoption("--update-golden", action="store_true", help="rewrite the golden files with what the tests produce")
    group.addoption("--long", action="store_true", help="tests with random inputs try many (`profiles`)")
    group.addoption("--slow", action="store_true", help="run the tests marked slow, too")
    group.addoption(
        "--assembler", action="store_true", help="tests that need tileiras must not be skipped for want of it"
    )
    group.addoption(
        "--fuzz-inputs", type=int, default=3000, metavar="N", help="inputs for each fuzz test (%(default)s)"
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ["TILEVERIFY_WORKER"] = "0"  # but for the tests of workers, which set it themselves
    profiles.choose(long=config.getoption("--long"))
    _share_folder(config)
    leftovers.looked_at_first(config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    op_coverage.looked_at_last(session)
    leftovers.looked_at_last(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    op_coverage.told(terminalreporter)
    leftovers.told(terminalreporter)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is made for thousands of tests stays until the end, so the collector need not go through it ever again."""
    gc.disable()
    try:
        imported.by_all(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    no_device = None if _has_cuda_device() else pytest.mark.skip(reason="no CUDA device")
    no_coq = None if shutil.which("coqc") else pytest.mark.skip(reason="no Coq (apt-get install coq)")
    too_slow = None if config.getoption("--slow") else pytest.mark.skip(reason="slow; run with --slow")
    for item in items:
        if "tile_cpp" in item.name:  # a kernel of the corpus that nvcc compiles
            item.add_marker(pytest.mark.assembler("nvcc"))
    mark_missing(config, items)
    for item in items:
        if no_device and item.get_closest_marker("gpu"):
            item.add_marker(no_device)
        if no_coq and item.get_closest_marker("coq"):
            item.add_marker(no_coq)
        if too_slow and item.get_closest_marker("slow"):
            item.add_marker(too_slow)
    items.sort(key=_takes_longer, reverse=True)


CAMPAIGNS = tuple(f"{ROOT / folder}{os.sep}" for folder in ("campaigns", "tests/soundness"))
LONGEST = (
    "test_no_contents_clear_a_refuted_kernel",
    "test_a_turn_is_waited_for_by_an_atomic_that_changes_nothing",
    "test_elements_of_nested_layouts_are_apart",
    "test_proofs_of_the_corpus_agree_with_runs",
)
"""Single tests elsewhere that take as long as campaigns."""


def _takes_longer(item: pytest.Item) -> bool:
    """Campaigns are long single tests: were they the last ones, one process would work and the others wait."""
    return str(item.path).startswith(CAMPAIGNS) or item.name.startswith(LONGEST)


def _has_cuda_device() -> bool:
    """Asks the driver itself, so that no GPU package is needed to find out."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def _share_folder(config: pytest.Config) -> None:
    """Where the processes of one run find each other's work (`shared`).

    A run inside a test of another one has that one's variables, and is no process of it.
    """
    if hasattr(config, "workerinput"):
        os.environ[FOLDER] = str(Path(config.option.basetemp).parent / "shared")


@pytest.fixture(scope="module", autouse=True)
def _what_is_kept_is_passed_over() -> None:
    """What lives when a module begins mostly stays: kernels that were compiled, verdicts, tables, what was imported.

    Going through all of it takes a second towards the end of a run, for Python's own collections and for each that a
    test asks for; so what is garbage by now goes, and the collector passes over the rest from here on.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _modules_are_kept() -> Iterator[None]:
    """What a test leaves on ``sys.path``, or loads a second time, decides what the tests after it mean.

    A class of a module that was loaded twice is two classes: paths that look alike are not equal.
    """
    path, loaded = list(sys.path), dict(sys.modules)
    yield
    left, sys.path[:] = list(sys.path), path
    assert left == path
    if not loaded.items() <= sys.modules.items():  # compares without a loop in Python, thousands of modules a test
        others = [name for name, module in loaded.items() if sys.modules.get(name) is not module]
        assert not list(filter(_lasts, others))


def _lasts(module: str) -> bool:
    """It is Python's or our own."""
    top = module.partition(".")[0]
    return top == "tileverify" or top in sys.stdlib_module_names


@pytest.fixture
def tileverify(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    """Runs a command line in this process, in an empty folder with a cache of its own."""
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("TILEVERIFY_TRACEBACK", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return command_line(capfd)


@pytest.fixture(scope="session")
def fork() -> Iterator[Forked]:
    """Runs a command line in a new process, for a sixth of what a real one costs."""
    with forked() as server:
        yield server


class Golden(str):
    """The text of a golden file; ``assert text == golden`` compares, or rewrites the file under ``--update-golden``."""

    __slots__ = ("path", "update")

    path: Path
    update: bool

    @classmethod
    def load(cls, path: Path, *, update: bool) -> Golden:
        golden = cls(path.read_text(encoding="utf-8") if path.exists() else "")
        golden.path = path
        golden.update = update
        return golden

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        if str.__eq__(self, other):
            return True
        if self.update:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(str(other), encoding="utf-8")
            return True
        if not self.path.exists():
            pytest.fail(f"{self.path} does not exist: run with --update-golden, then read what was written")
        return False

    __hash__ = str.__hash__


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden file of this test: ``golden/<test>[<parameters>].txt`` beside the test's module.

    One comparison a test: a second one would overwrite the first.
    """
    module = Path(request.node.path)
    name = re.sub(r"[^\w.=+-]+", "-", request.node.name).strip("-")
    path = module.parent / "golden" / module.stem / f"{name}.txt"
    return Golden.load(path, update=request.config.getoption("--update-golden"))


@pytest.fixture
def fuzz_inputs(request: pytest.FixtureRequest) -> int:
    """How many random inputs a fuzz test should try."""
    count = request.config.getoption("--fuzz-inputs")
    assert isinstance(count, int)
    return count
