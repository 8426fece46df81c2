"""Messages between the gate and its worker: a small JSON header and bytes, both with their lengths in front."""

from __future__ import annotations

import json
import struct
from typing import IO, Any, Final, Protocol

_LENGTHS: Final = struct.Struct(">IQ")
LONGEST_HEADER: Final = 1 << 22


class BrokenFrame(Exception):
    """The other side is gone, or does not speak this protocol."""


def write_frame(stream: IO[bytes], header: dict[str, Any], payload: bytes = b"") -> None:
    """Raises OSError where nobody reads."""
    text = json.dumps(header).encode("ascii")
    stream.write(_LENGTHS.pack(len(text), len(payload)) + text + payload)
    stream.flush()


class Readable(Protocol):
    """What bytes are read from; fewer than were asked for come at the end alone."""

    def read(self, count: int, /) -> bytes: ...


def read_frame(stream: Readable, longest: int) -> tuple[dict[str, Any], bytes] | None:
    """The next message, ``None`` at the end; raises `BrokenFrame`, also where the payload has more than ``longest``."""
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
        header = json.loads(text)
    except ValueError:
        raise BrokenFrame from None
    if not isinstance(header, dict):
        raise BrokenFrame
    return header, payload
