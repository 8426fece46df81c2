"""Rules for ops that make tiles and move their elements, and for values that are not followed (floats, reductions).

`assume` is here too: it hands its operand on unchanged and leaves a promise (TV401) behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...contract.terms import (
    FALSE,
    TRUE,
    ZERO,
    Term,
    add,
    and_,
    const,
    eq,
    floordiv,
    floormod,
    ite,
    le,
    lt,
    scale,
    sub,
    substitute,
)
from ...contract.terms.launch_wide import Opaque, opaque
from ...results.codes import TV
from ..bytecode.model import Bounded, Constant, DivBy, Op, PointerType, SameElements, ScalarType, TileType, Value
from ..bytecode.optable import FLOAT_OPS
from ..bytecode.traverse import operands
from .combining import plain_sum
from .integers import constant_element, from_number, overflow_promises, zero_extended
from .integers import number as signed_number
from .machine import Rule, SymbolicExecutor, element_bits, pointee, shape_of
from .summary import address_of
from .values import (
    CoordinateMap,
    Lanewise,
    Pointer,
    SymbolicValue,
    TensorView,
    choose,
    lane,
    move,
    moved,
    permuted,
    reshaped,
)

_LOOKUP_LIMIT: Final = 64
"""A constant tile up to this size that is no arithmetic progression becomes a chain of choices."""


def _lanewise(m: SymbolicExecutor, value: Value) -> Lanewise:
    content = m.value(value)
    assert isinstance(content, Term | Opaque | Pointer), content
    return content


# ---------------------------------------------------------------------------------------------- making
def constant(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    value = op.attributes["value"]
    assert isinstance(value, Constant)
    if value.scalar.is_float:
        return opaque(bits=const(value.element(0)) if value.is_splat and m.entry.equal_stores else None)
    bits = value.scalar.bits
    if value.is_splat:
        return constant_element(value.element(0), bits)
    elements = [value.element(i) for i in range(value.count)]
    if len(set(elements)) == 1:
        return constant_element(elements[0], bits)
    linear, stride = ZERO, 1
    for dim in reversed(range(len(value.type.shape))):
        linear = add(linear, scale(stride, lane(dim, value.type.shape[dim])))
        stride *= value.type.shape[dim]
    step = elements[1] - elements[0]
    if bits > 1 and all(element == elements[0] + i * step for i, element in enumerate(elements)):
        return add(const(elements[0]), scale(step, linear))
    if value.count > _LOOKUP_LIMIT:
        return m.unknown(op, op.result, made_from=())
    chosen = constant_element(elements[-1], bits)
    for i in reversed(range(value.count - 1)):
        chosen = ite(eq(linear, const(i)), constant_element(elements[i], bits), chosen)
    return chosen


def iota(m: SymbolicExecutor, op: Op) -> Term:
    """0, 1, 2 ... in the unsigned reading: 256 numbers fill an i8."""
    return from_number(m, lane(0, shape_of(op.result)[0]), element_bits(op.result))


# ---------------------------------------------------------------------------------------------- moving
def broadcast(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    """A dimension of size 1 has no lane variable: the term already says what it is in every element."""
    return m.value(op.value("s"))


def reshape(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    source = op.value("s")
    return move(_lanewise(m, source), reshaped(shape_of(source), shape_of(op.result)))


def permute(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    source = op.value("s")
    return move(_lanewise(m, source), permuted(shape_of(source), op.attributes["perm"]))


def cat(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    left, right = op.value("lhs"), op.value("rhs")
    dim, size = op.attributes["dim"], shape_of(left)[op.attributes["dim"]]
    position = lane(dim, shape_of(op.result)[dim])
    shifted = sub(position, const(size))
    return choose(
        lt(position, const(size)),
        move(_lanewise(m, left), _moved_along(left, dim, position)),
        move(_lanewise(m, right), _moved_along(right, dim, shifted)),
    )


def _moved_along(source: Value, dim: int, coordinate: Term) -> CoordinateMap:
    shape = shape_of(source)
    return moved(shape, [coordinate if d == dim else lane(d, size) for d, size in enumerate(shape)])


def extract(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    """Subtile ``index`` of a tile that is cut into subtiles of the result's shape."""
    source = op.value("s")
    whole, part = shape_of(source), shape_of(op.result)
    starts = _subtile_starts(m, op, whole, part)
    coordinates = [add(start, lane(d, part[d])) for d, start in enumerate(starts)]
    return move(_lanewise(m, source), moved(whole, coordinates))


def insert(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    source, target = op.value("s"), op.value("dest")
    whole, part = shape_of(target), shape_of(source)
    starts = _subtile_starts(m, op, whole, part)
    offsets = [sub(lane(d, whole[d]), start) for d, start in enumerate(starts)]
    covered = and_(*(and_(le(ZERO, at), lt(at, const(part[d]))) for d, at in enumerate(offsets)))
    return choose(covered, move(_lanewise(m, source), moved(part, offsets)), _lanewise(m, target))


def _subtile_starts(m: SymbolicExecutor, op: Op, whole: Sequence[int], part: Sequence[int]) -> list[Term]:
    """First element of the subtile per dimension; an index beyond the last subtile is undefined (TV402)."""
    starts = []
    for d, index in enumerate(op.group("index")):
        number = zero_extended(m, m.term(index), element_bits(index))
        count = whole[d] // part[d]
        m.promise(
            op,
            TV.ARITHMETIC_UNDEFINED,
            lt(number, const(count)),
            f"subtile index along dimension {d} is less than {count}",
        )
        starts.append(scale(part[d], number))
    return starts


def select(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    return choose(m.term(op.value("c")), m.value(op.value("t")), m.value(op.value("f")))


# ---------------------------------------------------------------------------------------------- assume
def assume(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    operand = op.value("s")
    content, predicate = m.value(operand), op.attributes["pred"]
    shape = operand.type.shape if isinstance(operand.type, TileType) else ()
    unit = 1
    if isinstance(content, TensorView):
        number = add(address_of(content.origin), content.base)
    elif isinstance(content, Pointer):
        number, unit = add(address_of(content.origin), content.offset), pointee(operand).bytes
    elif isinstance(content, Term):
        number = signed_number(content, element_bits(operand))
    else:
        return content
    for condition, text in _predicates(predicate, number, shape, unit):
        if op in m.inert and condition is not TRUE:
            said = "false as the compiler wrote it" if condition is FALSE else "not asked for"
            m.notes[f"{text}: {said}, but no address depends on it"] = None
        else:
            m.promise(op, TV.ASSUME_PROMISE, condition, text, shape)
    return content


def _predicates(predicate: object, number: Term, shape: Sequence[int], unit: int) -> list[tuple[Term, str]]:
    """What an assumption says of ``number``, which counts ``unit`` per element of a run (bytes for pointers)."""
    match predicate:
        case Bounded(lower, upper):
            found = []
            if lower is not None:
                found.append((le(const(lower), number), f"assumed: value is at least {lower}"))
            if upper is not None:
                found.append((le(number, const(upper)), f"assumed: value is at most {upper}"))
            return found
        case DivBy(divisor, None, _):
            return [(eq(floormod(number, const(divisor)), ZERO), f"assumed: value is divisible by {divisor}")]
        case DivBy(divisor, every, along) if every is not None and along is not None:
            # The first of every run of `every` elements along `along` is divisible, the others count up from it.
            position = lane(along, shape[along])
            within = floormod(position, const(every))
            first = substitute(number, moved_to_start(shape, {along: every}))
            return [
                (
                    eq(floormod(first, const(divisor)), ZERO),
                    f"assumed: every {every}th value along dimension {along} is divisible by {divisor}",
                ),
                (
                    eq(number, add(first, scale(unit, within))),
                    f"assumed: runs of {every} values along dimension {along} are consecutive",
                ),
            ]
        case SameElements(groups):
            first = substitute(number, moved_to_start(shape, dict(enumerate(groups))))
            return [(eq(number, first), f"assumed: values are equal in groups of {'x'.join(map(str, groups))}")]
    raise AssertionError(predicate)


def moved_to_start(shape: Sequence[int], groups: dict[int, int]) -> CoordinateMap:
    """Every lane moved to the first of its group along the given dimensions."""
    return {
        lane(dim, shape[dim]): scale(size, floordiv(lane(dim, shape[dim]), const(size)))
        for dim, size in groups.items()
        if shape[dim] > 1
    }


# ------------------------------------------------------------------------------------- not followed further
def not_followed(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    """A result of which only the type is known: floats, comparisons of floats, matrix products, byte packing.

    The op computes one function of its operands.
    """
    return m.unknown(op, op.result, made_from=[m.value(operand) for operand in operands(op)])


def called(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    """A function that Tile IR has no op for.  Inline assembly gives each execution a value of its own."""
    return not_followed(m, op) if op.is_function else m.unknown(op, op.result)


def _index(op: Op, i: int) -> str:
    return f".{i}" if len(op.results) > 1 else ""


def combine(m: SymbolicExecutor, op: Op) -> tuple[SymbolicValue, ...]:
    """``reduce`` and ``scan``: order and grouping belong to the compiler, so the result is any value of its type.

    The body still runs once on arbitrary elements, because what it must not do (divide by 0, overflow a flagged op)
    is an obligation like everywhere else.
    """
    body, adding = op.regions[0].blocks[0], plain_sum(op)
    if adding is not None and element_bits(adding.result) > 1:
        _partial_sums_fit(m, op, adding)
    else:
        for i, argument in enumerate(body.arguments):
            m.env[argument] = _element_of(m, op, argument, i)
        m.run(body)
    return tuple(m.unknown(op, result, suffix=f"{_index(op, i)}") for i, result in enumerate(op.results))


def _partial_sums_fit(m: SymbolicExecutor, op: Op, adding: Op) -> None:
    """What flags of the addition promise of a sum of n lanes x, in whatever order:

        low <= n*x <= high in every lane  ->  every sum of some of the lanes lies between low and high

    as it lies between n times the least lane, or 0, and n times the greatest, or 0.
    """
    (source,) = op.group("inputs")
    shape, bits, lanes = shape_of(source), element_bits(source), m.term(source)
    count = shape[op.attributes["dim"]]

    def as_unsigned() -> Term:
        return scale(count, zero_extended(m, lanes, bits))

    overflow_promises(m, adding, bits, scale(count, lanes), as_unsigned, "addition", shape)


def _element_of(m: SymbolicExecutor, op: Op, argument: Value, position: int) -> SymbolicValue:
    assert isinstance(argument.type, TileType)
    if isinstance(argument.type.element, PointerType):
        raise m.unsupported(op, "a reduction of pointers")
    return m.unknown(op, argument, suffix=f".operand{position}")


def bitcast(m: SymbolicExecutor, op: Op) -> SymbolicValue:
    source = op.value("s")
    assert isinstance(source.type, TileType)
    if isinstance(source.type.element, ScalarType) and source.type == op.result.type:
        return m.value(source)
    return not_followed(m, op)


RULES: Final[dict[str, Rule]] = {
    "constant": constant,
    "iota": iota,
    "broadcast": broadcast,
    "reshape": reshape,
    "permute": permute,
    "cat": cat,
    "extract": extract,
    "insert": insert,
    "select": select,
    "assume": assume,
    "bitcast": bitcast,
    "reduce": combine,
    "scan": combine,
    "opaque": called,
    **dict.fromkeys(
        (
            *(declaration.name for declaration in FLOAT_OPS),
            "ftof",
            "ftoi",
            "itof",
            "mmaf",
            "mmai",
            "mmaf_scaled",
            "pack",
            "unpack",
        ),
        not_followed,
    ),
}
