"""What an editor offers at a finding: repairs that were proved, a suppression, its drawing, an example; and to write a
spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from lsprotocol import types

from ...contract.spec_edit import inserted
from ...corpus.examples import example_file
from ...reports.suppress.model import PLACEHOLDER, wrong_codes
from ...results import Edit, Finding, Hint, Report
from ...system.errors import TileVerifyError
from ...system.readings import text_of
from .shown import units

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
            start = types.Position(line, units(text[text.rfind("\n", 0, place) + 1 : place]))
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
        return types.Position(line - 1, units(before))

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
