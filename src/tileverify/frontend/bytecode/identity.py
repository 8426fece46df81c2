"""Which bytecode it is: a hash of what it means, without what only tells where it came from."""

from __future__ import annotations

import hashlib
from typing import Final

from .container import HEADER_BYTES, Section, read_container

_OF_NO_MEANING: Final = frozenset({Section.DEBUG, Section.PRODUCER})


def semantic_sha256(data: bytes) -> str:
    """SHA-256 over the header and all sections but debug information and producer, in the order of their numbers.

    Their order in the file and padding between them do not matter.  Raises `DecodeError` for what is no container.
    """
    container = read_container(data)
    digest = hashlib.sha256(data[:HEADER_BYTES])
    for section, (start, end) in sorted(container.sections.items()):
        if section not in _OF_NO_MEANING:
            digest.update(section.to_bytes(1, "little") + (end - start).to_bytes(8, "little") + data[start:end])
    return digest.hexdigest()
