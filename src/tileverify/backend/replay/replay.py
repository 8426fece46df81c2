"""Replay of witnesses: does the fault that a solver model claims show when the launch is run?

The two blocks of a claim run *apart*, each from the initial memory, unseen by each other and by every other block:
an execution in which both go on at once.  What atomics return is then open, and a claim that depends on it is not
confirmed that way; for entries with atomics the blocks therefore also run one after the other, in both orders, on one
memory.  Other blocks of the grid do not run: what a block does before any of them starts, it may do.  Blocks that wait
for others need them: last, small launches run whole (`whole_launch`).

What decides about no address, mask or branch is not computed (`entry_uses`): wide tiles cost what their accesses do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import prod
from operator import attrgetter
from typing import Final

from ...contract.launch import Block, ConcreteLaunch, EntryParameter
from ...frontend.bytecode.entry_uses import beside_addresses
from ...frontend.bytecode.enums import MemoryOrdering
from ...frontend.bytecode.model import Entry, Module, Op
from ...frontend.bytecode.traverse import walk
from ...results.claim import Claim, Confirmation, Enumerated, Shown, Touch
from ...results.codes import BETWEEN_BLOCKS, CONFLICTS, EVENTS, FILLED, TV
from ..interpreter import (
    BlockLog,
    BoundLaunch,
    Budget,
    BudgetSpent,
    DynamicAccess,
    InterpreterStop,
    Memory,
    MemoryImage,
    UnspecifiedUse,
    bind_launch,
    run_block,
)
from ..interpreter.conflicts import Conflict, doubled_lanes, loops_around, races, synchronisations, unordered
from ..interpreter.machine import Turn
from ..interpreter.values import REPLAY, UNSPECIFIED, Array, Conduct, OpenUse
from .enumeration import ENUMERATION_STEPS, LaunchEnumeration
from .fault_places import (
    NotConfirmed,
    OutsideWatch,
    at_fault,
    at_stake,
    before,
    chosen_blocks,
    claimed,
    claimed_first,
    confirm_event,
    excuse,
    faulty,
    in_words,
    name_elements,
    reach,
    shared_runs,
    turned_round,
)
from .side_values import AccessWatch, Fault, SeenSide, telling_contents
from .unfilled import every_block_of, never_written, read_unfilled
from .whole_launch import whole_faults, whole_runs

DEFAULT_BUDGET: Final = 1 << 29
"""Steps (see `interpreter.machine`) for all runs of one claim: a few seconds of NumPy at most."""

WHOLE_BUDGET: Final = 1 << 27
"""Of these, for the runs of all blocks."""

CLAIMED_SHARE: Final = 3
"""Of the steps, one part goes to each block of a claim that runs apart and one to the comparison of what they did: the
accesses of a block that did not come to its end happened all the same."""

NAME: Final = "reference interpreter"


@dataclass(frozen=True, slots=True)
class BothOrders:
    """Two logs of one execution; ``ordered`` if the first block ran before the second on one memory."""

    first: BlockLog
    second: BlockLog
    ordered: bool
    text: str


OF_ACCESSES: Final = frozenset((*CONFLICTS, *EVENTS, *FILLED)) - {TV.ARITHMETIC_UNDEFINED}
"""Claims about where accesses go, which values that are merely stored have no part in."""


class Replayer:
    """Confirms claims about one entry, given itself or by its symbol (`verifier.claim.Confirm`).

    ``budget``: steps for one run of a claim; ``total``: for all of them together, ``others``: for all launches in which
    any block will do; without a limit where they are ``None``.  ``last_reason`` says why the last call returned
    ``None``.
    """

    def __init__(
        self,
        module: Module,
        entry: Entry | str,
        parameters: Sequence[EntryParameter],
        *,
        budget: int = DEFAULT_BUDGET,
        total: int | None = None,
        others: int | None = None,
    ) -> None:
        self.module = module
        self.entry = entry if isinstance(entry, Entry) else _entry_named(module, entry)
        self.parameters = tuple(parameters)
        self.budget = budget
        self.claims = StepBudget(total)
        self.others = StepBudget(others, None if others is None else others // ANYWHERE_SHARE)
        self.last_reason: str | None = None
        self._loops = loops_around(self.entry.body)

    def __call__(self, launch: ConcreteLaunch, claim: Claim) -> Confirmation | None:
        """The fault as it was seen, or ``None`` if it did not show or the launch cannot be run."""
        self.last_reason = None
        try:
            _check_claim(launch, claim)
        except NotConfirmed as failure:
            self.last_reason = str(failure)
            return None
        for contents in telling_contents(launch) if self.entry.equal_stores else ({},):
            try:
                return self._confirm(self._bound(launch, claim, contents), launch, claim)
            except (NotConfirmed, InterpreterStop) as failure:
                self.last_reason = str(failure)
        return None

    def _bound(self, launch: ConcreteLaunch, claim: Claim, contents: Mapping[str, Array]) -> BoundLaunch:
        """The launch in memory; what decides about no access is not computed where the claim is about accesses, unless
        stores of equal values are allowed."""
        bound = bind_launch(self.module, self.entry, self.parameters, launch, contents)
        ops = claimed(claim)
        by_addresses = claim.code in OF_ACCESSES and not self.entry.equal_stores
        if by_addresses and not any(op.offset in ops for op in beside_addresses(self.entry)):
            bound.program.by_addresses_alone()
        return bound

    def anywhere(self, launch: ConcreteLaunch, claim: Claim) -> Shown:
        """The fault between, or in, any blocks of the launch, and whether the launch could have shown it."""
        self.last_reason = None
        if claim.code in (UNDETERMINED, TV.NEVER_WRITTEN):
            return Shown(claim, None, True)
        try:
            contents = next(iter(telling_contents(launch))) if self.entry.equal_stores else {}
            bound = self._bound(launch, claim, contents)
            with self.others.opened(self.budget, (claim.code, claim.offset_a, claim.offset_b)) as budget:
                look = self._unfilled_anywhere if claim.code == TV.UNFILLED_READ else self._anywhere
                return look(bound, launch, claim, budget)
        except InterpreterStop as stop:
            self.last_reason = str(stop)
            return Shown(claim, None, True, cut=isinstance(stop, BudgetSpent))

    def enumerated(self, launch: ConcreteLaunch, given: Collection[str]) -> Enumerated:
        """Whether any execution of the launch has a fault (`enumeration`)."""
        try:
            bound = bind_launch(self.module, self.entry, self.parameters, launch)
        except InterpreterStop as stop:
            return Enumerated(prod(launch.grid), 0, ENUMERATION_STEPS, None, str(stop))
        budget = Budget(ENUMERATION_STEPS)
        return LaunchEnumeration(bound, self.entry, launch.grid, frozenset(given), self._loops, budget).run()

    def _anywhere(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim, budget: Budget) -> Shown:
        steps, blocks = budget.left, chosen_blocks(launch.grid, claim)
        named = {claim.block_a, claim.block_b}
        logs: list[BlockLog] = []

        def first_seen(found: Iterable[Claim]) -> Shown | None:
            for each in found:
                try:
                    confirmation = self._seen(bound, launch, each, budget)
                except NotConfirmed as failure:
                    self.last_reason = str(failure)
                else:
                    confirmation = replace(confirmation, steps=steps - budget.left)
                    return Shown(each, confirmation, True, reach=reach(logs, claim))
            return None

        # What one block does alone is at fault or not whatever others do: the first that is will do.
        alone = claim.code not in BETWEEN_BLOCKS
        for number, block in enumerate(blocks):
            part = budget.part(budget.left // (CLAIMED_SHARE if block in named else len(blocks) - number + 1))
            logs.append(_run(bound, launch, Memory(bound.image), block, part, apart=True))
            if alone and (shown := first_seen(at_fault(logs[-1:], claim, claimed(claim), self._loops, budget))):
                return shown
        for ops in (None,) if alone else (claimed(claim), None):
            if shown := first_seen(at_fault(logs, claim, ops, self._loops, budget)):
                return shown
        wide = reach(logs, claim)
        if self._synchronises:
            whole = self._whole(launch, claim, budget)
            if whole is not None:
                return Shown(whole[0], replace(whole[1], steps=steps - budget.left), True, reach=wide)
        otherwise = faulty(logs, self._loops, budget) and not self._synchronises
        stops = [log.stopped for log in logs if log.stopped is not None]
        unknown = not self._accesses(claim) or bool(stops)
        cut = any(isinstance(stop, BudgetSpent) for stop in stops)
        return Shown(claim, None, unknown or at_stake(logs, claim), otherwise, wide, cut)

    def _unfilled_anywhere(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim, budget: Budget) -> Shown:
        steps = budget.left
        for block in chosen_blocks(launch.grid, claim):
            named = replace(claim, block_a=block)
            try:
                seen = self._seen(bound, launch, named, budget)
            except NotConfirmed as failure:
                self.last_reason = str(failure)
            else:
                return Shown(named, replace(seen, steps=steps - budget.left), True)
        return Shown(claim, None, True)

    def _whole(
        self, launch: ConcreteLaunch, claim: Claim, budget: Budget, blocks: set[Block | None] | None = None
    ) -> tuple[Claim, Confirmation] | None:
        """The fault at the claimed ops in runs of all blocks together, in any of them or in ``blocks``."""
        bind = partial(bind_launch, self.module, self.entry, self.parameters, launch)
        for found in whole_faults(bind, launch.grid, claim, self._loops, budget.part(WHOLE_BUDGET)):
            if blocks is not None and {found.claim.block_a, found.claim.block_b} != blocks:
                continue
            schedule = BothOrders(found.first, found.second, True, f"{NAME}, {found.text}")
            try:
                if found.conflicts is None:
                    seen = confirm_event(found.image, found.first, found.claim, {}, schedule.text)
                else:
                    seen = self._pick(found.image, found.conflicts, schedule, launch, found.claim)
            except NotConfirmed as failure:
                self.last_reason = str(failure)
            else:
                return found.claim, replace(seen, values=lambda: None)
        return None

    def _accesses(self, claim: Claim) -> bool:
        """Whether the claim is about an access to memory."""
        return any(op.offset == claim.offset_a and "ord" in op.attributes for op in self._loops)

    def _confirm(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim) -> Confirmation:
        with self.claims.opened(self.budget) as budget:
            steps = budget.left
            confirmation = self._seen(bound, launch, claim, budget)
            return replace(confirmation, steps=steps - budget.left)

    def _seen(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim, budget: Budget) -> Confirmation:
        try:
            if claim.code == UNDETERMINED:
                return self._left_open(bound, launch, claim, budget)
            if claim.code == TV.NEVER_WRITTEN:
                return self._never_written(bound, launch, claim, budget)
            return self._seen_in_blocks(bound, launch, claim, budget)
        except NotConfirmed:
            if claim.code in (UNDETERMINED, *FILLED):
                raise
            whole = self._whole(launch, claim, budget, {claim.block_a, claim.block_b}) if self._synchronises else None
            if whole is None:
                raise
            return whole[1]

    def _seen_in_blocks(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim, budget: Budget) -> Confirmation:
        if claim.code in BETWEEN_BLOCKS:
            return self._between_blocks(bound, launch, claim, budget)
        memory, text = Memory(bound.image), f"{NAME}, one block from the initial memory"
        if claim.code in EVENTS:
            watch = OutsideWatch()
            log = _run(bound, launch, memory, claim.block_a, budget, turn=watch)
            outside = {time: in_words(named, launch) for time, named in watch.found.items()}
            return confirm_event(bound.image, log, claim, outside, text)
        log = _run(bound, launch, memory, claim.block_a, budget)
        if claim.code == TV.UNFILLED_READ:
            return read_unfilled(bound.image, log, claim, budget, text)
        found = unordered(log, self._loops, budget) if claim.code == TV.UNORDERED_IN_BLOCK else doubled_lanes(log)
        schedule = BothOrders(log, log, True, text)
        return self._pick(bound.image, claimed_first(found, claim), schedule, launch, claim)

    def _never_written(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim, budget: Budget) -> Confirmation:
        memory = Memory(bound.image)
        logs = [_run(bound, launch, memory, block, budget) for block in every_block_of(launch.grid)]
        return never_written(bound.image, logs, claim, f"{NAME}, all blocks one after the other")

    def _left_open(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim, budget: Budget) -> Confirmation:
        log = _run(bound, launch, Memory(bound.image), claim.block_a, budget, conduct=ONLY_OPEN)
        found = open_use(self.entry, log, claim, f"{NAME}, one block from the initial memory")
        if found is None:
            raise NotConfirmed(excuse(log) or "nothing that is left open reaches the claimed op")
        return found

    def _between_blocks(self, bound: BoundLaunch, launch: ConcreteLaunch, claim: Claim, budget: Budget) -> Confirmation:
        assert claim.block_b is not None
        reasons: list[str] = []
        for schedule in self._schedules(bound, launch, claim.block_a, claim.block_b, budget):
            try:
                return self._find_race(bound.image, schedule, launch, claim, budget)
            except NotConfirmed as failure:
                reasons.append(str(failure))
        if self._synchronises:
            bind = partial(bind_launch, self.module, self.entry, self.parameters, launch)
            for run in whole_runs(bind, launch.grid, claim, budget.part(WHOLE_BUDGET)):
                schedule = BothOrders(run.first, run.second, True, f"{NAME}, {run.text}")
                try:
                    seen = self._pick(bound.image, claimed_first(run.conflicts, claim), schedule, launch, claim)
                except NotConfirmed as failure:
                    reasons.append(str(failure))
                else:
                    return replace(seen, values=lambda: None)
        raise NotConfirmed("; ".join(dict.fromkeys(reasons)))

    @property
    def _synchronises(self) -> bool:
        """Something but races carries values from one block to another."""
        return any(op.attributes.get("ord", MemoryOrdering.WEAK) != MemoryOrdering.WEAK for op in self._loops)

    def _schedules(
        self, bound: BoundLaunch, launch: ConcreteLaunch, a: Block, b: Block, budget: Budget
    ) -> Iterator[BothOrders]:
        share = budget.left // CLAIMED_SHARE
        first, second = (
            _run(bound, launch, Memory(bound.image), block, budget.part(share), apart=True) for block in (a, b)
        )
        yield BothOrders(first, second, False, f"{NAME}, each block from the initial memory")
        if not self._synchronises:
            return
        for one, other, text in ((a, b, "block_a before block_b"), (b, a, "block_b before block_a")):
            memory = Memory(bound.image)
            first, second = (_run(bound, launch, memory, block, budget) for block in (one, other))
            yield BothOrders(first, second, True, f"{NAME}, {text}")

    def _find_race(
        self, image: MemoryImage, schedule: BothOrders, launch: ConcreteLaunch, claim: Claim, budget: Budget
    ) -> Confirmation:
        first, second = schedule.first, schedule.second
        pairs = synchronisations(first, second) if schedule.ordered else []

        def ordered(earlier: DynamicAccess, later: DynamicAccess) -> bool:
            return any(pair.orders(earlier, later) for pair in pairs)

        offsets = (claim.offset_a, claim.offset_b)
        if first.block != claim.block_a:
            offsets = (claim.offset_b, claim.offset_a)
        named = races(claim.code, _at(first, offsets[0]), _at(second, offsets[1]), ordered, budget)
        everywhere = races(claim.code, first.accesses, second.accesses, ordered, budget)
        return self._pick(image, chain(named, everywhere), schedule, launch, claim)

    def _pick(
        self, image: MemoryImage, found: Iterable[Conflict], schedule: BothOrders, launch: ConcreteLaunch, claim: Claim
    ) -> Confirmation:
        """The first conflict that no undefined behaviour precedes, or else the first.

        Undefined behaviour is a fault of its own and does not excuse this one.  The blocks went on without what lay
        outside an array, and what they computed by it is open, so that no access which depends on that is in a log.
        """
        first, second = schedule.first, schedule.second
        past: Conflict | None = None
        for conflict in found:
            other = conflict.second or conflict.first
            if not before(first, conflict.first.time) and not before(second, other.time):
                return self._confirmation(image, conflict, schedule, launch, claim)
            past = past or conflict
        if past is None:
            raise NotConfirmed(excuse(first, second) or f"no {claim.code} shows")
        schedule = replace(schedule, text=f"{schedule.text}, past another fault")
        return self._confirmation(image, past, schedule, launch, claim)

    def _confirmation(
        self, image: MemoryImage, conflict: Conflict, schedule: BothOrders, launch: ConcreteLaunch, claim: Claim
    ) -> Confirmation:
        origin = image.origins[conflict.first.origin]
        named = name_elements(origin, shared_runs(conflict.first, conflict.second))
        sides = [SeenSide("a", schedule.first.block, conflict.first)]
        if conflict.second is not None:
            sides.append(SeenSide("b", schedule.second.block, conflict.second))
            if turned_round(sides, claim):
                sides = [replace(sides[0], name="b"), replace(sides[1], name="a")]
        touches = [
            Touch(side.access.op.offset, side.access.kind, side.block) for side in sorted(sides, key=attrgetter("name"))
        ]
        fault = Fault(
            launch,
            partial(bind_launch, self.module, self.entry, self.parameters, launch),
            partial(self._look_again, launch, not schedule.ordered),
            sides[0],
            sides[1] if len(sides) > 1 else None,
            schedule.ordered,
            conflict.address,
        )
        return Confirmation(
            array=origin.name,
            element=named.text,
            byte=conflict.address - image.allocations[origin.allocation].base,
            first=touches[0],
            second=touches[1] if len(touches) > 1 else None,
            replayed_by=schedule.text,
            elements=named.elements,
            values=fault.values,
        )

    def _look_again(
        self, launch: ConcreteLaunch, apart: bool, bound: BoundLaunch, memory: Memory, block: Block, watch: AccessWatch
    ) -> BlockLog:
        budget = Budget(min(self.budget, KERNEL_BUDGET))  # here all values are computed, and they are no proof
        return _run(bound, launch, memory, block, budget, apart=apart, turn=watch)


def replay(
    module: Module, entry: Entry | str, parameters: Sequence[EntryParameter], launch: ConcreteLaunch, claim: Claim, *,
    budget: int = DEFAULT_BUDGET,
) -> Confirmation | None:  # fmt: skip
    """Run ``launch`` and look for the fault that ``claim`` names; ``None`` if it does not show.

    A `Replayer` does the same for many claims about one entry and keeps the reason.
    """
    return Replayer(module, entry, parameters, budget=budget)(launch, claim)


# ------------------------------------------------------------------------------------------------ running
def _entry_named(module: Module, symbol: str) -> Entry:
    for entry in module.entries:
        if entry.name == symbol:
            return entry
    raise KeyError(f"the module has no entry {symbol}")


def _check_claim(launch: ConcreteLaunch, claim: Claim) -> None:
    if claim.code not in (*CONFLICTS, *EVENTS, *FILLED, UNDETERMINED):
        raise NotConfirmed(f"{claim.code} is not something that a run can show")
    blocks = [claim.block_a]
    if claim.code in BETWEEN_BLOCKS:
        if claim.block_b is None or claim.block_b == claim.block_a:
            raise NotConfirmed(f"{claim.code} needs two different blocks")
        blocks.append(claim.block_b)
    for block in blocks:
        if not all(0 <= place < size for place, size in zip(block, launch.grid, strict=True)):
            raise NotConfirmed(f"the grid {launch.grid} has no block {block}")


def _run(
    bound: BoundLaunch, launch: ConcreteLaunch, memory: Memory, block: Block, budget: Budget, *, apart: bool = False,
    turn: Turn | None = None, conduct: Conduct = REPLAY,
) -> BlockLog:  # fmt: skip
    return run_block(
        bound.program, bound.arguments, memory, launch.grid, block, budget, apart=apart, turn=turn, conduct=conduct
    )


def _at(log: BlockLog, offset: int | None) -> list[DynamicAccess]:
    return [access for access in log.accesses if access.op.offset == offset]


# ---------------------------------------------------------------------------------------------------------- open replay
# Replay of TV403: does a value that the specification leaves open reach the claimed op when the block is run?
#
# The block runs alone from the initial memory.  Another rounding or interleaving may decide what it likes there: only
# what is unspecified counts.


UNDETERMINED: Final = TV.UNDETERMINED

ONLY_OPEN: Final = Conduct(open=UNSPECIFIED, executes=True, stops=False)
"""How such a block runs: a value that is written is noted, one that decides about control or an access ends the run."""


def open_use(entry: Entry, log: BlockLog, claim: Claim, text: str) -> Confirmation | None:
    """What the run showed at the claimed op, if what reached it came from memory, or from an order that is free."""
    ops = {op.offset: op for op in walk(entry.body)}
    for use in uses(log):
        source = None if use.source is None else ops[use.source]
        if use.offset == claim.offset_a and source is not None and is_claimed(source):
            first = Touch(use.offset, "store" if use.op.startswith("store") else use.op, log.block)
            element = use.element or f"lane {list(use.first)}"
            array = use.element.partition("[")[0]
            return Confirmation(array, element, 0, first, None, text, source=use.source)
    return None


def uses(log: BlockLog) -> Iterator[OpenUse]:
    """All open uses of a run, also the one that ended it."""
    yield from log.open_uses
    if isinstance(log.stopped, UnspecifiedUse) and log.stopped.use is not None:
        yield log.stopped.use


def is_claimed(source: Op) -> bool:
    """Whether the op that made an open value read memory, or combined lanes.

    Results of arithmetic may be open, too, for other reasons.
    """
    return source.declaration.effect in ("read", "read_write") or source.declaration.body == "combination"


# ---------------------------------------------------------------------------------------------------------------- purse
# Steps that all replays of one kernel share, so that a check comes to an end whatever its witnesses take.
#
# Claims about blocks that they name, and launches in which any block will do, have purses of their own: dozens of
# launches with other contents leave the next claim what it takes, and those of one claim leave some to the next one's.


KERNEL_BUDGET: Final = 1 << 26
"""Steps for all claims that a check makes about one kernel; what shows a fault takes a twentieth of it."""

ANYWHERE_BUDGET: Final = 1 << 28
"""Steps for all launches of one kernel in which any block will do: dozens, of up to `any_blocks.MOST_BLOCKS` each."""

ANYWHERE_SHARE: Final = 4
"""One claim's launches may take so large a part of these."""


class StepBudget:
    """``left`` steps, of which no more than ``share`` are for one purpose; ``None``: without a limit."""

    def __init__(self, left: int | None, share: int | None = None) -> None:
        self.left = left
        self.share = share
        self._taken: Counter[Hashable] = Counter()

    @contextmanager
    def opened(self, most: int, purpose: Hashable = None) -> Iterator[Budget]:
        """Up to ``most`` steps; what is spent of them is gone from the purse and from what the purpose may take."""
        rest = None if self.share is None else max(self.share - self._taken[purpose], 0)
        budget = Budget(steps := min((most, *(limit for limit in (self.left, rest) if limit is not None))))
        try:
            yield budget
        finally:
            taken = steps - budget.left
            self._taken[purpose] += taken
            if self.left is not None:
                self.left = max(self.left - taken, 0)
