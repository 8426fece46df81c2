"""What a failure of the tool outside of any kernel leaves behind: the archive, with the files of the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..contract.spec_files import SPEC_SUFFIX, spec_path
from ..system.crash_report import CrashContents, command_words, crash_folder, write_crash
from ..system.printable import display_path

_KERNELS: Final = (".py", ".cu", ".tileirbc", SPEC_SUFFIX)
"""How files end that are taken along: keys, settings and what else a command line names are not."""


def archived(error: BaseException) -> str | None:
    """Write the archive on ``error``; its path as people are told it, ``None`` without one."""
    files: dict[str, bytes] = {}
    with contextlib.suppress(Exception):  # whatever is wrong here, the failure itself has to be told
        for path in _named(command_words()):
            with contextlib.suppress(OSError):
                files[str(path)] = path.read_bytes()
    try:
        archive = write_crash(error, CrashContents(files=files), crash_folder())
    except Exception:
        return None
    return None if archive is None else display_path(archive)


def _named(words: list[str]) -> Iterator[Path]:
    """The kernels and launch specs that words speak of, with the specs beside them."""
    for word in words:
        path = Path(word.partition("::")[0])
        if path.name.endswith(_KERNELS) and path.is_file():
            yield path
            if not path.name.endswith(SPEC_SUFFIX):
                yield spec_path(path)
