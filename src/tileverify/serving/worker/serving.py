"""The worker: loads everything, waits for requests, and forks a child for each of them.

It does no work itself, so nothing that it has loaded changes, and it does not grow.  It ends when nobody has asked for
a while, when what it has loaded is not what lies there any more, and when its socket is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...system.module_folders import foreign_folders
from .child import AskedLine, become
from .confinement import Seal, may_do_the_same, peer_of
from .place import WorkerPlace, place
from .rehearsal import load_everything
from .stamps import Changed, Stamps, stamps

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
