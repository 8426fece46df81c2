"""The gate as tools of the Model Context Protocol: the answers, and the server by the protocol's own SDK.

A submission, and a launch spec that comes with it, are untrusted: they go to the gate and nowhere else.  What the
caller may not bring is what the gate trusts: launches that somebody vouches for, and reference code, which runs outside
of the sandbox.  Both are named by who starts the server.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import sys
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, Any, Final, NoReturn, Protocol, TypedDict

from ..pipeline.repair.catalogue import KINDS
from ..results import Finding
from ..results.codes import CODES
from ..results.json_report import result_to_json
from ..system.errors import TileVerifyError, UsageError
from ..system.printable import printable
from ..system.version import __version__
from . import GatedKernel, GateOptions, GateResult, Submission, guides, judge
from .gated import changed_lines, prompt_text

LONGEST: Final = 2000
"""Characters of an answer."""
_PROMPT: Final = 1400
_PAGE: Final = 1800
_MOST_CHANGED: Final = 200
"""Lines of a repair that `Desk.get_finding` shows."""
_HEAD: Final = (
    "kernel",
    "launch",
    "line",
    "verdict",
    "contract",
    "stated",
    "requires",
    "limits",
    "conditional",
    "notes",
)
"""Keys of a result that `Desk.get_finding` shows."""
_MOST_FINDINGS: Final = 1000
"""Kept for `Desk.get_finding`; the oldest go first."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """``finding``: None where it is asked how the kernel compares with its reference."""

    kernel: GatedKernel
    finding: Finding | None
    source: bytes


@dataclass
class Desk:
    """``references``: name -> ``FILE.py::FUNCTION``, trusted.  Answers one request at a time."""

    options: GateOptions = field(default_factory=GateOptions)
    references: Mapping[str, str] = field(default_factory=dict)
    _found: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check_kernel(self, source: str, spec: str | None = None, reference: str | None = None) -> str:
        """Verdict, the worst finding with a repair, and the ids of all findings."""
        if reference is not None and reference not in self.references:
            known = ", ".join(sorted(self.references)) or "none"
            return _bounded(f"no such reference: {reference}; this server has {known}, and runs no other code\n")
        options = self.options if reference is None else replace(self.options, reference=self.references[reference])
        submission = Submission(source.encode("utf-8", errors="surrogatepass"), "submission.py", spec)
        with self._lock, contextlib.redirect_stdout(sys.stderr):  # a reference may print
            try:
                result = judge(submission, options)
            except TileVerifyError as error:
                return _bounded(f"not judged: {error}\n")
            return _bounded(prompt_text(result, _PROMPT) + self._keep(result))

    def _keep(self, result: GateResult) -> str:
        """A line for each finding, and for each comparison with a reference."""
        lines = []
        for kernel in result.kernels:
            kept: list[Finding | None] = [*kernel.result.findings, *([] if kernel.equal is None else [None])]
            for place, finding in enumerate(kept):
                what = kernel.equal if finding is None else finding
                text = f"{kernel.result.kernel} {kernel.result.launch} {place} {what}".encode(errors="replace")
                id_ = hashlib.sha256(result.source + b"\0" + text).hexdigest()[:10]
                self._found[id_] = _Kept(kernel, finding, result.source)
                self._found.move_to_end(id_)
                name = printable(f"{kernel.result.kernel} [{kernel.result.launch}]")
                lines.append(f"{id_}  {'equal' if finding is None else finding.code}  {name[:80]}\n")
        while len(self._found) > _MOST_FINDINGS:
            self._found.popitem(last=False)
        more = f"and {len(lines) - 4} more\n" if len(lines) > 4 else ""
        return f"get_finding tells more of:\n{''.join(lines[:4])}{more}" if lines else ""

    def get_finding(self, id: str, page: int = 1) -> str:
        """All that is known of a finding, or of a comparison with a reference, as JSON in pages."""
        with self._lock:
            kept = self._found.get(id)
        if kept is None:
            return _bounded(f"no such finding: {id}; check_kernel gives ids, and {_MOST_FINDINGS} are kept\n")
        text = _details(kept)
        pages = [text[start : start + _PAGE] for start in range(0, len(text), _PAGE)]
        if not 1 <= page <= len(pages):
            return f"there are {len(pages)} pages\n"
        return f"page {page} of {len(pages)}\n{pages[page - 1]}\n"

    def guide(self, language: str) -> str:
        """How kernels of a language are written that are proved."""
        return _bounded(
            guides.GUIDES.get(language.lower(), f"no such language; there are {', '.join(guides.GUIDES)}\n")
        )

    def explain(self, code: str) -> str:
        """What a code, or the id of a repair, means."""
        known = CODES.get(code.upper())
        if known is not None:
            said = {"Formula": known.formula, "What to do": known.fix, "It is not": known.is_not}
            about = (known.meaning, *(f"{label}: {text}" for label, text in said.items()))
            return _bounded("\n".join((f"{known.code}: {known.fault}", *about)) + "\n")
        kind = KINDS.get(code)
        if kind is not None:
            return f"{kind.id} (for {', '.join(kind.codes)}): {kind.text}\n"
        return _bounded(f"no such code: {code}\ncodes: {' '.join(CODES)}\nrepairs: {' '.join(KINDS)}\n")


def _details(kept: _Kept) -> str:
    result = kept.kernel.result
    if kept.finding is None:
        about = {"kernel": result.kernel, "launch": result.launch, "verdict": kept.kernel.verdict}
        return json.dumps({**about, "equal": kept.kernel.equal}, indent=1)
    document = result_to_json(replace(result, findings=(kept.finding,)))
    (finding,) = document["findings"]
    for hint, shown in zip(kept.finding.hints, finding["hints"], strict=True):
        shown["changed_lines"] = changed_lines(kept.source, hint, _MOST_CHANGED)
        shown.pop("edits", None)
    if "witness" in finding:
        finding["witness"].pop("launch", None)  # numbers for a replay, hundreds of them
    head = {key: document[key] for key in _HEAD}
    return json.dumps({**head, "finding": finding}, indent=1)


def _bounded(text: str) -> str:
    end = "... (cut)\n"
    shown = "".join(f"{printable(line)}\n" for line in text.splitlines())
    return shown if len(shown) <= LONGEST else shown[: LONGEST - len(end)] + end


# ----------------------------------------------------------------------------------------------------------- mcp server
# The desk by the Model Context Protocol's own SDK.  Needs the extra ``mcp``.


_INSTRUCTIONS = """\
tileverify proves Triton kernels (triton.language) and CUDA Tile kernels (cuda.tile Python) free of data races, \
out-of-bounds accesses and broken promises.
Read guide(language) before you write one.  Send the whole source to check_kernel; it is screened, compiled and proved \
in a sandbox, and never run elsewhere.
"""


def serve(desk: Desk) -> None:
    """Serve on stdin and stdout until the client hangs up; logs go to stderr.  Raises `UsageError` without the SDK."""
    made = server(desk)
    import anyio

    anyio.run(serve_lines, made)


def server(desk: Desk) -> SdkServer:
    """The four tools."""
    try:
        from anyio.to_thread import run_sync
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        raise UsageError("the command mcp needs the protocol's SDK: pip install 'tileverify[mcp]'") from None
    made = MCPServer("tileverify", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR")

    async def check_kernel(source: str, spec: str | None = None, reference: str | None = None) -> str:
        """Verify the kernels of a Triton or cuda.tile source; answers in less than 2 kB: verdict, the worst finding
        with both sides of the conflict, a repair that was proved if there is one, and the ids of findings. With a
        reference, also whether the kernel computes exactly the same function, and the element where it does not.

        source: all of the Python source; it may import triton, cuda.tile and math; kernels, helpers, constants.
        spec: launches as TOML, e.g. [[launch]] kernel = "copy", grid = ["cdiv(N, 64)"], args = { x = "f32[N]" }; of a
        Triton kernel each parameter: args = { x = "f32[N]", N = "i32", BLOCK = 64 }.
        reference: the name of a reference function of this server, to compare results with.
        """
        answer: str = await run_sync(desk.check_kernel, source, spec, reference)
        return answer

    async def get_finding(id: str, page: int = 1) -> str:
        """All that is known of a finding, or of a comparison with a reference, that check_kernel named, as JSON in
        pages of less than 2 kB."""
        answer: str = await run_sync(desk.get_finding, id, page)
        return answer

    async def explain(code: str) -> str:
        """What a code such as TV101, or the id of a repair such as use-atomic, means and what to do about it."""
        answer: str = await run_sync(desk.explain, code)
        return answer

    async def guide(language: str) -> str:
        """How to write kernels that are proved, with an example: language is triton or cutile."""
        return desk.guide(language)

    for tool in (check_kernel, get_finding, explain, guide):
        made.add_tool(tool, structured_output=False)
    served: SdkServer = made
    return served


# ---------------------------------------------------------------------------------------------------------------- stdio
# The protocol's messages on stdin and stdout, a line of JSON each: what is none is answered with an error, and what
# was asked before the client hung up is answered all the same.
#
# The SDK drops a line that it cannot read (a lone surrogate, NaN, a thousand brackets), and the client waits for ever.
# At the end of its input it gives up what it is at: so the end is kept from it until nothing is owed.


LONGEST_LINE: Final = 1 << 24
"""Bytes of a message."""
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_SECONDS_BETWEEN: Final = 0.2
"""From one look whether anybody still reads the answers to the next."""


class AsyncText(Protocol):
    """A stream of text as anyio wraps it."""

    async def write(self, text: str, /) -> object: ...

    async def flush(self) -> object: ...


class LowLevelServer(Protocol):
    """What the SDK's server is made of."""

    def create_initialization_options(self) -> object: ...

    async def run(self, reading: object, writing: object, options: object, /) -> object: ...


class SdkServer(Protocol):
    """``MCPServer`` of the SDK."""

    @property
    def _lowlevel_server(self) -> LowLevelServer: ...


class ErrorText(TypedDict):
    """Why a message is not answered otherwise."""

    code: int
    message: str


class ErrorMessage(TypedDict):
    """The answer to what is no message."""

    jsonrpc: str
    id: str | int | None
    error: ErrorText


async def serve_lines(made: SdkServer) -> None:
    """Serve ``made``, of the SDK, until the client hangs up."""
    import anyio
    from mcp.server.stdio import stdio_server

    reading, writing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    _divert()
    stdout = Answers(anyio.wrap_file(writing), writing.fileno())
    async with stdio_server(ReadableLines(reading, stdout), stdout) as streams:  # type: ignore[arg-type, unused-ignore]
        server = made._lowlevel_server
        await server.run(streams[0], streams[1], server.create_initialization_options())


def _divert() -> None:
    """Whatever else of this process reads finds nothing, and what it prints goes to stderr."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)


class Answers:
    """What is written, and which requests it does not answer yet.

    ``descriptor``: where ``text`` goes, to see whether anybody reads it.
    """

    def __init__(self, text: AsyncText, descriptor: int) -> None:
        self._text, self._descriptor = text, descriptor
        self._owed: list[object] = []

    async def write(self, text: str, /) -> object:
        written = await self._text.write(text)
        message = json.loads(text)
        if "method" not in message and message.get("id") in self._owed:
            self._owed.remove(message["id"])
        return written

    async def flush(self) -> object:
        return await self._text.flush()

    def owe(self, message: dict[str, Any]) -> None:
        """Note that ``message`` has to be answered, or that its sender does not want an answer any more."""
        if message.get("method") == "notifications/cancelled":
            given_up = (message.get("params") or {}).get("requestId")
            self._owed = [id_ for id_ in self._owed if id_ != given_up]
        elif "method" in message and message.get("id") is not None:
            self._owed.append(message["id"])

    async def all_given(self) -> None:
        """Wait until nothing is owed, or nobody is there to read it."""
        from anyio import sleep

        reader = select.poll()
        reader.register(self._descriptor, 0)  # errors are told anyway
        while self._owed and not reader.poll(0):
            await sleep(_SECONDS_BETWEEN)


class ReadableLines:
    """The lines that the SDK can read; the others are answered here, through ``stdout``."""

    def __init__(self, reading: IO[bytes], stdout: Answers) -> None:
        self._reading, self._stdout = reading, stdout

    async def __aiter__(self) -> AsyncIterator[str]:
        from anyio.to_thread import run_sync

        while True:
            line = await run_sync(self._line, abandon_on_cancel=True)
            if line is None:
                await self._stdout.all_given()
                return
            problem = problem_of(line)
            if problem is None:
                text = line.decode("utf-8")
                self._stdout.owe(json.loads(text))
                yield text
            else:
                await self._stdout.write(json.dumps(problem) + "\n")
                await self._stdout.flush()

    def _line(self) -> bytes | None:
        """The next one that is not empty, cut where it is too long; ``None`` at the end."""
        while True:
            line = self._reading.readline(LONGEST_LINE + 1)
            if not line:
                return None
            rest = line
            while rest and not rest.endswith(b"\n"):  # the next message begins behind it
                rest = self._reading.readline(1 << 16)
            if line.strip():
                return line


def problem_of(line: bytes) -> ErrorMessage | None:
    """The answer to a line that is no message of the protocol, with its id where there is one."""
    if len(line) > LONGEST_LINE:
        return _error(None, _PARSE_ERROR, f"the message has more than {LONGEST_LINE} bytes")
    try:
        document = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        return _error(None, _PARSE_ERROR, "the message is nested too deeply")
    except ValueError as error:
        return _error(None, _PARSE_ERROR, f"the message is no JSON ({str(error)[:200]})")
    id_ = document.get("id") if isinstance(document, dict) else None
    known = id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (UnicodeEncodeError, RecursionError):
        if isinstance(known, str) and not known.isascii():
            known = None
        return _error(known, _INVALID_REQUEST, "the message holds half a character (a lone surrogate), or is too deep")
    from mcp_types import jsonrpc_message_adapter

    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except Exception:  # whatever the SDK makes of it, it would not be answered
        return _error(known, _INVALID_REQUEST, "this is no message of the protocol")
    return None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _error(id_: str | int | None, code: int, message: str) -> ErrorMessage:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}
