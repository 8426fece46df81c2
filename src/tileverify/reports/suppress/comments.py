"""``# tileverify: ignore[TV101] -- reason (until 2027-12-31)`` in sources.

A comment stands beside the code on its line, or, on a line of its own, beside the next line of code.  Beside the
``def`` line or a decorator of a kernel it speaks of the whole kernel, beside a statement of the accesses in it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final

from ...results import Finding, SourceSite, SuppressionKind
from ...results.codes import TV
from ...system.source_lines import syntax_tree
from ..snippets import source_text
from .model import CommentRule, Rule, is_placeholder, wrong_codes

FORM: Final = "tileverify: ignore[TV101] -- why this is fine (until 2027-12-31)"

_MARK: Final = re.compile(r"tileverify:\s*ignore\b(?P<rest>.*)", re.DOTALL)
_REST: Final = re.compile(r"\s*\[(?P<codes>[^\]]*)\]\s*(?:--(?P<words>.*))?", re.DOTALL)
_UNTIL: Final = re.compile(r"(?P<reason>.*?)\s*\(\s*until\s+(?P<day>[^)]*?)\s*\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Comment:
    """``column`` counts characters from 0; ``alone``: there is no code on its line."""

    text: str
    line: int
    column: int
    alone: bool


@dataclass(frozen=True, slots=True)
class Comments:
    """Those of one file, and what is wrong with others."""

    rules: tuple[CommentRule, ...] = ()
    problems: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Code:
    """Line -> the lines of the simple statement (or of the head of the compound one) that it belongs to; line ->
    the line of the ``def`` whose head, decorators included, it belongs to."""

    statements: Mapping[int, range] = field(default_factory=dict)
    heads: Mapping[int, int] = field(default_factory=dict)


def comments_of(file: str) -> Comments:
    """The suppressions in ``file``, a path as reports spell it; none where it is no readable source."""
    lines = source_text(file)
    text = "\n".join(lines or ())
    if "tileverify" not in text:
        return Comments()
    python = Path(file).suffix.lower() == ".py"
    found = list(_python_comments(text) if python else _line_comments(text))
    code = _code(text) if python else _Code()
    occupied = {each.line for each in found if each.alone}
    rules, problems = [], []
    for comment in found:
        mark = _MARK.search(comment.text)
        if mark is None:
            continue
        rule = _parsed(mark["rest"], file, comment.line)
        if isinstance(rule, str):
            site = SourceSite(file, comment.line, comment.column, "", "")
            problems.append(Finding(TV.SUPPRESSION_MALFORMED, f"this suppression {rule}; write: {FORM}", (site,)))
            continue
        target = comment.line
        if comment.alone:
            below = enumerate((lines or ())[comment.line :], start=comment.line + 1)
            target = next((n for n, line in below if n not in occupied and line.strip()), comment.line)
        beside = code.statements.get(target, range(target, target + 1))
        kernels = frozenset({code.heads[target]} if target in code.heads else {target} - set(code.statements))
        rules.append(CommentRule(rule, frozenset(beside), kernels))
    return Comments(tuple(rules), tuple(problems))


def _parsed(rest: str, file: str, line: int) -> Rule | str:
    """The rule, or what is wrong with it as the end of a sentence."""
    form = _REST.fullmatch(rest)
    if form is None:
        return "cannot be read"
    codes = tuple(code.strip() for code in form["codes"].split(",") if code.strip())
    if wrong := wrong_codes(codes):
        return wrong
    words = (form["words"] or "").strip()
    day = None
    if (until := _UNTIL.fullmatch(words)) is not None:
        words = until["reason"]
        try:
            day = date.fromisoformat(until["day"])
        except ValueError:
            return f"ends on '{until['day']}', which is no day of the form 2027-12-31"
    if not words:
        return "gives no reason"
    if is_placeholder(words):
        return f"gives no reason ('{words}' is a placeholder)"
    return Rule(SuppressionKind.COMMENT, codes, words, day, file, line)


def _python_comments(text: str) -> Iterator[_Comment]:
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                yield _Comment(token.string, line, column, not lines[line - 1][:column].strip())
    except (tokenize.TokenError, SyntaxError):
        return


def _line_comments(text: str) -> Iterator[_Comment]:
    for line, code in enumerate(text.split("\n"), start=1):
        before, slashes, comment = code.partition("//")
        if slashes:
            yield _Comment(comment, line, len(before), not before.strip())


def _code(text: str) -> _Code:
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Code()
    statements: dict[int, range] = {}
    heads: dict[int, int] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        lines = _lines_of(node)
        # Inner statements come later in the walk, and are what a comment on their lines is about.
        statements.update(dict.fromkeys(lines, lines))
        if isinstance(node, ast.FunctionDef):
            heads.update(dict.fromkeys(lines, node.lineno))
    return _Code(statements, heads)


def _lines_of(node: ast.stmt) -> range:
    """All lines of a simple statement; those before the body of a compound one, decorators included."""
    first = min([node.lineno, *(each.lineno for each in _decorators(node))])
    inside = [min([each.lineno, *(d.lineno for d in _decorators(each))]) for each in getattr(node, "body", ())]
    if isinstance(node, ast.Match):
        inside = [case.pattern.lineno for case in node.cases]
    last = max(node.lineno, min(inside) - 1) if inside else node.end_lineno or node.lineno
    return range(first, last + 1)


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return list(getattr(node, "decorator_list", ()))
