"""Launches under schedules: what an execution may do comes up, and what the model forbids never does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tileverify.backend.interpreter import Budget, bind_launch
from tileverify.backend.interpreter.conflicts import loops_around
from tileverify.backend.interpreter.grid_runs import ScheduledRun, run_schedule
from tileverify.backend.interpreter.ordering import AccessOrder, BlockOrder, Schedule, standard_schedules
from tileverify.backend.interpreter.races import find_races
from tileverify.backend.interpreter.values import BudgetSpent, EndlessLoop
from tileverify.frontend.bytecode.builder import I32, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Entry, Module, Value

from .concurrent import at, kernel, last_block_sums, locked_increment, look_back, message, number, plus, wait_until
from .helpers import array, launch, pointers

STEPS = 1 << 28
SIZE = 16
MOVED = [Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, seed) for seed in range(60)]
ANY_ORDER = [*standard_schedules(8), *MOVED[:12]]
NAMES = ("a", "b", "c")


def run(made: tuple[Module, Entry], blocks: int, schedule: Schedule, steps: int = STEPS) -> ScheduledRun:
    module, entry = made
    names = NAMES[: len(entry.parameters)]
    concrete = launch((blocks, 1, 1), **{name: array("i32", SIZE) for name in names})
    bound = bind_launch(module, entry, pointers(*names), concrete)
    return run_schedule(bound, concrete.grid, [(x, 0, 0) for x in range(blocks)], schedule, Budget(steps))


def contents(run: ScheduledRun, name: str) -> list[int]:
    numbers: list[int] = run.memory.bytes_of(NAMES.index(name)).view("<i4").tolist()
    return numbers


def codes(made: tuple[Module, Entry], run: ScheduledRun) -> set[str]:
    return {race.code for race in find_races(run.trace, loops_around(made[1].body))}


def stops(run: ScheduledRun) -> list[Any]:
    return [log.stopped for log in run.trace.logs if log.stopped is not None]


# --------------------------------------------------------------------------------------- synchronisation
@pytest.mark.parametrize("schedule", ANY_ORDER, ids=str)
def test_a_lock_excludes(schedule: Schedule) -> None:
    made = locked_increment()
    done = run(made, 12, schedule)
    assert not stops(done)
    assert contents(done, "a")[0] == 12
    assert not codes(made, done)


@pytest.mark.parametrize("change", [{"release_waits": False}, {"acquire": "relaxed"}], ids=str)
def test_a_lock_without_its_tokens_or_its_ordering_races(change: dict[str, Any]) -> None:
    made = locked_increment(**change)
    for schedule in standard_schedules(4):
        assert {"TV101", "TV102"} <= codes(made, run(made, 6, schedule))


def test_a_release_that_waits_for_nothing_loses_increments() -> None:
    made = locked_increment(release_waits=False)
    assert {contents(run(made, 6, schedule), "a")[0] for schedule in MOVED[:12]} - {6}


@pytest.mark.parametrize("schedule", ANY_ORDER, ids=str)
def test_the_last_block_sees_all_parts(schedule: Schedule) -> None:
    made = last_block_sums(5)
    done = run(made, 5, schedule)
    assert contents(done, "c")[0] == 15
    assert not codes(made, done)


@pytest.mark.parametrize("change", [{"ordering": "relaxed"}, {"waits": False}, {"protects": False}], ids=str)
def test_the_last_block_without_an_order(change: dict[str, Any]) -> None:
    made = last_block_sums(5, **change)
    done = [run(made, 5, schedule) for schedule in ANY_ORDER]
    assert all("TV102" in codes(made, each) for each in done)
    if change != {"ordering": "relaxed"}:  # without a token, an old part may be read; orderings alone change no run
        assert {contents(each, "c")[0] for each in done} > {15}


@pytest.mark.parametrize("schedule", ANY_ORDER, ids=str)
def test_a_scan_that_looks_back(schedule: Schedule) -> None:
    """Also in reverse order: a block that waits gives way to the one it waits for."""
    made = look_back()
    done = run(made, 8, schedule)
    assert not stops(done)
    assert contents(done, "a")[:8] == [1, 3, 6, 10, 15, 21, 28, 36]
    assert not codes(made, done)


def received(made: tuple[Module, Entry], schedules: Sequence[Schedule]) -> set[tuple[int, int]]:
    """(data, flag) that block 1 saw, over all schedules."""
    return {tuple(contents(run(made, 2, schedule), "c")[:2]) for schedule in schedules}  # type: ignore[misc]


def test_a_message_arrives_whole_or_not_at_all() -> None:
    assert received(message(), MOVED) == {(0, 0), (7, 1)}


@pytest.mark.parametrize("missing", [{"sent": False}, {"received": False}], ids=str)
def test_a_flag_without_a_token_may_arrive_before_its_message(missing: dict[str, Any]) -> None:
    made = message(**missing)
    assert (0, 1) in received(made, MOVED)
    seen = [run(made, 2, schedule) for schedule in MOVED]
    assert all("TV102" in codes(made, each) for each in seen if contents(each, "c")[1])


def test_a_flag_in_block_scope_races() -> None:
    made = message(scope="tl_blk")
    assert any({"TV102", "TV103"} <= codes(made, run(made, 2, schedule)) for schedule in MOVED[:10])


# ------------------------------------------------------------------------------------ order inside a block
def unordered_stores(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    for value in (1, 2):
        f.op("store_ptr_tko", ptr=parameters[0], val=number(f, value))


def ordered_stores(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    token = f.op("store_ptr_tko", ptr=parameters[0], val=number(f, 1))
    f.op("store_ptr_tko", ptr=parameters[0], val=number(f, 2), token=token)


def unordered_load(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    f.op("store_ptr_tko", ptr=parameters[0], val=number(f, 1))
    value, _ = f.op("load_ptr_tko", ptr=parameters[0])
    f.op("store_ptr_tko", ptr=at(f, parameters[0], number(f, 1)), val=value)


def ordered_load(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    token = f.op("store_ptr_tko", ptr=parameters[0], val=number(f, 1))
    token = f.op("join_tokens", tokens=[f.op("make_token"), token])
    value, _ = f.op("load_ptr_tko", ptr=parameters[0], token=token)
    f.op("store_ptr_tko", ptr=at(f, parameters[0], number(f, 1)), val=value)


def doubled_store(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    base = f.op("reshape", s=parameters[0], results=[tile(pointer(I32), 1)])
    base = f.op("broadcast", s=base, results=[tile(pointer(I32), 2)])
    f.op("store_ptr_tko", ptr=base, val=f.constant(tile(I32, 2), 1, 2))


@pytest.mark.parametrize(
    ("build", "place", "values", "found"),
    [
        (unordered_stores, 0, {1, 2}, {"TV201"}),
        (ordered_stores, 0, {2}, set()),
        (unordered_load, 1, {0, 1}, {"TV201"}),
        (ordered_load, 1, {1}, set()),
        (doubled_store, 0, {1, 2}, {"TV202"}),
    ],
)
def test_tokens_and_nothing_else_order_a_block(build: Any, place: int, values: set[int], found: set[str]) -> None:
    made = kernel(1, build)
    done = [run(made, 1, schedule) for schedule in [*standard_schedules(5), *MOVED[:20]]]
    assert {contents(each, "a")[place] for each in done} == values
    assert all(codes(made, each) == found for each in done)


def test_reads_follow_the_order_of_the_trace() -> None:
    """Every load of the trace holds what the latest store before it wrote."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        for step in range(4):
            f.op("store_ptr_tko", ptr=parameters[0], val=plus(f, bid, number(f, 10 * step)))
            value, _ = f.op("load_ptr_tko", ptr=parameters[0])
            place = plus(f, f.op("muli", lhs=bid, rhs=number(f, 4)), number(f, step))
            f.op("store_ptr_tko", ptr=at(f, parameters[1], place), val=value)

    made = kernel(2, build)
    for schedule in MOVED[:20]:
        done = run(made, 3, schedule)
        latest, left = 0, [0] * SIZE
        for (block, number_), access in done.trace.accesses():
            step = number_ // 3  # store, load, store in each step
            if access.origin == 0 and access.kind == "store":
                latest = block + 10 * step
            elif access.kind == "load":
                left[4 * block + step] = latest
        assert contents(done, "b") == left


# ---------------------------------------------------------------------------------------------- waiting
def wait_for(flag: int) -> Any:
    """Every block waits until a[flag] is 1; block 0 sets a[0] (relaxed) before it waits."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        one = number(f, 1)
        is_first = f.op("cmpi", lhs=bid, rhs=number(f, 0), pred="equal", sgn="signed")
        with f.if_(is_first) as first, first.then():
            f.op("store_ptr_tko", ptr=parameters[0], val=one, ord="relaxed", scope="device")
            f.op("yield", args=[])

        def attempt(token: Value) -> tuple[Value, Value]:
            place = at(f, parameters[0], number(f, flag))
            value, after = f.op("load_ptr_tko", ptr=place, token=token, ord="relaxed", scope="device")
            return value, after

        wait_until(f, attempt, one)

    return build


@pytest.mark.parametrize("schedule", ANY_ORDER, ids=str)
def test_a_delayed_store_arrives_in_the_end(schedule: Schedule) -> None:
    assert not stops(run(kernel(1, wait_for(0)), 4, schedule))


@pytest.mark.parametrize("schedule", ANY_ORDER, ids=str)
def test_blocks_that_wait_for_nothing_are_a_deadlock(schedule: Schedule) -> None:
    done = run(kernel(1, wait_for(5)), 4, schedule)
    assert [type(stop) for stop in stops(done)] == [EndlessLoop] * 4
    assert "waits for a change that no block makes any more" in str(stops(done)[0])


def test_threads_end_with_the_run() -> None:
    before = threading.active_count()
    run(kernel(1, wait_for(5)), 20, Schedule(BlockOrder.INTERLEAVED))
    assert threading.active_count() == before


def counted_wait(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    """Block 0 waits for block 1 and counts its attempts, so that no round is like the one before."""
    one, zero = number(f, 1), number(f, 0)
    with f.if_(f.op("cmpi", lhs=bid, rhs=zero, pred="equal", sgn="signed")) as first:
        with first.then():
            with f.loop([zero]) as loop:
                seen, _ = f.op("load_ptr_tko", ptr=parameters[0], ord="relaxed", scope="device")
                with f.if_(f.op("cmpi", lhs=seen, rhs=one, pred="equal", sgn="signed")) as there, there.then():
                    f.op("break", args=[loop.arguments[0]])
                f.op("continue", args=[plus(f, loop.arguments[0], one)])
            f.op("yield", args=[])
        with first.otherwise():
            f.op("store_ptr_tko", ptr=parameters[0], val=one, ord="relaxed", scope="device")
            f.op("yield", args=[])


@pytest.mark.parametrize("schedule", standard_schedules(6), ids=str)
def test_a_block_that_counts_its_attempts_gives_way(schedule: Schedule) -> None:
    assert not stops(run(kernel(1, counted_wait), 2, schedule))


def test_a_spent_budget_stops_every_block() -> None:
    done = run(locked_increment(), 4, Schedule(BlockOrder.INTERLEAVED), steps=1 << 15)
    assert all(isinstance(stop, BudgetSpent) for stop in stops(done))
    assert stops(done)


# -------------------------------------------------------------------------------------------- schedules
@pytest.mark.parametrize("schedule", ANY_ORDER[:8], ids=str)
def test_a_schedule_determines_the_run(schedule: Schedule) -> None:
    made = locked_increment(release_waits=False)
    first, second = (run(made, 6, schedule) for _ in range(2))
    assert first.trace.order == second.trace.order
    assert contents(first, "a") == contents(second, "a")


def test_schedules_differ() -> None:
    made = locked_increment()
    orders = {run(made, 6, schedule).trace.order for schedule in standard_schedules(8)}
    assert len(orders) > 4
    assert len(set(standard_schedules(40))) == 40
    assert len({str(schedule) for schedule in standard_schedules(40)}) == 40


def test_tokens_are_respected_in_every_trace() -> None:
    for schedule in MOVED[:10]:
        trace = run(last_block_sums(5), 5, schedule).trace
        place = {event: number_ for number_, event in enumerate(trace.order)}
        assert len(place) == sum(len(log.accesses) for log in trace.logs)
        for (block, number_), access in trace.accesses():
            for earlier in range(number_):
                if access.waits >> earlier & 1:
                    assert place[block, earlier] < place[block, number_]
