"""Coq accepts the proofs, and none of the weakened ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import check_proofs
from tools.check_proofs import PROOFS, CannotCheck
from tools.proof_weakenings import WEAKENINGS, Weakening

OBLIGATIONS = ("TV101", "TV102", "TV103", "TV201", "TV202", "TV301", "TV302", "TV303", "TV401", "TV402")


@pytest.fixture(scope="session")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files, compiled."""
    folder = tmp_path_factory.mktemp("coq") / "proofs"
    check_proofs.report(check_proofs.check("coqc", folder))
    return folder


@pytest.mark.coq
@pytest.mark.slow
def test_no_theorem_rests_on_an_axiom(proved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_proofs.report(check_proofs.compiled("coqc", proved, "Assumptions.v").stdout)
    assert "race_free: Closed under the global context\n" in capsys.readouterr().out


@pytest.mark.coq
@pytest.mark.slow
@pytest.mark.parametrize("weakening", WEAKENINGS, ids=lambda each: each.name)
def test_the_theorem_needs_every_obligation(weakening: Weakening, proved: Path, tmp_path: Path) -> None:
    check_proofs.try_weakened("coqc", weakening, proved, tmp_path / "weakened")


@pytest.mark.parametrize("weakening", WEAKENINGS, ids=lambda each: each.name)
def test_weakenings_are_of_what_the_files_say(weakening: Weakening) -> None:
    assert check_proofs.weakened(weakening)
    # a file that cannot be compiled because of a slip in the weakened text would pass for one that cannot be proved
    assert weakening.fails != weakening.file


def test_every_obligation_is_weakened() -> None:
    tried = " ".join(weakening.name for weakening in WEAKENINGS)
    assert [code for code in OBLIGATIONS if code not in tried] == []
    stated = (PROOFS / "Obligations.v").read_text(encoding="utf-8")
    assert {*re.findall(r"Definition (TV\d+)", stated)} == {*OBLIGATIONS}


def test_the_page_lists_what_was_tried() -> None:
    page = (PROOFS / "README.md").read_text(encoding="utf-8")
    assert [weakening.name for weakening in WEAKENINGS if f"* {weakening.name};\n" not in page] == []


def small(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    """``text`` as the only file of proofs, and where to compile it."""
    (folder / "proofs").mkdir()
    (folder / "proofs" / "_CoqProject").write_text("-Q . TileVerify\nOnly.v\n")
    (folder / "proofs" / "Only.v").write_text(text)
    monkeypatch.setattr(check_proofs, "PROOFS", folder / "proofs")
    return folder / "compiled"


@pytest.mark.parametrize("given", ["Lemma l : False. Admitted.", "Axiom a : False.", "Parameter p : nat."])
def test_what_is_not_proved_is_refused(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotCheck, match=r"Only\.v says"):
        check_proofs.check("coqc", small(tmp_path, monkeypatch, given))


def test_a_file_that_is_not_checked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = small(tmp_path, monkeypatch, "")
    (tmp_path / "proofs" / "Left.v").write_text("")
    with pytest.raises(CannotCheck, match=r"does not name Left\.v"):
        check_proofs.check("coqc", scratch)


@pytest.mark.coq
def test_an_axiom_of_the_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "From Coq Require Import Classical.\nPrint Assumptions NNPP.\n"
    with pytest.raises(CannotCheck, match="rests on an axiom"):
        check_proofs.report(check_proofs.check("coqc", small(tmp_path, monkeypatch, text)))


@pytest.mark.coq
def test_a_weakening_that_can_be_proved_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = small(tmp_path, monkeypatch, "Lemma l : True. exact I. Qed.\n")
    check_proofs.check("coqc", scratch)
    harmless = Weakening("harmless", "Only.v", "exact I", "exact (I)", "Only.v")
    with pytest.raises(CannotCheck, match="can be proved all the same"):
        check_proofs.try_weakened("coqc", harmless, scratch, tmp_path / "weakened")
    elsewhere = Weakening("elsewhere", "Only.v", "True", "False", "Another.v")
    with pytest.raises(CannotCheck, match=r"Only\.v cannot be compiled"):
        check_proofs.try_weakened("coqc", elsewhere, scratch, tmp_path / "weakened")


def test_without_coq_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotCheck, match="apt-get install coq"):
        check_proofs.find_coqc(install=True)
