"""System calls that a confined process may make, by architecture.

The numbers are those of the kernel's own tables (``arch/x86/entry/syscalls/syscall_64.tbl`` and
``include/uapi/asm-generic/unistd.h``, which arm64 uses); they never change.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


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
