"""Proved repairs as SARIF has them: `fixes` of a result (SARIF 2.1.0, 3.55 to 3.57)."""

from __future__ import annotations

from collections.abc import Iterator

from ..results import Edit, Finding
from ..results.documents import Json
from ..system.printable import printable
from .editing import text_digest
from .snippets import source_text


def fixes(finding: Finding, file: str, artifact: Json) -> list[Json]:
    """One for each hint of ``finding`` with edits of ``file``, whose SARIF location is ``artifact``; none where the
    file is not the text that they are for."""
    proved = [hint for hint in finding.hints if hint.edits]
    lines = source_text(file) if proved else None
    if lines is None:
        return []
    digest = text_digest("\n".join(lines))
    return [
        {
            "description": {"text": printable(f"{hint.text} [{hint.applicability}]")},
            "artifactChanges": [
                {"artifactLocation": artifact, "replacements": list(_replacements(hint.edits, lines))},
            ],
        }
        for hint in proved
        if hint.source_sha256 in ("", digest)
    ]


def _replacements(edits: tuple[Edit, ...], lines: tuple[str, ...]) -> Iterator[Json]:
    for edit in edits:
        line, column = _place(edit.line, edit.column, lines)
        end_line, end_column = _place(edit.end_line, edit.end_column, lines)
        region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
        yield {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def _place(line: int, column: int, lines: tuple[str, ...]) -> tuple[int, int]:
    """Line and column from 1, columns in UTF-16 code units; behind the last line is its end."""
    if line > len(lines):
        return len(lines), _units(lines[-1]) + 1
    return line, _units(lines[line - 1][:column]) + 1


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2
