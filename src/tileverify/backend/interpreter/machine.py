"""One tile block on the machine: its values, memory, log and step budget, and where its poison comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Protocol, TypeAlias

import numpy as np

from ...frontend.bytecode.entry_uses import beside_addresses, footprints_alone
from ...frontend.bytecode.model import Block, Entry, Module, Op, TileType, Value
from ...frontend.bytecode.traverse import inert_assumptions, walk
from ...results.codes import TV
from .access_log import BlockLog
from .memory import Memory
from .values import (
    MACHINE_TAINT,
    REPLAY,
    UNKNOWN_ORIGIN,
    Array,
    BudgetSpent,
    Conduct,
    NotModelled,
    RuntimeValue,
    TensorView,
    Tile,
    TileView,
    Token,
    UndefinedBehaviour,
    UndefinedStop,
    UnspecifiedUse,
    open_use,
    stand_in,
    taint_bits,
)

GridPoint: TypeAlias = tuple[int, int, int]
Result: TypeAlias = "RuntimeValue | tuple[RuntimeValue, ...]"
Rule: TypeAlias = "Callable[[BlockInterpreter, Op], Result]"


class Turn(Protocol):
    """Decides when the accesses of a block happen, among those of other blocks on the same memory."""

    def passes(self, op: Op) -> bool:
        """Whether the block hands control over before the memory op."""
        ...

    def perform(self, run: BlockInterpreter, op: Op, rule: Rule) -> Result:
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
    not executed, with what stands for their results (`by_addresses_alone`); ``footprints``: accesses that are logged
    and move nothing.  ``shared``: two arguments may be in one allocation.
    """

    module: Module
    entry: Entry
    globals: dict[str, int] = field(default_factory=dict)
    computed: dict[Op, Result] = field(default_factory=dict)
    rules: Mapping[str, Rule] | None = None
    left_out: Mapping[Op, tuple[Tile, ...]] = field(default_factory=dict)
    footprints: frozenset[Op] = frozenset()
    shared: bool = False
    inert: frozenset[Op] = field(init=False)
    uniform: frozenset[Op] = field(init=False)

    def __post_init__(self) -> None:
        self.inert = inert_assumptions(self.entry)
        self.uniform = uniform_ops(self.entry)

    def by_addresses_alone(self) -> None:
        """From now on, blocks do not compute what decides about no access."""
        self.left_out = _stand_ins(self.entry)
        if not self.shared:
            self.footprints = footprints_alone(self.entry)


@lru_cache(maxsize=64)
def _stand_ins(entry: Entry) -> Mapping[Op, tuple[Tile, ...]]:
    found = {}
    for op in beside_addresses(entry):
        kinds = [result.type for result in op.results]
        found[op] = tuple(stand_in(kind) for kind in kinds if isinstance(kind, TileType))
    return found


@dataclass(slots=True)
class BlockInterpreter:
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
        if not self.conduct.executes or self.conduct.proves or marks is None:
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
        """Record undefined behaviour unless ``holds`` on every lane whose value is specified.

        :raises UnspecifiedUse: a proof cannot tell, as a lane is open.
        """
        if self.conduct.proves and taint is not None and taint.any():
            raise self._unspecified(op, taint, "operand")
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


# ----------------------------------------------------------------------------------------------------------- provenance
# Where poison comes from: from the op that an open value reached back to the one that made it.
#
# Asked once, when a run ends.  The values that the block holds at that time tell which operands are open.


def poison_source(run: BlockInterpreter, op: Op, marks: Array) -> Op | None:
    """The op that made the first open operand of ``op``, in the lanes with ``marks``: one with open results and no open
    operand.  What is open in other lanes alone, behind a `where` say, has no part in it."""
    makers = _makers(run.program.entry.body)
    seen: set[Value] = set()
    pending = [(value, _used_lanes(run, op, value, marks)) for value in _operands(op)]
    while pending:
        value, lanes = pending.pop(0)
        if value in seen or not _is_open(run, value, lanes) or value not in makers:
            continue
        seen.add(value)
        maker, earlier = makers[value]
        before = [(each, _lanes_before(run, maker, each, lanes)) for each in earlier]
        if not any(_is_open(run, each, needed) for each, needed in before):
            # Of a loop only the last round is known: another one may have left these lanes open.
            before = [(each, None) for each in earlier]
        if not any(_is_open(run, each, needed) for each, needed in before):
            return maker
        pending = [*before, *pending]
    return None


def _is_open(run: BlockInterpreter, value: Value, lanes: Array | None) -> bool:
    match run.values.get(value):
        case Tile(data=data, taint=taint) if taint is not None:
            if lanes is not None and lanes.shape == data.shape:
                taint = np.where(lanes, taint, 0)
            return bool(taint_bits(taint) & run.conduct.open)
        case TensorView(taint=bits) | TileView(tensor=TensorView(taint=bits)):
            return bool(bits & run.conduct.open)
    return False


def _shape(run: BlockInterpreter, value: Value) -> tuple[int, ...] | None:
    held = run.values.get(value)
    return held.data.shape if isinstance(held, Tile) else None


def _used_lanes(run: BlockInterpreter, op: Op, value: Value, marks: Array) -> Array | None:
    """The lanes of an operand that the marks of a use are about; ``None``: any.  Of a view's tile that sticks out they
    are those of its first rows and columns."""
    shape = _shape(run, value)
    if shape is None or marks.ndim != len(shape) or (marks.shape != shape and "view" not in op.name):
        return None
    lanes = np.zeros(shape, np.bool_)
    lanes[tuple(map(slice, marks.shape))] = marks != 0
    return lanes


def _lanes_before(run: BlockInterpreter, op: Op, value: Value, lanes: Array | None) -> Array | None:
    """The lanes of an operand of ``op`` on which those of its result hang; ``None``: any may."""
    shape = _shape(run, value)
    if lanes is None or shape is None:
        return None
    match op.name:
        case "reshape":
            return lanes.reshape(shape)
        case "permute":
            return lanes.transpose(np.argsort(op.attributes["perm"]))
        case "broadcast":
            spread = tuple(axis for axis, size in enumerate(shape) if size != lanes.shape[axis])
            return np.asarray(lanes.any(axis=spread, keepdims=True))
        case "reduce" if lanes.ndim == len(shape) - 1:
            return np.broadcast_to(np.expand_dims(lanes, op.attributes["dim"]), shape)
        case "select" if value in (op.value("t"), op.value("f")):
            condition = run.values[op.value("c")]
            assert isinstance(condition, Tile)
            return lanes & (condition.data if value == op.value("t") else ~condition.data)
        case "mmai" | "mmaf" if value != op.value("acc"):
            axis = -1 if value == op.value("lhs") else -2
            return np.broadcast_to(lanes.any(axis=axis, keepdims=True), shape)
    return lanes if lanes.shape == shape else None


def _operands(op: Op) -> Iterator[Value]:
    for operand in op.operands.values():
        if isinstance(operand, Value):
            yield operand
        elif operand is not None:
            yield from operand


def _makers(body: Block) -> dict[Value, tuple[Op, tuple[Value, ...]]]:
    """For every value the op that makes it and what it is made of, also around a loop and out of a branch."""
    found: dict[Value, tuple[Op, tuple[Value, ...]]] = {}
    for op in walk(body):
        if not op.regions:
            found |= {result: (op, tuple(_operands(op))) for result in op.results}
            continue
        # A combination of one element is that element: its body does not run.
        loops, combines = op.declaration.body == "loop", op.declaration.body == "combination"
        inits = op.group("inits") if loops else op.group("inputs") if combines else ()
        inside = [block for region in op.regions for block in region.blocks]
        left = {kind: _left_with(inside, kind) for kind in ("yield", "break", "continue")}
        ends = left["break" if op.name == "loop" else "continue" if op.name == "for" else "yield"]
        for number, result in enumerate(op.results):
            parts = _at(ends, number), inits[number : number + 1]
            # Of a combination the inputs come first: which of their lanes count is known, of its body's it is not.
            found[result] = op, (*parts[1], *parts[0]) if combines else (*parts[0], *parts[1])
        first = 1 if op.name == "for" else 0
        for block in inside:
            for number, argument in enumerate(block.arguments[first:]):
                if loops:
                    found[argument] = op, (*_at(left["continue"], number), *inits[number : number + 1])
                else:  # of a reduction: lhs and rhs of each input
                    found[argument] = op, op.group("inputs")[number // 2 : number // 2 + 1]
    return found


def _at(ends: list[tuple[Value, ...]], number: int) -> tuple[Value, ...]:
    return tuple(values[number] for values in ends if number < len(values))


def _left_with(blocks: list[Block], kind: str) -> list[tuple[Value, ...]]:
    """The operands of all terminators ``kind`` that leave these op lists; those of nested loops stay in them."""
    found = []
    for block in blocks:
        for op in block.ops:
            if op.name == kind:
                found.append(op.group("args"))
            elif op.name == "if" and kind != "yield":
                found += _left_with([inner for region in op.regions for inner in region.blocks], kind)
    return found


# -------------------------------------------------------------------------------------------------------------- uniform
# Ops that give the same value in every block of a launch, which are therefore computed once.


DIFFERING: Final = frozenset({"get_tile_block_id", "alloca", "int_to_ptr"})
"""Without an effect, but of this block, or of the memory that it made (`int_to_ptr` looks for what lies there).  Not a
property of their declarations: the prover derives the same from its terms, and is refereed by this."""


@lru_cache(maxsize=64)
def uniform_ops(entry: Entry) -> frozenset[Op]:
    """Ops without an effect, or a region, whose operands are parameters of the entry and results of such ops; what is
    no function of its operands is none of them."""
    known: set[Value] = set(entry.parameters)
    found = set()
    for op in walk(entry.body):
        if (
            op.regions
            or not op.results
            or op.declaration.effect != "none"
            or op.name in DIFFERING
            or not op.is_function
        ):
            continue
        operands = (
            value
            for operand in op.operands.values()
            for value in (operand if isinstance(operand, tuple) else (operand,))
        )
        if all(value is None or value in known for value in operands):
            found.add(op)
            known.update(op.results)
    return frozenset(found)
