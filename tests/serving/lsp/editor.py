"""An editor for tests: a client of the protocol that talks to `tileverify lsp` over its stdin and stdout."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

_Result = TypeVar("_Result")

COMMAND: Final = (sys.executable, "-m", "tileverify", "lsp")
USUAL: Final = types.ClientCapabilities(
    window=types.WindowClientCapabilities(work_done_progress=True),
    workspace=types.WorkspaceClientCapabilities(
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    ),
)


class Editor:
    """Documents by their paths; `run` lets the loop go on until something has come.

    ``capabilities``: what the editor says that it can do.
    """

    def __init__(
        self,
        environment: dict[str, str],
        root: Path,
        capabilities: types.ClientCapabilities = USUAL,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self.root = root
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("tests", "1")
        self.diagnostics: dict[str, list[types.Diagnostic]] = {}
        self._counts: dict[str, int] = {}
        self.progress: list[Any] = []
        self.edits: list[types.WorkspaceEdit] = []
        self.examples: list[str] = []
        self._versions: dict[Path, int] = {}
        self._listen()
        self.server = self.run(self._start(environment, capabilities, command)).capabilities

    def run(self, work: Awaitable[_Result], seconds: float = 60) -> _Result:
        return self.loop.run_until_complete(asyncio.wait_for(work, seconds))

    def until(self, wanted: Callable[[], object], seconds: float = 60) -> None:
        """Wait for what the server says of its own accord."""

        async def wait() -> None:
            while not wanted():
                await asyncio.sleep(0.01)

        self.run(wait(), seconds)

    # ------------------------------------------------------------------------------------------ documents
    def open(self, path: Path) -> None:
        self._versions[path] = 1
        document = types.TextDocumentItem(path.as_uri(), "python", 1, path.read_text())
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def type(self, path: Path, text: str) -> None:
        """The whole text is another one, and is not saved."""
        self._versions[path] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[path], path.as_uri())
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def save(self, path: Path, text: str) -> None:
        path.write_text(text)
        self.type(path, text)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(self.name(path)))

    def close(self, path: Path) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.name(path)))

    def name(self, path: Path) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(path.as_uri())

    def shown(self, path: Path) -> list[types.Diagnostic]:
        return self.diagnostics.get(path.as_uri(), [])

    def shown_count(self, path: Path) -> int:
        """How often something was shown in it."""
        return self._counts.get(path.as_uri(), 0)

    def codes(self, path: Path) -> list[str]:
        return [str(each.code) for each in self.shown(path)]

    # ------------------------------------------------------------------------------------------- questions
    def hover(self, path: Path, line: int) -> str:
        asked = types.HoverParams(self.name(path), types.Position(line, 8))
        found = self.run(self.client.text_document_hover_async(asked))
        return "" if found is None else str(found.contents.value)

    def hints(self, path: Path) -> list[types.InlayHint]:
        whole = types.Range(types.Position(0, 0), types.Position(1000, 0))
        asked = types.InlayHintParams(self.name(path), whole)
        return list(self.run(self.client.text_document_inlay_hint_async(asked)) or [])

    def actions(self, path: Path, where: types.Range) -> list[types.CodeAction]:
        asked = types.CodeActionParams(self.name(path), where, types.CodeActionContext([]))
        return list(self.run(self.client.text_document_code_action_async(asked)) or [])

    def command(self, command: types.Command | None) -> None:
        assert command is not None
        asked = types.ExecuteCommandParams(command.command, command.arguments)
        self.run(self.client.workspace_execute_command_async(asked))

    # ---------------------------------------------------------------------------------------------- wiring
    def _listen(self) -> None:
        converter = self.client.protocol._converter

        # lsprotocol takes an action that has a command for a command.
        converter.register_structure_hook(
            types.Command | types.CodeAction, lambda each, kind: converter.structure(each, types.CodeAction)
        )

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.diagnostics[params.uri] = list(params.diagnostics)
            self._counts[params.uri] = self._counts.get(params.uri, 0) + 1

        @self.client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(params: types.WorkDoneProgressCreateParams) -> None:
            return None

        @self.client.feature(types.PROGRESS)
        def told(params: types.ProgressParams) -> None:
            self.progress.append((params.token, params.value))

        @self.client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            return types.ApplyWorkspaceEditResult(True)

        @self.client.feature(types.WINDOW_SHOW_DOCUMENT)
        def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.examples.append(params.uri)
            return types.ShowDocumentResult(True)

        @self.client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh(params: None) -> None:
            return None

    async def _start(
        self, environment: dict[str, str], capabilities: types.ClientCapabilities, command: Sequence[str]
    ) -> types.InitializeResult:
        await self.client.start_io(*command, env=environment, cwd=self.root)
        asked = types.InitializeParams(capabilities, root_uri=self.root.as_uri())
        answer = await self.client.initialize_async(asked)
        self.client.initialized(types.InitializedParams())
        return answer

    def end(self) -> None:
        self.run(self.client.shutdown_async(None))
        self.client.exit(None)
        self.run(self.client.stop())
        self.loop.close()
