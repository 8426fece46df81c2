"""``tileverify mcp``, driven by the protocol's own client over a pipe to a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tileverify.gating.mcp_server import LONGEST

SOURCE = Path(__file__).resolve().parents[3] / "src"
RACY = """\
import cuda.tile as ct


@ct.kernel
def copy(x, out):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(64,)))
"""
RIGHT = RACY.replace("i // 2", "i")
SPEC = """\
[[launch]]
kernel = "copy"
grid = ["cdiv(N, 64)"]
args = { x = "f32[N]", out = "f32[N]" }
"""


def ask(talk: Callable[[Any], Awaitable[None]], stderr: Path, *words: str) -> None:
    """Start the server, and let ``talk`` ask it."""
    pytest.importorskip("mcp", reason="needs the extra 'mcp'")
    import anyio
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def session() -> None:
        path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
        how = StdioServerParameters(
            command=sys.executable, args=["-m", "tileverify", "mcp", *words], env={**os.environ, "PYTHONPATH": path}
        )
        with stderr.open("w") as log:
            async with stdio_client(how, errlog=log) as (reading, writing), ClientSession(reading, writing) as client:
                await client.initialize()
                await talk(client)

    anyio.run(session)


async def text_of(client: Any, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    (content,) = answer.content
    assert len(content.text) <= LONGEST
    return str(content.text)


TRITON = """\
import triton
import triton.language as tl


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n))
"""
TRITON_SPEC = """\
[[launch]]
kernel = "copy"
grid = ["cdiv(n, 64)"]
args = { x = "f32[n]", out = "f32[n]", n = "i32", BLOCK = 64 }
"""
REFUSED = """\
NOT ACCEPTED: 0 of 1 kernel launches are accepted.
copy [0]: refuted
  TV302: an access leaves the array `out`
  side A: store of out[program_id(0)*64 + lane] at line 8 in program (0, 0, 0)
  it reaches out[1:64] with grid (1, 1, 1) and n = 1
  POSSIBLE FIX (mask-tail): mask the access on every axis"""


def test_triton_kernels_are_checked(tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

    async def talk(client: Any) -> None:
        refused = await text_of(client, "check_kernel", source=TRITON, spec=TRITON_SPEC)
        assert refused.startswith(REFUSED)
        masked = TRITON.replace("mask=at < n))", "mask=at < n), mask=at < n)")
        accepted = await text_of(client, "check_kernel", source=masked, spec=TRITON_SPEC)
        assert accepted.startswith("ACCEPTED: 1 of 1 kernel launches are accepted.\ncopy [0]: proved\n")

    ask(talk, tmp_path / "log")


def test_four_tools_answer(tmp_path: Path) -> None:
    reference = tmp_path / "ref.py"
    reference.write_text("def copy(x, out):\n    print('noise')\n    out[...] = x\n")

    async def talk(client: Any) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"check_kernel", "get_finding", "explain", "guide"}

        refuted = await text_of(client, "check_kernel", source=RACY, spec=SPEC)
        assert "NOT ACCEPTED" in refuted
        assert "side A: store of out" in refuted
        assert "FIX (split-output-index)" in refuted
        assert "+7:     ct.store(out, index=(i,)" in refuted
        id_ = refuted.split("get_finding tells more of:\n")[1].split()[0]
        pages = [await text_of(client, "get_finding", id=id_)]
        count = int(pages[0].split("\n")[0].split()[-1])
        pages += [await text_of(client, "get_finding", id=id_, page=page) for page in range(2, count + 1)]
        whole = "".join(page.split("\n", 1)[1].removesuffix("\n") for page in pages)
        assert '"confirmed_by"' in whole
        assert '"changed_lines"' in whole
        assert "there are" in await text_of(client, "get_finding", id=id_, page=count + 1)
        assert "no such finding" in await text_of(client, "get_finding", id="x" * 5000)

        assert "ACCEPTED: 1 of 1" in await text_of(client, "check_kernel", source=RIGHT, spec=SPEC, reference="copy")
        assert "no such reference" in await text_of(client, "check_kernel", source=RIGHT, reference=str(reference))
        assert "TV101: " in await text_of(client, "explain", code="tv101")
        assert "add with an atomic" in await text_of(client, "explain", code="use-atomic")
        assert "no such code" in await text_of(client, "explain", code="\x1b[2J" * 1000)
        assert "tl.debug_barrier()" in await text_of(client, "guide", language="Triton")
        assert "ct.PaddingMode.ZERO" in await text_of(client, "guide", language="cutile")
        assert "there are triton, cutile" in await text_of(client, "guide", language="c")

    ask(talk, tmp_path / "log", "--reference", f"copy={reference}::copy")
    assert "noise" in (tmp_path / "log").read_text()


def test_the_answer_says_whether_a_kernel_is_its_reference(tmp_path: Path) -> None:
    reference = tmp_path / "ref.py"
    reference.write_text("def copy(x):\n    return x\ndef nearly(x):\n    return x * 1.000001\n")

    async def details(client: Any, answer: str) -> dict[str, Any]:
        (line,) = [line for line in answer.splitlines() if "  equal  copy [" in line]
        pages = [await text_of(client, "get_finding", id=line.split()[0])]
        count = int(pages[0].split("\n")[0].split()[-1])
        pages += [await text_of(client, "get_finding", id=line.split()[0], page=n) for n in range(2, count + 1)]
        told: dict[str, Any] = json.loads("".join(page.split("\n", 1)[1].removesuffix("\n") for page in pages))
        return told

    async def talk(client: Any) -> None:
        same = await text_of(client, "check_kernel", source=RIGHT, spec=SPEC, reference="copy")
        assert "ACCEPTED: 1 of 1" in same
        assert "over the real numbers it is equal to its reference at " in same
        told = await details(client, same)
        assert told["equal"]["answer"] == "equal"
        assert told["equal"]["probability_log2"] < -60

        other = await text_of(client, "check_kernel", source=RIGHT, spec=SPEC, reference="nearly")
        assert "NOT ACCEPTED" in other
        assert "different: out[0" in other
        told = await details(client, other)
        assert told["equal"]["answer"] == "different"
        assert told["equal"]["difference"]["array"] == "out"

        without = await text_of(client, "check_kernel", source=RIGHT, spec=SPEC)
        assert "equal" not in without

    ask(talk, tmp_path / "log", "--reference", f"copy={reference}::copy", "--reference", f"nearly={reference}::nearly")


def test_hostile_sources_touch_nothing(tmp_path: Path) -> None:
    target = tmp_path / "touched"
    hostile = {
        "import": f"import os\nos.system('touch {target}')\n",
        "builtin": f"open({str(target)!r}, 'w').write('x')\n",
        "default": f"import cuda.tile as ct\n@ct.kernel\ndef k(x, y=open({str(target)!r}, 'w')):\n    pass\n",
        "output": 'print(\'{"jsonrpc": "2.0"}\')\n',
        "deep": "(" * 100_000,
        "not text": "\udcff\x00",
        "large": "x = 1\n" * 1_000_000,
        "escape": "\x1b[2J = 1\n",
    }

    async def talk(client: Any) -> None:
        for name, source in hostile.items():
            if name != "not text":  # which no client can send
                answer = await text_of(client, "check_kernel", source=source)
                assert "NOT ACCEPTED" in answer, name
                assert "rejected" in answer, name
                assert "\x1b" not in answer
        answer = await text_of(client, "check_kernel", source=RIGHT, spec="[[launch]]\nkernel = 7\n" + "#" * 5000)
        assert "NOT ACCEPTED" in answer
        # The server is still there, and itself.
        assert "ACCEPTED: 1 of 1" in await text_of(client, "check_kernel", source=RIGHT, spec=SPEC)

    ask(talk, tmp_path / "log")
    assert not target.exists()


def test_without_the_sdk_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from tileverify.gating.mcp_server import Desk, server
    from tileverify.system.errors import UsageError

    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    with pytest.raises(UsageError, match=r"tileverify\[mcp\]"):
        server(Desk())


def message(id_: Any, **arguments: Any) -> bytes:
    parameters = {"name": "explain", "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": parameters}).encode()


MALFORMED = {
    "surrogate": (message(7, code="\ud800"), 7),
    "surrogate-in-a-key": (message(7, **{"\udfff": "x"}), 7),
    "surrogate-as-id": (message("\ud800", code="TV101"), None),
    "not-a-number": (message(7, code=float("nan")), None),
    "infinite": (message(7, code=float("-inf")), None),
    "huge-number": (message(7, code="x").replace(b'"x"', b"9" * 10_000), None),
    "deep": (message(7, code="x").replace(b'"x"', b"[" * 5000 + b"]" * 5000), 7),
    "deeper": (b"[" * 200_000, None),
    "cut": (message(7, code="x")[:-5], None),
    "no-object": (b"7", None),
    "a-list": (b"[" + message(7, code="x") + b"]", None),
    "no-text": (b"\xff\xfe", None),
    "method-of-no-text": (message(7, code="x").replace(b'"tools/call"', b"5"), 7),
    "no-version": (message(7, code="x").replace(b'"jsonrpc": "2.0", ', b""), 7),
    "too-long": (message(7, code="x" * (1 << 24)), None),
    "arguments-of-no-text": (message(7, code=5), 7),
    "arguments-of-no-table": (message(7).replace(b'"arguments": {}', b'"arguments": 5'), 7),
    "no-such-tool": (message(7).replace(b'"explain"', b'"nothing"'), 7),
}


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
FIRST = [
    json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}).encode(),
    json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode(),
]


@contextmanager
def served() -> Iterator[subprocess.Popen[bytes]]:
    """A server whose pipes are at hand, killed after a minute."""
    pytest.importorskip("mcp", reason="needs the extra 'mcp'")
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    server = subprocess.Popen(
        [sys.executable, "-m", "tileverify", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    impatient = threading.Timer(60, server.kill)
    impatient.start()
    with server:
        yield server
    impatient.cancel()


def test_every_line_gets_an_answer() -> None:
    """And the server goes on behind each."""
    with served() as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"\n".join(FIRST) + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 0
        for name, (line, id_) in MALFORMED.items():
            server.stdin.write(line + b"\n\n" + message(name, code="TV101") + b"\n")
            server.stdin.flush()
            answers = {json.dumps(each["id"]): each for each in (json.loads(server.stdout.readline()) for _ in "12")}
            assert "TV101" in str(answers.pop(json.dumps(name))["result"]), name
            (answer,) = answers.values()
            if id_ is None or "error" in answer:
                assert answer["error"]["message"], name
            else:
                assert answer["result"]["isError"], name
            assert answer["id"] in (id_, None), name
        server.stdin.close()
        assert server.wait(30) == 0


def asked(id_: Any, method: str, **parameters: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": parameters}).encode()


def test_what_was_asked_before_the_client_hung_up_is_answered() -> None:
    """All at once, the input closed behind it, as a pipe from a file does: the long ones, too, those that are no method
    of the server, and two of one number."""
    check = asked("check", "tools/call", name="check_kernel", arguments={"source": RIGHT, "spec": SPEC})
    several = [
        asked(1, "tools/list"),
        check,
        message(2, code="TV101"),
        asked(3, "no/such/method"),
        MALFORMED["not-a-number"][0],
        asked(4, "ping"),
        message(2, code="TV102"),
    ]
    with served() as server:
        written, _ = server.communicate(b"\n".join([*FIRST, *several]) + b"\n")
        answers = [json.loads(line) for line in written.splitlines()]
        assert sorted(str(each["id"]) for each in answers) == ["0", "1", "2", "2", "3", "4", "None", "check"]
        (checked,) = (each for each in answers if each["id"] == "check")
        assert "ACCEPTED: 1 of 1" in str(checked["result"])
        assert server.returncode == 0


class Written:
    """What a server writes to."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def write(self, text: str, /) -> None:
        self.lines.append(text)

    async def flush(self) -> None: ...


@pytest.mark.parametrize("why", ["answered", "given up", "nobody reads"])
def test_the_end_is_kept_back_while_an_answer_is_owed(why: str) -> None:
    """Not for one that was cancelled, which may be left without an answer, nor for readers that are gone."""
    anyio = pytest.importorskip("anyio", reason="needs the extra 'mcp'")
    from tileverify.gating.mcp_server import Answers

    reader, writer = os.pipe()

    async def talk() -> None:
        text = Written()
        answers = Answers(text, writer)
        answers.owe({"method": "ping"})  # a notification
        with anyio.fail_after(5):
            await answers.all_given()
        answers.owe({"id": 7, "method": "ping"})
        await answers.write('{"id": 7, "method": "roots/list"}\n')  # a question of the server's own
        with anyio.move_on_after(0.5) as waiting:
            await answers.all_given()
        assert waiting.cancelled_caught
        if why == "answered":
            await answers.write('{"id": 7, "result": {}}\n')
        elif why == "given up":
            answers.owe({"method": "notifications/cancelled", "params": {"requestId": 7}})
        else:
            os.close(reader)
        with anyio.fail_after(5):
            await answers.all_given()
        assert len(text.lines) == 1 + (why == "answered")

    try:
        anyio.run(talk)
    finally:
        os.close(writer)
        if why != "nobody reads":
            os.close(reader)
