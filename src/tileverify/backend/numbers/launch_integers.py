"""What a kernel computes of its launch alone: of sizes, strides, integer scalars, block ids and places in a tile.

All of it is computed for many blocks of many launches at once, a lane for each: as the machine does it, by the rules
of the interpreter, and beside that over the integers (of floats: in float64), without a width.  Where the two part,
a word was too narrow.  No array is read: what comes of arrays is left out, or any number within
the bounds of a `range` fact (`odd_launches`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from ...contract.expressions import Undefined
from ...contract.launch import DataFact, EntryParameter, Expression, Name, Number, Role, strides_of
from ...frontend.bytecode.model import Block, Entry, Op, ScalarType, TensorViewType, TileType, Value
from ..interpreter.control import RULES
from ..interpreter.integers import COMPARISONS, divide
from ..interpreter.tiles import constant_tile
from ..interpreter.values import Tile, as_signed, wrapped
from .array_files import Array
from .choose import ContractInNumbers

if TYPE_CHECKING:
    from ..interpreter.machine import BlockInterpreter

Axes: TypeAlias = "tuple[Array, Array, Array]"

_FAR: Final = 2.0**62
"""What is beyond is not followed any more: it was too wide for 32 bits long before."""
_OFF: Final = 2.0**-10
"""By which part of itself a difference of whole numbers may be off in floats."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """One value: ``held`` by the machine, and the ``number`` that is meant.  ``lost``: lanes in which that is unknown;
    ``launched``: it differs with the launch or the block, not with the place in a tile alone."""

    held: Array
    number: Array
    lost: Array
    launched: bool


@dataclass(frozen=True, slots=True)
class Launches:
    """Lanes of launches and blocks: the value of each root, the ``block``, its ``grid``, and a share from 0 to 1 by
    which a lane has a place in tiles and loops."""

    values: Mapping[str, Array]
    block: Axes
    grid: Axes
    source: np.random.Generator

    @property
    def count(self) -> int:
        return len(self.block[0])


@dataclass(slots=True)
class Computed:
    """What ops gave, in the lanes that reach them: machine words, and where these are not what is meant."""

    lanes: dict[Op, Lanes] = field(default_factory=dict)
    reached: dict[Op, Array] = field(default_factory=dict)
    narrow: dict[Op, Array] = field(default_factory=dict)


def computed(
    entry: Entry,
    parameters: Sequence[EntryParameter],
    contract: ContractInNumbers,
    launches: Launches,
    bounded: Mapping[Op, DataFact] | None = None,
) -> Computed:
    """Every op of the launch alone, for these lanes; ``bounded``: loads of which facts say what they may give."""
    run = _Run(contract, launches, bounded or {})
    with np.errstate(all="ignore"):
        for value, parameter in zip(entry.parameters, parameters, strict=True):
            run.parameter(value, parameter)
        run.block(entry.body, np.ones(launches.count, np.bool_))
    return run.found


# ---------------------------------------------------------------------------------------------- numbers
Meaning: TypeAlias = "Callable[..., Array]"
"""What an op means: (op, operands) -> numbers."""


def _shifted_left(op: Op, a: Array, b: Array) -> Array:
    return np.asarray(a * 2.0 ** np.clip(b, 0, 63) if a.dtype.kind == "f" else a << np.clip(b, 0, 62))


def _remainder(op: Op, a: Array, b: Array) -> Array:
    return np.asarray(a - divide(a, some(b), "zero") * some(b))


def _compared(op: Op, a: Array, b: Array) -> Array:
    return np.asarray(COMPARISONS[op.attributes["pred"]](a, b)).astype(np.int64)


def _of_bit(op: Op, a: Array) -> Array:
    """A bit that is read with its sign is 0 or -1."""
    return -a if _scalar(op.value("s")).bits == 1 and op.attributes["sgn"] == "signed" else a


_GROWING: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply,
}  # fmt: skip
_MEANINGS: Final[dict[str, Meaning]] = {
    "addi": lambda op, a, b: a + b,
    "subi": lambda op, a, b: a - b,
    "muli": lambda op, a, b: a * b,
    "shli": _shifted_left,
    "shri": lambda op, a, b: a >> np.clip(b, 0, 63),
    "divi": lambda op, a, b: divide(a, some(b), op.attributes["rnd"]),
    "remi": _remainder,
    "andi": lambda op, a, b: a & b,
    "ori": lambda op, a, b: a | b,
    "xori": lambda op, a, b: a ^ b,
    "maxi": lambda op, a, b: np.maximum(a, b),
    "mini": lambda op, a, b: np.minimum(a, b),
    "cmpi": _compared,
    "negi": lambda op, a: -a,
    "absi": lambda op, a: np.abs(a),
    "exti": _of_bit,
    "trunci": lambda op, a: a & 1 if _scalar(op.result).bits == 1 else a,
    "itof": lambda op, a: _of_bit(op, a).astype(np.float64),
    "ftoi": lambda op, a: np.trunc(np.where(np.abs(a) < _FAR, a, 0.0)).astype(np.int64),
    "ftof": lambda op, a: a,
    "addf": lambda op, a, b: a + b,
    "subf": lambda op, a, b: a - b,
    "mulf": lambda op, a, b: a * b,
    "divf": lambda op, a, b: a / b,
    "fma": lambda op, a, b, c: a * b + c,
    "maxf": lambda op, a, b: np.fmax(a, b),
    "minf": lambda op, a, b: np.fmin(a, b),
    "cmpf": _compared,
    "negf": lambda op, a: -a,
    "absf": lambda op, a: np.abs(a),
    "floor": lambda op, a: np.floor(a),
    "ceil": lambda op, a: np.ceil(a),
    "sqrt": lambda op, a: np.sqrt(a),
    "select": lambda op, c, t, f: np.asarray(np.where(c != 0, t, f)),
}
_MOVING: Final = frozenset({"broadcast", "reshape", "permute", "assume", "extract"})
"""A lane has a place in a tile; which one does not matter."""


def _scalar(value: Value) -> ScalarType:
    assert isinstance(value.type, TileType)
    assert isinstance(value.type.element, ScalarType)
    return value.type.element


def _is_number(value: Value) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.element, ScalarType)


def _number_of(held: Array, element: ScalarType) -> Array:
    """Words as the numbers that they stand for, integers with their sign."""
    if element.is_float:
        return held.astype(np.float64)
    if element.bits == 1:
        return held.astype(np.int64)
    return np.asarray(as_signed(np.ascontiguousarray(held), element.bits)).astype(np.int64)


# ------------------------------------------------------------------------------------------------- running
class _Run:
    """The ops of the launch alone, in their order; stands for a block's run where the interpreter's rules ask."""

    def __init__(self, contract: ContractInNumbers, launches: Launches, bounded: Mapping[Op, DataFact]) -> None:
        self.contract = contract
        self.bounded = bounded
        self.launches = launches
        self.known: dict[Value, Lanes] = {}
        self.views: dict[Value, tuple[Lanes | None, ...]] = {}
        """The sizes of tensor views and of spaces of tiles."""
        self.found = Computed()

    # What rules of the interpreter ask of a run.
    def tile(self, op: Op, name: str) -> Tile:
        return Tile(self.known[op.value(name)].held)

    def require(self, *_: object) -> None:
        """What is undefined is the business of the proof."""

    # ------------------------------------------------------------------------------------------ parameters
    def parameter(self, value: Value, parameter: EntryParameter) -> None:
        if not _is_number(value) or _scalar(value).is_float:
            return
        try:
            number = evaluated(self.meaning(parameter), self.launches.values)
        except (Undefined, StopIteration):
            return
        self.known[value] = self.lanes(number, _scalar(value))

    def meaning(self, parameter: EntryParameter) -> Expression:
        if parameter.static is not None:
            return Number(parameter.static)
        if parameter.role is Role.SCALAR:
            return self.contract.resolved(Name(parameter.argument))
        array = next(each for each in self.contract.spec.arrays() if each.name == parameter.argument)
        if parameter.role not in (Role.SHAPE, Role.STRIDE) or parameter.dim is None:
            raise Undefined("not followed")
        numbers = array.shape if parameter.role is Role.SHAPE else strides_of(array)
        return self.contract.resolved(numbers[parameter.dim])

    def lanes(self, number: Array, element: ScalarType, launched: bool = True) -> Lanes:
        number = np.broadcast_to(np.asarray(number, np.int64), (self.launches.count,))
        held = wrapped(np.ascontiguousarray(number).view(np.uint64), element.bits)
        return Lanes(held, number, np.zeros(self.launches.count, np.bool_), launched)

    # ------------------------------------------------------------------------------------------------- ops
    def block(self, block: Block, active: Array) -> None:
        for op in block.ops:
            if op.name == "for":
                self.loop(op, active)
            elif op.name == "if":
                self.branch(op, active)
            elif op in self.bounded:
                self.load(op, self.bounded[op])
            elif op.regions:
                for body in (body for region in op.regions for body in region.blocks):
                    self.block(body, active)
            else:
                self.op(op, active)

    def op(self, op: Op, active: Array) -> None:
        match op.name:
            case "constant":
                self.constant(op)
            case "iota":
                places = self.places(_length(op.result))
                self.known[op.result] = self.lanes(places, _scalar(op.result), launched=False)
            case "get_tile_block_id" | "get_num_tile_blocks":
                axes = self.launches.block if op.name == "get_tile_block_id" else self.launches.grid
                for result, axis in zip(op.results, axes, strict=True):
                    self.known[result] = self.lanes(axis, _scalar(result))
            case "make_tensor_view":
                self.views[op.results[0]] = self.sizes(op)
            case "make_partition_view" if op.value("s") in self.views:
                self.views[op.result] = self.views[op.value("s")]
            case "get_tensor_shape" | "get_index_space_shape":
                self.shape(op)
            case name if name in _MOVING and op.operands["s"] in self.known:
                if _is_number(op.results[0]):
                    self.known[op.results[0]] = self.known[op.value("s")]
            case name if name in _MEANINGS:
                operands = [self.known.get(op.value(each)) for each in op.operands]
                if all(each is not None for each in operands):
                    self.arithmetic(op, [each for each in operands if each is not None], active)

    def load(self, op: Op, fact: DataFact) -> None:
        """A place of the range, half of them at its ends."""
        assert fact.low is not None
        assert fact.high is not None
        try:
            low, high = (
                evaluated(self.contract.resolved(each), self.launches.values) for each in (fact.low, fact.high)
            )
        except Undefined:
            return
        share = np.clip(self.launches.source.uniform(-0.5, 1.5, self.launches.count), 0, 1)
        number = low + np.floor(share * np.maximum(high - 1 - low, 0)).astype(np.int64)
        self.known[op.results[0]] = self.lanes(number, _scalar(op.results[0]))

    def arithmetic(self, op: Op, operands: Sequence[Lanes], active: Array) -> None:
        element = _scalar(op.result)
        try:
            held = np.asarray(RULES[op.name](cast("BlockInterpreter", self), op).data)  # type: ignore[union-attr]
        except (TypeError, ValueError):
            return
        number = np.asarray(_MEANINGS[op.name](op, *(each.number for each in operands)))
        lost = np.logical_or.reduce([each.lost for each in operands])
        if op.name in _GROWING or op.name == "shli":
            rule = _GROWING.get(op.name)
            sides = [each.number.astype(np.float64) for each in operands]
            lost = lost | (np.abs(rule(*sides) if rule else _shifted_left(op, *sides)) > _FAR)
        launched = any(each.launched for each in operands)
        held, number, lost = np.broadcast_arrays(held, number, lost)
        found = Lanes(held, number, lost, launched)
        self.known[op.result] = found
        self.found.lanes[op] = found
        self.found.reached[op] = active
        if launched:
            narrow = active & _parted(op, element, found, operands)
            self.found.narrow[op] = narrow | self.found.narrow.get(op, False)

    def constant(self, op: Op) -> None:
        element = _scalar(op.result)
        if element.bits < 8 and element.bits != 1:
            return
        held = constant_tile(op.attributes["value"]).data.reshape(-1)
        if not held.size:
            return
        held = held[self.places(held.size)] if held.strides[0] else np.broadcast_to(held[:1], (self.launches.count,))
        count = np.zeros(self.launches.count, np.bool_)
        self.known[op.result] = Lanes(held, _number_of(held, element), count, launched=False)

    def places(self, length: int) -> Array:
        """Half of them at either end."""
        source, count = self.launches.source, self.launches.count
        anywhere = source.integers(0, length, count)
        return np.where(source.random(count) < 0.5, anywhere, np.where(source.random(count) < 0.5, 0, length - 1))

    # ------------------------------------------------------------------------------------------------ views
    def sizes(self, op: Op) -> tuple[Lanes | None, ...]:
        view = op.results[0].type
        assert isinstance(view, TensorViewType)
        dynamic = iter(op.group("shape"))
        plain = ScalarType("i64", 64)
        return tuple(
            self.known.get(next(dynamic)) if size is None else self.lanes(np.asarray(size), plain, launched=False)
            for size in view.shape
        )

    def shape(self, op: Op) -> None:
        """Of a tensor the sizes, of a space of tiles how many there are."""
        sizes = self.views.get(op.value("src"))
        if sizes is None:
            return
        kind = op.value("src").type
        tile = getattr(kind, "tile", None)
        order = getattr(kind, "dim_map", range(len(sizes)))
        for place, result in enumerate(op.results):
            size = sizes[order[place]]
            if size is not None and (tile is None or op.name == "get_index_space_shape"):
                number = size.number if tile is None else -(-size.number // tile[place])
                self.known[result] = self.lanes(number, _scalar(result), size.launched)

    # ---------------------------------------------------------------------------------------------- control
    def branch(self, op: Op, active: Array) -> None:
        condition = self.known.get(op.value("c"))
        sides = []
        for number, region in enumerate(op.regions):
            taken = active
            if condition is not None:
                taken = active & (condition.held.astype(np.bool_) != bool(number))
            for body in region.blocks:
                self.block(body, taken)
                sides.append(body.terminator)
        if condition is None or len(sides) < 2 or any(each.name != "yield" for each in sides):
            return
        for result, yes, no in zip(op.results, sides[0].group("args"), sides[1].group("args"), strict=False):
            one, other = self.known.get(yes), self.known.get(no)
            if one is not None and other is not None:
                self.known[result] = _either(condition, one, other)

    def loop(self, op: Op, active: Array) -> None:
        """A round of it, any; what every round adds the same number to is followed."""
        body = op.regions[0].blocks[0]
        counter, *carried = body.arguments
        lower, upper, step = (self.known.get(op.value(each)) for each in ("lower", "upper", "step"))
        if lower is None or upper is None or step is None:
            self.block(body, active)
            return
        stride = np.maximum(step.number, 1)
        rounds = np.maximum(-((lower.number - upper.number) // stride), 0)
        share = self.launches.source.random(self.launches.count)
        share = np.where(self.launches.source.random(self.launches.count) < 0.25, 1.0, share)
        done = np.minimum((share * rounds).astype(np.int64), np.maximum(rounds - 1, 0))
        inside = active & (rounds > 0)
        launched = lower.launched or upper.launched or step.launched
        self.known[counter] = self.lanes(lower.number + done * stride, _scalar(counter), launched)
        self.block(body, inside)
        steps = list(self.steps(body, carried, op.group("inits")))
        for argument, start, more, _ in steps:
            self.known[argument] = self.after(argument, start, more, done, launched)
        if steps:
            self.block(body, inside)
        for argument, start, more, place in steps:
            self.known[op.results[place]] = self.after(argument, start, more, rounds, launched)

    def steps(
        self, body: Block, carried: Sequence[Value], starts: Sequence[Value]
    ) -> Iterable[tuple[Value, Lanes, Lanes | None, int]]:
        """What a loop carries and adds a number to that it does not carry, None for nothing."""
        made = {result: op for op in body.ops for result in op.results}
        for place, (argument, start, end) in enumerate(
            zip(carried, starts, body.terminator.group("args"), strict=True)
        ):
            first, adding = self.known.get(start), made.get(end)
            if first is None or not _is_number(argument) or _scalar(argument).is_float:
                continue
            if end is argument:
                yield argument, first, None, place
            elif adding is not None and adding.name == "addi" and argument in adding.operands.values():
                more = adding.value("rhs" if adding.value("lhs") is argument else "lhs")
                if more in self.known:
                    yield argument, first, self.known[more], place

    def after(self, argument: Value, start: Lanes, more: Lanes | None, rounds: Array, launched: bool) -> Lanes:
        if more is None:
            return start
        number = start.number + rounds * more.number
        far = np.abs(start.number + rounds.astype(np.float64) * more.number) > _FAR
        found = self.lanes(number, _scalar(argument), start.launched or more.launched or launched)
        return Lanes(found.held, found.number, found.lost | start.lost | more.lost | far, found.launched)


def _either(condition: Lanes, one: Lanes, other: Lanes) -> Lanes:
    taken = condition.held.astype(np.bool_)
    held, number, lost = (
        np.where(taken, first, second)
        for first, second in ((one.held, other.held), (one.number, other.number), (one.lost, other.lost))
    )
    return Lanes(held, number, lost, condition.launched or one.launched or other.launched)


def _parted(op: Op, element: ScalarType, found: Lanes, operands: Sequence[Lanes]) -> Array:
    """The lanes in which the machine has another number than is meant, by a width or by what a float leaves out."""
    held, number = found.held, found.number
    if element.is_float:
        machine = held.astype(np.float64)
        if op.name in ("itof", "ftof"):
            # No format rounds by a quarter: the word was read with another sign, or is beyond the largest float.
            return np.asarray(np.isfinite(number) & ~(np.abs(machine - number) <= np.abs(number) / 4))
        if op.name not in ("addf", "subf", "fma"):
            return np.zeros(held.shape, np.bool_)
        whole = np.logical_and.reduce([each.number == np.floor(each.number) for each in operands])
        return np.asarray(whole & (np.abs(machine - number) > _OFF * np.abs(number)))
    if element.bits == 1:
        return np.asarray(found.lost | (held.astype(np.bool_) != (number != 0)))
    if element.bits == 64:
        return found.lost
    return np.asarray(found.lost | ((_number_of(held, element) != number) & (held.astype(np.int64) != number)))


def _length(value: Value) -> int:
    assert isinstance(value.type, TileType)
    return value.type.shape[0]


# ----------------------------------------------------------------------------------------------------- lane expressions
# Expressions of a spec in the lanes of many launches at once.


def evaluated(expression: Expression, values: Mapping[str, Array]) -> Array:
    """The expression for each lane, where `operators.Operator.value` knows one launch.

    :raises Undefined: it has an operator that is not followed, or a name without a value.
    """
    if isinstance(expression, Number):
        return np.asarray(expression.value, np.int64)
    if isinstance(expression, Name):
        if expression.name not in values:
            raise Undefined(f"{expression.name} has no value")
        return values[expression.name]
    operator = _OPERATORS.get(expression.op)
    if operator is None:
        raise Undefined(f"'{expression.op}' is not followed")
    return np.asarray(operator(*(evaluated(each, values) for each in expression.args)))


def some(divisor: Array) -> Array:
    """A divisor that is not 0."""
    return np.where(divisor == 0, 1, divisor)


_OPERATORS: Final[Mapping[str, Callable[..., Array]]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "neg": np.negative, "min": np.minimum, "max": np.maximum,
    "//": lambda a, b: a // some(b), "%": lambda a, b: a % some(b), "cdiv": lambda a, b: -(-a // some(b)),
}  # fmt: skip
