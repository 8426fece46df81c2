"""Arrays of addresses that Triton kernels load pointers from: described, decided, run, launched, with their errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import CommandLine

from tileverify import LaunchRefused, TileVerifyError, launch, load
from tileverify.corpus import TRITON

pytest.importorskip("triton", reason="kernels are compiled by Triton's frontend")

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, {more}n: tl.constexpr):\n"
FOLLOWED = (
    "    first = tl.load(x + {index}).to(tl.pointer_type(tl.{type}))\n    tl.store(first + tl.arange(0, n), 1.0)\n"
)
SCALE = TRITON / "grouped.py"


def write(body: str, args: str, lines: str = "", more: str = "") -> str:
    Path("kernels.py").write_text(HEAD.format(more=more) + body, encoding="utf-8")
    spec = f'[[launch]]\nkernel = "kernel"\ngrid = ["2"]\n{lines}\nargs = {{ {args}, n = 16 }}\n'
    Path("kernels.tileverify.toml").write_text(spec, encoding="utf-8")
    return "kernels.py"


def decided(tileverify: CommandLine, source: str) -> tuple[str, set[str]]:
    (result,) = json.loads(tileverify("check", source, "--format", "json").out)["results"]
    return result["verdict"], {finding["code"] for finding in result["findings"]}


TWO = 'x = { addresses = "f32[16]", length = 2 }'
OVERLAP = 'overlap = [["x"]]'


@pytest.mark.parametrize(
    ("index", "type", "args", "verdict", "codes"),
    [
        ("tl.program_id(0)", "float32", TWO, "proved", set()),
        ("tl.program_id(0) - 1", "float32", TWO, "refuted", {"TV302"}),
        ("tl.program_id(0) + 1", "float32", TWO, "refuted", {"TV302"}),
        ("tl.program_id(0) // 2", "float32", TWO, "refuted", {"TV101"}),
        ("tl.program_id(0)", "float64", TWO, "refuted", {"TV302"}),
        ("tl.program_id(0)", "float16", TWO, "proved", set()),
        ("tl.program_id(0)", "float32", TWO.replace("16", "15"), "refuted", {"TV302"}),
        ("tl.program_id(0)", "float32", TWO.replace("= 2", "= 1"), "refuted", {"TV302"}),
        ("tl.program_id(0)", "float32", 'x = "i64[2]"', "undecided", {"TV906"}),
    ],
)
def test_a_loaded_address_is_that_of_one_array(
    tileverify: CommandLine, index: str, type: str, args: str, verdict: str, codes: set[str]
) -> None:
    source = write(FOLLOWED.format(index=index, type=type), args)
    assert decided(tileverify, source) == (verdict, codes)


OFFSET = "    first = (tl.load(x + tl.program_id(0)) + {by}).to(tl.pointer_type(tl.float32))\n{store}"
STORE = "    tl.store(first + tl.arange(0, n), 1.0)\n"
THROUGH_MEMORY = (
    "    tl.store(y + tl.program_id(0), tl.load(x + tl.program_id(0)))\n    tl.debug_barrier()\n"
    "    first = tl.load(y + tl.program_id(0)).to(tl.pointer_type(tl.float32))\n"
)
HALF = "    first = tl.load(x.to(tl.pointer_type(tl.int32)) + 2).to(tl.int64).to(tl.pointer_type(tl.float32))\n"
LANES = "    tl.store(tl.load(x + tl.arange(0, 2)).to(tl.pointer_type(tl.float32)), 1.0)\n"
WRITTEN = "    tl.store(x + tl.program_id(0), tl.load(x))\n"
MASKED = "    first = tl.load(x + 1, mask=tl.program_id(0) < 1, other=0).to(tl.pointer_type(tl.float32))\n"


@pytest.mark.parametrize(
    ("body", "more", "lines", "verdict"),
    [
        (OFFSET.format(by=0, store=STORE), "", "", "proved"),
        (OFFSET.format(by=4, store=STORE), "", "", "refuted"),
        (THROUGH_MEMORY + STORE, 'y = "i64[2]"', "", "undecided"),
        (HALF + STORE, "", "", "undecided"),
        (LANES, "", "", "undecided"),
        (MASKED + STORE, "", "", "undecided"),
        (WRITTEN + FOLLOWED.format(index="tl.program_id(0)", type="float32"), "", "", "undecided"),
        (FOLLOWED.format(index="tl.program_id(0)", type="float32"), "", OVERLAP, "undecided"),
        (FOLLOWED.format(index="tl.load(y + tl.program_id(0))", type="float32"), 'y = "i32[2]"', "", "undecided"),
    ],
)
def test_what_is_no_address_of_one_array_is_not_decided(
    tileverify: CommandLine, body: str, more: str, lines: str, verdict: str
) -> None:
    source = write(body, f"{TWO}, {more}" if more else TWO, lines, "y, " if more else "")
    assert decided(tileverify, source)[0] == verdict


BEHIND = "    tl.store(y + tl.load(sizes + tl.program_id(0)) + {last}, 1.0)\n"
SIZED = 'x = {{ addresses = "f32[{size}]", length = {length} }}, sizes = "i32[{count}]", y = "f32[100]"'


@pytest.mark.parametrize(
    ("size", "lines"),
    [
        ("50", 'data = ["value_at(sizes, x.index, x.shape[0])"]'),
        ("N", 'requires = ["x.shape[0] < 100"]\ndata = ["value_at(sizes, x.index, x.shape[0])"]'),
        ("99", 'data = ["value_at(sizes, x.index, x.shape[0])"]'),
    ],
)
def test_a_size_is_known_of_arrays_of_the_list_alone(tileverify: CommandLine, size: str, lines: str) -> None:
    """The second program loads what stands behind the size of the one array: any number."""
    args = SIZED.format(size=size, length=1, count=2)
    source = write(BEHIND.format(last="0"), args, lines, "sizes, y, ")
    assert decided(tileverify, source)[0] == "undecided"
    one = Path("kernels.tileverify.toml").read_text(encoding="utf-8").replace('grid = ["2"]', 'grid = ["1"]')
    Path("kernels.tileverify.toml").write_text(one, encoding="utf-8")
    assert decided(tileverify, source)[0] == "proved"


@pytest.mark.parametrize(("high", "verdict"), [("x.shape[0]", "proved"), ("m", "refuted")])
def test_sizes_are_not_negative_and_other_numbers_may_be(tileverify: CommandLine, high: str, verdict: str) -> None:
    args = SIZED.format(size="N", length=1, count=1) + ', m = "i32"'
    lines = f'requires = ["{high} < 100"]\ndata = ["value_at(sizes, x.index, {high})"]'
    source = write(BEHIND.format(last="0"), args, lines, "sizes, y, m, ")
    one = Path("kernels.tileverify.toml").read_text(encoding="utf-8").replace('grid = ["2"]', 'grid = ["1"]')
    Path("kernels.tileverify.toml").write_text(one, encoding="utf-8")
    assert decided(tileverify, source)[0] == verdict


def test_a_table_without_the_element_is_no_launch(tileverify: CommandLine) -> None:
    data = 'data = ["value_at(sizes, x.index, x.shape[0])"]'
    source = write(BEHIND.format(last="0"), SIZED.format(size=50, length=2, count=1), data, "sizes, y, ")
    assert decided(tileverify, source) == ("error", {"TV004"})


@pytest.mark.parametrize(
    ("args", "lines", "told"),
    [
        ('x = { addresses = "f32[16]" }', "", 'the length of a list is missing, as in { addresses = "f32[M, N]"'),
        ('x = { addresses = "i32", length = 2 }', "", "'i32': the elements of a list are arrays"),
        ('x = { addresses = "f32[16]", list = "f32[16]", length = 2 }', "", "by 'list' or by 'addresses', not by both"),
        ('x = { list = "f32[16]", length = 2 }', "", "Triton has no lists; describe what it gets by 'addresses'"),
        (TWO, 'data = ["value_at(z, x.index, 1)"]', "'z' is not an array argument of this launch"),
        (TWO, 'data = ["value_at(x, 0)"]', "'value_at' takes 3 argument(s), 2 given"),
        (TWO, 'requires = ["x.index < 2"]', "the number of an array has a place in 'data' alone"),
    ],
)
def test_a_wrong_description_is_one_sentence(tileverify: CommandLine, args: str, lines: str, told: str) -> None:
    ran = tileverify("check", write(FOLLOWED.format(index=0, type="float32"), args, lines))
    assert ran.code == 2
    assert told in ran.out


def test_cutile_takes_no_addresses(tileverify: CommandLine) -> None:
    pytest.importorskip("cuda.tile")
    source = write("", TWO.replace("}, n = 16", "}"))
    Path(source).write_text("import cuda.tile as ct\n\n\n@ct.kernel\ndef kernel(x, n: ct.Constant[int]):\n    pass\n")
    ran = tileverify("check", source)
    assert ran.code == 2
    assert "cuTile takes no array of addresses; write args.x as a 'list'" in ran.out


def test_runs_follow_addresses_into_arrays_of_their_sizes(tileverify: CommandLine) -> None:
    ran = tileverify("run", f"{SCALE}::scale_each::any-arrays")
    assert ran.code == 0, ran.out
    ran = tileverify("run", f"{SCALE}::grouped_matmul::whole-blocks")
    assert ran.code == 0, ran.out
    assert "c[3]" in ran.out


def test_the_proof_is_kept_and_read_again(tileverify: CommandLine) -> None:
    assert tileverify("check", f"{SCALE}::scale_each::any-arrays", "--certificate", "proofs").code == 0
    ran = tileverify("recheck", "proofs")
    assert ran.out.startswith("confirmed"), ran.out
    (file,) = Path("proofs").glob("*.json")
    text = file.read_text(encoding="utf-8")
    assert '"addresses"' in text
    file.write_text(text.replace('"value_at(lengths, x.index, x.shape[0])"', '"range(lengths, 0, 100)"'))
    assert not tileverify("recheck", "proofs").out.startswith("confirmed")


def test_launches_are_held_against_sizes_and_arrays(tileverify: CommandLine) -> None:
    built = tileverify("build", f"{SCALE}::scale_each::any-arrays", "-o", "each.tvk", "--arch", "none")
    assert built.code == 0, built.out
    each = load("each.tvk")
    arrays = [np.ones(5, np.float32), np.ones(100, np.float32)]
    lengths = np.array([5, 100], np.int32)
    launch(None, (2,), each, (arrays, lengths, 64))
    assert all((array == 2).all() for array in arrays)
    with pytest.raises(TileVerifyError, match="is not 100"):
        launch(None, (2,), each, (arrays, np.array([5, 101], np.int32), 64))
    with pytest.raises(LaunchRefused, match=r"share|overlap"):
        launch(None, (2,), each, ([arrays[1], arrays[1]], np.array([100, 100], np.int32), 64))
    with pytest.raises(LaunchRefused):
        launch(None, (3,), each, (arrays, lengths, 64))
    with pytest.raises(TileVerifyError, match="list of arrays"):
        launch(None, (2,), each, (np.zeros(2, np.int64), lengths, 64))
