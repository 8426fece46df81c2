"""The file format: a ZIP archive without compression in which every byte is determined by the members' contents.

Whoever reads one writes it again and compares, so that no byte can differ unseen: not in a member (hashes in the
manifest), not in the manifest (its own hash), not in the archive's headers.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Final

from ...system.zip_members import refuse_overlaps

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class NotAnArchive(Exception):
    """Not written by `write_archive`; the text says what is wrong."""


def write_archive(members: Mapping[str, bytes]) -> bytes:
    """The members in the order given."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, content)
    return target.getvalue()


def read_archive(data: bytes) -> dict[str, bytes]:
    """The members in their order; raises `NotAnArchive` for every byte that `write_archive` would not have written."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len({entry.filename for entry in entries}) != len(entries):
                raise NotAnArchive("two members have one name")
            # Stored and side by side, so that all members together are no larger than the file that they come in.
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise NotAnArchive("a member is compressed")
            if any(entry.file_size != entry.compress_size for entry in entries):
                raise NotAnArchive("a member has two sizes")
            refuse_overlaps(archive, len(data))
            members = {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise NotAnArchive(f"it is no archive, or a damaged one ({error})") from None
    if write_archive(members) != data:
        raise NotAnArchive("the archive was written or changed by something else")
    return members
