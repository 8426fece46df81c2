"""Results as editors show them: diagnostics, hovers, hints at the end of a line.

Lines of results count from 1 and columns in bytes; what leaves this module counts from 0, in units of UTF-16.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls.uris import from_fs_path

from ...contract.spec_text import inserted
from ...corpus.examples import example_file
from ...reports.causes import checked
from ...reports.ci_formats import action, explanation, sides, title
from ...reports.snippets import Snippets, utf16_units
from ...reports.suppression_rules import PLACEHOLDER, wrong_codes
from ...results import Edit, Finding, FindingLevel, Hint, KernelResult, Report, SourceSite, Verdict
from ...results.codes import CODES
from ...results.conditional import conjunction, is_conditional, proved_if, remarks
from ...system.errors import TileVerifyError
from ...system.readings import text_of

SOURCE: Final = "tileverify"
_PROVED: Final = {"any": "proved for any launch", "sizes": "proved for these sizes", "launch": "proved for this launch"}
_HEAD_LINES: Final = 40
"""So many lines below a kernel's first one its ``def`` is looked for."""


def diagnostics(report: Report, source: Path, folder: Path) -> dict[str, list[types.Diagnostic]]:
    """What is to be shown in which file, by its path; what concerns ``source`` alone stands in it."""
    found: dict[str, list[types.Diagnostic]] = {str(source): []}
    snippets = Snippets()
    for result, finding in _findings(report):
        place = _place(finding, result, source, folder)
        made = _diagnostic(result, finding, place, snippets, folder)
        shown = found.setdefault(str(folder / (place.file or source)), [])
        if not any((each.range, each.code, each.message) == (made.range, made.code, made.message) for each in shown):
            shown.append(made)
    for result in report.results:
        if told := "\n".join(remarks(result)):
            made = _remark(result, told, source, snippets, folder)
            if made not in found[str(source)]:
                found[str(source)].append(made)
    return found


def _remark(result: KernelResult, told: str, source: Path, snippets: Snippets, folder: Path) -> types.Diagnostic:
    """The conditions and limits of a proof at the kernel's first line: information, or a hint for limits alone."""
    conditional = is_conditional(result)
    severity = types.DiagnosticSeverity.Information if conditional else types.DiagnosticSeverity.Hint
    place = SourceSite(str(source), result.line or 1, None, "", "")
    return types.Diagnostic(region(place, snippets, folder), told, severity=severity, source=SOURCE)


def _findings(report: Report) -> Iterator[tuple[KernelResult | None, Finding]]:
    for result in report.results:
        yield from ((result, finding) for finding in result.findings)
    yield from ((None, finding) for finding in report.findings)


def _place(finding: Finding, result: KernelResult | None, source: Path, folder: Path) -> SourceSite:
    """Where to show a finding: in the file that is checked if it has a part in it, or in its spec."""
    for site in finding.sites:
        if site.file is not None and ((folder / site.file) == source or site.file.endswith(".toml")):
            return site
    for site in finding.sites:
        for file, line, column in site.call_chain:
            if (folder / file) == source:
                return SourceSite(file, line, column, "", "")
    head = result.line if result is not None else None
    return SourceSite(str(source), head or 1, None, "", "")


def _diagnostic(
    result: KernelResult | None, finding: Finding, place: SourceSite, snippets: Snippets, folder: Path
) -> types.Diagnostic:
    named = zip(finding.sites, sides(finding), strict=True)
    others = dict.fromkeys((site, side) for site, side in named if site.file is not None)
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(uri_of(folder / (site.file or "")), region(site, snippets, folder)),
            ": ".join(each for each in (side, action(site, finding)) if each) or "here",
        )
        for site, side in others
        if site is not place or len(others) > 1
    ]
    example = example_file(finding.code)
    return types.Diagnostic(
        region(place, snippets, folder),
        finding.message,
        severity=_severity(finding),
        code=finding.code,
        code_description=None if example is None else types.CodeDescription(uri_of(example)),
        source=SOURCE,
        related_information=related or None,
        data={
            "fingerprint": finding.fingerprint,
            "kernel": "" if result is None else result.kernel,
            "launch": "" if result is None else result.launch,
            "shows": finding.witness is not None,
        },
    )


def _severity(finding: Finding) -> types.DiagnosticSeverity:
    if finding.suppression is not None:
        return types.DiagnosticSeverity.Hint
    if finding.level is FindingLevel.ERROR:
        return types.DiagnosticSeverity.Error
    if finding.level is FindingLevel.NOTE:
        return types.DiagnosticSeverity.Information
    return types.DiagnosticSeverity.Warning


def region(site: SourceSite, snippets: Snippets, folder: Path) -> types.Range:
    """Where the expression of ``site`` stands; its line where there is no text to look into."""
    path = folder / (site.file or "")
    if path.suffix == ".toml":
        return types.Range(types.Position((site.line or 1) - 1, 0), types.Position((site.line or 1), 0))
    found = snippets.region(SourceSite(str(path), site.line, site.column, site.access, site.array))
    if found is None:
        line = max((site.line or 1) - 1, 0)
        return types.Range(types.Position(line, 0), types.Position(line + 1, 0))
    start = types.Position(found.line - 1, found.column - 1)
    if found.end_column is None:
        return types.Range(start, types.Position(found.end_line, 0))
    return types.Range(start, types.Position(found.end_line - 1, found.end_column - 1))


def key_region(message: str, line: int, text: Sequence[str]) -> types.Range | None:
    """Where the key stands that the error of a spec speaks of: ``launch "x", grid: ...``, in the table at ``line``."""
    named = re.match(r"launch [^,]*, ([\w.-]+)", message) or re.match(r"unknown key '([^']+)'", message)
    if named is None:
        return None
    key = named[1].split(".")[-1]
    for number in range(line - 1, len(text)):
        if number > line - 1 and text[number].lstrip().startswith("[["):
            break
        found = re.search(rf"(?<![\w-]){re.escape(key)}(?=\s*=)", text[number])
        if found is not None:
            return types.Range(types.Position(number, found.start()), types.Position(number, found.end()))
    return None


# ------------------------------------------------------------------------------------------------- in words
def label(result: KernelResult) -> str:
    """``proved for any launch``, ``proved if N % 64 == 0``, ``refuted: TV101``."""
    if result.verdict is Verdict.PROVED:
        words = _PROVED.get(result.holds_for or "", "proved")
        if result.requires:
            words = proved_if(result) or f"proved where {conjunction(result.requires)}"
        elif result.limits:
            words = f"{words} within limits"
        warned = [finding.code for finding in result.findings]
        return ", ".join(dict.fromkeys([_short(words), *warned]))
    codes = ", ".join(dict.fromkeys(finding.code for finding in result.findings))
    word = "not checked" if result.verdict is Verdict.ERROR else result.verdict.value
    return f"{word}: {codes}" if codes else word


def _short(words: str, most: int = 70) -> str:
    return words if len(words) <= most else f"{words[: most - 3]}..."


def labels(results: Iterable[KernelResult]) -> str:
    """The same of all launches of a kernel, those alike counted."""
    counts: dict[str, int] = {}
    for result in results:
        counts[label(result)] = counts.get(label(result), 0) + 1
    return "; ".join(words if count == 1 else f"{words} ({count} launches)" for words, count in counts.items())


def told(result: KernelResult) -> str:
    """A verdict with its contract, in Markdown."""
    launch = f" [{result.launch}]" if result.launch else ""
    lines = [f"**{label(result)}**  `{result.kernel}{launch}`", ""]
    groups: Mapping[str, Sequence[str]] = {
        "contract": result.stated,
        "if" if is_conditional(result) else "requires": result.requires,
        "limit": result.limits,
        "assumes": result.assumes,
        "trusts": result.trusted,
        "note": result.notes,
    }
    lines += [
        f"- {name}: `{clause}`" if name != "note" else f"- {clause}" for name in groups for clause in groups[name]
    ]
    if result.deterministic is not None:
        lines.append("- deterministic" if result.deterministic else "- results may differ between runs")
    if proved := checked(result):
        lines.append(f"- checked: {proved}")
    return "\n".join(lines)


def finding_told(result: KernelResult, finding: Finding) -> str:
    """A finding with its witness, and what its code means, in Markdown."""
    code = CODES.get(finding.code)
    meaning = f"\n\n{code.meaning}" if code is not None else ""
    return f"**{title(finding)}**\n\n```text\n{explanation(result, finding)}\n```{meaning}"


# ------------------------------------------------------------------------------------------------- places
def uri_of(path: Path) -> str:
    found = from_fs_path(str(path))
    assert found is not None, "a path without a URI"
    return str(found)


def def_line(result: KernelResult, text: Sequence[str]) -> int | None:
    """The number, from 0, of the line with the kernel's ``def``, as the text is now."""
    name = result.kernel.rpartition(".")[2]
    head = re.compile(rf"\s*def\s+{re.escape(name)}\b")
    start = max((result.line or 1) - 1, 0)
    near = range(start, min(start + _HEAD_LINES, len(text)))
    return next((number for number in (*near, *range(len(text))) if head.match(text[number])), None)


# -------------------------------------------------------------------------------------------------------------- actions
# What an editor offers at a finding: repairs that were proved, a suppression, its drawing, an example; and to write a
# spec.


WRITE_SPEC: Final = "tileverify.writeSpec"
SHOW_EXAMPLE: Final = "tileverify.showExample"
DRAW: Final = "tileverify.drawCounterexample"
CHECK: Final = "tileverify.check"


def actions_at(
    uri: str, shown: Iterable[types.Diagnostic], repaired: Report | None, text: Sequence[str]
) -> Iterator[types.CodeAction]:
    """What can be done about the diagnostics ``shown``; ``repaired``: the results with hints."""
    shown = list(shown)
    yield from _repairs(uri, shown, repaired, text)
    yield from _promises(shown, repaired)
    for each in shown:
        code = str(each.code)
        if code and not wrong_codes((code,)):
            yield _suppression(uri, each, code, text)
        data = each.data if isinstance(each.data, dict) else {}
        if data.get("shows"):
            command = types.Command(
                f"Draw the launch that shows {code}, in a browser",
                command=DRAW,
                arguments=[uri, data["kernel"], data["launch"]],
            )
            yield types.CodeAction(command.title, kind="", diagnostics=[each], command=command)
        if example_file(code) is not None:
            command = types.Command(
                f"Show an example of {code}, and its mended twin", command=SHOW_EXAMPLE, arguments=[code]
            )
            yield types.CodeAction(command.title, kind="", diagnostics=[each], command=command)


def spec_action(uri: str) -> types.CodeAction:
    """To write down the launches that are inferred."""
    command = types.Command("Write a launch spec for this file (tileverify init)", command=WRITE_SPEC, arguments=[uri])
    return types.CodeAction(command.title, kind=types.CodeActionKind.Source, command=command)


def _repairs(
    uri: str, shown: Iterable[types.Diagnostic], repaired: Report | None, text: Sequence[str]
) -> Iterator[types.CodeAction]:
    """One for each edit: findings of one cause, and several launches of a kernel, have the same."""
    mended: dict[Hint, list[types.Diagnostic]] = {}
    for each in shown:
        for hint in _hints(each, repaired):
            mended.setdefault(hint, []).append(each)
    for hint, findings in mended.items():
        yield types.CodeAction(
            hint.text,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=findings,
            is_preferred=hint.applicability == "safe",
            edit=types.WorkspaceEdit({uri: [_text_edit(edit, text) for edit in hint.edits]}),
        )


def _promises(shown: Iterable[types.Diagnostic], repaired: Report | None) -> Iterator[types.CodeAction]:
    """To promise, in the launch spec, what would prove the kernel."""
    for each in shown:
        for hint in _hints_of(each, repaired):
            if not hint.requires or hint.spec is None or not hint.spec.file.endswith(".toml"):
                continue
            path = Path(hint.spec.file)
            try:
                text = text_of(path)
                place, added = inserted(text, hint.spec.line, hint.requires, hint.spec.file)
            except (TileVerifyError, OSError, UnicodeDecodeError):
                continue
            line = text.count("\n", 0, place)
            start = types.Position(line, utf16_units(text[text.rfind("\n", 0, place) + 1 : place]))
            yield types.CodeAction(
                f"Promise {' and '.join(hint.requires)} in {path.name}",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[each],
                edit=types.WorkspaceEdit({path.resolve().as_uri(): [types.TextEdit(types.Range(start, start), added)]}),
            )


def _hints(shown: types.Diagnostic, repaired: Report | None) -> Iterator[Hint]:
    """Those with edits, of the finding that is shown."""
    return (hint for hint in _hints_of(shown, repaired) if hint.edits)


def _hints_of(shown: types.Diagnostic, repaired: Report | None) -> Iterator[Hint]:
    for result in repaired.results if repaired is not None else ():
        for finding in result.findings:
            if _is_shown(finding, shown) and result.launch == (shown.data or {}).get("launch"):
                yield from finding.hints


def _is_shown(finding: Finding, shown: types.Diagnostic) -> bool:
    data = shown.data if isinstance(shown.data, dict) else {}
    return finding.code == shown.code and finding.fingerprint == data.get("fingerprint")


def _text_edit(edit: Edit, text: Sequence[str]) -> types.TextEdit:
    def position(line: int, column: int) -> types.Position:
        before = text[line - 1][:column] if 1 <= line <= len(text) else ""
        return types.Position(line - 1, utf16_units(before))

    span = types.Range(position(edit.line, edit.column), position(edit.end_line, edit.end_column))
    return types.TextEdit(span, edit.text)


def _suppression(uri: str, shown: types.Diagnostic, code: str, text: Sequence[str]) -> types.CodeAction:
    line = shown.range.start.line
    above = text[line] if line < len(text) else ""
    indent = above[: len(above) - len(above.lstrip())]
    start = types.Position(line, 0)
    comment = types.TextEdit(types.Range(start, start), f"{indent}# tileverify: ignore[{code}] -- {PLACEHOLDER}\n")
    return types.CodeAction(
        f"Suppress {code} here, with a reason",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown],
        edit=types.WorkspaceEdit({uri: [comment]}),
    )
