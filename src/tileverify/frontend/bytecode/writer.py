"""An append-only byte buffer with the number encodings of Tile IR bytecode; the mirror image of `reader`."""

from __future__ import annotations

from collections.abc import Sequence

from ...system.errors import EncodeError
from .reader import PADDING_BYTE


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
