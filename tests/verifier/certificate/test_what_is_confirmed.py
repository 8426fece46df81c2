"""``recheck`` confirms a proof of bytecode under a contract, or nothing, and says which."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

from .proofs import certificates_of, forged

Json = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (written,) = certificates_of("showcase/transpose.py")
    folder = tmp_path / "proofs"
    folder.mkdir()
    (folder / "transpose.tvcert.json").write_text(written.text)
    (folder / "transpose.tileirbc").write_bytes(written.unit.bytecode)
    return folder


def forge(folder: Path, change: Callable[[Json], object]) -> None:
    path = folder / "transpose.tvcert.json"
    path.write_text(forged(path.read_text(), change))


def without_obligations(document: Json) -> None:
    for key in ("obligations", "questions", "lemmas", "places"):
        document[key] = []


def test_without_the_bytecode_nothing_is_confirmed(tileverify: CommandLine, folder: Path) -> None:
    (folder / "transpose.tileirbc").unlink()
    ran = tileverify("recheck", str(folder))
    assert ran.code == 3
    assert "not confirmed: not derived again from the bytecode, which is not at hand" in ran.out
    row = json.loads(tileverify("recheck", str(folder), "--format", "json").out)["certificates"][0]
    assert (row["answer"], row["derived"]) == ("not confirmed", False)
    assert "not at hand" in row["reason"]
    assert tileverify("recheck", str(folder), "--allow-open").code == 0


def test_a_certificate_of_nothing_confirms_nothing(tileverify: CommandLine, folder: Path) -> None:
    forge(folder, without_obligations)
    assert tileverify("recheck", str(folder)).code == 1, "the bytecode has obligations"
    (folder / "transpose.tileirbc").unlink()
    ran = tileverify("recheck", str(folder))
    assert ran.code == 3
    assert "1 certificate with 0 obligations" in ran.out


def test_a_kernel_without_obligations_is_not_confirmed(tileverify: CommandLine, tmp_path: Path) -> None:
    kernel = "import cuda.tile as ct\n\n@ct.kernel\ndef idle(x):\n    pass\n"
    Path("idle.py").write_text(kernel)
    Path("idle.tileverify.toml").write_text('[[launch]]\nkernel = "idle"\nargs = { x = "f32[N]" }\n')
    assert tileverify("check", "idle.py", "--certificate", "idle").code == 0
    ran = tileverify("recheck", "idle")
    assert ran.code == 3
    assert "there is nothing to confirm, as it has no obligations" in ran.out


@pytest.mark.parametrize("key", ["obligations", "questions", "places"])
def test_one_that_leaves_something_out_is_rejected(tileverify: CommandLine, folder: Path, key: str) -> None:
    forge(folder, lambda document: document[key].pop())
    assert tileverify("recheck", str(folder)).code == 1


def test_one_obligation_in_place_of_all(tileverify: CommandLine, folder: Path) -> None:
    forge(folder, lambda document: document.update(obligations=document["obligations"][:1]))
    ran = tileverify("recheck", str(folder))
    assert ran.code == 1
    assert "the obligations of the certificate are not those that the bytecode leads to" in ran.out


def test_the_contract_is_told(tileverify: CommandLine, folder: Path) -> None:
    ran = tileverify("recheck", str(folder))
    assert ran.code == 0
    digest = hashlib.sha256((folder / "transpose.tileirbc").read_bytes()).hexdigest()
    for part in (f"entry transpose, sha256 {digest}", "grid      (", "argument  x = f32[M, N]", "compiled in"):
        assert part in ran.out
    row = json.loads(tileverify("recheck", str(folder), "--format", "json").out)["certificates"][0]
    assert row["entry"] == "transpose"
    assert row["bytecode_sha256"] == digest
    assert row["contract"]["grid"] is not None
    assert row["contract"]["arguments"][0] == {"name": "x", "is": "f32[M, N]"}
    assert row["reason"] is None


def test_clauses_and_facts_are_told(tileverify: CommandLine, tmp_path: Path) -> None:
    written = next(each for each in certificates_of("race_free/scatter_permutation.py") if each.unit.launch.data)
    Path("scatter.tvcert.json").write_text(written.text)
    Path("scatter.tileirbc").write_bytes(written.unit.bytecode)
    out = tileverify("recheck", "scatter.tvcert.json").out
    assert "assumes   injective(target)" in out
    for clause in written.result.requires:
        assert clause in out


def test_the_kernel_is_the_entry(tileverify: CommandLine, folder: Path) -> None:
    forge(folder, lambda document: document.update(kernel="softmax"))
    ran = tileverify("recheck", str(folder))
    assert ran.code == 1
    assert "calls the kernel 'softmax', but the entry is 'transpose'" in ran.out


def test_the_file_is_the_certificates_own_word(tileverify: CommandLine, folder: Path) -> None:
    forge(folder, lambda document: document.update(file="trusted/kernels.py"))
    ran = tileverify("recheck", str(folder))
    assert ran.code == 0
    assert "told by the certificate, and not looked at: trusted/kernels.py" in ran.out
    row = json.loads(tileverify("recheck", str(folder), "--format", "json").out)["certificates"][0]
    assert row["told"] == ["file", "launch", "TILE_M", "TILE_N"]


def test_what_was_compiled_in_is_the_certificates_own_word(tileverify: CommandLine, folder: Path) -> None:
    """Bytecode has numbers, and does not say which of them a constant was."""

    def other_constant(document: Json) -> None:
        constant = next(each for each in document["launch"]["arguments"] if each["name"] == "TILE_M")
        constant["constant"] = 128

    forge(folder, other_constant)
    ran = tileverify("recheck", str(folder))
    assert "TILE_M = 128, compiled in" in ran.out
    assert "not looked at:" in ran.out
    assert "launch any-size, TILE_M, TILE_N" in ran.out
