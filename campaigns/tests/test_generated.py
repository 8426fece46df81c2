"""Generated kernels: no verdict contradicts what their launches show, and a prover with a flaw is found out."""

from __future__ import annotations

import collections
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.profiles import tries
from tests.shared import gathered

from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.optable import OPERATIONS
from tileverify.pipeline import check_paths
from tileverify.pipeline.unit_check import check_unit
from tileverify.results import KernelResult, Verdict

from ..generated.campaign import Record, kernel, known_records, ops_of, reasons, records, same_flaw, summary, to_json
from ..generated.clauses import separating
from ..generated.draws import Draws, replayed
from ..generated.judgement import compare, judge
from ..generated.keeping import keep
from ..generated.kernels import Generated, generate
from ..generated.recorded import judge_recorded
from ..generated.shrinking import shrunk
from ..sabotage import FIVE, SABOTAGES, evidence, exposed, outcomes

pytestmark = pytest.mark.random

SEED = 1
COUNT = tries(short=60, long=1000)
INTEGER_OPS = {
    "absi", "addi", "andi", "cmpi", "divi", "exti", "iota", "maxi", "mini", "mulhii", "muli", "negi", "ori", "remi",
    "select", "shli", "shri", "subi", "trunci", "xori",
}  # fmt: skip
TILE_OPS = {
    "alloca", "bitcast", "cat", "cmpf", "extract", "ftoi", "insert", "itof", "pack", "permute", "reduce", "scan",
    "unpack",
}  # fmt: skip
EFFECTS = {"none", "read", "write", "read_write", "order", "host"}
FREQUENT = {
    "64-bit sizes", "array of floats that steer", "bitcast", "cat", "decided by a loaded float",
    "element of a float tile", "facts on two arrays", "float comparison", "float to integer", "integer to float",
    "list of arrays", "list with named strides", "load without padding", "load without padding, cleared",
    "local memory", "local memory that nobody wrote", "mask of floats", "narrow sizes", "open grid", "pack", "permute",
    "reads three axes", "reads two axes", "reduction", "reduction with index", "scan", "select of float tiles",
    "select of integer tiles", "select of pointer tiles", "store into a list", "two facts on one array",
    "two named strides",
}  # fmt: skip
"""Features of which every campaign of 1,000 kernels has at least 30."""
FEATURES = FREQUENT | {
    "bits joined with lanes", "bits of a number", "boolean clause", "carried: counts", "carried: flips",
    "carried: strides", "carried: turns", "extract of a tile", "index from a loaded float", "index through a float",
    "narrow scalars", "path: awaited on one side", "path: behind an exit", "path: decided twice",
    "path: narrow on one side", "path: one of two", "protocol: flag", "protocol: last", "protocol: lock",
    "protocol: queue", "protocol: ticket", "unsigned scalar",
}  # fmt: skip
PART = 10
"""Kernels that a test process judges before it asks what is left."""
KNOWN = {
    "axes_pinned": 14, "clauses_forgotten": 21, "every_order_hands_over": 656, "last_lane_skipped": 368,
    "one_side_taken": 281, "path_condition_lost": 93, "pieces_are_launch_wide": 1, "program_order_orders": 47,
    "reads_ignored": 23, "tokens_order_everything": 47, "unbounded_integers": 93, "unwritten_memory_is_launch_wide": 0,
}  # fmt: skip
"""The kernel of `SEED` that exposed each when it was last searched for (`python -m campaigns.sabotage`)."""


@cache
def judged() -> tuple[Record, ...]:
    return gathered("generated", range(0, COUNT, PART), lambda n: list(records(SEED, range(n, n + PART))))


def test_no_verdict_is_wrong() -> None:
    assert not [(each.number, each.wrong) for each in judged() if each.wrong]


def test_all_verdicts_are_reached() -> None:
    counted = collections.Counter(each.verdict for each in judged())
    assert counted["proved"] >= COUNT // 5
    assert counted["refuted"] >= COUNT // 3
    assert counted["undecided"] >= 3
    assert sum(each.launches for each in judged()) >= 10 * COUNT


@cache
def made() -> tuple[Generated, ...]:
    return gathered("made", range(0, 1000, 50), lambda n: [kernel(SEED, number) for number in range(n, n + 50)])


def test_every_integer_op_and_every_kind_of_access_is_used() -> None:
    """What the declarations call an access is one, whatever its effect is called."""
    assert {op.effect for op in OPERATIONS} == EFFECTS
    accesses = {op.name for op in OPERATIONS if op.effect in ("read", "write", "read_write")}
    elsewhere = {name for name in accesses if name.startswith(("multimem", "preview"))}
    assert accesses - elsewhere == {
        "atomic_cas_tko", "atomic_red_view_tko", "atomic_rmw_tko", "load_ptr_tko", "load_view_tko", "store_ptr_tko",
        "store_view_tko",
    }  # fmt: skip
    used = frozenset[str]().union(*(ops_of(each) for each in made()))
    assert used >= INTEGER_OPS | TILE_OPS | (accesses - elsewhere) | {"for", "loop", "if", "assume"}


def test_every_feature_is_used_and_often_enough() -> None:
    counted = collections.Counter(feature for each in made() for feature in each.features)
    assert {feature for feature in counted if not feature.endswith(": refused")} == FEATURES
    assert not {feature: counted[feature] for feature in FREQUENT if counted[feature] < 30}


@pytest.mark.parametrize("seed", range(2, 5))
def test_new_features_are_frequent_with_any_seed(seed: int) -> None:
    count = tries(short=400, long=1000)
    counted = collections.Counter(feature for number in range(count) for feature in kernel(seed, number).features)
    assert not {feature: counted[feature] for feature in FREQUENT if counted[feature] < count // 50}


def test_protocols_are_proved_and_refuted() -> None:
    """The judge follows blocks that wait for each other: it finds what weakened ones do, and nothing in right ones."""
    mine = [each for each in judged() if any(feature.startswith("protocol") for feature in each.features)]
    assert {(each.verdict, each.truth) for each in mine} >= {("proved", "right"), ("refuted", "faulty")}


THOUGHT_OF = settings(
    deadline=None, derandomize=True, database=None, phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@settings(THOUGHT_OF, max_examples=tries(short=10, long=200))
@given(st.data())
def test_no_verdict_is_wrong_for_what_hypothesis_thinks_of(data: st.DataObject) -> None:
    """Where one is, hypothesis shrinks the kernel."""
    judge_thought_of(data)


@pytest.mark.slow
@settings(THOUGHT_OF, max_examples=200)
@given(st.data())
def test_no_verdict_is_wrong_for_more_that_hypothesis_thinks_of(data: st.DataObject) -> None:
    judge_thought_of(data)


def judge_thought_of(data: st.DataObject) -> None:
    generated = generate(Draws(lambda n: data.draw(st.integers(0, n - 1))))
    assert judge(generated).wrong is None


def test_a_number_always_gives_the_same_kernel() -> None:
    one, other = kernel(SEED, 7), kernel(SEED, 7)
    assert one.unit.bytecode == other.unit.bytecode
    assert generate(replayed(one.tape)).unit.bytecode == one.unit.bytecode
    assert kernel(SEED, 8).unit.bytecode != one.unit.bytecode


@pytest.mark.parametrize("number", range(0, 60, 6))
def test_a_kept_kernel_is_the_same_to_the_command_line(number: int, tmp_path: Path) -> None:
    path = keep(kernel(SEED, number), tmp_path, "kept")
    (read,) = check_paths([str(path)]).results
    direct = judged()[number]
    assert (read.verdict.value, read.clauses, reasons(read)) == (direct.verdict, direct.requires, direct.codes)
    assert read.verdict is not Verdict.ERROR or read.findings[0].code == "TV004"


def test_summaries_hold_no_times() -> None:
    assert summary(judged()[:12], SEED) == summary(list(records(SEED, range(12))), SEED)


@cache
def some_result() -> KernelResult:
    return check_unit(kernel(SEED, 0).unit)


def verdict(requires: tuple[str, ...] = (), *, deterministic: bool | None = None) -> KernelResult:
    """A proof that nobody made."""
    return replace(
        some_result(), verdict=Verdict.PROVED, requires=requires, findings=(), notes=(),
        deterministic=deterministic,
    )  # fmt: skip


def test_a_proof_that_leaves_one_block_along_an_axis_is_wrong() -> None:
    """Every kernel that writes by y as the only thing: right under any grid, and so wrong under `grid.y == 1`."""
    found = (
        compare(each, verdict(("grid.y == 1",))).wrong for each in made()[:400] if "reads two axes" in each.features
    )
    assert any((wrong or "").startswith("shut out") and "along y" in (wrong or "") for wrong in found)
    assert not any("shut out" in (compare(each, verdict()).wrong or "") for each in made()[:20])


def test_a_clause_that_asks_for_a_third_block_leaves_work() -> None:
    """The grid is open; two blocks in a row along y are at work where there is one block along x."""
    numbered_by_both = kernel(50000, 28685)
    three = "grid.y >= 2 and grid.x * grid.y >= 3 and grid.z == 1"
    assert compare(numbered_by_both, verdict((three,))).wrong is None
    assert "along y" in (compare(numbered_by_both, verdict((f"{three} and grid.x >= 2",))).wrong or "")


def test_work_that_comes_late_is_work() -> None:
    """The second block writes in the 126th turn of a loop that has no end, under a wrapped number."""
    late = kernel(50000, 33338)
    late = replace(late, contract=replace(late.contract, spec=replace(late.contract.spec, origin="inferred")))
    assert compare(late, verdict(("N <= 2", "M == 2"))).wrong is None


def test_a_proof_for_launches_that_are_none_is_wrong() -> None:
    """Of a contract that contradicts itself nothing can be proved, and of one that fits no parameter neither."""
    none = [each for each in made()[:400] if next(each.contract.launches(), None) is None]
    certain = [each for each in none if each.contract.certainly_empty()]
    assert certain
    assert all(compare(each, verdict()).wrong == "proved, but the contract has no launch" for each in certain)


def test_a_proof_under_clauses_that_leave_nothing_is_wrong() -> None:
    bounded = [each for each in made()[:60] if each.contract.bounded and next(each.contract.launches(), None)]
    assert bounded
    assert all((compare(each, verdict(("1 == 0",))).wrong or "").startswith("nothing left") for each in bounded)


def test_a_proof_of_a_faulty_kernel_is_wrong() -> None:
    faulty = [kernel(SEED, each.number) for each in judged()[:60] if each.verdict == "refuted"]
    wrong = [compare(each, verdict()).wrong or "" for each in faulty]
    assert sum(text.startswith("proved under") for text in wrong) >= 0.9 * len(wrong)


def test_what_is_called_deterministic_and_is_left_open_is_counted() -> None:
    padded = [each for each in made()[:300] if "load without padding" in each.features]
    remarks = (compare(each, verdict(deterministic=True)).remarks for each in padded)
    assert ("undetermined, and said to be deterministic",) in remarks


def test_a_run_goes_on_behind_what_its_file_tells_of(tmp_path: Path) -> None:
    """A line that was cut short when the run was ended is judged again, and so is another seed."""
    done, file = judged()[:3], tmp_path / "run.json"
    lines = [to_json(each, SEED) for each in done]
    file.write_text("\n".join([*lines[:2], to_json(done[2], SEED + 1), lines[2][:-20]]))
    assert known_records(file, SEED) == {each.number: each for each in done[:2]}
    assert known_records(tmp_path / "none.json", SEED) == {}


def test_a_clause_that_tells_launches_apart_is_found() -> None:
    right, faulty = [{"N": 4, "grid.x": 2}, {"N": 6, "grid.x": 3}], [{"N": 3, "grid.x": 2}, {"N": 5, "grid.x": 3}]
    assert separating(right, faulty, 2) == "N % 2 == 0"
    assert separating(right, [*faulty, {"N": 6, "grid.x": 3}], 2) is None
    assert separating([], faulty, 2) is None


# --------------------------------------------------------------------------------------------- sabotage
@pytest.mark.parametrize(
    "name",
    [
        *FIVE,
        "one_side_taken",
        "every_order_hands_over",
        "program_order_orders",
        "reads_ignored",
        "pieces_are_launch_wide",
        "unwritten_memory_is_launch_wide",
        "axes_pinned",
    ],
)
def test_a_flawed_prover_is_exposed(name: str) -> None:
    assert exposing(name) is not None


def exposing(name: str) -> Record | None:
    """The kernel that is known to expose a sabotage.

    No other one is looked for, which may take minutes: `python -m campaigns.sabotage NAME` does, if the generator
    or the judge has changed, and tells the number for `KNOWN`.
    """
    (chosen,) = (each for each in SABOTAGES if each.name == name)
    return exposed(chosen, SEED, 1, first=KNOWN[name])


@pytest.mark.parametrize("name", ["key_without_launch", "key_without_surroundings"])
def test_a_key_that_leaves_something_out_is_exposed(name: str) -> None:
    (chosen,) = (each for each in SABOTAGES if each.name == name)
    assert chosen.expose is not None
    failed = evidence(chosen, SEED, 0)
    assert failed is not None
    assert outcomes(failed) == {failed: "passed"}, "it fails without the flaw, too"


@pytest.mark.parametrize(
    "name",
    [
        "unknown_is_a_proof", "all_ranks_differ", "one_lane_is_the_sum", "written_contracts_narrowed",
        "every_clause_is_a_limit", "ranges_one_short",
    ],
)  # fmt: skip
def test_a_flaw_that_generated_kernels_do_not_show_is_exposed_by_one_of_its_own(name: str) -> None:
    (chosen,) = (each for each in SABOTAGES if each.name == name)
    assert chosen.expose is not None
    assert chosen.expose() is None
    assert evidence(chosen, SEED, 0) is not None


def test_shrinking_keeps_the_flaw_and_leaves_little(monkeypatch: pytest.MonkeyPatch) -> None:
    (chosen,) = (each for each in SABOTAGES if each.name == "clauses_forgotten")
    record = exposing("clauses_forgotten")
    assert record is not None
    chosen.commit(monkeypatch)
    tape = kernel(SEED, record.number).tape
    small = shrunk(tape, lambda candidate: same_flaw(candidate, "proved"), most_tries=100)
    generated = generate(replayed(small))
    assert (judge(generated).wrong or "").startswith("proved")
    assert len(small) < len(tape)
    (entry,) = decode(generated.unit.bytecode).entries
    assert len(entry.body.ops) <= 30


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_what_is_proved_more_widely_than_recorded_is_right(count: int) -> None:
    numbers = range(tries(short=count // 3, long=count))
    widened = [found for number in numbers if (found := judge_recorded(kernel(SEED, number), number))]
    assert not [found.wrong for found in widened if found.wrong]
    assert sum(found.result.holds_for == "any" for found in widened) >= len(numbers) // 8
    assert sum(found.tried for found in widened) >= 5 * len(numbers)
