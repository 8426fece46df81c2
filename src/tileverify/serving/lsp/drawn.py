"""Counterexamples as pages that a browser shows: they lie in a folder of the server's, and go with it."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ...system.errors import UsageError
from .asking import run
from .shown import uri_of

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
