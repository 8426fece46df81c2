"""Asking a worker: a command line, and the streams that belong to it, for an exit code.

Whatever goes wrong on the way is no error: the caller does the work itself.  Nothing but the standard library is
imported here, because this is what a warm `check` waits for.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from .confinement import may_do_the_same, peer_of, seal_of
from .place import SWITCH, WorkerPlace, place, project_of

WITHOUT: Final = "--no-worker"
_SECONDS_TO_TAKE: Final = 5.0
"""How long a worker may take until it has taken a request, or said that it will not."""
INTERRUPTED: Final = 130

Overlay = Mapping[str, str]
"""Texts that stand for files, by their paths."""


class NoWorker(Exception):
    """There is none that answers; says why, for people who ask."""


def answered(words: Sequence[str]) -> int | None:
    """The exit code of ``tileverify WORDS...``, carried out by a worker with the streams of this process; ``None``:
    nothing has been done."""
    if not words or words[0] != "check" or {WITHOUT, "--watch", "--help", "-h"} & set(words):
        return None
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        with ask(words, (0, 1, 2)) as request:
            return _followed(request)
    except NoWorker as problem:
        if "-v" in words or "--verbose" in words:
            print(f"checked in this process: {problem}", file=sys.stderr)
        return None


class TakenRequest:
    """A request that a worker has taken."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._rest = b""
        self.wrote = False
        """Whether the answer has begun to be written."""

    def __enter__(self) -> TakenRequest:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def fileno(self) -> int:
        return self._connection.fileno()

    def interrupt(self) -> None:
        """As Ctrl-C would."""
        with contextlib.suppress(OSError):
            self._connection.sendall(b"i")

    def abandon(self) -> None:
        """Nobody waits any more; the work is ended."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def wait(self) -> int:
        """The exit code.  Raises `NoWorker` if the work came to no end."""
        while True:
            line = self._line()
            match line.split(" ", 1):
                case ["wrote"]:
                    self.wrote = True
                case ["exit", code] if code.isdecimal():
                    return int(code)
                case ["signal", number]:
                    raise NoWorker(f"the work was ended by signal {number}")
                case ["refused", reason]:
                    raise NoWorker(reason)
                case _:
                    raise NoWorker("the worker ended")

    def _line(self) -> str:
        while b"\n" not in self._rest:
            try:
                more = self._connection.recv(4096)
            except OSError:
                more = b""
            if not more:
                return ""
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")


def ask(
    words: Sequence[str], streams: Iterable[int], overlay: Overlay | None = None, folder: str | None = None
) -> TakenRequest:
    """Give ``tileverify WORDS...`` to the worker of this process.

    ``streams``: descriptors that are its stdin, stdout and stderr; ``folder``: where it works, here if not given.
    Raises `NoWorker`.
    """
    folder = folder or os.getcwd()
    at = place(project_of(folder))
    if at is None:
        raise NoWorker("there can be no worker here")
    for descriptor in streams:
        try:
            os.fstat(descriptor)
        except OSError:
            raise NoWorker("one of the streams is closed") from None
    connection = connect(at)
    if not may_do_the_same(connection):
        connection.close()
        raise NoWorker("the worker is confined in another way than this process")
    mask = os.umask(0o077)
    os.umask(mask)
    document = {
        "words": list(words),
        "program": sys.argv[0],
        "folder": folder,
        "environment": dict(os.environ),
        "umask": mask,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": sorted(os.sched_getaffinity(0)),
        "overlay": dict(overlay or {}),
        "seal": seal_of(peer_of(connection)[0]),
    }
    try:
        data = json.dumps(document).encode()
        socket.send_fds(connection, [struct.pack("!I", len(data))], list(streams))
        connection.sendall(data)
        connection.settimeout(None)
    except OSError as error:
        connection.close()
        raise NoWorker(f"the worker does not listen ({error})") from None
    return TakenRequest(connection)


def connect(at: WorkerPlace) -> socket.socket:
    """A connection to the worker of ``at``, which is one of this user's.  Raises `NoWorker`."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_SECONDS_TO_TAKE)
    try:
        connection.connect(at.address)
    except OSError:
        connection.close()
        raise NoWorker("no worker is running") from None
    if peer_of(connection)[1] != os.geteuid():
        connection.close()
        raise NoWorker("the worker belongs to another user")
    return connection


def stop(at: WorkerPlace) -> bool:
    """Ask the worker of ``at`` to end, when what it has begun is done; whether there is one."""
    try:
        with connect(at) as connection:
            data = json.dumps({"words": ["stop"]}).encode()
            connection.sendall(struct.pack("!I", len(data)) + data)
            connection.recv(1)
    except (NoWorker, OSError):
        return False
    return True


def _followed(request: TakenRequest) -> int | None:
    """Wait, and hand Ctrl-C on; the exit code, or ``None`` if the work must be done here."""
    interrupts = 0
    while True:
        try:
            return request.wait()
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts > 1:
                return INTERRUPTED
            request.interrupt()
        except NoWorker:
            if interrupts:
                return INTERRUPTED
            if request.wrote:  # doing it again would say it twice
                print("error: the worker ended while the report was written", file=sys.stderr)
                return 2
            raise


# ------------------------------------------------------------------------------------------------- starting
_carried_out = False


def carries_out() -> None:
    """This process does what a worker was asked for."""
    global _carried_out
    _carried_out = True


_BOOT: Final = "import sys; sys.path[:] = {path!r}; from tileverify.commands.cli import main; main()"


def may_start() -> bool:
    """Whether a worker is to be started for later command lines: somebody is at a terminal, or asks for it."""
    said = "0" if _carried_out else os.environ.get(SWITCH)
    if said in ("0", "1"):
        return said == "1"
    return not os.environ.get("CI") and sys.stderr is not None and sys.stderr.isatty()


def start(*, seconds: float = 0, folder: str | None = None) -> bool:
    """Start the worker of this process for the project of ``folder`` (here, if not given), if there can be one, and
    wait so long for it to listen; whether it does."""
    at = place(None if folder is None else project_of(folder))
    if at is None or os.environ.get(SWITCH) == "0":
        return False
    started = None
    if not is_running(at):
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *flags, "-c", _BOOT.format(path=sys.path), "worker", "serve", at.key, at.project]
        try:
            with open(at.log, "wb", opener=lambda name, how: os.open(name, how, 0o600)) as log:
                started = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
                )
        except OSError:
            return False
    until = time.monotonic() + seconds
    while not (running := is_running(at)) and time.monotonic() < until:
        if started is not None and started.poll():
            break
        time.sleep(0.02)
    return running


def is_running(at: WorkerPlace) -> bool:
    """Whether a worker listens there."""
    try:
        connect(at).close()
    except NoWorker:
        return False
    return True
