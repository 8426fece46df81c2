"""Source and Tile IR as lines of HTML, coloured by Pygments; everything from files is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import PurePath
from typing import Final

from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text, _TokenType
from pygments.util import ClassNotFound

CLASSES: Final = (
    (Comment, "tc"),
    (String, "ts"),
    (Number, "tn"),
    (Keyword, "tk"),
    (Name.Function, "tf"),
    (Name.Class, "tf"),
    (Name.Decorator, "td"),
    (Name.Builtin, "tb"),
    (Name.Variable, "tv"),
    (Name.Type, "ty"),
)
"""Token types that have a colour, with their class in the style sheet."""


_LANGUAGES: Final = {".py": "python", ".cu": "cuda"}
"""Suffixes that tell the language by themselves; Pygments would look through the patterns of all that it knows."""

_TILE_IR: Final = re.compile(
    r"""
      (?P<tc> //.* )
    | (?P<ts> "[^"\n]*" )
    | (?P<tv> %[\w.$#]+ )
    | (?P<tf> @[\w.$]+ )
    | (?P<tk> \b(?:entry|global|constant|iter_values|token|attributes|for|if|else|loop|in|to|step)\b )
    | (?P<ty> \b(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)\b
            | \b[if](?:8|16|32|64|1)\w*\b | \bbf16\b | \btf32\b )
    | (?P<tb> (?<==\s)[a-z][\w.]* | (?<=^\s\s)[a-z][\w.]* )
    | (?P<tn> -?\b(?:0x[0-9a-fA-F]+|\d[\d.]*(?:e[+-]?\d+)?)\b )
    | [a-zA-Z_][\w.]*
    """,
    re.MULTILINE | re.VERBOSE,
)
"""The assembly that `tileverify dis` prints: what has a colour, and names, which have none.  One pattern: a report has
a million tokens, and Pygments, which tries one pattern behind the other, takes four times as long."""


def source_lines(text: str, file: str) -> list[Markup]:
    """One piece of HTML for each line of ``text``, coloured by the language that the file's name tells."""
    language = _LANGUAGES.get(PurePath(file).suffix)
    return _lines(text, _lexer_of(file) if language is None else _lexer(language))


@cache
def _lexer(language: str) -> Lexer:
    found: Lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    return found


@cache
def _lexer_of(file: str) -> Lexer:
    """That of a file's name."""
    try:
        found: Lexer = get_lexer_for_filename(file, stripnl=False, ensurenl=False)
    except ClassNotFound:
        found = TextLexer(stripnl=False, ensurenl=False)
    return found


def ir_lines(text: str) -> list[Markup]:
    """The same for Tile IR, of which no token goes beyond a line."""
    parts: list[str] = []
    behind = 0
    for found in _TILE_IR.finditer(text):
        name = found.lastgroup
        if name is not None:
            parts += (_shown(text[behind : found.start()]), f'<i class="{name}">{_shown(found[0])}</i>')
            behind = found.end()
    parts.append(_shown(text[behind:]))
    return [Markup(line) for line in "".join(parts).split("\n")]


def _lines(text: str, lexer: Lexer) -> list[Markup]:
    lines: list[list[str]] = [[]]
    for kind, value in _tokens(text, lexer):
        name = _class(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                shown = _shown(part)
                lines[-1].append(f'<i class="{name}">{shown}</i>' if name else shown)
    return [Markup("".join(line)) for line in lines]


def _shown(text: str) -> str:
    """Between tags, where quotes are themselves; `markupsafe.escape` makes an object of each of a million pieces."""
    return escape(text, quote=False)


def _tokens(text: str, lexer: Lexer) -> Iterator[tuple[_TokenType, str]]:
    """Tokens; a neighbour of the same colour belongs to the one before."""
    kind, value = Text, ""
    for new, part in lexer.get_tokens(text):
        if _class(new) == _class(kind):
            value += part
        else:
            yield kind, value
            kind, value = new, part
    yield kind, value


@cache
def _class(kind: _TokenType) -> str:
    """Asked for every token, of which a report has a million, and of a few dozen types."""
    return next((name for parent, name in CLASSES if kind in parent), "")
