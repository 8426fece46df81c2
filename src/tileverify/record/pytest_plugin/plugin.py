"""pytest plugin: ``pytest --tileverify`` verifies every ``cuda.tile`` launch that a test makes.

A test whose launch is refuted fails, with the kernel's report as a section of its failure; ``--tileverify-strict``
wants every launch proved.  ``@pytest.mark.tileverify(allow="undecided")`` lets more pass in one test, and
``reference=`` says what its kernels have to compute.  With ``--tileverify-no-gpu`` a GPU is imitated and kernels are
run by the interpreter.

Without one of its options nothing but this file is loaded.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from .judged import Failure
    from .launch_session import LaunchSession
    from .stated_references import StatedReference

_KEY: Final[pytest.StashKey[LaunchSession]] = pytest.StashKey()
_SECTION: Final = "tileverify"
_MARKER: Final = (
    'tileverify(allow=..., reference=...): verdicts that this test\'s launches may have beside "proved": "undecided", '
    '"refuted", or a list of them; what its kernels have to compute: a function, "FILE.py::FUNCTION", or a table of '
    "these by name of the kernel (with --tileverify)"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tileverify", "verification of launches of cuda.tile and Triton")
    group.addoption(
        "--tileverify", action="store_true", help="Verify every cuda.tile launch; fail tests that make a refuted one."
    )
    group.addoption(
        "--tileverify-strict", action="store_true", help="... or one that is not proved. Implies --tileverify."
    )
    group.addoption(
        "--tileverify-no-gpu",
        action="store_true",
        help="Imitate a GPU: tensors stay on the CPU, kernels run in the interpreter. Implies --tileverify.",
    )
    group.addoption(
        "--tileverify-skip-launches",
        action="store_true",
        help="With --tileverify-no-gpu: kernels do not run; outputs stay zero, and torch's comparisons pass.",
    )
    parser.addini("tileverify_strict", "Like --tileverify-strict.", type="bool", default=False)
    parser.addini(
        "tileverify_allow",
        "Kernels (name patterns as of fnmatch) whose launches need not be proved; refuted ones fail all the same.",
        type="linelist",
        default=[],
    )
    parser.addini(
        "tileverify_references",
        "PATTERN = FILE.py::FUNCTION: what kernels with such names have to compute, over the real numbers.",
        type="linelist",
        default=[],
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest.py can import torch or cuda.tile."""
    options = early_config.known_args_namespace
    if options.tileverify or options.tileverify_strict or options.tileverify_no_gpu:
        from .launch_session import LaunchSession

        early_config.stash[_KEY] = LaunchSession(
            no_gpu=options.tileverify_no_gpu, kernels_run=not options.tileverify_skip_launches
        )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    session = config.stash.get(_KEY, None)
    if session is not None:
        makes_launches = hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None)

        session.start(
            strict=config.option.tileverify_strict or bool(config.getini("tileverify_strict")),
            allowed_kernels=config.getini("tileverify_allow"),
            children=makes_launches,
            references=of_configuration(config),
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.stash.get(_KEY, None)
    if session is not None:
        session.close()


# ------------------------------------------------------------------------------------------------------ one test
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _phase(item, "setup"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _phase(item, "call"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _phase(item, "teardown"))


def _phase(item: pytest.Item, when: str) -> Generator[None, object, object]:
    """Setup, call or teardown of a test: the launches that it makes are its own."""
    session = item.config.stash.get(_KEY, None)
    if session is None:
        return (yield)

    session.state(of_item(item))
    outcome = None
    skipped: BaseException | None = None
    try:
        outcome = yield
    except pytest.skip.Exception as error:
        skipped = error
    except Exception as error:
        _end_at_the_test(error)
        raise
    finally:
        # Also of a test that fails by itself: its report says what its launches were.
        bad = session.not_passed(_allowed(item))
        for failure in bad:
            item.add_report_section(when, _SECTION, failure.report or failure.sentence)
    if bad:
        pytest.fail("\n".join(_told(bad)), pytrace=False)
    if skipped is not None:
        raise skipped
    return outcome


def _end_at_the_test(error: Exception) -> None:
    """Cut the frames of this package off the end of a traceback: a launch that fails shows the line that makes it."""
    from ...system.own_files import PACKAGE

    others = [
        frame
        for frame in _frames(error.__traceback__)
        if not Path(frame.tb_frame.f_code.co_filename).is_relative_to(PACKAGE)
    ]
    if others:
        others[-1].tb_next = None


def _frames(frame: TracebackType | None) -> Iterator[TracebackType]:
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _told(bad: Sequence[Failure]) -> Iterator[str]:
    for heading, unequal in (("not verified", False), ("not what their references say", True)):
        sentences = [failure.sentence for failure in bad if failure.unequal is unequal]
        if sentences:
            yield f"launches that are {heading}:"
            yield from (f"  {sentence}" for sentence in sentences)


def _allowed(item: pytest.Item) -> list[str]:
    allowed: list[str] = []
    for mark in item.iter_markers("tileverify"):
        given = mark.kwargs.get("allow", ())
        words = [given] if isinstance(given, str) else list(given)
        if (
            mark.args
            or set(mark.kwargs) - {"allow", "reason", "reference"}
            or not set(words) <= {"undecided", "refuted"}
        ):
            raise pytest.UsageError(
                f"{item.nodeid}: @pytest.mark.tileverify takes allow=... with 'undecided' or 'refuted', "
                "reference=..., and reason=..."
            )
        allowed += words
    return allowed


# ------------------------------------------------------------------------------------------------ the whole run
def pytest_collection_finish(session: pytest.Session) -> None:
    launches = session.config.stash.get(_KEY, None)
    if launches is not None:
        launches.outside_tests()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    launches = session.config.stash.get(_KEY, None)
    if launches is None:
        return
    launches.outside_tests()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["tileverify"] = launches.data()
    elif launches.outside and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist has ended."""
    launches = node.config.stash.get(_KEY, None)
    data = getattr(node, "workeroutput", {}).get("tileverify")
    if launches is not None and data is not None:
        launches.add_all(data)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    launches = config.stash.get(_KEY, None)
    if launches is None:
        return
    terminalreporter.write_sep("-", "tileverify")
    for failure in launches.outside:
        terminalreporter.write_line(f"outside of tests: {failure.sentence}")
        terminalreporter.write_line(failure.report)
    for sentence in launches.tolerated:
        terminalreporter.write_line(f"let pass: {sentence}")
    for sentence in launches.conditional:
        terminalreporter.write_line(f"under conditions: {sentence}")
    for sentence in launches.undecided:
        terminalreporter.write_line(f"not compared: {sentence}")
    for line in launches.lines():
        terminalreporter.write_line(line)


# -------------------------------------------------------------------------------------------------- references of tests
# What the tests and the settings of a pytest run state, with mistakes as pytest tells them.


def of_configuration(config: pytest.Config) -> list[StatedReference]:
    """The ini option ``tileverify_references``, whose files are relative to the folder of that file."""
    from ...system.errors import UsageError
    from .stated_references import of_settings

    folder = config.rootpath if config.inipath is None else config.inipath.parent
    try:
        return of_settings(config.getini("tileverify_references"), folder)
    except UsageError as error:
        raise pytest.UsageError(error.message) from None


def of_item(item: pytest.Item) -> list[StatedReference]:
    """``reference=`` of the markers of a test, the nearest first, whose files are relative to the test's own."""
    from ...system.errors import UsageError
    from .stated_references import of_marker

    found: list[StatedReference] = []
    for mark in item.iter_markers("tileverify"):
        if "reference" in mark.kwargs:
            try:
                found += of_marker(mark.kwargs["reference"], item.path.parent)
            except UsageError as error:
                raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.tileverify: {error.message}") from None
    return found
