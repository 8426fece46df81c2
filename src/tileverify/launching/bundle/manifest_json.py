"""The manifest of a bundle, which holds hashes where the bundle holds bytes.  Keys are in alphabetical order."""

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
