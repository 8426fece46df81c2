"""Bundles as files: what is whole can be read, and nothing else."""

from __future__ import annotations

import hashlib
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from tests.column_sums import ADD_COLUMN_SUMS
from tests.written_kernel import unit_at, written

from tileverify.backend.assembler import Assembled, Assembler, AssemblyError, find_assembler, same_addresses
from tileverify.contract.launch import KernelUnit
from tileverify.corpus import ROOT
from tileverify.frontend.sources.discover import discover
from tileverify.launching.bundle.build import build_bundle
from tileverify.launching.bundle.manifest import Bundle, BundleRefused, Cubin, bundle_bytes, read_bundle, write_archive
from tileverify.launching.bundle.trust import sign, signer, trusted_cubin, trusted_keys
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.system.errors import UsageError
from tileverify.verifier.certificate.model import certificate_text


@dataclass(frozen=True)
class Pretended(Assembler):
    """An assembler that makes a cubin's name of what it is given."""

    made_by: str = "13.4.92"

    @property
    def version(self) -> str:
        return self.made_by

    def assembled(self, bytecode: bytes, architecture: str) -> Assembled:
        return Assembled(b"\x7fELF" + hashlib.sha256(bytecode + architecture.encode()).digest() * 4, None, None)


ASSEMBLER = Pretended(Path("tileiras"))


@cache
def built(kernel: str = "vector_add", architectures: tuple[str, ...] = ("sm_90", "sm_120")) -> Bundle:
    unit = unit_at(ROOT / "showcase" / f"{kernel}.py")
    result = check_unit(unit, CheckOptions(certificate=True))
    return build_bundle(unit, result, "z3 0", ASSEMBLER, architectures)


@pytest.fixture
def key(tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """Makes a private and a public key file."""
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    def make(name: str) -> tuple[Path, Path]:
        private, files = Ed25519PrivateKey.generate(), (tmp_path / f"{name}.pem", tmp_path / f"{name}.pub")
        files[0].write_bytes(private.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
        files[1].write_bytes(private.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
        return files

    return make


# ------------------------------------------------------------------------------------------------- whole
def test_a_bundle_comes_back_as_it_was_written() -> None:
    bundle = built()
    again = read_bundle(bundle_bytes(bundle), "add.tvk")
    assert again == bundle
    assert again.certificate.symbol == "vector_add"
    assert again.parameter_types[:2] == ("tile<ptr<f32>>", "tile<i32>")
    assert list(again.cubins) == ["sm_90", "sm_120"]
    assert {Path(file).name for _, file, _, _ in again.lines} == {"vector_add.py"}


def test_the_same_kernel_gives_the_same_bytes() -> None:
    first = bundle_bytes(built())
    built.cache_clear()
    assert bundle_bytes(built()) == first


def test_a_bundle_is_an_archive_that_others_can_open() -> None:
    with zipfile.ZipFile(BytesIO(bundle_bytes(built()))) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["schema"] == "tileverify/bundle/1"
        assert manifest["members"]["kernel.tileirbc"] == hashlib.sha256(archive.read("kernel.tileirbc")).hexdigest()


# ----------------------------------------------------------------------------------------------- damaged
def test_no_byte_can_change() -> None:
    data = bundle_bytes(built())
    places = random.Random(5).sample(range(len(data)), 400)
    with zipfile.ZipFile(BytesIO(data)) as archive:
        places += [entry.header_offset + offset for entry in archive.infolist() for offset in range(0, 40, 3)]
    for place in [*places, *range(len(data) - 30, len(data))]:
        changed = bytearray(data)
        changed[place] ^= 1 << random.Random(place).randrange(8)
        with pytest.raises(BundleRefused, match="TV503"):
            read_bundle(bytes(changed), "add.tvk")


def test_no_byte_can_be_missing_or_added() -> None:
    data = bundle_bytes(built())
    for cut in [0, 1, 4, 30, len(data) // 2, len(data) - 22, len(data) - 1]:
        with pytest.raises(BundleRefused, match="TV503"):
            read_bundle(data[:cut], "add.tvk")
    for more in (data + b"\0", b"\0" + data, data + data):
        with pytest.raises(BundleRefused, match="TV503"):
            read_bundle(more, "add.tvk")


def members() -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(bundle_bytes(built()))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(change: Callable[[dict[str, bytes]], object]) -> bytes:
    """The bundle with its members changed and all hashes made right again, as somebody with intent would do."""
    content = members()
    manifest = json.loads(content["manifest.json"])
    change(content)
    names = [name for name in content if name not in ("manifest.json", "manifest.sha256")]
    manifest["members"] = {name: hashlib.sha256(content[name]).hexdigest() for name in names}
    content["manifest.json"] = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    content["manifest.sha256"] = f"{hashlib.sha256(content['manifest.json']).hexdigest()}\n".encode()
    return write_archive(content)


def test_rewriting_nothing_is_still_whole() -> None:
    assert read_bundle(rewritten(lambda content: None), "add.tvk") == built()


def test_bytecode_of_another_kernel_is_refused() -> None:
    other = built("softmax").bytecode
    with pytest.raises(BundleRefused, match="other bytecode"):
        read_bundle(rewritten(lambda content: content.update({"kernel.tileirbc": other})), "add.tvk")


def test_a_certificate_of_another_kernel_is_refused() -> None:
    other = built("softmax").certificate_text.encode()
    with pytest.raises(BundleRefused, match="other bytecode"):
        read_bundle(rewritten(lambda content: content.update({"certificate.tvcert.json": other})), "add.tvk")


def test_a_changed_certificate_is_refused() -> None:
    weaker = built().certificate_text.replace('"requires": []', '"requires": ["grid.x >= 1"]').encode()
    with pytest.raises(BundleRefused, match="certificate"):
        read_bundle(rewritten(lambda content: content.update({"certificate.tvcert.json": weaker})), "add.tvk")


def test_a_member_that_nobody_knows_is_refused() -> None:
    with pytest.raises(BundleRefused, match="TV503"):
        read_bundle(rewritten(lambda content: content.update({"extra": b"?"})), "add.tvk")


@pytest.mark.parametrize("field", ["contract", "kernel", "holds_for", "deterministic", "assumes", "entry"])
def test_a_manifest_that_tells_something_else_is_refused(field: str) -> None:
    content = members()
    manifest = json.loads(content["manifest.json"])
    del manifest[field]
    content["manifest.json"] = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    content["manifest.sha256"] = f"{hashlib.sha256(content['manifest.json']).hexdigest()}\n".encode()
    with pytest.raises(BundleRefused, match="TV503"):
        read_bundle(write_archive(content), "add.tvk")


def test_another_schema_is_named() -> None:
    content = members()
    content["manifest.json"] = content["manifest.json"].replace(b"bundle/1", b"bundle/0")
    with pytest.raises(BundleRefused, match=r"has the schema 'tileverify/bundle/0', this version reads"):
        read_bundle(write_archive(content), "add.tvk")


def test_a_compressed_archive_is_no_bundle() -> None:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b"0" * 10_000_000)
    with pytest.raises(BundleRefused, match="compressed"):
        read_bundle(target.getvalue(), "bomb.tvk")


# ----------------------------------------------------------------------------------------------- trusted
FOREIGN = b"\x7fELF of somebody else"


def with_foreign_cubin() -> Bundle:
    """And a certificate that says nothing of it, as somebody who makes such a bundle would write."""
    bundle = built()
    certificate = replace(bundle.certificate, compared_code=())
    cubins = {**bundle.cubins, "sm_90": Cubin("sm_90", "13.4.92", FOREIGN)}
    return replace(bundle, certificate=certificate, certificate_text=certificate_text(certificate), cubins=cubins)


def test_a_cubin_runs_if_the_assembler_makes_the_same() -> None:
    bundle = built()
    assert trusted_cubin(bundle, "sm_90", "add.tvk", assembler=ASSEMBLER) == bundle.cubins["sm_90"].code


def test_a_foreign_cubin_is_refused_however_right_its_hashes_are() -> None:
    bundle = read_bundle(bundle_bytes(with_foreign_cubin()), "add.tvk")
    with pytest.raises(BundleRefused, match=r"is not what tileiras 13\.4\.92 makes of the proved bytecode"):
        trusted_cubin(bundle, "sm_90", "add.tvk", assembler=ASSEMBLER)


def test_a_cubin_of_another_assembler_is_not_believed_but_made_again() -> None:
    newer = Pretended(Path("tileiras"), "13.5.1")
    code = trusted_cubin(with_foreign_cubin(), "sm_90", "add.tvk", assembler=newer)
    assert code == newer.assemble(built().bytecode, "sm_90")


def test_without_assembler_and_signature_nothing_runs() -> None:
    with pytest.raises(BundleRefused, match="not signed by a trusted key, and there is no tileiras"):
        trusted_cubin(built(), "sm_90", "add.tvk")


def test_a_trusted_signature_vouches_for_the_cubin(key: Callable[[str], tuple[Path, Path]]) -> None:
    private, public = key("ours")
    bundle = read_bundle(bundle_bytes(sign(with_foreign_cubin(), private)), "add.tvk")
    assert trusted_cubin(bundle, "sm_90", "add.tvk", keys=trusted_keys([public]), only_signed=True) == FOREIGN


def test_a_key_that_is_not_trusted_vouches_for_nothing(key: Callable[[str], tuple[Path, Path]]) -> None:
    theirs, _ = key("theirs")
    _, ours = key("ours")
    bundle = sign(with_foreign_cubin(), theirs)
    assert signer(bundle, trusted_keys([ours]), "add.tvk") is None
    with pytest.raises(BundleRefused, match="signed by a key that is not trusted here"):
        trusted_cubin(bundle, "sm_90", "add.tvk", keys=trusted_keys([ours]), only_signed=True, assembler=ASSEMBLER)
    with pytest.raises(BundleRefused, match="is not what tileiras"):
        trusted_cubin(bundle, "sm_90", "add.tvk", keys=trusted_keys([ours]), assembler=ASSEMBLER)


def test_a_signature_of_another_bundle_is_refused(key: Callable[[str], tuple[Path, Path]]) -> None:
    private, public = key("ours")
    moved = replace(with_foreign_cubin(), signature=sign(built(), private).signature)
    data = bundle_bytes(moved)
    with pytest.raises(BundleRefused, match="the signature is not one of this bundle"):
        signer(read_bundle(data, "add.tvk"), trusted_keys([public]), "add.tvk")


def test_an_unsigned_bundle_does_not_run_where_only_signed_ones_do() -> None:
    with pytest.raises(BundleRefused, match="signed by nobody"):
        trusted_cubin(built(), "sm_90", "add.tvk", only_signed=True, assembler=ASSEMBLER)


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_bad_key_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="openssl genpkey"):
        sign(built(), file)
    with pytest.raises(UsageError, match="openssl pkey"):
        trusted_keys([file])


# ---------------------------------------------------------------------------------------- the real thing
@pytest.mark.assembler("tileiras")
def test_the_assembler_makes_the_same_cubin_twice() -> None:
    assembler = find_assembler()
    bytecode = built().bytecode
    assert assembler.assemble(bytecode, "sm_90") == assembler.assemble(bytecode, "sm_90")
    with pytest.raises(AssemblyError, match="tileiras refused the bytecode for sm_90"):
        assembler.assemble(bytecode[:100], "sm_90")


def flash_attention() -> bytes:
    """Of this kernel ptxas makes two cubins for sm_100, by addresses of its own memory (13.4.92)."""
    units = discover([str(ROOT / "showcase" / "flash_attention.py")])
    return next(
        unit.bytecode for unit in units if isinstance(unit, KernelUnit) and unit.launch.name == "grouped-causal"
    )


@pytest.mark.assembler("tileiras")
def test_a_cubin_that_the_assembler_makes_now_and_then_is_found() -> None:
    bytecode = flash_attention()
    drawn = replace(find_assembler(), steady=False)
    made = {drawn.assemble(bytecode, "sm_100") for _ in range(6)}
    for cubin in made:
        again = find_assembler().assembled_as(bytecode, "sm_100", hashlib.sha256(cubin).hexdigest())
        assert again.cubin == cubin


@pytest.mark.assembler("tileiras")
@pytest.mark.skipif(not same_addresses(), reason="the system draws addresses")
def test_with_the_same_addresses_it_makes_one_cubin() -> None:
    bytecode = flash_attention()
    assert len({find_assembler().assemble(bytecode, "sm_100") for _ in range(5)}) == 1


SUMS = (
    """import cuda.tile as ct


"""
    + ADD_COLUMN_SUMS
)
SUMS_SPEC = """[[launch]]
kernel = "add_column_sums"
grid = ["cdiv(W, 64)"]
args = { x = "f32[16, W]", out = "f32[W]", M = 16, N = 64 }
"""


@pytest.mark.assembler("tileiras")
def test_the_very_cubin_of_the_assembler_does_not_run_where_it_differs(tmp_path: Path) -> None:
    """As somebody would build it with a version that compares nothing."""
    unit = unit_at(written(tmp_path, SUMS, SUMS_SPEC, "sums"))
    assembler = find_assembler()
    bundle = build_bundle(unit, check_unit(unit, CheckOptions(certificate=True)), "z3 0", None, [])
    cubin = Cubin("sm_90", assembler.version, assembler.assemble(unit.bytecode, "sm_90"))
    with pytest.raises(BundleRefused, match=r"does other than the bytecode that is proved.*TV503"):
        trusted_cubin(replace(bundle, cubins={"sm_90": cubin}), "sm_90", "sums.tvk", assembler=assembler)
