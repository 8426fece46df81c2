"""What was read: of files, by content, and the cells of a notebook, each under a file name of its own.

A file may be saved while it is being checked.  Whoever wants to know later what a verdict was about listens from
before the first file is looked at; a hash that is taken afterwards may be of a newer text.
"""

from __future__ import annotations
import __future__

import hashlib
import linecache
import os
import stat
import sys
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

MOST_BYTES: Final = 1 << 28
"""Of a source, a spec or bytecode."""

_listening: weakref.WeakSet[Readings] = weakref.WeakSet()
_roots: list[Path] = []
_texts: dict[Path, bytes] = {}


@dataclass(eq=False)
class Readings:
    """Everything that this process reads of sources and specs while the object lives.

    ``imported``: the files of user modules that each imported file ran, itself included, by resolved paths.
    """

    imported: dict[Path, set[Path]] = field(default_factory=dict)
    _digests: dict[Path, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _listening.add(self)

    def digest(self, path: Path) -> str | None:
        """The hash of all that was read of ``path``; ``None`` if nothing was, or two readings differed."""
        found = self._digests.get(path.resolve(), set())
        return next(iter(found)) if len(found) == 1 else None

    def was_read(self, path: Path) -> bool:
        return path.resolve() in self._digests

    def add(self, path: Path, digest: str) -> None:
        self._digests.setdefault(path, set()).add(digest)


def read(path: Path) -> bytes:
    """The bytes of a file, which whoever listens gets the hash of.  Raises OSError."""
    data = content(path)
    note(path, data)
    return data


def content(path: Path) -> bytes:
    """The bytes of a file, or of what stands for it.  Raises OSError."""
    known = _texts.get(path.resolve()) if _texts else None
    if known is not None:
        return known
    with plain_file(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise OSError(f"it has more than {MOST_BYTES >> 20} MiB")
        return file.read()


def plain_file(path: Path) -> BinaryIO:
    """The file, to be read; raises OSError for what may never end: a pipe, a device."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("it is no plain file")
    return os.fdopen(handle, "rb")


def text_of(path: Path, errors: str = "strict") -> str:
    """The same as text, in UTF-8, with line ends as Python reads them.  Raises OSError and UnicodeDecodeError."""
    return content(path).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


def stand_for(texts: Mapping[str, str]) -> None:
    """From now on ``texts`` are what is read of the files at these paths: what an editor shows and has not saved."""
    _texts.clear()
    _texts.update((Path(name).resolve(), text.encode("utf-8", "surrogatepass")) for name, text in texts.items())


def note(path: Path, data: bytes) -> None:
    """Tell those who listen that ``data`` was read from ``path``."""
    if _listening:
        resolved, digest = path.resolve(), sha256(data)
        for each in _listening:
            each.add(resolved, digest)


def ran(path: Path) -> None:
    """Tell those who listen that the file was run as a module, for the file that is being imported."""
    for each in _listening:
        for root in _roots[-1:]:
            each.imported.setdefault(root, set()).add(path.resolve())


@contextmanager
def importing(path: Path) -> Iterator[None]:
    """What runs in the block is run for ``path``, a resolved one."""
    _roots.append(path)
    try:
        yield
    finally:
        _roots.pop()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ------------------------------------------------------------------------------------------------------- notebook cells
# Cells of a notebook: IPython gives each a file name of its own, which nobody knows, for a file that is not there.


_NUMBERS: dict[str, int] = {}
_FUTURES: Final[int] = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


def running_shell() -> Any:
    """The IPython of this process, ``None`` where there is none; it is never loaded for that."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def names_of_cells() -> dict[str, Any]:
    """What the notebook's names stand for, as a copy."""
    return dict(getattr(running_shell(), "user_ns", {}))


def flags_of_cells() -> int:
    """Flags of `compile` that cells have set: what an earlier one imported from ``__future__``."""
    return int(getattr(getattr(running_shell(), "compile", None), "flags", 0)) & _FUTURES


def number_cell(file: str, number: int) -> None:
    """Call the cell of ``file`` ``Cell In[number]``, whatever IPython says."""
    _NUMBERS[file] = number


def cell_name(file: str) -> str | None:
    """``Cell In[3]``, if ``file`` is the name that the running IPython gave the text of a cell."""
    if file in _NUMBERS:
        return f"Cell In[{_NUMBERS[file]}]"
    compiler = getattr(running_shell(), "compile", None)
    describe = getattr(compiler, "format_code_name", None)
    described = None if describe is None else describe(file)
    if not described:
        return None
    return " ".join(map(str, described))


def cell_lines(file: str) -> tuple[str, ...] | None:
    """The text of a cell, whose source IPython keeps where Python looks for the lines of tracebacks."""
    if cell_name(file) is None:
        return None
    return tuple(line.rstrip("\r\n") for line in linecache.getlines(file)) or None


def cell_text(file: str) -> str | None:
    """The same as one text, whose lines end with a newline but the last."""
    lines = cell_lines(file)
    return None if lines is None else "\n".join(lines)


def shown_file(file: str) -> str:
    """What people call ``file``: the number of the cell, else the name itself."""
    return cell_name(file) or file


def shown_place(file: str, line: int | None, column: int | None = None) -> str:
    """``kernel.py:8:5`` as editors read it, ``Cell In[3], line 8`` as IPython tells it.

    ``line`` counts from 1 and ``column`` from 0; what is shown counts from 1.
    """
    cell = cell_name(file)
    if cell is not None:
        return cell if line is None else f"{cell}, line {line}"
    parts = [file, *([str(line)] if line is not None else [])]
    if line is not None and column is not None:
        parts.append(str(column + 1))
    return ":".join(parts)
