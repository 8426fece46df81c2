"""The ops of Tile IR on numbers, beside the interpreter's rules on floats.

An op without floats keeps the interpreter's rule; so do those that only move lanes.  Casts between float formats do
nothing: rounding is no part of real arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ..backend.interpreter import Budget, bind_launch, floats, run_block
from ..backend.interpreter.control import RULES as MACHINE
from ..backend.interpreter.control import execute_at_once
from ..backend.interpreter.integers import COMPARISONS, bits_of
from ..backend.interpreter.machine import Rule
from ..backend.interpreter.reductions import Lanes, combiner, only_op, order_free, reduce_tiles, scan_tiles
from ..backend.interpreter.tiles import constant_tile
from ..backend.interpreter.values import (
    MACHINE_TAINT,
    OVERFLOWED,
    RUN,
    UNSPECIFIED,
    Conduct,
    RuntimeValue,
    Tile,
    Token,
    as_signed,
    joint_taint,
    taint_bits,
    with_taint,
    wrapped,
)
from ..backend.numbers.inputs import Inputs
from ..backend.numbers.odd_launches import STEPPING, launch_steps, steered_by_steps
from ..contract.launch import EntryParameter
from ..frontend.bytecode.model import Block, Entry, Module, Op, ScalarType, TileType, Value
from ..frontend.bytecode.optable import BY_NAME
from . import exact, formulas, memory, primitives
from .branches import STEPPED, WaysTaken
from .decision_points import ASKED, NATURES, Nature, integer_branches
from .exact import NUMBER, Bits
from .field import Array, Undecided
from .memory import ExactMemory, require_laws

if TYPE_CHECKING:
    from ..backend.interpreter.machine import BlockInterpreter, Result

Combine: TypeAlias = "Callable[..., Lanes]"

_ORDER_FREE: Final = frozenset(name for name, op in BY_NAME.items() if op.identity)
"""In a field sums and products have one result in every order, too."""


def _is_float(value: Value) -> bool:
    if not isinstance(value.type, TileType):
        return False
    element = value.type.element
    return isinstance(element, ScalarType) and element.is_float


def _unary(compute: Callable[[Array], Array]) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        source = run.tile(op, "s")
        return Tile(compute(source.data), source.taint)

    return rule


def _binary(compute: Callable[[Array, Array], Array]) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
        return Tile(compute(lhs.data, rhs.data), joint_taint(lhs, rhs))

    return rule


def _fma(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs, acc = run.tile(op, "lhs"), run.tile(op, "rhs"), run.tile(op, "acc")
    return Tile(exact.add(exact.multiply(lhs.data, rhs.data), acc.data), joint_taint(lhs, rhs, acc))


def _marked(run: BlockInterpreter, op: Op, found: Tile, lanes: Array, variable: Array | None = None) -> Tile:
    """``found`` with the marks of the ways that its lanes went."""
    assert isinstance(run.memory, ExactMemory)
    marks = run.memory.ways.marked(op, lanes, variable)
    return found if marks is None else Tile(found.data, marks if found.taint is None else found.taint | marks)


def _stepped(rule: Rule) -> Rule:
    """The rule of an op whose result follows the shadow, or is an integer of an array."""

    def stepping(run: BlockInterpreter, op: Op) -> Result:
        found = rule(run, op)
        if isinstance(found, Tile):
            return found.tainted(STEPPED)
        assert isinstance(found, tuple)
        return tuple(each.tainted(STEPPED) if isinstance(each, Tile) else each for each in found)

    return stepping


def _extreme(wanted: int) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
        first = formulas.is_extreme(lhs.data, rhs.data, wanted, "nan" in op.flags)
        found = Tile(np.where(first, lhs.data, rhs.data), joint_taint(lhs, rhs))
        return _marked(run, op, found, first, exact.has_variables(lhs.data) | exact.has_variables(rhs.data))

    return rule


def _compare(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = run.tile(op, "lhs"), run.tile(op, "rhs")
    order = exact.order(lhs.data, rhs.data)
    found = COMPARISONS[op.attributes["pred"]](order, np.asarray(0, np.int8))
    unordered = order == 2
    found = found & ~unordered if op.attributes["fcmp"] == "ordered" else found | unordered
    variable = exact.has_variables(lhs.data) | exact.has_variables(rhs.data)
    return _marked(run, op, Tile(np.asarray(found), joint_taint(lhs, rhs)), found, variable)


def _of_integers(name: str) -> Rule:
    """A comparison, or which operand an extreme or a magnitude is, noted where a branch may hang on it."""
    machine = MACHINE[name]

    def rule(run: BlockInterpreter, op: Op) -> Result:
        found = machine(run, op)
        if isinstance(found, Tile) and op in integer_branches(run.program.entry):
            operand = run.tile(op, "s" if name == "absi" else "lhs").data
            return _marked(run, op, found, found.data if name == "cmpi" else np.asarray(found.data == operand))
        return found

    return rule


def _joined(run: BlockInterpreter, op: Op) -> Result:
    """A condition of two, noted where one of them is."""
    found = MACHINE[op.name](run, op)
    assert isinstance(run.memory, ExactMemory)
    if not isinstance(found, Tile) or found.data.dtype != np.bool_:
        return found
    marks = run.memory.ways.marked_joined(op, (op.value("lhs"), op.value("rhs")), found.data)
    return found if marks is None else Tile(found.data, marks if found.taint is None else found.taint | marks)


def _integer_power(run: BlockInterpreter, op: Op) -> Tile:
    base, exponent = run.tile(op, "lhs"), run.tile(op, "rhs")
    wide = exact.of_integers(np.asarray(as_signed(exponent.data, bits_of(op.value("rhs")))))
    return Tile(formulas.power(base.data, wide), joint_taint(base, exponent))


def _constant(run: BlockInterpreter, op: Op) -> Tile:
    constant = op.attributes["value"]
    tile = constant_tile(constant)
    if not constant.scalar.is_float:
        return tile
    if constant.is_splat and tile.data.size:
        one = exact.numbers_of(tile.data.reshape(-1)[:1].astype(np.float64), constant.scalar.name)
        return Tile(np.broadcast_to(one.reshape(()), tile.data.shape))
    return Tile(exact.numbers_of(tile.data.astype(np.float64), constant.scalar.name))


def _integer_to_float(run: BlockInterpreter, op: Op) -> Tile:
    source = run.tile(op, "s")
    data = source.data
    if op.attributes["sgn"] == "signed" and data.dtype != np.bool_:
        data = np.asarray(as_signed(data, bits_of(op.value("s"))))
    return Tile(exact.of_integers(data), source.taint)


def _float_to_integer(run: BlockInterpreter, op: Op) -> Tile:
    """Toward zero; out of range is unspecified, or clamps with the saturating flag."""
    source, bits = run.tile(op, "s"), bits_of(op.result)
    signed = op.attributes["sgn"] == "signed"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    whole = formulas.to_whole(source.data, np.trunc)
    outside = ~((whole >= low) & (whole < float(high + 1)))
    inside = np.where(outside, 0.0, whole)
    result = wrapped(np.asarray(inside.astype(np.int64).view(np.uint64) if signed else inside.astype(np.uint64)), bits)
    if "sat" not in op.flags:
        return Tile(result, with_taint(source.taint, np.asarray(outside), UNSPECIFIED))
    ends = wrapped(np.array([low & ((1 << bits) - 1), high, 0], np.uint64), bits)
    clamped = np.where(whole < low, ends[0], np.where(whole > low, ends[1], ends[2]))
    return Tile(np.where(outside, clamped, result), source.taint)


def _unchanged(run: BlockInterpreter, op: Op) -> Tile:
    return run.tile(op, "s")


def _product(run: BlockInterpreter, op: Op) -> Tile:
    return _accumulated(run, op, run.tile(op, "lhs"), run.tile(op, "rhs"))


def _scaled_product(run: BlockInterpreter, op: Op) -> Tile:
    lhs, rhs = (
        _scaled(run.tile(op, name), run.tile(op, scale), axis)
        for name, scale, axis in (("lhs", "ls", -1), ("rhs", "rs", -2))
    )
    return _accumulated(run, op, lhs, rhs)


def _scaled(tile: Tile, scale: Tile, axis: int) -> Tile:
    length = tile.data.shape[axis] // scale.data.shape[axis]
    factor = scale.rearranged(lambda lanes: np.repeat(lanes, length, axis))
    return Tile(exact.multiply(tile.data, factor.data), joint_taint(tile, factor))


def _accumulated(run: BlockInterpreter, op: Op, lhs: Tile, rhs: Tile) -> Tile:
    acc = run.tile(op, "acc")
    run.budget.spend(acc.data.size * lhs.data.shape[-1] // 16)
    taint = acc.taint
    for tile, axis in ((lhs, -1), (rhs, -2)):
        if tile.taint is not None:
            lanes = np.broadcast_to(tile.taint, tile.data.shape)
            marks = np.bitwise_or.reduce(lanes, axis=axis, keepdims=True)
            taint = np.broadcast_to(marks if taint is None else taint | marks, acc.data.shape)
    return Tile(exact.add(exact.matmul(lhs.data, rhs.data), acc.data), taint)


def _no_print(run: BlockInterpreter, op: Op) -> tuple[Token, ...]:
    return (Token(run.waits(op)),) if op.results else ()


def _combined(
    run: BlockInterpreter, op: Op, known: Mapping[str, Callable[[Op], Callable[[Array, int], Array]]], general: Combine
) -> Result:
    """A ``reduce`` or ``scan``: at once where its body is one op of ``known``, else as the interpreter does it."""

    def evaluate(block: Block) -> tuple[RuntimeValue, ...]:
        return execute_at_once(run, block).values

    inputs, first = run.tiles(op, "inputs"), only_op(op)
    by_name = None if first is None else known.get(first.name)
    if first is None or by_name is None or taint_bits(inputs[0].taint) & MACHINE_TAINT:
        results = general(run, op, evaluate)
    else:
        axis, compute, data = op.attributes["dim"], by_name(first), inputs[0].data
        if op.attributes.get("reverse"):
            results = (Tile(np.flip(compute(np.flip(data, axis), axis), axis)),)
        else:
            results = (Tile(compute(data, axis)),)
        if inputs[0].taint is not None:
            # Every lane takes part in the result, or in one of those behind it.
            results = (results[0].tainted(taint_bits(inputs[0].taint)),)
        if first.name in ("maxf", "minf"):
            results = (_with_winner(run, op, results[0], data, 1 if first.name == "maxf" else -1),)
    require_laws(run, op, combiner(run, op, evaluate)[0], results, known=order_free(op, _ORDER_FREE))
    return results


def _with_winner(run: BlockInterpreter, op: Op, found: Tile, data: Array, wanted: int) -> Tile:
    """The extreme of lanes asks which it is: noted is whether it is the first."""
    axis = op.attributes["dim"]
    if data.shape[axis] == 1:
        return found
    first = np.take(data["s"], 0, axis) * wanted
    rest = np.take(data["s"], range(1, data.shape[axis]), axis) * wanted
    return _marked(run, op, found, first >= rest.max(axis), exact.has_variables(data).any(axis))


def _reduce(run: BlockInterpreter, op: Op) -> Result:
    return _combined(run, op, _REDUCED, reduce_tiles)


def _scan(run: BlockInterpreter, op: Op) -> Result:
    return _combined(run, op, {"addf": lambda op: exact.running}, scan_tiles)


_REDUCED: Final[dict[str, Callable[[Op], Callable[[Array, int], Array]]]] = {
    "addf": lambda op: exact.total,
    "mulf": lambda op: primitives.folded(exact.multiply, None),
    "maxf": lambda op: primitives.extreme(1, "nan" in op.flags),
    "minf": lambda op: primitives.extreme(-1, "nan" in op.flags),
}


def _assume(run: BlockInterpreter, op: Op) -> Result:
    return run.tile(op, "s") if _is_float(op.value("s")) else MACHINE["assume"](run, op)


def _bits_of_floats(name: str) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        if _is_float(op.value("s")) or _is_float(op.result):
            raise Undecided(f"the bits of floats ({name})")
        found = MACHINE[name](run, op)
        assert isinstance(found, Tile)
        return found

    return rule


def _bitcast(run: BlockInterpreter, op: Op) -> Tile:
    """There and back is the identity; between, nothing is known of the bits."""
    source, before, after = run.tile(op, "s"), _element(op.value("s")), _element(op.result)
    if isinstance(source.data, Bits):
        if after.is_float and after != source.data.element:
            raise Undecided("the bits of floats (bitcast)")
        return Tile(source.data.numbers(), source.taint) if after.is_float else source
    if before.is_float and after.is_float and before != after:
        raise Undecided("the bits of floats (bitcast)")
    if before.is_float:
        return source if after.is_float else Tile(Bits.of(source.data, before), source.taint)
    if after.is_float:
        raise Undecided("the bits of floats (bitcast)")
    found = MACHINE["bitcast"](run, op)
    assert isinstance(found, Tile)
    return found


def _element(value: Value) -> ScalarType:
    assert isinstance(value.type, TileType)
    assert isinstance(value.type.element, ScalarType)
    return value.type.element


_FLOATS: Final[dict[str, Rule]] = {
    "addf": _binary(exact.add),
    "subf": _binary(exact.subtract),
    "mulf": _binary(exact.multiply),
    "divf": _binary(exact.divide),
    "fma": _fma,
    "remf": _binary(lambda x, y: formulas.remainder(x, y, np.trunc)),
    "fpowf": _binary(formulas.power),
    "fpowi": _integer_power,
    "absf": _unary(formulas.absolute),
    "negf": _unary(exact.negative),
    "ceil": _unary(lambda x: formulas.rounded(x, np.ceil)),
    "floor": _unary(lambda x: formulas.rounded(x, np.floor)),
    "sqrt": _unary(formulas.sqrt),
    "rsqrt": _unary(formulas.rsqrt),
    "exp": _unary(formulas.exp),
    "exp2": _unary(formulas.exp2),
    "log": _unary(formulas.log),
    "log2": _unary(formulas.log2),
    "sin": _unary(formulas.sin),
    "cos": _unary(formulas.cos),
    "tan": _unary(formulas.tan),
    "sinh": _unary(formulas.sinh),
    "cosh": _unary(formulas.cosh),
    "tanh": _unary(formulas.tanh),
}


def _without_rule(name: str) -> Rule:
    def rule(run: BlockInterpreter, op: Op) -> Tile:
        raise Undecided(f"{name} of exact numbers")

    return rule


def _call(run: BlockInterpreter, op: Op) -> Tile:
    callee: str = op.attributes["callee"]
    raise Undecided(f"'{' '.join(callee.split())}' of exact numbers")


def _of_launches(rule: Rule) -> Rule:
    """Of an op that makes an integer of the launch alone, of which no law is known either."""
    stepping = _stepped(rule)
    return lambda run, op: (stepping if op in launch_steps(run.program.entry) else rule)(run, op)


def _asking(name: str, rule: Rule) -> Rule:
    def noting(run: BlockInterpreter, op: Op) -> Result:
        found = rule(run, op)
        asked = ASKED[name](run, op)
        assert isinstance(found, Tile)
        return found if asked is None else _marked(run, op, found, *asked)

    return noting


_ASKING_THEMSELVES: Final[dict[str, Rule]] = {
    "cmpf": _compare,
    "maxf": _extreme(1),
    "minf": _extreme(-1),
    "reduce": _reduce,
    **dict.fromkeys(("andi", "ori"), _joined),
    **{name: _of_integers(name) for name in ("absi", "cmpi", "maxi", "mini")},
}


def _flushing(rule: Rule) -> Rule:
    def noting(run: BlockInterpreter, op: Op) -> Result:
        if "ftz" in op.flags:
            assert isinstance(run.memory, ExactMemory)
            run.memory.ways.flushing.add(op)
        return rule(run, op)

    return noting


def _by_nature(name: str, rule: Rule) -> Rule:
    """The rule of an op with what has to be noted of it."""
    found = _noted(name, rule)
    return _flushing(found) if any(flag.name == "ftz" for flag in BY_NAME[name].flags) else found


def _noted(name: str, rule: Rule) -> Rule:
    nature = NATURES.get(name)
    if nature is None:
        return _without_rule(name)
    if nature is Nature.ASKING:
        return _ASKING_THEMSELVES.get(name) or _asking(name, rule)
    return _stepped(rule) if nature is Nature.STEPPED else rule


_PLAIN: Final[dict[str, Rule]] = {
    **MACHINE,
    **{name: _FLOATS.get(name, _without_rule(name)) for name in floats.RULES},
    **memory.RULES,
    "constant": _constant,
    "itof": _integer_to_float,
    "ftoi": _float_to_integer,
    "ftof": _unchanged,
    "mmaf": _product,
    "mmaf_scaled": _scaled_product,
    "scan": _scan,
    "print_tko": _no_print,
    "assume": _assume,
    **{name: _bits_of_floats(name) for name in ("pack", "unpack")},
    "bitcast": _bitcast,
    "opaque": _call,
}
_BY_NATURE: Final[dict[str, Rule]] = {
    name: _by_nature(name, rule) for name, rule in {**_PLAIN, **_ASKING_THEMSELVES}.items()
}
RULES: Final[dict[str, Rule]] = {**_BY_NATURE, **{name: _of_launches(_BY_NATURE[name]) for name in STEPPING}}


# -------------------------------------------------------------------------------------------------------------- running
# A kernel on exact numbers: the interpreter on all blocks of a launch, one after the other.


@dataclass(frozen=True, slots=True)
class _Watching(Conduct):
    """Tells of marked lanes that steer control, or an access."""

    ways: WaysTaken

    def opened(self, taint: Array) -> Array:
        self.ways.reached(int(np.bitwise_or.reduce(taint.reshape(-1), initial=0)))
        return Conduct.opened(self, taint)


@dataclass(frozen=True, slots=True)
class ExactKernel:
    """What is run: one entry of a module, and what its parameters mean; ``rules``: what its ops do; ``ways``: how its
    comparisons came out in all runs."""

    module: Module
    entry: Entry
    parameters: Sequence[EntryParameter]
    rules: Mapping[str, Rule] = field(default_factory=lambda: RULES)
    ways: WaysTaken = field(default_factory=WaysTaken)


def run_exactly(
    kernel: ExactKernel, inputs: Inputs, contents: Mapping[str, Array], floats: Mapping[str, Array], budget: Budget
) -> dict[str, Array]:
    """The memory after the launch, by allocation: numbers for the arrays in ``contents``, stored elements for others.

    ``floats``: the float scalars, as numbers.

    :raises InterpreterStop: the launch could not run to its end.
    """
    kernel.ways.begin()
    while True:
        after = run_once(kernel, inputs, contents, floats, budget)
        if not kernel.ways.goes_on():
            return after


def run_once(
    kernel: ExactKernel, inputs: Inputs, contents: Mapping[str, Array], floats: Mapping[str, Array], budget: Budget
) -> dict[str, Array]:
    """The same, whatever ways were not marked."""
    data = {
        name: np.frombuffer(array.tobytes(), np.uint8) for name, array in inputs.memory.items() if name not in contents
    }
    bound = bind_launch(kernel.module, kernel.entry, kernel.parameters, inputs.launch, data)
    bound.program.rules = kernel.rules
    arguments = dict(bound.arguments)
    for value, parameter in zip(kernel.entry.parameters, kernel.parameters, strict=True):
        assert isinstance(value.type, TileType)
        element = value.type.element
        if isinstance(element, ScalarType) and element.is_float:
            arguments[value] = Tile(floats[parameter.argument])
    held = {name: array.copy() for name, array in contents.items()}
    memory = ExactMemory(bound.image, held, kernel.ways)
    grid, conduct = inputs.launch.grid, _Watching(RUN.open, RUN.executes, RUN.stops, kernel.ways)
    for z, y, x in product(*(range(size) for size in reversed(grid))):
        log = run_block(bound.program, arguments, memory, grid, (x, y, z), budget, conduct=conduct)
        for loop in log.loops:
            kernel.ways.note_loop(loop.op, loop.entered)
        if log.stopped is not None:
            raise log.stopped
    after = dict(held)
    for number, allocation in enumerate(bound.image.allocations):
        if allocation.name in data:
            before = inputs.memory[allocation.name]
            after[allocation.name] = memory.bytes_of(number).view(before.dtype).reshape(before.shape)
        if allocation.name in inputs.memory:
            taint = memory.taint(number, np.arange(allocation.size), 1)
            if taint is not None and (taint & (UNSPECIFIED | OVERFLOWED)).any():
                raise Undecided(f"{allocation.name} holds unspecified values after the launch")
            _look_for_marks(kernel.ways, allocation.name, taint, after[allocation.name])
        changed = allocation.name in data and after[allocation.name].tobytes() != data[allocation.name].tobytes()
        if changed and after[allocation.name].dtype.kind in "iu":
            kernel.ways.stepped.add(allocation.name)
    if steered_by_steps(kernel.entry):
        kernel.ways.stepped |= {name for name, array in contents.items() if array.tobytes() != held[name].tobytes()}
    return after


def _look_for_marks(ways: WaysTaken, name: str, taint: Array | None, held: Array) -> None:
    """``taint`` of the bytes of an array; of what is lost nothing is compared."""
    if taint is None or not held.size:
        return
    marks = np.bitwise_or.reduce(taint.reshape(held.size, -1), axis=1)
    if held.dtype == NUMBER:
        marks = marks[~exact.is_lost(held)]
    found = int(np.bitwise_or.reduce(marks, initial=0))
    ways.reached(found)
    if found & STEPPED:
        ways.stepped.add(name)
