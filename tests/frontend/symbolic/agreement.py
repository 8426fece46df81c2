"""An access summary against what the reference interpreter logs, on concrete launches.

The comparison is the tool's own (`backend.audit`); here are random launches for entries that no spec describes, and
promises: undefined behaviour that a run shows must break one, and a run without any must keep them all.  The
interpreter shares no code with the symbolic executor, so an agreement is evidence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tileverify.backend.audit.block_terms import BlockTerms, KernelTerms, LaunchTerms
from tileverify.backend.audit.reading import compare_block
from tileverify.backend.audit.symbol_values import BlockRecord, Context, Disagreement, FunctionValues, Known, run_blocks
from tileverify.backend.interpreter import Budget, bind_launch
from tileverify.contract.launch import ConcreteArray, ConcreteLaunch, EntryParameter, Role
from tileverify.frontend.bytecode.model import Entry, Module, PointerType
from tileverify.frontend.symbolic.execute import summarize
from tileverify.frontend.symbolic.summary import AccessSummary, Loop, Promise
from tileverify.results import ReadingTally

from ...grids import blocks_of
from ...tiles import scalar_of, tile_of

DTYPES = {"i1": "bool", "f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2"}


class OutOfReach(Exception):
    """No launch can be made."""


# ------------------------------------------------------------------------------------------- random launches
@dataclass
class LaunchMaker:
    """Random launches for the parameters of an entry: small sizes, contiguous or padded rows, small index data."""

    entry: Entry
    parameters: Sequence[EntryParameter]
    seed: int
    sizes: Sequence[int] = (1, 2, 3, 5, 8, 16, 17, 32, 64, 100, 128, 130, 256)
    multiple: int = 1
    grid_limit: int = 6

    def make(self) -> ConcreteLaunch:
        rng = random.Random(self.seed)
        ranks: dict[str, int] = {}
        static: dict[tuple[str, Role, int], int] = {}
        types: dict[str, str] = {}
        scalars: dict[str, int] = {}
        for value, parameter in zip(self.entry.parameters, self.parameters, strict=True):
            element = tile_of(value).element
            if parameter.role is Role.POINTER:
                assert isinstance(element, PointerType)
                types[parameter.argument] = DTYPES.get(element.pointee.name, element.pointee.name)
                ranks.setdefault(parameter.argument, 0)
            elif parameter.role in (Role.LIST_POINTER, Role.LIST_LENGTH):
                raise OutOfReach("lists need an element description")
            elif parameter.role is Role.SCALAR:
                number = scalar_of(value)
                if not number.is_float:
                    scalars[parameter.argument] = rng.choice([0, 1, 2, 3, 4, 7]) if number.bits > 1 else 1
            else:
                assert parameter.dim is not None
                ranks[parameter.argument] = max(ranks.get(parameter.argument, 0), parameter.dim + 1)
                if parameter.static is not None:
                    static[parameter.argument, parameter.role, parameter.dim] = parameter.static
        common = [self._size(rng) for _ in range(3)]
        arrays = {}
        for name, rank in ranks.items():
            shape = [static.get((name, Role.SHAPE, d), rng.choice([*common, self._size(rng)])) for d in range(rank)]
            strides, run = [1] * rank, 1
            for d in reversed(range(rank)):
                strides[d] = static.get((name, Role.STRIDE, d), run)
                run = strides[d] * shape[d] + (rng.choice([0, 0, 16]) if d else 0)
            if not rank:
                shape, strides = [4096], [1]
            integer = types[name][0] in "iub"
            high = rng.choice([2, 5, 20])
            contents = {i: rng.randrange(high) for i in range(min(run, 600))} if integer else {}
            arrays[name] = ConcreteArray(types[name], tuple(shape), tuple(strides), contents)
        x, y, z = (rng.choice([1, 1, 2, 3, self.grid_limit]) for _ in range(3))
        return ConcreteLaunch((x, y, z), arrays, scalars)

    def _size(self, rng: random.Random) -> int:
        size = rng.choice(list(self.sizes))
        return -(-size // self.multiple) * self.multiple


# ---------------------------------------------------------------------------------------------- comparison
@dataclass
class Outcome(ReadingTally):
    """What a comparison covered."""

    promises: int = 0  # kept promises of defined runs
    broken: int = 0  # undefined runs of which a promise said so
    stopped: int = 0  # blocks that ended at an assertion


def compare(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter],
    launch: ConcreteLaunch,
    blocks: Sequence[tuple[int, int, int]] | None = None,
    *,
    summary: AccessSummary | None = None,
    budget: int = 1 << 26,
) -> Outcome:
    """Run ``launch`` and compare every block that runs without undefined behaviour."""
    kernel = KernelTerms(entry, parameters, summary or summarize(module, entry, parameters))
    bound = bind_launch(module, entry, parameters, launch)
    outcome = Outcome()
    if blocks is None:
        blocks = list(blocks_of(launch.grid))[:8]
    watched = kernel.sources.watched(kernel.functions)
    with np.errstate(all="ignore"):
        records = run_blocks(bound, launch.grid, blocks, watched, Budget(budget))
        terms = LaunchTerms(kernel, launch, bound.image)
        for record in records:
            try:
                _check_promises(kernel, BlockTerms(terms, record.block, _functions(terms, record)), record, outcome)
                compare_block(terms, record, outcome, proved=False)
                outcome.stopped += entry.asserts_stop and bool(record.log.assertions)
            except Disagreement as found:
                raise AssertionError(str(found)) from None
    return outcome


def _functions(terms: LaunchTerms, record: BlockRecord) -> FunctionValues:
    return FunctionValues(terms.kernel.sources, terms.image, record)


def _check_promises(kernel: KernelTerms, terms: BlockTerms, record: BlockRecord, outcome: Outcome) -> None:
    log = record.log
    if log.stopped is not None or log.left_out or log.iterations:
        return
    if log.events:
        event = log.events[0]
        if event.code in ("TV401", "TV402"):
            concerned = [promise for promise in kernel.summary.promises if promise.offset == event.offset]
            answers = [answer for promise in concerned for answer in _kept(kernel, terms, record, promise)]
            assert concerned, f"no promise says {event}"
            assert None in answers or not all(answers), f"no promise is broken by {event}"
            outcome.broken += 1
        return
    for promise in kernel.summary.promises:
        for kept in _kept(kernel, terms, record, promise):
            assert kept is not False, f"a defined run breaks: {promise.text}"
            outcome.promises += kept is not None


def _kept(kernel: KernelTerms, terms: BlockTerms, record: BlockRecord, promise: Promise) -> Iterator[bool | None]:
    """Whether the promise holds, for every iteration in which its guard does; ``None`` where nobody knows."""
    for context in _contexts(kernel, record, promise.loops, ()):
        terms.at({loop.iteration: Known(k) for loop, k in zip(promise.loops, context, strict=True)})
        guard = terms.value(promise.guard)
        if guard.open is None and not np.any(guard.data):
            continue
        condition = terms.value(promise.condition)
        known = guard.open is None and condition.open is None
        yield bool(np.all(condition.data | ~np.asarray(guard.data, np.bool_))) if known else None


def _contexts(kernel: KernelTerms, record: BlockRecord, loops: Sequence[Loop], done: Context) -> Iterator[Context]:
    if len(done) == len(loops):
        yield done
        return
    for k in range(record.entered.get((kernel.sources.loop(loops[len(done)].name), done), 0)):
        yield from _contexts(kernel, record, loops, (*done, k))
