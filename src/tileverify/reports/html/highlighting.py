"""Source and Tile IR as lines of HTML, coloured by Pygments; everything from files is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath
from typing import Final

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
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


_USUAL: Final = frozenset((".py", ".cu"))
"""Suffixes that tell the language by themselves."""

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
    suffix = PurePath(file).suffix
    return _lines(text, _lexer(f"file{suffix}" if suffix in _USUAL else file))


@cache
def _lexer(file: str) -> Lexer:
    """That of a file's name, which Pygments looks for among the patterns of all languages."""
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
            parts += (escape(text[behind : found.start()]), f'<i class="{name}">{escape(found[0])}</i>')
            behind = found.end()
    parts.append(escape(text[behind:]))
    return [Markup(line) for line in "".join(parts).split("\n")]


def _lines(text: str, lexer: Lexer) -> list[Markup]:
    lines: list[list[str]] = [[]]
    for kind, value in _tokens(text, lexer):
        name = _class(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                shown = escape(part)
                lines[-1].append(f'<i class="{name}">{shown}</i>' if name else shown)
    return [Markup("".join(line)) for line in lines]


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
