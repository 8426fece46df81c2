"""A filter of system calls: what is not allowed ends the process (seccomp(2), classic BPF).

Written out here because it is forty lines without a dependency: a gate that needs a library to be a gate would
be missing where it is needed most.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from typing import Final

from .syscalls import TABLES, Table

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
_PR_SET_NO_NEW_PRIVS: Final = 38
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
