"""What a bundle holds, and bundles as bytes: members of a ZIP archive, and ``manifest.json`` with the hash of each."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from ...frontend.bytecode import decode
from ...frontend.bytecode.assembly_text import type_text
from ...frontend.bytecode.decoder import semantic_sha256
from ...frontend.bytecode.model import Entry
from ...frontend.sources.abi import entry_types, mismatch
from ...results import HoldsFor
from ...results.json_fields import REQUIRED, coded, named
from ...results.json_report import from_json, to_json
from ...system.atomic_file import refuse_overlaps
from ...system.errors import TileVerifyError
from ...system.readings import sha256
from ...verifier.certificate.model import Certificate, CertificateError, read_certificate

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


# ------------------------------------------------------------------------------------------------------------- manifest
# Bundles as bytes: members, and ``manifest.json`` with the hash of each.


SCHEMA: Final = "tileverify/bundle/1"

_MANIFEST, _DIGEST, _SIGNATURE = "manifest.json", "manifest.sha256", "signature.json"
_BYTECODE, _CERTIFICATE, _LINES = "kernel.tileirbc", "certificate.tvcert.json", "lines.json"


# ----------------------------------------------------------------------------------------------- writing
def manifest_bytes(bundle: Bundle) -> bytes:
    """What a signature is over."""
    return (json.dumps(to_json(manifest_of(bundle)), indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode()


def manifest_of(bundle: Bundle) -> ManifestDocument:
    c = bundle.certificate
    parameters = [
        ParameterDocument(p.argument, p.dim, p.role.value, p.static, type_)
        for p, type_ in zip(c.parameters, bundle.parameter_types, strict=True)
    ]
    return ManifestDocument(
        assumes=bundle.assumes,
        bytecode=BytecodeDocument(c.semantic_sha256),
        contract=bundle.contract,
        cubins=tuple(
            CubinDocument(
                each.architecture, each.assembler, _cubin_member(each.architecture), each.compiled, each.ptx_sha256
            )
            for each in bundle.cubins.values()
        ),
        deterministic=bundle.deterministic,
        entry=EntryDocument(parameters, c.symbol),
        file=c.file,
        holds_for=bundle.holds_for,
        kernel=c.kernel,
        launch=c.launch.name,
        members={name: sha256(content) for name, content in sorted(_contents(bundle).items())},
        requires=tuple(c.requires),
        schema=SCHEMA,
        sources=dict(sorted(bundle.sources.items())),
        tool=BuiltWith(bundle.solver, bundle.tool),
    )


def bundle_bytes(bundle: Bundle) -> bytes:
    """The file; the same bundle gives the same bytes."""
    manifest = manifest_bytes(bundle)
    members = {_MANIFEST: manifest, _DIGEST: f"{sha256(manifest)}\n".encode(), **_contents(bundle)}
    if bundle.signature is not None:
        members[_SIGNATURE] = (json.dumps(to_json(bundle.signature), indent=1) + "\n").encode()
    return write_archive(members)


def _contents(bundle: Bundle) -> dict[str, bytes]:
    lines = ",\n ".join(json.dumps(each) for each in bundle.lines)
    return {
        _BYTECODE: bundle.bytecode,
        _CERTIFICATE: bundle.certificate_text.encode(),
        _LINES: f"[{lines}]\n".encode(),
        **{_cubin_member(each.architecture): each.code for each in bundle.cubins.values()},
    }


def _cubin_member(architecture: str) -> str:
    return f"cubins/{architecture}.cubin"


# ----------------------------------------------------------------------------------------------- reading
def read_bundle(data: bytes, file: str) -> Bundle:
    """The bundle in ``data``; raises `BundleRefused` for anything that was not written whole by `bundle_bytes`.

    A signature is read, not checked; whether the cubins are what the bytecode assembles to is not checked either.
    """

    def refuse(why: str) -> BundleRefused:
        return BundleRefused(f"{why}; the bundle is refused (TV503): build it again", file)

    try:
        members = read_archive(data)
    except NotAnArchive as error:
        raise refuse(f"this is no bundle: {error}") from None
    manifest = members.get(_MANIFEST, b"")
    try:
        document = json.loads(manifest)
        schema = document["schema"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise refuse("this is no bundle: it has no readable manifest") from None
    if schema != SCHEMA:
        raise refuse(f"the bundle has the schema '{schema}', this version reads '{SCHEMA}'")
    try:
        bundle = _bundle(from_json(document, ManifestDocument), members, file)
    except CertificateError as error:
        raise refuse(f"its certificate is not whole: {error.message}") from None
    except TileVerifyError as error:
        raise refuse(f"its bytecode is not whole: {error.message}") from None
    except _Mismatch as error:
        raise refuse(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise refuse("the manifest does not describe a bundle") from None
    if bundle_bytes(bundle) != data:
        raise refuse("the manifest was written or changed by something else")
    return bundle


class _Mismatch(Exception):
    """Parts that do not belong together."""


def _bundle(document: ManifestDocument, members: Mapping[str, bytes], file: str) -> Bundle:
    held = set(members) - {_MANIFEST, _DIGEST, _SIGNATURE}
    if held != set(document.members):
        raise _Mismatch("members are missing, or there are some that the manifest does not name")
    for name, expected in document.members.items():
        if sha256(members[name]) != expected:
            raise _Mismatch(f"'{name}' was changed after the bundle was built: its hash does not match")
    bytecode, text = members[_BYTECODE], members[_CERTIFICATE].decode()
    certificate = read_certificate(text, file)
    if certificate.bytecode_sha256 != sha256(bytecode) or certificate.semantic_sha256 != semantic_sha256(bytecode):
        raise _Mismatch("the certificate is about other bytecode than the bundle's")
    entry = entry_of(bytecode, certificate.symbol, file)
    types = parameter_types(bytecode, certificate.symbol, file)
    problem = mismatch(certificate.parameters, certificate.launch, entry_types(entry), certificate.symbol)
    if problem is not None:
        raise _Mismatch(f"the entry has other parameters than the certificate says: {problem}")
    cubins = {}
    for each in document.cubins:
        code = members[each.member]
        if not code.startswith(b"\x7fELF"):
            raise _Mismatch(f"'{each.member}' is no cubin")
        cubins[each.architecture] = Cubin(each.architecture, each.assembler, code, each.compiled, each.ptx_sha256)
    _check_compared(cubins, certificate)
    return Bundle(
        tool=document.tool.version,
        solver=document.tool.solver,
        bytecode=bytecode,
        certificate_text=text,
        certificate=certificate,
        contract=document.contract,
        assumes=document.assumes,
        holds_for=document.holds_for,
        deterministic=document.deterministic,
        parameter_types=types,
        cubins=cubins,
        lines=tuple((o, f, line, column) for o, f, line, column in json.loads(members[_LINES])),
        sources=document.sources,
        signature=_signature(members.get(_SIGNATURE)),
    )


def _check_compared(cubins: Mapping[str, Cubin], certificate: Certificate) -> None:
    """What the certificate says of machine code is about these cubins; certificates of earlier versions say nothing."""
    for seen in certificate.compared_code:
        cubin = cubins.get(seen.architecture)
        said = (seen.assembler, seen.outcome, seen.ptx_sha256, seen.cubin_sha256)
        if cubin is None or said != (cubin.assembler, cubin.compiled, cubin.ptx_sha256, sha256(cubin.code)):
            raise _Mismatch(f"what its certificate says of the code for {seen.architecture} is not about its cubin")


def parameter_types(bytecode: bytes, symbol: str, file: str) -> tuple[str, ...]:
    """The entry's parameters as Tile IR types; raises `TileVerifyError` if there is no such entry."""
    return tuple(type_text(parameter.type) for parameter in entry_of(bytecode, symbol, file).parameters)


def entry_of(bytecode: bytes, symbol: str, file: str) -> Entry:
    """The entry ``symbol`` of ``bytecode``; raises `TileVerifyError` if there is none."""
    module = decode(bytecode, file=file)
    for entry in module.entries:
        if entry.name == symbol:
            return entry
    raise TileVerifyError(f"there is no entry '{symbol}'", file)


def _signature(text: bytes | None) -> Signature | None:
    if text is None:
        return None
    signature = from_json(json.loads(text), Signature)
    if signature.algorithm != ED25519:
        raise _Mismatch(f"the signature is of a kind that this version does not know: {signature.algorithm}")
    return signature


# -------------------------------------------------------------------------------------------------------- manifest json
# The manifest of a bundle, which holds hashes where the bundle holds bytes.  Keys are in alphabetical order.


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


# -------------------------------------------------------------------------------------------------------------- archive
# The file format: a ZIP archive without compression in which every byte is determined by the members' contents.
#
# Whoever reads one writes it again and compares, so that no byte can differ unseen: not in a member (hashes in the
# manifest), not in the manifest (its own hash), not in the archive's headers.


_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class NotAnArchive(Exception):
    """Not written by `write_archive`; the text says what is wrong."""


def write_archive(members: Mapping[str, bytes]) -> bytes:
    """The members in the order given."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, content)
    return target.getvalue()


def read_archive(data: bytes) -> dict[str, bytes]:
    """The members in their order; raises `NotAnArchive` for every byte that `write_archive` would not have written."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len({entry.filename for entry in entries}) != len(entries):
                raise NotAnArchive("two members have one name")
            # Stored and side by side, so that all members together are no larger than the file that they come in.
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise NotAnArchive("a member is compressed")
            if any(entry.file_size != entry.compress_size for entry in entries):
                raise NotAnArchive("a member has two sizes")
            refuse_overlaps(archive, len(data))
            members = {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise NotAnArchive(f"it is no archive, or a damaged one ({error})") from None
    if write_archive(members) != data:
        raise NotAnArchive("the archive was written or changed by something else")
    return members
