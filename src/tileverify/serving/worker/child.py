"""A child of the worker becomes the process that asked: its folder, variables, streams and priority, its program."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import io
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from ...system import preloaded
from ...system.readings import stand_for
from .client import carries_out

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
        preloaded.watch(early, lambda name: _refused(connection, f"the folder of a source has a module '{name}'"))
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
