"""What facts leave one number for is that number, and tiles that are taken apart by it are told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.written_kernel import judged

from tileverify.contract import terms as t
from tileverify.contract.as_terms import build_contract
from tileverify.contract.facts.statements import DataTerm
from tileverify.contract.launch import DataFact
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.results import Verdict
from tileverify.results.claim import claim_from_json
from tileverify.verifier.obligations.answers import Answer, Limits
from tileverify.verifier.obligations.fact_use import DeterminedElements, data_facts, of_one_number
from tileverify.verifier.smt import Solver

from .builders import origin, spec

ranges = st.builds(
    lambda low, length, unless: DataTerm(
        DataFact("range", "a"), t.const(low), t.const(low + length), unless=tuple(map(t.const, unless))
    ),
    st.integers(-3, 3),
    st.integers(0, 3),
    st.lists(st.integers(-3, 6), max_size=1),
)


@given(st.lists(ranges, max_size=3), st.integers(-1, 4))
def test_a_number_that_is_put_in_is_the_only_one_that_the_facts_leave(facts: list[DataTerm], index: int) -> None:
    contract = replace(build_contract(spec({"a": (3,)})), data=tuple(facts))
    origins = {"a": replace(origin("a", 1), shape=(t.const(3),))}
    element = Function("a", Scope.LAUNCH, -(2**31), 2**31 - 1, array="a")
    value = t.apply(element, t.const(index))
    number = DeterminedElements(of_one_number(contract.data), contract, origins).number(value)
    said = list(data_facts([value], contract, origins))
    left = [n for n in range(-8, 10) if all(evaluate(each, {}, lambda *_, n=n: n) for each in said)]
    if number is not None:
        assert (index in range(3), left) in ((True, [number.value]), (True, []))
    elif index in range(3) and len(facts) == 1 and not facts[0].unless:
        assert len(left) != 1


PARTS: Final = """
import cuda.tile as ct

@ct.kernel
def share(parts, y):
    FIRST
    part = ct.astype(ct.load(parts, (AT,), shape=()), ct.int32)
    ct.store(y, (ct.bid(0) % part,), ct.full((1,), 1, dtype=ct.int32))
"""
SHARED: Final = """
kernel = "share"
grid = [8]
data = [FACTS]
args = { parts = "TYPE[SIZE]", y = "i32[16]" }
"""


@pytest.mark.parametrize(
    ("facts", "at", "dtype", "size", "verdict"),
    [
        ('"range(parts, 8, 9)"', "0", "i32", 1, Verdict.PROVED),
        ('"range(parts, 4, 5)"', "0", "i32", 1, Verdict.REFUTED),
        ('"range(parts, 8, 9, unless=4)"', "0", "i32", 1, Verdict.UNDECIDED),  # 4 is wrong, and need not be there
        ('"range(parts, 4, 9)"', "0", "i32", 1, Verdict.UNDECIDED),
        ('"range(parts, 8, 9)"', "ct.bid(0)", "i32", 8, Verdict.PROVED),
        ('"range(parts, 8, 9)"', "1", "i32", 1, Verdict.REFUTED),  # beside the array, whatever is found there
        ('"range(parts, 4294967288, 4294967289)"', "0", "u32", 1, Verdict.REFUTED),  # it is read as -8
    ],
)
def test_one_number_is_put_in_for_what_is_loaded(
    tmp_path: Path, facts: str, at: str, dtype: str, size: int, verdict: Verdict
) -> None:
    kernel = PARTS.replace("FIRST", "pass").replace("AT", at)
    launch = SHARED.replace("FACTS", facts).replace("TYPE", dtype).replace("SIZE", str(size))
    result = judged(tmp_path, kernel, launch)
    assert result.verdict is verdict, result


def test_what_the_kernel_writes_is_not_what_it_was(tmp_path: Path) -> None:
    kernel = PARTS.replace("FIRST", "ct.store(parts, (0,), ct.full((1,), 4, dtype=ct.int32))").replace("AT", "0")
    launch = SHARED.replace("FACTS", '"range(parts, 8, 9)"').replace("TYPE", "i32").replace("SIZE", "1")
    assert judged(tmp_path, kernel, launch).verdict is not Verdict.PROVED


PUT_BACK: Final = """
import cuda.tile as ct

@ct.kernel
def put_back(slots, most, y, TILE: ct.Constant[int]):
    for tile in range(ct.bid(0), ct.cdiv(ct.load(most, (0,), shape=()), TILE), ct.num_blocks(0)):
        ct.scatter(y, ct.load(slots, (tile,), shape=(TILE,)), ct.full((TILE,), 1, dtype=ct.int32))
"""
SLOTS: Final = """
kernel = "put_back"
grid = [1]
WHAT = ["range(slots, 0, 2)", "injective(slots, unless=1)", "shares(slots, 3)", "range(most, 4, 5)"]
args = { slots = "i32[4]", most = "i32[1]", y = "i32[8]", TILE = 4 }
"""


@pytest.mark.parametrize("known", ["data", "observed"])
def test_a_witness_holds_the_number_that_was_put_in(tmp_path: Path, known: str) -> None:
    """No question speaks of the array any more, and without the number no block gets to the store."""
    result = judged(tmp_path, PUT_BACK, SLOTS.replace("WHAT", known))
    assert result.verdict is Verdict.REFUTED, result
    (finding,) = result.findings
    assert finding.code == "TV202"
    assert finding.witness is not None
    assert finding.witness.launch is not None
    launch, _ = claim_from_json(finding.witness.launch)
    assert launch.arrays["most"].fill == 4


TILES: Final = """
import cuda.tile as ct

@ct.kernel
def fill(starts, most, y, segments, TM: ct.Constant[int], TN: ct.Constant[int], GROUP: ct.Constant[int]):
    rows = ct.cdiv(ct.load(most, (0,), shape=()), TM)
    columns = ct.num_tiles(y, axis=AXIS, shape=SHAPE)
    each = rows * columns
    for tile in range(ct.bid(0), each * segments, ct.num_blocks(0)):
        segment = tile // each
        local = tile % each
        first = (local // (GROUP * columns)) * GROUP
        height = min(rows - first, GROUP)
        row = first + local % HEIGHT
        column = (local % (GROUP * columns)) // height
        STORE
"""
RAGGED: Final = """start = ct.load(starts, (segment,), shape=())
        stop = ct.load(starts, (segment + 1,), shape=())
        if row * TM < stop - start:
            part = y.slice(axis=0, start=start, stop=stop)
            ct.store(part, (row, column), ct.full((TM, TN), 1.0, dtype=ct.float32))"""
RAGGED_LAUNCH: Final = """
kernel = "fill"
grid = [148]
WHAT = ["range(starts, 0, 3901)", "nondecreasing(starts)", "range(most, 512, 513)"]
args = { starts = "i32[9]", most = "i32[1]", y = "f32[3900, 512]", segments = "i32 = 8", TM = 64, TN = 128, GROUP = 4 }
"""
DENSE: Final = "ct.store(y, (segment, row, column), ct.full((1, TM, TN), 1.0, dtype=ct.float32))"
DENSE_LAUNCH: Final = """
kernel = "fill"
grid = [10]
data = ["range(most, 64, 65)"]
args = { starts = "i32[1]", most = "i32[1]", y = "f32[3, 64, 64]", segments = "i32 = 3", TM = 8, TN = 16, GROUP = 4 }
"""


@pytest.mark.parametrize("known", ["data", "observed"])
def test_tiles_of_ragged_rows_are_told_apart_by_their_digits(tmp_path: Path, known: str) -> None:
    """Rows, columns and groups of a tile's number: two blocks at one row have all of them alike."""
    kernel = (
        TILES.replace("STORE", RAGGED).replace("HEIGHT", "height").replace("AXIS", "1").replace("SHAPE", "(TM, TN)")
    )
    result = judged(tmp_path, kernel, RAGGED_LAUNCH.replace("WHAT", known))
    # With a condition in its place there is a proof for this grid alone.
    assert (result.verdict, result.holds_for) == (Verdict.PROVED, "sizes"), result
    assert "range(most, 512, 513)" in result.assumes
    # By the weakest of the other facts, where they may be chosen.
    assert ("range(starts, 0, y.shape[0] + 1)" in result.assumes) == (known == "observed")


@pytest.mark.parametrize(("height", "verdict"), [("height", Verdict.PROVED), ("(height // 2)", Verdict.REFUTED)])
def test_tiles_that_have_their_digits_in_common_are_one(tmp_path: Path, height: str, verdict: Verdict) -> None:
    kernel = (
        TILES.replace("STORE", DENSE).replace("HEIGHT", height).replace("AXIS", "2").replace("SHAPE", "(1, TM, TN)")
    )
    result = judged(tmp_path, kernel, DENSE_LAUNCH)
    assert result.verdict is verdict, result


def turn(mark: str) -> dict[str, Term]:
    """Block, tile, first and last row of its segment, the tile's digits and a row, for one of two blocks."""
    bid = t.var(f"bid.x{mark}", Scope.BLOCK, 0, 147)
    tile = t.add(bid, t.scale(148, t.var(f"k{mark}", Scope.ITERATION, 0)))
    starts = Function("starts", Scope.LAUNCH, 0, 3900, array="starts")
    segment, local = (part(tile, t.const(32)) for part in (t.floordiv, t.floormod))
    height, group = (part(local, t.const(16)) for part in (t.floormod, t.floordiv))
    within = t.add(t.scale(256, group), t.scale(64, t.floormod(tile, t.const(4))), t.var(f"l{mark}", Scope.LANE, 0, 63))
    start, stop = t.apply(starts, segment), t.apply(starts, t.add(segment, t.ONE))
    return {
        "bid": bid, "tile": tile, "segment": segment, "start": start, "stop": stop, "group": group,
        "column": t.floordiv(height, t.const(4)), "within": within, "row": t.add(start, within),
    }  # fmt: skip


@pytest.mark.parametrize("columns_too", [True, False])
def test_what_turned_out_equal_is_put_together(columns_too: bool) -> None:
    """That rows of one segment are equal tells the digits of their tiles; that these are one then takes no solver."""
    one, other = turn(""), turn("'")
    inside = [t.lt(each["within"], t.sub(each["stop"], each["start"])) for each in (one, other)]
    inside += [t.lt(each["tile"], t.const(256)) for each in (one, other)]
    equal = [t.eq(one[what], other[what]) for what in ("segment", "row", *(["column"] if columns_too else []))]
    twins = [(one[what], other[what]) for what in ("segment", "group", "column")]
    asked = [*inside, *equal, t.ne(one["bid"], other["bid"])]
    limits = Limits(linear=100_000, nonlinear=0, rounds=10, total=100_000)
    answer = Solver((), limits).decide(asked, twins=twins).answer
    assert (answer is Answer.UNSATISFIABLE) == columns_too
