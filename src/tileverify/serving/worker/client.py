"""Asking a worker: a command line, and the streams that belong to it, for an exit code.

Whatever goes wrong on the way is no error: the caller does the work itself.  Nothing but the standard library is
imported here, because this is what a warm `check` waits for.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...system.own_files import PACKAGE

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


# ---------------------------------------------------------------------------------------------------------------- place
# Which worker belongs to this process, and where its socket lies.
#
# A worker stands for a process that would have been started just now, so it is known by everything that such a process
# would have from its start: the interpreter, its flags and module path, the variables that are read when something is
# loaded, and what the system lets it do (`confinement`).  What changes between two requests without a restart is not
# part of it (see `serving`), and what a request brings along is not either: its folder, other variables, streams.


SWITCH: Final = "TILEVERIFY_WORKER"
"""The variable: 0 to do without a worker, 1 to start one without being asked from a terminal."""

_READ_WHEN_LOADED: Final = (
    "CUDA", "GLIBC_", "LANG", "LC_", "LD_", "LOCPATH", "MALLOC_", "MKL_", "NPY_", "NUMPY", "OMP_", "OPENBLAS_",
    "PYTHON", "TZ", "Z3",
)  # fmt: skip
"""What the names of variables have in them that libraries and Python read once."""

_PROTOCOL: Final = 2
_MARKS: Final = ("pyproject.toml", ".git")
_LONGEST_ADDRESS: Final = 100
"""Bytes; the system allows 107."""


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """``folder``: this user's alone; ``key``: of the worker, in hexadecimal; ``project``: the folder that it is for."""

    folder: str
    key: str
    project: str

    @property
    def address(self) -> str:
        """Of the socket."""
        return os.path.join(self.folder, f"{self.key}.socket")

    @property
    def lock(self) -> str:
        """Held by a worker as long as it lives; its text says which one it is."""
        return os.path.join(self.folder, f"{self.key}.lock")

    @property
    def log(self) -> str:
        """What a worker says that goes wrong."""
        return os.path.join(self.folder, f"{self.key}.log")


def place(project: str | None = None) -> WorkerPlace | None:
    """The place of the worker for this process, and for ``project`` (the one it works in, if not given).

    ``None`` where there can be none: another system, a folder that is not this user's alone, a module path that depends
    on the working folder, a filter of seccomp that nobody can compare.
    """
    if sys.platform != "linux" or not all(os.path.isabs(entry) for entry in sys.path):
        return None
    folder = folder_of_sockets()
    try:
        if folder is None or not readable() or not is_own_folder(folder, make=True):
            return None
        project = project or project_of(os.getcwd())
        key = hashlib.sha256(json.dumps([project, _surroundings()]).encode()).hexdigest()[:32]
    except OSError:
        return None
    found = WorkerPlace(folder, key, project)
    return found if len(os.fsencode(found.address)) <= _LONGEST_ADDRESS else None


def folder_of_sockets() -> str | None:
    """Where this user's workers have their sockets; ``None`` where there are no users."""
    if not hasattr(os, "geteuid"):
        return None
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime) and is_own_folder(runtime):
        return os.path.join(runtime, "tileverify")
    return f"/tmp/tileverify-{os.geteuid()}"


def is_own_folder(folder: str, *, make: bool = False) -> bool:
    """Whether ``folder`` is one that nobody but this user can write to, read, or replace; made if it may be."""
    if make:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        except OSError:
            return False
    try:
        status, above = os.lstat(folder), os.stat(os.path.dirname(folder))
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        return False
    # In a sticky folder, as /tmp is, nobody may put another entry in the place of somebody else's.
    replaceable = above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX
    return above.st_uid in (0, os.geteuid()) and not replaceable


def project_of(folder: str) -> str:
    """The nearest folder above that looks like a project's, else ``folder`` itself."""
    at = folder
    while True:
        if any(os.path.exists(os.path.join(at, mark)) for mark in _MARKS):
            return at
        above = os.path.dirname(at)
        if above == at:
            return folder
        at = above


def _surroundings() -> list[object]:
    variables = {name: value for name, value in os.environ.items() if any(each in name for each in _READ_WHEN_LOADED)}
    streams = [getattr(each, "encoding", None) for each in (sys.stdin, sys.stdout, sys.stderr)]
    return [
        _PROTOCOL, sys.executable, sys.version, list(sys.flags), sys.path, str(PACKAGE), variables, confinement(),
        streams,
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- confinement
# What the system lets a process do: a worker answers those alone who may do what it may, no less and no more.
#
# Nearly all of it can be read in ``/proc``.  The rules of Landlock cannot, nor those of AppArmor and the like, but they
# keep a process from looking into one that they do not bind.  So who asks has to look into the worker: it reads the
# `Seal` there, and hands it over.  A filter of seccomp cannot be read either; `readable` says where that matters.
#
# Nothing but the standard library is imported here, because this is what a warm `check` waits for.


_STATUS: Final = frozenset((
    "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
    "Seccomp_filters",
))  # fmt: skip
_SPACES: Final = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
_PEER_HANDLE: Final = 77  # SO_PEERPIDFD, since Linux 6.5
_MARK: Final = "tileverify-"


def confinement(process: int | str = "self") -> list[object]:
    """Users, capabilities, namespaces and so on; raises OSError of a process that this one may not look into."""
    at = f"/proc/{process}"
    root = os.stat(f"{at}/root")
    spaces = [_space(f"{at}/ns/{name}") for name in _SPACES]
    return [sorted(_status(process).items()), spaces, [root.st_dev, root.st_ino], _text(f"{at}/limits"), _label(at)]


def readable() -> bool:
    """Whether equal `confinement` means equal filters of seccomp: this process has those of its container alone.

    Filters are never removed, and all processes of a container have those of its first one.
    """
    own = _status("self")
    return own.get("Seccomp", "0") == "0" or (
        "Seccomp_filters" in own and own["Seccomp_filters"] == _status(1).get("Seccomp_filters")
    )


def may_do_the_same(connection: socket.socket) -> bool:
    """Whether the process at the other end has the `confinement` of this one."""
    pid, _ = peer_of(connection)
    try:
        handle = _handle(connection, pid)
        try:
            # Asked last whether it lives: else its number may be another's by now.
            return confinement(pid) == confinement() and not select.select([handle], [], [], 0)[0]
        finally:
            os.close(handle)
    except OSError:
        return False


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process at the other end, and its user."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, user, _ = struct.unpack("3i", credentials)
    return pid, user


class Seal:
    """A secret that lies in this process; who may look into the process can read it, and nobody else."""

    def __init__(self) -> None:
        self.secret: Final = os.urandom(16).hex()
        self.descriptor: Final = os.memfd_create(_MARK + self.secret)


def seal_of(process: int) -> str:
    """The secret of another process; nothing where there is none to be seen."""
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                name = os.readlink(f"/proc/{process}/fd/{number}").removeprefix("/memfd:").removesuffix(" (deleted)")
                if name.startswith(_MARK):
                    return name.removeprefix(_MARK)
    return ""


def _handle(connection: socket.socket, pid: int) -> int:
    """One that becomes readable when the process at the other end has ended."""
    try:
        return connection.getsockopt(socket.SOL_SOCKET, _PEER_HANDLE)
    except OSError:  # an older system
        return os.pidfd_open(pid)


def _status(process: int | str) -> dict[str, str]:
    lines = (line.partition(":") for line in _text(f"/proc/{process}/status").split("\n"))
    return {name: " ".join(value.split()) for name, _, value in lines if name in _STATUS}


def _space(file: str) -> str:
    """Of a kind that the system does not have: nothing."""
    try:
        return os.readlink(file)
    except FileNotFoundError:
        return ""


def _label(at: str) -> str:
    """What AppArmor, SELinux and the like call the process; nothing where there is no such thing."""
    try:
        return _text(f"{at}/attr/current")
    except OSError:
        return ""


def _text(file: str) -> str:
    with open(file, encoding="utf-8", errors="surrogateescape") as text:
        return text.read()
