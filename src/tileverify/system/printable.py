"""Text from files, bytecode and user code made harmless: for a terminal, and for the names of files."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .readings import cell_name

_REORDERING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Bidirectional controls: they make a line read differently from what it says (CVE-2021-42574)."""


def printable(text: str) -> str:
    """``text`` with control characters, bidirectional controls and lone surrogates as visible escapes.

    The result is one line that can be printed anywhere: it holds no escape sequence, newline or tab.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _REORDERING:
        number = ord(character)
        return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
    return character


# --------------------------------------------------------------------------------------------------------------- plural
# Numbers of things in words.


def plural(count: int, noun: str) -> str:
    """``1 launch``, ``2 launches``, ``0 kernels``."""
    ending = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count} {noun}{'' if count == 1 else ending}"


# ---------------------------------------------------------------------------------------------------------------- paths
# Paths as people read them.


def display_path(path: str | Path) -> str:
    """Relative to the working folder where it lies below it, with forward slashes; cells of notebooks as they are."""
    if cell_name(str(path)) is not None:
        return str(path)
    path = Path(path)
    with contextlib.suppress(ValueError, OSError):
        path = path.relative_to(Path.cwd()) if path.is_absolute() else path
    return path.as_posix()


# --------------------------------------------------------------------------------------------------------- source lines
# The lines of a text as compilers, editors and Git count them.


def source_lines(text: str) -> list[str]:
    """With their ends, which are ``\\n``, ``\\r\\n`` or ``\\r``; joined, they are the text.

    `str.splitlines` also begins a line behind a form feed, a line separator and others.  Whoever counts so finds
    another function at the number of a line than Python does: `inspect` would give the compiler that one's source.
    """
    return io.StringIO(text, newline="").readlines()


def bare_lines(text: str) -> list[str]:
    """The same without their ends."""
    return [line.rstrip("\r\n") for line in source_lines(text)]


def syntax_tree(text: str) -> ast.Module:
    """Of a whole file, whose byte order mark `ast.parse` would refuse; nothing but names of modules stands beside one.

    Raises SyntaxError, ValueError, RecursionError and MemoryError.
    """
    return ast.parse(text.removeprefix("\ufeff"))


# ----------------------------------------------------------------------------------------------------------- file names
# File names made of data: names of kernels, launches and arguments, as sources, bytecode or a bundle tell them.
#
# Whoever wrote those may have written ``../../.bashrc``, a device's name, or a name as long as a book.  What is made
# here is a plain name in the folder that the user named, and no two things get one name.


_LONGEST: Final = 120
"""Bytes of a stem, so that any suffix still fits into what file systems take."""
_LONGEST_DISTINCT: Final = 48
"""Three such names and what is between them are a file's name on any system."""
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE | re.DOTALL)
"""Devices, on one system or another, whatever their suffix."""
_DISTINCT: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?")
_WITH_HASH: Final = re.compile(r".*-[0-9a-f]{12}", re.DOTALL)


def plain_stem(text: str) -> str:
    """``text`` with nothing but letters, digits and ``_.=+-[]``, beginning and ending with none of ``.=+-``.

    What is too long, a device or nothing gets a hash of the whole.
    """
    stem = re.sub(r"[^\w.=+\[\]-]+", "-", text).strip("-.=+")
    encoded = stem.encode()
    if stem and len(encoded) <= _LONGEST and not _RESERVED.fullmatch(stem):
        return stem
    cut = encoded[: _LONGEST - 20].decode(errors="ignore")
    return f"{'_' if _RESERVED.fullmatch(stem) or not stem else ''}{cut}-{_hash(text)}"


def distinct_stem(text: str) -> str:
    """A name of letters, digits, ``_`` and, inside, ``-`` that no other text gets.

    What is changed or cut for that gets a hash of the whole; so does what looks as if it had one.
    """
    plain = len(text) <= _LONGEST_DISTINCT and _DISTINCT.fullmatch(text) and not _RESERVED.fullmatch(text)
    if plain and not _WITH_HASH.fullmatch(text):
        return text
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', text)[:_LONGEST_DISTINCT] or '_'}-{_hash(text)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


@dataclass(slots=True)
class FreeNames:
    """Stems for the files of one folder, each given once; what others have already gets a number."""

    _taken: set[str] = field(default_factory=set)

    def stem(self, text: str) -> str:
        """Compared without regard to case and composition of letters, as some file systems do."""
        plain = name = plain_stem(text)
        number = 2
        while (key := unicodedata.normalize("NFKC", name).casefold()) in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(key)
        return name

    def __len__(self) -> int:
        return len(self._taken)
