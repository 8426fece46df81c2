"""One tile block on the machine: its values, its memory, its log, and the step budget it runs under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np

from ...frontend.bytecode.address_uses import beside_addresses
from ...frontend.bytecode.inert import inert_assumptions
from ...frontend.bytecode.model import Entry, Module, Op, TileType, Value
from ...results.codes import TV
from .access_log import BlockLog
from .conduct import REPLAY, Conduct, open_use
from .faults import BudgetSpent, NotModelled, UndefinedBehaviour, UndefinedStop, UnspecifiedUse
from .memory import Memory
from .provenance import poison_source
from .uniform import uniform_ops
from .values import (
    MACHINE_TAINT,
    UNKNOWN_ORIGIN,
    Array,
    RuntimeValue,
    TensorView,
    Tile,
    TileView,
    Token,
    stand_in,
)

GridPoint: TypeAlias = tuple[int, int, int]
Result: TypeAlias = "RuntimeValue | tuple[RuntimeValue, ...]"
Rule: TypeAlias = "Callable[[BlockRun, Op], Result]"


class Turn(Protocol):
    """Decides when the accesses of a block happen, among those of other blocks on the same memory."""

    def passes(self, op: Op) -> bool:
        """Whether the block hands control over before the memory op."""
        ...

    def perform(self, run: BlockRun, op: Op, rule: Rule) -> Result:
        """Apply ``rule`` to a memory op when it is its time."""
        ...

    def spins(self, op: Op) -> None:
        """The loop ``op`` came back to where it was; the block hands control over, and tries again after that."""
        ...


OP_COST = 2048
"""Steps that one op costs besides its elements: about the same time in NumPy."""


class Budget:
    """Steps left, one per element computed and `OP_COST` per op; those of a part count for the ``whole``, too."""

    def __init__(self, steps: int, whole: Budget | None = None) -> None:
        self.left = steps
        self.whole = whole

    def part(self, most: int) -> Budget:
        """No more than ``most`` of the steps that are left."""
        return Budget(min(self.left, most), self)

    def spend(self, elements: int) -> None:
        self.left -= elements
        if self.whole is not None:
            self.whole.left -= elements
        if self.left < 0:
            raise BudgetSpent("the run needs more steps than its budget")


@dataclass(slots=True)
class Program:
    """One entry, with what all its blocks share: global variables by name, and values.

    ``inert``: assumptions without effect, which may be false (see `inert_assumptions`).  ``uniform``: ops that give the
    same in every block; ``computed`` holds what they gave, for ops that had nothing to report.  ``rules``: those of ops
    in another domain than machine arithmetic; the interpreter's own where there is none.  ``left_out``: ops that are
    not executed, with what stands for their results (`by_addresses_alone`).
    """

    module: Module
    entry: Entry
    globals: dict[str, int] = field(default_factory=dict)
    computed: dict[Op, Result] = field(default_factory=dict)
    rules: Mapping[str, Rule] | None = None
    left_out: Mapping[Op, tuple[Tile, ...]] = field(default_factory=dict)
    inert: frozenset[Op] = field(init=False)
    uniform: frozenset[Op] = field(init=False)

    def __post_init__(self) -> None:
        self.inert = inert_assumptions(self.entry)
        self.uniform = uniform_ops(self.entry)

    def by_addresses_alone(self) -> None:
        """From now on, blocks do not compute what decides about no access."""
        self.left_out = _stand_ins(self.entry)


@lru_cache(maxsize=64)
def _stand_ins(entry: Entry) -> Mapping[Op, tuple[Tile, ...]]:
    found = {}
    for op in beside_addresses(entry):
        kinds = [result.type for result in op.results]
        found[op] = tuple(stand_in(kind) for kind in kinds if isinstance(kind, TileType))
    return found


@dataclass(slots=True)
class BlockRun:
    """The state of one block.

    ``apart``: other blocks run at the same time and unseen, so what an atomic returns is one of many possibilities.
    ``turn``: other blocks run at the same time on the same memory, and it says when this one may go on.
    """

    program: Program
    memory: Memory
    grid: GridPoint
    block: GridPoint
    budget: Budget
    apart: bool = False
    turn: Turn | None = None
    conduct: Conduct = REPLAY
    values: dict[Value, RuntimeValue] = field(default_factory=dict)
    log: BlockLog = field(init=False)

    def __post_init__(self) -> None:
        self.log = BlockLog(self.block)

    # ------------------------------------------------------------------------------------ operands
    def tile(self, op: Op, name: str) -> Tile:
        value = self.values[op.value(name)]
        assert isinstance(value, Tile)
        return value

    def optional_tile(self, op: Op, name: str) -> Tile | None:
        operand = op.optional(name)
        if operand is None:
            return None
        value = self.values[operand]
        assert isinstance(value, Tile)
        return value

    def tiles(self, op: Op, name: str) -> tuple[Tile, ...]:
        found = tuple(self.values[value] for value in op.group(name))
        assert all(isinstance(value, Tile) for value in found)
        return found  # type: ignore[return-value]

    def tensor_view(self, op: Op, name: str) -> TensorView:
        value = self.values[op.value(name)]
        assert isinstance(value, TensorView)
        return value

    def tile_view(self, op: Op, name: str) -> TileView:
        value = self.values[op.value(name)]
        assert isinstance(value, TileView)
        return value

    def waits(self, op: Op, name: str = "token") -> int:
        """What the token operand waits for; nothing without one."""
        operand = op.optional(name)
        if operand is None:
            return 0
        value = self.values[operand]
        assert isinstance(value, Token)
        return value.waits

    # --------------------------------------------------------------------------------- specified use
    def scalar(self, op: Op, tile: Tile, use: str) -> int:
        """The unsigned reading of a 0-d integer tile that steers control or an address."""
        marks = self.conduct.open_lanes(tile)
        if marks is not None:
            raise self._unspecified(op, marks, use)
        return int(tile.data)

    def leave_out(self, op: Op, marks: Array, use: str, origins: Iterable[int]) -> None:
        """An access does not happen, in whole or on some lanes, because its ``use`` operand is open (``marks``).

        A replay notes it, and what the access may have written in ``origins`` is open from then on; a run ends.
        """
        self.decides(op, marks, use)
        self.log.left_out.append(str(open_use(op, marks, use)))
        if op.declaration.effect != "read":
            for origin in origins:
                if origin == UNKNOWN_ORIGIN:
                    raise NotModelled(f"{op.name} at {op.offset:#x} through a pointer of unknown origin")
                self.memory.leave_open(self.memory.image.origins[origin].allocation)

    def decides(self, op: Op, marks: Array, use: str) -> None:
        """Look at the taint of what decides about an access; only a run ends there."""
        open_ = self.conduct.opened(marks)
        if self.conduct.executes and open_.any():
            raise self._unspecified(op, open_, use)

    def writes(self, op: Op, marks: Array | None, element: Callable[[int], str]) -> None:
        """Look at the taint of what an access is about to write; ``element`` names what a (flat) lane writes to."""
        if not self.conduct.executes or marks is None:
            return
        open_ = np.asarray(marks & np.uint8(self.conduct.open))
        if open_.any():
            self._noted(self._unspecified(op, open_, "written value", element))

    def assumes(self, op: Op, tile: Tile) -> None:
        """Look at the taint of what an `assume` speaks of."""
        marks = self.conduct.open_lanes(tile) if self.conduct.executes else None
        if marks is not None:
            self._noted(self._unspecified(op, marks, "operand"))

    def _noted(self, found: UnspecifiedUse) -> None:
        if self.conduct.stops or found.use is None:
            raise found
        self.log.open_uses.append(found.use)

    def _unspecified(
        self, op: Op, marks: Array, use: str, element: Callable[[int], str] | None = None
    ) -> UnspecifiedUse:
        found = open_use(op, marks, use, element, poison_source(self, op, marks))
        return UnspecifiedUse(str(found), found)

    def require(self, op: Op, holds: Array, taint: Array | None, code: TV, message: str) -> None:
        """Record undefined behaviour unless ``holds`` on every lane whose value is specified."""
        broken = ~holds
        if broken.any() and (taint is None or (broken & (taint & MACHINE_TAINT == 0)).any()):
            self.undefined(op, code, message)

    def undefined(
        self, op: Op, code: TV, message: str, origin: int | None = None, address: int | None = None,
        coordinates: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Record an event of undefined behaviour.

        :raises UndefinedStop: the run ends here, by its conduct.
        """
        event = UndefinedBehaviour(code, op.name, op.offset, self.log.tick(), message, origin, address, coordinates)
        self.log.events.append(event)
        if self.conduct.stops:
            raise UndefinedStop(f"{code}: {message}")

    def bind(self, parameters: tuple[Value, ...], values: tuple[RuntimeValue, ...]) -> None:
        self.values.update(zip(parameters, values, strict=True))
