"""The walls around untrusted code, and the test that they stand.

Two kinds, equally strict inside:

* ``bubblewrap``: the worker starts in namespaces of its own (no network, no processes but its own, a read-only view of
  the interpreter and nothing else of the file system);
* ``landlock``: the worker starts as it is.

In both, every job runs in a forked child that confines itself before it looks at a byte of the submission: resource
limits, no descriptors but one pipe, another user where the gate is run by root, Landlock with no rights at all where
the kernel has it, and a seccomp filter that ends the process at any system call that is not plain computation.  A child
needs no files, because the worker has loaded everything before.

Files must be out of reach by two mechanisms, or nothing is run: seccomp, and either namespaces or Landlock.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from ..gated import IsolationUnavailable
from .landlock import give_up_rights, landlock_version
from .seccomp import forbid_system_calls, supported_architecture


class Isolation(StrEnum):
    """What stands around a worker, the stronger first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"


_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_NOBODY: Final = 65534
_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/etc/ld.so.cache")
"""What an interpreter's libraries are linked against."""
_BUILTIN_VARIABLES: Final = {"LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HOME": "/"}


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one job may use.  ``memory``: bytes of address space beyond what the worker has."""

    cpu_s: int
    memory: int


def usable_kinds(wanted: str) -> tuple[Isolation, ...]:
    """The kinds to try for ``auto`` or one kind, the stronger first; raises `IsolationUnavailable` for none."""
    if sys.platform != "linux" or not supported_architecture():
        raise IsolationUnavailable(
            "untrusted kernels can be judged on Linux (x86-64, arm64) alone: elsewhere nothing isolates them; "
            "run the gate in a Linux container or virtual machine"
        )
    missing = {
        Isolation.BUBBLEWRAP: None if shutil.which("bwrap") else "the program bwrap is not installed",
        Isolation.LANDLOCK: None if landlock_version() else "the kernel has no Landlock",
    }
    tried = tuple(Isolation) if wanted == "auto" else (Isolation(wanted),)
    usable = tuple(kind for kind in tried if missing[kind] is None)
    if not usable:
        reasons = "; ".join(str(missing[kind]) for kind in tried)
        raise IsolationUnavailable(
            f"untrusted kernels cannot be isolated here ({reasons}), so nothing was run; install bubblewrap, or use a "
            "Linux kernel with Landlock (5.13 or newer)"
        )
    return usable


def command(kind: Isolation, arguments: Sequence[str]) -> list[str]:
    """The command line of a worker: this interpreter with ``arguments``, in its walls."""
    interpreter = [sys.executable, "-I", *arguments]
    if kind is Isolation.LANDLOCK:
        return interpreter
    bwrap = shutil.which("bwrap")
    assert bwrap is not None
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    options += ["--clearenv", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]
    for path in _visible():
        options += ["--ro-bind", path, path]
    for name, value in environment().items():
        options += ["--setenv", name, value]
    return [bwrap, *options, "--chdir", "/", "--", *interpreter]


def environment() -> dict[str, str]:
    """The worker's whole environment: nothing of the caller's, which may hold secrets."""
    return dict(_BUILTIN_VARIABLES)


def _visible() -> Iterator[str]:
    """Folders and files of the interpreter and of everything on its path, outer ones first."""
    wanted = {
        *_SYSTEM,
        sys.prefix,
        sys.base_prefix,
        str(Path(sys.executable).resolve().parent),
        *filter(None, sys.path),
    }
    seen: list[Path] = []
    for path in sorted(map(Path, wanted)):
        shown = any(path.is_relative_to(outer) for outer in seen)
        if path.is_absolute() and path != Path("/") and path.exists() and not shown:
            seen.append(path)
            yield str(path)


# -------------------------------------------------------------------------------------------- in the child
def confine(confinement: Confinement, keep: int) -> None:
    """Give up everything but computation and the descriptor ``keep``, for good.  Raises OSError; then run nothing."""
    _close_all_but(keep)
    _limit_resources(confinement)
    libc = ctypes.CDLL(None, use_errno=True)
    os.setsid()
    _become_nobody()
    # Both belong behind the change of user, which resets them.
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) or libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    version = landlock_version()
    if version:
        give_up_rights(version)
    forbid_system_calls()


def _close_all_but(keep: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.closerange(3, keep)
    os.closerange(keep + 1, 1 << 16)


def _limit_resources(confinement: Confinement) -> None:
    """Address space, processor, files, processes; hard limits, so that they cannot be raised again."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    space = taken + confinement.memory
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    # The first second sends a signal that can be caught, the next one ends the process.
    resource.setrlimit(resource.RLIMIT_CPU, (confinement.cpu_s, confinement.cpu_s + 1))
    for what in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK):
        resource.setrlimit(what, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def _become_nobody() -> None:
    """In a user namespace there is no such user; root there has no rights outside of it."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)


# ----------------------------------------------------------------------------------------------- self-test
def layers(kind: Isolation) -> tuple[str, ...]:
    """What stands around a job, for reports."""
    version = landlock_version()
    names: list[str] = [kind] if kind is Isolation.BUBBLEWRAP else []
    names += [f"landlock-{version}"] if version else []
    return (*names, "seccomp", "rlimits")


def broken_wall() -> str | None:
    """What a confined child of this process can do that it must not, ``None`` if nothing: asked before each worker's
    first job, so that a kernel that ignores what it was told is found out by a friend."""
    probes = {
        "read a file": (_opens, 0),
        "open a socket": (_socket, signal.SIGSYS),
        "start a process": (os.fork, signal.SIGSYS),
        "send a signal": (_signals, signal.SIGSYS),
        "take more memory than it may": (_hoards, 0),
    }
    for what, (probe, death) in probes.items():
        status = _in_child(probe)
        died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if died != death or (not died and os.WEXITSTATUS(status)):
            return f"a confined process could {what}, or could not be confined (status {status})"
    return None


def _in_child(probe: Callable[[], object]) -> int:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confine(Confinement(cpu_s=10, memory=256 << 20), writing)
            probe()
        except BaseException:
            os._exit(3)
        os._exit(0)
    os.close(reading)
    os.close(writing)
    return os.waitpid(pid, 0)[1]


def _opens() -> None:
    """Succeeds if it is kept from what it tries."""
    for path in (sys.executable, "/etc/hostname", "/", "/proc/self/environ"):
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError:
            continue
        raise AssertionError


def _socket() -> None:
    ctypes.CDLL(None).socket(1, 1, 0)


def _signals() -> None:
    os.kill(os.getppid(), 0)


def _hoards() -> None:
    try:
        bytearray(1 << 30)
    except MemoryError:
        return
    raise AssertionError
