"""`tileverify report`: opt-outs in sources, by whatever name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import CommandLine

PROGRAM = """
import tileverify
import tileverify as tv
from tileverify import unproved as trusted
from tileverify.launching import optouts

WHY = "a constant"

def run(kernels):
    with tileverify.unproved(reason="the vendor's kernel"):
        pass
    class Later:
        def go(self):
            with tv.unproved(reason=WHY), trusted(reason=f"{kernels}"):
                pass
    optouts.unproved(reason="by module")
    hand_on = trusted
    unproved(reason="somebody else's")
    other.unproved(reason="somebody else's")
"""


def test_every_opt_out_is_listed(tileverify: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "program.py").write_text(PROGRAM)
    (tmp_path / "clean.py").write_text("import tileverify\ntileverify.launch\n")
    ran = tileverify("report", str(tmp_path), "--format", "json")
    assert ran.code == 0
    found = [(each["line"], each["function"], each["reason"]) for each in json.loads(ran.out)]
    assert found == [
        (10, "run", "the vendor's kernel"),
        (14, "run.Later.go", "WHY"),
        (14, "run.Later.go", "f'{kernels}'"),
        (16, "run", "by module"),
        (17, "run", "handed on"),
    ]
    assert "5 opt-outs" in ran.err


def test_a_line_for_each(tileverify: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("from tileverify import *\nwith unproved(reason='x'):\n    pass\n")
    ran = tileverify("report", str(file))
    assert ran.out == f"{file}:2 in <module>: x\n"
    assert ran.code == 0
    assert tileverify("report", str(file), "--strict").code == 1


def test_nothing_to_list(tileverify: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import tileverify\n")
    ran = tileverify("report", str(tmp_path), "--strict")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize(("text", "said"), [(None, "there is no"), ("def (", "is no Python"), ("\0", "is no Python")])
def test_mistakes_are_one_sentence(tileverify: CommandLine, tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "program.py"
    if text is not None:
        file.write_text(text)
    ran = tileverify("report", str(file))
    assert ran.code == 2
    assert said in ran.err
