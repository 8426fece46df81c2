"""Structured control flow: op lists, ``if``, ``for``, ``loop`` and how their terminators leave them.

What runs ops is a generator: it yields where a block hands control over to the others on its memory (`Turn`), and only
there.  So a block can be held up in the midst of its loops without a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from ...frontend.bytecode.model import Block, Op, Value
from ...results.codes import TV
from . import accesses, addresses, atomics, floats, functions, host, integers, reductions, tiles
from .access_log import BlockLog
from .integers import bits_of
from .machine import OP_COST, BlockInterpreter, Budget, GridPoint, Program, Result, Rule, Turn
from .memory import Memory
from .reductions import reduce_tiles, scan_tiles
from .values import (
    REPLAY,
    BlockEnded,
    Conduct,
    EndlessLoop,
    InterpreterStop,
    NotModelled,
    RuntimeValue,
    Tile,
    Token,
    UndefinedStop,
    as_signed,
    wrapped,
)

TERMINATORS: Final = frozenset({"yield", "break", "continue", "return"})


@dataclass(frozen=True, slots=True)
class Exit:
    """How an op list ended: the terminator's name and its operands."""

    kind: str
    values: tuple[RuntimeValue, ...] = ()


Steps: TypeAlias = Generator[None, None, Exit]
"""The run of an op list; it yields where the block hands control over."""
RegionSteps: TypeAlias = "Generator[None, None, Exit | None]"
"""The run of an op with regions: how it left the list that it stands in, or ``None`` where that goes on."""


def execute(run: BlockInterpreter, block: Block) -> Steps:
    """Run an op list up to its terminator, or to an exit from inside one of its regions."""
    values, turn, computed, left_out = run.values, run.turn, run.program.computed, run.program.left_out
    rules = RULES if run.program.rules is None else run.program.rules
    for op in block.ops:
        if op in left_out:
            values.update(zip(op.results, left_out[op], strict=True))
            run.budget.spend(OP_COST)
            continue
        name = op.name
        rule = rules.get(name)
        if rule is not None:
            if op in computed:
                result = computed[op]
            elif turn is None or not op.declaration.touches_memory:
                result = _computed(run, op, rule)
            else:
                if turn.passes(op):
                    yield
                result = turn.perform(run, op, rule)
            run.budget.spend(OP_COST + _bound(values, op, result))
        elif name in TERMINATORS:
            run.budget.spend(OP_COST)  # or a loop without other ops would be free
            return Exit(name, tuple(values[value] for value in op.group("args")))
        elif name in REGION_OPS:
            run.budget.spend(OP_COST)
            left = yield from REGION_OPS[name](run, op)
            if left is not None:
                return left
        elif name in COMBINING_OPS:
            run.budget.spend(OP_COST)
            COMBINING_OPS[name](run, op)
        else:
            raise NotModelled(name)
    return Exit("yield")


def _bound(values: dict[Value, RuntimeValue], op: Op, result: Result) -> int:
    """Give the results their values; the elements that these have."""
    if isinstance(result, Tile):
        values[op.results[0]] = result
        return result.data.size
    if isinstance(result, tuple):
        values.update(zip(op.results, result, strict=True))
        return sum(each.data.size for each in result if isinstance(each, Tile))
    values[op.results[0]] = result
    return 0


def execute_at_once(run: BlockInterpreter, block: Block) -> Exit:
    """Run an op list to its end, as that of a reduction, whose ops are pure: control is handed to no other block."""
    steps = execute(run, block)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            left: Exit = end.value
            return left


def _combined(run: BlockInterpreter, block: Block) -> tuple[RuntimeValue, ...]:
    """What the body of a reduction or scan yields.  Nearly all are one op, for which `execute` does much beside it."""
    if len(block.ops) == 2:
        op, end = block.ops
        rules = RULES if run.program.rules is None else run.program.rules
        rule = rules.get(op.name)
        if rule is not None and end.name in TERMINATORS and not op.declaration.touches_memory:
            result = rule(run, op)
            if isinstance(result, Tile):
                run.values[op.results[0]] = result
                run.budget.spend(2 * OP_COST + result.data.size)
                return tuple(run.values[value] for value in end.group("args"))
    return execute_at_once(run, block).values


def _computed(run: BlockInterpreter, op: Op, rule: Rule) -> Result:
    """What the rule gives, kept for the other blocks if it is the same in all of them."""
    result = rule(run, op)
    if op in run.program.uniform and run.log.silent:
        run.program.computed[op] = result
    return result


def _body(op: Op, number: int = 0) -> Block:
    blocks = op.regions[number].blocks
    if len(blocks) != 1:
        raise NotModelled(f"{op.name} with {len(blocks)} blocks in a region")
    return blocks[0]


def _if(run: BlockInterpreter, op: Op) -> RegionSteps:
    taken = run.scalar(op, run.tile(op, "c"), "branch")
    region = 0 if taken else 1
    if region >= len(op.regions) or not op.regions[region].blocks:
        return None
    left = yield from execute(run, _body(op, region))
    if left.kind != "yield":
        return left
    run.bind(op.results, left.values)
    return None


def _for(run: BlockInterpreter, op: Op) -> RegionSteps:
    bits = bits_of(op.value("lower"))
    signed = "unsignedCmp" not in op.flags

    def bound(name: str) -> int:
        tile = run.tile(op, name)
        run.scalar(op, tile, "loop bound")
        return int(as_signed(tile.data, bits)) if signed else int(tile.data)

    lower, upper, step = bound("lower"), bound("upper"), bound("step")
    if step <= 0:
        run.undefined(op, TV.ARITHMETIC_UNDEFINED, f"loop step {step} is not positive")
        raise UndefinedStop(f"the loop at {op.offset:#x} has step {step}")
    carried = tuple(run.values[value] for value in op.group("inits"))
    body = _body(op)
    induction, iterations = lower, run.log.iterations
    iterations.append(0)
    while induction < upper:
        counter = Tile(wrapped(np.asarray(induction & ((1 << bits) - 1), np.uint64), bits))
        run.bind(body.arguments, (counter, *carried))
        left = yield from execute(run, body)
        if left.kind != "continue":
            raise NotModelled(f"{left.kind} inside for")
        carried = left.values
        induction += step
        iterations[-1] += 1
    run.log.leave_loop(op, iterations[-1])
    run.bind(op.results, carried)
    return None


def _loop(run: BlockInterpreter, op: Op) -> RegionSteps:
    carried = tuple(run.values[value] for value in op.group("inits"))
    body = _body(op)
    iterations = run.log.iterations
    iterations.append(0)
    while True:
        run.bind(body.arguments, carried)
        stores = run.memory.stores
        left = yield from execute(run, body)
        if left.kind in ("return", "break"):
            run.log.leave_loop(op, iterations[-1] + 1)
        if left.kind == "return":
            return left
        if left.kind == "break":
            run.bind(op.results, left.values)
            return None
        if stores == run.memory.stores and _same(carried, left.values):
            if run.turn is None:
                raise EndlessLoop(f"the loop at {op.offset:#x} waits for another block")
            run.turn.spins(op)
            yield
        carried = left.values
        iterations[-1] += 1


def _same(before: tuple[RuntimeValue, ...], after: tuple[RuntimeValue, ...]) -> bool:
    """Whether two rounds of carried values are equal; tokens steer nothing, so they are not looked at."""
    return all(
        isinstance(new, Token)
        or (isinstance(old, Tile) and isinstance(new, Tile) and np.array_equal(old.data, new.data))
        for old, new in zip(before, after, strict=True)
    )


def reduced(run: BlockInterpreter, op: Op) -> tuple[Tile, ...]:
    return reduce_tiles(run, op, lambda block: _combined(run, block))


def scanned(run: BlockInterpreter, op: Op) -> tuple[Tile, ...]:
    return scan_tiles(run, op, lambda block: _combined(run, block))


REGION_OPS: Final[dict[str, Callable[[BlockInterpreter, Op], RegionSteps]]] = {"if": _if, "for": _for, "loop": _loop}
COMBINING_OPS: Final[dict[str, Callable[[BlockInterpreter, Op], None]]] = {
    "reduce": lambda run, op: run.bind(op.results, reduced(run, op)),
    "scan": lambda run, op: run.bind(op.results, scanned(run, op)),
}


def run_block(
    program: Program, arguments: Mapping[Value, RuntimeValue], memory: Memory, grid: GridPoint, block: GridPoint,
    budget: Budget, *, apart: bool = False, turn: Turn | None = None,
    conduct: Conduct = REPLAY,
) -> BlockLog:  # fmt: skip
    """Execute ``block`` of the entry against ``memory`` and return what it did, up to where it stopped."""
    run = BlockInterpreter(program, memory, grid, block, budget, apart, turn, conduct)
    with np.errstate(all="ignore"):
        for _ in block_steps(run, arguments):
            pass  # nothing else runs on this memory
    return run.log


def block_steps(run: BlockInterpreter, arguments: Mapping[Value, RuntimeValue]) -> Generator[None, None, BlockLog]:
    """The run of a block's entry, which yields where it hands control over and returns what the block did.

    Whoever resumes it sets NumPy's error state, which a generator would leave behind where it yields.
    """
    run.values.update(arguments)
    try:
        yield from execute(run, run.program.entry.body)
    except BlockEnded:
        pass
    except InterpreterStop as stop:
        run.log.stopped = stop.with_traceback(None)  # whose frames know the log
    return run.log


# ---------------------------------------------------------------------------------------------------------------- table
# Op name -> rule, for every op that neither carries a region nor ends a block.


RULES: Final[dict[str, Rule]] = {
    **integers.RULES,
    **floats.RULES,
    **floats.CONVERSION_RULES,
    **functions.RULES,
    **tiles.RULES,
    **reductions.RULES,
    **addresses.RULES,
    **accesses.RULES,
    **atomics.RULES,
    **atomics.MULTICAST_RULES,
    **addresses.TOKEN_RULES,
    **host.RULES,
}
