"""The settings for Helix in the documents, driven by a client that says of itself what Helix says of itself.

That is what ``initialize`` of ``helix-lsp/src/client.rs`` in its repository sends: progress, documents to show, no
hints that are asked for anew, and bytes of UTF-8 before any other way to count columns.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("pygls", reason="needs the extra lsp")

from lsprotocol import types
from tests.serving.lsp.editor import Editor
from tests.serving.worker.worker import workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux")

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "editors.md"
HELIX: Final = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        apply_edit=True,
        configuration=True,
        workspace_folders=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=list(types.ResourceOperationKind)
        ),
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=False),
    ),
    text_document=types.TextDocumentClientCapabilities(
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        code_action=types.CodeActionClientCapabilities(is_preferred_support=True, data_support=True),
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
        inlay_hint=types.InlayHintClientCapabilities(dynamic_registration=False),
    ),
    window=types.WindowClientCapabilities(
        work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(support=True)
    ),
    general=types.GeneralClientCapabilities(
        position_encodings=[
            types.PositionEncodingKind.Utf8,
            types.PositionEncodingKind.Utf32,
            types.PositionEncodingKind.Utf16,
        ]
    ),
)
_UNITS: Final = {
    types.PositionEncodingKind.Utf8: ("utf-8", 1),
    types.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""Of each way to count columns its name in Python, and the bytes of a unit."""
KERNEL: Final = """import cuda.tile as ct


@ct.kernel
def copy(x, out, TILE: ct.Constant[int]):  # Stücke
    i = ct.bid(0)
    stück = ct.load(x, (i,), (TILE,)); ct.store(out, (i // 2,), stück)
"""


def _settings() -> list[dict[str, object]]:
    """Those below the heading, a table for each file."""
    _, _, text = PAGE.read_text(encoding="utf-8").partition("\n## Helix\n")
    section = text.partition("\n## ")[0]
    return [tomllib.loads(each) for each in re.findall(r"```toml\n(.*?)```", section, re.S)]


def test_helix() -> None:
    languages, configuration = _settings()
    server = languages["language-server"]["tileverify"]  # type: ignore[index]
    used = {each["name"]: each["language-servers"] for each in languages["language"]}  # type: ignore[attr-defined]
    assert set(used) == {"python", "toml"}
    assert all("tileverify" in names for names in used.values())
    assert configuration["editor"]["lsp"]["display-inlay-hints"] is True  # type: ignore[index]
    # The command of the settings is on the PATH where the package is installed.
    command = [shutil.which(server["command"], path=str(Path(sys.executable).parent)) or "", *server["args"]]
    with workers() as place:
        path = place.root / "copy.py"
        path.write_text(KERNEL, encoding="utf-8")
        environment = {**place.environment(), "TILEVERIFY_CACHE_DIR": str(place.runtime / "cache")}
        extra = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(each)]
        environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([environment["PYTHONPATH"], *extra]))
        editor = Editor(environment, place.root, HELIX, command)
        try:
            editor.open(path)
            editor.until(lambda: editor.shown(path))
            (found,) = editor.shown(path)
            hint = next(each for each in editor.hints(path))
            # An editor counts as the server says that it does.
            codec, width = _UNITS[editor.server.position_encoding or types.PositionEncodingKind.Utf16]
            lines = [line.encode(codec) for line in KERNEL.splitlines()]
            start, end = found.range.start, found.range.end
            marked = lines[start.line][start.character * width : end.character * width].decode(codec)
            assert marked == "ct.store(out, (i // 2,), stück)"
            assert hint.position.character * width == len(lines[hint.position.line])
            assert "TV101" in editor.hover(path, found.range.start.line)
            editor.command(next(each for each in editor.actions(path, found.range) if "example" in each.title).command)
            assert editor.examples[-1].endswith("tv101.py")
        finally:
            editor.end()
