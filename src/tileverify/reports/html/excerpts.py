"""The source lines of a finding with carets below the accesses, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...results import Finding, SourceSite
from ...system.notebook_cells import shown_place
from ..findings import side_names
from ..snippets import Snippet, Snippets


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
        Excerpt(shown_place(file, found[0][1].line), tuple(_lines(finding, found))) for file, found in files.items()
    )


def _lines(finding: Finding, found: Sequence[tuple[int, SourceSite, Snippet]]) -> Iterator[ExcerptLine]:
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
