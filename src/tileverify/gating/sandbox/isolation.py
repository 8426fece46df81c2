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
import errno
import os
import resource
import shutil
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from ..gated import IsolationUnavailable


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
    _forget_handlers()
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


def _forget_handlers() -> None:
    """What a loaded library does at a signal (LLVM writes a trace) would hide which one ended the process."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        with contextlib.suppress(OSError):  # those of the C library's own
            signal.signal(number, signal.SIG_DFL)


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


# ------------------------------------------------------------------------------------------------------------- landlock
# Landlock (landlock(7)): give up every right to files, sockets and signals of others that the kernel can take away.
#
# The rule set is empty, so nothing is granted back.  Three system calls without a dependency, as in `seccomp`.


_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_VERSION: Final = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PR_SET_NO_NEW_PRIVS: Final = 38

_FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""(version, number of rights): each version of the interface adds its rights at the end."""
_NETWORK_RIGHTS: Final = (4, 0b11)  # bind and connect TCP
_SCOPES: Final = (6, 0b11)  # abstract sockets, signals


def landlock_version() -> int:
    """The version of the kernel's interface, 0 where there is none (or it is switched off)."""
    version: int = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _VERSION)
    return max(version, 0)


def give_up_rights(version: int) -> None:
    """Confine this thread, and what it starts, for good; raises OSError where the kernel refuses."""
    files = max(count for since, count in _FILE_RIGHTS if since <= version)
    fields = [(1 << files) - 1]
    fields += [rights for since, rights in (_NETWORK_RIGHTS, _SCOPES) if since <= version]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    try:
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
        if libc.syscall(_RESTRICT_SELF, ruleset, 0):
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    finally:
        os.close(ruleset)


# -------------------------------------------------------------------------------------------------------------- seccomp
# A filter of system calls: what is not allowed ends the process (seccomp(2), classic BPF).
#
# Written out here because it is forty lines without a dependency: a gate that needs a library to be a gate would
# be missing where it is needed most.


_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER_AT: Final = 0  # struct seccomp_data: int nr; u32 arch; ...
_ARCHITECTURE_AT: Final = 4
_KILL_PROCESS: Final = 0x8000_0000
_ERRNO: Final = 0x0005_0000
_ALLOW: Final = 0x7FFF_0000

_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def supported_architecture() -> bool:
    """Whether there is a table of system calls for this machine."""
    return os.uname().machine in TABLES


def forbid_system_calls() -> None:
    """Confine this thread, and what it starts, for good; raises OSError where the kernel refuses.

    Sets ``no_new_privs`` first, without which only root may set a filter.
    """
    program = b"".join(_instructions(TABLES[os.uname().machine]))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(_Program(len(program) // 8, program)), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


def _instructions(table: Table) -> Iterator[bytes]:
    """``if arch != audit or nr >= first_foreign: kill; for each known nr: return its answer; kill``"""
    yield _instruction(_LOAD, _ARCHITECTURE_AT)
    yield _instruction(_EQUAL, table.audit, if_true=1)
    yield _instruction(_RETURN, _KILL_PROCESS)
    yield _instruction(_LOAD, _NUMBER_AT)
    yield _instruction(_AT_LEAST, table.first_foreign, if_false=1)
    yield _instruction(_RETURN, _KILL_PROCESS)
    answers = dict.fromkeys(sorted(table.allowed), _ALLOW) | {
        number: _ERRNO | code for number, code in table.refused.items()
    }
    for number, answer in answers.items():
        yield _instruction(_EQUAL, number, if_false=1)
        yield _instruction(_RETURN, answer)
    yield _instruction(_RETURN, _KILL_PROCESS)


def _instruction(code: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    """``struct sock_filter``; jumps count the instructions that are skipped."""
    return struct.pack("=HBBI", code, if_true, if_false, operand)


# ------------------------------------------------------------------------------------------------------------- syscalls
# System calls that a confined process may make, by architecture.
#
# The numbers are those of the kernel's own tables (``arch/x86/entry/syscalls/syscall_64.tbl`` and
# ``include/uapi/asm-generic/unistd.h``, which arm64 uses); they never change.


@dataclass(frozen=True, slots=True)
class Table:
    """``audit``: the architecture as the filter sees it.  ``first_foreign``: numbers from here on belong to another ABI
    of the same architecture.  ``allowed``; ``refused``: number -> errno.  Every other call ends the process."""

    audit: int
    first_foreign: int
    allowed: frozenset[int]
    refused: Mapping[int, int]


ALLOWED: Final = (
    "read", "write", "writev", "close", "fstat", "lseek", "pread64",
    "mmap", "mprotect", "munmap", "mremap", "madvise", "brk",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
    "sched_yield", "sched_getaffinity", "getcpu", "futex", "set_robust_list", "set_tid_address", "rseq", "membarrier",
    "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "getitimer", "setitimer",
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid",
    "uname", "sysinfo", "getcwd", "getrusage", "getrandom", "exit", "exit_group",
)  # fmt: skip
"""Memory, time, the pipe to the supervisor, and itself: nothing that names a file, a host or another process."""

REFUSED: Final[Mapping[str, int]] = {
    # To the confined process no file exists, so that a module that is looked for late is merely not found.
    **dict.fromkeys(
        ("open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
         "readlink", "readlinkat", "chdir", "statfs", "getdents64"),
        errno.ENOENT,
    ),
    "ioctl": errno.ENOTTY,
    "fcntl": errno.EINVAL,
    "prctl": errno.EPERM,
    "prlimit64": errno.EPERM,
    "getrlimit": errno.EPERM,
}  # fmt: skip
"""Calls that library code makes by habit: they fail, but do not end the process."""

_X86_64: Final[Mapping[str, int]] = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "lseek": 8, "mmap": 9,
    "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16,
    "pread64": 17, "writev": 20, "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35,
    "getitimer": 36, "setitimer": 38, "getpid": 39, "exit": 60, "uname": 63, "fcntl": 72, "getcwd": 79, "chdir": 80,
    "readlink": 89, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "getuid": 102, "getgid": 104,
    "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131, "statfs": 137, "prctl": 157, "gettid": 186,
    "futex": 202, "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218, "restart_syscall": 219,
    "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "openat": 257,
    "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "set_robust_list": 273, "prlimit64": 302, "getcpu": 309,
    "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "openat2": 437, "faccessat2": 439,
}  # fmt: skip

_GENERIC: Final[Mapping[str, int]] = {
    "getcwd": 17, "fcntl": 25, "ioctl": 29, "statfs": 43, "faccessat": 48, "chdir": 49, "openat": 56, "close": 57,
    "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "writev": 66, "pread64": 67, "readlinkat": 78,
    "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "set_tid_address": 96, "futex": 98,
    "set_robust_list": 99, "nanosleep": 101, "getitimer": 102, "setitimer": 103, "clock_gettime": 113,
    "clock_getres": 114, "clock_nanosleep": 115, "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128,
    "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "uname": 160, "getrlimit": 163,
    "getrusage": 165, "prctl": 167, "getcpu": 168, "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174,
    "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179, "brk": 214, "munmap": 215,
    "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261, "getrandom": 278, "membarrier": 283,
    "statx": 291, "rseq": 293, "openat2": 437, "faccessat2": 439,
}  # fmt: skip


def _table(audit: int, numbers: Mapping[str, int], first_foreign: int) -> Table:
    return Table(
        audit=audit,
        first_foreign=first_foreign,
        allowed=frozenset(numbers[name] for name in ALLOWED),
        refused={numbers[name]: code for name, code in REFUSED.items() if name in numbers},
    )


TABLES: Final[Mapping[str, Table]] = {
    "x86_64": _table(0xC000003E, _X86_64, first_foreign=0x4000_0000),
    "aarch64": _table(0xC00000B7, _GENERIC, first_foreign=0x4000_0000),
}
"""By `os.uname().machine`.  On x86-64 the numbers from 0x40000000 on are those of x32; on arm64 there are none."""
