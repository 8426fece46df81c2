"""``build`` and ``show`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import CommandLine

from tileverify.corpus import ROOT
from tileverify.system.version import __version__

ADD = f"{ROOT / 'showcase' / 'vector_add.py'}::vector_add"
AXPY = str(ROOT / "race_free" / "axpy.py")
RACY = str(ROOT / "racy" / "permute_swapped.py")


def test_a_proved_kernel_is_built_and_shown(tileverify: CommandLine) -> None:
    ran = tileverify("build", ADD, "-o", "add.tvk", "--arch", "none")
    assert (ran.code, ran.out) == (0, "")
    assert "add.tvk: proved and built; look at it with: tileverify show add.tvk" in ran.err
    shown = tileverify("show", "add.tvk")
    assert shown.code == 0
    for part in (
        "add.tvk: vector_add [any-size]",
        "proved for any launch within the contract",
        "contract   grid = (cdiv(N, 1024))",
        "tile<i32>: stride[0] of out = 1, compiled in",
        "cubins     none: it is assembled where it runs",
        "signature  none",
    ):
        assert part in shown.out
    described = json.loads(tileverify("show", "add.tvk", "--format", "json").out)
    assert (described["schema"], described["kernel"], described["signed"]) == (
        "tileverify/bundle/1",
        "vector_add",
        False,
    )


def test_the_file_is_named_after_the_kernel(tileverify: CommandLine) -> None:
    assert tileverify("build", ADD, "--arch", "none").code == 0
    assert Path("vector_add.tvk").is_file()


@pytest.mark.assembler("tileiras")
def test_cubins_are_assembled_and_compared(tileverify: CommandLine) -> None:
    assert tileverify("build", ADD, "-o", "add.tvk", "--arch", "sm_90").code == 0
    shown = tileverify("show", "add.tvk", "--assemble")
    assert shown.code == 0
    assert "sm_90" in shown.out


def test_a_refuted_kernel_is_not_built(tileverify: CommandLine) -> None:
    ran = tileverify("build", f"{RACY}::permute_swapped::any-batch", "-o", "racy.tvk", "--arch", "none")
    assert ran.code == 1
    assert "TV101" in ran.err
    assert "permute_swapped [any-batch] is refuted: no bundle of it was written" in ran.err
    assert f"checked with tileverify {__version__} and z3 " in ran.err
    assert not list(Path().glob("*.tvk"))


def test_several_launches_need_a_folder_or_a_name(tileverify: CommandLine) -> None:
    ran = tileverify("build", AXPY, "--arch", "none")
    assert ran.code == 2
    assert "there are 2 launches (axpy::any-size, axpy::one-million): name one, or give -o a folder" in ran.err
    assert tileverify("build", AXPY, "--arch", "none", "-o", "built").code == 0
    assert {file.name for file in Path("built").iterdir()} == {"axpy.any-size.tvk", "axpy.one-million.tvk"}
    assert tileverify("build", f"{AXPY}::axpy::any-size", "--arch", "none", "-o", "one.tvk").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", ADD, "--arch", "sm_42"), "--arch: 'sm_42' is not one of sm_80"),
        (("build", ADD, "--arch", "none", "-o", "nowhere/add.tvk"), "there is no folder 'nowhere'"),
        (("build", ADD, "--arch", "none", "--sign", "key.pem"), "cannot read the key 'key.pem'"),
        (("show", "add.tvk"), "cannot read 'add.tvk'"),
        (("show", "."), "cannot read '.'"),
    ],
)
def test_mistakes_are_one_sentence(tileverify: CommandLine, words: tuple[str, ...], said: str) -> None:
    ran = tileverify(*words)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not list(Path().glob("*.tvk"))


def test_a_damaged_bundle_is_refused(tileverify: CommandLine) -> None:
    tileverify("build", ADD, "-o", "add.tvk", "--arch", "none")
    data = bytearray(Path("add.tvk").read_bytes())
    data[len(data) // 2] ^= 1
    Path("add.tvk").write_bytes(data)
    ran = tileverify("show", "add.tvk")
    assert ran.code == 1
    assert "TV503" in ran.err


def test_what_a_bundle_holds_can_be_taken_out_and_rechecked(tileverify: CommandLine) -> None:
    tileverify("build", ADD, "-o", "add.tvk", "--arch", "none")
    assert tileverify("show", "add.tvk", "--extract", "out").code == 0
    assert {file.name for file in Path("out").iterdir()} == {"vector_add.tileirbc", "vector_add.tvcert.json"}
    assert tileverify("recheck", "out").code == 0
