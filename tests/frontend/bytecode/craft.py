"""Raw bytecode files, written byte by byte, for content that no encoder would produce."""

from __future__ import annotations

from collections.abc import Sequence

from tileverify.frontend.bytecode.container import MAGIC, Section, Writer, write_table

Version = tuple[int, int]

# Type indices of `TYPES`.
I1, I32, TILE_I32, FUNC, TILE_I1, TOKEN, TILE_4 = range(7)
TYPES = (
    b"\x00",
    b"\x03",
    b"\x0d\x01\x00",
    b"\x10\x01\x02\x00",
    b"\x0d\x00\x00",
    b"\x11",
    b"\x0d\x01\x01\x04\x00\x00\x00\x00\x00\x00\x00",
)
"""The function type takes one parameter, a tile<i32>; it is value 0 of every body."""

RETURN = b"\x5c\x00\x00"
ADD_0_0 = b"\x03\x02\x00\x00\x00"


def varint(value: int) -> bytes:
    writer = Writer()
    writer.varint(value)
    return bytes(writer.data)


def table(items: Sequence[bytes], width: int) -> bytes:
    writer = Writer()
    write_table(writer, items, width)
    return bytes(writer.data)


def function(body: bytes, *, flags: int = 2, debug: int = 0, length: int | None = None, signature: int = FUNC) -> bytes:
    """Function section with one entry named by string 0."""
    size = len(body) if length is None else length
    return b"\x01\x00" + varint(signature) + bytes([flags]) + varint(debug) + varint(size) + body


def sections(
    body: bytes = RETURN,
    *,
    strings: Sequence[bytes] = (b"k", b"name"),
    types: Sequence[bytes] = TYPES,
    constants: Sequence[bytes] = (),
    functions: bytes | None = None,
    debug: bytes | None = None,
) -> list[tuple[int, int, bytes]]:
    """(id, alignment, data) of every section."""
    made = [(Section.FUNCTION, 8, function(body) if functions is None else functions)]
    if constants:
        made.append((Section.CONSTANT, 8, table(constants, 8)))
    if debug is not None:
        made.append((Section.DEBUG, 8, debug))
    return [*made, (Section.TYPE, 4, table(types, 4)), (Section.STRING, 4, table(strings, 4))]


def container(
    parts: Sequence[tuple[int, int, bytes]], *, version: Version = (13, 4), tag: int = 0, padding: int = 0xCB
) -> bytes:
    data = bytearray(MAGIC + bytes(version) + tag.to_bytes(2, "little"))
    for identifier, alignment, content in parts:
        data.append(identifier | (0x80 if alignment else 0))
        data += varint(len(content))
        if alignment:
            data += varint(alignment)
            data += bytes([padding]) * (-len(data) % alignment)
        data += content
    return bytes(data) + b"\x00"


def file_with(body: bytes = RETURN, *, version: Version = (13, 4), **parts: object) -> bytes:
    return container(sections(body, **parts), version=version)  # type: ignore[arg-type]


def debug_section(indices: Sequence[int], records: Sequence[bytes]) -> bytes:
    """Debug section of one function."""
    writer = Writer()
    writer.varint(1)
    writer.align(4)
    writer.fixed(0, 4)
    writer.varint(len(indices))
    writer.align(8)
    for index in indices:
        writer.fixed(index, 8)
    write_table(writer, records, 4)
    return bytes(writer.data)
