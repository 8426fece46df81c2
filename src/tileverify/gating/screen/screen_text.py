"""The screen's look at the characters of a source: size, control characters, characters that reorder a line."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

from ..gated import Reason

MOST_BYTES: Final = 256 * 1024
LONGEST_LINE: Final = 4096
"""Characters."""

_ALLOWED: Final = frozenset("\t\n\r")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that cannot be seen: controls, formats (with the bidirectional ones), surrogates,
private and unassigned ones, separators of lines that Python does not count."""


def text_reasons(text: str) -> Iterator[Reason]:
    """Reasons against the text itself, in its order."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            yield Reason("line-length", f"a line has more than {LONGEST_LINE} characters", number, LONGEST_LINE)
        column = _hidden(line.removesuffix("\r"))
        if column is not None:
            what = describe(line[column])
            yield Reason("control-character", f"the source holds {what}, which hides what a line says", number, column)


def hidden_in_literal(text: str) -> str | None:
    """A description of the first character of a string's value that a terminal might obey, if there is one."""
    column = _hidden(text.replace("\n", ""))
    return None if column is None else describe(text.replace("\n", "")[column])


def describe(character: str) -> str:
    return f"the character U+{ord(character):04X}"


def _hidden(line: str) -> int | None:
    if line.isascii() and line.isprintable():
        return None
    for column, character in enumerate(line):
        if character == "\r" or (character not in _ALLOWED and unicodedata.category(character) in _INVISIBLE):
            return column
    return None
