"""A bounded cursor over the bytes of a file: every read checks the end and reports the offset."""

from __future__ import annotations

import struct
from typing import Final, NoReturn

from ...system.errors import DecodeError

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
