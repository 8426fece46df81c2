"""References as people write them: a function of the launch's arrays, sizes, scalars and constants by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..frontend.sources.importing import import_file
from ..system.errors import UsageError
from .asked_reference import AskedReference
from .torch_use import uses_torch


def loaded(text: str) -> Callable[..., object]:
    """The function that ``FILE.py::FUNCTION`` names; raises `UsageError` where there is none."""
    file, separator, function = text.partition("::")
    if not separator or not function or not Path(file).is_file():
        raise UsageError(f"--reference {text}: write FILE.py::FUNCTION, with a file that is there")
    found: object = getattr(import_file(Path(file)), function, None)
    if not callable(found):
        raise UsageError(f"--reference {text}: the file has no function '{function}'")
    return found


def other_of(function: Callable[..., object], written: Sequence[str] = ()) -> AskedReference:
    """The reference as `deciding` asks it: it returns a table by name, arrays, or changes its arguments.

    Arrays without names are those that it does not take, or those that the kernel writes: ``written``, in the order of
    its parameters.
    """
    return AskedReference(function, written, uses_torch(function))
