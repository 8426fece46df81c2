"""``recheck --strict``: the checker alone reads the bytecode."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.results import ComparedCode
from tileverify.verifier.certificate.files import write_certificates
from tileverify.verifier.certificate.model import certificate_text, read_certificate

from .proofs import certificates_of

pytest.importorskip("cvc5")

WITHOUT_EXECUTOR = """
import sys
for name in ("execute", "machine", "loops"):
    sys.modules["tileverify.frontend.symbolic." + name] = None
sys.modules["z3"] = None
from tileverify.commands.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("target", ["showcase/transpose.py", "protocols/tickets.py", "data/pages.py"])
def test_certificates_are_confirmed_without_executor_and_prover_s_solver(target: str, tmp_path: Path) -> None:
    write_certificates([written.result for written in certificates_of(target)], tmp_path)
    command = [sys.executable, "-c", WITHOUT_EXECUTOR, "recheck", "--strict", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout


def test_words_on_compiled_code_are_not_compared_without_the_executor(tmp_path: Path) -> None:
    (written,) = certificates_of("showcase/transpose.py")
    write_certificates([written.result], tmp_path)
    (file,) = tmp_path.glob("*.tvcert.json")
    code = ComparedCode("sm_90", "13.4.92", "compared at 2 launches", "proved for all launches", 2, "0" * 64, "0" * 64)
    file.write_text(certificate_text(replace(read_certificate(file.read_text(), ""), compared_code=(code,))))
    command = [sys.executable, "-c", WITHOUT_EXECUTOR, "recheck", "--strict", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (3, ""), ran.stdout
    assert "compiled: sm_90 (13.4.92), not compared again (it takes the prover's executor)" in ran.stdout
    assert "bytecode read by the checker's own rules" in ran.stdout


@pytest.fixture
def silent(tileverify: CommandLine) -> Path:
    """A certificate that says nothing of the accesses, so that the checker has nothing to hold against the bytecode."""
    (written,) = certificates_of("showcase/transpose.py")
    Path("proofs").mkdir()
    write_certificates([written.result], Path("proofs"))
    (file,) = Path("proofs").glob("*.tvcert.json")
    file.write_text(certificate_text(replace(read_certificate(file.read_text(), ""), reading=None)))
    return file


def test_what_the_checker_does_not_follow_is_not_confirmed(tileverify: CommandLine, silent: Path) -> None:
    ran = tileverify("recheck", "--strict", str(silent))
    assert ran.code == 3
    why = "the certificate does not say what the accesses are"
    assert f"not confirmed: the checker alone does not follow the bytecode: {why}" in ran.out
    assert "read by" not in ran.out
    assert "shared with the prover" not in ran.out
    assert tileverify("recheck", "--strict", "--allow-open", str(silent)).code == 0
    (row,) = json.loads(tileverify("recheck", "--strict", str(silent), "--format", "json").out)["certificates"]
    assert (row["answer"], row["derived"], row["read_by"]["by"]) == ("not confirmed", False, "nobody")


def test_the_executor_reads_it_otherwise(tileverify: CommandLine, silent: Path) -> None:
    ran = tileverify("recheck", str(silent))
    assert ran.code == 0
    assert "bytecode read by the prover's executor alone: the certificate does not say" in ran.out


def test_a_replay_needs_the_executor(tileverify: CommandLine, silent: Path) -> None:
    ran = tileverify("recheck", "--strict", "--replay", "3", str(silent))
    assert ran.code == 2
    assert "--strict and --replay exclude each other" in ran.err
