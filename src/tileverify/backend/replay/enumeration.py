"""Every block of one launch, each apart from all others: a fault that some execution has, or that none has any.

P(b): what block b does if no other block writes anything.  Let every P(b) come to its end by itself, and let nothing
that is open decide anything in it: contents that are not given, what atomics return, a rounding, values that are not
computed (`values.PROOF`).  Then the launch has no fault if

    no op of a P(b) is undefined
    conflicting accesses of one P(b) are related by tokens, or morally strong; lanes of one store are apart
    conflicting accesses of P(b) and P(c), b != c, are morally strong

For assume that an execution has a fault, and look at its first one (``docs/soundness.md``, section 3).  A plain load
before it reads what its own block stored there before, or what the launch began with: a write of another block to the
byte would conflict with it.  Scoped loads and exchanges, whose outcome others decide, are not taken; what other atomics
return decides nothing.  So each block did a part of P(b), and the fault is one of those above.  Nothing is asked of
orders between blocks: a launch that needs one is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from ...contract.launch import Block, every_block
from ...frontend.bytecode.entry_uses import parameters_written
from ...frontend.bytecode.enums import MemoryOrdering
from ...frontend.bytecode.model import Entry, Op, TileType
from ...results.claim import Claim, Enumerated
from ...results.codes import BETWEEN_BLOCKS, TV
from ..interpreter import BlockLog, BoundLaunch, Budget, BudgetSpent, InterpreterStop, Memory, run_block
from ..interpreter.conflicts import COVERS_BLOCKS, doubled_lanes, races, unordered
from ..interpreter.values import NOT_GIVEN, PROOF, WHY_TAINTED, Array, Tile, UnspecifiedUse
from .byte_intervals import Intervals, in_order, owned, shared_by, union

ENUMERATION_STEPS: Final = 1 << 31
"""Steps (see `interpreter.machine`) of all blocks together: some seconds."""

_NOT_TAKEN: Final = {
    "atomic_cas_tko": "an exchange finds what another block put there",
    "ptr_to_int": "it computes with addresses",
    "int_to_ptr": "it computes with addresses",
    "alloca": "its blocks allocate memory",
    "get_global": "it may depend on where a global array lies",
}

Loops: TypeAlias = Mapping[Op, tuple[Op, ...]]


class _Alone(NamedTuple):
    """A fault, or why it is not known whether there is one; ``asks_contents``: it hangs on what is not given."""

    claim: Claim | None = None
    reason: str | None = None
    asks_contents: bool = False


_CLEAN: Final = _Alone()


@dataclass
class LaunchEnumeration:
    """``contents_given``: names of the allocations whose contents at the beginning are those of the launch."""

    bound: BoundLaunch
    entry: Entry
    grid: Block
    contents_given: frozenset[str]
    loops: Loops
    budget: Budget
    _touched: dict[tuple[bool, int], list[Intervals]] = field(default_factory=dict)
    """Merged runs of each block, by whether they are written and the width of elements of strong accesses, else 0."""

    def run(self) -> Enumerated:
        """What all blocks do; where it is not known, the reason."""
        steps, most = self.budget.left, prod(self.grid)
        found = _Alone(reason=self.refusal())
        if found.reason is None:
            try:
                found = self._run()
            except BudgetSpent:
                found = _Alone(reason=f"{most:,} blocks take more than {steps:,} steps of the reference interpreter")
            except InterpreterStop as stop:
                found = _Alone(reason=str(stop))
        spent = steps - self.budget.left
        return Enumerated(most, spent, steps, found.claim, found.reason or "", found.asks_contents)

    def refusal(self) -> str | None:
        """Why a launch of the kernel cannot be enumerated, whatever its numbers."""
        for op in self.loops:
            if op.name in _NOT_TAKEN:
                return _NOT_TAKEN[op.name]
            if op.declaration.multimem:
                return "it reaches memory of other devices"
            if op.declaration.loads and op.attributes["ord"] != MemoryOrdering.WEAK:
                return "it reads what other blocks publish"
        return None

    def _run(self) -> _Alone:
        self.bound.program.by_addresses_alone()
        self._arguments = {
            value: argument.tainted(NOT_GIVEN) if isinstance(argument, Tile) and _is_float(value.type) else argument
            for value, argument in self.bound.arguments.items()
        }
        self._written = self._allocations_written()
        blocks = list(every_block(self.grid)) if prod(self.grid) <= self._most_blocks() else []
        if not blocks:
            raise BudgetSpent
        for number, block in enumerate(blocks):
            before = self.budget.left
            log = self._log(block)
            found = self._alone(log)
            if found != _CLEAN:
                return found
            self._add(number, log)
            if number == 0 and (before - self.budget.left) * len(blocks) > 2 * before:
                raise BudgetSpent
        pair = self._meeting()
        return _CLEAN if pair is None else self._race(blocks[pair[0]], blocks[pair[1]])

    def _most_blocks(self) -> int:
        return self.budget.left // _LEAST_COST

    def _log(self, block: Block) -> BlockLog:
        memory = Memory(self.bound.image)
        for number, allocation in enumerate(self.bound.image.allocations):
            if allocation.name not in self.contents_given:
                memory.forget(number)
        return run_block(
            self.bound.program, self._arguments, memory, self.grid, block, self.budget, apart=True, conduct=PROOF
        )

    # ------------------------------------------------------------------------------------------ one block
    def _alone(self, log: BlockLog) -> _Alone:
        """A fault of one block, or why it is not known whether it has one."""
        if log.events:
            event = log.events[0]
            return _Alone(Claim(event.code, log.block, None, event.offset))
        if isinstance(log.stopped, BudgetSpent):
            raise log.stopped
        uses = [log.stopped.use] if isinstance(log.stopped, UnspecifiedUse) else log.open_uses
        for use in filter(None, uses):
            asks = use.what == WHY_TAINTED[NOT_GIVEN]
            return _Alone(reason=f"{use.what} reaches the {use.use} of {use.op}", asks_contents=asks)
        if log.stopped is not None or log.left_out:
            return _Alone(reason=f"block {log.block}: {log.stopped or log.left_out[0]}")
        for conflict in doubled_lanes(log):
            return _Alone(Claim(TV.DUPLICATE_LANES, log.block, None, conflict.first.op.offset))
        for conflict in unordered(log, dict.fromkeys(self.loops, ()), self.budget):
            if next(iter(unordered(log, self.loops, self.budget)), None) is None:
                return _Alone(reason="the specification does not say what orders an access behind a loop")
            assert conflict.second is not None
            offsets = conflict.first.op.offset, conflict.second.op.offset
            return _Alone(Claim(TV.UNORDERED_IN_BLOCK, log.block, None, *offsets))
        return _CLEAN

    # ---------------------------------------------------------------------------------------- two blocks
    def _allocations_written(self) -> frozenset[int]:
        image = self.bound.image
        written = parameters_written(self.entry)
        if written is None:
            return frozenset(range(len(image.allocations)))
        arguments = (self.bound.arguments[value] for value in written)
        origins = (int(each.origin) for each in arguments if isinstance(each, Tile) and each.origin is not None)
        return frozenset(image.origins[origin].allocation for origin in origins)

    def _add(self, number: int, log: BlockLog) -> None:
        runs: dict[tuple[bool, int], list[tuple[Array, Array]]] = {}
        for access in log.accesses:
            if self.bound.image.origins[access.origin].allocation not in self._written:
                continue
            width = 0 if access.weak or access.scope not in COVERS_BLOCKS else access.width
            for footprint in access.footprints:
                writes = footprint is access.writes
                runs.setdefault((writes, width), []).append(footprint.runs)
        for kind, found in runs.items():
            starts, ends = union(*map(np.concatenate, zip(*found, strict=True)))
            self.budget.spend(_RUN_COST * len(starts))
            self._touched.setdefault(kind, []).append(Intervals(starts, ends, np.full(len(starts), number)))

    def _meeting(self) -> tuple[int, int] | None:
        """Numbers of two blocks with accesses that conflict and are not morally strong."""
        touched = {kind: in_order(found) for kind, found in self._touched.items()}
        for (writes, width), intervals in sorted(touched.items()):
            if not writes:
                continue
            alone, pair = owned(intervals)
            if pair is not None and not width:
                return pair
            for (other_writes, other_width), others in sorted(touched.items()):
                if (other_writes, other_width) == (writes, width) or (width and width == other_width):
                    continue
                if (pair := shared_by(alone, intervals, others)) is not None:
                    return pair
        return None

    def _race(self, first: Block, second: Block) -> _Alone:
        logs = [self._log(block) for block in (first, second)]
        for code in BETWEEN_BLOCKS:
            for conflict in races(code, logs[0].accesses, logs[1].accesses, lambda earlier, later: False, self.budget):
                assert conflict.second is not None
                return _Alone(Claim(code, first, second, conflict.first.op.offset, conflict.second.op.offset))
        return _Alone(reason=f"blocks {first} and {second} meet")


_LEAST_COST: Final = 1 << 13
"""Steps that every block takes."""
_RUN_COST: Final = 1 << 4
"""Steps that one run of bytes costs when it is compared with others."""


def _is_float(kind: object) -> bool:
    return isinstance(kind, TileType) and getattr(kind.element, "is_float", False)
