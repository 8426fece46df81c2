"""The server: what editors ask and what they are told, over stdin and stdout."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from ...contract.spec_files import spec_path
from ...corpus.examples import example_file
from ...reports.snippets import utf16_units
from ...system.errors import UsageError
from ...system.version import __version__
from .shown import (
    CHECK,
    DRAW,
    SHOW_EXAMPLE,
    SOURCE,
    WRITE_SPEC,
    actions_at,
    def_line,
    finding_told,
    labels,
    spec_action,
    told,
    uri_of,
)
from .shown_sources import TYPING, DrawnPages, ShownSource, ShownSources, run

_PATIENCE: Final = 10.0
"""Seconds that a request for actions waits for repairs that are being tried."""


def serve() -> None:
    """Serve one editor, until it ends."""
    made().start_io()


def made() -> LanguageServer:
    """A server with all that it answers."""
    server = LanguageServer(SOURCE, __version__, protocol_cls=_InUtf16)
    desk = ShownSources(server)
    pages = DrawnPages()
    _documents(server, desk, pages)
    _questions(server, desk)
    _commands(server, desk, pages)
    return server


class _InUtf16(LanguageServerProtocol):  # type: ignore[misc]  # pygls has no types here
    """Columns count units of UTF-16, whatever else the editor offers: every client has to know these.

    `shown` counts nothing else.  Helix and Neovim would rather have bytes of UTF-8, which pygls would promise them.
    """

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        if params.capabilities.general is not None:
            params.capabilities.general.position_encodings = [types.PositionEncodingKind.Utf16]
        return (yield from super().lsp_initialize(params))


def _documents(server: LanguageServer, desk: ShownSources, pages: DrawnPages) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        desk.changed(params.text_document.uri, opened=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        desk.changed(params.text_document.uri, delay=TYPING)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        desk.changed(params.text_document.uri, saved=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        desk.closed(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await desk.ended()
        pages.end()


def _questions(server: LanguageServer, desk: ShownSources) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        source = desk.source(params.text_document.uri)
        if source is None:
            return None
        parts = _hovered(desk, source, params.text_document.uri, params.position.line)
        if not parts:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)))

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        source = desk.source(params.text_document.uri)
        return [] if source is None else _hints(source, desk.lines(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        source = desk.source(uri)
        if source is None:
            return []
        shown = [each for each in desk.shown(uri) if _overlap(each.range, params.range)]
        repaired = None
        if shown and source.repairs is not None:
            done, _ = await asyncio.wait([source.repairs], timeout=_PATIENCE)
            if done and not source.repairs.cancelled() and source.repairs.exception() is None:
                repaired = source.repairs.result()
        found = list(actions_at(uri, shown, repaired, desk.lines(uri)))
        if source.results() and not spec_path(source.path).exists():
            found.append(spec_action(uri))
        return found


def _commands(server: LanguageServer, desk: ShownSources, pages: DrawnPages) -> None:
    @server.command(SHOW_EXAMPLE)
    async def example(code: str) -> None:
        if (file := example_file(code)) is not None:
            await server.window_show_document_async(types.ShowDocumentParams(uri_of(file), take_focus=True))

    @server.command(DRAW)
    async def draw(uri: str, kernel: str, launch: str) -> None:
        source = desk.source(uri)
        if source is None:
            return
        try:
            page = await pages.draw(source.path, source.folder, kernel, launch, desk.overlay())
        except UsageError as problem:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Error, problem.message))
            return
        await server.window_show_document_async(types.ShowDocumentParams(page, external=True))

    @server.command(CHECK)
    async def check(uri: str) -> None:
        desk.changed(uri, saved=True)

    @server.command(WRITE_SPEC)
    async def write_spec(uri: str) -> None:
        path = desk.path(uri)
        with tempfile.TemporaryDirectory(prefix="tileverify-") as folder:
            file = Path(folder, spec_path(path).name)
            answer = await run(["init", str(path), "--output", str(file)], str(path.parent), desk.overlay())
            if not file.exists():
                problem = answer.err.strip().removeprefix("error: ")
                server.window_show_message(types.ShowMessageParams(types.MessageType.Error, problem))
                return
            text = file.read_text(encoding="utf-8")
        target = uri_of(spec_path(path))
        start = types.Position(0, 0)
        edits = [types.TextEdit(types.Range(start, start), text)]
        document = types.OptionalVersionedTextDocumentIdentifier(target)
        change = types.WorkspaceEdit(
            document_changes=[types.CreateFile(target), types.TextDocumentEdit(document, edits)]
        )
        await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(change, "tileverify init"))


def _hovered(desk: ShownSources, source: ShownSource, uri: str, line: int) -> list[str]:
    """What is known at a line: of the kernel that begins there, of the findings that point there."""
    text = desk.lines(uri)
    parts = []
    for result in source.results():
        head = def_line(result, text)
        if head is not None and min((result.line or head + 1) - 1, head) <= line <= head:
            parts.append(told(result))
        marks = [each for each in desk.shown(uri) if each.range.start.line <= line <= each.range.end.line]
        wanted = {(each.data or {}).get("fingerprint") for each in marks if isinstance(each.data, dict)}
        parts += [finding_told(result, finding) for finding in result.findings if finding.fingerprint in wanted]
    return list(dict.fromkeys(parts))


def _hints(source: ShownSource, text: list[str]) -> list[types.InlayHint]:
    """One at the end of each kernel's ``def`` line."""
    by_kernel: dict[str, list[int]] = {}
    results = source.results()
    for number, result in enumerate(results):
        by_kernel.setdefault(result.kernel, []).append(number)
    found = []
    for numbers in by_kernel.values():
        own = [results[number] for number in numbers]
        line = def_line(own[0], text)
        if line is not None:
            place = types.Position(line, utf16_units(text[line]))
            tip = types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(map(told, own)))
            found.append(types.InlayHint(place, labels(own), tooltip=tip, padding_left=True))
    return found


def _overlap(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges have a line in common: an editor asks for actions at the cursor, wherever it is in a line."""
    last = one.end.line - (one.end.character == 0 and one.end.line > one.start.line)
    return bool(one.start.line <= other.end.line and other.start.line <= last)
