"""Whether a bundle's proof is believed, and whether its cubins may run.

Whoever makes a bundle writes its contract and its proof, too.  They are believed of a bundle that a trusted key signed;
of any other, the kernel is proved again under that contract, by this machine's own solver.

A cubin carries host code that the driver runs, so hashes alone do not help: whoever makes a bundle makes its hashes.
A cubin is trusted if a key that the user trusts signed the bundle, or if this machine's own assembler makes the very
same cubin of the proved bytecode.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...backend.assembler import Assembled, Assembler, AssemblyError, refuse_split_loads
from ...backend.compiled.cubin_look import ProvedEntry, looked, refuse_differences
from ...pipeline.unit_summary import solver_version
from ...pipeline.verdict_cache import generation
from ...system.atomic_file import is_private, read_private, write_private
from ...system.errors import UsageError
from .manifest import Bundle, BundleRefused, Signature, manifest_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key, raw (32 bytes), and the file that it came from."""

    raw: bytes
    file: str


def sign(bundle: Bundle, key_file: Path) -> Bundle:
    """``bundle`` signed with the Ed25519 private key in ``key_file`` (PEM); raises `UsageError`."""
    key = _private_key(key_file)
    from cryptography.hazmat.primitives import serialization

    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return replace(bundle, signature=Signature(raw, key.sign(manifest_bytes(bundle))))


def trusted_keys(files: Sequence[Path]) -> tuple[TrustedKey, ...]:
    """The Ed25519 public keys in PEM files; raises `UsageError`."""
    _need_cryptography()
    from cryptography.hazmat.primitives import serialization

    keys = []
    for file in files:
        key = _public_key(file)
        raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        keys.append(TrustedKey(raw, str(file)))
    return tuple(keys)


def signer(bundle: Bundle, keys: Sequence[TrustedKey], file: str) -> TrustedKey | None:
    """Which of ``keys`` signed the bundle; ``None`` if it is not signed by any.

    Raises `BundleRefused` for a signature that is wrong, whoever's it is.
    """
    if bundle.signature is None:
        return None
    _need_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(bundle.signature.key)
        public.verify(bundle.signature.value, manifest_bytes(bundle))
    except (InvalidSignature, ValueError):
        raise BundleRefused("the signature is not one of this bundle (TV503)", file) from None
    return next((key for key in keys if key.raw == bundle.signature.key), None)


def check_proof(
    bundle: Bundle,
    file: str,
    *,
    keys: Sequence[TrustedKey] = (),
    only_signed: bool = False,
    trust_proof: bool = False,
    cache: Path | None = None,
) -> TrustedKey | None:
    """The trusted key that signed the bundle; without one, the kernel is proved again, unless ``trust_proof``.

    A signature that is wrong is refused, whoever's it is.  ``cache``: the folder of earlier verdicts.  Raises
    `BundleRefused`, and `UsageError` where there is no solver to prove it with.
    """
    vouched = signer(bundle, keys, file) if keys or can_verify() else None
    if vouched is not None:
        return vouched
    if only_signed:
        who = "by nobody" if bundle.signature is None else "by a key that is not trusted here"
        raise BundleRefused(f"only signed bundles run here, and this one is signed {who} (TV503)", file)
    if not trust_proof:
        _prove(bundle, file, cache)
    return None


def _prove(bundle: Bundle, file: str, cache: Path | None) -> None:
    from ...verifier.certificate.model import CertificateError

    try:
        from ...verifier.certificate.write import prove_again
    except ImportError as error:
        raise UsageError(
            f"'{file}' is not signed by a trusted key, so its kernel has to be proved again, and there is no solver "
            f"here ({error}): sign it and name the key, or say trust_proof=True"
        ) from None

    known = None if cache is None else ProvedHere(cache)
    if known is not None and known.holds(bundle):
        return
    try:
        prove_again(bundle.certificate, bundle.bytecode, file)
    except CertificateError as error:
        raise BundleRefused(
            f"the proof in the bundle is not one, as {error.message}; the bundle is refused (TV503)", file
        ) from None
    if known is not None:
        known.keep(bundle)


def can_verify() -> bool:
    """Whether signatures can be looked at here."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        return False
    return True


def trusted_cubin(
    bundle: Bundle,
    architecture: str,
    file: str,
    *,
    keys: Sequence[TrustedKey] = (),
    only_signed: bool = False,
    assembler: Assembler | None = None,
) -> bytes:
    """Machine code that may run: the bundle's where a trusted key vouches for it, else what ``assembler`` makes.

    With ``only_signed`` nothing else than a trusted signature will do.  A bundle's cubin that differs from what the
    same version of the assembler makes of its bytecode is refused, as is a kernel whose compiled code differs from the
    bytecode.  Raises `BundleRefused`.
    """
    try:
        refuse_split_loads(bundle.bytecode)
    except AssemblyError as error:
        raise BundleRefused(error.message, file) from None
    vouched = signer(bundle, keys, file)
    cubin = bundle.cubins.get(architecture)
    if only_signed and vouched is None:
        who = "by nobody" if bundle.signature is None else "by a key that is not trusted here"
        raise BundleRefused(f"only signed bundles run here, and this one is signed {who} (TV503)", file)
    if vouched is not None and cubin is not None:
        return cubin.code
    if assembler is None:
        missing = f"has no cubin for {architecture}" if cubin is None else "is not signed by a trusted key"
        raise BundleRefused(f"the bundle {missing}, and there is no tileiras here to assemble it (TV503)", file)
    made = _made_again(bundle, architecture, file, assembler)
    c = bundle.certificate
    proved = ProvedEntry(bundle.bytecode, c.symbol, c.parameters, c.launch, c.requires)
    try:
        refuse_differences(looked(proved, made, architecture))
    except AssemblyError as error:
        raise BundleRefused(error.message, file) from None
    return made.cubin


def _made_again(bundle: Bundle, architecture: str, file: str, assembler: Assembler) -> Assembled:
    """What ``assembler`` makes of the bytecode, which is the bundle's cubin if that version made it."""
    cubin = bundle.cubins.get(architecture)
    if cubin is None or cubin.assembler != assembler.version:
        return assembler.assembled(bundle.bytecode, architecture)
    made = assembler.assembled_as(bundle.bytecode, architecture, hashlib.sha256(cubin.code).hexdigest())
    if made.cubin != cubin.code:
        raise BundleRefused(
            f"its cubin for {architecture} is not what tileiras {assembler.version} makes of the proved bytecode "
            "(TV503); do not run it, and ask where it comes from",
            file,
        )
    return made


def _need_cryptography() -> None:
    if not can_verify():
        raise UsageError("signatures need another package: pip install 'tileverify[sign]'")


def _read(file: Path) -> bytes:
    _need_cryptography()
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the key '{file}': {error.strerror or error}") from None


def _private_key(file: Path) -> Ed25519PrivateKey:
    data = _read(file)
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            f"'{file}' is no unencrypted Ed25519 private key in PEM: make one with "
            "openssl genpkey -algorithm ed25519 -out key.pem"
        )
    return key


def _public_key(file: Path) -> Ed25519PublicKey:
    data = _read(file)
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(
            f"'{file}' is no Ed25519 public key in PEM: get it with openssl pkey -in key.pem -pubout -out key.pub"
        )
    return key


# ---------------------------------------------------------------------------------------------------------- proved here
# Bundles whose kernels this machine has proved, kept on disk, so that the next process need not prove them again.


@dataclass(frozen=True, slots=True)
class ProvedHere:
    """An empty file for each bytecode and certificate, under the version of prover and solver that proved it."""

    folder: Path

    def holds(self, bundle: Bundle) -> bool:
        if not is_private(self.folder):
            return False
        try:
            return read_private(self._path(bundle)) == b"proved\n"
        except OSError:
            return False

    def keep(self, bundle: Bundle) -> None:
        if is_private(self.folder):
            with contextlib.suppress(OSError):
                write_private(self._path(bundle), "proved\n")

    def _path(self, bundle: Bundle) -> Path:
        digest = hashlib.sha256(hashlib.sha256(bundle.bytecode).digest() + bundle.certificate_text.encode()).hexdigest()
        return self.folder / generation(solver_version()) / "bundles" / digest
