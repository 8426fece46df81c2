"""The look at a ZIP archive's table of members before any of them is read: its own words, bounded by its size.

Members may overlap in a file of a megabyte so that together they hold gigabytes.
"""

from __future__ import annotations

import zipfile
from typing import Final

MOST_MEMBERS: Final = 10_000
_LOCAL_HEADER: Final = 30
"""Bytes in front of a member's content, besides its name."""


def refuse_overlaps(archive: zipfile.ZipFile, size: int) -> None:
    """Raises `zipfile.BadZipFile` where members share bytes of the file, which has ``size``, or are too many.

    Members that share none fit into the file, one behind the other, in the order of their places.
    """
    entries = archive.infolist()
    if len(entries) > MOST_MEMBERS:
        raise zipfile.BadZipFile(f"it has more than {MOST_MEMBERS} members")
    end = 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        if entry.header_offset < end:
            raise zipfile.BadZipFile("two members overlap")
        end = entry.header_offset + _LOCAL_HEADER + len(entry.filename.encode()) + entry.compress_size
    if end > size:
        raise zipfile.BadZipFile("a member is larger than the file")
