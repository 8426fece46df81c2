"""A sandbox of each kind, started once, and things that must stay as they are."""

from __future__ import annotations

import hashlib
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.profiles import tries

from tileverify.gating import IsolationUnavailable, Sandbox, gate

KINDS = ("landlock", "bubblewrap")
SECRET = "tell-nobody-7f3a"


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[[str], Sandbox]]:
    """The sandbox of a kind, which a process starts once: that takes longer than most tests.

    Raises `IsolationUnavailable` where the kind cannot be had.
    """
    with ExitStack() as stack:
        yield cache(lambda kind: stack.enter_context(Sandbox(kind)))


@pytest.fixture(scope="session", autouse=True)
def _no_further_sandbox(started: Callable[[str], Sandbox]) -> Iterator[None]:
    """What judges in this process, and names no sandbox, has that of the tests: starting one takes seconds."""

    def own(kind: str) -> Sandbox:
        if kind != "auto":
            return started(kind)
        for each in KINDS:
            with suppress(IsolationUnavailable):
                return started(each)
        return Sandbox(kind)  # says why there is none

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "Sandbox", own)
        yield


@pytest.fixture(params=KINDS)
def either_sandbox(request: pytest.FixtureRequest, started: Callable[[str], Sandbox]) -> Sandbox:
    """For what is said of a submission whatever its walls are made of: one kind in a usual run, both with `--long`.

    Which one hangs on the test's name, so that each kind has its share; where it cannot be had, the other is taken.
    """
    can_be_had = []
    for kind in KINDS:
        with suppress(IsolationUnavailable):
            started(kind)
            can_be_had.append(kind)
    if request.param not in can_be_had:
        pytest.skip(f"no sandbox of the kind {request.param} can be had")
    name = request.node.nodeid.replace(request.param, "")
    if tries(short=True, long=False) and request.param != can_be_had[zlib.crc32(name.encode()) % len(can_be_had)]:
        pytest.skip("asked of the other kind of sandbox; of both with --long")
    return started(request.param)


@pytest.fixture(scope="session", params=KINDS)
def sandbox(request: pytest.FixtureRequest, started: Callable[[str], Sandbox]) -> Sandbox:
    """Where a kind cannot be had its tests are skipped, and told so; one kind there must be."""
    try:
        return started(request.param)
    except IsolationUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def one_sandbox(started: Callable[[str], Sandbox]) -> Sandbox:
    """The first kind that can be had, for what is said of a submission behind walls of any kind."""
    for kind in KINDS:
        with suppress(IsolationUnavailable):
            return started(kind)
    pytest.skip("no kind of sandbox can be had")


@dataclass(frozen=True)
class Canary:
    """A file, a folder and a port that a submission must not touch."""

    folder: Path
    file: Path
    listener: socket.socket
    before: tuple[tuple[str, ...], ...]

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def put_into(self, source: str) -> str:
        values = {"{folder}": str(self.folder), "{file}": str(self.file), "{port}": str(self.port)}
        for name, value in values.items():
            source = source.replace(name, value)
        return source

    def touched(self) -> str | None:
        """What is not as it was."""
        if state(self.folder) != self.before:
            return f"the folder changed: {state(self.folder)}"
        try:
            self.listener.accept()
        except BlockingIOError:
            return None
        return "somebody connected"


def state(folder: Path) -> tuple[tuple[str, ...], ...]:
    """Names, kinds, rights, times and contents of everything below a folder."""
    rows = []
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        rows.append((str(path), oct(about.st_mode), str(about.st_mtime_ns), str(about.st_nlink), digest))
    return tuple(rows)


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    monkeypatch.setenv("TILEVERIFY_TEST_SECRET", SECRET)
    folder = tmp_path / "canary"
    folder.mkdir()
    # Nothing but the sandbox shall keep anybody out, whoever runs the tests.
    folder.chmod(0o777)
    for path in folder.parents:
        if path.is_relative_to(tmp_path.parents[1]):
            path.chmod(0o1777)  # sticky: other tests have caches there, which nobody may put others in place of
    file = folder / "canary.py"
    file.write_text(SECRET)
    file.chmod(0o666)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    with listener:
        yield Canary(folder, file, listener, state(folder))
