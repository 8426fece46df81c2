"""What certificates and bundles say of compiled code: it is compared again, and a forged word is found out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.column_sums import ADD_COLUMN_SUMS
from tests.command_line import CommandLine

from tileverify.backend.assembler import Assembled, Assembler, AssemblyError, find_assembler
from tileverify.commands.bundles import read_file
from tileverify.launching.bundle.manifest import Bundle, bundle_bytes
from tileverify.results import ComparedCode
from tileverify.verifier.certificate.model import certificate_text, read_certificate

from .proofs import Json, forged

KERNELS = (
    """import cuda.tile as ct


@ct.kernel
def scale(x, out, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(T,), padding_mode=ct.PaddingMode.ZERO) * 2.0)


"""
    + ADD_COLUMN_SUMS
)
SPEC = """[[launch]]
kernel = "scale"
grid = ["cdiv(N, 128)"]
args = { x = "f32[N]", out = "f32[N]", T = 128 }

[[launch]]
kernel = "add_column_sums"
grid = ["cdiv(W, 64)"]
args = { x = "f32[16, W]", out = "f32[W]", M = 16, N = 64 }
"""
SCALE = Path("proofs", "scale.0.tvcert.json")
SUMS = Path("proofs", "add_column_sums.0.tvcert.json")
FORGERIES: dict[str, Callable[[Json], object]] = {
    "more launches": lambda code: code.update(said="compared at 3 launches", launches=3),
    "a proof that is none": lambda code: code.update(footprints="not proved for all launches (it was not asked)"),
    "another text": lambda code: code.update(ptx_sha256="0" * 64),
    "another cubin": lambda code: code.update(cubin_sha256="0" * 64),
    "a number alone": lambda code: code.update(launches=7),
}


class Pretended(Assembler):
    """An assembler whose PTX is not seen."""

    @property
    def version(self) -> str:
        return "13.4.92"

    def assembled(self, bytecode: bytes, architecture: str) -> Assembled:
        return Assembled(b"\x7fELF" + hashlib.sha256(bytecode).digest(), None, None)


@pytest.fixture
def kernels(tileverify: CommandLine) -> Path:
    file = Path("kernels.py")
    file.write_text(KERNELS)
    file.with_suffix(".tileverify.toml").write_text(SPEC)
    return file


@pytest.fixture
def certified(kernels: Path, tileverify: CommandLine) -> None:
    ran = tileverify("check", str(kernels), "--compiled", "sm_90", "--certificate", "proofs", "--no-repair")
    assert ran.code == 0, ran.err


def changed(file: Path, change: Callable[[Json], object], number: int = 0) -> None:
    """The certificate with other words on code, and a digest that fits."""
    file.write_text(forged(file.read_text(), lambda document: change(document["compared_code"][number])))


# ------------------------------------------------------------------------------------- without tileiras
@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileverify.pipeline.second_readings.find_assembler", lambda: Pretended(Path("tileiras")))
    monkeypatch.setattr("tileverify.commands.check.architectures", tuple)


def test_a_certificate_says_what_was_seen_of_code(pretended: None, certified: None, tileverify: CommandLine) -> None:
    (code,) = read_certificate(SCALE.read_text(), "").compared_code
    assert (code.architecture, code.assembler, code.launches) == ("sm_90", "13.4.92", 0)
    assert code.said == "not looked at (the assembler's PTX was not seen)"
    ran = tileverify("recheck", "proofs")
    assert ran.code == 0
    assert f"compiled: sm_90 (13.4.92), compared again: {code.outcome}" in ran.out


def test_without_the_assembler_it_is_not_confirmed(
    pretended: None, certified: None, tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_here() -> Assembler:
        raise AssemblyError("there is no tileiras here")

    monkeypatch.setattr("tileverify.pipeline.second_readings.find_assembler", none_here)
    ran = tileverify("recheck", str(SCALE))
    assert ran.code == 3
    assert "not confirmed  proofs/scale.0.tvcert.json" in ran.out
    assert "compiled: sm_90 (13.4.92), not compared again (there is no tileiras here); the certificate says" in ran.out
    assert tileverify("recheck", str(SCALE), "--allow-open").code == 0
    document = json.loads(tileverify("recheck", str(SCALE), "--format", "json").out)
    (code,) = document["certificates"][0]["compiled"]
    assert (code["answer"], code["reason"]) == ("not confirmed", "there is no tileiras here")


def test_another_assembler_confirms_nothing(pretended: None, certified: None, tileverify: CommandLine) -> None:
    changed(SCALE, lambda code: code.update(assembler="13.9.1"))
    ran = tileverify("recheck", str(SCALE))
    assert ran.code == 3
    assert "tileiras 13.9.1 made the cubin, and 13.4.92 is here" in ran.out


def test_certificates_of_no_code_are_confirmed_as_before(kernels: Path, tileverify: CommandLine) -> None:
    assert tileverify("check", f"{kernels}::scale", "--certificate", "proofs").code == 0
    text = SCALE.read_text()
    assert "compared_code" not in json.loads(text)
    assert certificate_text(read_certificate(text, "")) == text
    ran = tileverify("recheck", str(SCALE))
    assert (ran.code, "compiled:" in ran.out) == (0, False)


# ---------------------------------------------------------------------------------------- with tileiras
@pytest.mark.assembler("tileiras")
def test_it_is_compared_again(certified: None, tileverify: CommandLine) -> None:
    ran = tileverify("recheck", "proofs")
    assert ran.code == 0, ran.out
    assert "compared again: compared at 2 launches; footprints proved for all launches" in ran.out
    assert "compared again: differs from the bytecode" in ran.out


@pytest.mark.assembler("tileiras")
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_word_is_rejected(forgery: str, certified: None, tileverify: CommandLine) -> None:
    changed(SCALE, FORGERIES[forgery])
    ran = tileverify("recheck", str(SCALE))
    assert ran.code == 1
    assert "rejected       proofs/scale.0.tvcert.json" in ran.out


@pytest.mark.assembler("tileiras")
def test_code_that_differs_is_not_made_equal_by_words(certified: None, tileverify: CommandLine) -> None:
    equal = read_certificate(SCALE.read_text(), "").compared_code[0]
    changed(SUMS, lambda code: code.update(said=equal.said, footprints=equal.footprints, launches=equal.launches))
    ran = tileverify("recheck", str(SUMS))
    assert ran.code == 1
    assert "compared again, it is: differs from the bytecode" in ran.out


@pytest.mark.assembler("tileiras")
def test_a_true_word_hides_no_false_one_on_the_same_code(certified: None, tileverify: CommandLine) -> None:
    def said_twice(document: Json) -> None:
        (true,) = document["compared_code"]
        document["compared_code"] = [{**true, "said": "compared at 3 launches", "launches": 3}, true]

    SCALE.write_text(forged(SCALE.read_text(), said_twice))
    ran = tileverify("recheck", str(SCALE))
    assert ran.code != 0
    assert "confirmed      proofs/scale.0.tvcert.json" not in ran.out


@pytest.mark.assembler("tileiras")
def test_a_certificate_of_another_tool_is_compared_all_the_same(certified: None, tileverify: CommandLine) -> None:
    """It may have compared otherwise, but never does what it says of code that differs pass."""
    SCALE.write_text(forged(SCALE.read_text(), lambda document: document["tool"].update(version="9.9.9")))
    assert tileverify("recheck", str(SCALE)).code == 0
    changed(SCALE, FORGERIES["more launches"])
    ran = tileverify("recheck", str(SCALE))
    assert ran.code == 3
    assert "finds: compared at 2 launches; footprints proved for all launches" in ran.out
    SUMS.write_text(forged(SUMS.read_text(), lambda document: document["tool"].update(version="9.9.9")))
    changed(SUMS, lambda code: code.update(said="compared at 2 launches", launches=2))
    assert tileverify("recheck", str(SUMS)).code == 1


@pytest.fixture
def bundle(kernels: Path, tileverify: CommandLine) -> Bundle:
    ran = tileverify("build", f"{kernels}::scale", "--arch", "sm_90", "-o", "scale.tvk")
    assert ran.code == 0, ran.err
    return read_file(Path("scale.tvk"))


def with_words(bundle: Bundle, *codes: ComparedCode) -> Bundle:
    """The bundle with these words on code in its certificate, which has a digest that fits."""
    certificate = replace(bundle.certificate, compared_code=codes)
    return replace(bundle, certificate=certificate, certificate_text=certificate_text(certificate))


def rechecked(bundle: Bundle, tileverify: CommandLine) -> tuple[int, str]:
    Path("forged.tvk").write_bytes(bundle_bytes(bundle))
    ran = tileverify("recheck", "forged.tvk")
    return ran.code, ran.out


@pytest.mark.assembler("tileiras")
def test_a_bundle_is_compared_again(bundle: Bundle, tileverify: CommandLine) -> None:
    code, out = rechecked(bundle, tileverify)
    assert code == 0, out
    outcome = "compared at 2 launches; footprints proved for all launches"
    assert f"compiled: sm_90 ({find_assembler().version}), compared again: {outcome}" in out
    assert f"compiled: {outcome}" in tileverify("show", "forged.tvk").out
    assert tileverify("show", "forged.tvk", "--extract", "taken").code == 0
    assert "compared again: compared at 2 launches" in tileverify("recheck", "taken").out


@pytest.mark.assembler("tileiras")
def test_a_forged_bundle_is_rejected(bundle: Bundle, tileverify: CommandLine) -> None:
    cubin, (code,) = bundle.cubins["sm_90"], bundle.certificate.compared_code
    other = replace(cubin, code=cubin.code[:-1] + bytes([cubin.code[-1] ^ 1]))
    said = "compared at 9 launches; footprints proved for all launches"
    of_others = hashlib.sha256(other.code).hexdigest()
    refused = {
        "a cubin": replace(bundle, cubins={"sm_90": other}),
        "the manifest's word": replace(bundle, cubins={"sm_90": replace(cubin, compiled=said)}),
        "the manifest's hash": replace(bundle, cubins={"sm_90": replace(cubin, ptx_sha256="0" * 64)}),
        "the certificate's word": with_words(bundle, replace(code, said="compared at 9 launches")),
        "no cubin": replace(bundle, cubins={}),
        "a cubin, and its hash": replace(
            with_words(bundle, replace(code, cubin_sha256=of_others)), cubins={"sm_90": other}
        ),
        "both words": replace(
            with_words(bundle, replace(code, said="compared at 9 launches")),
            cubins={"sm_90": replace(cubin, compiled=said)},
        ),
    }
    for what, forgery in refused.items():
        ended, out = rechecked(forgery, tileverify)
        assert ended == 1, (what, out)
        assert "rejected" in out


@pytest.mark.assembler("tileiras")
def test_a_bundle_whose_certificate_says_nothing_is_not_confirmed(bundle: Bundle, tileverify: CommandLine) -> None:
    """As those of earlier versions are."""
    code, out = rechecked(with_words(bundle), tileverify)
    assert code == 3
    assert "compiled: sm_90, not compared again (the certificate says nothing of this cubin)" in out
