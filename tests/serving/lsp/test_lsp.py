"""The language server, asked by a client over stdio: what it shows, offers, and leaves alone."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="needs the extra lsp")

from lsprotocol import types
from tests.serving.lsp.editor import Editor
from tests.serving.worker.worker import Workers, workers

from tileverify import corpus
from tileverify.reports.history import read_report

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux")

COPY = """import cuda.tile as ct
from shift import SHIFT


@ct.kernel
def copy(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0) + SHIFT
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
"""
SPEC = '[[launch]]\nkernel = "copy"\ngrid = ["cdiv(N, 64)"]\nargs = { x = "f32[N]", out = "f32[N]", TILE = 64 }\n'
TOGETHER = COPY.replace("from shift import SHIFT\n", "").replace("+ SHIFT", "// 2")


@pytest.fixture(scope="module")
def place() -> Iterator[Workers]:
    with workers() as made:
        yield made


@pytest.fixture(scope="module")
def editor(place: Workers) -> Iterator[Editor]:
    environment = {**place.environment(), "TILEVERIFY_CACHE_DIR": str(place.runtime / "cache")}
    extra = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys([environment["PYTHONPATH"], *filter(os.path.isabs, extra)])
    )
    made = Editor(environment, place.root)
    yield made
    made.end()


def planted(place: Workers, folder: str, **files: str) -> Path:
    """The source of the files that lie in a folder of their own."""
    top = place.root / folder
    top.mkdir()
    for name, text in files.items():
        (top / name.replace("_toml", ".tileverify.toml").replace("_py", ".py")).write_text(text)
    return top / "copy.py"


def test_a_kernel_that_is_proved(editor: Editor, place: Workers) -> None:
    path = planted(place, "proved", copy_py=COPY, shift_py="SHIFT = 0\n", copy_toml=SPEC)
    editor.open(path)
    editor.until(lambda: path.as_uri() in editor.diagnostics)
    assert editor.shown(path) == []
    (hint,) = editor.hints(path)
    assert (hint.label, hint.position.line) == ("proved for any launch", 5)
    assert hint.position.character == len(COPY.splitlines()[5])
    told = editor.hover(path, 5)
    assert "proved for any launch" in told
    assert "grid = (cdiv(N, 64))" in told
    assert editor.hover(path, 0) == ""
    editor.until(lambda: len(editor.progress) >= 2)
    kinds = [value["kind"] if isinstance(value, dict) else value.kind for _, value in editor.progress]
    assert kinds[0] == "begin"
    assert kinds[-1] == "end"


def test_a_finding_has_both_places(editor: Editor, place: Workers) -> None:
    path = planted(place, "refuted", copy_py=TOGETHER, copy_toml=SPEC)
    editor.open(path)
    editor.until(lambda: editor.shown(path))
    (found,) = editor.shown(path)
    assert (found.code, found.severity, found.source) == ("TV101", types.DiagnosticSeverity.Error, "tileverify")
    line = TOGETHER.splitlines()[found.range.start.line]
    assert line[found.range.start.character : found.range.end.character].startswith("ct.store(out")
    assert found.code_description is not None
    assert found.code_description.href.endswith("explained/tv101.py")
    related = found.related_information or []
    assert [each.location.uri for each in related] == [path.as_uri()] * 2
    assert related[0].message.startswith("block A")
    assert related[1].message.startswith("block B")
    assert "race-write-write" in editor.hover(path, found.range.start.line)
    (hint,) = editor.hints(path)
    assert hint.label == "refuted: TV101"


def test_what_is_offered(editor: Editor, place: Workers) -> None:
    path = planted(place, "offered", copy_py=TOGETHER, copy_toml=SPEC)
    editor.open(path)
    editor.until(lambda: editor.shown(path))
    (found,) = editor.shown(path)
    offered = {each.title: each for each in editor.actions(path, found.range)}
    suppression = offered["Suppress TV101 here, with a reason"]
    assert suppression.edit is not None
    ((edit,),) = (suppression.edit.changes or {}).values()
    assert edit.new_text.startswith("    # tileverify: ignore[TV101] -- ")
    editor.command(offered["Show an example of TV101, and its mended twin"].command)
    assert editor.examples[-1].endswith("tv101.py")
    editor.type(path, path.read_text().replace("// 2", "// 4"))  # it is the buffer that is drawn
    editor.command(offered["Draw the launch that shows TV101, in a browser"].command)
    page, _, launch = editor.examples[-1].removeprefix("file://").partition("#")
    drawn = Path(page).read_text()
    assert f'data-id="{launch}"' in drawn
    (result,) = read_report(Path(page))
    assert {site.expression for site in result.findings[0].sites} == {"out[bid.x // 4]"}
    assert not any("launch spec" in title for title in offered), "there is one"


def test_a_proved_repair(editor: Editor, place: Workers) -> None:
    path = place.root / "unchecked_tail.py"
    path.write_text((corpus.ROOT / "out_of_bounds" / "unchecked_tail.py").read_text())
    spec = (corpus.ROOT / "out_of_bounds" / "unchecked_tail.tileverify.toml").read_text()
    path.with_name("unchecked_tail.tileverify.toml").write_text(spec)
    editor.open(path)
    editor.until(lambda: editor.shown(path))
    found = editor.shown(path)[0]
    offered = editor.actions(path, found.range)
    repair = next(each for each in offered if each.is_preferred)
    assert repair.edit is not None
    ((edits),) = (repair.edit.changes or {}).values()
    lines = path.read_text().splitlines(keepends=True)
    for edit in sorted(edits, key=lambda each: each.range.start.line, reverse=True):
        assert isinstance(edit, types.TextEdit)
        start, end = edit.range.start, edit.range.end
        before, after = lines[start.line][: start.character], lines[end.line][end.character :]
        lines[start.line : end.line + 1] = [before + edit.new_text + after]
    editor.type(path, "".join(lines))
    editor.until(lambda: not any(each.severity == types.DiagnosticSeverity.Error for each in editor.shown(path)))


ADDED = """import cuda.tile as ct

@ct.kernel
def total(x, sums, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    ct.store(sums, index=(0,), tile=ct.load(sums, index=(0,), shape=(1,)) + ct.sum(tile, axis=0, keepdims=True))
"""


def test_findings_of_one_cause_have_one_repair(editor: Editor, place: Workers) -> None:
    path = planted(place, "one_repair", copy_py=ADDED)
    editor.open(path)
    editor.until(lambda: {"TV101", "TV102"} <= set(editor.codes(path)))
    offered = [each for each in editor.actions(path, editor.shown(path)[0].range) if "atomic" in each.title]
    (repair,) = offered
    assert {each.code for each in repair.diagnostics or ()} == {"TV101", "TV102"}


def test_buffers_that_are_not_saved(editor: Editor, place: Workers) -> None:
    """Of the source, of a module that it imports, and of its spec; and what lies on disk when they are closed."""
    path = planted(place, "unsaved", copy_py=COPY, shift_py="SHIFT = 0\n", copy_toml=SPEC)
    shift, spec = path.with_name("shift.py"), path.with_name("copy.tileverify.toml")
    editor.open(path)
    editor.until(lambda: path.as_uri() in editor.diagnostics)
    editor.type(path, COPY.replace("ct.load(x, index=(i,)", "ct.load(x, index=(ct.bid(0),)").replace("+ SHIFT", "// 2"))
    editor.until(lambda: editor.codes(path) == ["TV101"])
    editor.type(path, COPY)
    editor.until(lambda: editor.codes(path) == [])
    editor.open(shift)
    editor.type(shift, "SHIFT = 1\n")
    editor.until(lambda: editor.codes(path) != [])
    editor.type(shift, "SHIFT = 0\n")
    editor.until(lambda: editor.codes(path) == [])
    editor.open(spec)
    editor.type(spec, SPEC.replace("grid = [", "gird = ["))
    editor.until(lambda: editor.codes(spec) == ["TV002"])
    (found,) = editor.shown(spec)
    assert (found.range.start.line, found.range.start.character, found.range.end.character) == (2, 0, 4)
    editor.type(spec, SPEC)
    editor.until(lambda: editor.codes(spec) == [])


TRITON = """import triton
import triton.language as tl


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)
"""
TRITON_SPEC = """[[launch]]
kernel = "copy"
grid = ["cdiv(n, 64)"]
requires = ["n >= 1"]
args = { x = "f32[n]", out = "f32[n]", n = "i32", BLOCK = 64 }
"""


def test_triton(editor: Editor, place: Workers) -> None:
    """As the buffer is, saved or not, with a repair in Triton's words."""
    pytest.importorskip("triton")
    path = planted(place, "triton", copy_py=TRITON, copy_toml=TRITON_SPEC)
    editor.open(path)
    editor.until(lambda: path.as_uri() in editor.diagnostics)
    assert editor.shown(path) == []
    (hint,) = editor.hints(path)
    assert (hint.label, hint.position.line) == ("proved for any launch", 5)
    editor.type(path, TRITON.replace("mask=i < n), mask=i < n", "mask=i < n)"))
    editor.until(lambda: editor.codes(path) == ["TV302"])
    (found,) = editor.shown(path)
    assert found.range.start.line == 7
    offered = editor.actions(path, found.range)
    (repair,) = [each for each in offered if each.is_preferred or "mask" in each.title]
    assert "mask" in repair.title
    editor.type(path, TRITON)
    editor.until(lambda: editor.codes(path) == [])


def test_a_source_that_does_not_compile(editor: Editor, place: Workers) -> None:
    path = planted(place, "broken", copy_py=TOGETHER + "    ct.store(\n", copy_toml=SPEC)
    editor.open(path)
    editor.until(lambda: editor.codes(path) == ["TV001"])
    assert editor.hints(path) == []
    editor.close(path)
    editor.until(lambda: editor.codes(path) == [])


def test_a_spec_is_written(editor: Editor, place: Workers) -> None:
    path = planted(place, "written", copy_py=TOGETHER.replace("// 2", "+ 0"))
    editor.open(path)
    editor.until(lambda: path.as_uri() in editor.diagnostics)
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    (offered,) = [each for each in editor.actions(path, top) if "launch spec" in each.title]
    editor.command(offered.command)
    (edit,) = editor.edits
    create, written = edit.document_changes or []
    assert isinstance(create, types.CreateFile)
    assert create.uri == path.with_name("copy.tileverify.toml").as_uri()
    assert isinstance(written, types.TextDocumentEdit)
    assert 'kernel = "copy"' in written.edits[0].new_text


def test_a_newer_text_ends_the_check_of_an_older_one(editor: Editor, place: Workers) -> None:
    path = planted(place, "newer", copy_py=TOGETHER, copy_toml=SPEC)
    editor.open(path)
    editor.until(lambda: editor.codes(path) == ["TV101"])
    started = path.with_name("started")
    slow = f"import pathlib, time\npathlib.Path({str(started)!r}).write_text('')\ntime.sleep(600)\n"
    editor.type(path, slow + TOGETHER)
    editor.until(started.exists)
    before = time.monotonic()
    editor.type(path, TOGETHER.replace("// 2", "+ 0"))
    editor.until(lambda: editor.codes(path) == [])
    assert time.monotonic() - before < 30


def test_cancelled_by_the_user(editor: Editor, place: Workers) -> None:
    path = planted(place, "cancelled", copy_py=TOGETHER, copy_toml=SPEC)
    started = path.with_name("started")
    slow = f"import pathlib, time, os\npathlib.Path({str(started)!r}).write_text(str(os.getpid()))\ntime.sleep(600)\n"
    path.write_text(slow + TOGETHER)
    editor.progress.clear()
    editor.open(path)
    editor.until(lambda: started.exists() and started.read_text())
    token = editor.progress[0][0]
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    child = Path("/proc", started.read_text())
    editor.until(lambda: not child.exists())
    editor.until(lambda: len(editor.progress) >= 2)
    assert editor.codes(path) == []


def test_a_question_is_cancelled(editor: Editor, place: Workers) -> None:
    """Who moves on does not wait for repairs that are being tried."""
    path = planted(place, "moved", copy_py=TOGETHER, copy_toml=SPEC)
    editor.open(path)
    editor.until(lambda: editor.shown(path))
    where = editor.shown(path)[0].range

    async def ask_and_leave() -> None:
        asked = types.CodeActionParams(editor.name(path), where, types.CodeActionContext([]))
        future = editor.client.protocol.send_request_async("textDocument/codeAction", asked, msg_id="leave")
        waiting = asyncio.ensure_future(future)
        await asyncio.sleep(0)
        editor.client.cancel_request(types.CancelParams("leave"))
        await waiting

    with pytest.raises(Exception, match="cancel"):
        editor.run(ask_and_leave())
