"""Archives are refused by their table of members, before anything of them is in memory."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from tileverify.backend.numbers.array_files import read_arrays
from tileverify.launching.bundle.manifest import NotAnArchive, read_archive, write_archive
from tileverify.system.errors import UsageError


def overlapping(count: int, kernel: int, suffix: str = "") -> bytes:
    """Members of ``kernel`` bytes and more: each has the next one's header, and so all that follows, as its content."""
    names = [f"{number:05}{suffix}".encode() for number in range(count)]
    width = 30 + len(names[0])
    content = bytes(kernel)
    headers: list[bytes] = []
    sums: list[tuple[int, int]] = []
    tail = content
    for name in reversed(names):
        sums.append((zlib.crc32(tail), len(tail)))
        header = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, sums[-1][0], len(tail), len(tail), len(name), 0)
        headers.append(header + name)
        tail = headers[-1] + tail
    sums.reverse()
    table = b"".join(
        struct.pack(
            "<4s4B4HL2L5H2L",
            *(b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, crc, size, size, len(name), 0, 0, 0, 0, 0, place * width),
        ) + name
        for place, (name, (crc, size)) in enumerate(zip(names, sums, strict=True))
    )  # fmt: skip
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(table), len(tail), 0)
    return tail + table + end


def peak_of(data: bytes) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(NotAnArchive):
            read_archive(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_overlapping_members_take_no_memory() -> None:
    """A megabyte that holds 300."""
    data = overlapping(300, 1 << 20)
    assert len(data) < 1 << 21
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert sum(entry.file_size for entry in archive.infolist()) > 300 << 20
    assert peak_of(data) < 8 << 20


@pytest.mark.parametrize("count", [2, 10_001])
def test_members_that_say_something_else(count: int) -> None:
    assert peak_of(overlapping(count, 16)) < 64 << 20
    data = bytearray(write_archive({"a": b"x" * 100}))
    place = data.index(b"PK\1\2")
    data[place + 24 : place + 28] = struct.pack("<L", 1 << 30)  # its size, not that in the file
    assert peak_of(bytes(data)) < 1 << 20
    data[place + 20 : place + 24] = struct.pack("<L", 1 << 30)
    assert peak_of(bytes(data)) < 1 << 20


def test_arrays_that_overlap_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(overlapping(20, 1 << 16, ".npy"))
    with pytest.raises(UsageError, match="overlap"):
        read_arrays(file)


def test_what_others_write_is_read(tmp_path: Path) -> None:
    members = {"a": b"1", "b": b"", "c": bytes(1000)}
    assert read_archive(write_archive(members)) == members
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", a=np.arange(1000), b=np.zeros(3))
        assert read_arrays(tmp_path / "x.npz").keys() == {"a", "b"}
