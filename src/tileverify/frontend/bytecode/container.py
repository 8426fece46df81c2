"""The container: header, version, and where each section lies.

Layout: ``7F "TileIR" 00``, major, minor, u16 tag; then sections ``id | 0x80 if aligned, length, [alignment, padding],
data``; then the end marker, one zero byte, the last of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from .file_layout import SectionLayout
from .optable import VERSIONS, Version
from .reader import Reader, malformed

MAGIC: Final = b"\x7fTileIR\x00"
HEADER_BYTES: Final = 12
MAX_ALIGNMENT: Final = 4096
MAX_FILE_BYTES: Final = 1 << 26
PREVIEW_TAG: Final = 1


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
    """``sections`` maps each section that is present to the (start, end) of its data in the file."""

    version: Version
    sections: Mapping[Section, tuple[int, int]]
    order: tuple[SectionLayout, ...]


def read_container(data: bytes) -> Container:
    """Find the sections of a whole file; raises `DecodeError` for anything that is not one."""
    if len(data) > MAX_FILE_BYTES:
        malformed(MAX_FILE_BYTES, f"the file has {len(data)} bytes, more than the {MAX_FILE_BYTES} accepted")
    if not data.startswith(MAGIC):
        malformed(0, "not Tile IR bytecode: the file does not start with 7F 'TileIR' 00")
    reader = Reader(data, len(MAGIC), len(data))
    version = _read_version(reader)
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
    return Container(version, sections, tuple(order))


def _read_version(reader: Reader) -> Version:
    at = reader.pos
    version = (reader.byte(), reader.byte())
    if version not in VERSIONS:
        known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
        malformed(at, f"bytecode version {version[0]}.{version[1]} is not supported (known: {known})")
    at = reader.pos
    tag = reader.fixed(2)
    if tag == PREVIEW_TAG and version >= (13, 5):
        malformed(at, "the file uses preview features, which have no stable meaning and are not supported")
    if tag:
        malformed(at, f"unknown version tag {tag:#x}")
    return version


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
