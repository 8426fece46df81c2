"""``@tileverify.launch(...)``: a launch spec beside the kernel it speaks of.

The decorator takes the fields of a ``[[launch]]`` table as keywords and only writes them down, so the kernel
behaves as without it.  It may stand above or below ``@ct.kernel``, and more than once; nothing is checked until
tileverify reads the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from ..system.errors import UsageError

ATTRIBUTE = "__tileverify_launches__"
_Kernel = TypeVar("_Kernel")


@dataclass(frozen=True, slots=True)
class DecoratedLaunch:
    """The fields as given, and the file and line of the decorator."""

    fields: Mapping[str, Any]
    file: str | None
    line: int | None


def written_at(
    fields: Mapping[str, Any], unnamed: Sequence[object], frame: FrameType | None
) -> Callable[[_Kernel], _Kernel]:
    """The decorator with these ``fields``, which are those of ``[[launch]]`` without ``kernel``; ``frame``: its caller.

    Unknown fields are kept and reported by ``tileverify check``, with this line, like any other mistake in a spec.
    Raises `UsageError` if anything was given without a name.
    """
    if any(each is not None for each in unnamed):
        raise UsageError(
            "tileverify.launch takes a stream, a grid, a kernel and its arguments; a launch spec, names alone"
        )
    given = {key: value for key, value in fields.items() if value is not None}
    file, line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else (None, None)
    spec = DecoratedLaunch(given, file, line)

    def decorate(kernel: _Kernel) -> _Kernel:
        setattr(kernel, ATTRIBUTE, (spec, *getattr(kernel, ATTRIBUTE, ())))
        return kernel

    return decorate


def decorated_launches(*objects: object) -> tuple[DecoratedLaunch, ...]:
    """The launches written on these objects (the kernel, then its function), in the order of the source."""
    return tuple(spec for each in objects for spec in getattr(each, ATTRIBUTE, ()))
