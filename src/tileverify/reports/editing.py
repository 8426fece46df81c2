"""A source text with edits made, and the lines that they change."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ..results import Edit
from ..system.printable import bare_lines, source_lines


def edited(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all ``edits``, which do not overlap."""
    lines = source_lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[min(line - 1, len(lines))] + column

    for edit in sorted(edits, key=lambda each: (each.line, each.column), reverse=True):
        text = text[: place(edit.line, edit.column)] + edit.text + text[place(edit.end_line, edit.end_column) :]
    return text


def text_digest(text: str) -> str:
    """The SHA-256 of a source text, by which its edits know it again."""
    return hashlib.sha256(text.encode()).hexdigest()


def well_placed(text: str, edits: Sequence[Edit]) -> bool:
    """Whether all ``edits`` lie in the text, each ends behind its beginning, and no two overlap; all lines behind the
    last one are its end."""
    lengths = list(map(len, bare_lines(text)))

    def there(line: int, column: int) -> bool:
        return line >= 1 and 0 <= column <= (lengths[line - 1] if line <= len(lengths) else 0)

    end = (0, 0)
    for edit in sorted(edits, key=lambda each: (each.line, each.column, each.end_line, each.end_column)):
        start, behind = (edit.line, edit.column), (edit.end_line, edit.end_column)
        if not (there(*start) and there(*behind) and end <= start <= behind):
            return False
        end = behind
    return True


LARGEST_DIFFERENCE: Final = 64
"""Lines of a place, before or after, in which equal lines are looked for: to compare n with m lines takes n * m."""


def changed_lines(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    """``-12: before`` and ``+12: after`` for each line that `well_placed` edits change.

    Only the lines that the edits stand in are compared, so that this takes no longer than the text is.
    """
    if not well_placed(text, edits):
        return
    lines = source_lines(text)
    moved = 0  # by how many lines the text behind is moved
    # What is put behind a last line that has no end becomes a part of it.
    behind = len(lines) + (not lines or lines[-1].endswith("\n"))
    for place in _places(edits, behind):
        first, last = min(place[0].line, behind), min(max(edit.end_line for edit in place), len(lines))
        old = lines[first - 1 : last]
        inside = [replace(edit, line=edit.line - first + 1, end_line=edit.end_line - first + 1) for edit in place]
        new = bare_lines(edited("".join(old), inside))
        yield from _differences(bare_lines("".join(old)), new, first, first + moved)
        moved += len(new) - len(old)


def _places(edits: Sequence[Edit], behind: int) -> Iterator[list[Edit]]:
    """Edits that share a line, together; in order.  All lines from ``behind`` on are one."""
    together: list[Edit] = []
    for edit in sorted(edits, key=lambda each: (each.line, each.column)):
        if together and min(edit.line, behind) > max(each.end_line for each in together):
            yield together
            together = []
        together.append(edit)
    if together:
        yield together


def _differences(old: list[str], new: list[str], old_first: int, new_first: int) -> Iterator[str]:
    if max(len(old), len(new)) > LARGEST_DIFFERENCE:
        opcodes = [("replace", 0, len(old), 0, len(new))]
    else:
        opcodes = list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    for kind, start, end, new_start, new_end in opcodes:
        if kind != "equal":
            yield from (f"-{old_first + number}: {old[number]}" for number in range(start, end))
            yield from (f"+{new_first + number}: {new[number]}" for number in range(new_start, new_end))
