"""The campaign of people's mistakes: mistakes are what their names say, and the judge finds out wrong provers."""

from __future__ import annotations

import collections
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.corpus.launches import launch_of
from tests.profiles import tries
from tests.shared import gathered

from tileverify.contract.launch import KernelUnit
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import Finding, KernelResult, Verdict, Witness
from tileverify.results.claim import Claim, claim_to_json
from tileverify.results.codes import TV

from ..mistakes import contracts, source
from ..mistakes.campaign import Verifier, judged, main
from ..mistakes.judge import Contract, Prover
from ..mistakes.launches import borders, small_launches
from ..mistakes.subjects import KINDS, Launch, Mistake, corpus, library, mistakes
from ..mistakes.table import GREEN, NO_KERNEL, Line, table
from ..mutants.written import open_clauses, within_limits

SEED = 1
QUICK = (
    "showcase/transpose.py::", "showcase/permute.py::", "showcase/rope.py::", "showcase/layer_norm.py::",
    "race_free/elementwise_2d.py::", "race_free/unchecked_bounds.py::", "race_free/stencil.py::",
    "race_free/strided_store.py::", "race_free/histogram_atomic.py::", "race_free/while_loop.py::",
)  # fmt: skip
"""Files whose kernels are judged in any run; `make mutants` takes all."""
PARTS = 4


@cache
def launches() -> tuple[Launch, ...]:
    return tuple(corpus())


def written_launch(kernel: str) -> Launch:
    return next(each for each in launches() if each.name.startswith(kernel))


@cache
def sample() -> tuple[Line, ...]:
    """The first mistakes of the seed that are kernels, in these files."""
    quick = [each for each in launches() if each.name.startswith(QUICK)]
    chosen = mistakes(quick, SEED)[: tries(short=42, long=480)]

    def part(number: int) -> list[Line]:
        return [judged(each, Verifier(None)) for each in chosen[number::PARTS]]

    lines = gathered("mistakes of people", range(PARTS), part)
    return tuple(line for line in lines if line.outcome != NO_KERNEL)


# ------------------------------------------------------------------------------------- the prover itself
@pytest.mark.random
def test_no_kernel_that_a_launch_breaks_is_green() -> None:
    assert not [str(line) for line in sample() if line.wrong]


def test_broken_kernels_are_refuted() -> None:
    broken = collections.Counter(line.outcome for line in sample() if line.broken)
    assert broken.total() >= 12
    assert broken["refuted"] >= 0.97 * broken.total()


# --------------------------------------------------------------------------------------- wrong provers
def mistake(kernel: str, kind: str, change: str) -> Mistake:
    """The first mistake in the kernel that is told in these words."""
    return next(each for each in mistakes([written_launch(kernel)], SEED) if (each.kind, each.change) == (kind, change))


SWAPPED = ("showcase/transpose.py::transpose", "swapped-index", "(n, m) becomes (m, n)")
"""Tiles of both matrices are named alike: some fall outside, and tiles of 64 by 32 meet."""


def believing(requires: tuple[str, ...]) -> Prover:
    def believe(unit: KernelUnit) -> KernelResult:
        return replace(check_unit(unit), verdict=Verdict.PROVED, findings=(), requires=requires)

    return believe


@pytest.mark.parametrize(
    ("requires", "outcome"),
    [
        ((), "green, unsound"),
        (("M == N", "N == 1"), "green"),
        (("M >= 2 ** 30",), "green"),
        (("M >= 0",), "green, unsound"),
    ],
)
def test_a_prover_that_believes_everything_is_found_out(requires: tuple[str, ...], outcome: str) -> None:
    line = judged(mistake(*SWAPPED), believing(requires))
    assert (line.truth, line.outcome) == ("broken", outcome)
    assert line.wrong.startswith("proved")
    assert "green, though a launch breaks it: 1" in table([line], SEED)


@pytest.mark.parametrize(
    ("kernel", "kind", "change"),
    [
        SWAPPED,
        ("race_free/unchecked_bounds.py::double", "spec-grid", "N // 256 becomes N // 256 + 1"),
        ("showcase/permute.py::permute_heads", "wrong-axis", "1 becomes 0"),
        ("race_free/histogram_atomic.py::histogram", "no-atomic", "ct.atomic_add(bins, (bin_of,), 1, "
         "memory_order=ct.MemoryOrder.RELAXED) becomes ct.scatter(bins, (bin_of,), 1)"),
    ],
)  # fmt: skip
def test_a_mistake_is_seen_whatever_the_prover_says(kernel: str, kind: str, change: str) -> None:
    line = judged(mistake(kernel, kind, change), believing(()))
    assert line.outcome in GREEN, line


def test_padding_that_nobody_chose_has_to_be_told() -> None:
    made = mistakes([written_launch("showcase/softmax.py::")], SEED)
    dropped = next(each for each in made if each.kind == "dropped-padding")
    told = judged(dropped, Verifier(None))
    assert (told.outcome, told.codes) == ("proved", ("TV403",))
    assert judged(dropped, believing(())).outcome == "green, padding"


def test_a_witness_that_shows_nothing_is_found_out() -> None:
    broken = check_unit(Contract(unit_of(SWAPPED[0])).unit)
    assert broken.verdict is Verdict.PROVED

    def refuting(unit: KernelUnit) -> KernelResult:
        return replace(broken, verdict=Verdict.REFUTED, findings=(Finding(TV.RACE_WRITE_WRITE, "they meet"),))

    assert judged(mistake(*SWAPPED), refuting).outcome == "false alarm"


def test_a_launch_beyond_the_limits_is_no_witness() -> None:
    """No tile stands at an index where there are no heads, but nobody launches that."""
    made = mistake("showcase/rope.py::rope", "spec-requires", "1 <= H becomes nothing")
    contract = Contract(changed(made))
    sizes = {"B": 1, "H": 0, "S": 1}
    launch = launch_of(contract.spec, sizes)
    assert launch is not None
    told = claim_to_json(launch, Claim(TV.TILE_OUT_OF_INDEX_SPACE, (0, 0, 0), None))
    witness = Witness(sizes, launch.grid, (0, 0, 0), None, "q[0]", launch=told)

    def refuting(unit: KernelUnit) -> KernelResult:
        finding = Finding(TV.TILE_OUT_OF_INDEX_SPACE, "the tile lies outside", witness=witness)
        return replace(check_unit(unit), verdict=Verdict.REFUTED, findings=(finding,))

    found = contract.judge(contract.unit, refuting)
    assert (found.truth.kind, found.outcome) == ("unseen", "false alarm")
    assert found.wrong.startswith("refuted by launches beyond the limits alone")


@pytest.mark.parametrize(("sizes", "within"), [((1, 40), True), ((1, 0), False), ((1 << 30, 1), False)])
def test_limits(sizes: tuple[int, int], within: bool) -> None:
    spec = replace(unit_of(SWAPPED[0]).launch, grid=None)
    launch = launch_of(spec, dict(zip("MN", sizes, strict=True)), (1, 1, 1))
    assert launch is not None
    assert within_limits(launch) == within


def changed(made: Mistake) -> KernelUnit:
    original = made.of.unit()
    assert original is not None
    unit = made.unit(original)
    assert unit is not None
    return unit


def test_clauses_on_open_parts_may_be_added() -> None:
    """Any grid: that it fits the array is for the verdict to say."""
    contract = Contract(unit_of("contract/any_grid.py::add_one"))
    found = contract.judge(contract.unit, check_unit)
    assert (found.truth.kind, found.outcome, found.wrong) == ("broken", "open parts", "")
    believed = contract.judge(contract.unit, believing(("grid.y == 1",)))
    assert believed.outcome == "green, unsound"


def unit_of(kernel: str) -> KernelUnit:
    unit = written_launch(kernel).unit()
    assert unit is not None
    return unit


def test_what_is_open() -> None:
    spec = unit_of("contract/any_grid.py::add_one").launch
    added = ("grid.x <= cdiv(N, 128)", "N % 128 == 0", "x.address % 16 == 0")
    assert open_clauses(spec, added) == (added[0], added[2])
    assert open_clauses(unit_of(SWAPPED[0]).launch, ("grid.x == 1", "M == N")) == ()


# ------------------------------------------------------------------------------------------------ mistakes
SOURCE = """
import cuda.tile as ct

def column(j, COLUMNS: ct.Constant[int]):
    return j % COLUMNS


@ct.kernel
def move(x, out, n, TILE: ct.Constant[int], WIDE: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    if i < n:
        tile = ct.load(x, index=(i, j), shape=(TILE, WIDE), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, (column(j, 4), i), tile)  # a comment stays
    for k in range(i, n, ct.num_blocks(0)):
        ct.scatter(out, (k, j), 1, mask=(k < n) & (j < n))
    ct.scatter(out, (i * TILE + ct.arange(TILE, dtype=ct.int32), 0), 1)
"""

EXPECTED = (
    ("swapped-index", "(i, j) becomes (j, i)"),
    ("swapped-index", "(column(j, 4), i) becomes (i, column(j, 4))"),
    ("wrong-axis", "1 becomes 0"),
    ("off-by-one", "k < n becomes k <= n"),
    ("off-by-one", "j becomes (j + 1)"),
    ("wrong-array", "out becomes x"),
    ("divisor", "j % COLUMNS becomes j // COLUMNS"),
    ("tile-size", "TILE becomes WIDE"),
    ("tile-size", "(TILE, WIDE) becomes (WIDE, TILE)"),
    ("dropped-mask", "ct.scatter(out, (k, j), 1, mask=(k < n) & (j < n)) becomes ct.scatter(out, (k, j), 1)"),
    ("dropped-mask", "(k < n) & (j < n) becomes (k < n)"),
    ("dropped-guard", "i < n becomes True"),
    ("stride", "i * TILE becomes (i)"),
    ("loop-bound", "range(i, n, ct.num_blocks(0)) becomes range(i, n + 1, ct.num_blocks(0))"),
    ("loop-bound", "range(i, n, ct.num_blocks(0)) becomes range(i, n, 1)"),
    ("unchecked", "ct.store(out, (column(j, 4), i), tile) becomes "
     "ct.store(out, (column(j, 4), i), tile, check_bounds=False)"),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "told"), EXPECTED)
def test_mistakes_in_a_source(kind: str, told: str) -> None:
    assert (kind, told) in {(each.kind, each.told) for each in source.mistakes(SOURCE, "move")}


def test_a_mistake_changes_one_place_of_a_source() -> None:
    made = list(source.mistakes(SOURCE, "move"))
    assert len({each.of(SOURCE) for each in made}) == len(made)
    for each in made:
        compile(each.of(SOURCE), "move.py", "exec")
        changed = [
            pair for pair in zip(SOURCE.splitlines(), each.of(SOURCE).splitlines(), strict=True) if len({*pair}) > 1
        ]
        assert len(changed) == 1
        assert changed[0][0] == SOURCE.splitlines()[each.line - 1]


FIELDS = {
    "kernel": "move", "grid": ["cdiv(N, 128)", "P // 4"], "requires": ["P % 4 == 0", "N <= 4096"],
    "data": ["range(at, 0, N)"], "args": {"x": "f32[N, P]", "out": "f32[N, P]", "at": "i32[N]", "TILE": 128},
}  # fmt: skip
LOOSENED = (
    ("spec-requires", "P % 4 == 0 becomes nothing"), ("spec-requires", "P % 4 == 0 becomes P % 2 == 0"),
    ("spec-requires", "N <= 4096 becomes N <= (4096) + 1"), ("spec-data", "range(at, 0, N) becomes nothing"),
    ("spec-data", "range(at, 0, N) becomes range(at, 0, (N) + 1)"), ("spec-grid", "P // 4 becomes cdiv(P, 4)"),
    ("spec-grid", "cdiv(N, 128), P // 4 becomes P // 4, cdiv(N, 128)"), ("spec-tile", "TILE = 128 becomes TILE = 256"),
    ("spec-size", "f32[N, P] becomes f32[N_out, P]"), ("spec-in-place", "no overlap becomes x is out"),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "told"), LOOSENED)
def test_mistakes_in_a_spec(kind: str, told: str) -> None:
    assert (kind, told) in {(each.kind, each.told) for each in contracts.loosened(FIELDS)}


def test_every_kind_has_its_place() -> None:
    made = mistakes([*launches(), *library()], SEED)
    assert {each.kind for each in made} == set(KINDS)
    assert len({each.name for each in made}) == len(made)
    assert {each.kind for each in made[: len(KINDS)]} == set(KINDS)


# ------------------------------------------------------------------------------------------------ launches
def test_launches_lie_around_the_borders_of_tiles() -> None:
    spec = unit_of(SWAPPED[0]).launch
    assert {31, 32, 33, 63, 64, 65, 128, 129, 192} <= set(borders(spec))
    found = small_launches(spec, 12, 1)
    assert len(found) == 12
    assert {(each.values["M"] > each.values["N"]) for each in found} == {True, False}
    assert all(0 not in array.shape for each in found for array in each.launches[0].arrays.values())


def test_kernels_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tail that is not masked, where somebody forgot to say that there is none."""
    (tmp_path / "double.py").write_text(DOUBLE)
    (tmp_path / "double.tileverify.toml").write_text(DOUBLE_SPEC)
    main(["--folder", str(tmp_path), "--kind", "spec-requires", "--json", str(tmp_path / "lines")])
    assert "2 mistakes in 1 kernels" in capsys.readouterr().out
    lines = [json.loads(text) for text in (tmp_path / "lines").read_text().splitlines()]
    assert {line["change"] for line in lines} == {f"N % 64 == 0 becomes {new}" for new in ("nothing", "N % 32 == 0")}
    assert all(line["truth"] == "broken" and line["shows"].startswith("TV303") for line in lines)


DOUBLE = """
import cuda.tile as ct


@ct.kernel
def double(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i,), 2 * ct.load(x, (i,), (TILE,), check_bounds=False), check_bounds=False)
"""
DOUBLE_SPEC = """
[[launch]]
kernel = "double"
grid = ["cdiv(N, 64)"]
requires = ["N % 64 == 0"]
args = { x = "f32[N]", out = "f32[N]", TILE = 64 }
"""


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "lines.json")
    few = ["--only", "showcase/vector_add", "--kind", "wrong-array", "--json", file]
    main([*few, "--count", "1"])
    with open(file, "a") as log:
        log.write('{"mistake": "cut o')
    main([*few, "--count", "2"])
    capsys.readouterr()
    main(few)
    again = capsys.readouterr().out
    main(few[:4])
    assert capsys.readouterr().out == again
