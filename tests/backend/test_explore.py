"""Exploration: races, both outcomes, deadlocks and stops, each with the schedule that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.frontend.symbolic.programs import ProgramMaker

from tileverify.backend.interpreter.ordering import AccessOrder, BlockOrder, Schedule, standard_schedules
from tileverify.backend.replay.explore import Exploration, explore
from tileverify.contract.launch import ConcreteArray
from tileverify.frontend.bytecode.builder import F32, I32, BodyBuilder, pointer, tile
from tileverify.frontend.bytecode.model import Entry, Module, Value

from .concurrent import (
    at,
    equal,
    kernel,
    last_block_sums,
    locked_increment,
    look_back,
    message,
    number,
    plus,
    wait_until,
)
from .helpers import array, compiled, decoded, hand_made, launch, pointers
from .test_schedules import NAMES, wait_for

SIZE = 16


def explored(
    made: tuple[Module, Entry], blocks: int, arrays: Mapping[str, ConcreteArray] | None = None, **options: Any
) -> Exploration:
    module, entry = made
    names = NAMES[: len(entry.parameters)]
    given = {name: array("i32", SIZE) for name in names} | dict(arrays or {})
    return explore(module, entry, pointers(*names), launch((blocks, 1, 1), **given), {}, **options)


def own_number(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    f.op("store_ptr_tko", ptr=parameters[0], val=plus(f, bid, number(f, 10)))


def test_both_outcomes_of_a_race_are_reported() -> None:
    found = explored(kernel(1, own_number), 2)
    assert found.codes == {"TV101"}
    (race,) = found.races
    assert race.element == "a[0]"
    assert race.second is not None
    assert {race.first.block, race.second.block} == {(0, 0, 0), (1, 0, 0)}
    (outcome,) = found.outcomes
    (difference,) = outcome.differences
    (element,) = difference.elements
    assert (element.element, element.first, element.second) == ("a[0]", 11, 10)
    assert str(found.schedules[0]) == "blocks in order"
    assert str(outcome.schedule) == "blocks in reverse order"
    assert not found.agrees


def test_the_text_names_race_outcomes_and_schedules() -> None:
    text = explored(kernel(1, own_number), 2).text(lambda op: f"line {op.name}")
    assert text.splitlines() == [
        "explored 8 schedules of grid (2, 1, 1)",
        "TV101: race on a[0], seen with blocks in order",
        "    store in block (0, 0, 0): line store_ptr_tko",
        "    store in block (1, 0, 0): line store_ptr_tko",
        "two outcomes: (1) blocks in order; (2) blocks in reverse order",
        "    a[0]: (1) 11  (2) 10",
        "    1 element of a differs",
        "1 race; the outcome depends on the schedule",
    ]


@pytest.mark.parametrize(
    ("made", "blocks"),
    [(locked_increment(), 4), (last_block_sums(4), 4), (look_back(), 4), (message(), 2)],
    ids=["lock", "last", "look-back", "message"],
)
def test_no_race_in_synchronised_kernels(made: tuple[Module, Entry], blocks: int) -> None:
    found = explored(made, blocks, schedules=10)
    assert not found.races
    assert not found.stops


def of_compiled(kernel: str, blocks: int, **arrays: ConcreteArray) -> Exploration:
    module, entry = decoded("locks", kernel)
    concrete = launch((blocks, 1, 1), **arrays)
    return explore(module, entry, compiled("locks", kernel).parameters, concrete, {}, schedules=10)


def test_a_compiled_lock_excludes_and_one_without_acquire_does_not() -> None:
    lock, data = array("i32", 1), array("i32", 16)
    assert of_compiled("locked", 6, lock=lock, data=data).faultless
    found = of_compiled("relaxed", 6, lock=lock, data=data)
    assert found.codes == {"TV101", "TV102"}
    assert not found.agrees


def test_the_last_block_of_a_compiled_reduction() -> None:
    x = array("i32", 128, contents={i: i for i in range(128)})
    found = of_compiled("last_block", 8, x=x, partial=array("i32", 8), counter=array("i32", 1), out=array("i32", 1))
    assert found.faultless


def test_agreement_is_said() -> None:
    found = explored(locked_increment(), 4)
    assert found.faultless
    assert found.text() == "explored 8 schedules of grid (4, 1, 1)\nall schedules agree; no race was seen\n"


def test_a_race_whose_outcomes_agree() -> None:
    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        f.op("store_ptr_tko", ptr=parameters[0], val=number(f, 3))

    found = explored(kernel(1, build), 3)
    assert found.agrees
    assert found.codes == {"TV101"}
    assert found.text().endswith("1 race; the schedules agree\n")


def test_order_dependence_without_a_race_is_an_outcome() -> None:
    """Tickets: the atomics are well synchronised, and still the order decides who gets which."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        counter, tickets = parameters
        old, _ = f.op("atomic_rmw_tko", ptr=counter, arg=number(f, 1), ord="relaxed", scope="device", mode="add")
        f.op("store_ptr_tko", ptr=at(f, tickets, bid), val=old)

    found = explored(kernel(2, build), 3)
    assert not found.races
    assert not found.agrees
    assert {each.array for outcome in found.outcomes for each in outcome.differences} == {"b"}


def test_no_number_is_no_number() -> None:
    """An infinity less an infinity may be NaN of either sign, in one order or another."""

    def build(f: BodyBuilder) -> None:
        out, parts = f.parameters
        value, _ = f.op("load_ptr_tko", ptr=at(f, parts, f.op("get_tile_block_id")[0]))
        f.op("atomic_rmw_tko", ptr=out, arg=value, ord="relaxed", scope="device", mode="addf")

    module, entry = hand_made([tile(pointer(F32))] * 2, build)
    concrete = launch((3, 1, 1), a=array("f32", 1), b=array("f32", 3))
    parts = np.array([np.inf, -np.inf, np.nan], np.float32)
    assert explore(module, entry, pointers("a", "b"), concrete, {"b": parts}, schedules=12).agrees


def test_rounding_of_float_sums_is_told_apart() -> None:
    """0.1, 1e6 and -1e6 in another order give another last bit; a store in another order gives another value."""

    def build(f: BodyBuilder, swapped: bool) -> None:
        out, parts = f.parameters
        bid = f.op("get_tile_block_id")[0]
        value, _ = f.op("load_ptr_tko", ptr=at(f, parts, bid))
        if swapped:
            f.op("store_ptr_tko", ptr=out, val=value)
        else:
            f.op("atomic_rmw_tko", ptr=out, arg=value, ord="relaxed", scope="device", mode="addf")

    parts = np.array([0.1, 12345.678, 0.3, 777.7], np.float32)
    found = []
    for swapped in (False, True):

        def body(f: BodyBuilder, swapped: bool = swapped) -> None:
            build(f, swapped)

        module, entry = hand_made([tile(pointer(F32))] * 2, body)
        concrete = launch((4, 1, 1), a=array("f32", 1), b=array("f32", 4))
        found.append(explore(module, entry, pointers("a", "b"), concrete, {"b": parts}, schedules=12))
    summed, stored = found
    assert summed.outcomes
    assert all(outcome.rounding for outcome in summed.outcomes)
    assert summed.faultless
    assert "but for the rounding of atomic float sums" in summed.text()
    assert not stored.agrees


def test_a_deadlock_is_reported() -> None:
    found = explored(kernel(1, wait_for(5)), 3, schedules=2)
    (stop,) = found.stops
    assert stop.deadlock
    assert len(stop.blocks) == 3
    assert "deadlock: the loop at" in found.text()
    assert not found.faultless


def crossed_locks(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
    """Block 0 takes lock 0 and then lock 1, block 1 the other way round."""
    first, second = (at(f, parameters[0], each) for each in (bid, f.op("subi", lhs=number(f, 1), rhs=bid)))
    zero, one = number(f, 0), number(f, 1)

    def taking(lock: Value) -> Any:
        def attempt(token: Value) -> tuple[Value, Value]:
            old, after = f.op("atomic_cas_tko", ptr=lock, cmp=zero, val=one, token=token, ord="acq_rel", scope="device")
            return old, after

        return attempt

    taken = f.op("join_tokens", tokens=[wait_until(f, taking(lock), zero) for lock in (first, second)])
    for lock in (second, first):
        f.op("store_ptr_tko", ptr=lock, val=zero, token=taken, ord="release", scope="device")


def test_locks_in_opposite_orders_deadlock_only_when_interleaved() -> None:
    made = kernel(1, crossed_locks)
    assert explored(made, 2, schedules=[Schedule(BlockOrder.SEQUENTIAL), Schedule(BlockOrder.REVERSED)]).faultless
    drawn = [Schedule(BlockOrder.INTERLEAVED, AccessOrder.PROGRAM, seed) for seed in range(12)]
    found = explored(made, 2, schedules=drawn)
    assert [stop.deadlock for stop in found.stops] == [True]
    assert found.stops[0].schedule in drawn


def test_undefined_behaviour_is_reported_once() -> None:
    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        f.op("store_ptr_tko", ptr=at(f, parameters[0], plus(f, bid, number(f, SIZE))), val=bid)

    found = explored(kernel(1, build), 3)
    assert [event.code for event in found.events] == ["TV302"]
    assert found.codes == {"TV302"}
    assert "TV302: store_ptr_tko leaves a" in found.text()


def test_failed_assertions_and_stored_garbage_are_remarks() -> None:
    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        old, _ = f.op("atomic_rmw_tko", ptr=parameters[0], arg=number(f, 1), ord="relaxed", scope="device", mode="add")
        f.op("assert", c=equal(f, old, bid), msg="in order")
        local = f.op("alloca", num_elem=1, align=4, results=[tile(pointer(I32))])
        f.op("store_ptr_tko", ptr=at(f, parameters[1], bid), val=f.op("load_ptr_tko", ptr=local)[0])

    found = explored(kernel(2, build), 2)
    assert [(remark.text, remark.op.name, str(remark.schedule)) for remark in found.remarks] == [
        ("a value that the specification leaves open reaches the written value of store_ptr_tko", "store_ptr_tko",
         "blocks in order"),
        ("assertion 'in order' fails", "assert", "blocks in reverse order"),
    ]  # fmt: skip
    assert not found.races
    assert not found.faultless


def test_a_spent_budget_is_said() -> None:
    found = explored(kernel(1, own_number), 2, budget=1 << 15)
    assert found.unfinished
    assert not found.faultless
    assert "not run, for the budget is spent" in found.text()


def test_open_bytes_are_compared_with_care() -> None:
    """What both runs leave unspecified is no difference; what one of them leaves so, is one."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        local = f.op("alloca", num_elem=1, align=4, results=[tile(pointer(I32))])
        garbage, _ = f.op("load_ptr_tko", ptr=local)
        f.op("store_ptr_tko", ptr=parameters[0], val=garbage)
        f.op("store_ptr_tko", ptr=at(f, parameters[0], number(f, 1)), val=garbage)
        f.op("store_ptr_tko", ptr=at(f, parameters[0], number(f, 1)), val=number(f, 4))

    found = explored(kernel(1, build), 1, schedules=[Schedule(), Schedule(accesses=AccessOrder.EXTREME)])
    (outcome,) = found.outcomes
    (difference,) = outcome.differences
    assert [(each.element, each.first, each.second) for each in difference.elements] == [("a[1]", 4, None)]


def test_memory_that_blocks_allocate_is_no_result() -> None:
    """Two allocations of different sizes: which block's is the first one depends on the schedule."""

    def build(f: BodyBuilder, parameters: Sequence[Value], bid: Value) -> None:
        token = f.op("make_token")
        for count in (1, 2):
            local = f.op("alloca", num_elem=count, align=4, results=[tile(pointer(I32))])
            token = f.op("store_ptr_tko", ptr=local, val=bid, token=token)
        f.op("store_ptr_tko", ptr=at(f, parameters[0], bid), val=bid, token=token)

    found = explored(kernel(1, build), 3, schedules=standard_schedules(8))
    assert found.agrees
    assert not found.codes


def of_random_program(seed: int, schedules: Sequence[Schedule]) -> Exploration:
    module, parameters, concrete = ProgramMaker(seed, flags=False).make()
    return explore(module, module.entries[0], parameters, concrete, {}, schedules=schedules, budget=1 << 26)


@pytest.mark.parametrize("seed", range(60))
def test_a_race_free_program_has_one_outcome(seed: int) -> None:
    """Random integer programs: where the first schedule shows no race, no schedule shows another result or a race."""
    schedules = [
        Schedule(),
        Schedule(BlockOrder.REVERSED),
        Schedule(BlockOrder.SEQUENTIAL, AccessOrder.EXTREME),
        *(Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, place) for place in range(4)),
    ]
    first = of_random_program(seed, schedules[:1])
    if not (first.races or first.stops):
        found = of_random_program(seed, schedules)
        assert not found.races
        assert found.agrees


def test_random_programs_are_of_both_kinds() -> None:
    """The property above speaks of some of its programs, and races of others do change results."""
    kinds = set()
    for seed in range(20):
        found = of_random_program(seed, standard_schedules(5))
        kinds.add((bool(found.races), found.agrees))
    assert kinds >= {(False, True), (True, False)}
