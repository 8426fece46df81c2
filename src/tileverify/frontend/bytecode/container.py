"""The bytes of a Tile IR file: a bounded cursor, the buffer that mirrors it, and where each section lies.

Layout: ``7F "TileIR" 00``, major, minor, u16 tag; then sections ``id | 0x80 if aligned, length, [alignment, padding],
data``; then the end marker, one zero byte, the last of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NoReturn

from ...system.errors import DecodeError, EncodeError
from .model import SectionLayout
from .optable import VERSIONS, Version

MAGIC: Final = b"\x7fTileIR\x00"
HEADER_BYTES: Final = 12
MAX_ALIGNMENT: Final = 4096
MAX_FILE_BYTES: Final = 1 << 26
PREVIEW_TAG: Final = 1
PREVIEW_TAG_AT: Final = 10
PREVIEW_SINCE: Final[Version] = (13, 5)


class Section(IntEnum):
    END = 0
    STRING = 1
    FUNCTION = 2
    DEBUG = 3
    CONSTANT = 4
    TYPE = 5
    GLOBAL = 6
    PRODUCER = 7


PRODUCER_SINCE: Final[Version] = (13, 3)
MAX_SECTION_BYTES: Final[Mapping[Section, int]] = {
    Section.FUNCTION: 1 << 21,
    Section.TYPE: 1 << 20,
    Section.GLOBAL: 1 << 20,
    Section.DEBUG: 1 << 24,
}
"""Far above real files (the largest kernel met has some 30 KiB of ops); they bound the memory a file can demand."""


@dataclass(frozen=True, slots=True)
class Container:
    """``sections`` maps each section that is present to the (start, end) of its data in the file.

    ``preview``: the file says that it uses preview features."""

    version: Version
    sections: Mapping[Section, tuple[int, int]]
    order: tuple[SectionLayout, ...]
    preview: bool = False


def read_container(data: bytes) -> Container:
    """Find the sections of a whole file; raises `DecodeError` for anything that is not one."""
    if len(data) > MAX_FILE_BYTES:
        malformed(MAX_FILE_BYTES, f"the file has {len(data)} bytes, more than the {MAX_FILE_BYTES} accepted")
    if not data.startswith(MAGIC):
        malformed(0, "not Tile IR bytecode: the file does not start with 7F 'TileIR' 00")
    reader = Reader(data, len(MAGIC), len(data))
    version, preview = _read_version(reader)
    sections: dict[Section, tuple[int, int]] = {}
    order: list[SectionLayout] = []
    while True:
        at = reader.pos
        head = reader.byte()
        if head == Section.END:
            break
        section = _section(head & 0x7F, version, at)
        if section in sections:
            malformed(at, f"second {section.name.lower()} section")
        length = reader.varint()
        if length > MAX_SECTION_BYTES.get(section, MAX_FILE_BYTES):
            malformed(at, f"the {section.name.lower()} section has {length} bytes, more than accepted")
        alignment = 0
        if head & 0x80:
            alignment = reader.varint()
            if alignment == 0 or alignment & (alignment - 1) or alignment > MAX_ALIGNMENT:
                malformed(at, f"section alignment {alignment} is not a power of two up to {MAX_ALIGNMENT}")
            reader.align(alignment, 0)
        start = reader.pos
        reader.take(length)
        sections[section] = (start, reader.pos)
        order.append(SectionLayout(section, alignment))
    reader.finish("the end marker")
    for mandatory in (Section.STRING, Section.FUNCTION):
        if mandatory not in sections:
            malformed(reader.pos, f"the {mandatory.name.lower()} section is missing")
    return Container(version, sections, tuple(order), preview)


def _read_version(reader: Reader) -> tuple[Version, bool]:
    at = reader.pos
    version = (reader.byte(), reader.byte())
    if version not in VERSIONS:
        known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
        malformed(at, f"bytecode version {version[0]}.{version[1]} is not supported (known: {known})")
    at = reader.pos
    tag = reader.fixed(2)
    if tag & ~PREVIEW_TAG or (tag and version < PREVIEW_SINCE):
        malformed(at, f"unknown version tag {tag:#x}")
    return version, tag == PREVIEW_TAG


def _section(number: int, version: Version, at: int) -> Section:
    try:
        section = Section(number)
    except ValueError:
        malformed(at, f"unknown section id {number}")
    if section is Section.END:
        malformed(at, "the end marker must not be aligned")
    if section is Section.PRODUCER and version < PRODUCER_SINCE:
        malformed(at, "a producer section needs bytecode version 13.3")
    return section


# --------------------------------------------------------------------------------------------------------------- reader
# A bounded cursor over the bytes of a file: every read checks the end and reports the offset.


PADDING_BYTE: Final = 0xCB
MAX_VARINT_BYTES: Final = 10


def malformed(offset: int, reason: str) -> NoReturn:
    """Stop decoding; `decode` adds the file name."""
    raise DecodeError(reason, offset=offset)


def unzigzag(raw: int) -> int:
    """0, 1, 2, 3, ... to 0, -1, 1, -2, ..."""
    return raw >> 1 ^ -(raw & 1)


class Reader:
    """Reads ``data[pos:end]``; offsets are those of the file.  All multi-byte numbers are little-endian."""

    __slots__ = ("data", "end", "pos")

    def __init__(self, data: bytes, pos: int, end: int) -> None:
        self.data = data
        self.pos = pos
        self.end = end

    @property
    def remaining(self) -> int:
        return self.end - self.pos

    def byte(self) -> int:
        pos = self.pos
        if pos >= self.end:
            malformed(pos, "truncated: one more byte expected")
        self.pos = pos + 1
        return self.data[pos]

    def varint(self) -> int:
        """Unsigned LEB128 of at most 64 bits."""
        pos = self.pos
        if pos >= self.end:
            malformed(pos, "truncated inside a number")
        value = self.data[pos]
        if value < 0x80:
            self.pos = pos + 1
            return value
        value = self._long_varint()
        if value >> 64:
            malformed(pos, "a number does not fit 64 bits")
        return value

    def _long_varint(self) -> int:
        """Unsigned LEB128 of at most ten bytes (70 bits)."""
        start = pos = self.pos
        value = shift = 0
        while True:
            if pos >= self.end:
                malformed(start, "truncated inside a number")
            byte = self.data[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift == 7 * MAX_VARINT_BYTES:
                malformed(start, "a number is longer than ten bytes")
        self.pos = pos
        return value

    def signed_varint(self) -> int:
        """Zigzag over LEB128; 64 bits."""
        return unzigzag(self.varint())

    def overlong_varint(self) -> int:
        """LEB128 of at most ten bytes, up to 70 bits."""
        return self._long_varint()

    def count(self, what: str, item_bytes: int = 1) -> int:
        """A list length; the rest of the section must be able to hold that many items of ``item_bytes``."""
        start = self.pos
        count = self.varint()
        if count * item_bytes > self.end - self.pos:
            malformed(start, f"{count} {what} cannot fit in the {self.end - self.pos} bytes that are left")
        return count

    def take(self, size: int) -> bytes:
        pos = self.pos
        if size > self.end - pos:
            malformed(pos, f"truncated: {size} bytes expected, {self.end - pos} are left")
        self.pos = pos + size
        return self.data[pos : pos + size]

    def fixed(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def fixed_list(self, size: int, what: str) -> tuple[int, ...]:
        """A counted list of signed numbers of ``size`` bytes each."""
        return tuple(self.fixed(size, signed=True) for _ in range(self.count(what, size)))

    def words(self, count: int, size: int) -> tuple[int, ...]:
        """``count`` unsigned numbers of 4 or 8 bytes."""
        return struct.unpack(f"<{count}{'I' if size == 4 else 'Q'}", self.take(count * size))

    def align(self, alignment: int, base: int) -> None:
        """Skip padding up to a multiple of ``alignment`` from ``base``; padding must be 0xCB."""
        pos = self.pos
        padding = self.take(-(pos - base) % alignment)
        if padding.count(PADDING_BYTE) != len(padding):
            malformed(pos, "padding bytes are not 0xCB")

    def finish(self, what: str) -> None:
        if self.pos != self.end:
            malformed(self.pos, f"{self.end - self.pos} bytes left over after {what}")


# --------------------------------------------------------------------------------------------------------------- writer
# An append-only byte buffer with the number encodings of Tile IR bytecode; the mirror image of `reader`.


class Writer:
    """Builds one section; alignment counts from its start."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def byte(self, value: int) -> None:
        self.data.append(value)

    def varint(self, value: int) -> None:
        if value < 0:
            raise EncodeError(f"{value} cannot be written as an unsigned number")
        data = self.data
        while value > 0x7F:
            data.append(value & 0x7F | 0x80)
            value >>= 7
        data.append(value)

    def signed_varint(self, value: int) -> None:
        self.varint(value << 1 if value >= 0 else ~(value << 1))

    def take(self, data: bytes) -> None:
        self.data += data

    def fixed(self, value: int, size: int, *, signed: bool = False) -> None:
        try:
            self.data += value.to_bytes(size, "little", signed=signed)
        except OverflowError as problem:
            raise EncodeError(f"{value} does not fit {size} bytes") from problem

    def fixed_list(self, values: Sequence[int], size: int) -> None:
        self.varint(len(values))
        for value in values:
            self.fixed(value, size, signed=True)

    def align(self, alignment: int) -> None:
        self.data += bytes([PADDING_BYTE]) * (-len(self.data) % alignment)


def write_table(writer: Writer, items: Sequence[bytes], offset_bytes: int) -> None:
    """A table section's ``n, padding, n offsets, blob``."""
    writer.varint(len(items))
    writer.align(offset_bytes)
    offset = 0
    for item in items:
        writer.fixed(offset, offset_bytes)
        offset += len(item)
    for item in items:
        writer.take(item)
