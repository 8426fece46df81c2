"""Folders that ``check`` fills beside its report: reproductions and certificates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..reports.formats import TEXT
from ..system.errors import UsageError
from ..system.file_names import FreeNames
from .shell import emit, talk

if TYPE_CHECKING:
    from ..results import Report
    from .outputs import Output


def checked_folders(playback: str | None, certificate: Path | None, output: Output) -> None:
    """What cannot be written is told before minutes of work: raises `UsageError`."""
    if playback == "print" and output.format != TEXT and output.file is None:
        raise UsageError(
            f"--playback print and --format {output.format} both write to stdout; give --output or a folder"
        )
    if playback not in (None, "print") and Path(playback).exists() and not Path(playback).is_dir():
        raise UsageError(f"--playback: '{playback}' is not a folder")
    if certificate is not None:
        _make_folder(certificate, "--certificate")


def _make_folder(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: cannot make the folder '{folder}': {error.strerror or error}") from None


def write_playback(report: Report, where: str) -> None:
    """Reproductions to stdout or into a folder; files of the same name get a number."""
    names = FreeNames()
    files = [file for result in report.results for file in result.playback]
    texts = {f"{names.stem(file.name.removesuffix('.py'))}.py": file.text for file in files}
    if where == "print":
        emit("".join(f"# {name}\n{text}\n" for name, text in texts.items()))
        return
    if not texts:
        talk("nothing is refuted: no reproduction was written")
        return
    folder = Path(where)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--playback: cannot make '{where}': {error.strerror or error}") from None
    for name, text in texts.items():
        emit(text, folder / name)
    talk(f"{len(texts)} reproduction{'s' if len(texts) > 1 else ''} in {where}; run them with: pytest {where}")
