"""ELF files of 64 bits, as far as host code and cubins need it: sections and symbols."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_NO_BITS, _SYMBOLS = 8, 2


class BrokenObject(Exception):
    """Bytes that are no ELF file of 64 bits, or one that lacks something."""


@dataclass(frozen=True, slots=True)
class ElfSection:
    name: str
    kind: int
    data: bytes
    link: int


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """``section``: its number; ``value``: the offset in it."""

    name: str
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class ElfObject:
    image: bytes

    @cached_property
    def sections(self) -> tuple[ElfSection, ...]:
        """Raises `BrokenObject`."""
        try:
            return self._sections()
        except (struct.error, IndexError, ValueError):
            raise BrokenObject("an ELF file is broken") from None

    def _sections(self) -> tuple[ElfSection, ...]:
        header = _HEADER.unpack_from(self.image)
        if header[0][:6] != b"\x7fELF\x02\x01":
            raise BrokenObject("the bytes are no ELF file of 64 bits")
        start, size, count, names = header[6], header[11], header[12], header[13]
        rows = [_SECTION.unpack_from(self.image, start + size * number) for number in range(count)]
        texts = self.image[rows[names][4] : rows[names][4] + rows[names][5]]
        return tuple(
            ElfSection(
                _text(texts, name), kind, b"" if kind == _NO_BITS else self.image[offset : offset + length], link
            )
            for name, kind, _, _, offset, length, link, *_ in rows
        )

    def section(self, name: str) -> bytes:
        """Raises `BrokenObject` where there is none."""
        found = next((each for each in self.sections if each.name == name), None)
        if found is None:
            raise BrokenObject(f"an ELF file has no section {name}")
        return found.data

    @cached_property
    def symbols(self) -> tuple[ElfSymbol, ...]:
        return tuple(self._symbols())

    def _symbols(self) -> Iterator[ElfSymbol]:
        for table in self.sections:
            if table.kind == _SYMBOLS:
                names = self.sections[table.link].data
                whole = len(table.data) // _SYMBOL.size * _SYMBOL.size
                for name, _, _, section, value, size in _SYMBOL.iter_unpack(table.data[:whole]):
                    yield ElfSymbol(_text(names, name), section, value, size)

    def bytes_of(self, symbol: ElfSymbol) -> bytes:
        if symbol.section >= len(self.sections):
            raise BrokenObject(f"the symbol {symbol.name} lies in no section")
        return self.sections[symbol.section].data[symbol.value : symbol.value + symbol.size]


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.index(0, offset)].decode()
