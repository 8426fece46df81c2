"""What pages show beside a verdict, on disk: details with their drawings, and tests that play faults back.

Illustrations belong to one entry of the cache and lie beside it.  They name the entry by its digest, which holds for
that very text: once another verdict stands there, they are nobody's.  The folder is named by all sources of this
package (`verdicts.generation`), those that draw among them, and its entries by all that is drawn.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from ...results import PlaybackFile
from ...results.details import KernelDetails
from ...system.private_folder import read_private, write_private

SUFFIX: Final = ".page"
"""Of the file beside an entry, in the place of ``.json``."""


@dataclass(frozen=True, slots=True)
class Illustration:
    """Of one result.  ``playback``: where they are not made anew from the kernel, which is at hand."""

    details: KernelDetails | None
    playback: tuple[PlaybackFile, ...] = ()


def load_illustrations(entry: Path, digest: str, count: int) -> tuple[Illustration, ...] | None:
    """Those of the ``count`` results of the entry with this ``digest``; ``None`` if there are none, or they are
    damaged."""
    try:
        head, body = read_private(entry.with_suffix(SUFFIX)).split(b"\n", 1)
        if head != _head(digest, body):
            return None
        found = msgspec.json.decode(body, type=tuple[Illustration, ...])
    except (OSError, ValueError, RecursionError):
        return None
    return found if len(found) == count else None


def store_illustrations(entry: Path, digest: str, illustrations: Sequence[Illustration]) -> None:
    """Keep them beside the entry; names that no text can hold keep them from being kept.  Raises OSError."""
    with contextlib.suppress(ValueError):
        body = msgspec.json.encode(tuple(illustrations))
        write_private(entry.with_suffix(SUFFIX), _head(digest, body) + b"\n" + body)


def _head(digest: str, body: bytes) -> bytes:
    return f"{digest} {hashlib.sha256(body).hexdigest()}".encode()
