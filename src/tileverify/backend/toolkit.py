"""A toolkit in which the PTX between ``tileiras`` and ``ptxas`` is kept.

``tileiras`` writes PTX into a file of its own and calls the ``ptxas`` that lies beside it.  So a folder that mirrors
the toolkit, with links to everything and a script in place of ``ptxas``, sees the text that the cubin is made of.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

KEPT_IN: Final = "PTX_KEPT_IN"
PTX, HOST = "kernel.ptx", "host.o"
_SCRIPT: Final = """#!/bin/sh
if [ -n "${folder}" ]; then
  for each in "$@"; do
    case "$each" in
      *.ptx) cp "$each" "${folder}/{ptx}" ;;
      --nv-host=*) cp "${{each#--nv-host=}}" "${folder}/{host}" ;;
    esac
  done
fi
exec {ptxas} "$@"
"""

_lasting: Final[list[tempfile.TemporaryDirectory[str]]] = []
"""Until the process ends."""


@cache
def keeping_ptx(tileiras: Path) -> Path | None:
    """``tileiras`` in such a folder, which lasts as long as this process; ``None`` where none can be made."""
    tools = tileiras.resolve().parent
    root, ptxas = tools.parent, tools / "ptxas"
    if os.name != "posix" or not ptxas.is_file() or not (root / "nvvm").is_dir():
        return None
    folder = tempfile.TemporaryDirectory(prefix="tileverify-toolkit-")
    _lasting.append(folder)
    mirror = Path(folder.name)
    try:
        (mirror / "bin").mkdir()
        for each in root.iterdir():
            if each.name != "bin":
                (mirror / each.name).symlink_to(each)
        for each in tools.iterdir():
            if each.name not in ("tileiras", "ptxas"):
                (mirror / "bin" / each.name).symlink_to(each)
        made = mirror / "bin" / "tileiras"
        try:
            os.link(tools / "tileiras", made)
        except OSError:
            shutil.copy2(tools / "tileiras", made)
        script = mirror / "bin" / "ptxas"
        script.write_text(_SCRIPT.format(folder="{" + KEPT_IN + "}", ptx=PTX, host=HOST, ptxas=_quoted(ptxas)))
        script.chmod(0o700)
    except OSError:
        folder.cleanup()
        return None
    return made


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"
