"""Audit hooks (PEP 578) that end a submission the moment it reaches for the system.

No wall: native code can go around it, and the kernel's filter stands behind.  It is here for the reason: a submission
that asks for a file, a socket or a process is told so by name, also where it would have swallowed the error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

_FORBIDDEN: Final = {
    "socket": "sandbox-network",
    "urllib": "sandbox-network",
    "ssl": "sandbox-network",
    "http": "sandbox-network",
    "ftplib": "sandbox-network",
    "smtplib": "sandbox-network",
    "subprocess": "sandbox-process",
    "pty": "sandbox-process",
    "signal": "sandbox-process",
    "ctypes": "sandbox-native-code",
    "shutil": "sandbox-files",
    "tempfile": "sandbox-files",
    "glob": "sandbox-files",
    "sqlite3": "sandbox-files",
    "fcntl": "sandbox-files",
    "mmap": "sandbox-files",
    "pickle": "sandbox-code",
    "marshal": "sandbox-code",
    "code": "sandbox-code",
    "gc": "sandbox-introspection",
    "resource": "sandbox-limits",
}
"""First part of an event's name -> reason."""

_PROCESSES: Final = frozenset(
    (
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
    )
)
_SILENT: Final = frozenset({"os.putenv", "os.unsetenv", "os.listdir", "os.scandir", "os.add_dll_directory"})
"""Folders are listed by the import system, and there is none to see."""


def set_tripwire(tripped: Callable[[str, str], None]) -> None:
    """From now on the first forbidden event calls ``tripped(reason id, sentence)``, which must not return."""
    sources = frozenset(getattr(module, "__file__", None) for module in list(sys.modules.values()))

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        reason = _reason(event, arguments, sources)
        if reason is not None:
            tripped(*reason)

    sys.addaudithook(hook)


def _reason(event: str, arguments: tuple[object, ...], sources: frozenset[object]) -> tuple[str, str] | None:
    family = event.partition(".")[0]
    if event == "open":
        if isinstance(arguments[0], str) and arguments[0] in sources:
            return None  # for the lines of a traceback; it hears that the file is not there
        return "sandbox-files", f"it tried to open {_quoted(arguments[0])}"
    if event in _PROCESSES:
        return "sandbox-process", f"it called {event}"
    if family == "os" and event not in _SILENT:
        return "sandbox-files", f"it called {event}"
    if family in _FORBIDDEN and event != "gc.get_referents":
        return _FORBIDDEN[family], f"it caused the event {event}"
    return None


def _quoted(path: object) -> str:
    return ascii(path)[:200] if isinstance(path, str | bytes | int) else "a file"
