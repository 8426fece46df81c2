"""Text from files, bytecode and user code made harmless for a terminal."""

from __future__ import annotations

import unicodedata
from typing import Final

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
