"""What a bundle says of itself, by somebody with intent: nothing of it is believed but what a trusted key signed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode.decoder import semantic_sha256
from tileverify.frontend.sources.discover import discover
from tileverify.launching.bundle.build import build_bundle
from tileverify.launching.bundle.manifest import Bundle, BundleRefused, Signature, bundle_bytes
from tileverify.launching.bundle.trust import sign
from tileverify.launching.bundled import load
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.pipeline.unit_summary import solver_version
from tileverify.system.errors import UsageError
from tileverify.verifier.certificate.model import Certificate, certificate_text

KERNELS = """import cuda.tile as ct

@ct.kernel
def right(x, out):
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(64,)))

@ct.kernel
def racy(x, out):
    ct.store(out, index=(ct.bid(0) // 2,), tile=ct.load(x, index=(ct.bid(0),), shape=(64,)))
"""
SPEC = '[[launch]]\nkernel = "{}"\ngrid = ["cdiv(N, 64)"]\nargs = {{ x = "f32[N]", out = "f32[N]" }}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEVERIFY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@cache
def units(folder: Path) -> dict[str, KernelUnit]:
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "kernels.tileverify.toml").write_text(SPEC.format("right") + SPEC.format("racy"))
    found = [unit for unit in discover([str(folder / "kernels.py")]) if isinstance(unit, KernelUnit)]
    return {unit.kernel: unit for unit in found}


def honest(folder: Path) -> Bundle:
    unit = units(folder)["right"]
    return build_bundle(unit, check_unit(unit, CheckOptions(certificate=True)), solver_version(), None, ())


def with_certificate(
    bundle: Bundle, change: Callable[[Certificate], Certificate], bytecode: bytes | None = None
) -> Bundle:
    """``bundle`` with another certificate, all of whose hashes are right."""
    import hashlib

    code = bundle.bytecode if bytecode is None else bytecode
    certificate = replace(
        change(bundle.certificate),
        bytecode_sha256=hashlib.sha256(code).hexdigest(),
        semantic_sha256=semantic_sha256(code),
    )
    return replace(bundle, bytecode=code, certificate=certificate, certificate_text=certificate_text(certificate))


def racy_under_a_proof(folder: Path) -> Bundle:
    """The racy kernel with the certificate of the right one."""
    unit = units(folder)["racy"]
    return with_certificate(honest(folder), lambda c: replace(c, symbol=unit.symbol), unit.bytecode)


def grid_set_free(folder: Path) -> Bundle:
    """The right kernel under a contract that it is not right for: two blocks may have one row."""
    unit = units(folder)["racy"]
    launch = replace(unit.launch, grid=None)
    return with_certificate(honest(folder), lambda c: replace(c, launch=launch, symbol=unit.symbol), unit.bytecode)


def stride_compiled_in(folder: Path) -> Bundle:
    """A parameter that is said to be a number which the contract does not say."""

    def change(c: Certificate) -> Certificate:
        first, *rest = c.parameters
        size = replace(rest[0], static=64)
        return replace(c, parameters=(first, size, *rest[1:]))

    return with_certificate(honest(folder), change)


def no_obligations(folder: Path) -> Bundle:
    unit = units(folder)["racy"]
    return with_certificate(
        honest(folder),
        lambda c: replace(c, symbol=unit.symbol, obligations=(), questions=(), lemmas=(), places=()),
        unit.bytecode,
    )


CLAIMS = [racy_under_a_proof, grid_set_free, stride_compiled_in, no_obligations]


def written(bundle: Bundle, name: str = "bundle.tvk") -> str:
    Path(name).write_bytes(bundle_bytes(bundle))
    return name


def arrays() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(256, dtype=np.float32), np.zeros(256, np.float32)


@pytest.fixture
def keys(folder: Path) -> Callable[[str], tuple[Path, Path]]:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    def make(name: str) -> tuple[Path, Path]:
        private, files = Ed25519PrivateKey.generate(), (folder / f"{name}.pem", folder / f"{name}.pub")
        files[0].write_bytes(private.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
        files[1].write_bytes(private.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
        return files

    return make


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_a_claim_of_an_unsigned_bundle_is_proved_or_refused(folder: Path, claim: Callable[[Path], Bundle]) -> None:
    file = written(claim(folder))
    with pytest.raises(BundleRefused, match="TV503"):
        load(file)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_show_can_prove_it_again(folder: Path, claim: Callable[[Path], Bundle], tileverify: CommandLine) -> None:
    file = written(claim(folder))
    shown = tileverify("show", file)
    assert shown.code == 0
    assert "said to be proved" in shown.out
    assert "verified   nothing: all of this is the bundle's own word" in shown.out
    assert tileverify("show", file, "--prove").code == 1


def test_what_is_shown_of_the_contract_is_what_is_proved_and_guarded(folder: Path, tileverify: CommandLine) -> None:
    """The manifest says it, too, and nobody proves that."""
    bundle = honest(folder)
    forged = replace(bundle, contract=("any grid", "no conditions"), assumes=("nothing at all",), deterministic=True)
    honestly = tileverify("show", written(replace(bundle, deterministic=True)), "--prove").out
    assert tileverify("show", written(forged), "--prove").out == honestly
    assert "results    said to be the same in every run" in honestly
    shown = json.loads(tileverify("show", written(forged), "--prove", "--format", "json").out)
    assert "no conditions" not in shown["contract"]
    assert shown["assumes"] == []


def test_an_honest_bundle_is_proved_again_once(folder: Path, tileverify: CommandLine, monkeypatch: Any) -> None:
    file = written(honest(folder))
    x, out = arrays()
    load(file).launch(None, (4,), (x, out))
    assert np.array_equal(x, out)
    shown = tileverify("show", file, "--prove", "--format", "json")
    assert json.loads(shown.out)["verified"] is True
    assert json.loads(tileverify("show", file, "--format", "json").out)["verified"] is False
    monkeypatch.setattr("tileverify.verifier.certificate.write.prove_again", None)
    load(file)


def test_the_proof_can_be_trusted_by_word(folder: Path) -> None:
    x, out = arrays()
    load(written(racy_under_a_proof(folder)), trust_proof=True).launch(None, (4,), (x, out))


def test_a_machine_without_a_solver_needs_a_signature_or_the_word(folder: Path, monkeypatch: Any, keys: Any) -> None:
    private, public = keys("ours")
    file, signed = written(honest(folder)), written(sign(honest(folder), private), "signed.tvk")
    import sys

    for name in [name for name in sys.modules if name == "z3" or name.startswith("tileverify.verifier.smt")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "tileverify.verifier.certificate.write", raising=False)
    monkeypatch.delitem(sys.modules, "tileverify.verifier.obligations.derivation", raising=False)
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(UsageError, match=r"is not signed by a trusted key, .* trust_proof=True"):
        load(file)
    load(file, trust_proof=True)
    load(signed, keys=[public], only_signed=True)


def test_only_signed_bundles_run_on_the_host_too(folder: Path, keys: Any) -> None:
    private, public = keys("ours")
    _, other = keys("others")
    unsigned, signed = written(honest(folder)), written(sign(honest(folder), private), "signed.tvk")
    x, out = arrays()
    for file, trusted in ((unsigned, [public]), (unsigned, []), (signed, [other]), (signed, [])):
        with pytest.raises(BundleRefused, match="only signed bundles run here"):
            load(file, keys=trusted, only_signed=True)
    load(signed, keys=[public], only_signed=True).launch(None, (4,), (x, out))
    assert np.array_equal(x, out)


def test_a_wrong_signature_is_refused_wherever_it_is_seen(folder: Path, keys: Any, tileverify: CommandLine) -> None:
    private, public = keys("ours")
    bundle = sign(honest(folder), private)
    assert bundle.signature is not None
    wrong = written(replace(bundle, signature=Signature(bundle.signature.key, bytes(64))))
    for options in ({}, {"keys": [public]}, {"keys": [public], "only_signed": True}, {"trust_proof": True}):
        with pytest.raises(BundleRefused, match="the signature is not one of this bundle"):
            load(wrong, **options)
    assert tileverify("show", wrong).code == 1
    moved = written(replace(racy_under_a_proof(folder), signature=bundle.signature), "moved.tvk")
    with pytest.raises(BundleRefused, match="the signature is not one of this bundle"):
        load(moved, keys=[public])


def test_show_tells_whose_word_it_is(folder: Path, keys: Any, tileverify: CommandLine) -> None:
    private, public = keys("ours")
    file = written(sign(honest(folder), private))
    assert "whole, by a key that was not given as trusted" in tileverify("show", file).out
    trusted = tileverify("show", file, "--trust", str(public))
    assert "said to be" not in trusted.out
    assert f"by {public}" in trusted.out


def test_a_bundle_is_taken_out_into_its_folder(folder: Path, tileverify: CommandLine) -> None:
    for name in ("../../out", "/tmp/out", "..", "a/../../b", "CON", "x" * 3000):
        file = written(with_certificate(honest(folder), lambda c, name=name: replace(c, kernel=name)))  # type: ignore[misc]
        inside = folder / "deep" / "in" / "taken"
        before = {path for path in folder.rglob("*") if not path.is_relative_to(inside)}
        ran = tileverify("show", file, "--extract", str(inside))
        assert ran.code == 0, ran.err
        assert len(list(inside.iterdir())) == 2
        after = {path for path in folder.rglob("*") if not path.is_relative_to(inside)}
        assert after - before <= {folder / "deep", folder / "deep" / "in"}
        for each in inside.iterdir():
            each.unlink()


def test_build_writes_into_its_folder(folder: Path, tileverify: CommandLine) -> None:
    """Launches are named by specs, kernels of bytecode by whoever made it."""
    units(folder)
    spec = Path("kernels.tileverify.toml")
    spec.write_text(spec.read_text().replace('kernel = "right"', 'kernel = "right"\nname = "x/../../../out"'))
    built = folder / "deep" / "built"
    built.mkdir(parents=True)
    assert tileverify("build", "kernels.py::right", "-o", str(built), "--arch", "none").code == 0
    assert len(list(built.glob("*.tvk"))) == 1
    assert list(folder.rglob("*.tvk")) == list(built.glob("*.tvk"))


def test_the_report_of_what_is_not_built_has_lines(folder: Path, tileverify: CommandLine) -> None:
    units(folder)
    ran = tileverify("build", "kernels.py::racy", "--arch", "none")
    assert ran.code == 1
    assert "\\n" not in ran.err
    assert "\\x" not in ran.err
    assert len(ran.err.splitlines()) > 5
