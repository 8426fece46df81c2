"""What is known of each source that an editor shows, and when it is checked again.

A newer text ends the check of an older one; what comes back of an older text is not shown.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from ...contract.spec_files import SPEC_SUFFIX
from ...results import KernelResult, Report, Verdict
from ...results.json_report import report_from_json
from ...system.errors import UsageError
from ...system.readings import stand_for
from ..worker.client import NoWorker, TakenRequest, ask, project_of, start
from .concerned import imports
from .shown import SOURCE, diagnostics, key_region, uri_of

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

TYPING: Final = 0.15
"""Seconds without a change until a text is checked that is being typed."""
_BEFORE_REPAIRS: Final = 0.3
_CHECKED: Final = (".py", ".cu")


@dataclass
class ShownSource:
    """A source: where it is checked, what came of it, the texts that this is about, and what is under way.

    ``repairs``: the results with hints, as far as they were looked for.
    """

    path: Path
    folder: Path
    report: Report | None = None
    texts: dict[str, str] = field(default_factory=dict)
    check: asyncio.Task[None] | None = None
    repairs: asyncio.Task[Report | None] | None = None

    def results(self) -> tuple[KernelResult, ...]:
        """Those of its own kernels."""
        own = self.report.results if self.report is not None else ()
        return tuple(each for each in own if (self.folder / each.file) == self.path and each.kernel)


class ShownSources:
    """``server`` has the documents, and is told what to show."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._sources: dict[Path, ShownSource] = {}
        self._shown: dict[Path, dict[str, list[types.Diagnostic]]] = {}

    # ------------------------------------------------------------------------------------------- documents
    def source(self, uri: str) -> ShownSource | None:
        return self._sources.get(self.path(uri))

    def path(self, uri: str) -> Path:
        return Path(self._server.workspace.get_text_document(uri).path)

    def lines(self, uri: str) -> list[str]:
        """The text as it is now, line by line, without line ends."""
        return [line.rstrip("\r\n") for line in self._server.workspace.get_text_document(uri).lines]

    def overlay(self) -> dict[str, str]:
        """The texts of open documents that are not what lies on disk."""
        texts = {}
        for document in list(self._server.workspace.text_documents.values()):
            path = Path(document.path)
            if path.suffix in (".py", ".toml"):
                with suppress(OSError, UnicodeDecodeError):
                    if path.read_bytes() != document.source.encode():
                        texts[str(path)] = document.source
        return texts

    # ------------------------------------------------------------------------------------------- checking
    def changed(self, uri: str, *, delay: float = 0.0, saved: bool = False, opened: bool = False) -> None:
        """Check what a change of a document concerns; one that was ``opened`` concerns itself."""
        path = self.path(uri)
        opened = opened and path.suffix in _CHECKED
        for concerned in [path] if opened else self._concerned(path, saved=saved):
            source = self._sources.setdefault(
                concerned, ShownSource(concerned, Path(project_of(str(concerned.parent))))
            )
            self._start(source, delay)

    def _concerned(self, path: Path, *, saved: bool) -> Iterable[Path]:
        documents = [Path(each.path) for each in self._server.workspace.text_documents.values()]
        opened = [each for each in documents if each.suffix == ".py"]
        if path.name.endswith(SPEC_SUFFIX):
            beside = path.with_name(path.name.removesuffix(SPEC_SUFFIX) + ".py")
            return [beside] if beside.is_file() else []
        if path.name == "pyproject.toml":
            return [each for each in opened if each.is_relative_to(path.parent)]
        if path.suffix == ".cu":
            return [path] if saved else []
        if path.suffix not in _CHECKED:
            return []
        return [path, *(each for each in opened if each != path and imports(each, path, self._text))]

    def _text(self, path: Path) -> str:
        return str(self._server.workspace.get_text_document(self._uri(str(path))).source)

    def _start(self, source: ShownSource, delay: float) -> None:
        for task in (source.check, source.repairs):
            if task is not None:
                task.cancel()
        source.repairs = None
        source.check = asyncio.ensure_future(self._check(source, delay))

    async def _check(self, source: ShownSource, delay: float) -> None:
        await asyncio.sleep(delay)
        texts = self.overlay()
        async with _Progress(self._server, source) as progress:
            words = ["check", "--verbose", "--format", "json", "--jobs", "1", "--", str(source.path)]
            answer = await run(words, str(source.folder), texts, progress.say)
        report = report_of(answer)
        source.texts = texts
        if report is None:
            if source.report is not None or answer.code != 4:
                self._show(source, {str(source.path): [_trouble(answer)]})
            return
        source.report = report
        stand_for(texts)
        self._show(source, self._with_keys(diagnostics(report, source.path, source.folder)))
        if any(each.verdict is Verdict.REFUTED for each in report.results) and source.path.suffix == ".py":
            source.repairs = asyncio.ensure_future(self._repaired(source, texts))
        self._refresh()

    async def _repaired(self, source: ShownSource, texts: dict[str, str]) -> Report | None:
        """The same with repairs that are proved, which takes longer."""
        await asyncio.sleep(_BEFORE_REPAIRS)
        words = ["check", "--repair", "--format", "json", "--jobs", "1", "--", str(source.path)]
        return report_of(await run(words, str(source.folder), texts))

    def closed(self, uri: str) -> None:
        source = self._sources.pop(self.path(uri), None)
        if source is None:
            return
        for task in (source.check, source.repairs):
            if task is not None:
                task.cancel()
        self._show(source, {})

    async def ended(self) -> None:
        """End all that is under way."""
        tasks = [task for each in self._sources.values() for task in (each.check, each.repairs) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -------------------------------------------------------------------------------------------- showing
    def _with_keys(self, found: dict[str, list[types.Diagnostic]]) -> dict[str, list[types.Diagnostic]]:
        for file, shown in found.items():
            if file.endswith(".toml"):
                text = self.lines(self._uri(file))
                for each in shown:
                    each.range = key_region(each.message, each.range.start.line + 1, text) or each.range
        return found

    def _show(self, source: ShownSource, found: dict[str, list[types.Diagnostic]]) -> None:
        """Show what was found for a source, in place of what was found before."""
        before = self._shown.get(source.path, {})
        self._shown[source.path] = found
        for file in {**before, **found}:
            every = [each for one in self._shown.values() for each in one.get(file, ())]
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(self._uri(file), every))

    def shown(self, uri: str) -> list[types.Diagnostic]:
        """What is shown in a document."""
        file = str(self.path(uri))
        return [each for one in self._shown.values() for each in one.get(file, ())]

    def _uri(self, file: str) -> str:
        """As the editor spells it, if it is open there."""
        for uri, document in self._server.workspace.text_documents.items():
            if document.path == file:
                return str(uri)
        return uri_of(Path(file))

    def _refresh(self) -> None:
        workspace = self._server.client_capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self._server.workspace_inlay_hint_refresh(None)


class _Progress:
    """What an editor shows while a source is checked; its user may end it there."""

    def __init__(self, server: LanguageServer, source: ShownSource) -> None:
        self._server, self._source, self._token = server, source, str(uuid.uuid4())
        window = server.client_capabilities.window
        self._shown = bool(window is not None and window.work_done_progress)

    async def __aenter__(self) -> _Progress:
        if self._shown:
            task = asyncio.current_task()
            await self._server.work_done_progress.create_async(self._token)
            begin = types.WorkDoneProgressBegin(f"{SOURCE}: {self._source.path.name}", cancellable=True)
            self._server.work_done_progress.begin(self._token, begin)
            cancelled = self._server.work_done_progress.tokens[self._token]
            cancelled.add_done_callback(lambda future: task.cancel() if task and future.cancelled() else None)
        return self

    def say(self, line: str) -> None:
        if self._shown:
            self._server.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=line[:200]))

    async def __aexit__(self, *error: object) -> None:
        if self._shown:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())


def report_of(answer: CommandAnswer) -> Report | None:
    """The report that was printed, if one was."""
    with suppress(ValueError, KeyError, TypeError):
        return report_from_json(json.loads(answer.out))
    return None


def _trouble(answer: CommandAnswer) -> types.Diagnostic:
    """What was said instead of a report, at the top of the source."""
    lines = [line for line in answer.err.splitlines() if line.strip()]
    message = lines[-1].removeprefix("error: ") if lines else f"the check ended with {answer.code}"
    top = types.Range(types.Position(0, 0), types.Position(1, 0))
    return types.Diagnostic(top, message, severity=types.DiagnosticSeverity.Error, source=SOURCE)


# --------------------------------------------------------------------------------------------------------------- asking
# Command lines that a worker carries out, without waiting in between; a process of its own where there is none.


_SECONDS_TO_START: Final = 30.0


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command line came to."""

    code: int
    out: str
    err: str


async def run(
    words: Sequence[str], folder: str, overlay: Mapping[str, str], told: Callable[[str], None] = lambda line: None
) -> CommandAnswer:
    """``tileverify WORDS...`` in ``folder``, with ``overlay`` for what lies on disk; ``told`` gets stderr line by line.

    When it is cancelled, the work ends.
    """
    for attempt in range(2):
        with suppress(NoWorker):
            return await _by_worker(words, folder, overlay, told)
        if attempt or not await asyncio.to_thread(start, seconds=_SECONDS_TO_START, folder=folder):
            break
    return await _alone(words, folder, overlay)


async def _by_worker(
    words: Sequence[str], folder: str, overlay: Mapping[str, str], told: Callable[[str], None]
) -> CommandAnswer:
    out, nothing = os.memfd_create("out"), os.open(os.devnull, os.O_RDONLY)
    reading, writing = os.pipe()
    try:
        try:
            request = await asyncio.to_thread(ask, words, (nothing, out, writing), overlay, folder)
        finally:
            os.close(nothing)
            os.close(writing)
        with request:
            lines = _Lines(reading, told)
            code = await _ended(request, lines)
        size = os.fstat(out).st_size
        return CommandAnswer(code, os.pread(out, size, 0).decode(errors="replace"), lines.text)
    finally:
        os.close(out)
        os.close(reading)


async def _ended(request: TakenRequest, lines: _Lines) -> int:
    loop = asyncio.get_running_loop()
    loop.add_reader(lines.descriptor, lines.read)
    waiting = loop.run_in_executor(None, request.wait)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        request.abandon()
        with suppress(NoWorker):
            await asyncio.shield(waiting)
        raise
    finally:
        loop.remove_reader(lines.descriptor)
        lines.read()


class _Lines:
    """What comes through a pipe, line by line."""

    def __init__(self, descriptor: int, told: Callable[[str], None]) -> None:
        self.descriptor, self._told = descriptor, told
        self.text, self._rest = "", ""
        os.set_blocking(descriptor, False)

    def read(self) -> None:
        """What is there by now."""
        with suppress(BlockingIOError):
            while more := os.read(self.descriptor, 1 << 16).decode(errors="replace"):
                self.text += more
                *lines, self._rest = (self._rest + more).split("\n")
                for line in lines:
                    self._told(line)


async def _alone(words: Sequence[str], folder: str, overlay: Mapping[str, str]) -> CommandAnswer:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __package__.split(".")[0], "worker", "once",
        cwd=folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    request = json.dumps({"words": list(words), "overlay": dict(overlay)}).encode()
    try:
        out, err = await process.communicate(request)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return CommandAnswer(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))


# ---------------------------------------------------------------------------------------------------------------- drawn
# Counterexamples as pages that a browser shows: they lie in a folder of the server's, and go with it.


_LAUNCH: Final = re.compile(r'data-id="(k-\w+)"')
"""What pages call the part of a launch, at which an address may point."""


@dataclass
class DrawnPages:
    """One page for each launch that was asked for; a later one takes the place of an earlier one."""

    _folder: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="tileverify-")
    )

    async def draw(self, source: Path, folder: Path, kernel: str, launch: str, texts: Mapping[str, str]) -> str:
        """The address of the page of a launch of ``source``, with ``texts`` for what lies on disk.

        Raises `UsageError` where there is none to be had.
        """
        target = "::".join(filter(None, (str(source), kernel, launch)))
        answer = await run(["check", "--format", "html", "--jobs", "1", "--", target], str(folder), texts)
        place = _LAUNCH.search(answer.out)
        if place is None:
            lines = answer.err.strip().splitlines() or ["there is no page"]
            raise UsageError(lines[-1].removeprefix("error: "))
        page = Path(self._folder.name, f"{hashlib.sha256(target.encode()).hexdigest()[:12]}.html")
        page.write_text(answer.out, encoding="utf-8")
        return f"{uri_of(page)}#{place[1]}"

    def end(self) -> None:
        """Nobody looks at them any more."""
        self._folder.cleanup()
