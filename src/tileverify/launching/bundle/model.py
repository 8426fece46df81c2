"""What a bundle holds."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ...results import HoldsFor
from ...results.json_fields import REQUIRED, coded, named
from ...system.errors import TileVerifyError
from ...verifier.certificate.model import Certificate

SUFFIX = ".tvk"


class BundleRefused(TileVerifyError):
    """TV503: a file that is no whole bundle of this tool, or whose parts do not belong together.

    >>> import tileverify
    >>> with open("cut.tvk", "wb") as file:
    ...     size = file.write(b"PK")
    >>> tileverify.load("cut.tvk")
    Traceback (most recent call last):
        ...
    tileverify.BundleRefused: ...
    """

    __module__ = "tileverify"
    exit_code = 1


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code for one architecture, and the ``tileiras`` that made it.

    ``compiled``: what was seen of its PTX beside the bytecode, in words; ``ptx_sha256``: of that text.
    """

    architecture: str
    assembler: str
    code: bytes
    compiled: str = ""
    ptx_sha256: str = ""


ED25519: Final = "ed25519"


def _in_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _of_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


@dataclass(frozen=True, slots=True)
class Signature:
    """Ed25519 over the manifest: ``key`` is the raw public key."""

    algorithm: str = field(default=ED25519, kw_only=True, metadata=REQUIRED)
    key: bytes = field(metadata=coded(str, _in_base64, lambda read: _of_base64(read.key)))
    value: bytes = field(metadata=named("signature") | coded(str, _in_base64, lambda read: _of_base64(read.value)))


@dataclass(frozen=True, slots=True)
class Bundle:
    """One proved kernel under one launch contract.

    ``certificate_text`` is the certificate as it was written, ``certificate`` what it says: symbol, entry parameters,
    launch contract and the clauses that the proof added.  ``contract``, ``assumes``, ``holds_for`` and
    ``deterministic`` are the verdict's, for people.  ``parameter_types``: the entry's parameters as Tile IR types, in
    ABI order.  ``lines``: (offset in the bytecode, file, line, column) of ops; ``sources``: the hash of the source.
    """

    tool: str
    solver: str
    bytecode: bytes
    certificate_text: str
    certificate: Certificate
    contract: tuple[str, ...]
    assumes: tuple[str, ...]
    holds_for: HoldsFor
    deterministic: bool | None
    parameter_types: tuple[str, ...]
    cubins: Mapping[str, Cubin]
    lines: tuple[tuple[int, str, int, int], ...]
    sources: Mapping[str, str]
    signature: Signature | None = None
