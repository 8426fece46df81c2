"""Repairs of compiled code that differs: nothing is offered that was not proved, assembled and compared equal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from tests.column_sums import ADD_COLUMN_SUMS, ADD_COLUMN_SUMS_REVERSED
from tests.command_line import CommandLine
from tests.written_kernel import unit_at

from tileverify.contract.expressions import print_expression
from tileverify.contract.launch import ConstantArgument, KernelUnit
from tileverify.pipeline.options import CheckOptions
from tileverify.pipeline.repair.catalogue import ADVICE
from tileverify.pipeline.repair.fixing import fixed, judge_of
from tileverify.pipeline.repair.kernel_source import KernelSource, edited
from tileverify.pipeline.repair.proposals import proposals
from tileverify.pipeline.repair.repairing import OtherTiles, compared_equal, other_launches
from tileverify.pipeline.repair.small_runs import SmallRuns
from tileverify.reports.snippets import text_digest
from tileverify.results import ComparedCode, Edit, Finding, Hint, KernelResult, SourceSite, Verdict
from tileverify.results.codes import TV

KERNELS = (
    """import cuda.tile as ct

C = ct.Constant[int]
DEVICE = ct.MemoryScope.DEVICE
RELAXED, ACQUIRE, RELEASE = ct.MemoryOrder.RELAXED, ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE


"""
    + ADD_COLUMN_SUMS
    + """

@ct.kernel
def halve_and_add(x, out, M: C, N: C):
    j = ct.bid(0)
    sums = ct.sum(ct.load(x, index=(0, j), shape=(M, N)), axis=0)
    ct.store(out, index=(j,), tile=ct.load(out, index=(j,), shape=(N,)) * 0.5 + sums)


"""
    + ADD_COLUMN_SUMS_REVERSED
    + """

@ct.kernel
def add_in_turn(x, turn, total, TILE: C):
    i = ct.bid(0)
    part = ct.sum(ct.load(x, index=(i,), shape=(TILE,)))
    while ct.load(turn, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE).item() != i:
        pass
    before = ct.load(total, index=(0,), shape=()).item()
    ct.store(total, index=(0,), tile=before + part)
    ct.store(turn, index=(0,), tile=i + 1, memory_order=RELEASE, memory_scope=DEVICE)
"""
)
COLUMNS = """
grid = ["W // 64"]
requires = ["W % 64 == 0"]
args = { x = "f32[64, W]", out = "f32[W]", M = 64, N = 64 }
"""
SPEC = f"""
[[launch]]
kernel = "add_column_sums"
{COLUMNS}
[[launch]]
kernel = "halve_and_add"
{COLUMNS}
[[launch]]
kernel = "turn_round"
{COLUMNS}
[[launch]]
kernel = "add_in_turn"
grid = ["N // 32"]
requires = ["N % 32 == 0", "N >= 32", "N <= 256"]
data = ["range(turn, 0, 1)"]
args = {{ x = "i32[N]", turn = "i32[1]", total = "i32[1]", TILE = 32 }}
"""


COPY = """

@ct.kernel
def copy(x, out):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,)))
"""
COPY_SPEC = """
[[launch]]
kernel = "copy"
name = "any-size"
grid = ["cdiv(N, 64)"]
args = { x = "f32[N]", out = "f32[N]" }
"""


@pytest.fixture
def kernels(tileverify: CommandLine) -> Path:
    file = Path("kernels.py")
    file.write_text(KERNELS)
    file.with_suffix(".tileverify.toml").write_text(SPEC)
    return file


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(KERNELS.split("\n"), start=1) if text in line)


def differs_at(line: int) -> Finding:
    return Finding(TV.LAUNCH_ARTIFACT, "it differs", (SourceSite("kernels.py", line, None, access="", array=""),))


def unit_of(file: Path, kernel: str) -> KernelUnit:
    return unit_at(f"{file}::{kernel}")


# ----------------------------------------------------------------------------------- what is acceptable
EQUAL = ComparedCode("sm_90", "13.4.92", "compared at 2 launches", launches=2)
PROVED = KernelResult("k.py", "k", "0", Verdict.PROVED, compared_code=(EQUAL,))
UNDETERMINED = Finding(TV.UNDETERMINED, "padding reaches a result")


def test_code_that_compared_equal_is_named() -> None:
    other = replace(EQUAL, architecture="sm_100")
    both = compared_equal(replace(PROVED, compared_code=(EQUAL, other)), frozenset({TV.LAUNCH_ARTIFACT}))
    assert both == "compiled code compared equal for sm_90 and sm_100"


@pytest.mark.parametrize(
    "outcome",
    [
        replace(PROVED, verdict=Verdict.UNDECIDED),
        replace(PROVED, compared_code=()),
        replace(PROVED, compared_code=(EQUAL, replace(EQUAL, architecture="sm_100", launches=0))),
        replace(PROVED, findings=(differs_at(1),)),
        replace(PROVED, findings=(UNDETERMINED,)),
    ],
    ids=["not proved", "not compared", "not for all", "still differs", "a new warning"],
)
def test_what_is_not_shown_equal_is_not_offered(outcome: KernelResult) -> None:
    assert compared_equal(outcome, frozenset({TV.LAUNCH_ARTIFACT})) == ""


def test_a_warning_that_was_there_before_is_no_reason() -> None:
    warned = replace(PROVED, findings=(UNDETERMINED,))
    assert compared_equal(warned, frozenset({TV.LAUNCH_ARTIFACT, TV.UNDETERMINED}))


# --------------------------------------------------------------------------------------------- proposals
def proposed(text: str, line: int) -> list[str]:
    source = KernelSource(text)
    return [edited(text, each.edits) for each in proposals(source, differs_at(line))]


def test_scoped_accesses_become_atomics() -> None:
    """The one at fault first, then all of the kernel together, and only then what it adds up."""
    wait, hand_on = line_of("while ct.load(turn"), line_of("ct.store(turn")
    store = "ct.store(turn, index=(0,), tile=i + 1, memory_order=RELEASE, memory_scope=DEVICE)"
    load = "ct.load(turn, index=(0,), shape=(), memory_order=ACQUIRE, memory_scope=DEVICE)"
    exchange = "ct.atomic_xchg(turn, (0,), i + 1, memory_order=RELEASE, memory_scope=DEVICE)"
    add = "ct.atomic_add(turn, (0,), 0, memory_order=ACQUIRE, memory_scope=DEVICE)"
    both = KERNELS.replace(load, add).replace(store, exchange)
    assert proposed(KERNELS, wait)[:2] == [KERNELS.replace(load, add), both]
    assert proposed(KERNELS, hand_on)[:2] == [KERNELS.replace(store, exchange), both]


@pytest.mark.parametrize(
    "access",
    [
        "ct.load(x, index=(i,), shape=(T,), memory_order=RELAXED, memory_scope=DEVICE)",
        "ct.load(x, index=(i,), shape=(2,), memory_order=RELAXED, memory_scope=DEVICE)",
        "ct.load(x, index=(i,), shape=(), memory_order=ct.MemoryOrder.WEAK)",
        "ct.load(x, index=(i,), shape=())",
        "ct.load(x, index=(i,), shape=(), order='F', memory_order=RELAXED, memory_scope=DEVICE)",
        "ct.store(x, index=(i,), tile=0, memory_order=ct.MemoryOrder.WEAK)",
    ],
)
def test_what_an_atomic_does_not_do_is_left_alone(access: str) -> None:
    text = dedent(f"""
        import cuda.tile as ct

        @ct.kernel
        def k(x, T):
            i = ct.bid(0)
            {access}
    """)
    assert proposed(text, 7) == []


# ------------------------------------------------------------------------------------------------- tiles
def test_the_grid_counts_the_other_tiles(kernels: Path) -> None:
    launch = unit_of(kernels, "halve_and_add").launch
    tile = next(each for each in launch.arguments if isinstance(each, ConstantArgument) and each.name == "N")
    found = {words: (spec.grid, spec.requires, spec.arguments) for words, spec in other_launches(launch, [tile])}
    assert list(found) == [
        "N = 128 for 64 and grid = [cdiv(W, 128)]",
        "N = 256 for 64 and grid = [cdiv(W, 256)]",
        "N = 32 for 64 and grid = [cdiv(W, 32)]",
    ]
    grid, requires, arguments = found["N = 128 for 64 and grid = [cdiv(W, 128)]"]
    assert grid is not None
    assert print_expression(grid[0]) == "cdiv(W, 128)"
    assert requires == launch.requires, "the contract is not narrowed"
    assert arguments == tuple(replace(each, value=128) if each == tile else each for each in launch.arguments)


def test_a_tile_that_changes_results_is_not_offered(kernels: Path) -> None:
    """`M` tiles an axis that no loop goes along: with another one the kernel sums other rows."""
    unit = unit_of(kernels, "halve_and_add")
    asked: list[object] = []

    def believes_all(changed: KernelUnit, deny: bool) -> KernelResult:
        asked.append(tuple(each.value for each in changed.launch.arguments if isinstance(each, ConstantArgument)))
        return PROVED

    finding = differs_at(line_of("def halve_and_add") + 2)
    tiles = OtherTiles(unit, KernelSource(KERNELS), PROVED, believes_all, SmallRuns(unit, ()))
    hint = tiles.hint(finding)
    assert hint is not None
    assert "launch with N = 128 for 64 and grid = [cdiv(W, 128)] (proved, compiled code compared equal" in hint.text
    assert (hint.applicability, hint.edits) == ("maybe", ())
    assert asked == [(64, 128)], "what gives other results is not even proved"


def test_a_tile_whose_code_differs_is_not_offered(kernels: Path) -> None:
    unit = unit_of(kernels, "halve_and_add")
    finding = differs_at(line_of("* 0.5 + sums"))
    still = replace(PROVED, compared_code=(replace(EQUAL, launches=0),), findings=(finding,))
    runs = SmallRuns(unit, ())
    assert OtherTiles(unit, KernelSource(KERNELS), PROVED, lambda changed, deny: still, runs).hint(finding) is None


@pytest.mark.parametrize(("launches", "mended"), [(2, 1), (0, 0)])
def test_a_kernel_whose_code_is_not_compared_again_is_not_mended(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, launches: int, mended: int
) -> None:
    after = replace(PROVED, compared_code=(replace(EQUAL, launches=launches),))
    monkeypatch.setattr("tileverify.pipeline.unit_check.check_unit", lambda unit, options: after)
    text = kernels.read_text()
    hint = Hint("update-by-atomic", "safe", "by an atomic", (Edit(1, 0, 1, 0, ""),), text_digest(text))
    finding = replace(differs_at(line_of("def halve_and_add") + 2), hints=(hint,))
    result = replace(
        PROVED, file=str(kernels), kernel="halve_and_add", launch=unit_of(kernels, "halve_and_add").launch.name,
        findings=(finding,),
    )  # fmt: skip
    (made,) = fixed([result], judge_of(CheckOptions(compiled=("sm_90",))))
    assert (len(made.done), len(made.left)) == (mended, 1 - mended), made


# ---------------------------------------------------------------------------------------- with tileiras
@pytest.mark.assembler("tileiras")
def test_repairs_are_offered_that_the_compiler_keeps(kernels: Path, tileverify: CommandLine) -> None:
    ran = tileverify("check", str(kernels), "--compiled", "sm_90", "--no-cache", "--format", "json")
    assert ran.code == 0, ran.err
    found = {
        each["kernel"]: [(hint["id"], hint["applicability"]) for hint in each["findings"][0]["hints"]]
        for each in json.loads(ran.out)["results"]
    }
    assert found == {
        "add_column_sums": [("update-by-atomic", "safe"), ("other-tile", "maybe")],
        "halve_and_add": [("other-tile", "maybe")],
        "turn_round": [(ADVICE, "display")],
        "add_in_turn": [("access-by-atomic", "safe")],
    }


@pytest.mark.assembler("tileiras")
def test_a_repair_is_made_in_the_file_and_its_code_compares_equal(kernels: Path, tileverify: CommandLine) -> None:
    wanted = [f"{kernels}::{name}" for name in ("add_column_sums", "add_in_turn")]
    ran = tileverify("check", *wanted, "--compiled", "sm_90", "--compiled", "sm_100", "--no-cache", "--fix")
    assert "2 of 2 launches with findings now proved; 0 left" in ran.err, ran.err
    assert "out.tiled_view((N,)).atomic_store_add((j,), sums)" in kernels.read_text()
    assert "ct.atomic_add(turn, (0,), 0, memory_order=ACQUIRE" in kernels.read_text()
    again = tileverify(
        "check", *wanted, "--compiled", "sm_90", "--compiled", "sm_100", "--no-cache", "--format", "json"
    )
    for result in json.loads(again.out)["results"]:
        assert not result["findings"]
        assert all(each["launches"] for each in result["compared_code"])


@pytest.mark.assembler("tileiras")
def test_without_repairs_there_is_advice(kernels: Path, tileverify: CommandLine) -> None:
    wanted = (f"{kernels}::add_column_sums", "--compiled", "sm_90", "--no-repair", "--no-cache")
    ran = tileverify("check", *wanted)
    assert "help: add with `atomic_add`, take another tile, or store in a second launch" in ran.out
    assert "fixable" not in ran.out


@pytest.mark.assembler("tileiras")
def test_build_names_the_repair(kernels: Path, tileverify: CommandLine) -> None:
    ran = tileverify("build", f"{kernels}::add_in_turn")
    assert ran.code == 2
    assert "help: every thread makes the scoped access for itself" in ran.err
    assert "help: make it with: tileverify check --compiled sm_90 --fix kernels.py::add_in_turn" in ran.err
    assert "TV503" in ran.err
    assert not list(Path().glob("*.tvk"))


@pytest.mark.assembler("tileiras")
def test_other_kernels_of_the_file_are_built(kernels: Path, tileverify: CommandLine) -> None:
    kernels.write_text(kernels.read_text() + COPY)
    spec = kernels.with_suffix(".tileverify.toml")
    spec.write_text(spec.read_text() + COPY_SPEC)
    ran = tileverify("build", str(kernels), "-o", "bundles")
    assert ran.code == 2
    assert [path.name for path in Path("bundles").iterdir()] == ["copy.any-size.tvk"]
    said = [line.split(":")[0] for line in ran.err.splitlines() if line.startswith(("error", "help"))]
    assert said[:2] == ["error", "help"]
    assert said.count("error") == 4
    Path("file").write_text("")
    refused = tileverify("build", str(kernels), "-o", "file")
    assert refused.code == 2
    assert "there are 5 launches" in refused.err
    assert "name one, or give -o a folder" in refused.err


EIGHT_BITS = """

@ct.kernel
def product(a, b, out):
    tiles = ct.load(a, (0, 0), (64, 64)), ct.load(b, (0, 0), (64, 64))
    ct.store(out, (0, 0), ct.mma(*tiles, ct.full((64, 64), 0, ct.float32)))
"""
EIGHT_BITS_SPEC = """
[[launch]]
kernel = "product"
grid = ["1"]
args = { a = "f8e4m3[64, 64]", b = "f8e4m3[64, 64]", out = "f32[64, 64]" }
"""


@pytest.mark.assembler("tileiras")
def test_kernels_behind_one_that_the_assembler_refuses_are_built(tileverify: CommandLine) -> None:
    file = Path("kernels.py")
    file.write_text("import cuda.tile as ct\n" + EIGHT_BITS + COPY)
    file.with_suffix(".tileverify.toml").write_text(EIGHT_BITS_SPEC + COPY_SPEC)
    ran = tileverify("build", str(file), "-o", "bundles", "--arch", "sm_80")
    assert ran.code == 2
    assert [path.name for path in Path("bundles").iterdir()] == ["copy.any-size.tvk"]
    said, *_ = (line for line in ran.err.splitlines() if line.startswith("error"))
    assert said.startswith("error: kernels.py::product [0]: tileiras refused the bytecode for sm_80: ")
    assert "copy.any-size.tvk: proved and built" in ran.err
