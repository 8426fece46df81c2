"""Source and Tile IR as lines of HTML, coloured by Pygments; everything from files is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from markupsafe import Markup, escape
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, _TokenType
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


class TileIrLexer(RegexLexer):
    """The assembly that `tileverify dis` prints."""

    name = "Tile IR"
    tokens: Final = {
        "root": [
            (r"//.*", Comment),
            (r'"[^"\n]*"', String),
            (r"%[\w.$#]+", Name.Variable),
            (r"@[\w.$]+", Name.Function),
            (r"\b(entry|global|constant|iter_values|token|attributes|for|if|else|loop|in|to|step)\b", Keyword),
            (r"\b(tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)\b", Name.Type),
            (r"\b[if](?:8|16|32|64|1)\w*\b|\bbf16\b|\btf32\b", Name.Type),
            (r"(?<==\s)[a-z][\w.]*|(?<=^\s\s)[a-z][\w.]*", Name.Builtin),
            (r"-?\b(?:0x[0-9a-fA-F]+|\d[\d.]*(?:e[+-]?\d+)?)\b", Number),
            (r"[a-zA-Z_][\w.]*", Text),
            (r"[<>(){}\[\],:]", Punctuation),
            (r"[=+\-*/#?]", Operator),
            (r"\s+", Text),
            (r".", Text),
        ]
    }


def source_lines(text: str, file: str) -> list[Markup]:
    """One piece of HTML for each line of ``text``, coloured by the language that the file's name tells."""
    try:
        lexer = get_lexer_for_filename(file, stripnl=False, ensurenl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False, ensurenl=False)
    return _lines(text, lexer)


def ir_lines(text: str) -> list[Markup]:
    """The same for Tile IR."""
    return _lines(text, TileIrLexer(stripnl=False, ensurenl=False))


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
