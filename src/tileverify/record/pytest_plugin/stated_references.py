"""References that tests, or the settings of a test suite, state for kernels: by patterns of the kernels' names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from ...system.errors import UsageError

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class StatedReference:
    """``what``: the function, or where it stands, ``FILE.py::FUNCTION``; of the kernels whose names fit ``pattern``."""

    pattern: str
    what: Function | str

    @property
    def name(self) -> str:
        """As messages have it."""
        if isinstance(self.what, str):
            file, _, function = self.what.rpartition("::")
            return f"{Path(file).name}::{function}"
        return getattr(self.what, "__name__", "the reference")

    def function(self) -> Function:
        """Raises `UsageError` for a file or a function that is not there, and for a kernel."""
        from ...equality.reference_runs import loaded  # only now: a suite without references pays nothing

        if not isinstance(self.what, str):
            found = self.what
        else:
            try:
                found = loaded(self.what)
            except UsageError as error:
                raise UsageError(error.message.removeprefix("--reference ")) from None
        if not callable(found) or hasattr(found, "_annotated_function"):
            raise UsageError(f"the reference {self.name} is no function of NumPy or torch")
        return found


def of_marker(given: object, folder: Path) -> list[StatedReference]:
    """``reference=`` of the marker: a function, or its place relative to ``folder``, or a table of these by pattern.

    Raises `UsageError` for anything else.
    """
    table = given if isinstance(given, Mapping) else {"*": given}
    found = []
    for pattern, what in table.items():
        if not isinstance(pattern, str) or not (callable(what) or (isinstance(what, str) and "::" in what)):
            raise UsageError(
                "reference= takes a function, 'FILE.py::FUNCTION', or a table of these by name of the kernel"
            )
        found.append(StatedReference(pattern, str(folder / what) if isinstance(what, str) else what))
    return found


def of_settings(lines: Iterable[str], folder: Path) -> list[StatedReference]:
    """``PATTERN = FILE.py::FUNCTION`` each, relative to ``folder``; raises `UsageError`."""
    found = []
    for line in lines:
        pattern, separator, what = (part.strip() for part in line.partition("="))
        if not separator or not pattern or "::" not in what:
            raise UsageError(f"tileverify_references: '{line}' is not PATTERN = FILE.py::FUNCTION")
        found.append(StatedReference(pattern, str(folder / what)))
    return found


def fitting(stated: Sequence[StatedReference], kernel: str) -> StatedReference | None:
    """The first whose pattern fits the kernel's name."""
    return next((each for each in stated if fnmatchcase(kernel, each.pattern)), None)
