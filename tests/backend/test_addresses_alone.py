"""Blocks that compute only what decides about accesses make the very accesses that they always make."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import pytest
from tests.written_kernel import unit_at, written

from tileverify.backend.interpreter import BlockLog, Budget, Memory, bind_launch, run_block
from tileverify.backend.interpreter.access_log import DynamicAccess
from tileverify.contract.launch import Block, ConcreteLaunch, KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.entry_uses import beside_addresses
from tileverify.pipeline.unit_summary import entry_of

from ..corpus.compiled import corpus_kernels
from ..corpus.launches import drawn_launches
from ..profiles import tries

STEPS = 1 << 26
BLOCKS = 3
LARGEST = 2048
"""Of the sizes and scalars of a launch."""
EVERY = tries(short=5, long=1)
"""Of the kernels of the corpus one in so many is looked at."""


def log_of(unit: KernelUnit, launch: ConcreteLaunch, block: Block, *, alone: bool) -> BlockLog:
    module = decode(unit.bytecode, file=str(unit.file))
    bound = bind_launch(module, entry_of(module, unit), unit.parameters, launch)
    if alone:
        bound.program.by_addresses_alone()
    return run_block(bound.program, bound.arguments, Memory(bound.image), launch.grid, block, Budget(STEPS), apart=True)


def essence(access: DynamicAccess) -> object:
    places = tuple(each and (each.width, each.addresses().tolist()) for each in (access.reads, access.writes))
    return access.op.offset, access.kind, access.origin, places, access.waits, access.iterations


@pytest.mark.random
@pytest.mark.parametrize("part", range(8))
def test_the_same_accesses_are_made(part: int) -> None:
    """Of every kernel, in a launch that is drawn: with their places, their order, and what goes wrong at them."""
    shortened = 0
    for unit in islice(corpus_kernels(), part, None, 8 * EVERY):
        entry = entry_of(decode(unit.bytecode, file=str(unit.file)), unit)
        # Small ones: a long run may end by its budget, in which fewer steps get further.
        small = drawn_launches(
            unit.launch, 1, seed=part, admits=lambda known: max(known.values(), default=0) <= LARGEST
        )
        for launch in small:
            x, y, z = map(range, launch.grid)
            for block in islice(product(x, y, z), BLOCKS):
                every, few = (log_of(unit, launch, block, alone=alone) for alone in (False, True))
                where = f"{unit.file.name}::{unit.kernel} {launch} {block}"
                assert list(map(essence, few.accesses)) == list(map(essence, every.accesses)), where
                assert few.left_out == every.left_out, where
                assert str(few.stopped) == str(every.stopped), where
                # Arithmetic that is not defined, too: a fault that comes later is not the first one.
                events = [[(event.code, event.offset, event.address) for event in log.events] for log in (every, few)]
                assert events[0] == events[1], where
        shortened += bool(beside_addresses(entry))
    assert shortened > 3


QUOTIENT = """
import cuda.tile as ct

@ct.kernel
def quotient(x, divisors, out):
    i = ct.bid(0)
    rest = ct.load(x, (i,), (16,)) % 7
    ct.store(out, (i,), rest // ct.load(divisors, (i,), (16,)))
"""


def test_what_is_not_defined_for_all_numbers_is_computed(tmp_path: Path) -> None:
    """A quotient that is merely stored: of a divisor 0 nobody knows what it does, as little as of an access outside."""
    unit = unit_at(
        written(
            tmp_path,
            QUOTIENT,
            '[[launch]]\nkernel = "quotient"\ngrid = ["N // 16"]\nrequires = ["N % 16 == 0"]\n'
            'args = { x = "i32[N]", divisors = "i32[N]", out = "i32[N]" }\n',
            "quotient",
        )
    )
    (launch,) = drawn_launches(unit.launch, 1, seed=1)
    empty = {name: replace(array, contents={}, fill=0) for name, array in launch.arrays.items()}
    for zeros in (launch, replace(launch, arrays=empty)):
        every, few = (log_of(unit, zeros, (0, 0, 0), alone=alone) for alone in (False, True))
        assert [event.code for event in few.events] == [event.code for event in every.events]
    assert {event.code for event in few.events} == {"TV402"}
