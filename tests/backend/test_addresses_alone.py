"""Blocks that compute only what decides about accesses make the very accesses that they always make."""

from __future__ import annotations

from itertools import islice, product

import pytest

from tileverify.backend.interpreter import BlockLog, Budget, Memory, bind_launch, run_block
from tileverify.backend.interpreter.access_log import DynamicAccess
from tileverify.backend.replay.replay import OF_ACCESSES
from tileverify.contract.concrete import Block, ConcreteLaunch
from tileverify.contract.launch import KernelUnit
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.address_uses import beside_addresses
from tileverify.pipeline import entry_of

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
                events = [
                    [(event.code, event.offset, event.address) for event in log.events if event.code in OF_ACCESSES]
                    for log in (every, few)
                ]
                assert events[0] == events[1], where
        shortened += bool(beside_addresses(entry))
    assert shortened > 3
