"""Source lines of pages: coloured, those of a finding with carets below, and those that a report shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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

from ...results import Finding, SourceSite
from ...system.printable import printable, syntax_tree
from ...system.readings import shown_place
from ..findings import side_names
from ..snippets import TAB, Snippet, Snippets, source_text

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


# ------------------------------------------------------------------------------------------------------------- excerpts
# The source lines of a finding with carets below the accesses, as a terminal shows them.


@dataclass(frozen=True, slots=True)
class Caret:
    """``width`` carets from cell ``start`` of the line above; ``side``: a, b, ab or nothing, which gives the colour."""

    start: int
    width: int
    side: str
    label: str


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """``number``: of the line, 0 where some are left out."""

    number: int
    text: str
    carets: tuple[Caret, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    place: str
    lines: tuple[ExcerptLine, ...]


def excerpts(finding: Finding, snippets: Snippets) -> tuple[Excerpt, ...]:
    """One for each file with an access of ``finding``; files that cannot be read have none."""
    files: dict[str, list[tuple[int, SourceSite, Snippet]]] = {}
    for number, site in enumerate(finding.sites):
        snippet = snippets.at(site)
        if snippet is not None and site.file is not None:
            files.setdefault(site.file, []).append((number, site, snippet))
    return tuple(
        Excerpt(shown_place(file, found[0][1].line), tuple(_excerpt_lines(finding, found)))
        for file, found in files.items()
    )


def _excerpt_lines(finding: Finding, found: Sequence[tuple[int, SourceSite, Snippet]]) -> Iterator[ExcerptLine]:
    carets: dict[int, dict[tuple[int, int], list[int]]] = {}
    for number, _, snippet in found:
        carets.setdefault(snippet.marked, {}).setdefault((snippet.start, snippet.width), []).append(number)
    previous = None
    for number, text in sorted({line for _, _, snippet in found for line in snippet.lines}):
        if previous is not None and number != previous + 1:
            yield ExcerptLine(0, "", ())
        previous = number
        marks = carets.get(number, {})
        yield ExcerptLine(
            number, text, tuple(Caret(*span, *_who(finding, numbers)) for span, numbers in sorted(marks.items()))
        )


def _who(finding: Finding, numbers: Sequence[int]) -> tuple[str, str]:
    """Whose accesses stand there, and in words what they do."""
    site = finding.sites[numbers[0]]
    target = finding.target(site) if site.array else ""
    action = f"{site.access} {target}".strip()
    if finding.witness is None or len(finding.sites) < 2:
        return "", action if site.array else ""
    names = side_names(finding)
    sides = [side for side in "ab" if "ab".index(side) in numbers]
    who = " and ".join(names[side] for side in sides)
    verb = f"both {action}" if len(sides) == 2 else f"{site.access}s {target}".strip()
    return "".join(sides), f"{who} {verb}" if who else action


# -------------------------------------------------------------------------------------------------------------- sources
# The source files that a report speaks of: which of their lines are shown, and how.


SHOWN_WHOLE: Final = 160
"""Lines of a file that is shown from its first to its last line."""
AROUND: Final = 12
"""Lines before and behind a place in a file whose functions are not known."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """``html``: every line, coloured; ``functions``: first and last line of its functions, 1-based."""

    name: str
    html: tuple[Markup, ...]
    functions: tuple[tuple[int, int], ...]

    def shown(self, lines: Iterable[int]) -> list[int]:
        """The numbers of the lines to show where ``lines`` matter: all of a short file, else whole functions."""
        count = len(self.html)
        if count <= SHOWN_WHOLE:
            return list(range(1, count + 1))
        wanted: set[int] = set()
        for line in set(lines):
            around = [span for span in self.functions if span[0] <= line <= span[1]]
            first, last = min(around, default=(line - AROUND, line + AROUND))
            wanted.update(range(max(first, 1), min(last, count) + 1))
        return sorted(wanted)


@dataclass
class Sources:
    """Reads each file once; one that is missing, or no source, gives ``None``."""

    _files: dict[str, SourceFile | None] = field(default_factory=dict)

    def file(self, name: str) -> SourceFile | None:
        if name not in self._files:
            text = source_text(name)
            self._files[name] = None if text is None else _file(name, text)
        return self._files[name]


def _file(name: str, lines: tuple[str, ...]) -> SourceFile:
    plain = [printable(line.replace("\t", TAB).rstrip()) for line in lines]
    while plain and not plain[-1]:
        plain.pop()
    functions = tuple(_functions("\n".join(lines))) if PurePath(name).suffix == ".py" else ()
    return SourceFile(name, tuple(source_lines("\n".join(plain), PurePath(name).name)), functions)


def _functions(text: str) -> Iterator[tuple[int, int]]:
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min((each.lineno for each in node.decorator_list), default=node.lineno)
            yield first, node.end_lineno or node.lineno
