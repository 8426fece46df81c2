"""A certificate under a contract that nobody can keep is rejected, whatever its proofs are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.written_kernel import judged, unit_at

import tileverify.verifier.own_proof as prover
from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope
from tileverify.pipeline import CheckOptions
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Verdict
from tileverify.verifier.certificate.model import Certificate, CertificateError
from tileverify.verifier.certificate.recheck import recheck
from tileverify.verifier.certificate.scripts import possibility_script
from tileverify.verifier.certificate.second_solver import Opinion, SecondSolver
from tileverify.verifier.obligations.smtlib import Vocabulary

pytest.importorskip("cvc5")

KERNEL = """
import cuda.tile as ct

@ct.kernel
def put(idx, out):
    place = ct.load(idx, index=(ct.bid(0),), shape=(1,)).item()
    ct.store(out, index=(place,), tile=ct.zeros((1,), dtype=ct.int32))
"""


@pytest.mark.parametrize(
    ("args", "facts", "told"),
    [
        ("i32[N]", ["range(idx, 5, 5)", "injective(idx)"], "no launch satisfies"),
        ("i32[N]", ["range(idx, 0, 3)", "range(idx, 3, 6)", "injective(idx)"], "no launch satisfies"),
        ("i32[N]", ["permutation(idx)", "multiples(idx, 2)", "range(idx, 2, 9)"], "no launch satisfies"),
        ("i32[N, 4; strides=(ld, ld)]", ["injective(idx)", "range(idx, 0, 16)"], "no launch satisfies"),
    ],
)
def test_a_contract_that_nobody_can_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: str, facts: list[str], told: str
) -> None:
    """The prover of old, which did not look at data facts and named strides, is asked to write it."""
    source = tmp_path / "kernel.py"
    source.write_text(
        KERNEL if "," not in args else KERNEL.replace("(ct.bid(0),), shape=(1,)", "(ct.bid(0), 0), shape=(1, 1)")
    )
    said = ", ".join(f'"{fact}"' for fact in facts)
    spec = f'[[launch]]\nkernel = "put"\ngrid = ["N"]\ndata = [{said}]\n'
    (tmp_path / "kernel.tileverify.toml").write_text(
        f'{spec}requires = ["N >= 2"]\nargs = {{ idx = "{args}", out = "i32[16]" }}\n'
    )
    unit = unit_at(source)
    assert check_unit(unit).findings[0].code == "TV004"
    monkeypatch.setattr(prover, "promises", lambda contract: ())
    monkeypatch.setattr(prover, "elements", lambda contract: {})
    monkeypatch.setattr(prover, "idle", lambda *_: False)
    result = check_unit(unit, CheckOptions(certificate=True))
    assert result.verdict is Verdict.PROVED
    assert result.certificate is not None
    for bytecode in (None, unit.bytecode):
        with pytest.raises(CertificateError, match=told):
            recheck(result.certificate.text, "put.tvcert.json", bytecode=bytecode, solver=SecondSolver())


def test_one_that_somebody_can_keep_is_confirmed(tmp_path: Path) -> None:
    spec = 'kernel = "put"\ngrid = ["N"]\ndata = ["injective(idx)", "range(idx, 0, M)"]\n'
    result = judged(tmp_path, KERNEL, f'{spec}args = {{ idx = "i32[N]", out = "i32[M]" }}')
    assert result.verdict is Verdict.PROVED


def test_an_array_that_is_counted_in_a_row_and_along_its_axes() -> None:
    """A kernel with plain pointers counts the elements of a matrix in a row; what facts promise has both axes."""
    element = Function("a", Scope.LAUNCH, 0, 7, array="a")
    in_a_row, promised = Vocabulary(), Vocabulary()
    facts = [in_a_row.write(t.le(t.ONE, t.apply(element, t.const(3))))]
    certificate = SimpleNamespace(facts=facts, symbols=in_a_row.symbols, definitions=in_a_row.definitions)
    wanted = [promised.write(t.le(t.apply(element, t.ZERO, t.ONE), t.ONE))]
    script = possibility_script(cast(Certificate, certificate), promised, 0, wanted)
    assert SecondSolver().opinion(script) is Opinion.MODEL
