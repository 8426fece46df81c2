"""``recheck --replay`` and ``check --audit`` on the command line, also of proofs that a run contradicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import CommandLine

from tileverify.contract.terms import ONE, sub
from tileverify.corpus import ROOT
from tileverify.frontend.symbolic import pointers
from tileverify.frontend.symbolic.summary import ViewFootprint

from .proofs import forged

TRANSPOSE = str(ROOT / "showcase" / "transpose.py")


@pytest.fixture
def misread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The symbolic executor takes each tile to lie one element to the front, which no question of the proof shows."""
    plain = pointers.footprint

    def moved(*args: Any) -> ViewFootprint:
        place = plain(*args)
        return replace(place, coordinates=tuple(sub(coordinate, ONE) for coordinate in place.coordinates))

    monkeypatch.setattr(pointers, "footprint", moved)


def test_a_proof_is_replayed(tileverify: CommandLine) -> None:
    assert tileverify("check", TRANSPOSE, "--certificate", "proofs").code == 0
    ran = tileverify("recheck", "proofs", "--replay", "6")
    assert ran.code == 0
    assert "replayed: 6 launches: " in ran.out
    assert "compared, all as the proof says" in ran.out
    assert "accesses: 0 disagreements" in ran.out


def test_json_of_a_replay(tileverify: CommandLine) -> None:
    assert tileverify("check", TRANSPOSE, "--certificate", "proofs").code == 0
    (row,) = json.loads(tileverify("recheck", "proofs", "--replay", "6", "--format", "json").out)["certificates"]
    reading = row["second_reading"]
    assert (reading["asked"], reading["launches"], reading["disagreement"]) == (6, 6, None)
    assert reading["accesses"] == 2 * reading["blocks"] > 0
    (row,) = json.loads(tileverify("recheck", "proofs", "--format", "json").out)["certificates"]
    assert "second_reading" not in row


def test_without_bytecode_nothing_is_replayed(tileverify: CommandLine) -> None:
    assert tileverify("check", TRANSPOSE, "--certificate", "proofs").code == 0
    for file in Path("proofs").glob("*.tileirbc"):
        file.unlink()
    ran = tileverify("recheck", "proofs", "--replay", "6")
    assert ran.code == 3
    assert "replayed" not in ran.out


def test_a_contradicted_certificate_is_rejected(tileverify: CommandLine, misread: None) -> None:
    assert tileverify("check", TRANSPOSE, "--certificate", "proofs").code == 0
    (file,) = Path("proofs").glob("*.json")
    file.write_text(forged(file.read_text(), lambda document: document.pop("reading")))
    assert tileverify("recheck", "proofs").code == 0
    ran = tileverify("recheck", "proofs", "--replay", "6")
    assert ran.code == 1
    assert ran.out.startswith("rejected")
    assert "replayed: disagreement: " in ran.out
    assert "transpose.py:" in ran.out
    assert "accesses: 1 disagreement" in ran.out


def test_the_checker_needs_no_run_to_contradict_it(tileverify: CommandLine, misread: None) -> None:
    assert tileverify("check", TRANSPOSE, "--certificate", "proofs").code == 0
    ran = tileverify("recheck", "proofs")
    assert ran.code == 1
    assert "its coordinates is not what is said of it" in ran.out


def test_an_audited_proof(tileverify: CommandLine) -> None:
    ran = tileverify("check", TRANSPOSE, "--audit")
    assert ran.code == 0
    assert "audited    50 launches: " in ran.out
    (result,) = json.loads(tileverify("check", TRANSPOSE, "--audit", "--format", "json").out)["results"]
    assert result["second_reading"]["launches"] == 50
    assert result["second_reading"]["not_compared"] == {}


def test_what_was_not_asked_for_is_not_told_from_the_cache(tileverify: CommandLine) -> None:
    assert tileverify("check", TRANSPOSE, "--audit").code == 0
    ran = tileverify("check", TRANSPOSE)
    assert ran.code == 0
    assert "audited" not in ran.out


def test_a_contradicted_proof_is_withdrawn(tileverify: CommandLine, misread: None) -> None:
    assert tileverify("check", TRANSPOSE, "--no-cache").code == 0
    ran = tileverify("check", TRANSPOSE, "--audit", "--certificate", "proofs", "--format", "json")
    assert ran.code == 2
    (result,) = json.loads(ran.out)["results"]
    assert result["verdict"] == "error"
    (finding,) = result["findings"]
    assert finding["code"] == "TV005"
    assert "a second reading contradicts it" in finding["message"]
    assert not list(Path("proofs").glob("*.json"))
    assert result["second_reading"]["disagreement"] in finding["message"]


def test_a_contradicted_proof_is_not_kept(tileverify: CommandLine, misread: None) -> None:
    assert tileverify("check", TRANSPOSE, "--audit").code == 2
    ran = tileverify("check", TRANSPOSE)
    assert "from the cache" not in ran.out
