"""The command ``clean``."""

from __future__ import annotations

import click

from ..pipeline.verdict_cache import clear, default_folder
from .shell import emit


@click.command()
def clean() -> None:
    """Remove kept verdicts, of this and of other versions, so that `check` proves everything anew.

    They lie in TILEVERIFY_CACHE_DIR, or else in the user's cache folder (`doctor` says where); whatever else is there,
    machine code of launches among it, stays.
    """
    folder = default_folder()
    count, size = clear(folder)
    emit(f"{folder}: {count} files removed, {size / (1 << 20):.1f} MB\n")
