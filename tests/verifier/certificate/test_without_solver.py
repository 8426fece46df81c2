"""`recheck` needs no prover: it confirms certificates where z3 cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tileverify.results import CertificateFiles, ComparedCode
from tileverify.verifier import obligations
from tileverify.verifier.certificate.files import write_certificates
from tileverify.verifier.certificate.model import certificate_text, read_certificate

from .proofs import certificates_of

OBLIGATIONS = Path(obligations.__file__).parent
WITHOUT_Z3 = """
import sys
sys.modules["z3"] = None
from tileverify.commands.cli import main
sys.exit(main())
"""


WITHOUT_Z3_BUT_AN_ASSEMBLER = WITHOUT_Z3.replace(
    "sys.exit",
    """from types import SimpleNamespace
import tileverify.pipeline.second_readings as again
again.find_assembler = lambda: SimpleNamespace(version="13.4.92")
sys.exit""",
)


@pytest.mark.parametrize("target", ["showcase/vector_add.py", "protocols/tickets.py", "data/pages.py"])
def test_certificates_are_confirmed_without_the_prover_s_solver(target: str, tmp_path: Path) -> None:
    pytest.importorskip("cvc5")
    write_certificates([written.result for written in certificates_of(target)], tmp_path)
    ran = subprocess.run([sys.executable, "-c", WITHOUT_Z3, "recheck", str(tmp_path)], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert "confirmed" in ran.stdout


def test_no_rule_loads_the_solver() -> None:
    paths = (path.relative_to(OBLIGATIONS).with_suffix("") for path in OBLIGATIONS.rglob("*.py"))
    names = [".".join(path.parts).removesuffix("__init__").rstrip(".") for path in paths]
    imports = "; ".join(f"import tileverify.verifier.obligations.{name}".rstrip(".") for name in names)
    code = f"import sys; {imports}; import tileverify.verifier.certificate.recheck; assert 'z3' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_compiled_code_is_not_compared_again_without_it(tmp_path: Path) -> None:
    """Its footprints are proved by that solver: this is told, and nothing is confirmed."""
    pytest.importorskip("cvc5")
    (written,) = certificates_of("showcase/vector_add.py")
    code = ComparedCode("sm_90", "13.4.92", "compared at 2 launches", "proved for all launches", 2, "0" * 64, "1" * 64)
    text = certificate_text(replace(read_certificate(written.text, ""), compared_code=(code,)))
    certificate = CertificateFiles(text, written.unit.bytecode)
    write_certificates([replace(written.result, certificate=certificate)], tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_Z3_BUT_AN_ASSEMBLER, "recheck", str(tmp_path)], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (3, ""), ran.stdout
    assert "not compared again (the solver that proves its footprints is not here)" in ran.stdout
