"""The one error root.  A user-facing error is one sentence that says where, what and what to do.

Rendering lives in :mod:`tileverify.reports`; an error only carries its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .readings import shown_place


@dataclass
class TileVerifyError(Exception):
    """Anything the user can cause.  ``check`` maps it to exit code 2 unless a subclass says otherwise.

    ``line`` counts from 1, ``column`` from 0; as a text it counts from 1, too, as editors do.
    A notebook's cell is told as IPython does.

    >>> import tileverify
    >>> try:
    ...     tileverify.check("nowhere")
    ... except tileverify.TileVerifyError as error:
    ...     print(error)
    there is no file or folder 'nowhere'
    """

    __module__ = "tileverify"  # where users find it, and what a traceback prints

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    also: tuple[tuple[str, int, int | None], ...] = field(default=(), kw_only=True)
    """Further places that have a part in it."""

    exit_code = 2

    def __str__(self) -> str:
        return f"{shown_place(self.file, self.line, self.column)}: {self.message}" if self.file else self.message


class UsageError(TileVerifyError):
    """A wrong command line, path or option."""


class ConfigError(TileVerifyError):
    """Settings that cannot be used; names the file and the key."""


class SpecError(TileVerifyError):
    """A launch spec that cannot be used; names file, launch and field."""


class SourceError(TileVerifyError):
    """A source file that cannot be imported, or a kernel that its own compiler rejects."""


class NoKernelFound(TileVerifyError):
    """Nothing to verify under the given paths."""

    exit_code = 4


@dataclass
class DecodeError(TileVerifyError):
    """Bytecode that is corrupt, truncated, or newer than this decoder.  ``offset`` is a file offset in bytes."""

    offset: int = 0

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file else ""
        return f"{place}offset {self.offset:#x}: {self.message}"


@dataclass
class EncodeError(TileVerifyError):
    """A module that cannot be written in the requested bytecode version."""


@dataclass
class UnsupportedOperation(TileVerifyError):
    """An op without a symbolic rule (TV902): the kernel is undecided, never guessed.  ``advice``: what would help."""

    op: str = ""
    advice: str = ""


# ------------------------------------------------------------------------------------------------------------- failures
# Errors that are nobody's but ours.


TRACEBACK: Final = "TILEVERIFY_TRACEBACK"
"""The environment variable that asks for tracebacks."""


def failure_sentence(error: BaseException, archive: str | None = None) -> str:
    """One sentence for an unexpected exception; ``archive``: the path of what was written down
    about it (`crash_report`)."""
    detail = " ".join(str(error).split())
    name = type(error).__name__ + (f": {detail}" if detail else "")
    if archive is not None:
        return f"tileverify failed ({name}); please report this with '{archive}', which says where it happened"
    return f"tileverify failed ({name}); please report this, {TRACEBACK}=1 shows where it happened"
