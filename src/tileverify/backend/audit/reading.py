"""The second reading of one proof: launches of its contract are run, and every access is compared with the summary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from ...contract.launch import Block, ConcreteLaunch, EntryParameter, LaunchSpec
from ...contract.terms import FALSE, Term
from ...frontend.bytecode.model import Block as OpList
from ...frontend.bytecode.model import Entry, Module, Op, TokenType, Value
from ...frontend.bytecode.traverse import operands
from ...frontend.symbolic.summary import Access, AccessSummary, Loop, OriginKind, Site, ViewFootprint, earlier
from ...results import ReadingTally, SecondReading
from ...results.codes import EVENTS
from ...system.errors import SpecError, UsageError
from ...system.printable import display_path
from ..interpreter import Budget, InterpreterStop, bind_launch
from ..interpreter.access_log import DynamicAccess
from ..interpreter.values import Array
from ..numbers.choose import ContractInNumbers
from ..numbers.inputs import Inputs
from .block_terms import BlockTerms, KernelTerms, LaunchTerms
from .legal_launches import drawn
from .symbol_values import BlockRecord, Context, Data, Disagreement, FunctionValues, Known, run_blocks

STEPS: Final = 1 << 26
"""Steps of the interpreter for the blocks of one launch (see `machine.Budget`)."""
MOST_BLOCKS: Final = 6
"""Blocks of a launch that run; of a larger grid its first and last ones, and some between."""
WHOLE_GRID: Final = 12
"""Grids up to this size run whole, so that blocks which wait for others see them."""


def second_reading(
    module: Module,
    entry: Entry,
    parameters: Sequence[EntryParameter],
    summary: AccessSummary,
    launch: LaunchSpec,
    requires: Sequence[str],
    count: int,
) -> SecondReading:
    """Compare ``summary`` with runs of ``count`` launches of the contract (fewer, where it has no more).

    Ends at the first disagreement.  Never raises for a launch that cannot be made or run: that is counted.
    """
    kernel = KernelTerms(entry, parameters, summary)
    counts = ReadingTally()
    launches, disagreement = 0, ""
    try:
        contract = ContractInNumbers(launch, requires)
        for inputs in drawn(contract, entry, count, counts.not_compared):
            launches += 1
            problem = _one(module, kernel, inputs, counts)
            if problem:
                disagreement = f"{problem}; {_told(inputs)}"
                break
    except (SpecError, UsageError) as error:
        counts.not_compared[f"a launch of the contract: {error.message}"] += 1
    return SecondReading(
        asked=count,
        launches=launches,
        blocks=counts.blocks,
        accesses=counts.accesses,
        waits=counts.waits,
        unclaimed=counts.unclaimed,
        not_compared=dict(counts.not_compared),
        disagreement=disagreement or None,
    )


def _one(module: Module, kernel: KernelTerms, inputs: Inputs, counts: ReadingTally) -> str:
    """The first disagreement in one launch, if there is any."""
    launch = inputs.launch
    data = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items()}
    try:
        return compare_launch(module, kernel, launch, data, chosen_blocks(launch.grid), counts, STEPS)
    except InterpreterStop as stop:
        counts.not_compared[f"a launch that the interpreter cannot run: {stop}"] += 1
    return ""


def compare_launch(
    module: Module, kernel: KernelTerms, launch: ConcreteLaunch, data: Mapping[str, Array], blocks: Sequence[Block],
    counts: ReadingTally, steps: int,
) -> str:  # fmt: skip
    """Run ``blocks`` and compare them; the first disagreement.

    :raises InterpreterStop: the launch does not fit the entry.
    """
    bound = bind_launch(module, kernel.entry, kernel.parameters, launch, data)
    watched = kernel.sources.watched(kernel.functions)
    with np.errstate(all="ignore"):
        records = run_blocks(bound, launch.grid, blocks, watched, Budget(steps))
        terms = LaunchTerms(kernel, launch, bound.image)
        for record in records:
            try:
                compare_block(terms, record, counts)
            except Disagreement as found:
                return str(found)
    return ""


def chosen_blocks(grid: Block) -> list[Block]:
    """All blocks of a small grid; else its first and last ones, neighbours, and one in the middle."""
    volume = grid[0] * grid[1] * grid[2]
    numbers: Iterable[int] = range(volume)
    if volume > WHOLE_GRID:
        numbers = sorted({0, 1, grid[0] - 1, min(grid[0], volume - 1), volume // 2, volume - 1})[:MOST_BLOCKS]
    return [(n % grid[0], n // grid[0] % grid[1], n // grid[0] // grid[1]) for n in numbers]


def _told(inputs: Inputs) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in inputs.values.items())
    return f"launch with grid {inputs.launch.grid}" + (f", {values}" if values else "")


# -------------------------------------------------------------------------------------------------------------- compare
# One block of a launch: every access of its run beside the summary, and what the summary has beyond them.


MOST_INSTANCES: Final = 96
"""Executions of one access in a block that are compared, and iterations in which it should not happen."""

Executions = dict[tuple[int, Context], list[DynamicAccess]]
"""Accesses by the place of their op and their iterations; several where the lanes go to several arrays."""


def compare_block(launch: LaunchTerms, record: BlockRecord, counts: ReadingTally, *, proved: bool = True) -> None:
    """Compare; what could not be is counted.

    ``proved``: undefined behaviour contradicts the proof; otherwise what comes behind it is not compared.

    :raises Disagreement: the first thing that is not the same.
    """
    log = record.log
    if log.events:
        event = log.events[0]
        if proved and event.code in EVENTS:
            raise Disagreement(
                f"block {record.block}: the proof excludes {event.code}, but the run shows it"
                f" at {event.op}: {event.message}"
            )
        counts.not_compared[f"undefined behaviour ({event.code}) in the run of the block"] += 1
        return
    _Block(launch, record, counts).compare()


class _Block:
    def __init__(self, launch: LaunchTerms, record: BlockRecord, counts: ReadingTally) -> None:
        self.launch = launch
        self.kernel = launch.kernel
        self.record = record
        self.counts = counts
        self.terms = BlockTerms(launch, record.block, FunctionValues(self.kernel.sources, launch.image, record))
        self.executions: Executions = defaultdict(list)
        for access in record.log.accesses:
            self.executions[access.op.offset, access.iterations].append(access)

    def compare(self) -> None:
        sites = {site.offset: site for site in self.kernel.summary.sites}
        looked: dict[int, int] = defaultdict(int)
        for (offset, iterations), accesses in self.executions.items():
            site = sites.get(offset)
            if site is None:
                raise Disagreement(f"{self._where(accesses[0].op, iterations)}: the proof knows of no access here")
            looked[offset] += 1
            if looked[offset] > MOST_INSTANCES:
                self.counts.not_compared[f"executions of one access beyond the first {MOST_INSTANCES}"] += 1
            else:
                self._execution(site, iterations, accesses)
        if self.record.log.stopped is not None:
            self.counts.not_compared[f"the rest of a block: {_plain(str(self.record.log.stopped))}"] += 1
        elif self.record.log.left_out:
            self.counts.not_compared["the rest of a block with an access that an open value decides about"] += 1
        elif self.record.log.iterations:
            self.counts.not_compared["the rest of a block that an assertion ended inside of a loop"] += 1
        else:
            for site in sites.values():
                self._absences(site)
        compare_order(self.kernel, self.terms, self.executions, self.counts, self._named)
        self.counts.blocks += 1

    # ------------------------------------------------------------------------------- what the run did
    def _execution(self, site: Site, iterations: Context, accesses: Sequence[DynamicAccess]) -> None:
        self._at(site.loops, iterations)
        for loop, k in zip(site.loops, iterations, strict=True):
            most = loop.iteration.symbol.high
            if most is not None and k > most:
                where = self._where(accesses[0].op, iterations)
                raise Disagreement(f"{where}: the proof takes the loop to have at most {most + 1} iterations")
        try:
            wanted = expected(self.terms, site, self.kernel.rank)
        except Disagreement as found:
            raise Disagreement(f"{self._where(accesses[0].op, iterations)}: {found}") from None
        if wanted.unknown:
            self.counts.not_compared[wanted.unknown] += 1
            return
        if site.origin.kind is OriginKind.UNKNOWN:
            self.counts.not_compared["the proof does not know the array"] += 1
            return
        where = self._where(accesses[0].op, iterations)
        writes = any(access.writes is not None for access in accesses)
        if writes != site.writes or (site.access is Access.WRITE and any(a.reads is not None for a in accesses)):
            raise Disagreement(f"{where}: the proof has a {site.access.value}, the run another kind of access")
        seen = np.concatenate([self._offsets(site, wanted, access, where) for access in accesses])
        if accesses[0].width != site.footprint.element_bytes:
            raise Disagreement(
                f"{where}: the proof has elements of {site.footprint.element_bytes} bytes, the run {accesses[0].width}"
            )
        if problem := difference(wanted.offsets, seen, self._element(accesses[0].origin)):
            raise Disagreement(f"{where}: {problem}")
        self.counts.accesses += 1

    def _offsets(self, site: Site, wanted: Expected, access: DynamicAccess, where: str) -> np.ndarray:
        origin = self.launch.image.origins[access.origin]
        name = site.origin.name if wanted.index is None else f"{site.origin.name}[{wanted.index}]"
        if is_private(site):
            if not origin.name.startswith("alloca"):
                raise Disagreement(f"{where}: the proof has memory of the block's own, the run touches {origin.name}")
        elif origin.name != name:
            raise Disagreement(f"{where}: the proof has {name}, the run touches {origin.name}")
        return access.footprints[0].addresses() - origin.base

    def _element(self, number: int) -> Callable[[int], str]:
        origin = self.launch.image.origins[number]
        return lambda offset: origin.element(origin.base + offset)

    # ------------------------------------------------------------------------------ what it did not do
    def _absences(self, site: Site) -> None:
        for number, context in enumerate(self._contexts(site.loops, ())):
            if number >= MOST_INSTANCES:
                self.counts.not_compared[f"iterations beyond the first {MOST_INSTANCES}"] += 1
                return
            if (site.offset, context) in self.executions:
                continue
            self._at(site.loops, context)
            wanted = expected(self.terms, site, self.kernel.rank)
            if wanted.unknown:
                self.counts.not_compared[f"an access that did not happen: {wanted.unknown}"] += 1
            elif wanted.offsets.size:
                count = f"{wanted.offsets.size} element{'' if wanted.offsets.size == 1 else 's'}"
                raise Disagreement(
                    f"{self._named(site, context)}: the proof has {count} of {site.origin.name or 'memory'}"
                    f" from byte {wanted.offsets.min()} on, the run makes no access"
                )

    def _contexts(self, loops: Sequence[Loop], done: Context) -> Iterator[Context]:
        """Iterations that were entered, and the first that was not of every `for`.

        What a summary says of iterations behind the end of a `loop` may be more than happens.
        """
        if len(done) == len(loops):
            yield done
            return
        loop = loops[len(done)]
        entered = self.record.entered.get((self.kernel.sources.loop(loop.name), done), 0)
        most = loop.iteration.symbol.high
        for k in range(entered):
            yield from self._contexts(loops, (*done, k))
        # The range of the variable is part of what the summary says: beyond it there is no iteration.
        if (loop.value is not None or not entered) and (most is None or entered <= most):
            yield (*done, entered, *(0 for _ in loops[len(done) + 1 :]))

    # ------------------------------------------------------------------------------------------- words
    def _at(self, loops: Sequence[Loop], iterations: Context) -> None:
        pairs = zip(loops, iterations, strict=True)
        self.terms.at({loop.iteration: Known(k) for loop, k in pairs})

    def _named(self, site: Site, iterations: Context) -> str:
        place = site.location
        return self._spelled(site.op, None if place is None else (place.file, place.line), site.offset, iterations)

    def _where(self, op: Op, iterations: Context) -> str:
        place = op.location
        return self._spelled(op.name, None if place is None else (place.file, place.line), op.offset, iterations)

    def _spelled(self, op: str, place: tuple[str, int] | None, offset: int, iterations: Context) -> str:
        at = f"{offset:#x}" if place is None else f"{display_path(place[0])}:{place[1]}"
        around = f", iteration {', '.join(map(str, iterations))}" if iterations else ""
        return f"{at} ({op}), block {self.record.block}{around}"


def _plain(reason: str) -> str:
    """The reason without the place of an op, so that equal ones are counted together."""
    return reason.partition(" at 0x")[0] if " at 0x" in reason else reason


# ----------------------------------------------------------------------------------------------------------- footprints
# What a summary expects of one execution of an access: the bytes that it touches.


OPEN_GUARD: Final = "whether it happens depends on a value that the run does not give"
OPEN_PLACE: Final = "where it goes depends on a value that the run does not give"


@dataclass(frozen=True, slots=True)
class Expected:
    """``offsets``: bytes behind the array's first one, a flat int64 array in lane order; ``unknown``: why there is no
    telling.  ``index``: which array of a list it is."""

    offsets: Array
    unknown: str = ""
    index: int | None = None


_NOTHING: Final = Expected(np.zeros(0, np.int64))


def expected(terms: BlockTerms, site: Site, rank: int) -> Expected:
    """The access that ``site`` makes in the block and iterations of ``terms``; no offsets where it makes none."""
    guard = terms.value(site.guard)
    if guard.open is None and not np.any(guard.data):
        return _NOTHING
    if guard.open is not None and np.any(guard.open):
        return Expected(_NOTHING.offsets, OPEN_GUARD)
    shape = [1] * rank
    for each in site.lanes:
        shape[int(each.variable.symbol.name[1:])] = each.size
    live, offset = _reach(terms, site, guard.data)
    index = None if site.origin.index is None else terms.value(site.origin.index)
    unknown = offset.open
    if index is not None and index.open is not None:
        unknown = True
    live = np.broadcast_to(np.asarray(live), shape)
    if unknown is not None and np.any(np.broadcast_to(unknown, shape) & live):
        return Expected(_NOTHING.offsets, OPEN_PLACE)
    places = np.broadcast_to(np.asarray(offset.data), shape)
    found = places.reshape(-1) if live.all() else places[live]
    return Expected(found.astype(np.int64), "", None if index is None else int(index.data))


def _reach(terms: BlockTerms, site: Site, live: Data) -> tuple[Data, Known]:
    """The lanes that touch memory, and the byte offset of each."""
    place = site.footprint
    if not isinstance(place, ViewFootprint):
        return live, terms.value(place.offset)
    parts = [terms.value(place.base)]
    offset = parts[0].data
    for coordinate, size, stride in zip(place.coordinates, place.shape, place.strides, strict=True):
        at, limit, step = terms.value(coordinate), terms.value(size), terms.value(stride)
        parts += [at, limit, step]
        live = live & (at.data >= 0) & (at.data < limit.data)
        offset = offset + at.data * step.data * place.element_bytes
    opens = [part.open for part in parts if part.open is not None]
    return live, Known(offset, np.any([np.any(each) for each in opens]) if opens else None)


def difference(expected: Array, seen: Array, element: Callable[[int], str]) -> str:
    """In words, how two sets of bytes differ; empty where they do not (lanes may stand in any order).

    ``element`` names what lies at an offset.
    """
    if np.array_equal(expected, seen):
        return ""
    ours, theirs = np.sort(expected), np.sort(seen)
    if np.array_equal(ours, theirs):
        return ""
    said, told = _words(ours, element), _words(theirs, element)
    return f"the proof has {said}, the run touches {told}{_first(ours, theirs, element)}"


def _words(offsets: Array, element: Callable[[int], str]) -> str:
    if not offsets.size:
        return "nothing"
    first, last = element(int(offsets[0])), element(int(offsets[-1]))
    return first if offsets.size == 1 else f"{offsets.size} elements from {first} to {last}"


def _first(ours: Array, theirs: Array, element: Callable[[int], str]) -> str:
    """The first element that one of the two has more often."""
    mine, other = Counter(ours.tolist()), Counter(theirs.tolist())
    more, less = min((mine - other).elements(), default=None), min((other - mine).elements(), default=None)
    if more is not None and (less is None or more <= less):
        return f"; {element(more)} is touched only in the proof"
    return "" if less is None else f"; {element(less)} is touched only in the run"


def is_private(site: Site) -> bool:
    """Whether the memory is the block's own, made while it runs."""
    return site.origin.kind in (OriginKind.LOCAL, OriginKind.SHARED_LOCAL)


# -------------------------------------------------------------------------------------------------------------- awaited
# What accesses of a block wait for: tokens of the run beside the waits of the summary.


MOST_PAIRS: Final = 4096
"""Pairs of accesses of one block whose order is compared."""
OPEN_ORDER: Final = "an order that depends on a value that the run does not give"


def compare_order(
    kernel: KernelTerms,
    terms: BlockTerms,
    executions: Mapping[tuple[int, Context], Sequence[DynamicAccess]],
    counts: ReadingTally,
    named: Callable[[Site, Context], str],
) -> None:
    """Every wait of the summary is one of the run.  Those of the run are the summary's, too, but for accesses in loops
    and those whose token comes out of one: there it may leave some out.

    :raises Disagreement: the first wait that only one of the two has.
    """
    summary = kernel.summary
    sites = {site.offset: site for site in summary.sites}
    by_site: dict[int, list[_Execution]] = {}
    for (offset, iterations), accesses in executions.items():
        if offset in sites:
            by_site.setdefault(sites[offset].number, []).append((iterations, accesses))
    pairs = 0
    out_of_loops = _out_of_loops(kernel.entry.body, set())
    for site in summary.sites:
        partial = bool(site.loops) or site.offset in out_of_loops
        conditions = {wait.site: wait.condition for wait in site.waits}
        for execution in by_site.get(site.number, ()):
            for other in summary.sites:
                others, condition = by_site.get(other.number, []), conditions.get(other.number, FALSE)
                really = np.array([_waits(execution, each) for each in others], np.bool_)
                if not others or (condition is FALSE and not really.any()):
                    continue
                pairs += len(others)
                if pairs > MOST_PAIRS:
                    counts.not_compared[f"the order of pairs of accesses beyond {MOST_PAIRS} in a block"] += 1
                    return
                claimed, known = _claimed(terms, site, execution, other, others, condition)
                _compare(site, execution, other, others, (really, claimed, known), counts, named, partial=partial)


def _out_of_loops(block: OpList, tokens: set[Value]) -> set[int]:
    """The offsets of the ops that are given a token which a loop of ``block`` handed on; ``tokens``: those so far."""
    found: set[int] = set()
    for op in block.ops:
        bodies = [body for region in op.regions for body in region.blocks]
        for body in bodies:
            found |= _out_of_loops(body, tokens)
        given = [op, *(body.ops[-1] for body in bodies if body.ops)]
        if op.declaration.body == "loop" or any(tokens.intersection(operands(each)) for each in given):
            found.add(op.offset)
            tokens.update(result for result in op.results if isinstance(result.type, TokenType))
    return found


_Execution: TypeAlias = "tuple[Context, Sequence[DynamicAccess]]"


def _waits(execution: _Execution, other: _Execution) -> bool:
    """Whether the run has it wait; of lanes in several arrays, the first part does for all, and all are waited for."""
    return all(execution[1][0].waits >> access.number & 1 for access in other[1])


def _claimed(
    terms: BlockTerms, site: Site, execution: _Execution, other: Site, others: Sequence[_Execution], condition: Term
) -> tuple[Array, Array]:
    """For each of ``others``, whether the summary says that it is waited for, and whether that can be told."""
    columns = [np.array(column) for column in zip(*(context for context, _ in others), strict=True)]
    now = {loop.iteration: Known(k) for loop, k in zip(site.loops, execution[0], strict=True)}
    before = {earlier(loop.iteration): Known(column) for loop, column in zip(other.loops, columns, strict=True)}
    terms.at({**now, **before})
    found = terms.value(condition)
    open_ = np.broadcast_to(np.asarray(False if found.open is None else found.open), len(others))
    return np.broadcast_to(np.asarray(found.data, np.bool_), len(others)), ~open_


def _compare(
    site: Site, execution: _Execution, other: Site, others: Sequence[_Execution],
    order: tuple[Array, Array, Array], counts: ReadingTally, named: Callable[[Site, Context], str], *, partial: bool,
) -> None:  # fmt: skip
    """``order``: for each of ``others``, whether it is waited for in the run, in the summary, and whether that can be
    told.  ``partial``: the summary may leave some out."""
    really, claimed, known = order
    if not known.all():
        counts.not_compared[OPEN_ORDER] += int((~known).sum())
    wrong, missing = claimed & ~really & known, really & ~claimed & known
    if wrong.any():
        context = others[int(np.flatnonzero(wrong)[0])][0]
        raise Disagreement(
            f"{named(site, execution[0])}: the proof lets it wait for {named(other, context)}, in the run it does not"
        )
    if missing.any() and not partial and not other.loops:
        context = others[int(np.flatnonzero(missing)[0])][0]
        raise Disagreement(
            f"{named(site, execution[0])}: in the run it waits for {named(other, context)}, in the proof it does not"
        )
    counts.unclaimed += int(missing.sum())
    counts.waits += int((claimed & really & known).sum())
