"""One tile block on the machine: its values, its memory, its log, and the step budget it runs under."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ...frontend.bytecode.inert import inert_assumptions
from ...frontend.bytecode.model import Entry, Module, Op, Value
from .access_log import BlockLog
from .faults import BudgetSpent, NotModelled, UndefinedBehaviour, UnspecifiedUse
from .memory import Memory
from .values import (
    UNKNOWN_ORIGIN,
    Array,
    RuntimeValue,
    TensorView,
    Tile,
    TileView,
    Token,
    describe_taint,
    taint_bits,
)

GridPoint: TypeAlias = tuple[int, int, int]
Result: TypeAlias = "RuntimeValue | tuple[RuntimeValue, ...]"
Rule: TypeAlias = "Callable[[BlockRun, Op], Result]"


class Turn(Protocol):
    """Decides when the accesses of a block happen, among those of other blocks on the same memory."""

    def perform(self, run: BlockRun, op: Op, rule: Rule) -> Result:
        """Apply ``rule`` to a memory op when it is its time."""
        ...

    def spins(self, op: Op) -> None:
        """The loop ``op`` came back to where it was; returns when it may try again."""
        ...


OP_COST = 2048
"""Steps that one op costs besides its elements: about the same time in NumPy."""


class Budget:
    """Steps left, one per element computed and `OP_COST` per op."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, elements: int) -> None:
        self.left -= elements
        if self.left < 0:
            raise BudgetSpent("the run needs more steps than its budget")


@dataclass(slots=True)
class Program:
    """One entry, with what all its blocks share: decoded constants and global variables by name.

    ``inert``: assumptions without effect, which may be false (see `inert_assumptions`).
    """

    module: Module
    entry: Entry
    globals: dict[str, int] = field(default_factory=dict)
    constants: dict[Op, Tile] = field(default_factory=dict)
    inert: frozenset[Op] = field(init=False)

    def __post_init__(self) -> None:
        self.inert = inert_assumptions(self.entry)


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
        taint = taint_bits(tile.taint)
        if taint:
            raise UnspecifiedUse(f"{describe_taint(taint)} reaches the {use} of {op.name} at {op.offset:#x}")
        return int(tile.data)

    def leave_out(self, op: Op, taint: int, use: str, origins: Iterable[int]) -> None:
        """Note that an access did not happen, in whole or on some lanes, because its ``use`` operand is open.

        What it may have written in ``origins`` is open from then on.
        """
        self.log.left_out.append(f"{describe_taint(taint)} reaches the {use} of {op.name} at {op.offset:#x}")
        if op.declaration.effect != "read":
            for origin in origins:
                if origin == UNKNOWN_ORIGIN:
                    raise NotModelled(f"{op.name} at {op.offset:#x} through a pointer of unknown origin")
                self.memory.leave_open(self.memory.image.origins[origin].allocation)

    def require(self, op: Op, holds: Array, taint: Array | None, code: str, message: str) -> None:
        """Record undefined behaviour unless ``holds`` on every lane whose value is specified."""
        broken = ~holds
        if broken.any() and (taint is None or (broken & (taint == 0)).any()):
            self.undefined(op, code, message)

    def undefined(
        self, op: Op, code: str, message: str, origin: int | None = None, address: int | None = None,
        coordinates: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Record an event of undefined behaviour; the run goes on."""
        event = UndefinedBehaviour(code, op.name, op.offset, self.log.tick(), message, origin, address, coordinates)
        self.log.events.append(event)

    def bind(self, parameters: tuple[Value, ...], values: tuple[RuntimeValue, ...]) -> None:
        self.values.update(zip(parameters, values, strict=True))
