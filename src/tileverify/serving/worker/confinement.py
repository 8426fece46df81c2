"""What the system lets a process do: a worker answers those alone who may do what it may, no less and no more.

Nearly all of it can be read in ``/proc``.  The rules of Landlock cannot, nor those of AppArmor and the like, but they
keep a process from looking into one that they do not bind.  So who asks has to look into the worker: it reads the
`Seal` there, and hands it over.  A filter of seccomp cannot be read either; `readable` says where that matters.

Nothing but the standard library is imported here, because this is what a warm `check` waits for.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
from typing import Final

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
