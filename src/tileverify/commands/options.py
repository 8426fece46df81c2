"""What several commands share: exit codes and checks of options."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..system.errors import UsageError

EXIT_CODES: Final = """\b
Exit codes:
  0  everything proved
  1  something refuted, or undetermined (TV403) or a size limit (TV304) where that is denied
  2  bad usage, a kernel, spec or suppression with an error, or a failure of the tool
  3  something undecided, nothing refuted
  4  no kernel found
"""


def writable(output: Path | None, option: str = "--output") -> None:
    """A wrong --output is said before minutes of work, not after."""
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"{option}: there is no folder '{output.parent}'")


def architectures(compiled: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``--compiled``, for which an assembler has to be here."""
    if not compiled:
        return ()
    from ..backend.assembler import ARCHITECTURES, find_assembler

    for name in compiled:
        if name not in ARCHITECTURES:
            raise UsageError(f"--compiled: '{name}' is not one of {', '.join(ARCHITECTURES)}")
    find_assembler()
    return tuple(dict.fromkeys(compiled))
