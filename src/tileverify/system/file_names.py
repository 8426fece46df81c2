"""File names made of data: names of kernels, launches and arguments, as sources, bytecode or a bundle tell them.

Whoever wrote those may have written ``../../.bashrc``, a device's name, or a name as long as a book.  What is made here
is a plain name in the folder that the user named, and no two things get one name.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final

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
