"""The labels against the reference interpreter, which shares nothing with the prover.

For every launch of the corpus some concrete launches within its contract run under several schedules.  Where the label
says proved, no fault may show in any of them and all results agree; where it says refuted, the labelled fault must
show in every one, as only then no clause could save some launches.

What a finite launch cannot show, and is therefore not asked of it here:

* that a kernel is right: `proved` speaks of all launches, these are a few of them;
* that a tool must add a clause or must stay undecided: only that there are launches of both kinds, which a clause or
  a fact about data would have to tell apart;
* the race of `racy/index_wrap.py` in a whole launch: it takes four million blocks, of which the corners, neighbours
  and powers of two run here;
* that a race changes a result: in some racy kernels it does not, or not in any order that is simulated
  (`ONE_RESULT`).  The race is a fault all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from tileverify.backend.interpreter.ordering import Schedule, standard_schedules
from tileverify.backend.replay.explore import Exploration
from tileverify.contract.launch import ConcreteLaunch, KernelUnit
from tileverify.corpus import Labelled, corpus_launches
from tileverify.results import Verdict

from ..profiles import tries
from .compiled import units
from .launches import SCHEDULES, drawn_launches, observe
from .written import unfilled_codes

pytestmark = pytest.mark.random

LAUNCHES_EACH = tries(short=1, long=4)
LAUNCHES_FOR_OUTCOMES = 2
LAUNCHES_TO_SEPARATE = 100
"""Labels that need this have launches of both kinds, which a clause must tell apart."""

RACES = frozenset({"TV101", "TV102", "TV103", "TV201", "TV202"})

SAME_VALUES = "whichever store comes last, it writes the same value"
ATOMIC_HERE = "the interpreter's atomics are atomic in any scope, and sums do not depend on the order"
NO_LATE_LOAD = "no load happens later than it runs, so a store does not overtake a load of its own block"
LANDED = "a block that waits lets its stores land first"
NO_EARLY_LOAD = "no load is made before the branch that it stands behind"
ALL_COUNTED = "a count that shows that all are over is the last one in every schedule, though nothing orders it"
LEFT_OPEN = "which of equal scores its reduction takes is left open, so that the place is compared with nothing"
ONE_RESULT = {
    "explained/tv201.py::clamp": NO_LATE_LOAD,
    "twins/equal_stores.py::first_row_open_padding": LEFT_OPEN,
    "twins/equal_stores.py::store_then_read": SAME_VALUES,
    "data/groups_in_turns.py::add_bias_to_first_group": SAME_VALUES,
    "racy/block_scope.py::total_in_block_scope": ATOMIC_HERE,
    "order/same_array_twice.py::relu_into": NO_LATE_LOAD,
    "found/norm_backward.py::norm_backward": NO_LATE_LOAD,
    "racy/missing_grid_axis.py::double": SAME_VALUES,
    "racy/persistent_wrong_step.py::constant_step": SAME_VALUES,
    "racy/persistent_wrong_step.py::step_one_short": SAME_VALUES,
    "protocols/counter_tree.py::sum_parts_by_tree_releasing": NO_EARLY_LOAD,
    "protocols/grid_barrier.py::rotate_behind_relaxed_barrier": LANDED,
    "protocols/lock_words.py::add_given_in_block_scope": ATOMIC_HERE,
    "protocols/try_locks.py::fill_after_four_tries": SAME_VALUES,
    "protocols/try_locks.py::fill_if_free_and_give_always": SAME_VALUES,
    "contract/guarded_work.py::clear_first_if_asked": SAME_VALUES,
    "contract/guarded_work.py::clear_first_unless_full": SAME_VALUES,
    "contract/row_spacing.py::write_spaced_too_close": SAME_VALUES,
    "protocols/last_block.py::sum_by_last_release_only": NO_EARLY_LOAD,
    "protocols/last_block_again.py::sum_and_put_back_relaxed": ALL_COUNTED,
    "protocols/look_back.py::look_back_by_status_relaxed": LANDED,
    "protocols/tickets.py::fill_by_unrelated_counters": SAME_VALUES,
    "cutile_rust/positions.tileirbc::axpy_within_f32_first_tile_entry": "its factor is 0, so that y stays as it is",
    "cutile_rust/tiles.tileirbc::argmax_blocks_f16_first_block_entry": LEFT_OPEN,
    "cutile_rust/tiles.tileirbc::matmul_swizzled_f16_first_of_group_entry": SAME_VALUES,
    "tile_cpp/heads.cu::attention_of_head_twice": SAME_VALUES,
    "tile_cpp/vectors.cu::add_vectors_half": SAME_VALUES,
}
"""Racy kernels (file and name) that leave one result in all schedules, and why."""

IN_FEW_ORDERS = frozenset({
    "protocols/lock_words.py::add_by_owner_from_zero",
    "protocols/locks_in_loops.py::add_after_looking_alone",
    "protocols/meetings.py::sum_by_second_to_come_releasing",
    "protocols/threshold.py::sum_behind_whoever_counts",
})  # fmt: skip
"""Racy kernels of which blocks must meet at a certain moment, so that more orders are tried than of others."""
MORE_ORDERS = standard_schedules(60)

AT_WORK: dict[str, Callable[[Mapping[str, int]], bool]] = {
    "contract/guarded_work.py::clear_first_unless_full": lambda known: known["limit"] > 100,
    "contract/guarded_work.py::clear_first_if_asked": lambda known: known["limit"] > 0,
    "contract/read_axes.py::add_columns_plain": lambda known: (
        1 < known["grid.y"] <= -(-known["N"] // 64) and known["grid.x"] <= known["M"]
    ),
    "contract/read_axes.py::number_rows_by_column": lambda known: known["grid.y"] > 1 and known["grid.x"] <= known["M"],
    "protocols/last_block.py::sum_by_second": lambda known: known["N"] >= 3 * 64,
    "data/groups_in_turns.py::add_bias_to_first_group": lambda known: 0 <= known["chosen"] < 8,
}
"""Racy kernels whose contract has launches that do none of the work, and how to know the others."""

QUICK: dict[str, Callable[[Mapping[str, int]], bool]] = {
    "cutile_rust/rows.tileirbc::splitk_reduce_merge_entry": lambda known: known["SPLITS"] * known["M"] <= 8,
    "cutile_rust/rows.tileirbc::splitk_reduce_merge_row_below_entry": lambda known: known["SPLITS"] * known["M"] <= 8,
    "loops/recurrence.py::running_states_in_one_row": lambda known: known["T"] <= 33,
    "loops/stages.py::cursor": lambda known: known["rounds"] <= 65 and known["B"] <= 17,
    "loops/stages.py::cursor_with_a_slip": lambda known: known["rounds"] <= 65 and known["B"] <= 17,
    "twins/mixed_coordinates.py::fill_by_two_numbers": lambda known: known["M"] <= 300,
}
"""Kernels of which most launches take seconds, and how to know the others, which a short run is content with."""


def observed(
    label: Labelled, count: int, schedules: tuple[Schedule, ...] = SCHEDULES
) -> Iterator[tuple[ConcreteLaunch, Exploration]]:
    schedules = MORE_ORDERS if _name(label) in IN_FEW_ORDERS else schedules
    for launch in drawn(label, count):
        yield launch, seen(label, launch, schedules)


def _name(label: Labelled) -> str:
    """File and kernel."""
    return label.id.split("[")[0]


def drawn(label: Labelled, count: int) -> list[ConcreteLaunch]:
    name = _name(label)
    tables = (AT_WORK, QUICK) if tries(short=True, long=False) else (AT_WORK,)
    asked = [table[name] for table in tables if name in table]
    launches = drawn_launches(
        unit_of(label).launch, count, seed=1, admits=lambda known: all(each(known) for each in asked)
    )
    assert launches, "no launch within the contract was found"
    return launches


def seen(label: Labelled, launch: ConcreteLaunch, schedules: tuple[Schedule, ...]) -> Exploration:
    return observe(unit_of(label), launch, schedules, undetermined="TV403" in label.warnings)


def unit_of(label: Labelled) -> KernelUnit:
    return units()[str(label.file), label.kernel, label.launch]


def labels(verdict: Verdict, *, separable: bool = False) -> pytest.MarkDecorator:
    chosen = [each for each in corpus_launches() if each.verdict is verdict and _is_separable(each) is separable]
    return pytest.mark.parametrize("label", chosen, ids=lambda label: label.id)


def _is_separable(label: Labelled) -> bool:
    """Limits of launches of numbers are those of the wider contract that is proved."""
    return bool(label.adds) or label.some or (bool(label.limits) and label.folder == "contract")


def codes_of(label: Labelled, launch: ConcreteLaunch, found: Exploration) -> frozenset[str]:
    """What the schedules showed, and what was written when."""
    return found.codes | unfilled_codes(unit_of(label), launch)


@labels(Verdict.PROVED)
def test_no_fault_shows_where_the_label_says_proved(label: Labelled) -> None:
    """Remarks may: no obligation forbids to copy what stands in the clipped part of a tile."""
    for launch, found in observed(label, LAUNCHES_EACH):
        assert not codes_of(label, launch, found), f"{label.reason}\n{launch}\n{found.text()}"
        assert found.agrees, f"{label.reason}\n{launch}\n{found.text()}"


@labels(Verdict.REFUTED)
def test_every_launch_shows_the_labelled_fault(label: Labelled) -> None:
    for launch, found in observed(label, LAUNCHES_EACH):
        codes = codes_of(label, launch, found)
        assert label.code in codes, f"{label.reason}\n{launch}\n{found.text()}"
        assert codes <= label.codes, f"{label.reason}\n{launch}\n{found.text()}"


def some_are_right_and_some_wrong(label: Labelled) -> bool:
    """Looks at no more launches than it takes to see one of each kind."""
    each = observed(label, LAUNCHES_TO_SEPARATE, SCHEDULES[:1])
    found = (bool(codes_of(label, launch, seen)) for launch, seen in each)
    first = next(found)
    return any(each is not first for each in found)


@labels(Verdict.REFUTED, separable=True)
def test_some_launches_are_right_and_some_wrong_where_a_contract_promises_too_little(label: Labelled) -> None:
    assert some_are_right_and_some_wrong(label)


@labels(Verdict.PROVED, separable=True)
def test_some_launches_are_right_and_some_wrong_where_a_clause_must_separate_them(label: Labelled) -> None:
    assert some_are_right_and_some_wrong(label)


WRAPPING_SUMS = "data/groups_in_turns.py::add_bias_by_group[not-observed]"
"""Only contents whose sum wraps in 32 bits show the fault, and those are not drawn."""


@labels(Verdict.UNDECIDED)
def test_data_alone_decides_where_a_fact_is_missing(label: Labelled) -> None:
    if label.id == WRAPPING_SUMS:
        assert not any(found.codes for _, found in observed(label, LAUNCHES_TO_SEPARATE, SCHEDULES[:1]))
        return
    assert some_are_right_and_some_wrong(label)


RACY = [
    label for label in corpus_launches() if label.verdict is Verdict.REFUTED and label.code in RACES and not label.some
]


@pytest.mark.parametrize("label", RACY, ids=lambda label: label.id)
def test_a_race_that_changes_the_result_is_seen_as_two_outcomes(label: Labelled) -> None:
    """With six schedules; what the first two of them show is asked first, for two outcomes of two are two of six."""
    launches = drawn(label, LAUNCHES_FOR_OUTCOMES)
    orders = (standard_schedules(2), MORE_ORDERS if _name(label) in IN_FEW_ORDERS else standard_schedules(6))
    two = any(not seen(label, launch, schedules).agrees for schedules in orders for launch in launches)
    assert two == (_name(label) not in ONE_RESULT)


def test_one_result_and_few_orders_are_claimed_of_racy_kernels_only() -> None:
    assert ONE_RESULT.keys() | IN_FEW_ORDERS <= set(map(_name, RACY))
