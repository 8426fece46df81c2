"""Messages between the gate and its processes: a small JSON header and bytes, both with their lengths in front."""

from __future__ import annotations

import struct
from typing import IO, Final, Protocol, TypeVar

import msgspec

_LENGTHS: Final = struct.Struct(">IQ")
LONGEST_HEADER: Final = 1 << 22

Header = TypeVar("Header")


class BrokenFrame(Exception):
    """The other side is gone, or does not speak this protocol."""


def write_frame(stream: IO[bytes], header: object, payload: bytes = b"") -> None:
    """``header``: of a type that the other side reads.  Raises OSError where nobody reads."""
    text = msgspec.json.encode(header)
    stream.write(_LENGTHS.pack(len(text), len(payload)) + text + payload)
    stream.flush()


class Readable(Protocol):
    """What bytes are read from; fewer than were asked for come at the end alone."""

    def read(self, count: int, /) -> bytes: ...


def read_frame(stream: Readable, longest: int, kind: type[Header]) -> tuple[Header, bytes] | None:
    """The next message, ``None`` at the end.

    Raises `BrokenFrame` for a header that is not of this kind, and where the payload has more than ``longest``.
    """
    lengths = stream.read(_LENGTHS.size)
    if not lengths:
        return None
    if len(lengths) < _LENGTHS.size:
        raise BrokenFrame
    header_length, payload_length = _LENGTHS.unpack(lengths)
    if header_length > LONGEST_HEADER or payload_length > longest:
        raise BrokenFrame
    text, payload = stream.read(header_length), stream.read(payload_length)
    if len(text) < header_length or len(payload) < payload_length:
        raise BrokenFrame
    try:
        return msgspec.json.decode(text, type=kind), payload
    except (msgspec.DecodeError, RecursionError):
        raise BrokenFrame from None
