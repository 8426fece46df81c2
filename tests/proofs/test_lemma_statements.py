"""The statements that Coq proves are printed from the schemas that the prover uses."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tools import check_proofs, coq_lemmas

from tileverify.contract.terms import TermKind
from tileverify.contract.terms.bits import WIDTH, number_of
from tileverify.verifier.obligations import smtlib
from tileverify.verifier.obligations.smtlib import SCHEMAS, Schema


def test_the_file_says_what_the_schemas_say() -> None:
    assert coq_lemmas.FILE.read_text(encoding="utf-8") == coq_lemmas.text(), "run python -m tools.coq_lemmas"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_that_says_something_else_is_another_statement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = SCHEMAS[name]
    before = coq_lemmas.text()
    for changed in (
        replace(schema, statement=f"(and {schema.statement} (= 1 1))"),
        replace(schema, identities=schema.identities[1:]),
    ):
        monkeypatch.setattr(coq_lemmas, "SCHEMAS", {**SCHEMAS, name: changed})
        assert coq_lemmas.text() != before


def test_the_meaning_of_products_is_printed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = coq_lemmas.text()
    monkeypatch.setattr(coq_lemmas, "EXACT", smtlib.EXACT.replace("(* x y)", "(+ x y)"))
    assert coq_lemmas.text() != before


def test_what_has_no_meaning_in_coq_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema(("x",), frozenset(), "(= {x} (mod {x} 3))", ())
    monkeypatch.setattr(coq_lemmas, "SCHEMAS", {"odd": schema})
    with pytest.raises(ValueError, match="no meaning"):
        coq_lemmas.text()


def test_every_statement_has_its_theorem() -> None:
    proofs = (check_proofs.PROOFS / "Lemmas.v").read_text(encoding="utf-8")
    proved = re.findall(r"^Theorem \w+ : (\w+)\.$", proofs, re.MULTILINE)
    assert proved == [*map(coq_lemmas.coq_name, SCHEMAS), "every_schema"]


OPERATIONS = {
    TermKind.BITAND: "bitand",
    TermKind.BITOR: "bitor",
    TermKind.BITXOR: "bitxor",
    TermKind.SHL: "shl",
    TermKind.SHR: "shr",
}
EDGE = 1 << (WIDTH - 1)
NUMBERS = (0, 5, -6, WIDTH - 1, WIDTH, EDGE - 1, -EDGE, 3 * EDGE + 7)


@pytest.mark.coq
def test_operations_on_words_mean_the_same_in_coq(tmp_path: Path) -> None:
    cases = [(kind, name, a, b) for kind, name in OPERATIONS.items() for a in NUMBERS for b in NUMBERS]
    computed = "; ".join(f"{name} {WIDTH} ({a}) ({b})" for _, name, a, b in cases)
    expected = "; ".join(f"({number_of(kind, a, b)})" for kind, _, a, b in cases)
    head = "From Coq Require Import ZArith List.\nFrom TileVerify Require Import Words.\nImport ListNotations.\n"
    goal = f"Open Scope Z_scope.\nGoal [{computed}] = [{expected}]. vm_compute. reflexivity. Qed.\n"
    (tmp_path / "Words.v").write_text((check_proofs.PROOFS / "Words.v").read_text(encoding="utf-8"))
    (tmp_path / "Numbers.v").write_text(head + goal)
    for name in ("Words.v", "Numbers.v"):
        done: subprocess.CompletedProcess[str] = check_proofs.compiled("coqc", tmp_path, name)
        assert done.returncode == 0, done.stderr
