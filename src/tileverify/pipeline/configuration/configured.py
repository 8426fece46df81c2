"""What a configuration can say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...reports.suppress.model import TableRule

MOST_EFFORT: Final = 1_000_000
"""What ``effort`` may be at most: months."""


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Settings for the files that one of ``files`` matches; ``None``: as everywhere.  ``timeout``: seconds;
    ``effort``: times the usual resources for a proof."""

    files: tuple[re.Pattern[str], ...]
    timeout: float | None = None
    effort: float | None = None
    deny_requires: bool | None = None
    strict: bool | None = None

    def matches(self, file: Path) -> bool:
        return any(pattern.fullmatch(file.as_posix()) for pattern in self.files)


@dataclass(frozen=True, slots=True)
class Configuration:
    """``None``: not set.  ``paths`` and ``baseline`` are relative to the working folder, or absolute.

    ``per_file``: later entries win over earlier ones.  ``ignores`` are the suppressions for sources without comments.
    """

    file: Path | None = None
    paths: tuple[str, ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    format: str | None = None
    output: tuple[str, ...] = ()
    strict: bool | None = None
    deny_requires: bool | None = None
    deny_limits: bool | None = None
    deny_undetermined: bool | None = None
    timeout: float | None = None
    effort: float | None = None
    jobs: int | None = None
    cache: bool | None = None
    baseline: Path | None = None
    per_file: tuple[FileSettings, ...] = ()
    ignores: tuple[TableRule, ...] = ()

    def excludes(self, file: Path) -> bool:
        """Whether a file that is found in a folder shall be left out."""
        name = file.resolve().as_posix()
        return any(pattern.fullmatch(name) for pattern in self.exclude)

    def strict_for(self, file: str) -> bool | None:
        """What the table of a file says of undecided kernels, ``None`` if none does."""
        resolved = Path(file).resolve()
        said = [each.strict for each in self.per_file if each.strict is not None and each.matches(resolved)]
        return said[-1] if said else None
