"""The JSON of a bundle as types: its manifest, its signature, and what `show` adds.  Keys are in alphabetical order."""

from __future__ import annotations

from msgspec import Struct

from ...results import HoldsFor


class BuiltWith(Struct, frozen=True):
    solver: str
    version: str


class ParameterDocument(Struct, frozen=True):
    """``type``: a Tile IR type; ``static``: the number that was compiled in."""

    argument: str
    dim: int | None
    role: str
    static: int | None
    type: str


class EntryDocument(Struct, frozen=True):
    parameters: list[ParameterDocument]
    symbol: str


class BytecodeDocument(Struct, frozen=True):
    semantic_sha256: str


class CubinDocument(Struct, frozen=True, omit_defaults=True):
    """``compiled``: what was seen of the PTX beside the bytecode; ``ptx_sha256``: the text that the cubin came from."""

    architecture: str
    assembler: str
    member: str
    compiled: str = ""
    ptx_sha256: str = ""


class ManifestDocument(Struct, frozen=True):
    """What a signature is over; ``members``: the hash of each of the others."""

    assumes: tuple[str, ...]
    bytecode: BytecodeDocument
    contract: tuple[str, ...]
    cubins: tuple[CubinDocument, ...]
    deterministic: bool | None
    entry: EntryDocument
    file: str
    holds_for: HoldsFor
    kernel: str
    launch: str
    members: dict[str, str]
    requires: tuple[str, ...]
    schema: str
    sources: dict[str, str]
    tool: BuiltWith


class SignatureDocument(Struct, frozen=True):
    """Ed25519; key and signature in base64."""

    algorithm: str
    key: str
    signature: str


class ShownCubin(CubinDocument, frozen=True, kw_only=True, omit_defaults=True):
    bytes: int
    sha256: str


class ShownDocument(Struct, frozen=True):
    """What is known of a manifest's word, beside it; ``obligations``: how many the certificate has."""

    obligations: int
    signed: bool
    signed_by: str | None
    verified: bool
