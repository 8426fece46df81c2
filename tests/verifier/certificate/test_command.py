"""``check --certificate`` and ``recheck`` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.corpus import ROOT

from .proofs import certificates_of, forged

TRANSPOSE = str(ROOT / "showcase" / "transpose.py")
RACY = str(ROOT / "racy" / "permute_swapped.py")
NAME = "transpose.any-size"


@pytest.fixture
def certificate(tileverify: CommandLine) -> Path:
    ran = tileverify("check", TRANSPOSE, "--certificate", "proofs")
    assert ran.code == 0
    assert "1 certificate in proofs; check them with: tileverify recheck proofs" in ran.err
    return Path("proofs") / f"{NAME}.tvcert.json"


def test_proofs_are_written_with_their_bytecode_and_confirmed(tileverify: CommandLine, certificate: Path) -> None:
    assert certificate.with_name(f"{NAME}.tileirbc").is_file()
    ran = tileverify("recheck", "proofs")
    assert ran.code == 0
    assert "1 certificate with 6 obligations: 6 confirmed, 0 not confirmed, 0 rejected" in ran.out
    assert "not at hand" not in ran.out
    assert "cvc5" in ran.out


def test_a_cached_verdict_is_proved_again(tileverify: CommandLine) -> None:
    assert tileverify("check", TRANSPOSE).code == 0
    assert "1 certificate in proofs" in tileverify("check", TRANSPOSE, "--certificate", "proofs").err


def test_a_file_that_is_no_text_does_not_stop_the_others(tileverify: CommandLine, certificate: Path) -> None:
    (certificate.parent / "a.tvcert.json").write_bytes(b"\xff\xfe")
    ran = tileverify("recheck", "proofs")
    assert ran.code == 1
    assert "rejected       proofs/a.tvcert.json: it is no text, so it is no certificate" in ran.out
    assert "2 certificates with 6 obligations: 6 confirmed, 0 not confirmed, 0 rejected" in ran.out


def test_what_is_refuted_has_no_certificate(tileverify: CommandLine) -> None:
    ran = tileverify("check", RACY, "--certificate", "proofs")
    assert ran.code == 1
    assert "certificate" in ran.err
    assert not [path for path in Path("proofs").glob("*.json") if "as-many-tiles" in path.name]


def test_json(tileverify: CommandLine, certificate: Path) -> None:
    ran = tileverify("recheck", str(certificate), "--format", "json", "--output", "out.json")
    assert (ran.code, ran.out) == (0, "")
    document = json.loads(Path("out.json").read_text())
    assert document["schema"] == "tileverify/recheck/1"
    (row,) = document["certificates"]
    assert row["answer"] == "confirmed"
    assert row["derived"] is True
    assert {each["answer"] for each in row["obligations"]} == {"confirmed"}


def test_the_bytecode_may_stand_elsewhere_or_be_compiled(tileverify: CommandLine, certificate: Path) -> None:
    Path("proofs", f"{NAME}.tileirbc").rename("elsewhere")
    assert "not at hand" in tileverify("recheck", "proofs").out
    for place in ("elsewhere", TRANSPOSE):
        ran = tileverify("recheck", "proofs", "--bytecode", place)
        assert ran.code == 0
        assert "not at hand" not in ran.out


def test_other_bytecode_is_rejected(tileverify: CommandLine, certificate: Path) -> None:
    (other,) = certificates_of("showcase/vector_add.py")
    Path("proofs", f"{NAME}.tileirbc").write_bytes(other.unit.bytecode)
    ran = tileverify("recheck", "proofs")
    assert ran.code == 1
    assert "the bytecode is not what the certificate speaks of" in ran.out
    assert "1 certificate rejected as a whole" in ran.out


def test_a_forged_certificate_does_not_stop_the_others(tileverify: CommandLine, certificate: Path) -> None:
    text = forged(certificate.read_text(), lambda document: document["obligations"].pop())
    certificate.with_name("forged.tvcert.json").write_text(text)
    certificate.with_name("forged.tileirbc").write_bytes(certificate.with_name(f"{NAME}.tileirbc").read_bytes())
    ran = tileverify("recheck", "proofs")
    assert ran.code == 1
    assert "rejected" in ran.out
    assert "6 confirmed" in ran.out


def test_what_is_not_confirmed_is_counted(tileverify: CommandLine) -> None:
    (swizzle,) = certificates_of("showcase/matmul_swizzled.py")
    Path("swizzle").write_text(swizzle.text)
    ran = tileverify("recheck", "swizzle", "--limit", "1")
    assert ran.code == 3
    assert "not confirmed: TV" in ran.out
    assert ", 0 rejected" in ran.out
    assert tileverify("recheck", "swizzle", "--limit", "1", "--allow-open").code == 0


def test_scripts_can_be_read_by_any_solver(tileverify: CommandLine, certificate: Path) -> None:
    assert tileverify("recheck", str(certificate), "--scripts", "scripts").code == 0
    scripts = sorted(Path("scripts").glob("*.smt2"))
    assert scripts
    import cvc5  # noqa: TID251  as anybody would use it

    for path in scripts:
        solver = cvc5.Solver(cvc5.TermManager())
        parser = cvc5.InputParser(solver)
        parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(path))
        answers = []
        while not (command := parser.nextCommand()).isNull():
            answers.append(command.invoke(solver, parser.getSymbolManager()))
        assert answers[-1].strip() == "unsat"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "cannot read 'nowhere'"),
        (["empty"], "there is no certificate (*.tvcert.json) in 'empty'"),
        (["proofs", "proofs", "--bytecode", "x"], "are for one certificate"),
        (["proofs", "--bytecode", "nowhere.py"], "nowhere.py"),
        (["proofs", "--output", "nowhere/out"], "there is no folder"),
        (["proofs", "--scripts", "file/x"], "cannot write"),
    ],
)
def test_bad_usage_is_said_in_a_sentence(
    tileverify: CommandLine, certificate: Path, arguments: list[str], sentence: str
) -> None:
    Path("empty").mkdir()
    Path("file").write_text("")
    ran = tileverify("recheck", *arguments)
    assert ran.code == 2
    assert sentence in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_proved(tileverify: CommandLine) -> None:
    Path("file").write_text("")
    ran = tileverify("check", TRANSPOSE, "--certificate", "file")
    assert (ran.code, ran.out) == (2, "")
    assert "--certificate: cannot make the folder 'file'" in ran.err


def test_without_the_second_solver_the_extra_is_named(
    tileverify: CommandLine, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cvc5", None)
    ran = tileverify("recheck", "proofs")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.strip().endswith("install cvc5 with pip install 'tileverify[recheck]'")
    assert len(ran.err.strip().splitlines()) == 1


def test_help_loads_no_solver() -> None:
    program = (
        "import sys; from tileverify.commands import cli\n"
        "try: cli.command(['recheck', '--help'], prog_name='tileverify')\n"
        "except SystemExit: pass\n"
        "assert not {'z3', 'cvc5', 'numpy'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
