"""`recheck` needs no prover: it confirms certificates where z3 cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tileverify.verifier.rules as rules
from tileverify.verifier.certificate.files import write_certificates

from .proofs import certificates_of

RULES = Path(rules.__file__).parent
WITHOUT_Z3 = """
import sys
sys.modules["z3"] = None
from tileverify.commands.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("target", ["showcase/vector_add.py", "protocols/tickets.py", "data/pages.py"])
def test_certificates_are_confirmed_without_the_prover_s_solver(target: str, tmp_path: Path) -> None:
    pytest.importorskip("cvc5")
    write_certificates([written.result for written in certificates_of(target)], tmp_path)
    ran = subprocess.run([sys.executable, "-c", WITHOUT_Z3, "recheck", str(tmp_path)], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert "confirmed" in ran.stdout


def test_no_rule_loads_the_solver() -> None:
    modules = [".".join(("rules", *path.relative_to(RULES).with_suffix("").parts)) for path in RULES.rglob("*.py")]
    names = [module.removesuffix(".__init__") for module in modules]
    imports = "; ".join(f"import tileverify.verifier.{name}" for name in names)
    code = f"import sys; {imports}; import tileverify.verifier.certificate.recheck; assert 'z3' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
