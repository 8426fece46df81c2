"""``@tileverify.launch(...)``: a launch spec beside the kernel it speaks of.

The decorator takes the fields of a ``[[launch]]`` table as keywords and only writes them down, so the kernel
behaves as without it.  It may stand above or below ``@ct.kernel``, and more than once; nothing is checked until
tileverify reads the file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

ATTRIBUTE = "__tileverify_launches__"
_Kernel = TypeVar("_Kernel")


@dataclass(frozen=True, slots=True)
class DecoratedLaunch:
    """The fields as given, and the file and line of the decorator."""

    fields: Mapping[str, Any]
    file: str | None
    line: int | None


def launch(
    *,
    args: Mapping[str, Any] | None = None,
    name: str | None = None,
    grid: Sequence[str | int] | None = None,
    requires: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    alias: Sequence[Sequence[str]] | None = None,
    overlap: Sequence[Sequence[str]] | None = None,
    **others: Any,
) -> Callable[[_Kernel], _Kernel]:
    """Describe one launch of the kernel below; the fields are those of ``[[launch]]``, without ``kernel``.

    Unknown fields are kept and reported by ``tileverify check``, with this line, like any other mistake in a spec.
    """
    given = {
        "args": args,
        "name": name,
        "grid": grid,
        "requires": requires,
        "data": data,
        "alias": alias,
        "overlap": overlap,
    }
    fields = {key: value for key, value in given.items() if value is not None} | others
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    file, line = (caller.f_code.co_filename, caller.f_lineno) if caller is not None else (None, None)
    spec = DecoratedLaunch(fields, file, line)

    def decorate(kernel: _Kernel) -> _Kernel:
        setattr(kernel, ATTRIBUTE, (spec, *getattr(kernel, ATTRIBUTE, ())))
        return kernel

    return decorate


def decorated_launches(*objects: object) -> tuple[DecoratedLaunch, ...]:
    """The launches written on these objects (the kernel, then its function), in the order of the source."""
    return tuple(spec for each in objects for spec in getattr(each, ATTRIBUTE, ()))
