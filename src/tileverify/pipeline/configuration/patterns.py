"""File patterns of the configuration: ``kernels``, ``*.py``, ``vendor/**/*.tileirbc``."""

from __future__ import annotations

import re
from pathlib import Path


def file_pattern(pattern: str, folder: Path) -> re.Pattern[str]:
    """For whole, resolved paths with forward slashes.

    A pattern with a slash starts at ``folder``, one without may match at any depth below it; what matches a folder
    matches everything in it.  ``*`` and ``?`` stay inside one name, ``**`` crosses folders.
    """
    parts = [part for part in pattern.replace("\\", "/").split("/") if part not in ("", ".")]
    anchored = "/" in pattern.rstrip("/")
    text = "".join(map(_part, parts))
    root = re.escape(folder.resolve().as_posix().rstrip("/"))
    return re.compile(f"{root}{'' if anchored else '(?:/[^/]+)*'}{text}(?:/.*)?", re.DOTALL)


def name_pattern(pattern: str) -> re.Pattern[str]:
    """For names of kernels and launches; ``*`` and ``?`` match anything."""
    return re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern), re.DOTALL)


def _part(part: str) -> str:
    if part == "**":
        return "(?:/[^/]+)*"
    return "/" + "".join({"*": "[^/]*", "?": "[^/]"}.get(each, re.escape(each)) for each in part)
