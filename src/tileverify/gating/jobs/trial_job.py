"""In the sandbox: a proved kernel on small inputs or exact numbers, for a comparison with a reference outside.

`backend.numbers.trial_launches` chooses the launches, `trial_contents` what their arrays hold; both by a seed that no
submission knows.  Each launch runs with its blocks in the order of their ids, and in other orders: the usual one of a
kernel that has one result by proof, all of another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from time import process_time
from typing import Final, TypeGuard

import msgspec
import numpy as np
from msgspec.structs import replace

from ...backend.interpreter.ordering import AccessOrder, BlockOrder, Schedule
from ...backend.interpreter.values import RUN
from ...backend.numbers.array_files import Array
from ...backend.numbers.blocks import Executed, execute_launch
from ...backend.numbers.choose import ContractInNumbers, extent
from ...backend.numbers.inputs import Inputs, view
from ...backend.numbers.odd_launches import Narrow, odd_launches, with_odd
from ...backend.numbers.trial_launches import (
    MOST_TOLD,
    NARROW,
    at_turning_points,
    chosen_launches,
    constants_of,
    sibling,
)
from ...backend.numbers.turning_contents import with_turning_points
from ...backend.replay.explore import Exploration, explore
from ...contract.launch import Argument, ConcreteArray, ConstantArgument, KernelUnit, flat
from ...equality.kernel_runs import SentEnd, SentGap, framed, runs
from ...equality.op_rules import ExactKernel
from ...equality.points import Options
from ...frontend.bytecode import decode
from ...frontend.bytecode.model import Entry, Module
from ...frontend.bytecode.traverse import walk
from ...pipeline.unit_summary import entry_of
from ...system.errors import UsageError
from .compile_job import Send, claims_of, specs_of
from .job_messages import ArrayBytes, LaunchLine, TrialEnd, TrialRequest, harmless_text, said
from .prove_job import unit_of
from .trial_contents import EXTREME, RUNS, fillings_of, inputs_of

LARGE: Final = 1 << 16
"""Elements of a launch that is tried with one filling alone."""
WITH_RUNS: Final = (128, LARGE)
"""Elements, from so many and below so many, of one that is tried with runs of zeros, too: it has several tiles."""
MANY: Final = 64
"""Blocks of such a launch: they run one by one, and the usual launch has shown all contents."""
MOST_SCALARS: Final = 32
"""Launches that differ from the usual one in a scalar."""
LONGEST_S: Final = 15.0
"""Of the processor, for all launches of a kernel; what is left then, the largest ones, is told."""
ORDERS_S: Final = 10.0
"""After so much of it, further launches run in one order alone, which is told."""
ORDER_STEPS: Final = 1 << 24
"""Of the interpreter, for all orders of one launch."""


def try_kernel(request: TrialRequest, compiled: bytes, send: Send) -> None:
    """Send a line of JSON for each launch, the last is a `TrialEnd`."""
    items, file = claims_of(compiled).items or (), request.submission.file
    unit = unit_of(items[request.index], specs_of(request.submission), file)
    module = decode(unit.bytecode, file=file)
    entry = entry_of(module, unit)
    contract = ContractInNumbers(unit.launch, request.requires)
    constants, seed = constants_of(entry), request.seed
    narrow: tuple[Narrow, ...] = ()
    chosen = chosen_launches(contract, constants, np.random.default_rng(seed), NARROW)
    if chosen.launches:
        usual = chosen.launches[0]
        constants = with_turning_points(module, entry, unit.parameters, contract, usual, constants)
        chosen = at_turning_points(contract, chosen, constants)
        odd = odd_launches(entry, unit.parameters, contract, usual, np.random.default_rng(seed))
        chosen, narrow = with_odd(contract, chosen, odd)
    not_tried, one_order, ran = list(chosen.not_tried), False, []
    stopped: dict[str, str] = {}
    for number, values in enumerate((*chosen.launches, *chosen.scalars[:MOST_SCALARS])):
        if process_time() > LONGEST_S:
            not_tried.append(f"{_words(values)} (it takes too long)")
            continue
        elements, blocks = extent(contract, values)
        few = elements > LARGE or blocks > MANY or number >= len(chosen.launches)
        # What contents do hardly hangs on sizes, and for two hundred rows it takes as long as all else.
        small = sibling(contract, chosen.launches[0], values)
        fillings = fillings_of(number, few, constants)
        if extent(contract, small)[0] in range(*WITH_RUNS) and RUNS not in fillings:
            fillings += (RUNS,)
        for place, filling in enumerate(fillings):
            sizes = small if number and place else values
            try:
                inputs = inputs_of(contract, sizes, filling, constants, seed + number)
            except UsageError:
                continue  # contents that the contract rules out
            line = _tried(unit, module, entry, contract, inputs, filling, constants.largest)
            if line.stopped is not None and filling in EXTREME:
                stopped.setdefault(filling, f"{filling} floats: {line.stopped}")
                continue
            ran.append(sizes)
            if prod(inputs.launch.grid) > 1 and not (request.deterministic and (number or place)):
                in_time = not few and process_time() < ORDERS_S
                orders = _in_orders(unit, module, entry, inputs, seed + number) if in_time else None
                one_order = one_order or orders is None or bool(orders.unfinished)
                line = replace(line, unsteady=None if orders is None else _unsteady(orders))
            send(msgspec.json.encode(line) + b"\n")
    if one_order and not request.deterministic:
        not_tried.insert(0, "other orders of the blocks of large launches")
    if contract.spec.grid is None and request.requires:
        not_tried.insert(0, "smaller grids, which a contract without a grid allows")
    not_tried[:0] = dict.fromkeys(stopped.values())
    unseen = [str(each) for each in narrow if each.values not in ran][:MOST_TOLD]
    end = TrialEnd(tuple(map(harmless_text, not_tried[:MOST_TOLD])), tuple(map(harmless_text, unseen)))
    send(msgspec.json.encode(end) + b"\n")


# ------------------------------------------------------------------------------------------------- results
def _tried(
    unit: KernelUnit,
    module: Module,
    entry: Entry,
    contract: ContractInNumbers,
    inputs: Inputs,
    filling: str,
    largest: float,
) -> LaunchLine:
    with np.errstate(all="ignore"):
        run = execute_launch(module, entry, unit.parameters, inputs.launch, inputs.memory, RUN)
    names = (*contract.sizes, *contract.scalars)
    return LaunchLine(
        values={name: inputs.values[name] for name in names},
        floats={name: said(value) for name, value in inputs.launch.floats.items()},
        constants={each.name: said(each.value) for each in flat(unit.launch.arguments) if _is_number(each)},
        lists=tuple(inputs.launch.lists),
        stopped=_why_stopped(run),
        arrays={name: _array(array, inputs, run) for name, array in inputs.launch.arrays.items()},
        filling=filling,
        flushes=any("ftz" in op.flags for op in walk(entry.body)),
        largest=said(largest),
    )


def _why_stopped(run: Executed) -> str | None:
    """Why the launch did not come to its end, or would not on a device, where a failed assertion ends the program."""
    if run.stopped is not None:
        return harmless_text(str(run.stopped))
    failed = next((each for told in run.told for each in told.assertions), None)
    return None if failed is None else harmless_text(f"an assertion of the kernel fails: {failed.message}")


def _words(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _in_orders(unit: KernelUnit, module: Module, entry: Entry, inputs: Inputs, seed: int) -> Exploration:
    orders = (
        Schedule(BlockOrder.SEQUENTIAL),
        Schedule(BlockOrder.REVERSED),
        Schedule(BlockOrder.INTERLEAVED, AccessOrder.PROGRAM, seed),
        Schedule(BlockOrder.SHUFFLED, AccessOrder.PROGRAM, seed + 1),
        Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, seed + 2),
    )
    with np.errstate(all="ignore"):
        return explore(
            module, entry, unit.parameters, inputs.launch, inputs.memory, schedules=orders, budget=ORDER_STEPS
        )


def _unsteady(orders: Exploration) -> str | None:
    """What hangs on the order of blocks, in words: an element, beyond the rounding of sums, or that a block ends."""
    for outcome in (each for each in orders.outcomes if not each.rounding):
        element = next(each for difference in outcome.differences for each in difference.elements)
        first = orders.schedules[0]
        return f"{element.element} is {element.second} with {outcome.schedule}, and {element.first} with {first}"
    return next((f"with {stop.schedule}, {stop.reason}" for stop in orders.stops if stop.deadlock), None)


def _is_number(argument: Argument) -> TypeGuard[ConstantArgument]:
    return isinstance(argument, ConstantArgument) and isinstance(argument.value, int | float)


def _array(array: ConcreteArray, inputs: Inputs, run: Executed) -> ArrayBytes:
    before = inputs.memory[array.allocation]
    after = run.contents[array.allocation]
    marks = np.asarray(run.written[array.allocation].reshape(-1, before.dtype.itemsize).any(axis=1))
    return ArrayBytes(
        dtype=array.dtype,
        shape=tuple(array.shape),
        before=_packed(view(before, array.shape, array.strides)),
        after=None if after.tobytes() == before.tobytes() else _packed(view(after, array.shape, array.strides)),
        written=_packed(view(marks, array.shape, array.strides)),
    )


def _packed(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


# ------------------------------------------------------------------------------------------------------------ exact job
# In the sandbox: a proved kernel on exact numbers, for a comparison with a reference outside.


STEPS: Final = 1 << 23
LAUNCHES: Final = 24


def run_kernel(request: TrialRequest, compiled: bytes, send: Send) -> None:
    """Send a message for each point (`kernel_runs`)."""
    items, file = claims_of(compiled).items or (), request.submission.file
    unit = unit_of(items[request.index], specs_of(request.submission), file)
    module = decode(unit.bytecode, file=file)
    kernel = ExactKernel(module, entry_of(module, unit), unit.parameters)
    contract = ContractInNumbers(unit.launch, request.requires)
    for message in runs(unit, kernel, contract, Options(request.seed, STEPS, LAUNCHES, NARROW)):
        if isinstance(message, SentGap):
            message = SentGap(
                number=message.number,
                values=message.values,
                reason=harmless_text(message.reason),
                left_out=message.left_out,
            )
        elif isinstance(message, SentEnd):
            message = SentEnd(
                stopped=harmless_text(message.stopped),
                left_out=tuple(map(harmless_text, message.left_out)),
                steps=message.steps,
                one_way=tuple(map(harmless_text, message.one_way)),
                narrow=message.narrow,
                tried=tuple(map(harmless_text, message.tried)),
                idle=tuple(map(harmless_text, message.idle)),
            )
        send(framed(message))
