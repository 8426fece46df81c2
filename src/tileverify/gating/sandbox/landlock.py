"""Landlock (landlock(7)): give up every right to files, sockets and signals of others that the kernel can take away.

The rule set is empty, so nothing is granted back.  Three system calls without a dependency, as in `seccomp`.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Final

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
