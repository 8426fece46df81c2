"""What changed between two reports, as the comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ..results import Finding, KernelResult, Verdict
from ..system.printable import printable
from .history import Change, History

MARKER: Final = "<!-- tileverify -->"
"""The first line: by it, the comment that is to be updated is found again."""

LONGEST: Final = 60_000
"""Characters; GitHub takes 65,536."""

_SIGNS: Final = {
    Verdict.PROVED: "✅ proved",
    Verdict.REFUTED: "❌ refuted",
    Verdict.UNDECIDED: "❔ undecided",
    Verdict.ERROR: "⚠️ error",
}


def history_markdown(history: History, results: Sequence[KernelResult]) -> str:
    """A sentence, a table of the changes, and the findings of what changed; ``results``: the new ones."""
    lines = [MARKER, f"### tileverify: {history.sentence}", ""]
    if history.changes:
        lines += ["| | kernel | verdict | |", "|---|---|---|---|", *map(_row, history.changes), ""]
    lines += _findings(history, results)
    text, kept = "", 0
    for line in lines:
        if len(text) + len(line) > LONGEST:
            text += f"\n{len(lines) - kept} more lines are left out.\n"
            break
        text, kept = f"{text}{line}\n", kept + 1
    return text


def _row(change: Change) -> str:
    verdicts = dict.fromkeys(verdict for verdict in (change.old, change.new) if verdict is not None)
    shown = " → ".join(_SIGNS[verdict] for verdict in verdicts)
    name = f"{_code(f'{change.file}::{change.kernel}')} {_text(change.launch)}"
    return f"| {change.kind.value} | {name} | {shown} | {'<br>'.join(map(_code, change.told))} |"


def _findings(history: History, results: Sequence[KernelResult]) -> Iterator[str]:
    changed = {(each.file, each.kernel, each.launch) for each in history.changes}
    for result in results:
        found = [finding for finding in result.findings if finding.suppression is None]
        if found and (result.file, result.kernel, result.launch) in changed:
            yield f"<details><summary>{_text(f'{result.kernel or result.file} {result.launch}'.strip())}</summary>"
            yield ""
            for finding in found:
                yield f"- **{_text(finding.code)}** {_text(finding.sentence)}{_places(finding)}"
                yield from (f"  <br>{_code(line)}" for line in finding.example)
            yield ""
            yield "</details>"


def _places(finding: Finding) -> str:
    places = dict.fromkeys(f"{site.file}:{site.line}" for site in finding.sites if site.file and site.line)
    return "".join(f" {'at' if number == 0 else 'and'} {_code(place)}" for number, place in enumerate(places))


def _code(text: str) -> str:
    """``text`` as code that ends neither its span nor its cell."""
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """``text`` without a meaning in Markdown or HTML: what reports say comes from strangers' files."""
    line = printable(" ".join(text.split()))
    return re.sub(r"[^\w\s.,:;=+/()%-]", lambda found: f"&#{ord(found[0])};", line)
