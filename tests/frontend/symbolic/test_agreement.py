"""Summaries against the reference interpreter: compiled kernels on random launches, and random programs."""

from __future__ import annotations

import random

import pytest

from tileverify.backend.interpreter import InterpreterStop
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, Role
from tileverify.contract.trustable import ASSERT_STOPS
from tileverify.frontend.bytecode import decode, encode
from tileverify.frontend.bytecode.builder import I32, ModuleBuilder, pointer, tile
from tileverify.frontend.sources.abi import under_trust

from ...grids import blocks_of
from ...profiles import tries
from .agreement import LaunchMaker, Outcome, OutOfReach, compare
from .compiled import decoded, summary
from .programs import ProgramMaker
from .token_programs import TokenProgramMaker

KERNELS = (  # the others go by values that are not known before the run
    "copy",
    "transposed",
    "persistent",
    "grouped_product",
    "gathered",
    "gathered_rows",
    "counted_while",
    "early_return",
    "in_place",
    "nested",
    "python_division",
    "found_group",
)

pytestmark = pytest.mark.random

LAUNCHES = 12
PROGRAMS = tries(short=12, long=120)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_touch_what_their_summary_says(kernel: str) -> None:
    module, entry, unit = decoded("patterns.py", kernel)
    blocks = accesses = 0
    for seed in range(LAUNCHES):
        launch = LaunchMaker(entry, unit.parameters, seed, multiple=16 if seed % 2 else 1).make()
        places = list(blocks_of(launch.grid))
        random.Random(seed).shuffle(places)
        outcome = compare(module, entry, unit.parameters, launch, places[:3], summary=summary(kernel), budget=1 << 23)
        blocks += outcome.blocks
        accesses += outcome.accesses
    assert blocks, "no launch ran without undefined behaviour"
    assert accesses, "no launch touched memory"


@pytest.mark.parametrize("chunk", range(5))
def test_programs_whose_assertions_stop_blocks_touch_what_their_summary_says(chunk: int) -> None:
    total, stopped = Outcome(), 0
    for seed in range(chunk * 2 * PROGRAMS, (chunk + 1) * 2 * PROGRAMS):
        module, parameters, launch = ProgramMaker(seed, asserts=True).make()
        entry = under_trust(module.entries[0], [ASSERT_STOPS])
        try:
            outcome = compare(module, entry, parameters, launch, budget=1 << 22)
        except (OutOfReach, InterpreterStop):
            continue
        total.blocks += outcome.blocks
        total.accesses += outcome.accesses
        stopped += outcome.stopped
    assert total.blocks
    assert total.accesses
    assert stopped


@pytest.mark.parametrize("chunk", range(10))
def test_random_programs_touch_what_their_summary_says(chunk: int) -> None:
    total = Outcome()
    for seed in range(chunk * PROGRAMS, (chunk + 1) * PROGRAMS):
        module, parameters, launch = ProgramMaker(seed).make()
        try:
            outcome = compare(module, module.entries[0], parameters, launch, budget=1 << 22)
        except (OutOfReach, InterpreterStop):
            continue
        total.blocks += outcome.blocks
        total.accesses += outcome.accesses
        total.waits += outcome.waits
        total.unclaimed += outcome.unclaimed
    assert total.blocks
    assert total.accesses
    assert total.unclaimed <= 5 + total.waits // 10, "waits of the run that the summary does not know"


@pytest.mark.parametrize("chunk", range(4))
def test_tokens_that_loops_hand_around_await_what_they_do_in_a_run(chunk: int) -> None:
    total = Outcome()
    for seed in range(chunk * 2 * PROGRAMS, (chunk + 1) * 2 * PROGRAMS):
        module, parameters, launch = TokenProgramMaker(seed).make()
        try:
            outcome = compare(module, module.entries[0], parameters, launch, budget=1 << 18)
        except (OutOfReach, InterpreterStop):
            continue
        total.accesses += outcome.accesses
        total.waits += outcome.waits
        total.unclaimed += outcome.unclaimed
    assert total.accesses
    assert total.waits
    assert total.unclaimed <= 10 + total.waits // 10, "waits of the run that the summary does not know"


def test_tokens_that_come_out_of_a_loop_may_await_more_than_is_told() -> None:
    """Two tokens that change places four times are what they were; a summary tells less of them, which is no fault."""
    builder = ModuleBuilder()
    with builder.entry("k", (tile(pointer(I32)),)) as f:
        zero, one, four = (f.constant(tile(I32), number) for number in (0, 1, 4))
        done = f.op("store_ptr_tko", ptr=f.parameters[0], val=one, token=f.op("make_token"))
        with f.for_(zero, four, one, [done, f.op("make_token")]) as loop:
            f.op("continue", args=[loop.arguments[2], loop.arguments[1]])
        place = f.op("offset", ptr=f.parameters[0], off=one)
        f.op("store_ptr_tko", ptr=place, val=one, token=loop.results[0])
        f.op("return")
    module = decode(encode(builder.build()))
    launch = ConcreteLaunch((1, 1, 1), {"a": ConcreteArray("i32", (4,), (1,), {})}, {})
    outcome = compare(module, module.entries[0], [EntryParameter(Role.POINTER, "a")], launch)
    assert (outcome.accesses, outcome.waits, outcome.unclaimed) == (2, 0, 1)
