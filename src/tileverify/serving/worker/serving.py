"""The worker: loads everything, waits for requests, and forks a child for each of them.

It does no work itself, so nothing that it has loaded changes, and it does not grow.  It ends when nobody has asked for
a while, when what it has loaded is not what lies there any more, and when its socket is gone.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import json
import linecache
import os
import pkgutil
import random
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from ...pipeline import CheckOptions, check_paths
from ...pipeline.unit_summary import solver_version
from ...pipeline.verdict_cache import generation
from ...results import Verdict
from ...system import own_files
from ...system.own_files import foreign_folders, importable_in, own_sources
from ...system.readings import stand_for
from .client import Seal, WorkerPlace, carries_out, may_do_the_same, peer_of, place

IDLE_SECONDS: Final = 15 * 60
_SECONDS_TO_ASK: Final = 5.0
"""How long a request may take until it is here, once its first byte is."""
_SECONDS_TO_END: Final = 2.0
"""From asking a child to end to ending it."""
_LARGEST: Final = 1 << 28
_LOST: Final = 70
"""The exit code of a child that has never become what it should."""
STOP: Final = ("stop",)
"""Words that are no command line: the worker shall end."""

Program = Callable[[Sequence[str]], None]
"""Carries out a command line; raises SystemExit at the end."""


@dataclass
class _Child:
    """``connection``: to who waits for it; ``None``: nobody does, and it has to be gone when it ``ends``, of
    `time.monotonic`."""

    pid: int
    connection: socket.socket | None
    ends: float = 0.0


@dataclass
class _Server:
    place: WorkerPlace
    program: Program
    stamps: Stamps
    early: frozenset[str]
    listener: socket.socket
    lock: int
    children: list[_Child] = field(default_factory=list)
    last: float = field(default_factory=time.monotonic)
    ending: bool = False
    seal: Seal = field(default_factory=Seal)
    _wakes: tuple[int, int] = field(default_factory=os.pipe)

    def serve(self) -> None:
        """Until it is time to end, and all children have ended."""
        wakes, wake = self._wakes
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, lambda number, frame: self._end())
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        while self.children or self._is_wanted():
            waiting = {each.connection.fileno(): each for each in self.children if each.connection is not None}
            listening = [] if self.ending else [self.listener]
            watched = [wakes, *(each.fileno() for each in listening), *waiting]
            ready, _, _ = select.select(watched, [], [], 1.0)
            if wakes in ready:
                os.read(wakes, 4096)
            for descriptor in ready:
                if descriptor in waiting:
                    _heard(waiting[descriptor])
            self._reap()
            if self.listener.fileno() in ready and not self.ending:
                self._accept()

    def _is_wanted(self) -> bool:
        idle = time.monotonic() - self.last > IDLE_SECONDS
        return not (self.ending or idle) and os.path.exists(self.place.address)

    def _end(self) -> None:
        """Take no more requests, and make way for another worker."""
        if not self.ending:
            self.ending = True
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.place.address)

    def _accept(self) -> None:
        connection, _ = self.listener.accept()
        connection.settimeout(_SECONDS_TO_ASK)
        try:
            if peer_of(connection)[1] != os.geteuid():
                connection.close()
                return
            asked, streams = _received(connection)
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return
        self.last = time.monotonic()
        if asked.words == STOP:
            connection.close()
            self._end()
            return
        if asked.seal != self.seal.secret or not may_do_the_same(connection):
            _refuse(connection, streams, "this process is confined in another way than the worker")
            return
        if (what := self.stamps.changed()) is not None:
            _refuse(connection, streams, f"'{what}' has changed since the worker was started")
            self._end()
            return
        self._fork(connection, asked, streams)

    def _fork(self, connection: socket.socket, asked: AskedLine, streams: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                self.listener.close()
                for descriptor in (self.lock, self.seal.descriptor, *self._wakes):
                    os.close(descriptor)
                for child in self.children:
                    if child.connection is not None:
                        child.connection.close()
                become(asked, streams, connection, self.early, self.program)
            finally:
                os._exit(_LOST)
        for each in streams:
            os.close(each)
        self.children.append(_Child(pid, connection))

    def _reap(self) -> None:
        for child in list(self.children):
            if child.connection is None and time.monotonic() > child.ends:
                _signal(child.pid, signal.SIGKILL)
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if not pid:
                continue
            if child.connection is not None:
                if os.WIFSIGNALED(status):
                    with contextlib.suppress(OSError):
                        child.connection.sendall(f"signal {os.WTERMSIG(status)}\n".encode())
                child.connection.close()
            self.children.remove(child)
            self.last = time.monotonic()


def _refuse(connection: socket.socket, streams: Sequence[int], reason: str) -> None:
    """Who asked does the work himself."""
    with contextlib.suppress(OSError):
        connection.sendall(f"refused {reason}\n".encode())
    connection.close()
    for each in streams:
        os.close(each)


def _heard(child: _Child) -> None:
    """The other end has said that it wants the child to stop, or has gone."""
    assert child.connection is not None
    try:
        said = child.connection.recv(64, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
    except OSError:
        said = b""
    _signal(child.pid, signal.SIGINT)
    if not said:
        child.connection.close()
        child.connection, child.ends = None, time.monotonic() + _SECONDS_TO_END


def serve(key: str, project: str, program: Program) -> None:
    """Be the worker ``key`` of ``project``; returns when there is one already, and when it is time to end.

    Raises `Changed` where this process cannot be one.
    """
    since_ns = time.time_ns()
    at = place(project)
    if at is None or at.key != key:
        raise Changed("this process is not like the one that asked for the worker")
    with open(os.open(at.lock, os.O_RDWR | os.O_CREAT, 0o600), "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        lock.truncate()
        lock.write(json.dumps({"pid": os.getpid(), "project": project, "since": int(time.time())}))
        lock.flush()
        early = load_everything()

        loaded = stamps(since_ns, [str(folder) for folder in foreign_folders()])
        gc.collect()
        gc.freeze()  # what is loaded is never looked at again, so children share its pages
        with contextlib.suppress(FileNotFoundError):
            os.unlink(at.address)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(at.address)
            listener.listen(16)
            try:
                _Server(at, program, loaded, early, listener, lock.fileno()).serve()
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(at.address)


def _received(connection: socket.socket) -> tuple[AskedLine, list[int]]:
    """A request and its streams; raises OSError, ValueError, KeyError or TypeError for what is none."""
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    try:
        if len(head) != 4:
            raise ValueError("no request")
        (size,) = struct.unpack("!I", head)
        if size > _LARGEST:
            raise ValueError("too large")
        data = bytearray()
        while len(data) < size:
            more = connection.recv(min(size - len(data), 1 << 20))
            if not more:
                raise ValueError("cut short")
            data += more
        asked = AskedLine.of(json.loads(data))
        if len(streams) != 3 and asked.words != STOP:
            raise ValueError("no streams")
    except BaseException:
        for each in streams:
            os.close(each)
        raise
    connection.settimeout(None)
    return asked, streams


def _signal(pid: int, number: int) -> None:
    """To a child and the processes that it has started."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:  # it has not made a group of its own yet
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


# ---------------------------------------------------------------------------------------------------------------- child
# A child of the worker becomes the process that asked: its folder, variables, streams and priority, its program.


_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A request, as the client has written it (`client.ask`).  ``seal``: what it has read in this process."""

    words: tuple[str, ...]
    program: str = ""
    folder: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    umask: int = 0o077
    nice: int = 0
    processors: tuple[int, ...] = ()
    overlay: Mapping[str, str] = field(default_factory=dict)
    seal: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> AskedLine:
        """Raises TypeError for another document."""
        fields = {**document, "words": tuple(document["words"]), "processors": tuple(document.get("processors", ()))}
        return cls(**fields)


def become(
    asked: AskedLine,
    streams: Sequence[int],
    connection: socket.socket,
    early: frozenset[str],
    program: Callable[[Sequence[str]], None],
) -> NoReturn:
    """Carry out what is asked, say the exit code, and end."""
    code = 2
    carries_out()
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        try:
            _take_over(asked, streams, connection)
        except Exception as error:  # a folder that is gone, say; nothing was done yet
            _refused(connection, f"the worker could not become this process ({type(error).__name__}: {error})")
        own_files.watch(early, lambda name: _refused(connection, f"the folder of a source has a module '{name}'"))
        stand_for(asked.overlay)
        code = _run(asked.words, program)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who waits will be gone in a moment
        _say(connection, f"exit {code}\n")
        os._exit(code)


def _take_over(asked: AskedLine, streams: Sequence[int], connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), sys.stdin.encoding, sys.stdin.errors)
    sys.stdout = sys.__stdout__ = _writer(_Telling(connection), sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _writer(io.FileIO(2, "w", closefd=False), sys.stderr, True)  # type: ignore[misc]
    os.chdir(asked.folder)
    os.umask(asked.umask)
    os.environ.clear()
    os.environ.update(asked.environment)
    time.tzset()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, asked.nice)
        os.sched_setaffinity(0, asked.processors)
    sys.argv = [asked.program, *asked.words]
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    random.seed()


class _Telling(io.FileIO):
    """Stdout; says when the first byte is written, from where on the work cannot be done again."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(1, "w", closefd=False)
        self._connection: socket.socket | None = connection

    def write(self, data: Any, /) -> int:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            _say(connection, "wrote\n")
        return super().write(data)


def _writer(raw: io.FileIO, like: Any, always: bool = False) -> io.TextIOWrapper:
    """A text stream as Python makes it at its start; ``always``: written line by line, whatever it leads to."""
    lines = always or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), like.encoding, like.errors, line_buffering=lines)


def _run(words: Sequence[str], program: Callable[[Sequence[str]], None]) -> int:
    code = 0
    try:
        program(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    # As Python ends: first what threads wait for, pools of processes among it, then what was registered.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code


def _refused(connection: socket.socket, reason: str) -> NoReturn:
    """A process of its own has to do the work: where a user's folder has a module of a name that is loaded already, it
    finds the right one."""
    _say(connection, f"refused {' '.join(reason.split())}\n")
    os._exit(0)


def _say(connection: socket.socket, line: str) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(line.encode(errors="replace"))


# ------------------------------------------------------------------------------------------------------------ rehearsal
# Loads what a check may need, and tells what a check that starts anew would have loaded later.


_PACKAGES: Final = ("contract", "results", "frontend", "verifier", "backend", "reports", "pipeline", "commands")
_LEFT_OUT: Final = ("second_solver", "tileverify.backend.gpu", "__main__")
"""What needs an extra or a GPU."""

_KERNEL: Final = """import cuda.tile as ct

@ct.kernel
def right(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))

@ct.kernel
def wrong(x, out, TILE: ct.Constant[int]):
    ct.store(out, index=(ct.bid(0) // 2,), tile=ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
"""


def load_everything() -> frozenset[str]:
    """The names of modules that a new process would not have when the first file of a user is run.

    A right kernel and a wrong one are checked on the way, as they are in a new process.
    """
    before: set[str] = set()
    own_files.call_first(lambda: before.update(sys.modules))
    with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
        file = Path(folder, "rehearsal.py")
        file.write_text(_KERNEL, encoding="utf-8")
        report = check_paths([str(file)], options=CheckOptions())
        for name in [name for name, each in sys.modules.items() if getattr(each, "__file__", None) == str(file)]:
            del sys.modules[name]
        linecache.cache.pop(str(file), None)
    assert {result.verdict for result in report.results} == {Verdict.PROVED, Verdict.REFUTED}, report
    root = __name__.split(".")[0]
    for package in _PACKAGES:
        found = importlib.import_module(f"{root}.{package}")
        for info in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            if not any(part in info.name for part in _LEFT_OUT):
                try:
                    importlib.import_module(info.name)
                except ImportError:  # it needs an extra that is not installed
                    continue
    generation(solver_version())  # hashes the package; `stamps` notices what changes it
    later = set(sys.modules) - before
    return frozenset(name.partition(".")[0] for name in later if _is_told_apart(name, before))


def _is_told_apart(name: str, before: set[str]) -> bool:
    """Whether a folder that has a module of this name's first part could have had it imported instead."""
    top = name.partition(".")[0]
    return top not in before or getattr(sys.modules.get(top), "__file__", None) is None


# --------------------------------------------------------------------------------------------------------------- stamps
# What a worker has loaded, and whether it would load the same again.
#
# A package that is edited or replaced where it is installed makes a worker out of date, and so does a module that comes
# to lie before a loaded one on the module path.


_Stamp = tuple[int, int, int, int]


class Changed(Exception):
    """What is loaded is not what lies there."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """``files`` as they were when they were loaded (``None``: not there); ``shadows``: loaded names that each foreign
    folder has, too; ``folders``: those where packages are installed, and when one came or went."""

    files: dict[str, _Stamp | None]
    shadows: dict[str, frozenset[str]]
    folders: dict[str, int | None]

    def changed(self) -> str | None:
        """The first file or folder that is not as it was."""
        for file, stamp in self.files.items():
            if _stamp(file) != stamp:
                return file
        tops = _tops()
        for folder, names in self.shadows.items():
            if _shadows(folder, tops) != names:
                return folder
        for folder, changed in self.folders.items():
            if _time(folder) != changed:
                return folder
        return None


def stamps(since_ns: int, foreign: Iterable[str]) -> Stamps:
    """Of everything that this process has loaded since ``since_ns`` (of the system's clock), at the earliest.

    Raises `Changed` for a file that was written after that: what was loaded may be what was there before.
    """
    files: dict[str, _Stamp | None] = {}
    for file in _loaded():
        stamp = _stamp(file)
        if stamp is None or max(stamp[:2]) >= since_ns:
            raise Changed(f"'{file}' was changed while it was loaded")
        files[file] = stamp
    outside = []
    for entry in foreign:
        if os.path.isdir(entry):
            outside.append(entry)
        else:  # an archive, or what may become one
            files[entry] = _stamp(entry)
    tops = _tops()
    installed = {entry: _time(entry) for entry in sys.path if entry not in outside}
    return Stamps(files, {each: _shadows(each, tops) for each in outside}, installed)


def _loaded() -> set[str]:
    """The files of all modules and libraries in this process, and all modules of this package."""
    found = {str(path) for path in own_sources()}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            found.add(file)
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            place = line.split(maxsplit=5)[5:]
            if place and place[0].startswith("/") and not place[0].startswith(("/dev/", "/memfd:", "/proc/")):
                found.add(place[0].rstrip("\n"))
    return {file for file in found if os.path.isabs(file)}


def _stamp(file: str) -> _Stamp | None:
    """Time of change of contents, and of anything; size and number of the file; ``None`` if there is none."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _time(folder: str) -> int | None:
    """When an entry of the folder was last made or removed, as installing a package does."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None


def _tops() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in sys.modules)


def _shadows(folder: str, tops: frozenset[str]) -> frozenset[str]:
    return frozenset(importable_in(folder) & tops)
